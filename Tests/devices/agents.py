# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device with its agent, which a test asks by the second socket."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import wire
from programs import Program
from project import ROOT

AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()
PATIENCE = 20.0


class Refused(Exception):
    """The agent answers with a status."""

    def __init__(self, status: int, message: str):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Question:
    """One whose answer is awaited later."""

    def __init__(self, control: Path, what: str, keys: dict[str, object]):
        self._peer = wire.Connection.to(control)
        self._peer.send_message("ask", 1, cbor2.dumps({"ask": what, **keys}, canonical=True))

    def answer(self, patience: float = PATIENCE) -> Any:
        self._peer.socket.settimeout(patience)
        name, (number, status, message, value) = self._peer.next_message()
        assert (name, number) == ("answer", 1)
        self._peer.socket.close()
        if status != 0:
            raise Refused(status, message)
        return cbor2.loads(value)

    def abandon(self) -> None:
        self._peer.socket.close()


class AgentDevice:
    """A machine on which an agent runs, with folders of its own; `begin` starts the agent, again too."""

    def __init__(self, name: str, folder: Path, start: Any, machine: Any):
        self.name, self.folder, self.machine = name, folder, machine
        self.variables: dict[str, str] = {}  # for the next `begin`
        self._start = start
        self.agent: Program | None = None

    @property
    def state_folder(self) -> Path:
        return self.folder.parent / f"{self.folder.name}-state" / "segue"

    def begin(self) -> AgentDevice:
        self.agent = self._start(self)
        self.agent.wait_for(r"this process is the hub of generation \d+ ")
        return self

    def kill(self) -> None:
        assert self.agent is not None
        self.agent.kill()

    def end(self) -> None:
        assert self.agent is not None
        self.agent.signal(15)
        assert self.agent.wait() == 0, self.agent.said[-5:]

    def has_loaded(self, library: str) -> bool:
        assert self.agent is not None
        return library in Path(f"/proc/{self.agent.pid}/maps").read_text()

    def asking(self, what: str, **keys: object) -> Question:
        return Question(Path(f"{self.folder}-agent") / "control", what, keys)

    def ask(self, what: str, **keys: object) -> Any:
        return self.asking(what, **keys).answer()

    def account(self) -> dict[str, Any]:
        return self.ask("account")

    def awaits(self, condition: Any, patience: float = PATIENCE) -> dict[str, Any]:
        """The first state of the account for which the condition holds."""
        deadline = time.monotonic() + patience
        state = self.account()
        while not condition(state):
            left = int((deadline - time.monotonic()) * 1000)
            assert left > 0, f"{self.name}: never came about: {state}\n" + "\n".join(self.agent.said[-20:])
            # Attempts at paths are told as they stand at the question: none of them counts as a change.
            question = self.asking("account", after=state["change"], timeout=max(1, min(left, 500)))
            state = question.answer(patience=left / 1000 + PATIENCE)
        return state

    def device(self, name: str) -> dict[str, Any]:
        """A device of the account, by its name."""
        return next(device for device in self.account()["devices"] if device["name"] == name)

    def linked(self, *names: str, patience: float = PATIENCE) -> dict[str, Any]:
        """Waits until exactly the devices of those names are linked."""
        return self.awaits(
            lambda state: (
                sorted(device["name"] for device in state.get("devices", ()) if device["linked"]) == sorted(names)
            ),
            patience,
        )

    def problems(self) -> str:
        """The messages for its user: why it is not as it should be, and what has happened."""
        state = self.account()
        return "\n".join([state.get("message", ""), *(notice["message"] for notice in state["notices"])])

    def create(self, name: str = "Home") -> AgentDevice:
        self.ask("create-account", name=name, device_name=self.name)
        return self

    def admit(self, other: AgentDevice, **invite: object) -> tuple[dict[str, Any], dict[str, Any]]:
        """Has another device join: what both screens show."""
        link = self.ask("invite", **invite)["link"]
        there = other.ask("join", link=link, device_name=other.name)
        end = other.asking("await-join", join=there["join"])
        here = self.awaits(lambda state: state["joins"])["joins"][0]
        self.ask("answer-join", join=here["join"], admits=True)
        end.answer()
        return here, there


def making(start: Callable[..., Program], place: Path) -> Callable[..., AgentDevice]:
    """A function that makes devices with folders below `place`; `start` starts a program."""

    def run_agent(device: AgentDevice) -> Program:
        under = device.machine.under if device.machine else []
        folders = [f"SEGUE_RUNTIME_DIR={device.folder}", f"XDG_STATE_HOME={device.state_folder.parent}"]
        variables = [*folders, "SEGUE_LOG=info", *(f"{name}={value}" for name, value in device.variables.items())]
        return start(f"agent {device.name}", [*under, "env", *variables, AGENT])

    def make(name: str, machine: Any = None) -> AgentDevice:
        folder = place / name
        folder.mkdir(mode=0o700)
        (place / f"{name}-state").mkdir(mode=0o700)
        return AgentDevice(name, folder, run_agent, machine)

    return make
