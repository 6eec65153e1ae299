# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of this folder, and an app to be killed, with the shim that is preloaded into them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from project import C, build, run
from temporary_folders import temporary

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def built() -> Iterator[Path]:
    """A folder with the programs and the shim, by name."""
    with temporary("segue-faults-") as folder:
        for source in (HERE / "faults.c", HERE.parent / "runtime" / "participant.c"):
            build(source, folder)
        run(*C, "-shared", "-fPIC", HERE / "shim.c", "-o", f"{folder}/shim.so", "-ldl")
        yield folder
