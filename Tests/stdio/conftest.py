# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts of `segue stdio` in a runtime folder of one test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "share"))

from host import Host


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Host]]:
    """start(NAME="value"): a host whose session is not open yet."""
    started: list[Host] = []

    def launch(**environment: str) -> Host:
        started.append(Host(folder, **environment))
        return started[-1]

    yield launch
    for host in started:
        host.kill()
