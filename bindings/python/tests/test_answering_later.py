# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continuations whose answer comes after on_continue: each ends once, at both ends, whether it comes or not."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import pytest
from conftest import Log, Opener, run_until
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


# ---- results that are given up before they are taken


def test_a_cancel_inside_the_block_is_what_it_raises(opened: Opener) -> None:
    """Though no callback has run in between."""
    pair = Pair(opened)
    continuation = pair.continue_()
    with pytest.raises(segue.UserCancelledError), continuation:
        continuation.cancel()
    assert pair.receipt().outcome == Outcome.FAILED
    check_lost(pair, continuation, segue.UserCancelledError)


@pytest.mark.parametrize("how", ["cancel", "next", "close"])
def test_what_ends_a_result_before_it_is_taken_is_what_its_taker_gets(opened: Opener, how: str) -> None:
    """R3.3: also if no callback has run in between."""
    pair = Pair(opened)
    continuation = pair.continue_()
    if how == "cancel":
        continuation.cancel()
    elif how == "next":
        following = pair.receiver.continue_(pair.offer)
    else:
        pair.receiver.close()
    check_lost(pair, continuation, segue.CancelledError if how == "close" else segue.UserCancelledError)
    run_until([pair.origin], lambda: pair.receipts)
    assert pair.receipts.pop().outcome == Outcome.FAILED
    if how == "next":
        pair.until(lambda: following.done)
        assert following.wait(0).title == "Shopping list"
        assert pair.receipt().outcome == Outcome.RESTORED
        check_lost(pair, continuation, segue.UserCancelledError)


@pytest.mark.parametrize("how", ["wait", "block", "block that fails"])
def test_a_result_that_is_taken_after_its_deadline_is_none(opened: Opener, how: str, log: Log) -> None:
    """R3.9: also if no callback has run in between. Its taker is told, and not the log (R3.13)."""
    pair = Pair(opened)
    continuation = pair.continue_(timeout=0.5)
    block = continuation.__enter__() if how != "wait" else None
    run_until([pair.origin], lambda: pair.receipts)
    assert pair.receipt().outcome == Outcome.FAILED
    if how == "block that fails":
        assert block is not None
        with pytest.raises(ZeroDivisionError), Entered(continuation):
            raise ZeroDivisionError
    elif how == "block":
        with pytest.raises(segue.RemoteApplicationTimedOutError), Entered(continuation):
            pass
    check_lost(pair, continuation, segue.RemoteApplicationTimedOutError)
    for _ in range(10):
        pair.receiver.dispatch(0)
    assert log == []


class Entered:
    """A block that has begun."""

    def __init__(self, continuation: segue.Continuation):
        self._continuation = continuation

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> None:
        self._continuation.__exit__(*raised)


def check_lost(pair: Pair, continuation: segue.Continuation, error: type[segue.Error]) -> None:
    """It has failed, and stays so."""
    for _ in range(2):
        with pytest.raises(error):
            continuation.wait(0)
        assert "failed" in repr(continuation)
        for app in (pair.origin, pair.receiver):
            if "closed" not in repr(app):
                app.dispatch(0)


@pytest.mark.parametrize("how", ["block", "await"])
def test_a_cancel_just_before_the_result_is_taken_under_asyncio(folder: str, how: str) -> None:
    @in_a_loop
    async def test(folder: str) -> None:
        async with notes(folder) as origin, notes(folder) as receiver:
            _, receipt = await offering(origin)
            continuation = receiver.continue_((await first(receiver.offer_events())).offer)
            with pytest.raises(segue.UserCancelledError):
                if how == "block":
                    async with continuation:
                        continuation.cancel()
                else:
                    while not continuation.done:
                        await asyncio.sleep(0.01)  # nobody waits for the result, so nothing tells of it
                    continuation.cancel()
                    await continuation
            assert (await receipt).outcome == Outcome.FAILED
            with pytest.raises(segue.UserCancelledError):
                await continuation

    test(folder)


# ---- handlers whose attempt has ended


