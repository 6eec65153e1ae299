# SPDX-License-Identifier: Apache-2.0
"""What devices have continued on each other (R3.15): `--to DEVICE`, and `inbox --watch`."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial

from .._account import Pushed, Pushes
from .._activity import Activity
from .._app import App
from .._receipt import Outcome, Receipt
from .._terminal import shown
from ..errors import Error
from .answers import agreed
from .devices import LONGEST_WAIT, found, named
from .output import note, said, show_json
from .session import asked


async def push(activity: Activity, options: argparse.Namespace) -> Receipt:
    """Has the device of `--to` continue an activity, and waits for the receipt. Raises: Error, which says why not."""
    app = activity.app
    assert app is not None
    device = await found(app, options.to)
    receipts: asyncio.Queue[Receipt] = asyncio.Queue()
    activity.on_continuation_ended(receipts.put_nowait)
    activity.become_current()
    note(f"pushing to {named(device)}; its user may be asked")
    pushed = await asked(app, partial(app.push, activity, device=device.device))
    note(f"{shown(pushed.app_name)} continues it")
    while (receipt := await receipts.get()).continuation_id != pushed.continuation_id:
        pass
    return receipt


def status(receipt: Receipt) -> int:
    return 0 if receipt.outcome == Outcome.RESTORED else 1


async def watch(app: App, options: argparse.Namespace) -> int:
    """Asks the user about each push, one after the other, until Ctrl-C."""
    state: Pushes = await asked(app, app.pushes)
    note("what other devices push is asked about here, until Ctrl-C")
    handled = set()
    while True:
        for each in state.pushes:
            if each.push not in handled:
                handled.add(each.push)
                await decide(app, each, state.change, options)
        state = await asked(app, app.pushes, state.change, LONGEST_WAIT)


async def decide(app: App, push: Pushed, change: int, options: argparse.Namespace) -> None:
    if options.json:
        show_json(push, line=True)

    async def ended() -> None:
        # It also says that somebody is there, who can be asked about the next one.
        state = await asked(app, app.pushes, change, LONGEST_WAIT)
        while any(each.push == push.push for each in state.pushes):
            state = await asked(app, app.pushes, state.change, LONGEST_WAIT)

    note(described(push))
    accepts = await agreed(f"continue it in {shown(push.receiver_name)}?", ended)
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
