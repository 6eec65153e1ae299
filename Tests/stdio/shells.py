# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shells that take part: the words that start them, and their variables, with a home folder of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from host import PROGRAM
from project import ROOT

TYPE = "SegueActivityTypeUsingTerminal"
COMMAND = [str(ROOT / ".venv/bin/python"), "-m", "segue"]
STARTS = {
    "bash": ("bash --norc --noprofile", 'eval "$({} shell-init bash)"', "PS1='in-shell> '"),
    "zsh": ("zsh -f", 'eval "$({} shell-init zsh)"', "PS1='in-shell> '"),
    "fish": ("fish --no-config", "{} shell-init fish | source", "function fish_prompt; echo 'in-shell> '; end"),
}
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"there is no {name}"))
    for name in STARTS
]


def variables(folder: Path, tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TMPDIR": str(tmp_path),
        "SEGUE_RUNTIME_DIR": str(folder),
        "SEGUE_STDIO": str(PROGRAM),
    }


def without_settings(home: Path) -> dict[str, str]:
    """The variables of this process with a home folder in which no shell has settings."""
    kept = {name: value for name, value in os.environ.items() if name != "ZDOTDIR" and not name.startswith("XDG_")}
    return {**kept, "HOME": str(home)}
