# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads, callbacks and forks (header: THREADS, CALLBACKS, WHAT THE LIBRARY DOES TO YOUR PROCESS): what the programs
check, each test in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from valgrind import VALGRIND, needs_valgrind

HERE = Path(__file__).resolve().parent
TESTS = [
    (program, name)
    for program in ("threads", "busy", "endings", "forks", "openings")
    for name in re.findall(r'\{"(\w+)", \1\}', (HERE / f"{program}.c").read_text())
]


def run(built: Path, folder: Path, program: str, *arguments: str, under=()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*under, built / program, *arguments],
        env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.mark.parametrize(("program", "test"), TESTS)
def test_threads(built, folder, program, test):
    done = run(built, folder, program, test)
    assert done.returncode == 0, done.stderr


def test_all_at_once(built, folder):
    """R3.2 whatever races: six threads do everything to two apps, which every other time close in the middle of it."""
    done = run(built, folder, "busy", "all_at_once", "10", "300")
    assert done.returncode == 0, done.stderr


@needs_valgrind
def test_valgrind_finds_no_leak_and_no_bad_access(built, folder):
    """Continuations and the end of two apps."""
    done = run(built, folder, "threads", "delivery_by_thread", under=VALGRIND)
    assert done.returncode == 0, done.stderr[:4000]
