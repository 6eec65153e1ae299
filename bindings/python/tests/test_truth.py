# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both sides are told the same about what a callback does, or raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Log, Opener
from pair import Pair
from test_asyncio import first, in_a_loop, notes, offer_of, offering

import segue
from segue import Outcome


class Mistake(Exception):
    pass


@pytest.fixture
def impatient() -> Iterator[None]:
    """A save that failed is noticed at once."""
    former, segue.limits.save_ms = segue.limits.save_ms, 200
    yield
    segue.limits.save_ms = former


def quietly(pair: Pair, condition: Any) -> list[str]:
    """Runs callbacks until something is so; gives what they raised."""
    raised: list[str] = []
    while not condition():
        try:
            pair.until(condition)
        except Mistake as mistake:
            raised.append(str(mistake))
    return raised


# ---- on_continue ----


def test_an_async_on_continue_that_raises_has_not_continued(folder: str, log: Log) -> None:
    """R3.6"""

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        async with notes(folder) as origin, notes(folder) as receiver:
            _, receipt = await offering(origin)

            @receiver.on_continue
            async def take(activity: segue.Activity, continuation: segue.Continuation) -> None:
                await asyncio.sleep(0)
                raise Mistake("continuing")

            event = await first(receiver.offer_events())
            with pytest.raises(Mistake, match="continuing"):
                await receiver.continue_(event.offer)
            assert (await receipt).outcome == Outcome.FAILED

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert "continuing" in str(log)


def test_an_async_on_continue_that_comes_too_late_is_noticed(folder: str, log: Log) -> None:
    """R3.9: the origin was told that it failed, and so is the receiver; the handler has done nothing wrong."""
    noticed: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: noticed.append(context["exception"]))
        async with notes(folder) as origin, notes(folder) as receiver:
            _, receipt = await offering(origin)
            told = asyncio.Event()

            @receiver.on_continue
            async def take(activity: segue.Activity, continuation: segue.Continuation) -> None:
                await told.wait()

            event = await first(receiver.offer_events())
            continuation = receiver.continue_(event.offer, timeout=0.3)
            assert (await receipt).status == segue.Status.REMOTE_APPLICATION_TIMED_OUT
            told.set()
            with pytest.raises(segue.RemoteApplicationTimedOutError, match="did not answer in time"):
                await continuation

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert noticed == []
    assert "did not answer in time" in str(log)


@in_a_loop
async def test_an_async_on_will_continue_runs(folder: str) -> None:
    """R3.1"""
    async with notes(folder) as origin, notes(folder) as receiver:
        await offering(origin)
        told: list[Any] = []
        done = asyncio.Event()

        @receiver.on_will_continue
        async def begin(type: str, continuation: segue.Continuation) -> bool:
            await asyncio.sleep(0)
            told.append((type, continuation.offer.title))
            done.set()
            return True

        event = await first(receiver.offer_events())
        await receiver.continue_(event.offer)
        await done.wait()
        assert told == [(TYPE, "Shopping list")]


def test_without_a_loop_an_async_on_will_continue_is_an_error(opened: Opener) -> None:
    pair = Pair(opened)

    @pair.receiver.on_will_continue
    async def begin(type: str, continuation: segue.Continuation) -> None:
        raise AssertionError

    continuation = pair.receiver.continue_(pair.offer)
    with pytest.raises(segue.InvalidStateError, match="async with"):
        pair.until(lambda: continuation.done)
    pair.until(lambda: continuation.done)


def test_an_async_restore_state_is_an_error(opened: Opener) -> None:
    """R3.6: what has not run has restored nothing."""
    pair = Pair(opened)

    async def restore(activity: segue.Activity) -> None:
        raise AssertionError

    @pair.receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> None:
        continuation.restore([restore])

    pair.receiver.continue_(pair.offer)
    with pytest.raises(TypeError, match="async"):
        pair.receipt()
    assert pair.receipt().outcome != Outcome.RESTORED


# ---- on_was_continued ----


@pytest.mark.parametrize("raises", [False, True])
def test_a_move_ends_with_its_receipt(opened: Opener, raises: bool) -> None:
    """R3.6: the origin may invalidate when it was continued; every attempt ends in one `continuation_ended`."""
    pair = Pair(opened)
    moved: list[segue.Receipt] = []

    @pair.activity.on_was_continued
    def move(receipt: segue.Receipt) -> None:
        moved.append(receipt)
        pair.activity.invalidate()
        if raises:
            raise Mistake("moving")

    continuation = pair.receiver.continue_(pair.offer)
    raised = quietly(pair, lambda: continuation.done)
    continuation.wait(0)
    raised += quietly(pair, lambda: pair.receipts and pair.receipts[-1].outcome == Outcome.RESTORED)
    assert raised == ["moving"] * raises
    assert moved == pair.receipts[-1:]


