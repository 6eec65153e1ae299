# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""packaging/cross makes each tree of Debian's packages once, and again when its list of packages has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from project import ROOT

# Stands in for mmdebstrap: counts the calls, and makes what is looked at. The tree is the last word but one.
MAKER = """#!/bin/sh
echo "$*" >>"$CALLS"
while [ $# -gt 2 ]; do shift; done
mkdir -p "$1/usr/include"
"""


@pytest.mark.parametrize("name", ["root", "builder"])
def test_a_tree_is_made_anew_for_another_list_of_packages(tmp_path: Path, name: str):
    (tmp_path / "packaging").mkdir()
    (tmp_path / "tools").mkdir()
    cross = tmp_path / "packaging/cross"
    shutil.copy(ROOT / "packaging/cross", cross)
    maker, calls = tmp_path / "tools/mmdebstrap", tmp_path / "calls"
    maker.write_text(MAKER)
    maker.chmod(0o755)
    path = f"{tmp_path / 'tools'}:{os.environ['PATH']}"

    def made(exit_status: int = 0) -> int:
        done = subprocess.run([cross, name, "aarch64"], env={**os.environ, "PATH": path, "CALLS": str(calls)})
        assert done.returncode == exit_status
        return len(calls.read_text().splitlines())

    assert [made(), made()] == [1, 1]
    text = cross.read_text()
    cross.write_text(text.replace("libuv1-dev", "libuv1-dev jq").replace("libuv1:arm64", "libuv1:arm64 jq"))
    assert [made(), made()] == [2, 2]
    assert "jq" in calls.read_text().splitlines()[1]
    # A tree that was not finished has no mark, also where one was finished before.
    cross.write_text(text)
    maker.write_text(MAKER + "exit 1\n")
    assert made(1) == 3
    maker.write_text(MAKER)
    assert [made(), made()] == [4, 4]
