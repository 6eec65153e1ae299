# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The origin takes the state of its activity back from the app that continued it (R3.10)."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any

import pytest
from conftest import PATIENCE, TYPE, Opener
from pair import Pair

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet


@pytest.fixture
def pair(opened: Opener) -> Pair:
    return Pair(opened)


def continued(pair: Pair) -> segue.Activity:
    activity = pair.continue_().wait(PATIENCE)
    pair.receipt()
    return activity


def resume_back(pair: Pair, timeout: float | None = None) -> segue.Pending[bool]:
    back = pair.activity.resume_back(timeout)
    pair.until(lambda: back.done)
    return back


def test_it_comes_back_as_it_is_there(pair: Pair) -> None:
    """R3.10: all properties, saved there; the delegate is told before the call ends; attachments stay."""
    kept = continued(pair)
    kept.on_will_save(lambda: setattr(kept, "user_info", {"line": 8}))
    kept.title = "There"
    told: list[Any] = []
    back: list[segue.Pending[bool]] = []
    pair.activity.on_did_resume_back(lambda stale: told.append((stale, back[0].done, pair.activity.title)))
    pair.activity.attach("photo", b"bytes")
    there: list[segue.Receipt] = []
    kept.on_was_continued(there.append)
    back.append(pair.activity.resume_back())
    pair.until(lambda: back[0].done)
    assert back[0].wait() is False
    assert told == [(False, False, "There")]
    assert pair.activity.user_info == {"line": 8}
    assert not pair.activity.needs_save
    assert pair.activity.attachments == {"photo": 5}
    pair.until(lambda: there)
    assert there[0].outcome == segue.Outcome.RESTORED
    pair.until(lambda: [offer.title for offer in pair.receiver.offers] == ["There"])


@pytest.mark.parametrize("policy", ["when_pulled", "when_needed"])
def test_unsaved_changes_of_the_origin_stay(opened: Opener, policy: str) -> None:
    """R3.10: without a handler; the call ends DECLINED, and the other app is told."""
    pair = Pair(opened)
    kept = continued(pair)
    there: list[segue.Receipt] = []
    kept.on_continuation_ended(there.append)
    kept.title = "There"
    pair.activity.title = "Here"
    if policy == "when_pulled":
        pair.activity.on_will_save(lambda: setattr(pair.activity, "user_info", {"line": 9}))
    with pytest.raises(segue.DeclinedError, match="the app that takes it back keeps its unsaved changes"):
        resume_back(pair).wait()
    assert pair.activity.title == "Here"
    pair.until(lambda: there)
    assert there[0].outcome == segue.Outcome.DECLINED


