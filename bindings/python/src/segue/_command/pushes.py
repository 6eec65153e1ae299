# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pushes, by which a device has an activity continued on another (R3.15): `--to DEVICE`, and `inbox --watch`."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import datetime
from functools import partial
from typing import Callable
from uuid import UUID

from .._account import KnownDevice, Pushed, Pushes
from .._activity import Activity
from .._app import App
from .._receipt import Outcome, Receipt
from .._terminal import shown
from ..errors import ConnectionUnavailableError, Error
from .answers import NoAnswer, agreed
from .devices import LONGEST_WAIT, member, named, only
from .output import CommandError, left, note, said, show_json
from .session import asked


async def target(app: App, text: str) -> KnownDevice:
    """Returns the device of `--to`. Raises: Error, CommandError if nothing can be pushed to it now."""
    account = await member(app)
    device = only(account, text)
    if device.this_device:
        raise CommandError(f"{named(device)} is this device: --to names another one")
    mailbox = [each for each in account.devices if each.device == account.settings.retain_on and each.linked]
    if not device.linked and not [each for each in mailbox if each.device != device.device]:
        raise ConnectionUnavailableError(f"{device.name}: is not linked now, so nothing can be pushed to it")
    return device


async def push(activity: Activity, device: KnownDevice, show: Callable[[Receipt], None]) -> int:
    """Has a device continue an activity, and waits for that receipt. Returns 0 if it has, or a mailbox keeps the push.
    Raises: Error, which says why not.

    show: each receipt as it comes: all devices are offered the activity meanwhile
    """
    app = activity.app
    assert app is not None
    receipts: asyncio.Queue[Receipt | Exception] = asyncio.Queue()

    def came(receipt: Receipt) -> None:
        try:
            show(receipt)
        except Exception as error:  # standard output is closed, or its disk full
            receipts.put_nowait(error)
        else:
            receipts.put_nowait(receipt)

    activity.on_continuation_ended(came)
    activity.become_current()
    note(f"pushing to {named(device)}; its user may be asked")
    pushed = await asked(app, partial(app.push, activity, device=device.device))
    if pushed.retained_at is None:
        note(f"{shown(pushed.app_name)} continues it")
    else:
        where = shown(pushed.app_name)
        note(f"{named(device)} is not linked: {where} keeps it until then; `segue inbox` there says more")
    while True:
        receipt = await receipts.get()
        if isinstance(receipt, Exception):
            raise receipt
        if receipt.continuation_id == pushed.continuation_id:
            return 0 if receipt.outcome == Outcome.RESTORED or pushed.retained_at is not None else 1


# The agent gives no state this number. A request for the state after it is answered at once, and its client counts as
# present.
BEFORE_ALL = 1


async def watch(app: App, options: argparse.Namespace) -> int:
    """Asks the user about each push, one after the other, until Ctrl-C. At the end of an input that is no terminal,
    nothing is declined: what comes is shown, and can be answered elsewhere."""
    state: Pushes = await asked(app, app.pushes, BEFORE_ALL, LONGEST_WAIT)
    note("what other devices push is asked about here, until Ctrl-C")
    handled: set[UUID] = set()
    asks = True
    while True:
        handled &= {each.push for each in state.pushes}
        new = next((each for each in state.pushes if each.push not in handled), None)
        if new is None:
            state = await asked(app, app.pushes, state.change, LONGEST_WAIT)
            continue
        handled.add(new.push)
        if options.json:
            show_json(new, line=True)
        note(described(new))
        if asks:
            try:
                await decide(app, new, state.change, options)
            except NoAnswer:
                asks = False
                note("standard input has ended: nothing is asked here any longer")
        if not asks:
            prefix = str(new.push)[:8]
            note(f"`segue inbox --accept {prefix}`, or --decline, answers it")
        # The user is not asked about a push that has ended meanwhile.
        state = await asked(app, app.pushes, BEFORE_ALL, LONGEST_WAIT)


async def decide(app: App, push: Pushed, change: int, options: argparse.Namespace) -> None:
    """Asks the user about a push. Raises: NoAnswer."""

    async def ended() -> None:
        # It also says that somebody is there, who can be asked about the next one.
        state = await asked(app, app.pushes, change, LONGEST_WAIT)
        while any(each.push == push.push for each in state.pushes):
            state = await asked(app, app.pushes, state.change, LONGEST_WAIT)

    time_left = left(push.expires.timestamp() - time.time()) if isinstance(push.expires, datetime) else None
    question = f"continue it in {shown(push.receiver_name)}?"
    accepts = await agreed(question, ended, left=time_left, optional=True)
    if accepts is None:
        note("it is not asked for any longer")
        return
    await answer(app, push, accepts, options)


async def answer(app: App, push: Pushed, accepts: bool, options: argparse.Namespace) -> bool:
    """Tells whether that was in time."""
    try:
        await asked(app, app.answer_push, push, accepts)
    except Error as error:
        note(said(error))
        return False
    done = f"goes to {shown(push.receiver_name)}" if accepts else "declined"
    if options.json:
        show_json({"push": push.push, "accepted": accepts}, line=True)
    else:
        print(f"{str(push.push)[:8]}: {done}", flush=True)
    return True


def described(push: Pushed) -> str:
    what = f"'{shown(push.title)}'" if push.title else shown(push.type)
    return f"{shown(push.app_name)} on '{shown(push.device_name)}' pushes {what}"
