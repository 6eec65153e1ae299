# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parser of the command, to which each module of verbs adds its own by `add(verbs)`."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Awaitable
from typing import Any, Callable, NoReturn, Union

Run = Callable[[argparse.Namespace], Union[int, Awaitable[int]]]
"""Does what a verb is for. Returns the exit status."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are about the verb that was given."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses an unknown option with the usage of the verb, not of the command."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            getattr(found, "parser", self).error(f"unrecognized arguments: {' '.join(rest)}")
        return found

    def error(self, message: str) -> NoReturn:
        """Names the verb that was probably meant in place of one that there is not."""
        wrong = re.search(r"invalid choice: '([^']+)'", message)
        meant = None if wrong is None else self._verb_like(wrong[1])
        super().error(message if meant is None else f"{message}; did you mean `{self.prog} {meant}`?")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Raises: OSError, which argparse hides, if it cannot be printed."""
        if message:
            (file or sys.stderr).write(message)

    def _verb_like(self, word: str) -> str | None:
        """The verb or action of a verb that is like a word."""
        for each in self._actions:
            if isinstance(each, argparse._SubParsersAction):
                verbs: dict[str, argparse.ArgumentParser] = dict(each.choices)
                for verb, parser in verbs.items():
                    for inner in parser._actions:
                        if isinstance(inner, argparse._SubParsersAction) and word in inner.choices:
                            return f"{verb} {word}"
                return next(iter(difflib.get_close_matches(word, verbs, 1)), None)
        return None


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
        made.set_defaults(run=run, parser=made)
        return made