ENDS = {
    "deadline": segue.RemoteApplicationTimedOutError,
    "cancel": segue.UserCancelledError,
    "next": segue.UserCancelledError,
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("then", ["ends", "answers", "is answered", "raises"])
def test_an_async_handler_ends_with_its_attempt(folder: str, how: str, then: str, log: Log) -> None:
    """Cancelled, and without a report: whatever it answers then comes too late."""
    reported: list[BaseException] = []

    @in_a_loop
    async def test(folder: str) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
        ended: asyncio.Event = asyncio.Event()

        async def restore(activity: segue.Activity, continuation: segue.Continuation) -> bool:
            try:
                began.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if then == "ends":
                    raise
                if then == "is answered":
                    with pytest.raises(segue.RemoteApplicationTimedOutError):
                        continuation.complete(True)
                if then == "raises":
                    raise LookupError("of its own") from None
            finally:
                ended.set()
            return True

        async with notes(folder) as origin, notes(folder) as receiver:
            offered, _ = await offering(origin)
            receipts: asyncio.Queue[segue.Receipt] = asyncio.Queue()
            offered.on_continuation_ended(receipts.put_nowait)
            began = asyncio.Event()
            receiver.on_continue(restore)
            offer = (await first(receiver.offer_events())).offer
            continuation = receiver.continue_(offer, timeout=0.5 if how == "deadline" else None)
            await began.wait()
            if how == "cancel":
                continuation.cancel()
            elif how == "next":
                receiver.on_continue(lambda activity, continuation: True)
                await receiver.continue_(offer)
            await ended.wait()
            with pytest.raises(ENDS[how]):
                await continuation
            assert (await receipts.get()).outcome == Outcome.FAILED
            while receiver._tasks:  # it has ended, and its task says so in another turn
                await asyncio.sleep(0)

    test(folder)
    assert [str(error) for error in reported] == (["of its own"] if then == "raises" else [])
    assert str(log).count("exception in a callback") == len(reported)


def test_a_future_that_was_to_answer_is_cancelled_with_its_attempt(opened: Opener) -> None:
    answer: concurrent.futures.Future[bool] = concurrent.futures.Future()
    pair = Pair(opened)
    pair.receiver.on_continue(lambda activity, continuation: answer)
    continuation = pair.receiver.continue_(pair.offer, timeout=0.5)
    pair.until(lambda: continuation.done)
    assert answer.cancelled()
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        continuation.wait(0)
    assert pair.receipt().outcome == Outcome.FAILED


@pytest.mark.parametrize("answer", ["complete", "decline", "fail", "cancel"])
def test_an_async_handler_may_answer_by_a_call(folder: str, answer: str, log: Log) -> None:
    """The result comes, as it does from one that is a function."""

    @in_a_loop
    async def test(folder: str) -> None:
        async with notes(folder) as origin, notes(folder) as receiver:
            _, receipt = await offering(origin)

            @receiver.on_continue
            async def restore(activity: segue.Activity, continuation: segue.Continuation) -> None:
                await asyncio.sleep(0)
                if answer == "fail":
                    continuation.fail("no room")
                elif answer == "cancel":
                    continuation.cancel()
                else:
                    continuation.complete(answer == "complete")

            continuation = receiver.continue_((await first(receiver.offer_events())).offer)
            if answer == "fail":
                with pytest.raises(segue.HandoffFailedError, match="no room"):
                    await continuation
            elif answer == "cancel":
                with pytest.raises(segue.UserCancelledError):
                    await continuation
            else:
                assert (await continuation).title == "Shopping list"
            outcome = {"complete": Outcome.RESTORED, "decline": Outcome.DECLINED}.get(answer, Outcome.FAILED)
            assert (await receipt).outcome == outcome

    test(folder)
    assert "exception in a callback" not in str(log)


# ---- a coroutine or a Future whose answer is LATER ----


def gives_later(how: str) -> Any:
    """A Future that gives LATER at once, or one that does so later."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    if how == "at once":
        future.set_result(segue.LATER)
    return future


@pytest.mark.parametrize("how", ["at once", "then"])
@pytest.mark.parametrize("answer", ["handled", "not handled", "failed", "deadline", "closed"])
def test_a_future_that_gives_later_has_not_answered(opened: Opener, how: str, answer: str) -> None:
    """R3.9: a call answers, or the deadline."""
    pair = Pair(opened)
    future = gives_later(how)
    came: list[segue.Activity] = []

    @pair.receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> Any:
        came.append(activity)
        return future

    continuation = pair.receiver.continue_(pair.offer, 1 if answer == "deadline" else None)
    pair.until(lambda: came)
    if how == "then":
        future.set_result(segue.LATER)
    pair.receiver.dispatch(0)
    assert not continuation.done and not pair.receipts
    outcome = Outcome.FAILED
    error: type[segue.Error] | None = None
    if answer == "failed":
        continuation.fail("could not")
        error = segue.HandoffFailedError
    elif answer == "deadline":
        error = segue.RemoteApplicationTimedOutError
    elif answer == "closed":
        pair.receiver.close()
        error = segue.CancelledError
    else:
        continuation.complete(answer == "handled")
        outcome = Outcome.RESTORED if answer == "handled" else Outcome.DECLINED
    while not pair.receipts:
        pair.origin.dispatch(0.01)
        if answer != "closed":
            pair.receiver.dispatch(0.01)
    receipt = pair.receipts.pop()
    assert receipt.outcome == outcome
    if answer == "failed":
        assert receipt.reason == "could not"
    if error is not None:
        with pytest.raises(error):
            continuation.wait(0)
    else:
        assert continuation.wait(0) is came[0]


@in_a_loop
async def test_a_coroutine_that_gives_later_has_not_answered(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        _kept, receipt = await offering(origin)
        begun = asyncio.Event()

        @receiver.on_continue
        async def take(activity: segue.Activity, continuation: segue.Continuation) -> Any:
            begun.set()
            return segue.LATER

        continuation = receiver.continue_((await first(receiver.offer_events())).offer)
        await begun.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not continuation.done
        continuation.fail("could not")
        with pytest.raises(segue.HandoffFailedError):
            await continuation
        assert ((await receipt).outcome, (await receipt).reason) == (Outcome.FAILED, "could not")


@pytest.mark.parametrize("how", ["at once", "then"])
def test_of_another_handler_it_is_an_error(opened: Opener, how: str) -> None:
    """Else a save would count as done, and changes as given up."""
    app = opened(types=[])
    future = gives_later(how)
    answers: list[Any] = []
    app._run_later(future, lambda value, error: answers.append((value, type(error))))
    if how == "then":
        future.set_result(segue.LATER)
    assert answers == [(None, TypeError)]
    with pytest.raises(TypeError, match=r"segue\.LATER is an answer of on_continue"):
        app.dispatch(0)
