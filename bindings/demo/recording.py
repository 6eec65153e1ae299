# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run of the demo in a terminal, line by line."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEMO = Path(__file__).resolve().parent / "run"
ROWS, COLUMNS = 40, 160
PATIENCE = 120.0  # seconds for the whole run: for failures only
NAME = "laptop"  # of the device, in the place of this machine's
CHAPTER = re.compile(r"(\d+)\. ")
# A line of a program: its name, and whether it says this or somebody types it.
SAID = re.compile(r"  (?P<name>.{16}) (?P<way>[|<]) (?P<text>.*)")


class RecordingError(Exception):
    """The demo did not end well, or printed something that is not a line."""


@dataclass(frozen=True)
class Line:
    at: float  # seconds since the demo began
    text: str

    @property
    def is_command(self) -> bool:
        """Whether somebody types it."""
        said = SAID.fullmatch(self.text)
        return said is not None and said["way"] == "<"

    @property
    def chapter(self) -> int:
        """The number of the chapter that it is the title of; 0 for other lines."""
        found = CHAPTER.match(self.text)
        return int(found[1]) if found else 0


def record() -> list[Line]:
    """Runs the demo; returns its lines. Raises: RecordingError."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c", f'hostname {NAME} && exec "$0"', str(DEMO)]
    environment = {**os.environ, "TMPDIR": "/tmp", "DEMO_BREAK": ""}
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        lines = [Line(time.monotonic() - began, text) for text in printed(ours, began + PATIENCE)]
        status = process.wait(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    if status != 0:
        raise RecordingError(f"the demo ended with {status}: {lines[-1].text if lines else 'it said nothing'}")
    return lines


def printed(terminal: int, deadline: float) -> Iterator[str]:
    """Yields each line as it comes, until the last program has left the terminal."""
    rest = b""
    while select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            read = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            text = line.decode().rstrip("\r")
            if not text.isprintable():
                raise RecordingError(f"the demo printed more than text: {text!r}")
            yield text
    raise RecordingError(f"the demo did not end within {PATIENCE:.0f} s")


def chapters(lines: list[Line], last: int) -> list[Line]:
    """Returns the lines of the first chapters, without empty ones at either end."""
    numbers = [line.chapter for line in lines]
    kept = lines[numbers.index(1) : numbers.index(last + 1)]
    while kept and not kept[-1].text:
        kept.pop()
    return kept
