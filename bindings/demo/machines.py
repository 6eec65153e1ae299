# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two or three machines with cables between them: network namespaces, which need no root; and an agent on each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cast import ROOT, SEGUE, say
from network import Network, second_cable, two_networks
from programs import Program, ProgramError

AGENT = ROOT / "lib" / "segue-agent"
CARRIES = r"this process is the hub of generation \d+ "


class Machine:
    """A machine with an agent of its own, and somebody who types there."""

    def __init__(self, name: str, network: Network, start: Callable[..., Program]):
        self.name, self.network, self._start = name, network, start
        self.home = Path(tempfile.mkdtemp(prefix=f"segue-{name}-"))
        for folder in ("run", "state", "config"):
            (self.home / folder).mkdir(mode=0o700)
        self._agent = self._program("agent", AGENT, SEGUE_LOG="info")
        self._agent.wait_for(CARRIES)

    def _program(
        self, what: str, *words: str | Path, listener: Callable[[str], None] | None = None, **more: str
    ) -> Program:
        folders = {"SEGUE_RUNTIME_DIR": "run", "SEGUE_STATE_DIR": "state", "XDG_CONFIG_HOME": "config"}
        variables = {**{name: self.home / folder for name, folder in folders.items()}, **more}
        environment = [f"{key}={value}" for key, value in variables.items()]
        return self._start(
            f"{self.name}: {what}", [*self.network.under, "env", *environment, *words], listener=listener
        )

    def types(self, *words: str) -> Program:
        """The command `segue`."""
        self.said(f"< segue {' '.join(words)}")
        return self._program(f"segue {words[0]}", SEGUE, *words, listener=lambda line: self.said(f"| {line}"))

    def does(self, *words: str) -> Program:
        """The same, and waits for its end, which must be a success."""
        program = self.types(*words)
        status = program.wait()
        if status != 0:
            raise ProgramError(f"{self.name}: segue {words[0]} ended with status {status}")
        return program

    def sleeps(self) -> None:
        """Its agent ends, as when it is switched off."""
        self._agent.signal(15)
        self._agent.wait()
        self.said("(off)")

    def said(self, line: str) -> None:
        say(f"  {self.name:<8} {line}")


@contextmanager
def two_machines(names: tuple[str, str], start: Callable[..., Program]) -> Iterator[list[Machine]]:
    """Machines with the addresses 10.99.0.1 and 10.99.0.2."""
    cable = two_networks(start)
    cable.address()
    with running(names, cable.machines, start) as machines:
        yield machines


@contextmanager
def three_machines(names: tuple[str, str, str], start: Callable[..., Program]) -> Iterator[list[Machine]]:
    """The first one with the addresses 10.99.0.1 and 10.98.0.1; the others have 10.99.0.2 and 10.98.0.2, and no route
    to each other."""
    cable = two_networks(start)
    cable.address()
    third = second_cable(start, cable.machines[0])
    with running(names, (*cable.machines, third), start) as machines:
        yield machines


@contextmanager
def running(
    names: Sequence[str], networks: Sequence[Network], start: Callable[..., Program]
) -> Iterator[list[Machine]]:
    machines: list[Machine] = []
    try:
        for name, network in zip(names, networks, strict=True):
            machines.append(Machine(name, network, start))
        yield machines
    finally:
        for each in machines:
            shutil.rmtree(each.home, ignore_errors=True)
