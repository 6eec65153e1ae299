# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verbs about offers: `list`, `watch`, `withdraw`, `describe`."""

from __future__ import annotations

import argparse
from datetime import datetime

from .. import library_path, library_version
from .._terminal import shown, shown_lines
from . import bar, reach
from .output import note, show_json, show_table
from .session import (
    OFFER_HEADS,
    PATIENCE,
    asked,
    chooser,
    connected,
    first,
    identifier,
    names_of,
    offer_record,
    offer_row,
    seconds,
)
from .streams import while_read
from .verbs import Verbs


def add(verbs: Verbs) -> None:
    verbs.add("list", list_offers, "what is offered now, frontmost first")
    watching = verbs.add("watch", watch, "offers as they come, change and go, until Ctrl-C")
    help = "for a bar: one line of JSON for each change of the frontmost offer of another device"
    watching.add_argument("--format", choices=("waybar",), help=help)
    withdrawing = verbs.add("withdraw", withdraw, "end an offer that the agent keeps for an app that has ended")
    help = "the activity whose identifier begins so"
    withdrawing.add_argument("id", type=identifier, metavar="ID", help=help)
    withdrawing.add_argument(
        "--wait", metavar="SECONDS", type=seconds, default=PATIENCE, help="seconds to wait for the offer (default: 10)"
    )
    withdrawing.set_defaults(type=None)
    verbs.add("describe", describe, "the state of this app and of the hub, for a bug report")


async def list_offers(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await connected(app)
        offers = app.offers
        if options.json:
            show_json([offer_record(offer) for offer in offers])
        elif offers:
            show_table([offer_row(offer) for offer in offers], OFFER_HEADS)
        else:
            note("nothing is offered")
        if not offers:
            for line in reach.lines(reach.reasons(None, await reach.account_of(app))):
                note(line)
    return 0


async def watch(options: argparse.Namespace) -> int:
    return await while_read(bar.watched() if options.format == "waybar" else watched(options))


async def watched(options: argparse.Namespace) -> int:
    async with chooser() as app:
        async for event in app.offer_events():
            now = datetime.now().astimezone()
            kind = event.kind.name.lower()
            if options.json:
                show_json({"time": now, "event": kind, "offer": offer_record(event.offer)}, line=True)
            else:
                print(now.strftime("%H:%M:%S"), f"{kind:8}", *offer_row(event.offer), sep="  ", flush=True)
    return 0


async def withdraw(options: argparse.Namespace) -> int:
    """The user's way to end what an app has left (R2.5)."""
    async with chooser() as app:
        await asked(app, app.inbox)  # without an agent nothing is kept
        offer = await first(app, options)
        await asked(app, app.withdraw, offer)
    if options.json:
        show_json({"offer": offer_record(offer), "done": "withdrawn"})
    else:
        print(f"{shown(offer.type)} of {shown(offer.app_name)}: withdrawn")
    return 0


async def describe(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await connected(app)
        before, text, after = app.offers, app.describe(), app.offers
        if options.json:
            show_json({"library": library_path, "version": library_version, "description": text})
            return 0
        print(f"library: {library_path}, version {library_version}")
        print(shown_lines(text, [name for offer in (*before, *after) for name in names_of(offer)]))
    return 0
