# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of continuations: one answer, by the block or by a call inside of it."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from typing import Any

import pytest
from conftest import Log, Opener, run_until
from pair import Pair
from test_asyncio import first, in_a_loop, notes, offering

import segue
from segue import Outcome

ANSWERS = {
    "complete": (Outcome.RESTORED, ""),
    "decline": (Outcome.DECLINED, ""),
    "fail": (Outcome.FAILED, "no room"),
}


def answer(continuation: segue.Continuation, how: str) -> None:
    if how == "fail":
        continuation.fail("no room")
    else:
        continuation.complete(how == "complete")


def check(receipt: segue.Receipt, how: str) -> None:
    outcome, reason = ANSWERS[how]
    assert receipt.outcome == outcome and reason in receipt.reason


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("how", ANSWERS)
def test_what_was_answered_inside_stays_so(opened: Opener, how: str, raises: bool, log: Log) -> None:
    """Leaving the block says nothing of it, and hides no error of the block's."""
    pair = Pair(opened)
    continuation = pair.continue_()
    with pytest.raises(ValueError, match="of the block") if raises else nullcontext(), continuation as activity:
        answer(continuation, how)
        if raises:
            raise ValueError("of the block")
    check(pair.receipt(), how)
    assert continuation.wait(0) is activity
    with pytest.raises(segue.InvalidStateError):
        continuation.complete(True)
    assert log == []


@pytest.mark.parametrize("how", ANSWERS)
def test_what_was_answered_inside_stays_so_under_asyncio(folder: str, how: str) -> None:
    @in_a_loop
    async def test(folder: str) -> None:
        async with notes(folder) as origin, notes(folder) as receiver:
            _, receipt = await offering(origin)
            continuation = receiver.continue_((await first(receiver.offer_events())).offer)
            async with continuation as activity:
                answer(continuation, how)
                assert await continuation is activity
            check(await receipt, how)

    test(folder)


@pytest.mark.parametrize("how", ANSWERS)
def test_what_was_answered_before_it_is_taken_stays_so(opened: Opener, how: str) -> None:
    pair = Pair(opened)
    continuation = pair.continue_()
    answer(continuation, how)
    for _ in range(2):
        assert continuation.wait(0).title == "Shopping list"
    check(pair.receipt(), how)


@pytest.mark.parametrize("raises", [False, True])
def test_inside_a_block_the_block_answers(opened: Opener, raises: bool) -> None:
    """Although the result is taken again."""
    pair = Pair(opened)
    continuation = pair.continue_()
    with suppress(ZeroDivisionError), continuation as activity:
        with continuation:
            assert continuation.wait(0) is activity
        assert not pair.receipts
        if raises:
            raise ZeroDivisionError
    receipt = pair.receipt()
    assert receipt.outcome == (Outcome.FAILED if raises else Outcome.RESTORED)
    assert receipt.reason == ("ZeroDivisionError" if raises else "")


def test_inside_a_block_the_block_answers_under_asyncio(folder: str) -> None:
    @in_a_loop
    async def test(folder: str) -> None:
        async with notes(folder) as origin, notes(folder) as receiver:
            _, receipt = await offering(origin)
            continuation = receiver.continue_((await first(receiver.offer_events())).offer)
            with pytest.raises(ZeroDivisionError):
                async with continuation as activity:
                    for taken in await asyncio.gather(continuation, continuation):
                        assert taken is activity
                    raise ZeroDivisionError
            assert (await receipt).reason == "ZeroDivisionError"

    test(folder)


@pytest.mark.parametrize("how", ANSWERS)
@pytest.mark.parametrize("is_caught", [False, True])
def test_an_answer_inside_that_comes_too_late_says_so(opened: Opener, how: str, is_caught: bool) -> None:
    """R3.9: and so does the block, although no callback has run in between."""
    pair = Pair(opened)
    continuation = pair.continue_(timeout=0.5)
    late: Any = pytest.raises(segue.RemoteApplicationTimedOutError)
    with late, continuation:
        run_until([pair.origin], lambda: pair.receipts)
        with suppress(segue.RemoteApplicationTimedOutError) if is_caught else nullcontext():
            answer(continuation, how)
    assert pair.receipt().outcome == Outcome.FAILED
    for _ in range(2):
        with pytest.raises(segue.RemoteApplicationTimedOutError):
            continuation.wait(0)
        pair.receiver.dispatch(0)


@pytest.mark.parametrize("handled", ["yes", "later"])
def test_a_block_whose_end_would_answer_nothing_does_not_begin(opened: Opener, handled: str) -> None:
    """In an app with on_continue, which answers."""
    pair = Pair(opened)
    attempts: list[segue.Continuation] = []

    @pair.receiver.on_continue
    def restore(activity: segue.Activity, continuation: segue.Continuation) -> Any:
        attempts.append(continuation)
        return segue.LATER if handled == "later" else None

    continuation = pair.receiver.continue_(pair.offer)
    pair.until(lambda: attempts)
    if handled == "later":
        continuation.complete(True)
    pair.until(lambda: continuation.done)
    with pytest.raises(segue.InvalidStateError, match="on_continue"), continuation:
        pytest.fail("it has begun")
    assert pair.receipt().outcome == Outcome.RESTORED
    assert continuation.wait(0).title == "Shopping list"


def test_the_end_of_a_block_that_has_not_begun_is_refused(opened: Opener) -> None:
    """Else the next block would not be the last one to end, and answer."""
    pair = Pair(opened)
    continuation = pair.continue_()
    for _ in range(2):
        with pytest.raises(segue.InvalidStateError, match="no block"):
            continuation.__exit__(None, None, None)
    with continuation:
        assert not pair.receipts
    assert pair.receipt().outcome == Outcome.RESTORED
