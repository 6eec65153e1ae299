# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The entries that wait at the agent for apps that were not running: `inbox`."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from .._account import Pushed
from .._agent import InboxEntry, RetainedOffer
from .._app import App
from .._receipt import Outcome
from .._terminal import shown
from ..errors import UnsupportedVersionError
from . import pushes
from .output import CommandError, note, show_json, show_table
from .session import asked, chooser, identifier, only
from .verbs import Verbs

# The words for the ends of pushes that were not restored.
END = {Outcome.DECLINED: "declined", Outcome.FAILED: "failed", Outcome.UNKNOWN: "handed over"}
HEADS = ("ID", "FOR", "TYPE", "TITLE", "FROM", "DEVICE", "STATE")


def add(verbs: Verbs) -> None:
    parser = verbs.add("inbox", inbox, "what waits at the agent for apps that were not running")
    act = parser.add_mutually_exclusive_group()
    prefix: dict[str, Any] = {"type": identifier, "metavar": "ID"}
    act.add_argument("--drop", **prefix, help="forget the entry whose identifier begins so")
    act.add_argument("--retry", **prefix, help="let its app have it again, although it has crashed on it")
    act.add_argument("--watch", action="store_true", help="ask here about what other devices push, until Ctrl-C")
    act.add_argument("--accept", **prefix, help="continue what another device pushes")
    act.add_argument("--decline", **prefix, help="decline what another device pushes")


async def inbox(options: argparse.Namespace) -> int:
    async with chooser() as app:
        if options.watch:
            return await pushes.watch(app, options)
        if options.accept is not None or options.decline is not None:
            return await answer(app, options)
        asking = await waiting(app)
        entries = await asked(app, app.inbox)
        changes = ((options.drop, app.drop, dropped), (options.retry, app.retry, retried))
        for prefix, change, outcome in changes:
            if prefix is not None:
                if not any(str(each.continuation_id).startswith(prefix) for each in entries):
                    refuse_retained(await retained(app), prefix)
                entry = only(entries, prefix, lambda each: each.continuation_id, "inbox")
                await asked(app, change, entry.continuation_id)
                done = outcome(entry)
                if options.json:
                    show_json({"continuation_id": entry.continuation_id, "done": done})
                else:
                    print(f"{str(entry.continuation_id)[:8]}: {shown(done)}")
                return 0
        kept = await retained(app)
        if options.json:
            show_json([*asking, *entries, *kept])
        elif asking or entries or kept:
            show_table([*map(question, asking), *map(row, entries), *map(kept_row, kept)], HEADS)
            if any(each.held for each in entries):
                note(
                    "its app has crashed on what is held: `segue inbox --retry ID` lets it try again, --drop forgets it"
                )
        else:
            note("nothing waits")
    return 0


def dropped(entry: InboxEntry) -> str:
    return "dropped"


def retried(entry: InboxEntry) -> str:
    return f"comes when {entry.bundle_identifier} opens next" if entry.running is False else "delivered again"


async def waiting(app: App) -> tuple[Pushed, ...]:
    """Returns the pushes of other devices that the user is asked about; none from an agent that knows no devices."""
    with suppress(UnsupportedVersionError):
        return (await asked(app, app.pushes)).pushes
    return ()


async def retained(app: App) -> list[RetainedOffer]:
    """Returns what this device keeps for others; nothing from an older agent."""
    with suppress(UnsupportedVersionError):
        return await asked(app, app.retained)
    return []


def refuse_retained(kept: list[RetainedOffer], prefix: str) -> None:
    """Raises CommandError for an identifier of what is retained: that is its origin's to end."""
    for each in kept:
        if str(each.push or each.activity_id).startswith(prefix):
            raise CommandError(
                f"{prefix} is retained for {shown(each.device_name)}, which ends that: it takes the"
                " activity back, or `segue account set --retain-on off` there"
            )


async def answer(app: App, options: argparse.Namespace) -> int:
    prefix = options.decline if options.accept is None else options.accept
    push = only(await waiting(app), prefix, lambda each: each.push, "inbox")
    return 0 if await pushes.answer(app, push, options.accept is not None, options) else 1


def question(push: Pushed) -> tuple[str, ...]:
    names = (shown(push.bundle_identifier), shown(push.type), f"'{shown(push.title or '')}'")
    return (str(push.push)[:8], *names, shown(push.app_name), shown(push.device_name), "asks: --accept, --decline")


def row(entry: InboxEntry) -> tuple[str, ...]:
    state = "held after crashes" if entry.held else "delivered" if entry.delivered else "waits"
    if entry.attachments_left:
        state += f", {entry.attachments_left} of {entry.attachments} attachments stay with the origin"
    names = (shown(entry.bundle_identifier), shown(entry.type), f"'{shown(entry.title or '')}'")
    return (str(entry.continuation_id)[:8], *names, shown(entry.app_name), shown(entry.device_name), state)


def kept_row(kept: RetainedOffer) -> tuple[str, ...]:
    state = "retained"
    if kept.continued is not None:
        state = f"continued by {shown(kept.continued_by or '')} on {shown(kept.continued_on or '')}"
    elif kept.ended is not None:
        state = END.get(kept.outcome or Outcome.UNKNOWN, "ended")
        state += f": {shown(kept.reason, None)}" if kept.reason else ""
    names = (shown(kept.type), f"'{shown(kept.title or '')}'", shown(kept.app_name), shown(kept.device_name))
    if kept.push is None:
        return (str(kept.activity_id)[:8], "other devices", *names, state)
    target = shown(kept.target_name)
    return (str(kept.push)[:8], target, *names, f"waits for {target}" if kept.ended is None else state)
