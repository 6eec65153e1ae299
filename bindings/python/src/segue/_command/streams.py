# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The standard streams of the command, which may be closed, full, or read by somebody who leaves; and how it dies."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import signal
import stat
import sys
from collections.abc import Coroutine
from typing import IO, Any, TypeVar

from .output import CommandError

_T = TypeVar("_T")
_closed: set[int] = set()
"""Descriptors that were closed when the command was started."""


def prepare_streams() -> None:
    """Opens standard streams that are closed on /dev/null: what is opened next would take their place.

    Raises: CommandError if standard output is closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            _closed.add(descriptor)
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal need not be of Unicode
    if 1 in _closed:
        raise CommandError("standard output is closed")


def standard_input() -> IO[bytes]:
    """Raises: CommandError if it is closed."""
    if 0 in _closed:
        raise CommandError("standard input is closed")
    return sys.stdin.buffer


def discard_output() -> None:
    """Lets the end of the process write nothing more: what could not be written would fail there again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


async def while_read(work: Coroutine[Any, Any, _T]) -> _T:
    """Does some work that prints now and then, as long as somebody reads from the pipe that standard output may be.

    Raises: BrokenPipeError once its reader has gone, as the next thing printed would.
    """
    if not stat.S_ISFIFO(os.fstat(1).st_mode):
        return await work
    task = asyncio.ensure_future(work)
    loop, gone = asyncio.get_running_loop(), []

    def look() -> None:
        gone.append(True)
        loop.remove_reader(1)
        task.cancel()

    loop.add_reader(1, look)  # of the end that is written to, only errors are reported
    try:
        return await task
    except asyncio.CancelledError:
        if not gone:
            raise
        discard_output()
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
    finally:
        loop.remove_reader(1)


def die_of(number: signal.Signals) -> int:
    """Ends the process by a signal, so that a shell sees it: a loop of a script ends, too."""
    discard_output()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number  # if the signal is blocked
