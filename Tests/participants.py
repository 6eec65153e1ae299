# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An app that is told what to do: a running participant.c."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from programs import Program


class Participant:
    """A running participant.c, spoken to by its own words."""

    def __init__(self, program: Program):
        self.program = program
        self.pid = program.pid
        self.lines: list[str] = []

    def tell(self, *lines: str) -> Participant:
        for line in lines:
            self.program.tell(line)
        return self

    def hears(self, pattern: str, patience: float = 20.0) -> re.Match[str]:
        """The first line not yet taken that matches as a whole, its time apart."""
        return self.program.wait_for(rf"^(?P<at>[\d.]+) (?:{pattern})$", patience)

    def ask(self, line: str, pattern: str, patience: float = 20.0) -> re.Match[str]:
        return self.tell(line).hears(pattern, patience)

    def events(self, patience: float = 20.0) -> list[str]:
        """Returns the lines that the program has said since the last one that was taken, without their times."""
        taken = len(self.program.said)
        self.ask("handles", r"handles \d+", patience)
        return [line.partition(" ")[2] for line in self.program.said[taken:-1]]

    def ready(self) -> Participant:
        self.hears("connection ready")
        return self

    def end(self) -> None:
        """Ends it in order: it has let go of every handle."""
        assert self.program.wait() == 0, self.program.said[-5:]

    def kill(self) -> None:
        self.program.kill()


def participant(
    program: Path,
    name: str,
    *options: str,
    team: str = "T",
    types: tuple[str, ...] = ("com.example.editing",),
    under: Sequence[str] = (),
    **environment: str,
) -> list[str | Path]:
    """The command that starts an app of a team that declares types."""
    declared = [word for type_ in types for word in ("--type", type_)]
    variables = [f"{key}={value}" for key, value in environment.items()]
    return ["env", *variables, *under, program, f"com.example.{name}", "--team", team, *declared, *options]
