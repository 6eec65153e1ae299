# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.5: sessions beside the agent that ships."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host import Host
from programs import programs
from project import ROOT
from temporary_folders import temporary
from test_session import NOTE, offer

AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()
Start = Callable[..., Host]


@pytest.fixture
def agent(folder: Path) -> Iterator[None]:
    with temporary("segue-state-") as state:
        environment = {"SEGUE_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(state), "SEGUE_LOG": "info"}
        with programs({**os.environ, **environment}) as run:
            run("agent", [AGENT]).wait_for("is the hub of generation")
            yield


def test_open_says_that_an_agent_runs(start: Start, agent: None) -> None:
    """R13.5.3"""
    deadline = time.monotonic() + 20
    # A busy machine may take longer than the 250 ms that open waits.
    while start().open()["agent"] is not True:
        assert time.monotonic() < deadline


@pytest.mark.parametrize("saves", [True, False])
def test_retained_offers_stay_when_the_session_has_ended(start: Start, agent: None, saves: bool) -> None:
    """R13.5.10, R2.5"""
    origin, receiver = start(), start()
    origin.open("origin", save=saves)
    receiver.open("receiver", NOTE)
    offer(origin, userInfo={"line": 4}, retain=True)
    receiver.offer_of("Shopping")
    assert origin.call("close") == {}
    assert origin.ended()[0] == 0
    late = start()  # its first list is of what is offered now
    late.open("late", NOTE)
    late.call("offers/continue", offer=late.offer_of("Shopping")["offer"])
    params = late.hear("continuation/continue")
    assert (params["userInfo"], params["stale"]) == ({"line": 4}, False)
