# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The second story of the demo: an app that does not run, everybody killed on the way (R3.8), and an offer that
outlives its app (R2.5)."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

from cast import HERE, PYTHON, Cast, build, chapter, say
from programs import Program, ProgramError

LAUNCHER = """[Desktop Entry]
Type=Application
Name=Reader
Exec={command}
X-Segue-BundleIdentifier=com.example.notes.reader
X-Segue-TeamIdentifier=EXAMPLE
X-Segue-ActivityTypes=com.example.notes.editing;
X-Segue-BackgroundOnly=true
"""
CARRIES = r"this process is the hub of generation \d+ "


class Reader:
    """The reader's manifest, and the two pipes that it has in place of a terminal."""

    def __init__(self, folder: Path, cast: Cast):
        self.output, self.input = folder / "output", folder / "input"
        self.command = [PYTHON, HERE / "reader.py", self.output, self.input]
        os.mkfifo(self.output)
        os.mkfifo(self.input)
        applications = folder / "data" / "applications"
        applications.mkdir(parents=True)
        words = " ".join(f'"{word}"' for word in self.command)
        (applications / "reader.desktop").write_text(LAUNCHER.format(command=words))
        # Both ends, so that the next process of the reader writes to the same pipe.
        self.window: Program = cast.enter("reader in Python", "sh", "-c", 'exec cat 0<>"$1"', "sh", self.output)
        self.pid = 0

    def runs(self) -> None:
        """Waits until a process of it runs."""
        self.pid = int(self.window.wait_for(r"^process (\d+)$")[1])

    def type(self, line: str) -> None:
        say(f"  {'reader in Python':<16} < {line}")
        self.input.write_text(line + "\n")

    def kill(self) -> None:
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


@contextlib.contextmanager
def reader_of(folder: Path, cast: Cast) -> Iterator[Reader]:
    """A reader that the end of the block kills: it outlives the agent that has started it."""
    reader = Reader(folder, cast)
    try:
        yield reader
    finally:
        reader.kill()


def waits(cast: Cast, folder: Path) -> None:
    """From a C program to a Python program that does not run. Raises: ProgramError."""
    chapter("6. Now an agent runs, and a reader is installed that does not run. Somebody writes a letter again.")
    agent = cast.ask("agent", name="another shell")
    agent.wait_for(CARRIES)
    editor = cast.open_letter(shutil.copy(HERE / "letter.txt", folder / "another.txt"))
    with reader_of(folder, cast) as reader:
        expect(cast.ask("explain"), r"^com\.example\.notes\.reader would continue it: it does not run, and would be")

        chapter("7. The user wants it there. The agent stores the letter, starts the reader, and hands it over.")
        asking = cast.ask("continue", "--launch")
        reader.runs()
        reader.window.wait_for(r"^shall I show ")

        chapter("8. Before anybody answers, all of them are killed: the agent, the editor, the reader.")
        for number in (agent.pid, editor.pid, reader.pid):
            say(f"  kill -9 {number}")
            os.kill(number, signal.SIGKILL)
        asking.wait_for(r"^segue: CONNECTION_UNAVAILABLE")

        chapter("9. Another agent starts. What waited is still there, and the reader gets it when it opens.")
        another = cast.ask("agent", name="another shell")
        another.wait_for(CARRIES)
        expect(cast.ask("inbox"), r"com\.example\.notes\.reader .* delivered$|com\.example\.notes\.reader .* waits$")
        cast.enter("", *reader.command)
        reader.runs()
        reader.window.wait_for(r"^shall I show once more ")
        reader.type("yes")
        reader.window.wait_for(r"^> \d+: ")
        reader.window.wait_for(r"^offering ")
        expect_nothing(cast)

        chapter("10. The letter is open in the reader now. The user quits it; the agent goes on offering what it left.")
        reader.type("quit")
        reader.window.wait_for("^closed$")
        another.wait_for("offers what Reader has left")
        expect(cast.ask("list"), r"'another\.txt' +Reader ")
        viewer = cast.enter("viewer in C", build("viewer"))
        expect(viewer, r"^> \d+: ")


def expect_nothing(cast: Cast) -> None:
    """Looks until nothing waits: the reader's answer may still be on its way."""
    for _ in range(20):
        inbox = cast.ask("inbox")
        line = inbox.wait_for("^nothing waits$|^ID ")[0]
        inbox.wait()
        if line == "nothing waits":
            return
    raise ProgramError("the letter waits although it was shown")


def expect(command: Program, pattern: str) -> None:
    """Waits for what a command says, and for its end without an error."""
    command.wait_for(pattern)
    if command.wait() != 0:
        raise ProgramError(f"the command ended with an error, though it said {re.escape(pattern)}")
