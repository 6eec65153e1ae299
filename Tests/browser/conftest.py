# SPDX-License-Identifier: Apache-2.0
"""The native host that ships, and apps beside it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import segue
from identity import TEAM, TYPE
from messaging import Host
from programs import Program, programs
from project import ROOT

AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()


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
    """An agent that carries the hub."""
    with tempfile.TemporaryDirectory(prefix="segue-state-") as state:
        variables = {"SEGUE_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": state, "SEGUE_LOG": "info"}
        with programs({**os.environ, **variables}) as run:
            program = run("agent", [AGENT])
            program.wait_for(r"this process is the hub of generation (\d+) ")
            yield program


class Peer:
    """An app that continues pages, and a chooser that has others continue them."""

    def __init__(self, folder: Path):
        self.app = segue.App("com.example.reader", team=TEAM, types=[TYPE], runtime_folder=folder, delivery="thread")
        self.app.open()

    def offer(self, title: str, patience: float = 10) -> segue.Offer:
        """The offer with that title, once it is there."""
        return until(lambda: next((each for each in self.app.offers if each.title == title), None), patience)

    def titles(self) -> list[str | None]:
        return [each.title for each in self.app.offers]

    def take(self, offer: segue.Offer) -> segue.Activity:
        with self.app.continue_(offer, 10) as activity:
            return activity


def until(look: Callable[[], Any], patience: float = 10) -> Any:
    """Returns what a look gives that is true. The library tells of no end of a wait for another process's state."""
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return found


@pytest.fixture
def peer(folder: Path) -> Iterator[Peer]:
    made = Peer(folder)
    yield made
    made.app.close()