@pytest.mark.parametrize("answer", [True, False, None])
@pytest.mark.parametrize("changed", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_the_delegate_is_asked_first(pair: Pair, answer: bool | None, changed: bool, later: bool) -> None:
    """R3.10: yes or no, now or later; no answer keeps changes."""
    kept = continued(pair)
    kept.title = "There"
    if changed:
        pair.activity.title = "Here"
    told: list[bool] = []
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def decide(told_changed: bool) -> Any:
        told.append(told_changed)
        return future if later else answer

    pair.activity.on_will_resume_back(decide)
    back = pair.activity.resume_back()
    pair.until(lambda: told)
    assert told == [changed]
    if later:
        assert not back.done and pair.activity.title != "There"
        future.set_result(answer)
    pair.until(lambda: back.done)
    if answer if answer is not None else not changed:
        assert back.wait() is False and pair.activity.title == "There"
    else:
        with pytest.raises(segue.DeclinedError):
            back.wait()
        assert pair.activity.title != "There"


@pytest.mark.parametrize("change", [("title", "Typed"), ("needs_save", True)], ids=["typed", "marked"])
def test_what_changes_between_the_answer_and_the_replacement_stays(pair: Pair, change: tuple[str, Any]) -> None:
    """R3.10: the handler was told "not changed" and has said yes; the host's loop goes on, and its user types."""
    kept = continued(pair)
    kept.title = "There"
    there: list[segue.Receipt] = []
    kept.on_continuation_ended(there.append)
    told: list[bool] = []

    @pair.activity.on_will_resume_back
    def decide(changed: bool) -> bool:
        told.append(changed)
        return True

    back = pair.activity.resume_back()
    pair.until(lambda: told)
    assert told == [False] and not back.done
    setattr(pair.activity, *change)
    pair.until(lambda: back.done)
    with pytest.raises(segue.DeclinedError, match="the app that takes it back has unsaved changes"):
        back.wait()
    assert pair.activity.title != "There" and pair.activity.needs_save
    pair.until(lambda: there)
    assert there[0].outcome == segue.Outcome.DECLINED
    assert there[0].reason == "the app that takes it back has unsaved changes"


def test_a_handler_of_the_app_that_raises_keeps_the_state(pair: Pair) -> None:
    """R3.10: and dispatch raises what it raised."""
    kept = continued(pair)
    kept.title = "There"

    @pair.origin.on_will_resume_back
    def decide(activity: segue.Activity, changed: bool) -> bool:
        assert activity is pair.activity and not changed
        raise RuntimeError("a bug")

    back = pair.activity.resume_back()
    with pytest.raises(RuntimeError, match="a bug"):
        pair.until(lambda: back.done)
    pair.until(lambda: back.done)
    with pytest.raises(segue.DeclinedError):
        back.wait()
    assert pair.activity.title == "Shopping list"


def test_an_app_is_told_for_all_of_its_activities(pair: Pair) -> None:
    """R3.10, R3.12"""
    kept = continued(pair)
    told: list[Any] = []
    pair.origin.on_did_resume_back(lambda activity, stale: told.append((activity, stale)))
    resume_back(pair)
    assert told == [(pair.activity, False)]
    assert kept.is_valid


def test_nothing_to_take_back(pair: Pair) -> None:
    """R3.10: no app has continued it; it is no longer kept there; it was invalidated here; it has no app."""
    with pytest.raises(segue.NotFoundError, match="no app has continued it"):
        pair.activity.resume_back()
    continued(pair).invalidate()
    with pytest.raises(segue.HandoffFailedError, match="does not keep"):
        resume_back(pair).wait()
    assert pair.activity.title == "Shopping list"
    with pytest.raises(ValueError):
        pair.activity.resume_back(-1)
    pair.activity.invalidate()
    with pytest.raises(segue.InvalidatedError):
        pair.activity.resume_back()
    with pytest.raises(segue.InvalidStateError):
        segue.Activity(None, TYPE).resume_back()


def test_the_app_that_continued_it_is_closed(pair: Pair) -> None:
    """R3.10"""
    continued(pair)
    pair.receiver.close()
    with pytest.raises(segue.ConnectionUnavailableError):
        pair.activity.resume_back().wait(PATIENCE)


def test_it_ends_in_time(pair: Pair) -> None:
    """R3.10: by its deadline, by cancelling, and when the app closes."""
    kept = continued(pair)
    never: concurrent.futures.Future[None] = concurrent.futures.Future()
    kept.on_will_save(lambda: never)
    with pytest.raises(segue.InvalidStateError, match="already"):
        first = pair.activity.resume_back(0.2)
        pair.activity.resume_back()
    pair.until(lambda: first.done)
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        first.wait()
    second = pair.activity.resume_back()
    second.cancel()
    with pytest.raises(segue.UserCancelledError):
        second.wait()


def test_on_a_fleet_across_devices(segue_fleet: Fleet) -> None:
    """R3.10: an await in asyncio code; the same on another device."""
    phone, laptop = segue_fleet.add_device("phone"), segue_fleet.add_device("laptop")

    async def story() -> bool:
        editor = segue.App("com.example.notes", types=[TYPE], device=phone)
        viewer = segue.App("com.example.notes", types=[TYPE], device=laptop)
        async with editor, viewer:
            activity = segue.Activity(editor, TYPE, title="Draft")
            activity.become_current()
            segue_fleet.run()
            kept = await segue_fleet.until(viewer.continue_(viewer.offers[0]))
            kept.title = "Written on the laptop"
            segue_fleet.run()
            stale = await segue_fleet.until(activity.resume_back())
            assert activity.title == "Written on the laptop"
            return stale

    assert asyncio.run(story()) is False
