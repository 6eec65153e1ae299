# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest fixture `segue_fleet`: a virtual fleet that checks Segue's invariants. On failure it shows its trace."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import segue.testing

# Each run of pytest loads this module. The library is loaded only by tests that use it. Once this module is loaded,
# `import segue` takes the library for tests. A plugin of the command line (`-p`) comes first, and may have it already.
if "segue" in sys.modules:
    from segue._native import prefer_fleet

    prefer_fleet()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--segue-seed", type=int, help="seed of segue_fleet, to repeat a failure; else one a test")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "segue_seed(number): the seed of segue_fleet in this test")


@pytest.fixture
def segue_fleet(request: pytest.FixtureRequest) -> Iterator[segue.testing.Fleet]:
    """A `segue.testing.Fleet` for one test. It closes its apps at the end; a violated invariant fails the test."""
    import segue.testing

    fleet = segue.testing.Fleet(_seed(request))
    request.node.stash[_trace] = lambda: fleet.trace
    yield fleet
    fleet.close()
    trace, violation = fleet.trace, fleet.violation
    # Only the text: the test may look whether it has left anything behind.
    request.node.stash[_trace] = lambda: trace
    if violation is not None:
        pytest.fail(f"Segue broke a promise: {violation}", pytrace=False)


_trace = pytest.StashKey[Callable[[], str]]()
_used = pytest.StashKey[int]()


def _seed(request: pytest.FixtureRequest) -> int:
    """As the command line says, or the test, or one that follows from its name: the same in each run."""
    seed: int | None = request.config.getoption("--segue-seed")
    marker = request.node.get_closest_marker("segue_seed")
    if seed is None:
        seed = zlib.crc32(request.node.nodeid.encode()) if marker is None else marker.args[0]
    request.node.stash[_used] = seed
    return seed


@pytest.hookimpl(hookwrapper=True)  # pluggy 1.0 knows no other way
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    report = (yield).get_result()
    trace = item.stash.get(_trace, None)
    if trace is not None and report.failed:
        report.sections.append((f"segue_fleet, --segue-seed {item.stash[_used]}", trace()))
