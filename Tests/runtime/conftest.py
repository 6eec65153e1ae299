# SPDX-License-Identifier: Apache-2.0
"""Real processes: the programs of this folder, built against the shipped library, each test in a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "Tests"), str(HERE)]
from programs import Program, programs  # noqa: E402

LIBRARY = Path(os.environ.get("SEGUE_LIBRARY", ROOT / "lib" / "libsegue.so.0")).resolve()


@pytest.fixture(scope="session")
def built() -> Iterator[Path]:
    """A folder with the programs, by name."""
    with tempfile.TemporaryDirectory(prefix="segue-runtime-") as folder:
        for source in HERE.glob("*.c"):
            command = ["cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT}/include"]
            command += [source, "-o", f"{folder}/{source.stem}", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"]
            subprocess.run([str(part) for part in command], check=True)
        yield Path(folder)


@pytest.fixture
def folder() -> Iterator[Path]:
    """The runtime folder of one test."""
    with tempfile.TemporaryDirectory(prefix="segue-run-") as path:
        yield Path(path)


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
        """What was said since the last look, without times, up to now."""
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


@pytest.fixture
def start(built: Path, folder: Path) -> Iterator[Callable[..., Participant]]:
    """start("name", "--chooser", ...): a participant of team T that declares the usual type."""
    with programs() as run:

        def launch(
            name: str,
            *options: str,
            team: str = "T",
            types: tuple[str, ...] = ("com.example.editing",),
            folder: Path = folder,
            under: Sequence[str] = (),
            **environment: str,
        ) -> Participant:
            declared = [word for type_ in types for word in ("--type", type_)]
            variables = {"SEGUE_RUNTIME_DIR": str(folder), **environment}
            command = ["env", *(f"{key}={value}" for key, value in variables.items()), *under]
            command += [built / "participant", f"com.example.{name}", "--team", team, *declared, *options]
            return Participant(run(name, command))

        yield launch
