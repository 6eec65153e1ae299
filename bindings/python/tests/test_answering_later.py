# SPDX-License-Identifier: Apache-2.0
"""Continuations whose answer comes after on_continue: each ends once, at both ends, whether it comes or not."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from conftest import Log, Opener
from pair import Pair
from test_asyncio import first, in_a_loop, notes, offering

import segue
from segue import Outcome


class Later(segue.App):
    """Keeps what it is to answer."""

    kept: tuple[segue.Activity, segue.Continuation] | None = None
    failures = 0

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        self.kept = (activity, continuation)
        return segue.LATER

    def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
        self.failures += 1


def begun(opened: Opener, timeout: float | None = None) -> tuple[Pair, segue.Continuation]:
    """A receiver that has the activity, and has not answered."""
    pair = Pair(opened, Later)
    continuation = pair.receiver.continue_(pair.offer, timeout)
    pair.until(lambda: kept(pair) is not None)
    return pair, continuation


def kept(pair: Pair) -> tuple[segue.Activity, segue.Continuation] | None:
    assert isinstance(pair.receiver, Later)
    return pair.receiver.kept


def check_ended(pair: Pair, continuation: segue.Continuation, error: type[segue.Error]) -> None:
    """It has failed once at both ends, and an answer comes too late."""
    pair.until(lambda: continuation.done and pair.receipts)
    with pytest.raises(error):
        continuation.wait(0)
    assert pair.receipt().outcome == Outcome.FAILED
    for _ in range(2):
        with pytest.raises(segue.RemoteApplicationTimedOutError, match="the origin was told that it failed"):
            continuation.complete(True)
        with pytest.raises(segue.RemoteApplicationTimedOutError):
            continuation.fail("no")
    for _ in range(10):
        pair.origin.dispatch(0)
        pair.receiver.dispatch(0)
    assert not pair.receipts
    assert isinstance(pair.receiver, Later)
    assert not pair.receiver.failures, "on_continue has run (R3.2)"


def test_without_an_answer_both_ends_hear_at_the_deadline(opened: Opener) -> None:
    """R3.9"""
    pair, continuation = begun(opened, timeout=0.5)
    assert issubclass(segue.RemoteApplicationTimedOutError, TimeoutError)
    check_ended(pair, continuation, segue.RemoteApplicationTimedOutError)


@pytest.mark.parametrize("is_awaited", [False, True])
def test_a_failure_after_on_continue_is_logged_unless_somebody_awaits_it(
    opened: Opener, log: Log, is_awaited: bool
) -> None:
    """R3.13"""
    pair, continuation = begun(opened, timeout=0.5)
    if is_awaited:
        with pytest.raises(TimeoutError, match="no result"):
            continuation.wait(0)
    pair.until(lambda: continuation.done)
    assert [level for level, _ in log] == ([] if is_awaited else [logging.ERROR])


def test_after_the_close_of_the_app_it_is_invalidated(opened: Opener) -> None:
    """R3.14: not too late, which is said of a deadline, a cancel or the next continuation."""
    pair, continuation = begun(opened)
    pair.receiver.close()
    with pytest.raises(segue.InvalidatedError, match="closed"):
        continuation.complete(True)
    with pytest.raises(segue.InvalidatedError, match="closed"):
        continuation.fail("no")
    with pytest.raises(segue.InvalidatedError, match="closed"):
        continuation.restore([])


def test_a_cancel_ends_what_is_not_answered(opened: Opener) -> None:
    """R3.9"""
    pair, continuation = begun(opened)
    continuation.cancel()
    check_ended(pair, continuation, segue.UserCancelledError)
    continuation.cancel()


def test_the_next_continuation_ends_what_is_not_answered(opened: Opener) -> None:
    """R3.3"""
    pair, continuation = begun(opened)
    first_kept = kept(pair)
    second = pair.receiver.continue_(pair.offer)
    check_ended(pair, continuation, segue.UserCancelledError)
    pair.until(lambda: kept(pair) is not first_kept)
    second.complete(True)
    assert pair.receipt().outcome == Outcome.RESTORED
    assert second.wait(0).title == "Shopping list"


def test_a_cancel_after_the_answer_has_no_effect(opened: Opener) -> None:
    """R3.3: not even while objects are being restored."""
    pair, continuation = begun(opened)
    restored: list[segue.Activity] = []
    continuation.restore([restored.append])
    continuation.complete(True)
    continuation.cancel()
    assert pair.receipt().outcome == Outcome.RESTORED
    assert restored == [continuation.wait(0)]


def test_a_cancel_inside_the_handler_is_what_ends_it(opened: Opener, log: Log) -> None:
    class Notes(segue.App):
        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
            continuation.cancel()
            return True

    pair = Pair(opened, Notes)
    with pytest.raises(segue.UserCancelledError):
        pair.continue_().wait(0)
    assert pair.receipt().outcome == Outcome.FAILED
    assert log == [], "it is no error (R3.13)"


def test_a_result_that_was_not_taken_can_be_cancelled(opened: Opener) -> None:
    pair = Pair(opened)
    continuation = pair.continue_()
    continuation.cancel()
    assert pair.receipt().outcome == Outcome.FAILED
    with pytest.raises(segue.UserCancelledError):
        continuation.wait(0)


def test_a_block_hears_at_its_end_that_the_next_continuation_has_ended_it(opened: Opener) -> None:
    """R3.3"""
    pair = Pair(opened)
    continuation = pair.continue_()
    with pytest.raises(segue.UserCancelledError), continuation:
        pair.continue_().wait()
        pair.until(lambda: len(pair.receipts) == 2)
    assert [receipt.outcome for receipt in pair.receipts] == [Outcome.FAILED, Outcome.RESTORED]


@pytest.mark.parametrize("how", ["deadline", "cancel", "next"])
def test_an_async_handler_that_never_answers_keeps_nobody_waiting(folder: str, how: str) -> None:
    errors = {
        "deadline": segue.RemoteApplicationTimedOutError,
        "cancel": segue.UserCancelledError,
        "next": segue.UserCancelledError,
    }

    @in_a_loop
    async def test(folder: str) -> None:
        async with notes(folder) as origin, notes(folder) as receiver:
            offered, _ = await offering(origin)
            receipts: asyncio.Queue[segue.Receipt] = asyncio.Queue()
            offered.on_continuation_ended(receipts.put_nowait)
            began = asyncio.Event()

            @receiver.on_continue
            async def restore(activity: segue.Activity, continuation: segue.Continuation) -> None:
                began.set()
                await asyncio.Event().wait()

            offer = (await first(receiver.offer_events())).offer
            continuation = receiver.continue_(offer, timeout=0.5 if how == "deadline" else None)
            await began.wait()
            if how == "cancel":
                continuation.cancel()
            elif how == "next":
                receiver.on_continue(lambda activity, continuation: True)
                await receiver.continue_(offer)
            with pytest.raises(errors[how]):
                await continuation
            assert (await receipts.get()).outcome == Outcome.FAILED

    test(folder)
