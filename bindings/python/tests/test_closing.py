# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apps that are closed while an async handler has not answered: both sides learn that, as of `segue.LATER` (R3.14)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from conftest import TYPE
from test_asyncio import first, in_a_loop, notes, offering

import segue
from segue import Outcome, Status

CLOSED = "the app was closed"


class Waiting:
    """A handler that answers only if it is cancelled by its own hand."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.task: asyncio.Task[Any] | None = None

    async def __call__(self, *_: Any) -> Any:
        self.task = asyncio.current_task()
        self.began.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("how", ["coroutine", "later"])
def test_a_receiver_that_has_not_answered(folder: str, how: str) -> None:
    @in_a_loop
    async def test(folder: str) -> None:
        async with notes(folder) as origin:
            _, receipt = await offering(origin)
            async with notes(folder) as receiver:
                handler, began = Waiting(), asyncio.Event()

                def later(activity: segue.Activity, continuation: segue.Continuation) -> Any:
                    began.set()
                    return segue.LATER

                receiver.on_continue(handler if how == "coroutine" else later)
                continuation = receiver.continue_((await first(receiver.offer_events())).offer)
                await (handler.began if how == "coroutine" else began).wait()
            with pytest.raises(segue.CancelledError, match=CLOSED):
                await continuation
            ended = await receipt
            assert (ended.outcome, ended.status, ended.reason) == (Outcome.FAILED, Status.CANCELLED, CLOSED)

    test(folder)


@in_a_loop
async def test_a_receiver_that_has_not_opened_the_document(folder: str) -> None:
    files: dict[str, Any] = {"document_types": [("text/plain", "editor", TYPE)], "runtime_folder": folder}
    async with segue.App("com.example.notes", **files) as origin:
        origin.add_container("files", folder)
        letter = segue.Document(origin, Path(folder) / "letter.txt", "text/plain")
        receipt: asyncio.Future[segue.Receipt] = asyncio.get_running_loop().create_future()
        origin.on_continuation_ended(lambda activity, told: receipt.set_result(told))
        origin.main_responder = letter
        async with segue.App("com.example.notes", **files) as receiver:
            receiver.add_container("files", folder)
            handler = Waiting()
            receiver.on_open_document(handler)
            continuation = receiver.continue_((await first(receiver.offer_events())).offer)
            await handler.began.wait()
        with pytest.raises(segue.CancelledError, match=CLOSED):
            await continuation
        ended = await receipt
        assert (ended.outcome, ended.status, ended.reason) == (Outcome.FAILED, Status.CANCELLED, CLOSED)
        letter.close()


@in_a_loop
async def test_an_origin_that_has_not_saved(folder: str) -> None:
    """The save is not up to date either, as it would be if its handle were released."""
    async with notes(folder) as receiver:
        await receiver.ready()
        async with notes(folder) as origin:
            activity, receipt = await offering(origin)
            handler = Waiting()
            activity.on_will_save(handler)
            activity.needs_save = True
            continuation = receiver.continue_((await first(receiver.offer_events())).offer)
            await handler.began.wait()
        with pytest.raises(segue.HandoffFailedError, match="the other app was closed"):
            await continuation
        ended = await receipt
        assert (ended.outcome, ended.status, ended.reason) == (Outcome.FAILED, Status.CANCELLED, CLOSED)


@in_a_loop
async def test_an_origin_that_has_not_answered_a_request(folder: str) -> None:
    async with notes(folder) as receiver:
        await receiver.ready()
        async with notes(folder) as origin:
            activity, _ = await offering(origin)
            handler = Waiting()
            activity.on_request(handler)
            continued = await receiver.continue_((await first(receiver.offer_events())).offer)
            asked = continued.request(b"1")
            await handler.began.wait()
        with pytest.raises(segue.ConnectionUnavailableError, match="was closed"):
            await asked


@in_a_loop
async def test_a_handler_that_the_program_cancels_has_failed(folder: str) -> None:
    async with notes(folder) as origin, notes(folder) as receiver:
        _, receipt = await offering(origin)
        handler = Waiting()
        receiver.on_continue(handler)
        continuation = receiver.continue_((await first(receiver.offer_events())).offer)
        await handler.began.wait()
        assert handler.task is not None
        handler.task.cancel()
        with pytest.raises(segue.CancelledError, match="the handler was cancelled"):
            await continuation
        ended = await receipt
        assert (ended.outcome, ended.status, ended.reason) == (
            Outcome.FAILED,
            Status.HANDOFF_FAILED,
            "CancelledError",
        )
