# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No attack on a container leads outside of it, nor blocks (R5.4): what containers.c checks, with openat2, and where
the system lacks or refuses that call."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ATTACKS = re.findall(r'\{"(\w+)", \1\}', (Path(__file__).resolve().parent / "containers.c").read_text())


@pytest.mark.parametrize("way", ["fast", "ENOSYS", "EPERM"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(built, tmp_path, attack, way):
    done = subprocess.run([built / "containers", way, attack], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
