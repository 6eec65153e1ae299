# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The native host that ships, and apps beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import Desk, Peer, prepared_desk, running_agent
from messaging import Host
from programs import Program


@pytest.fixture
def host(folder: Path) -> Iterator[Callable[..., Host]]:
    """host("firefox"): a host that a browser has started, and that has been greeted."""
    started: list[Host] = []

    def start(*words: Any, **options: Any) -> Host:
        started.append(Host(folder, *words, **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.fixture
def agent(folder: Path) -> Iterator[Program]:
    with running_agent(folder) as program:
        yield program


@pytest.fixture
def peer(folder: Path) -> Iterator[Peer]:
    made = Peer(folder)
    yield made
    made.app.close()


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    """The desk of all tests that change nothing about their browsers."""
    with prepared_desk() as made:
        yield made


@pytest.fixture(scope="session")
def chromium(desk: Desk) -> Any:
    return desk.start("chromium")


@pytest.fixture(scope="session")
def firefox(desk: Desk) -> Any:
    return desk.start("firefox")


@pytest.fixture
def browser(word: str, request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(word)


@pytest.fixture
def own_desk() -> Iterator[Desk]:
    """A desk of a test that kills, removes or configures browsers."""
    with prepared_desk() as made:
        yield made
