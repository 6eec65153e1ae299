# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documents whose opening begins while the on_continue that has answered by a call still runs (R3.5)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import Log
from test_documents import NAME, TEXT, TYPES, Devices, Letter

import segue
from segue import URL, Outcome

if TYPE_CHECKING:
    from segue.testing import Fleet


class Answering(segue.App):
    """Answers "not handled" by a call, and has not ended when the opening has begun."""

    begun: asyncio.Event
    goes_on: asyncio.Event
    then: str
    opens = False
    ended: list[str]
    document: segue.Document | None = None

    async def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
        continuation.complete(False)
        try:
            await (self.goes_on if self.then == "runs" else self.begun).wait()
            if self.then == "raises":
                raise LookupError("of its own")
        except asyncio.CancelledError:
            self.ended.append("continue")
            raise

    async def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        self.begun.set()
        try:
            for _ in range(5):  # until on_continue has ended
                await asyncio.sleep(0)
            if not self.opens:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.ended.append("open")
            raise
        self.document = Letter(self, url, TEXT)
        return self.document


class Scene:
    """A letter at a phone that is continued on a laptop, in a loop."""

    def __init__(self, fleet: Fleet, folder: Path, then: str):
        self.fleet, self.folder, self.then = fleet, folder, then
        self.receipts: list[segue.Receipt] = []
        self.reported: list[BaseException] = []

    async def __aenter__(self) -> Scene:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: self.reported.append(context["exception"])
        )
        phone, laptop = self.fleet.add_device("phone"), self.fleet.add_device("laptop")
        self.origin = phone.add_app("com.example.notes", document_types=TYPES)
        self.reader = Answering("com.example.notes", document_types=TYPES, device=laptop)
        self.reader.begun, self.reader.goes_on = asyncio.Event(), asyncio.Event()
        self.reader.then, self.reader.ended = self.then, []
        await self.reader.__aenter__()
        for app in (self.origin, self.reader):
            app.add_container(NAME, self.folder)
        self.origin.on_continuation_ended(lambda activity, receipt: self.receipts.append(receipt))
        self.letter = Letter(self.origin, self.folder / "letter.txt", TEXT)
        self.origin.main_responder = self.letter
        self.fleet.run()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        self.letter.close()
        await self.reader.__aexit__(None, None, None)

    def continue_(self) -> segue.Continuation:
        return self.reader.continue_(self.reader.offers[0])


@pytest.mark.parametrize("how", ["deadline", "cancel"])
@pytest.mark.parametrize("then", ["returns", "raises", "runs"])
def test_an_opening_ends_with_its_attempt(segue_fleet: Fleet, tmp_path: Path, how: str, then: str) -> None:
    """Whatever becomes of the handler that has answered: it has nothing to say any longer, and runs to its end."""

    async def play() -> None:
        async with Scene(segue_fleet, tmp_path, then) as scene:
            continuation = scene.continue_()
            with pytest.raises(segue.UserCancelledError if how == "cancel" else segue.RemoteApplicationTimedOutError):
                if how == "cancel":
                    await segue_fleet.until(scene.reader.begun.wait())
                    for _ in range(5):  # until on_continue has ended
                        await asyncio.sleep(0)
                    continuation.cancel()
                await segue_fleet.until(continuation)
            segue_fleet.run()
            assert [receipt.outcome for receipt in scene.receipts] == [Outcome.FAILED]
            assert scene.reader.ended == ["open"]
            scene.reader.goes_on.set()
            while scene.reader._tasks:
                await asyncio.sleep(0)
            assert scene.reader.ended == ["open"]
            assert [str(error) for error in scene.reported] == (["of its own"] if then == "raises" else [])

    asyncio.run(asyncio.wait_for(play(), 20))


@pytest.mark.parametrize("then", ["returns", "raises", "runs"])
def test_what_was_answered_by_a_call_counts(segue_fleet: Fleet, tmp_path: Path, then: str, log: Log) -> None:
    """The document is opened, and what the handler raises afterwards is reported, as all that a handler raises."""

    async def play() -> None:
        async with Scene(segue_fleet, tmp_path, then) as scene:
            scene.reader.opens = True
            activity = await segue_fleet.until(scene.continue_())
            assert scene.reader.document is not None
            assert scene.reader.document.user_activity is activity
            segue_fleet.run()
            assert [receipt.outcome for receipt in scene.receipts] == [Outcome.RESTORED]
            scene.reader.goes_on.set()
            while scene.reader._tasks:
                await asyncio.sleep(0)
            assert scene.reader.ended == []
            assert [str(error) for error in scene.reported] == (["of its own"] if then == "raises" else [])
            assert str(log).count("exception in a callback") == len(scene.reported)

    asyncio.run(asyncio.wait_for(play(), 20))


@pytest.mark.parametrize("answer", ["complete", "fail"])
def test_what_a_function_has_answered_by_a_call_counts(segue_fleet: Fleet, tmp_path: Path, answer: str) -> None:
    """Although it raises then, which the call that dispatches raises."""
    devices = Devices(segue_fleet, tmp_path)

    def restore(activity: segue.Activity, continuation: segue.Continuation) -> None:
        if answer == "fail":
            continuation.fail("no room")
        else:
            continuation.complete(False)
        raise LookupError("of its own")

    devices.reader.on_continue(restore)
    devices.letter().line = 3
    with pytest.raises(LookupError, match="of its own"):
        devices.pull()
    segue_fleet.run()
    (receipt,) = devices.receipts
    if answer == "fail":
        assert (receipt.outcome, receipt.reason) == (Outcome.FAILED, "no room")
    else:
        assert receipt.outcome == Outcome.RESTORED
        assert devices.reader.document.line == 3


def test_an_answer_that_came_too_late_leaves_the_last_word_to_what_has_ended_it(
    segue_fleet: Fleet, tmp_path: Path
) -> None:
    devices = Devices(segue_fleet, tmp_path)
    attempts: list[segue.Continuation] = []

    def restore(activity: segue.Activity, continuation: segue.Continuation) -> None:
        attempts.append(continuation)
        continuation.cancel()
        continuation.complete(False)

    devices.reader.on_continue(restore)
    devices.letter()
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        devices.pull()
    segue_fleet.run()
    assert [receipt.outcome for receipt in devices.receipts] == [Outcome.FAILED]
    with pytest.raises(segue.UserCancelledError):
        attempts.pop().wait()
    assert devices.reader.document is None
