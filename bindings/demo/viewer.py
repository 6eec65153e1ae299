# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A viewer of notes in Python: it continues what an editor is doing, and may go on with it itself.

    viewer.py [--decline REASON]

It tells of offers as they come. Typed into it: "continue" continues the frontmost, "= TEXT" replaces the restored line
in the file and makes the continued activity current here, so that it can be continued from this process.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import segue

TYPE = "com.example.notes.editing"
PAYLOAD_VERSION = 1  # of user_info, whose layout is that of bindings/c/examples/notes.h
DOCUMENT = "NSUserActivityDocumentURLKey"
CONTEXT_LINES = 2  # shown before and behind the restored one


class Viewer(segue.App):
    def __init__(self, decline: str | None):
        super().__init__("com.example.notes.viewer", name="Notes in Python", team="EXAMPLE", types=[TYPE])
        self.decline = decline
        self.activity: segue.Activity | None = None  # the one that was continued

    async def tell_of_offers(self) -> None:
        async for kind, offer in self.offer_events():
            if kind == segue.OfferEventKind.APPEARED:
                print(f'offered: "{offer.title}" by {offer.app_name} on {offer.device_name}')

    # ---- continuing ----

    def on_will_continue(self, type: str, continuation: segue.Continuation) -> None:
        """Nothing has moved yet: the moment to decline."""
        print(f"continuing {type}")
        version = continuation.offer.payload_version
        if self.decline is not None:
            continuation.decline(self.decline)
        elif version > PAYLOAD_VERSION:
            continuation.decline(f"payload version {version}, this viewer reads up to {PAYLOAD_VERSION}")

    async def continue_frontmost(self) -> None:
        started = time.perf_counter()
        try:
            async with self.continue_(self.offers[0]) as activity:  # an error in this block: not handled
                restore(activity)
                self.activity = activity
            ended = "restored"
        except segue.DeclinedError as error:
            ended = f"declined ({error.message})"
        except segue.Error as error:
            ended = f"failed ({error.code})"
        print(f"{ended} after {1000 * (time.perf_counter() - started):.1f} ms")

    # ---- going on with it ----

    def rewrite(self, text: str) -> None:
        """Replaces the restored line. From now on this process is where the note is being edited (R3.12)."""
        activity = self.activity
        if activity is None:
            print("nothing was continued yet")
            return
        path, number = place(activity)
        lines = path.read_text().splitlines()
        lines[number - 1] = text
        path.write_text("\n".join(lines) + "\n")
        activity.user_info.update(column=0, selection=0)
        activity.on_continuation_ended(tell_of_receipt)
        activity.become_current()
        print(f"offering {activity.type}")


def place(activity: segue.Activity) -> tuple[Path, int]:
    """The file and the line, from 1, at which the note is being edited."""
    url = urlsplit(str(activity.user_info[DOCUMENT]))
    return Path(unquote(url.path)), activity.user_info["line"]


def restore(activity: segue.Activity) -> None:
    path, number = place(activity)
    for each, line in enumerate(path.read_text().splitlines(), 1):
        if abs(each - number) <= CONTEXT_LINES:
            print(f"{'>' if each == number else ' '} {each}: {line}")


def tell_of_receipt(receipt: segue.Receipt) -> None:
    print(f"receipt: {receipt.outcome.name.lower()} by {receipt.app_name} on {receipt.device_name}")


async def typed() -> AsyncIterator[str]:
    """The lines of standard input."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().rstrip("\n")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decline", metavar="REASON", help="decline what is continued")
    async with Viewer(parser.parse_args().decline) as viewer:
        telling = asyncio.create_task(viewer.tell_of_offers())
        async for line in typed():
            if line == "continue" and viewer.offers:
                await viewer.continue_frontmost()
            elif line.startswith("= "):
                viewer.rewrite(line.removeprefix("= "))
            else:
                print('type "continue" once something is offered, then "= TEXT"')
        telling.cancel()


if __name__ == "__main__":
    asyncio.run(main())