def test_a_receipt_comes_once(opened: Opener) -> None:
    """R3.6"""
    pair = Pair(opened)
    told: list[str] = []
    pair.activity.on_was_continued(lambda receipt: told.append("was continued"))
    pair.activity.on_continuation_ended(lambda receipt: told.append("ended"))
    for _ in range(2):
        pair.continue_().wait(0)
        pair.until(lambda: told[-1:] == ["ended"])
        pair.origin.dispatch(0.05)
        assert told == ["was continued", "ended"]
        told.clear()


# ---- on_will_save ----


@pytest.mark.parametrize("kind", ["function", "later"])
def test_a_save_that_raises_has_failed(opened: Opener, impatient: None, kind: str) -> None:
    """R2.4: the last snapshot is handed over, and both sides hear that it is stale."""
    from concurrent.futures import Future

    pair = Pair(opened)
    pair.continue_().wait(0)
    assert not pair.receipt().stale

    @pair.activity.on_will_save
    def save() -> Any:
        pair.activity.user_info["line"] = 2
        if kind == "function":
            raise Mistake("saving")
        later: Future[None] = Future()
        later.set_exception(Mistake("saving"))
        return later

    pair.activity.user_info["line"] = 3
    pair.activity.needs_save = True
    continuation = pair.receiver.continue_(pair.offer)
    raised = quietly(pair, lambda: continuation.done)
    assert raised == ["saving"]
    continued = continuation.wait(0)
    assert continued.user_info["line"] == 1
    assert continued.continued_from is not None
    assert continued.continued_from.stale
    assert continued.continued_from.stale_reason == "the origin could not save: Mistake: saving"
    receipt = pair.receipt()
    assert (receipt.outcome, receipt.stale, receipt.reason) == (
        Outcome.RESTORED,
        True,
        "the origin could not save: Mistake: saving",
    )
    assert pair.activity.needs_save

    # The next one that works is as good as ever.
    pair.activity.on_will_save(lambda: None)
    assert pair.continue_().wait(0).user_info["line"] == 2
    assert not pair.receipt().stale


def test_a_first_save_that_raises_leaves_nothing_to_continue(opened: Opener, impatient: None) -> None:
    """R2.4"""
    pair = Pair(opened)

    @pair.activity.on_will_save
    def save() -> None:
        raise Mistake("saving")

    pair.activity.needs_save = True
    continuation = pair.receiver.continue_(pair.offer)
    assert quietly(pair, lambda: continuation.done) == ["saving"]
    with pytest.raises(segue.HandoffFailedError, match="the origin could not save: Mistake: saving"):
        continuation.wait(0)
    receipt = pair.receipt()
    assert (receipt.outcome, receipt.reason) == (Outcome.FAILED, "the origin could not save: Mistake: saving")
    assert pair.activity.needs_save
    pair.activity.on_will_save(lambda: None)


class Untold(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (lambda: ValueError(), "ValueError"),
        (lambda: KeyError("line"), "KeyError: 'line'"),
        (lambda: Untold(), "Untold"),
        (lambda: ValueError("\ud800 half"), "ValueError: ? half"),
        (lambda: ValueError("one\ntwo\x1b[2J\u202ethree"), "ValueError: one two [2J three"),
        (lambda: ValueError("\u00e9" * 200), "ValueError: " + "\u00e9" * 121),
    ],
)
def test_the_text_of_a_save_that_raises_is_one_line_and_bounded(
    opened: Opener, impatient: None, raised: Callable[[], Exception], reason: str
) -> None:
    """R2.4: of 255 bytes the whole characters count; the reader sees no control character."""
    pair = Pair(opened)

    @pair.activity.on_will_save
    def save() -> None:
        raise raised()

    pair.activity.needs_save = True
    continuation = pair.receiver.continue_(pair.offer)
    while not continuation.done:
        with suppress(ValueError, KeyError, Untold):
            pair.until(lambda: continuation.done)
    with pytest.raises(segue.HandoffFailedError) as told:
        continuation.wait(0)
    assert told.value.message == f"the origin could not save: {reason}"
    assert pair.receipt().reason == f"the origin could not save: {reason}"
    pair.activity.on_will_save(lambda: None)


def test_an_async_save_that_raises_has_failed(folder: str, impatient: None, log: Log) -> None:
    """R2.4"""

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        async with notes(folder) as origin, notes(folder) as receiver:
            activity, receipt = await offering(origin)
            await receiver.continue_(await offer_of(activity, receiver))
            await receipt

            @activity.on_will_save
            async def save() -> None:
                await asyncio.sleep(0)
                raise Mistake("saving")

            again: asyncio.Future[segue.Receipt] = asyncio.get_running_loop().create_future()
            activity.on_continuation_ended(again.set_result)
            activity.needs_save = True
            continued = await receiver.continue_(await offer_of(activity, receiver))
            assert continued.continued_from is not None
            assert continued.continued_from.stale
            assert continued.continued_from.stale_reason == "the origin could not save: Mistake: saving"
            assert (await again).stale
            assert activity.needs_save

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert "saving" in str(log)
