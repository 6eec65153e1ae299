# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The log has each failure of a continuation of which the program is told in no other way (R3.13)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE, Log
from test_documents import Devices

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet


def offered(fleet: Fleet) -> tuple[segue.App, segue.App]:
    """An origin, and a receiver that sees its offer."""
    origin, receiver = (fleet.add_device(name).add_app("com.example.notes", types=[TYPE]) for name in ("a", "b"))
    segue.Activity(origin, TYPE, title="Draft").become_current()
    fleet.run()
    return origin, receiver


def errors(log: Log) -> list[str]:
    return [line for level, line in log if level == logging.ERROR]


@pytest.mark.parametrize("who", ["nobody", "gave up", "gave up twice", "waits", "waits again", "block"])
@pytest.mark.parametrize("when", ["before on_continue", "after it"])
def test_a_failure_is_logged_unless_somebody_waits_for_it(segue_fleet: Fleet, when: str, who: str, log: Log) -> None:
    """A wait that has given up hears nothing."""
    origin, receiver = offered(segue_fleet)
    if when == "after it":
        receiver.on_continue(lambda activity, continuation: segue.LATER)
    else:
        segue_fleet.stop(origin)
    continuation = receiver.continue_(receiver.offers[0])
    for _ in range({"gave up": 1, "gave up twice": 2, "waits again": 1}.get(who, 0)):
        with pytest.raises(TimeoutError, match="no result"):
            continuation.wait(1)
    if who.startswith("waits"):
        with pytest.raises(segue.RemoteApplicationTimedOutError):
            continuation.wait()
    elif who == "block":
        with pytest.raises(segue.RemoteApplicationTimedOutError), continuation:
            pytest.fail("it has begun")
    segue_fleet.advance(60)
    assert continuation.done
    assert len(errors(log)) == (0 if who in ("waits", "waits again", "block") else 1)
    assert log == [] or f"continuing {TYPE} failed: REMOTE_APPLICATION_TIMED_OUT" in log[0][1]
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        continuation.wait(0)


def test_on_did_fail_is_told_instead_of_the_log(segue_fleet: Fleet, log: Log) -> None:
    origin, receiver = offered(segue_fleet)
    failures: list[segue.Error] = []
    receiver.on_did_fail(lambda type, error, continuation: failures.append(error))
    segue_fleet.stop(origin)
    with pytest.raises(TimeoutError, match="no result"):
        receiver.continue_(receiver.offers[0]).wait(1)
    segue_fleet.advance(60)
    assert len(failures) == 1 and log == []


def test_a_block_is_told_instead_of_the_log(segue_fleet: Fleet, log: Log) -> None:
    """When it is left."""
    _, receiver = offered(segue_fleet)
    with pytest.raises(segue.RemoteApplicationTimedOutError), receiver.continue_(receiver.offers[0]):
        segue_fleet.advance(60)
    assert log == []


@pytest.mark.parametrize("who", ["nobody", "gave up"])
def test_a_result_that_nobody_takes_in_time_is_logged(segue_fleet: Fleet, who: str, log: Log) -> None:
    """Without on_continue, too."""
    _, receiver = offered(segue_fleet)
    continuation = receiver.continue_(receiver.offers[0])
    if who == "gave up":
        with pytest.raises(TimeoutError, match="no result"):
            continuation.wait(0)
    segue_fleet.advance(60)
    assert len(errors(log)) == 1
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        continuation.wait(0)


def test_what_fails_after_the_answer_of_a_block_is_logged(segue_fleet: Fleet, tmp_path: Path, log: Log) -> None:
    """R3.5: leaving the block says nothing of it."""
    devices = Devices(segue_fleet, tmp_path, segue.App)
    devices.letter()
    attempt: Any = devices.pull()
    with attempt:
        attempt.complete(False)
        segue_fleet.run()
    assert ["this app has no open_document" in line for line in errors(log)] == [True]
