# SPDX-License-Identifier: Apache-2.0
"""The command line as somebody uses it who wants an activity continued elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

NAME = r"[0-9a-f]{32}"


def command_line(folder: Path, *words: str) -> list[str]:
    return ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-m", "segue", *words]


def output(folder: Path, *words: str, status: int = 0) -> list[str]:
    """What a command says, once it has ended."""
    done = subprocess.run(command_line(folder, *words), capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return (done.stdout + done.stderr).splitlines()


def waiting(folder: Path) -> list[list[str]]:
    """The entries of the inbox, in words, without the heads."""
    return [re.split(r"\s{2,}", line) for line in output(folder, "inbox") if line != "nothing waits"][1:]
