# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs each of scenarios.py in a process of its own: it succeeds, and says nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import scenarios


def run(scenario: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, scenarios.__file__, scenario, folder],
        env={**{name: value for name, value in os.environ.items() if name != "SEGUE_LOG"}, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("scenario", [scenario.__name__ for scenario in scenarios.SCENARIOS])
def test_a_process_has_no_surprise(scenario, folder):
    done = run(scenario, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_SEGUE_LOG_asks_for_the_log(folder):
    done = run("the_log_says_nothing_unless_asked", folder, SEGUE_LOG="debug")
    assert (done.returncode, done.stdout) == (0, "")
    assert re.search(r"(?m)\Asegue: (error|info|debug): ", done.stderr)
