# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The story of `make demo-desktop`: its last line and its exit status say how it ended."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from network import can_make_networks
from project import ROOT

NEEDED = ("Xvfb", "dunst", "nvim", "mpv")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, NEEDED)) or not can_make_networks(), reason="make deps-desktop, and namespaces"
)
TEXT = r"budget\.md continued in Neovim at line 4, with what was not saved, in \d+ ms"
FILM = r"film\.wav continued in mpv at second 42 in \d+ ms"


def test_a_text_and_a_film_go_on_with_one_click_each() -> None:
    """R3.8, R13.1, R13.2, R13.3: real programs on both sides, and a real server between them."""
    words = [ROOT / ".venv" / "bin" / "python", ROOT / "bindings" / "demo" / "desktop"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    last = done.stdout.rstrip("\n").rpartition("\n")[2]
    assert re.fullmatch(f"demo: {TEXT}; {FILM}", last), done.stdout + done.stderr
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("gedit"), reason="gedit is missing: make deps-desktop")
def test_pictures_are_taken_from_a_real_run(tmp_path: Path) -> None:
    """R13.3: what was written in Neovim goes on in gedit. A picture is small enough for a page."""
    words = [ROOT / ".venv" / "bin" / "python", ROOT / "bindings" / "demo" / "screenshots", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    for name in ("continue-1.png", "continue-2.png"):
        for path in (tmp_path / name, ROOT / "docs" / name):
            assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size < 40_000
