# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Terminals in which a test types as a person does: panes of a tmux of its own."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

PATIENCE = 30.0
COLUMNS, LINES = 180, 50
PROMPT = "ready> "


class Terminal:
    """A shell in a terminal. Whenever something is printed, the screen is looked at."""

    def __init__(self, socket: Path, name: str):
        self._socket, self.name = socket, name
        fifo = socket.with_name(f"{name}.fifo")
        os.mkfifo(fifo)
        # Both ends, so that it never ends.
        self._output = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        self._tmux("pipe-pane", "-t", name, f"cat >'{fifo}'")

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self._socket), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def screen(self, *options: str) -> str:
        """Returns the present text of the screen, with wrapped lines joined; with -e, colours too."""
        return self._tmux("capture-pane", "-p", "-J", *options, "-t", self.name)

    def type(self, line: str) -> None:
        """Types a line on an empty screen."""
        self._tmux("send-keys", "-R", "-t", self.name)
        self._tmux("clear-history", "-t", self.name)
        self.keys(line)
        self.press("Enter")

    def keys(self, text: str) -> None:
        self._tmux("send-keys", "-t", self.name, "-l", text)

    def press(self, key: str) -> None:
        """A key by the name that tmux has for it, such as C-c."""
        self._tmux("send-keys", "-t", self.name, key)

    def shows(self, pattern: str) -> re.Match[str]:
        """Waits until the screen has something; ^ and $ are those of a line."""
        deadline = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            if found := re.search(pattern, screen, re.MULTILINE):
                return found
            left = deadline - time.monotonic()
            assert left > 0, f"{self.name}: no /{pattern}/ on\n{screen.rstrip()}"
            select.select([self._output], [], [], left)
            with contextlib.suppress(BlockingIOError):
                os.read(self._output, 1 << 16)

    def runs(self, line: str, status: int = 0) -> str:
        """Types a command, waits for its end, and returns the screen."""
        self.type(f"{line}; echo status=$?")
        self.shows(rf"^status={status} *$")
        return self.screen()

    def close(self) -> None:
        os.close(self._output)


@contextlib.contextmanager
def terminals(folder: Path, environment: Mapping[str, str]) -> Iterator[Callable[[str], Terminal]]:
    """A function that opens terminals by name; what runs in them is hung up when the block is left."""
    socket = folder / "tmux"
    base = ["tmux", "-u", "-f", os.devnull, "-S", str(socket)]
    variables = [f"{name}={value}" for name, value in {**environment, "PS1": PROMPT, "ENV": ""}.items()]
    opened: list[Terminal] = []

    def open_terminal(name: str) -> Terminal:
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        shell = ["env", *variables, "TERM=screen", "sh"]
        subprocess.run([*base, "new-session", "-d", *size, "-s", name, *shell], check=True, timeout=PATIENCE)
        opened.append(Terminal(socket, name))
        opened[-1].shows(rf"^{PROMPT.strip()}")
        return opened[-1]

    try:
        yield open_terminal
    finally:
        for terminal in opened:
            terminal.close()
        if opened:
            subprocess.run([*base, "kill-server"], capture_output=True, timeout=PATIENCE)
