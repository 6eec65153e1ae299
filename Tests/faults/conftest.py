# SPDX-License-Identifier: Apache-2.0
"""The programs of this folder, and an app to be killed, with the shim that is preloaded into them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from participants import C, build  # noqa: E402


@pytest.fixture(scope="session")
def built() -> Iterator[Path]:
    """A folder with the programs and the shim, by name."""
    with tempfile.TemporaryDirectory(prefix="segue-faults-") as folder:
        for source in (HERE / "faults.c", HERE.parent / "runtime" / "participant.c"):
            build(source, Path(folder))
        shim = [*C, "-shared", "-fPIC", HERE / "shim.c", "-o", f"{folder}/shim.so", "-ldl"]
        subprocess.run([str(part) for part in shim], check=True)
        yield Path(folder)
