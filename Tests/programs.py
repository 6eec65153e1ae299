# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that run beside a test, the demo or a measurement: started, listened to line by line, and ended for sure."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

PATIENCE = 30.0  # seconds to wait for a line by default: for failures only, what is awaited comes at once


class ProgramError(Exception):
    """A program did not do what was awaited; the text says which and what it said last."""


class Program:
    """A running program. Its standard output and error come as lines, in their order, once each."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
        listener: Callable[[str], None] | None = None,
    ):
        self.name = name
        self.said: list[str] = []
        self._listener = listener
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="surrogateescape",  # bytes that are no UTF-8 can be told, and are heard
            env=environment,
            pass_fds=pass_fds,
            cwd=cwd,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            line = line.rstrip("\n")
            if self._listener is not None:
                self._listener(line)
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, pattern: str, patience: float = PATIENCE) -> re.Match[str]:
        """The first line not yet taken that the pattern matches somewhere; the lines before it are taken too."""
        deadline = time.monotonic() + patience
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise self._error(f"did not say /{pattern}/ within {patience:.0f} s") from None
            if line is None:
                self._lines.put(None)
                raise self._error(f"ended before it said /{pattern}/")
            self.said.append(line)
            if found := re.search(pattern, line):
                return found

    def tell(self, line: str) -> None:
        """Writes a line to its standard input."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._error("takes no input any more") from None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        """Stops it, as SIGSTOP does, and waits until all of its threads stand still: the one that gets the signal may
        have to wait for a processor."""
        self.signal(signal.SIGSTOP)
        state = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state is None or state.si_code != os.CLD_STOPPED:
            raise self._error("has ended, and cannot be stopped")

    def end_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def wait(self, patience: float = PATIENCE) -> int:
        """Ends its input, and waits for its end. The exit status, or minus the signal."""
        self.end_input()
        try:
            status = self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            raise self._error(f"did not end within {patience:.0f} s") from None
        self._end()
        return status

    def kill(self) -> None:
        """Ends it, whatever it is doing; it may have ended already."""
        self._process.kill()
        self._process.wait(PATIENCE)
        self._end()

    def _end(self) -> None:
        self._reader.join(PATIENCE)
        if self._reader.is_alive():  # and reads on: closing what it reads would wait for it
            raise self._error("left a process behind that holds its output")
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _error(self, what: str) -> ProgramError:
        return ProgramError("\n    ".join([f"{self.name} {what}", *self.said[-5:]]))


@contextlib.contextmanager
def programs(environment: Mapping[str, str] | None = None) -> Iterator[Callable[..., Program]]:
    """A function that starts programs as Program() does; they are killed, last first, when the block is left."""
    started: list[Program] = []

    def start(name: str, command: Sequence[str | Path], **options) -> Program:
        started.append(Program(name, command, environment, **options))
        return started[-1]

    try:
        yield start
    finally:
        for program in reversed(started):
            program.kill()
