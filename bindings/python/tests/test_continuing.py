# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continuing in one process: results, answers, restorable objects, failures."""

from __future__ import annotations

import gc
import logging
from typing import Any

import pytest
from conftest import TYPE, Log, Opener, run_until
from pair import Pair

import segue
from segue import Outcome


def test_a_continued_activity_is_a_live_object_of_the_receiver(opened: Opener) -> None:
    """R3.12"""
    pair = Pair(opened)
    continued = pair.continue_().wait()
    origin = continued.continued_from
    assert origin is not None
    assert (origin.activity_id, origin.app_name, origin.stale) == (pair.activity.id, "com.example.notes", False)
    assert continued.id != pair.activity.id
    assert continued.app is pair.receiver
    assert pair.receipt().outcome == Outcome.RESTORED
    continued.title = "Changed"
    continued.become_current()
    pair.until(lambda: [offer.title for offer in pair.origin.offers] == ["Changed"])


def test_a_handler_may_not_handle_it(opened: Opener) -> None:
    """R3.6"""

    class Notes(segue.App):
        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
            return False

    pair = Pair(opened, Notes)
    pair.continue_()
    assert pair.receipt().outcome == Outcome.DECLINED


def test_a_receiver_may_decline_before_anything_moves(opened: Opener) -> None:
    """R3.7"""
    failed: list[Any] = []

    class Picky(segue.App):
        def on_will_continue(self, type: str, continuation: segue.Continuation) -> None:
            continuation.decline("no window is free")

        def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
            failed.append((type, error, continuation))

    pair = Pair(opened, Picky)
    continuation = pair.continue_()
    receipt = pair.receipt()
    assert (receipt.outcome, receipt.reason) == (Outcome.DECLINED, "no window is free")
    [(type, error, attempt)] = failed
    assert (type, attempt) == (TYPE, continuation)
    assert isinstance(error, segue.DeclinedError)
    with pytest.raises(segue.DeclinedError, match="no window is free"):
        continuation.wait()
    with pytest.raises(segue.InvalidStateError):
        continuation.decline("too late")


def test_a_block_answers_when_it_is_done(opened: Opener) -> None:
    pair = Pair(opened)
    continuation = pair.continue_()
    with continuation as activity:
        assert activity.user_info["line"] == 1
        assert not pair.receipts
    assert pair.receipt().outcome == Outcome.RESTORED
    with pytest.raises(ZeroDivisionError), pair.continue_():
        raise ZeroDivisionError
    assert pair.receipt().outcome == Outcome.FAILED


def test_a_result_that_nobody_takes_was_not_handled(opened: Opener) -> None:
    pair = Pair(opened)
    pair.continue_()
    gc.collect()
    assert pair.receipt().outcome == Outcome.DECLINED


def test_each_restorable_object_gets_the_activity(opened: Opener) -> None:
    """R3.4, R3.6"""
    restored: list[Any] = []

    class Window:
        def restore_state(self, activity: segue.Activity) -> None:
            restored.append(("window", activity))

    class Notes(segue.App):
        fails = False

        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
            restorable = segue.Restorable(lambda activity: restored.append(("restorable", activity)))
            continuation.restore([Window(), restorable, lambda activity: not self.fails])

    pair = Pair(opened, Notes)
    activity = pair.continue_().wait()
    assert pair.receipt().outcome == Outcome.RESTORED
    assert restored == [("window", activity), ("restorable", activity)]
    assert isinstance(pair.receiver, Notes)
    pair.receiver.fails = True
    pair.continue_()
    assert pair.receipt().outcome != Outcome.RESTORED


def test_a_second_continuation_cancels_the_first(opened: Opener) -> None:
    """R3.3"""
    pair = Pair(opened)
    first = pair.receiver.continue_(pair.offer)
    second = pair.receiver.continue_(pair.offer)
    pair.until(lambda: first.done and second.done)
    with pytest.raises(segue.UserCancelledError) as raised:
        first.wait()
    assert raised.value.foundation_code == 3072
    assert second.wait().title == "Shopping list"


def test_a_continuation_can_be_cancelled(opened: Opener) -> None:
    pair = Pair(opened)
    continuation = pair.receiver.continue_(pair.offer)
    continuation.cancel()
    pair.until(lambda: continuation.done)
    with pytest.raises(segue.UserCancelledError):
        continuation.wait()
    continuation.cancel()


def test_a_failure_that_nobody_hears_of_is_logged(opened: Opener, log: Log) -> None:
    """R3.13"""
    pair = Pair(opened)
    pair.activity.invalidate()
    pair.receiver.continue_(pair.offer)
    pair.until(lambda: log)
    [(level, line)] = log
    assert level == logging.ERROR
    assert TYPE in line
    assert "HANDOFF_FAILED" in line


@pytest.mark.parametrize("after", [False, True])
def test_a_cancel_that_nobody_hears_of_is_no_error(opened: Opener, log: Log, after: bool) -> None:
    """R3.13: the user knows, before on_continue and after it."""
    logger = logging.getLogger("segue")
    logger.setLevel(logging.INFO)
    try:
        pair = Pair(opened)
        pair.receiver.on_continue(lambda activity, continuation: continuation.cancel() or segue.LATER)
        continuation = pair.receiver.continue_(pair.offer)
        if not after:
            continuation.cancel()
        pair.until(lambda: continuation.done)
    finally:
        logger.setLevel(logging.NOTSET)
    assert [level for level, line in log if TYPE in line] == [logging.INFO]


def test_the_origin_may_not_answer_in_time(opened: Opener) -> None:
    """R3.9, R3.11"""
    pair = Pair(opened)
    pair.activity.on_will_save(lambda: None)
    continuation = pair.receiver.continue_(pair.offer, timeout=0.05)
    run_until([pair.receiver], lambda: continuation.done)  # the origin's callbacks do not run
    with pytest.raises(segue.Error) as raised:
        continuation.wait()
    assert raised.value.code in ("REMOTE_APPLICATION_TIMED_OUT", "HANDOFF_FAILED")
    with pytest.raises(segue.InvalidArgumentError):
        pair.receiver.continue_(pair.offer, timeout=3601)


# ---- exceptions ----
