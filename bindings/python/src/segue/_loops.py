# SPDX-License-Identifier: Apache-2.0
"""The asyncio loop that runs here."""

from __future__ import annotations

import asyncio

from .errors import InvalidStateError


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the loop that runs in this thread; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def needed_loop() -> asyncio.AbstractEventLoop:
    """Returns the loop that runs in this thread. Raises: InvalidStateError if there is none, as under trio."""
    loop = running_loop()
    if loop is None:
        raise InvalidStateError(
            "no asyncio loop runs here: await and async with need asyncio (or anyio with asyncio). Elsewhere use "
            "wait() and with; under trio, an App with delivery='thread' and trio.to_thread.run_sync(pending.wait)"
        )
    return loop
