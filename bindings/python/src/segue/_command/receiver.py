# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continues an offer, here or in another app: `continue`."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from .._agent import Launch, launch_of
from .._app import App
from .._json import JSONMode
from .._offer import Offer
from .._receipt import Outcome
from .._terminal import shown
from .._values import decode_json
from ..errors import NotAllowedError, NotFoundError, error_of
from .answers import agreed
from .bar import Elsewhere
from .document import show_activity, stale
from .output import UsageError, note, show_json
from .session import add_choice, asked, chooser, connected, first, seconds, with_advice
from .verbs import Verbs

UNSAVED = "the text was changed and not saved"
OPENERS = ("opener", "default application")


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "continue",
        take,
        "continue an offer and print its document; the origin is told: restored",
        "With --launch or --app the agent continues it in another app, which need not run, or has a program open its\n"
        "file. Otherwise the command itself is the receiver.",
    )
    add_choice(parser)
    help = "what the bar shows (`watch --format waybar`), in the app that fits: the frontmost offer of another device"
    parser.add_argument("--frontmost", action="store_true", help=help)
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="for the continuation (default: 20)")
    parser.add_argument("--document", action="store_true", help="print the whole document too")
    parser.add_argument(
        "--launch", action="store_true", help="in the app that fits, which need not run: the agent starts it"
    )
    parser.add_argument("--app", metavar="BUNDLE", help="the same, in this app, or by this opener")
    parser.add_argument(
        "--without-text", action="store_true", help="leave text behind that was not saved, if a program opens the file"
    )


async def take(options: argparse.Namespace) -> int:
    if options.frontmost and (options.id or options.argument or options.type):
        raise UsageError("--frontmost says which offer; an identifier or a type does, too")
    launches = options.launch or options.app or options.frontmost
    async with chooser() as app:
        if options.frontmost:
            offer = await frontmost(app)
        else:
            fits = partial(is_of_another, app, options.app) if launches else None
            offer = await first(app, options, fits=fits)
        names = (shown(name) for name in (offer.type, offer.app_name, offer.device_name))
        if not options.is_announced:
            note("continuing {} from {} on {}".format(*names))
        if launches:
            return await launch(app, offer, options)
        async with app.continue_(offer, options.timeout) as activity:
            show_activity(activity, options)
    return 0


async def frontmost(app: App) -> Offer:
    """Raises: NotFoundError if no other device offers anything."""
    await connected(app)
    offer = await Elsewhere().frontmost(app)
    if offer is None:
        raise NotFoundError("no other device offers anything now; `segue list` shows what is offered")
    return offer


async def is_of_another(app: App, bundle: str | None, offer: Offer) -> bool:
    """Whether an offer is not that of the app which is to continue it, or of the only one that could.

    bundle: of that app; None: whichever fits
    """
    try:
        candidates = await asked(app, app.route, offer)
    except NotFoundError:  # it has gone
        return False
    others = [each for each in candidates if bundle in (None, each.bundle_identifier)]
    is_own = any(why.reason == "own app" for each in others for why in each.against)
    # A program that opens any file is a candidate for what this device itself offers, too.
    others = [each for each in others if each.role not in OPENERS or bundle or each.preference == "chosen"]
    return not is_own or any(not each.against for each in others)


async def launch(app: App, offer: Offer, options: argparse.Namespace) -> int:
    """Has the agent continue it in an app that need not run, or by a program. Asks before text stays behind (R13.7)."""
    launches = partial(app.launch, offer, options.app, options.timeout, leaves_text=options.without_text)
    try:
        return report(await asked(app, launches), options)
    except NotAllowedError as error:
        # Not for words of the origin, nor in a script.
        if options.without_text or UNSAVED not in str(error) or not sys.stdin.isatty():
            raise
        if not await agreed("The text was changed and not saved. Open the file without the changes?"):
            raise
    launches.keywords["leaves_text"] = True
    return report(await asked(app, launches), options)


def report_ending(done: str) -> int:
    """Says how a continuation ended that the starter has made (libexec/continue).

    done: {"result"} or {"status", "message"} as tagged JSON
    """
    ending = decode_json(done, JSONMode.TAGGED)
    if "result" not in ending:
        raise with_advice(error_of(ending["status"], ending["message"]))
    return report(launch_of(ending["result"]), argparse.Namespace(json=False))


def report(result: Launch, options: argparse.Namespace) -> int:
    """Says how a continuation in another app ended. Returns the exit status."""
    said = f": {shown(result.message, None)}" if result.message else ""
    if options.json:
        show_json(result)
    else:
        print(f"{shown(result.app_name)}: {result.outcome.name.lower()}{said}")
        if result.stale:
            print(stale(result.stale_reason))
    return 0 if result.outcome == Outcome.RESTORED else 1
