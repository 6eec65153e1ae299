# SPDX-License-Identifier: Apache-2.0
"""What waits at the agent for apps that were not running: `inbox`."""

from __future__ import annotations

import argparse
from typing import Any

from .._agent import InboxEntry
from .._terminal import shown
from .output import note, show_json, show_table
from .session import asked, chooser, identifier, only
from .verbs import Verbs

HEADS = ("ID", "FOR", "TYPE", "TITLE", "FROM", "DEVICE", "STATE")


def add(verbs: Verbs) -> None:
    parser = verbs.add("inbox", inbox, "what waits at the agent for apps that were not running")
    act = parser.add_mutually_exclusive_group()
    prefix: dict[str, Any] = {"type": identifier, "metavar": "ID"}
    act.add_argument("--drop", **prefix, help="forget the entry whose identifier begins so")
    act.add_argument("--retry", **prefix, help="deliver it again, although its app has crashed on it")


async def inbox(options: argparse.Namespace) -> int:
    async with chooser() as app:
        entries = await asked(app, app.inbox)
        changes = ((options.drop, app.drop, "dropped"), (options.retry, app.retry, "delivered again"))
        for prefix, change, done in changes:
            if prefix is not None:
                entry = only(entries, prefix, lambda each: each.continuation_id, "inbox")
                await asked(app, change, entry.continuation_id)
                if options.json:
                    show_json({"continuation_id": entry.continuation_id, "done": done})
                else:
                    print(f"{str(entry.continuation_id)[:8]}: {done}")
                return 0
        if options.json:
            show_json(entries)
        elif entries:
            show_table([row(entry) for entry in entries], HEADS)
        else:
            note("nothing waits")
    return 0


def row(entry: InboxEntry) -> tuple[str, ...]:
    state = "held after crashes" if entry.held else "delivered" if entry.delivered else "waits"
    if entry.attachments_left:
        state += f", {entry.attachments_left} of {entry.attachments} attachments stay with the origin"
    names = (shown(entry.bundle_identifier), shown(entry.type), f"'{shown(entry.title or '')}'")
    return (str(entry.continuation_id)[:8], *names, shown(entry.app_name), shown(entry.device_name), state)
