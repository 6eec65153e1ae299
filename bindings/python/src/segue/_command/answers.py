# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks the user yes or no: the question on standard error, the answer in a line of standard input."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import termios
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Callable, TypeVar

from .._terminal import shown_lines
from .streams import standard_input

_T = TypeVar("_T")
_MOST_EARLY = 1 << 20
"""Bytes of early input that are discarded."""
_LOCAL = 3
"""The index of the flags with ECHO in the attributes that `termios` gives."""


class NoAnswer(Exception):
    """Standard input, which is no terminal, has ended before an answer."""


async def agreed(
    question: str,
    ended: Callable[[], Awaitable[Any]] | None = None,
    show: Callable[[], None] | None = None,
    *,
    left: str | None = None,
    optional: bool = False,
) -> bool | None:
    """Returns whether the answer begins with "y"; no answer, and the end of the input, are a no. Words that were
    typed in a terminal before the question are no answer to it.

    question: what others chose in it is escaped already
    ended: waits until the question is of no use any longer; then the result is None
    show: shows what the user has to see before the answer: what came before that is none, in a pipe neither
    left: the time for the answer, which is shown
    optional: somebody may answer elsewhere: the end of an input that is no terminal is not a no

    Raises: NoAnswer if that is so.
    """
    discard_early(in_pipes=show is not None)
    if show is not None:
        show()
    time = "" if left is None else f" ({left} left)"
    print(f"{shown_lines(question)}{time} [y/N] ", end="", file=sys.stderr, flush=True)
    answer = asyncio.ensure_future(read_line())
    end = None if ended is None else asyncio.ensure_future(ended())
    try:
        await asyncio.wait([each for each in (answer, end) if each is not None], return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            if not sys.stdin.isatty():
                print(file=sys.stderr, flush=True)  # ends the line of the question
            line = answer.result()
            if line is None and optional and not sys.stdin.isatty():
                raise NoAnswer
            return (line or b"").strip().lower().startswith(b"y")
        print(file=sys.stderr, flush=True)
        if end is not None:
            end.result()
        return None
    finally:
        for each in (answer, end):
            if each is not None:
                each.cancel()


def discard_early(*, in_pipes: bool) -> None:
    """Discards what has come on standard input; a file whole."""
    descriptor = standard_input().fileno()
    if os.isatty(descriptor):
        with suppress(termios.error):  # it has been hung up
            termios.tcflush(descriptor, termios.TCIFLUSH)
    elif in_pipes:
        left = _MOST_EARLY
        while left > 0 and select.select([descriptor], [], [], 0)[0]:
            early = os.read(descriptor, min(left, 1 << 16))
            if not early:
                break
            left -= len(early)


async def hidden_line(prompt: str, most: int) -> bytes | None:
    """As `read_line`, from a terminal, which does not show what is typed. It does again after Ctrl-C, too."""
    with _unseen():
        print(prompt, end="", file=sys.stderr, flush=True)
        return await read_line(most)


@contextmanager
def _unseen() -> Iterator[None]:
    descriptor = standard_input().fileno()
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[_LOCAL] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        with suppress(termios.error):  # it has been hung up
            # The rest of a line that is too long is no command for the shell.
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
        print(file=sys.stderr, flush=True)  # ends the line of the prompt


async def read_line(most: int = 1 << 10) -> bytes | None:
    """Reads a line of standard input, byte by byte: what follows is for the next question. Waits in the loop where that
    is possible, so that the wait can end. None: the input has ended.

    most: bytes that are read of it
    """
    descriptor = standard_input().fileno()
    loop = asyncio.get_running_loop()
    text = b""
    while len(text) < most:
        came = asyncio.Event()
        try:
            loop.add_reader(descriptor, came.set)
        except PermissionError:  # a file, which never makes wait
            came.set()
        try:
            await came.wait()
        finally:
            loop.remove_reader(descriptor)
        byte = os.read(descriptor, 1)
        if byte == b"\n":
            break
        if not byte:
            return text or None
        text += byte
    return text
