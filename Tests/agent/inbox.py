# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line as somebody uses it who wants an activity continued elsewhere."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAME = r"[0-9a-f]{32}"
NO_AGENT = "no agent runs; start one: `segue agent`, or `systemctl --user enable --now segue-agent.socket`"


def command_line(folder: Path, *words: str) -> list[str]:
    return ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-m", "segue", *words]


def output(folder: Path, *words: str, status: int = 0) -> list[str]:
    """Runs a command to its end, and returns the lines of its output."""
    done = subprocess.run(command_line(folder, *words), capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return (done.stdout + done.stderr).splitlines()


def waiting(folder: Path) -> list[list[str]]:
    """The entries of the inbox, in words, without the heads."""
    return [re.split(r"\s{2,}", line) for line in output(folder, "inbox") if line != "nothing waits"][1:]


@contextlib.contextmanager
def unreadable(database: Path) -> Iterator[None]:
    """A pipe in the place of a database, which nobody has open. The database comes back in one step, so that whoever
    tries meanwhile makes no new one."""
    aside = database.with_suffix(".aside")
    database.rename(aside)
    os.mkfifo(database)
    yield
    aside.rename(database)
