# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""System calls that fail, one at a time (security.md: "a clear error, nothing lost, the process lives"): what faults.c
checks, scenario by scenario. SEGUE_FAULT_STEP=1 SEGUE_FAULT_WAYS=6 is every call in every way, in minutes; by default
it is every sixth, from one that the seed draws, in one way."""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

STEP = int(os.environ.get("SEGUE_FAULT_STEP", "6"))
WAYS = int(os.environ.get("SEGUE_FAULT_WAYS", "1"))
SEED = int(os.environ.get("SEGUE_SEED") or random.SystemRandom().randrange(1_000_000))
SCENARIOS = re.findall(r'\{"(\w+)", \1\}', (Path(__file__).parent / "scenarios.h").read_text())


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_call_that_fails_does_harm(built, scenario):
    first = random.Random(f"{SEED} {scenario}").randrange(STEP) + 1
    done = subprocess.run(
        [built / "faults", scenario, str(first), str(STEP), str(WAYS)],
        env={**os.environ, "LD_PRELOAD": str(built / "shim.so"), "PARTICIPANT": str(built / "participant")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout}{done.stderr}"
    runs = int(re.search(r"(\d+) runs", done.stdout)[1])
    assert runs >= 60 * WAYS // STEP - 1, "most calls of the scenario were not reached"
