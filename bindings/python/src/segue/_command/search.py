# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The activities that apps have saved for search: `search`."""

from __future__ import annotations

import argparse
import time
from datetime import datetime

from .._app import App
from .._saved import MOST_RESULTS, SavedActivity
from .._terminal import shown
from ..errors import NotFoundError
from .output import UsageError, ago, note, show_json, show_table
from .receiver import report
from .session import asked, chooser
from .verbs import Verbs

HEADS = ("NO", "TITLE", "TYPE", "APP", "SAVED")


def add(verbs: Verbs) -> None:
    parser = verbs.add("search", search, "what apps have saved, the newest first; finds it, opens it, forgets it")
    parser.add_argument("words", nargs="*", metavar="WORD", help="must occur; 'bud*' finds what begins so")
    parser.add_argument("--app", metavar="BUNDLE", help="only what this app has saved")
    parser.add_argument("--limit", metavar="N", type=results, default=20, help="results to list (default: 20)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="for the continuation")
    then = parser.add_mutually_exclusive_group()
    then.add_argument(
        "--open", nargs="?", type=results, const=1, metavar="NO", help="open the result of this number (default: 1)"
    )
    then.add_argument("--forget", action="store_true", help="delete all that is saved, or all of --app")


def results(text: str) -> int:
    """Parses an argument: a number of results."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_RESULTS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_RESULTS}")
    return int(text)


async def search(options: argparse.Namespace) -> int:
    async with chooser() as app:
        if options.forget:
            return await forget(app, options)
        limit = max(options.limit, options.open or 1)
        found = await asked(app, app.search, " ".join(options.words), options.app, limit)
        if options.open is not None:
            if options.open > len(found):
                raise NotFoundError(f"there are {len(found)} results, so none has the number {options.open}")
            return report(await asked(app, app.open_saved, found[options.open - 1], options.timeout), options)
    if options.json:
        show_json(found)
    elif found:
        show_table([row(number, each) for number, each in enumerate(found, 1)], HEADS)
    else:
        note("nothing was found")
    return 0


async def forget(app: App, options: argparse.Namespace) -> int:
    if options.words:
        raise UsageError("--forget takes no words: it deletes all that is saved, or all of --app")
    number = await asked(app, app.forget_saved, options.app)
    if options.json:
        show_json({"forgotten": number})
    else:
        print(f"forgotten: {number}")
    return 0


def row(number: int, saved: SavedActivity) -> tuple[str, ...]:
    age = max(0.0, time.time() - saved.saved.timestamp()) if isinstance(saved.saved, datetime) else 0.0
    return (str(number), f"'{shown(saved.title or '')}'", shown(saved.type), shown(saved.app_name), ago(age))
