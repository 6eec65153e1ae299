# SPDX-License-Identifier: Apache-2.0
"""What tests of every suite may ask for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """The runtime folder of one test; its path is short, as sockets want it."""
    with tempfile.TemporaryDirectory(prefix="segue-run-") as path:
        yield Path(path)
