# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures for the tests of every suite."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporary_folders import temporary

# A shell has its background jobs ignore Ctrl-C, and programs inherit that. The tests interrupt some.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def folder() -> Iterator[Path]:
    """The runtime folder of one test; its path is short, as sockets want it."""
    with temporary("segue-run-") as path:
        yield path
