# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of the demo, and what they say, printed as it comes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests"))
from programs import Program  # noqa: E402

HERE = ROOT / "bindings" / "demo"
EXAMPLES = ROOT / "bindings" / "c" / "examples"
PYTHON = ROOT / ".venv" / "bin" / "python"
SEGUE = PYTHON.with_name("segue")
BUILT = ROOT / ".build" / "demo"
TYPE = "com.example.notes.editing"
FOUND = "the train at nine"


def say(line: str) -> None:
    """Prints a line in one piece: several threads do."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def chapter(text: str) -> None:
    say(f"\n{text}")


def build(name: str) -> Path:
    """Compiles one of the C examples against the library in the tree."""
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / name
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", f"-I{ROOT / 'include'}", EXAMPLES / f"{name}.c"]
    command += [EXAMPLES / "text.c", "-o", program, f"-L{ROOT / 'lib'}", "-lsegue", f"-Wl,-rpath,{ROOT / 'lib'}"]
    subprocess.run([str(part) for part in command], check=True)
    return program


class Cast:
    """Starts the programs of the story, and prints what they say and what is typed into them."""

    def __init__(self, start: Callable[..., Program]):
        self._start = start

    def enter(self, name: str, *command: str | Path) -> Program:
        return self._start(name, command, listener=lambda line: say(f"  {name:<16} | {line}"))

    def type(self, program: Program, line: str) -> None:
        say(f"  {program.name:<16} < {line}")
        program.tell(line)

    def open_letter(self, note: Path, *options: str) -> Program:
        """An editor in which somebody has gone to a line and selected some words."""
        editor = self.enter("editor in C", build("editor"), note, *options)
        editor.wait_for(r"^1: ")
        self.type(editor, f"/{FOUND}")
        editor.wait_for(r"^\d+: .*\[")
        return editor

    def ask(self, *words: str, name: str = "shell") -> Program:
        """The command `segue`, as somebody types it into a shell."""
        say(f"  {name:<16} < segue {' '.join(words)}")
        return self.enter(name, SEGUE, *words)
