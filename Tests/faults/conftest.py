# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of this folder, and an app to be killed, with the shim that is preloaded into them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import C, build, run

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def built() -> Iterator[Path]:
    """A folder with the programs and the shim, by name."""
    with tempfile.TemporaryDirectory(prefix="segue-faults-") as folder:
        for source in (HERE / "faults.c", HERE.parent / "runtime" / "participant.c"):
            build(source, Path(folder))
        run(*C, "-shared", "-fPIC", HERE / "shim.c", "-o", f"{folder}/shim.so", "-ldl")
        yield Path(folder)
