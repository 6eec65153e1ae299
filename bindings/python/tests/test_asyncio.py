# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apps whose callbacks an asyncio loop runs."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import pytest
from conftest import PATIENCE, TYPE, Log

import segue
from segue import OfferEventKind, Outcome

Test = Callable[[str], Coroutine[Any, Any, None]]


def in_a_loop(test: Test) -> Callable[[str], None]:
    @functools.wraps(test)
    def run(folder: str) -> None:
        asyncio.run(asyncio.wait_for(test(folder), PATIENCE))

    return run


def notes(folder: str, **options: Any) -> segue.App:
    return segue.App("com.example.notes", types=[TYPE], runtime_folder=folder, **options)


async def offering(origin: segue.App, **options: Any) -> tuple[segue.Activity, asyncio.Future[segue.Receipt]]:
    """A current activity, and the receipt that it will get."""
    activity = segue.Activity(origin, TYPE, title="Shopping list", user_info={"line": 1}, **options)
    receipt: asyncio.Future[segue.Receipt] = asyncio.get_running_loop().create_future()
    activity.on_continuation_ended(receipt.set_result)
    activity.become_current()
    return activity, receipt


def never_saved(activity: segue.Activity) -> asyncio.Event:
    """Its saving begins, which the event says, and does not end."""
    saving = asyncio.Event()

    @activity.on_will_save
    async def never() -> None:
        saving.set()
        await asyncio.Event().wait()

    activity.needs_save = True
    return saving


async def first(events: AsyncIterator[segue.OfferEvent]) -> segue.OfferEvent:
    return await events.__anext__()


@in_a_loop
async def test_an_app_is_attached_once_it_is_open(folder: str) -> None:
    app = notes(folder)
    with pytest.raises(segue.InvalidStateError, match="not open"):
        app.attach()
    app.open()
    app.attach()
    await app.ready()
    with pytest.raises(segue.InvalidStateError, match="already"):
        app.attach()
    app.close()
    with pytest.raises(segue.InvalidatedError, match="closed"):
        app.attach()


@in_a_loop
async def test_an_app_is_closed_even_if_leaving_it_is_cancelled(folder: str) -> None:
    app = notes(folder)
    started, cancelled, ends = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @app.on_connection
    async def slow(connection: segue.Connection) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            await ends.wait()

    async def use() -> None:
        async with app:
            await started.wait()

    using = asyncio.ensure_future(use())
    await cancelled.wait()
    using.cancel()
    ends.set()
    with pytest.raises(asyncio.CancelledError):
        await using
    assert "closed" in repr(app)


async def offer_of(activity: segue.Activity, app: segue.App) -> segue.Offer:
    """The offer of an activity, as soon as an app sees it."""
    async for event in app.offer_events():
        if event.offer.id == activity.id:
            return event.offer
    raise AssertionError("the app was closed")


