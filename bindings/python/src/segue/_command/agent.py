# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the agent: `agent`."""

from __future__ import annotations

import argparse
import os
import shutil
import sysconfig
from pathlib import Path

from .installed import beside_library, execute, first_program, how_to_install
from .output import CommandError, show_json
from .verbs import Verbs

NAME = "segue-agent"
START = f"`segue agent`, or `systemctl --user enable --now {NAME}.socket`"
"""The commands that start the agent, for messages."""


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "agent",
        agent,
        f"run {NAME} until Ctrl-C, in place of this command",
        f"It finds the program in $SEGUE_AGENT, the PATH, beside this command, and where `make install` puts it.\n"
        f"Its exit status is that of {NAME}: 3 if another agent of this user runs. `systemctl --user enable --now\n"
        f"{NAME}.socket` has it started on demand. With --json the program is printed first.",
    )
    parser.add_argument("--replace", action="store_true", help="ask the agent that runs to end, and take its place")


def agent(options: argparse.Namespace) -> int:
    program = found()
    if program is None:
        raise CommandError(f"there is no {NAME}: install it ({how_to_install(NAME)}), or set SEGUE_AGENT to its path")
    if options.json:
        show_json({"program": program}, line=True)
    execute(program, NAME, *(["--replace"] if options.replace else []))


def found() -> str | None:
    """Returns the path of the agent that is installed."""
    named = os.environ.get("SEGUE_AGENT")
    if named:
        return named
    beside = beside_library()
    folders = (sysconfig.get_path("scripts"), beside, beside.parent / "bin", "/usr/local/bin", "/usr/bin")
    return first_program([shutil.which(NAME), *(Path(folder) / NAME for folder in folders)])
