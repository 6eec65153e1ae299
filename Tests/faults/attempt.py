# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hub, an editor and a viewer as processes of their own, one of whom is to die at one of its system calls; and what
all of them said, in one list."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from participants import participant
from programs import Program

PATIENCE = 20.0  # seconds: for failures only

# The phase of a process, by the kind of the last message that it had sent or received (docs/protocol.md).
PHASES = {
    0: "opening",
    1: "opening",
    2: "registering",
    10: "registering",
    6: "offering",
    8: "offering",
    11: "asking",
    12: "sending",
    13: "telling",
    14: "telling",
    16: "telling",
    15: "noting",
    3: "leaving",
    7: "leaving",
    9: "leaving",
}


class Said(NamedTuple):
    who: str
    at: float  # milliseconds of the monotonic clock
    text: str


class Fault(NamedTuple):
    victim: str
    what: str  # kill, stop, or fork: kill once there is a child
    kind: int  # of the message after which calls are counted; 0: from the start
    call: int

    def __str__(self) -> str:
        return f"{self.victim} {self.what}:{self.kind}:{self.call}"


class Attempt:
    """The processes of one attempt, and what they have said."""

    def __init__(self, built: Path, folder: Path, fault: Fault):
        self.fault = fault
        self.log: list[Said] = []
        self.programs: dict[str, Program] = {}
        self._built = built
        self._folder = folder
        self._lines: queue.Queue[Said] = queue.Queue()

    def start(self, name: str, *options: str) -> None:
        settings = {"SEGUE_RUNTIME_DIR": str(self._folder)}
        if name == self.fault.victim:
            action = "stop" if self.fault.what == "stop" else "kill"
            settings["SEGUE_FAULT"] = f"{action}:{self.fault.kind}:{self.fault.call}"
            settings["LD_PRELOAD"] = str(self._built / "shim.so")
        # In a session of its own: its children can be ended with it, who might hold its output open.
        command = participant(self._built / "participant", name, *options, under=["setsid"], **settings)

        def listen(line: str) -> None:
            at, _, text = line.partition(" ")
            self._lines.put(Said(name, float(at), text))

        self.programs[name] = Program(name, command, listener=listen)

    def tell(self, name: str, line: str) -> None:
        """Unless it is gone."""
        if name in self.alive:
            with contextlib.suppress(Exception):
                self.programs[name].tell(line)

    @property
    def death(self) -> Said | None:
        """The last line of the victim, with the fault that it has met; None: it has met none yet."""
        return next((said for said in self.log if said.text.startswith("fault ")), None)

    @property
    def phase(self) -> str:
        assert self.death
        return PHASES[int(self.death.text.rpartition(" ")[2])]

    @property
    def alive(self) -> list[str]:
        return [name for name in self.programs if not (self.death and name == self.fault.victim)]

    def find(self, who: str, pattern: str, since: float = 0) -> Said | None:
        """The first that it said since then and that matches as a whole."""
        return next(iter(self.all(who, pattern, since)), None)

    def all(self, who: str, pattern: str, since: float = 0) -> list[Said]:
        return [said for said in self.log if said.who == who and said.at >= since and re.fullmatch(pattern, said.text)]

    def wait(self, condition: Callable[[], object], patience: float = PATIENCE) -> object:
        """Listens until the condition holds; what it is then."""
        deadline = time.monotonic() + patience
        while not (found := condition()):
            try:
                self.log.append(self._lines.get(timeout=max(0.0, deadline - time.monotonic())))
            except queue.Empty:
                raise AssertionError(f"{self.fault}: did not come within {patience:.0f} s{self}") from None
        return found

    def hear(self, who: str, pattern: str, since: float = 0, patience: float = PATIENCE) -> Said:
        found = self.wait(lambda: self.find(who, pattern, since), patience)
        assert isinstance(found, Said)
        return found

    def hear_or_death(self, who: str, pattern: str) -> bool:
        """False: the victim has died first."""
        self.wait(lambda: self.death or self.find(who, pattern))
        return not self.death

    def end(self, name: str) -> None:
        """In order: it has let go of all handles."""
        assert self.programs[name].wait() == 0, f"{self.fault}: {name} did not end well{self}"

    def close(self) -> None:
        for program in self.programs.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.kill()

    def __str__(self) -> str:
        return "".join(f"\n  {said.at:.1f} {said.who}: {said.text}" for said in self.log[-40:])