@in_a_loop
async def test_an_offer_is_awaited_and_continued(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        _, receipt = await offering(origin)
        async for event in receiver.offer_events():
            assert event.kind == OfferEventKind.APPEARED
            activity = await receiver.continue_(event.offer)
            assert (activity.title, activity.user_info["line"]) == ("Shopping list", 1)
            break
        assert (await receipt).outcome == Outcome.RESTORED


@in_a_loop
async def test_ready_can_be_awaited_by_several(folder: str) -> None:
    async with notes(folder) as app:
        await asyncio.gather(app.ready(), app.ready(), app.ready())
        assert app.connection == segue.Connection.READY
        with pytest.raises(segue.InvalidStateError, match="await"):
            segue.Pending(app).wait(1)


@in_a_loop
async def test_events_tell_what_is_offered_and_what_becomes_of_it(folder: str) -> None:
    """R2.7"""
    async with notes(folder) as origin, notes(folder) as receiver:
        activity, _ = await offering(origin)
        early, late = receiver.offer_events(), receiver.offer_events()
        assert (await first(early)).offer.title == "Shopping list"
        assert await first(late) == (OfferEventKind.APPEARED, receiver.offers[0]), "what is there comes first"
        activity.title = "Groceries"
        for events in (early, late):
            assert [(await first(events)).kind, receiver.offers[0].title] == [OfferEventKind.CHANGED, "Groceries"]
        activity.invalidate()
        for events in (early, late):
            assert (await first(events)).kind == OfferEventKind.GONE
        receiver.close()
        for events in (early, late):
            with pytest.raises(StopAsyncIteration):
                await first(events)


@in_a_loop
async def test_handlers_may_be_coroutines(folder: str) -> None:
    told: list[Any] = []

    class Editing(segue.Activity):
        async def on_will_save(self) -> None:
            await asyncio.sleep(0)
            self.user_info["line"] = 2

        async def on_was_continued(self, receipt: segue.Receipt) -> None:
            told.append(receipt.outcome)

    class Notes(segue.App):
        async def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
            await asyncio.sleep(0)
            told.append(activity.user_info["line"])
            return bool(activity.user_info["handled"])

    receiver = Notes("com.example.notes", types=[TYPE], runtime_folder=folder)
    async with notes(folder) as origin, receiver:
        for handled, outcome in ((True, Outcome.RESTORED), (False, Outcome.DECLINED)):
            activity = Editing(origin, TYPE, user_info={"line": 1, "handled": handled})
            ended = asyncio.get_running_loop().create_future()
            activity.on_continuation_ended(ended.set_result)
            activity.become_current()
            continued = await receiver.continue_(await offer_of(activity, receiver))
            assert continued.user_info["line"] == 2
            assert (await ended).outcome == outcome
        assert told == [2, Outcome.RESTORED, 2]


@in_a_loop
async def test_handlers_may_give_futures_of_threads(folder: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        async with notes(folder) as origin, notes(folder) as receiver:
            activity, receipt = await offering(origin)
            activity.on_will_save(lambda: pool.submit(activity.user_info.update, line=3))
            activity.needs_save = True
            event = await first(receiver.offer_events())
            assert (await receiver.continue_(event.offer)).user_info["line"] == 3
            assert (await receipt).outcome == Outcome.RESTORED


@in_a_loop
async def test_a_block_answers_when_it_is_done(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        _, receipt = await offering(origin)
        event = await first(receiver.offer_events())
        async with receiver.continue_(event.offer) as activity:
            assert activity.title == "Shopping list"
            assert not receipt.done()
        assert (await receipt).outcome == Outcome.RESTORED
        again, receipt = await offering(origin)
        with pytest.raises(ZeroDivisionError):
            async with receiver.continue_(await offer_of(again, receiver)):
                raise ZeroDivisionError
        assert (await receipt).outcome == Outcome.FAILED


@in_a_loop
async def test_cancelling_the_task_cancels_the_continuation(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        activity, _ = await offering(origin)
        saving = never_saved(activity)
        failed: asyncio.Future[segue.Error] = asyncio.get_running_loop().create_future()
        receiver.on_did_fail(lambda type, error, continuation: failed.set_result(error))
        event = await first(receiver.offer_events())

        async def take() -> segue.Activity:
            return await receiver.continue_(event.offer)

        task = asyncio.create_task(take())
        await saving.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(await failed, segue.UserCancelledError)
        activity.on_will_save(lambda: None)


@in_a_loop
async def test_failing_to_continue_raises(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        await offering(origin)
        receiver.on_will_continue(lambda type, continuation: continuation.decline("not now"))
        event = await first(receiver.offer_events())
        with pytest.raises(segue.DeclinedError, match="not now"):
            await receiver.continue_(event.offer)


def test_exceptions_go_to_the_logger_and_the_loop(folder: str, log: Log) -> None:
    reported: list[Any] = []

    async def test() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["exception"]))
        async with notes(folder) as origin, notes(folder) as receiver:
            activity, receipt = await offering(origin)

            @activity.on_was_continued
            async def move(continued: segue.Receipt) -> None:
                raise LookupError("in a coroutine")

            @receiver.on_will_continue
            def begin(type: str, continuation: segue.Continuation) -> None:
                raise LookupError("in a function")

            event = await first(receiver.offer_events())
            assert (await receiver.continue_(event.offer)).title == "Shopping list"
            assert (await receipt).outcome == Outcome.RESTORED

    asyncio.run(asyncio.wait_for(test(), PATIENCE))
    assert {str(error) for error in reported} == {"in a coroutine", "in a function"}
    reported.clear()
    assert "in a coroutine" in str(log)
    assert "in a function" in str(log)


@in_a_loop
async def test_leaving_the_block_ends_what_handlers_do(folder: str) -> None:
    ended: list[str] = []
    began = asyncio.Event()

    class Notes(segue.App):
        async def on_connection(self, connection: segue.Connection) -> None:
            try:
                began.set()
                await asyncio.Event().wait()
            finally:
                ended.append("connection")

    async with Notes("com.example.notes", runtime_folder=folder) as app:
        activity = segue.Activity(app, TYPE)

        @activity.on_will_save
        async def save() -> None:
            await asyncio.sleep(0)
            ended.append("saved")

        activity.become_current()
        await began.wait()
    assert ended[-1] == "saved", "closing saves the current activity (R2.2)"
    assert "connection" in ended


@in_a_loop
async def test_leaving_the_block_waits_for_no_handler_for_ever(folder: str) -> None:
    former, segue.limits.save_ms = segue.limits.save_ms, 100
    ended: list[str] = []
    try:
        async with notes(folder) as app:
            activity = segue.Activity(app, TYPE)

            @activity.on_will_save
            async def save() -> None:
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append("cancelled")

            activity.become_current()
            activity.needs_save = True
        assert ended[-1:] == ["cancelled"]
    finally:
        segue.limits.save_ms = former


@in_a_loop
async def test_callbacks_on_a_thread_of_the_library_reach_the_loop(folder: str) -> None:
    async with notes(folder, delivery="thread") as origin, notes(folder, delivery="thread") as receiver:
        activity = segue.Activity(origin, TYPE, user_info={"line": 1})

        @activity.on_will_save
        async def save() -> None:
            activity.user_info["line"] = 2

        activity.become_current()
        event = await first(receiver.offer_events())
        assert (await receiver.continue_(event.offer)).user_info["line"] == 2


@in_a_loop
async def test_explain_can_be_awaited(folder: str) -> None:
    async with notes(folder) as app:
        reasons = await segue.Activity(app, TYPE).explain()
        assert "not current" in [each.reason for each in reasons]


@in_a_loop
async def test_one_loop_is_enough(folder: str) -> None:
    async with notes(folder) as app:
        with pytest.raises(segue.InvalidStateError):
            app.attach()
