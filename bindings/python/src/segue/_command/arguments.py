# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of the command. `bindings/python/command` makes the man page and the completions of them."""

from __future__ import annotations

import argparse

from .. import __version__, library_version
from . import (
    account,
    agent,
    candidates,
    content,
    desktop,
    devices,
    doctor,
    document,
    folders,
    inbox,
    invite,
    link,
    offers,
    origin,
    receiver,
    search,
    setup,
    shell,
    stdio,
)
from .verbs import Parser, Verbs

MODULES = (
    offers,
    origin,
    receiver,
    content,
    candidates,
    inbox,
    search,
    account,
    invite,
    devices,
    document,
    folders,
    agent,
    doctor,
    stdio,
    shell,
    link,
    setup,
    desktop,
)
"""Each adds its verbs, in the order of `--help`."""
DESCRIPTION = "What is offered on the devices of a user: shows it, continues it, offers more, and says what is wrong."
STATUSES = (
    (0, "done; the answer is yes"),
    (1, "it failed, or the answer is no: standard error says why"),
    (2, "wrong arguments"),
    (3, "nothing came in time"),
)
EPILOG = "\n".join(
    [
        "exit status:",
        *(f"  {number}  {meaning}" for number, meaning in STATUSES),
        "  Ctrl-C and a reader of the output that has gone end it as they end other programs: 130, 141 in a shell.",
        "",
        "`segue VERB --help` says more. SEGUE_LOG=debug shows what happens.",
    ]
)


def arguments(prog: str = "segue") -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog, description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"segue {__version__}, library {library_version}")
    verbs = Verbs(parser)
    for module in MODULES:
        module.add(verbs)
    return parser
