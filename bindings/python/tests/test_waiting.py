# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A task or thread that gives up its wait for a result does not disturb the others that wait for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Opener
from test_asyncio import first, in_a_loop, never_saved, notes, offering

import segue
from segue import Outcome


@in_a_loop
async def test_who_gives_up_waiting_for_the_hub_spoils_it_for_nobody(folder: str) -> None:
    async with notes(folder) as app:
        ready = app.ready()
        impatient, patient = asyncio.ensure_future(app.ready()), asyncio.ensure_future(ready)
        again = asyncio.ensure_future(_result(ready))
        await asyncio.sleep(0)
        impatient.cancel()
        again.cancel()
        await patient
        await app.ready()
        await ready
        assert app.ready().done
        assert not ready._waiters


async def _result(pending: segue.Pending[None]) -> None:
    await pending


@in_a_loop
async def test_a_cancelled_wait_for_the_hub_can_be_repeated(folder: str) -> None:
    async with notes(folder) as app:
        ready = app.ready()
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(ready, 0)
            if ready.done:
                break
        await ready


@in_a_loop
async def test_a_continuation_that_two_tasks_await_goes_on_without_one_of_them(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        activity, receipt = await offering(origin)
        saving, may_save = asyncio.Event(), asyncio.Event()

        @activity.on_will_save
        async def save() -> None:
            saving.set()
            await may_save.wait()

        activity.needs_save = True
        event = await first(receiver.offer_events())
        continuation = receiver.continue_(event.offer)

        async def take() -> segue.Activity:
            return await continuation

        tasks = [asyncio.create_task(take()) for _ in range(3)]
        await saving.wait()
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        may_save.set()
        assert await tasks[1] is await tasks[2] is await continuation
        assert (await receipt).outcome == Outcome.RESTORED


@in_a_loop
async def test_what_the_last_one_gave_up_is_an_error_of_ours(folder: str) -> None:
    """asyncio.CancelledError would mean that the task that asks is cancelled."""
    async with notes(folder) as origin, notes(folder) as receiver:
        activity, _ = await offering(origin)
        saving = never_saved(activity)
        event = await first(receiver.offer_events())
        continuation = receiver.continue_(event.offer)

        async def take() -> segue.Activity:
            return await continuation

        task = asyncio.create_task(take())
        await saving.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        activity.on_will_save(lambda: None)
        for _ in range(2):
            with pytest.raises(segue.UserCancelledError):
                await continuation
        reasons = activity.explain()
        reasons.cancel()
        with pytest.raises(segue.UserCancelledError):
            await reasons


def test_a_thread_that_waits_hears_that_another_gave_it_up(opened: Opener) -> None:
    app = opened()
    app.ready().wait(PATIENCE)
    pending: segue.Pending[None] = segue.Pending(app)
    timer = threading.Timer(0.05, pending.cancel)
    timer.start()
    with pytest.raises(segue.UserCancelledError):
        pending.wait(PATIENCE)
    timer.join()


def test_a_thread_waits_though_the_loop_has_ended(folder: str) -> None:
    """It dispatches itself then."""

    async def main() -> tuple[segue.App, segue.App, segue.Continuation]:
        apps = notes(folder), notes(folder)
        for app in apps:
            app.open()
            app.attach()
        origin, receiver = apps
        segue.Activity(origin, TYPE, title="Shopping list").become_current()
        event = await first(receiver.offer_events())
        return origin, receiver, receiver.continue_(event.offer)

    origin, receiver, continuation = asyncio.run(main())
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            origin.dispatch(0.05)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert continuation.wait(PATIENCE).title == "Shopping list"
    finally:
        stop.set()
        thread.join()
    for app in (origin, receiver):
        app.close()


@pytest.mark.parametrize("how", ["stream", "streams", "block"])
def test_a_stream_that_comes_as_its_task_is_cancelled_is_aborted(folder: str, how: str) -> None:
    in_a_loop(lambda folder: _cancelled_as_it_comes(folder, how))(folder)


async def _cancelled_as_it_comes(folder: str, how: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        continued, heard = await _streaming(origin, receiver)
        streams = continued.streams()
        pending = streams._ask()
        streams._ask = lambda: pending

        async def take() -> None:
            if how == "stream":
                await pending
            elif how == "streams":
                await streams
            else:
                async with streams:
                    pass

        task = asyncio.create_task(take())
        _when_done(pending, task.cancel)
        await asyncio.wait([task])
        assert task.cancelled()
        assert isinstance(await heard, segue.StreamAbortedError)
        with pytest.raises(segue.UserCancelledError):
            await pending


@in_a_loop
async def test_a_stream_that_another_task_took_is_not_aborted(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        continued, heard = await _streaming(origin, receiver)
        pending = continued.stream()

        async def take() -> segue.Stream:
            return await pending

        taker, other = asyncio.create_task(take()), asyncio.create_task(take())
        _when_done(pending, other.cancel)
        await asyncio.wait([other])
        assert other.cancelled()
        async with await taker as (_, writer):
            writer.write(b"hello")
        assert await heard == b"hello"


async def _streaming(origin: segue.App, receiver: segue.App) -> tuple[segue.Activity, asyncio.Future[Any]]:
    """A continued activity, and what the origin reads from its stream: all of it, or an error."""
    activity, _ = await offering(origin)
    activity.supports_continuation_streams = True
    heard: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @activity.on_did_receive_stream
    async def serve(stream: segue.Stream) -> None:
        reader, writer = await stream.open_streams()
        try:
            heard.set_result(await reader.read())
        except segue.Error as error:
            heard.set_result(error)
        writer.close()

    offer = (await first(receiver.offer_events())).offer
    return await receiver.continue_(offer), heard


def _when_done(pending: segue.Pending[Any], call: Callable[[], Any]) -> None:
    """Calls that in the turn of the loop in which the result is there, before a task gets it."""
    if pending.done:
        call()
    else:
        asyncio.get_running_loop().call_soon(_when_done, pending, call)


@in_a_loop
async def test_closing_ends_the_wait_for_what_is_answered_later(folder: str) -> None:
    """R3.14: the handler has returned LATER."""
    await _closed_unanswered(folder, lambda: segue.LATER)


@in_a_loop
async def test_closing_ends_the_wait_for_a_handler_that_never_returns(folder: str) -> None:
    await _closed_unanswered(folder, lambda: asyncio.Event().wait())


async def _closed_unanswered(folder: str, answer: Callable[[], Any]) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        _kept, receipt = await offering(origin)
        told = asyncio.Event()

        @receiver.on_continue
        def take(activity: segue.Activity, continuation: segue.Continuation) -> Any:
            told.set()
            return answer()

        offer = (await first(receiver.offer_events())).offer
        waiting = asyncio.ensure_future(_activity(receiver.continue_(offer)))
        await told.wait()
        receiver.close()
        with pytest.raises((segue.CancelledError, asyncio.CancelledError)):
            await asyncio.wait_for(waiting, PATIENCE)
        assert not receiver._continuations and not receiver._answered_later
        assert (await receipt).outcome != Outcome.RESTORED


async def _activity(continuation: segue.Continuation) -> segue.Activity:
    return await continuation


def test_a_thread_that_waits_goes_on_when_the_loop_ends(folder: str) -> None:
    app = notes(folder)
    results: list[object] = []
    pending: segue.Pending[str] = segue.Pending(app)

    def wait() -> None:
        results.append(pending.wait(PATIENCE))

    async def main() -> threading.Thread:
        app.open()
        app.attach()
        await app.ready()
        thread = threading.Thread(target=wait)
        thread.start()
        while pending._waiting == 0:
            await asyncio.sleep(0)
        return thread

    thread = asyncio.run(main())
    while app._turns.holder != thread.ident:  # it has taken over
        time.sleep(0.01)
    pending._end("here")
    thread.join(PATIENCE)
    assert results == ["here"]
    app.close()


def test_an_app_whose_loop_has_ended_can_be_attached_to_the_next_one(folder: str) -> None:
    app = notes(folder)
    app.open()

    async def main() -> None:
        app.attach()
        with pytest.raises(segue.InvalidStateError, match="attached"):
            app.attach()
        await app.ready()

    asyncio.run(main())
    asyncio.run(main())
    app.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda app: app.ready().__await__(),
        lambda app: app.__aenter__(),
        lambda app: app.offer_events().__anext__(),
        lambda app: segue.Stream.open_streams(object.__new__(segue.Stream)),
    ],
)
def test_without_a_loop_of_asyncio_an_error_says_what_is_supported(folder: str, use: Any) -> None:
    """As trio steps a coroutine, and anyio with trio."""
    app = notes(folder)
    with pytest.raises(segue.InvalidStateError, match=r"need asyncio .*trio\.to_thread\.run_sync"):
        use(app).send(None)
    assert not app._opened
    app.open()
    app.close()
