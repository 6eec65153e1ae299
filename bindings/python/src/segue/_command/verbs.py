# SPDX-License-Identifier: Apache-2.0
"""How a module of verbs states them: `add(verbs)` in each."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable
from typing import Any, Callable, Union

Run = Callable[[argparse.Namespace], Union[int, Awaitable[int]]]
"""Does what a verb is for. Returns the exit status."""


class Verbs:
    """The verbs, in the order in which `--help` lists them."""

    def __init__(self, parser: argparse.ArgumentParser, *, of_verb: bool = False):
        """
        of_verb: these are what a verb can do beside what it does without them
        """
        self._json: Any = argparse.SUPPRESS if of_verb else False
        """Without the option, what was said before stays."""
        word = "action" if of_verb else "verb"
        self._parsers = parser.add_subparsers(required=not of_verb, metavar=word.upper(), title=f"{word}s", dest=word)

    def add(self, name: str, run: Run, help: str, more: str = "", **options: Any) -> argparse.ArgumentParser:
        """Returns the parser for the arguments of a new verb.

        help: one line
        more: paragraphs, examples among them
        """
        description = f"{help[0].upper()}{help[1:]}."
        made = self._parsers.add_parser(
            name,
            help=help,
            description=description,
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )
        made.add_argument("--json", action="store_true", default=self._json, help="print JSON, for programs")
        made.set_defaults(run=run)
        return made
