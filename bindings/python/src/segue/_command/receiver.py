# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continues an offer, here or in another app: `continue`."""

from __future__ import annotations

import argparse
from functools import partial

from .._agent import Launch, launch_of
from .._app import App
from .._offer import Offer
from .._receipt import Outcome
from .._terminal import shown
from .._values import taken
from ..errors import Error, NotFoundError
from .document import show_activity, stale
from .output import note, show_json
from .session import add_choice, asked, chooser, first, seconds, with_advice
from .verbs import Verbs


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "continue",
        take,
        "continue an offer and print its document; the origin is told: restored",
        "With --launch or --app the agent continues it in another app, which need not run. Otherwise the command\n"
        "itself is the receiver.",
    )
    add_choice(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="for the continuation (default: 20)")
    parser.add_argument("--document", action="store_true", help="print the whole document too")
    parser.add_argument(
        "--launch", action="store_true", help="in the app that fits, which need not run: the agent starts it"
    )
    parser.add_argument("--app", metavar="BUNDLE", help="the same, in this app")


async def take(options: argparse.Namespace) -> int:
    async with chooser() as app:
        fits = partial(is_of_another, app, options.app) if options.launch or options.app else None
        offer = await first(app, options, fits=fits)
        names = (shown(name) for name in (offer.type, offer.app_name, offer.device_name))
        note("continuing {} from {} on {}".format(*names))
        if options.launch or options.app:
            return await launch(app, offer, options)
        async with app.continue_(offer, options.timeout) as activity:
            show_activity(activity, options)
    return 0


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
    return not is_own or any(not each.against for each in others)


async def launch(app: App, offer: Offer, options: argparse.Namespace) -> int:
    """Has the agent continue it in an app that need not run."""
    return report(await asked(app, app.launch, offer, options.app, options.timeout), options)


def report_launch(result: int | None, error: Error | None) -> int:
    """Says how a continuation ended that `launching` has made.

    result: the handle of a value
    """
    if error is not None:
        raise with_advice(error)
    return report(launch_of(taken(result)), argparse.Namespace(json=False))


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
