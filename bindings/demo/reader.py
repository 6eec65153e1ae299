# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reader of notes that need not run: the agent starts it, and it shows what it is given.

    reader.py OUTPUT INPUT

Started by the agent, it has no terminal: OUTPUT and INPUT are named pipes in its place. It shows a letter after
somebody has typed a line, then offers it itself, and ends at the next line.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import segue
from viewer import TYPE, restore


async def main(output: str, input: str) -> None:
    sys.stdout = open(output, "w", buffering=1)  # noqa: SIM115
    print(f"process {os.getpid()}")
    restored: asyncio.Queue[segue.Activity] = asyncio.Queue()
    async with segue.App("com.example.notes.reader", name="Reader", team="EXAMPLE", types=[TYPE]) as app:

        @app.on_continue
        async def show(activity: segue.Activity, continuation: segue.Continuation) -> None:
            origin = activity.continued_from
            again = " once more" if origin is not None and origin.redelivered else ""
            print(f'shall I show{again} "{activity.title}"?')
            await typed(input)
            restore(activity)
            restored.put_nowait(activity)

        activity = await restored.get()
        # From now on this is where the letter is worked on, even when this process has ended (R2.5).
        activity.keeps_offering = True
        activity.become_current()
        print(f"offering {activity.type}")
        await typed(input)
    print("closed")


async def typed(input: str) -> str:
    """Waits for a line."""
    return await asyncio.to_thread(lambda: Path(input).read_text())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
