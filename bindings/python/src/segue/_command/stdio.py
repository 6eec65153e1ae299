# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes part for a program without a binding: `stdio`."""

from __future__ import annotations

import argparse
import os

from .installed import execute, first_program, how_to_install, libexec_programs
from .output import CommandError, show_json
from .verbs import Verbs

NAME = "segue-stdio"


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "stdio",
        stdio,
        "take part for a program without a binding, by lines of JSON",
        f"The program that starts it says by JSON-RPC 2.0 on standard input and output what it offers and continues.\n"
        f"It executes {NAME}, which it finds in $SEGUE_STDIO, beside the library, and where `make install` puts it.\n"
        f"With --path it prints the path of that program, for plugins, which then start it themselves.",
    )
    parser.add_argument("--path", action="store_true", help="print the path of the program, and end")


def stdio(options: argparse.Namespace) -> int:
    program = found()
    if program is None:
        raise CommandError(f"there is no {NAME}: install it ({how_to_install(NAME)}), or set SEGUE_STDIO to its path")
    if options.path:
        if options.json:
            show_json({"program": program}, line=True)
        else:
            print(program)
        return 0
    execute(program, NAME)


def found() -> str | None:
    """Returns the path of the program that is installed."""
    named = os.environ.get("SEGUE_STDIO")
    if named:
        return named
    return first_program(libexec_programs(NAME))
