# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The asyncio loop that runs here."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

from .errors import InvalidStateError


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the loop that runs in this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def soon(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *arguments: Any) -> bool:
    """Lets a loop, perhaps of another thread, make a call. Returns whether it will: a closed one makes none."""
    try:
        loop.call_soon_threadsafe(call, *arguments)
    except RuntimeError:
        return False
    return True


def needed_loop() -> asyncio.AbstractEventLoop:
    """Returns the loop that runs in this thread. Raises: InvalidStateError if there is none, as under trio."""
    loop = running_loop()
    if loop is None:
        raise InvalidStateError(
            "no asyncio loop runs here: await and async with need asyncio (or anyio with asyncio). Elsewhere use "
            "wait() and with; under trio, an App with delivery='thread' and trio.to_thread.run_sync(pending.wait)"
        )
    return loop
