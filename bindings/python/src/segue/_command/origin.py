# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Offers an activity: `offer`."""

from __future__ import annotations

import argparse
import asyncio
import uuid

from .._account import KnownDevice
from .._activity import Activity
from .._app import App
from .._json import JSONMode
from .._offer import Offer
from .._receipt import Outcome, Receipt
from .._terminal import shown
from ..errors import Error
from . import pushes
from .agent import NAME as AGENT
from .checks import folder_problem, space_problem, state_folder
from .output import CommandError, UsageError, bytes_in_words, note, said, show_json
from .session import IDENTIFIER, NAME, PATIENCE, asked, beside, chooser, connected, first, offer_record, seconds, within
from .streams import standard_input
from .verbs import Verbs

FIRST_LOOK = 2.0
"""Seconds until what is wrong with the disk is looked at."""
MOST_STATE = 16 << 20
"""Bytes of JSON that are read from standard input."""


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "offer",
        offer,
        "offer an activity until Ctrl-C, and print a receipt for each attempt to continue it",
        "example:\n"
        "  segue offer com.example.notes.editing --team EXAMPLE --title 'Shopping list' --user-info '{\"line\": 12}'",
    )
    parser.add_argument("type", help="the activity type, such as com.example.notes.editing")
    parser.add_argument("--title", help="for people")
    parser.add_argument("--user-info", metavar="JSON", help="the state, plain or tagged JSON; - for standard input")
    parser.add_argument("--url", help="the web page at which it can be continued, too")
    parser.add_argument("--attach", metavar="FILE", action="append", default=[], help="a file that goes with it")
    add_identity(parser)
    parser.add_argument(
        "--keep", action="store_true", help="leave it with the agent, which offers it for 12 h, and end"
    )
    parser.add_argument("--once", action="store_true", help="end when it was restored")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="end after this time, with status 3")


def add_identity(parser: argparse.ArgumentParser) -> None:
    help = f"offer it as this app (default: one of its own, {IDENTIFIER}.XXXXXXXX)"
    parser.add_argument("--bundle", metavar="BUNDLE", help=help)
    parser.add_argument("--team", help="apps of this team can continue it (default: the command and choosers only)")
    parser.add_argument(
        "--to",
        metavar="DEVICE",
        help="have an app on this device of the account continue it, and end (R3.15); without it, all devices of the "
        "account are offered it, and any may take it",
    )


def origin(options: argparse.Namespace) -> App:
    # An app that comes back ends what its bundle has left with the agent; another command is another app.
    bundle = options.bundle or f"{IDENTIFIER}.{uuid.uuid4().hex[:8]}"
    return App(bundle, name=NAME, team=options.team)


async def offer(options: argparse.Namespace) -> int:
    if options.keep and (options.once or options.to):
        raise UsageError("--keep leaves the activity with the agent: --once and --to have nothing to do")
    async with origin(options) as app:
        device = None if options.to is None else await pushes.target(app, options.to)
        text = None if options.user_info is None else await beside(state_text, options.user_info)
        activity = described(app, options, text)
        for path in options.attach:
            attach(activity, file_name(path), path)
        if options.keep:
            return await leave(activity, options)
        await connected(app)
        return await hold(activity, options, f"offering {shown(options.type)}; Ctrl-C withdraws it", device)


def described(app: App, options: argparse.Namespace, text: str | bytes | None) -> Activity:
    """Makes the activity that the arguments describe. Raises: UsageError, which says what is wrong with it.

    text: of its state
    """
    try:
        activity = Activity(app, options.type, title=options.title, webpage_url=options.url)
        if text is not None:
            activity.set_user_info_json(text, JSONMode.TAGGED)
    except Error as error:
        raise UsageError(said(error)) from error
    return activity


def attach(activity: Activity, name: str, path: str) -> None:
    """Raises: CommandError, which names the file."""
    try:
        activity.attach(name, path)
    except Error as error:
        message = error.message[len(path) :].lstrip(": ") if error.message.startswith(f"{path}: ") else error.message
        raise CommandError(f"{shown(path, None)}: {message}") from error


def file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def state_text(argument: str) -> str | bytes:
    if argument != "-":
        return argument
    text = standard_input().read(MOST_STATE + 1)
    if len(text) > MOST_STATE:
        raise CommandError(f"standard input has more than {bytes_in_words(MOST_STATE)}: no state is so large")
    return text


async def leave(activity: Activity, options: argparse.Namespace) -> int:
    """Leaves an activity with the agent (R2.5), and waits until the agent offers it.

    Raises: ConnectionUnavailableError without an agent.
    """
    app, prefix = activity.app, str(activity.id)
    assert app is not None
    await asked(app, app.inbox)  # without an agent it would be lost
    activity.keeps_offering = True
    activity.become_current()
    app.close()  # which waits until the agent has it
    async with chooser() as looking:
        offer = await kept(looking, prefix)
        if options.json:
            show_json(offer_record(offer))
        else:
            print(f"{prefix[:8]}: kept by the agent; `segue withdraw {prefix[:8]}` ends it")
    return 0


async def kept(app: App, prefix: str) -> Offer:
    """Waits until the agent offers what was left with it. The agent tells the app that has left it nothing, so what is
    in the way is looked for here.

    Raises: CommandError, which says that; TimeoutError.
    """
    for patience in (FIRST_LOOK, PATIENCE - FIRST_LOOK):
        try:
            return await first(app, argparse.Namespace(id=prefix, type=None, wait=patience))
        except TimeoutError:
            path = state_folder()
            problem = None if path is None else folder_problem(path, "SEGUE_STATE_DIR") or space_problem(path)
            if problem is not None:
                raise CommandError(f"not kept: {shown(str(path), None)} {problem[0]}: {problem[1]}") from None
    raise TimeoutError(
        f"nothing came in time: the agent does not offer it; its log says why, `journalctl --user -u {AGENT}` with "
        "systemd, and `segue doctor` looks at its folders"
    )


async def hold(activity: Activity, options: argparse.Namespace, doing: str, device: KnownDevice | None) -> int:
    """Offers an activity, and tells of each attempt to continue it; with `--once`, until it was restored.

    device: that of `--to`: until it has been continued there, or not

    Raises: TimeoutError after `--timeout`.
    """
    if device is not None:
        pushing = pushes.push(activity, device, lambda receipt: show_receipt(receipt, options))
        return await within(options.timeout, pushing)
    receipts: asyncio.Queue[Receipt] = asyncio.Queue()
    activity.on_continuation_ended(receipts.put_nowait)
    activity.become_current()
    note(doing)

    async def tell() -> int:
        while True:
            receipt = await receipts.get()
            show_receipt(receipt, options)
            if options.once and receipt.outcome == Outcome.RESTORED:
                return 0

    return await within(options.timeout, tell())


def show_receipt(receipt: Receipt, options: argparse.Namespace) -> None:
    if options.json:
        show_json(receipt, line=True)
        return
    reason = f": {shown(receipt.reason, None)}" if receipt.reason else ""
    names = (shown(receipt.app_name), shown(receipt.device_name))
    print(f"{receipt.outcome.name.lower()} by {names[0]} on {names[1]}{reason}", flush=True)
