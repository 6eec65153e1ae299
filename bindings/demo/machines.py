# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines with a cable between them: network namespaces, which need no root; and an agent on each."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cast import ROOT, SEGUE, say
from network import two_networks
from programs import Program, ProgramError

AGENT = ROOT / "lib" / "segue-agent"
CARRIES = r"this process is the hub of generation \d+ "


class Machine:
    """A machine with an agent of its own, and somebody who types there."""

    def __init__(self, name: str, under: list[str], start: Callable[..., Program]):
        """
        under: what a command is started under to be on that machine
        """
        self.name, self._under, self._start = name, under, start
        self.home = Path(tempfile.mkdtemp(prefix=f"segue-{name}-"))
        for folder in ("run", "state"):
            (self.home / folder).mkdir(mode=0o700)
        self._program("agent", AGENT, SEGUE_LOG="info").wait_for(CARRIES)

    def _program(
        self, what: str, *words: str | Path, listener: Callable[[str], None] | None = None, **more: str
    ) -> Program:
        variables = {"SEGUE_RUNTIME_DIR": self.home / "run", "SEGUE_STATE_DIR": self.home / "state", **more}
        environment = [f"{key}={value}" for key, value in variables.items()]
        return self._start(f"{self.name}: {what}", [*self._under, "env", *environment, *words], listener=listener)

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

    def said(self, line: str) -> None:
        say(f"  {self.name:<8} {line}")


@contextmanager
def two_machines(names: tuple[str, str], start: Callable[..., Program]) -> Iterator[list[Machine]]:
    """Machines with the addresses 10.99.0.1 and 10.99.0.2."""
    cable = two_networks(start)
    cable.address()
    machines: list[Machine] = []
    try:
        for name, network in zip(names, cable.machines, strict=True):
            machines.append(Machine(name, network.under, start))
        yield machines
    finally:
        for each in machines:
            shutil.rmtree(each.home, ignore_errors=True)
