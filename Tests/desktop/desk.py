# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A desk: a machine with an agent, its session's buses, and segue-desktop; and a laptop in the same account."""

from __future__ import annotations

import json
import os
import queue
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents import AgentDevice, making
from network import two_networks
from participants import Participant, participant
from programs import Program, programs
from project import ROOT
from temporary_folders import temporary

PROGRAM = Path(os.environ.get("SEGUE_DESKTOP", ROOT / "lib" / "segue-desktop")).resolve()
HERE = Path(__file__).resolve().parent
PATIENCE = 20.0
SOON = 1.5  # seconds in which nothing may come: the program looks at most once a second
CAPABILITIES = ("actions", "body", "body-markup")
Notes = tuple[Participant, Participant]


@contextmanager
def two_devices() -> Iterator[tuple[AgentDevice, AgentDevice]]:
    """The agents of a desk and of a laptop, on machines with a cable, linked in one account. They end before their
    folders are removed; so do programs that were started after this block was entered."""
    with temporary("segue-home-") as folder, programs() as start:
        cable = two_networks(start)
        cable.address()
        make = making(start, folder)
        desk, laptop = cable.machines
        here, there = make("desk", desk), make("laptop", laptop)
        here.variables["XDG_DATA_HOME"] = f"{folder}/data"
        (folder / "data" / "applications").mkdir(parents=True)
        here.begin()
        there.begin()
        here.create().admit(there)
        here.linked("laptop")
        there.linked("desk")
        yield here, there


class Server:
    """The stand-in for a notification server (server.py)."""

    def __init__(self, desk: Desk, *capabilities: str):
        self.came: queue.Queue[dict[str, Any]] = queue.Queue()
        self.shown = 0
        self.program = desk.start("server", [sys.executable, HERE / "server.py", *capabilities], listener=self._hear)
        self.program.wait_for("ready")

    def _hear(self, line: str) -> None:
        if line.startswith("{"):
            said = json.loads(line)
            self.shown += "notify" in said
            if "ready" not in said:
                self.came.put(said)

    def order(self, **words: object) -> None:
        self.program.tell(json.dumps(words))

    def says(self, signal: str, *arguments: object, to: str | None = None) -> None:
        self.order(signal=signal, arguments=arguments, to=to)

    def next(self, patience: float = PATIENCE) -> dict[str, Any]:
        return self.came.get(timeout=patience)

    def shows(self, patience: float = PATIENCE) -> dict[str, Any]:
        """The next notification."""
        said = self.next(patience)
        assert "notify" in said, said
        notice: dict[str, Any] = said["notify"]
        return notice

    def closes(self) -> int:
        said = self.next()
        assert "close" in said, said
        id: int = said["close"]
        return id

    def closes_at_once(self) -> int:
        """It is asked to do so by the time the program has taken all that this server has said."""
        self.order(ping=True)
        id = self.closes()
        assert self.next() == {"pong": True}
        return id

    def is_asked_nothing(self) -> None:
        """The program has taken all that this server has said, and asks for nothing at once.

        What waits for the agent, or for a time, may follow.
        """
        self.order(ping=True)
        said = self.next()
        assert said == {"pong": True}, said

    def stays_quiet(self, seconds: float = SOON) -> None:
        try:
            said = self.came.get(timeout=seconds)
        except queue.Empty:
            return
        raise AssertionError(f"it should not have come: {said}")


class Desk:
    """Folders and buses of one session. `start_program` starts a program, and ends it with the test."""

    PROGRAM = PROGRAM

    def __init__(self, folder: Path, device: AgentDevice, start_program: Callable[..., Program], app_program: Path):
        self.folder, self.device, self.start_program, self.app_program = folder, device, start_program, app_program
        self.config, self.state = folder / "config", folder / "state"
        self.variables: dict[str, str] = {
            "SEGUE_RUNTIME_DIR": str(device.folder),
            "XDG_CONFIG_HOME": str(self.config),
            "XDG_STATE_HOME": str(self.state),
            "XDG_SESSION_ID": "1",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/session-bus",
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={folder}/system-bus",
            "DISPLAY": ":none",
        }
        self.session_bus = self.bus("session-bus")
        self.system_bus = self.bus("system-bus")
        self.logind: Program | None = None
        self.program: Program | None = None
        self.heard: list[str] = []  # all that the program has said

    def start(self, name: str, command: list[str | Path], **more: Any) -> Program:
        changed = [f"{name}={value}" for name, value in self.variables.items()]
        return self.start_program(name, ["env", "-u", "SEGUE_LOG", "-u", "WAYLAND_DISPLAY", *changed, *command], **more)

    def bus(self, name: str) -> Program:
        """Starts a bus of the test: "session-bus", or "system-bus", which has the rules of a session's."""
        (self.folder / name).unlink(missing_ok=True)
        options = [
            "--session",
            "--nofork",
            "--nopidfile",
            "--print-address",
            f"--address=unix:path={self.folder}/{name}",
        ]
        program = self.start(name, ["dbus-daemon", *options])
        program.wait_for("^unix:")
        setattr(self, name.replace("-", "_"), program)
        return program

    def begin_logind(self) -> None:
        self.logind = self.start("logind", [sys.executable, HERE / "logind.py"])
        self.logind.wait_for("ready")

    def session(self, **state: object) -> None:
        """Changes the session, and waits until the program knows its state."""
        assert self.logind is not None
        self.logind.tell(json.dumps(state))
        if state.get("sleep") is not True:
            self.logind.wait_for("^asked")
            self._is_known({name: value for name, value in state.items() if name == "session"})

    def _is_known(self, session: dict[str, object]) -> None:
        """The program has the answer of logind: it asks again, as the session may have changed, and only then."""
        assert self.logind is not None
        self.logind.tell(json.dumps(session))
        self.logind.wait_for("^asked")

    def arrive(self) -> None:
        """The user unlocks the session."""
        self.session(LockedHint=True)
        self.session(LockedHint=False)

    def settings(self, *lines: str) -> None:
        (self.config / "segue").mkdir(parents=True, exist_ok=True)
        (self.config / "segue" / "desktop").write_text("".join(f"{line}\n" for line in lines))

    def begin(self, *, is_known: bool = True) -> Program:
        """Starts the program; it knows the session afterwards, if logind runs and answers."""
        self.program = self.start("desktop", [PROGRAM], listener=self.heard.append)
        if self.logind is not None and is_known:
            self.logind.wait_for("^asked")
            self._is_known({})
        return self.program

    def app(self, device: AgentDevice, name: str, *options: str) -> Participant:
        under = device.machine.under if device.machine else []
        words = participant(self.app_program, name, *options, under=under, SEGUE_RUNTIME_DIR=str(device.folder))
        return Participant(self.start_program(name, words)).ready()


def until(holds: Callable[[], object], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def begin(desk: Desk, server: Server) -> None:
    """Starts the program, which notifies of each new offer and knows the server."""
    desk.settings("notify always")
    desk.begin()
    server.program.wait_for("^asked")


def answers(server: Server, is_good: bool = True) -> None:
    """It gives the answers that it has kept, and hangs no longer."""
    server.order(hangs=False)
    server.order(answers=is_good)


def offers(notes: Notes, title: str) -> None:
    here, there = notes
    there.tell(f"offer {title}").hears("offered")
    here.hears(f"appeared {title}")
