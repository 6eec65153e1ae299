# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documents whose handlers fail, are no functions, or go, and what a document is called (R5.1, R3.5)."""

from __future__ import annotations

import concurrent.futures
import gc
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE, Log
from test_documents import NAME, TEXT, Devices, Letter, Window

import segue
from segue import DOCUMENT_URL_KEY, URL
from segue._native import library

if TYPE_CHECKING:
    from segue.testing import Fleet


class Asked(segue.App):
    """Opens documents as a function does, which gets the continuation."""

    opening: Any = None
    document: segue.Document | None = None

    def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        return self.opening(url, continuation)


@pytest.fixture
def devices(segue_fleet: Fleet, tmp_path: Path) -> Devices:
    return Devices(segue_fleet, tmp_path)


@pytest.fixture
def asked(segue_fleet: Fleet, tmp_path: Path) -> Devices:
    return Devices(segue_fleet, tmp_path, Asked)


# ---- what handlers must not be able to hide ----


@pytest.mark.parametrize("how", ["async def", "generator"])
@pytest.mark.parametrize("where", ["document", "window"])
def test_a_restoration_that_cannot_count_has_failed(devices: Devices, how: str, where: str) -> None:
    """R3.5, R3.6: nothing of it has run, so the origin does not hear that it was restored."""

    async def later(activity: segue.Activity) -> bool:
        return True

    def generated(activity: segue.Activity) -> Iterator[bool]:
        yield True

    class Wrong(segue.Document if where == "document" else Window):  # type: ignore[misc]
        def restore_user_activity_state(self, activity: segue.Activity) -> Any:
            return later(activity) if how == "async def" else generated(activity)

    devices.letter()
    if where == "document":
        devices.reader.document = Wrong(devices.reader, devices.there / "letter.txt", TEXT)
        devices.reader.answer = devices.reader.document
    else:
        devices.reader.on_continue(lambda activity, continuation: continuation.restore([Wrong("window")]))
    with pytest.raises(TypeError, match="cannot be async" if how == "async def" else "generated has a yield"):
        devices.pull()
    devices.fleet.run()
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.FAILED]


@pytest.mark.parametrize("name", ["on_was_continued", "on_continuation_ended", "on_will_save"])
@pytest.mark.parametrize("moved", [False, True])
def test_handlers_of_its_activity_stay_with_a_document(
    devices: Devices, tmp_path: Path, name: str, moved: bool
) -> None:
    """R5.1: also of the activity that it has got when it came back into its container."""
    called: list[str] = []

    class Moved(Letter):
        def user_activity_changed(self, old: segue.Activity | None, new: segue.Activity | None) -> None:
            if new is not None:
                getattr(new, name)(lambda *arguments: called.append(name))

    document = devices.letter(Moved if moved else Letter)
    if moved:
        for place in (tmp_path, devices.here):
            document.set_url(place / "letter.txt")
            devices.fleet.run()
    else:
        getattr(document.user_activity, name)(lambda *arguments: called.append(name))
    gc.collect()
    devices.pull().wait()
    devices.fleet.run()
    assert called == [name]
    document.close()
    assert document.user_activity is None


@pytest.mark.parametrize("text", ["é" * 300, "\udcff", "\0\n\x1b[0m"], ids=["long", "surrogate", "control"])
@pytest.mark.parametrize("kind", [OSError, type("é" * 300, (Exception,), {})], ids=["short", "long name"])
def test_whatever_it_raises_the_opening_has_failed(devices: Devices, text: str, kind: type[Exception]) -> None:
    """R3.5: at once, and the origin sees the kind of the error, not its text."""
    later: concurrent.futures.Future[Any] = concurrent.futures.Future()
    devices.reader.answer = later
    devices.letter()
    continuation = devices.pull()
    later.set_exception(kind(text))
    with pytest.raises(kind):
        devices.fleet.run()
    devices.fleet.run()
    assert continuation.done
    assert [(receipt.outcome, receipt.reason) for receipt in devices.receipts] == [
        (segue.Outcome.FAILED, kind.__name__[:127])
    ]


@pytest.mark.parametrize(
    "wrong, said",
    [
        (3, r"document of on_open_document is int, not Document"),
        (segue.LATER, r"segue\.LATER is an answer of on_continue"),
        (Letter.__new__(Letter), r"needs Document\.__init__"),
    ],
    ids=["int", "LATER", "half made"],
)
def test_what_is_no_document_is_an_error_also_later(devices: Devices, wrong: Any, said: str) -> None:
    """As at once: dispatch raises it, and it was only in the log for debugging."""
    later: concurrent.futures.Future[Any] = concurrent.futures.Future()
    devices.reader.answer = later
    devices.letter()
    continuation = devices.pull()
    later.set_result(wrong)
    with pytest.raises((TypeError, segue.InvalidatedError), match=said):
        devices.fleet.run()
    devices.fleet.run()
    with pytest.raises((TypeError, segue.InvalidatedError), match=said):
        continuation.wait(0)
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.FAILED]


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_future_of_a_document_is_cancelled_with_its_attempt(devices: Devices, how: str) -> None:
    """R3.5: its document comes too late."""
    later: concurrent.futures.Future[Any] = concurrent.futures.Future()
    devices.reader.answer = later
    devices.letter()
    continuation = devices.pull()
    if how == "cancel":
        continuation.cancel()
    else:
        devices.fleet.advance(segue.limits.continuation_ms / 1000 + 1)
    devices.fleet.run()
    assert continuation.done and later.cancelled()
    with pytest.raises(segue.UserCancelledError if how == "cancel" else segue.RemoteApplicationTimedOutError):
        continuation.wait()
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.FAILED]


@pytest.mark.parametrize("reason", [b"\xc3\xa9" * 128, b"\xff" * 200, b"x" * 70_000], ids=["cut", "no UTF-8", "huge"])
@pytest.mark.parametrize("how", ["fail", "complete_opening", "decline"])
def test_a_failure_is_told_whatever_its_reason(asked: Devices, reason: bytes, how: str) -> None:
    """R3.7, R3.10: its text is cut, to whole characters."""

    def tell(continuation: segue.Continuation) -> None:
        given = (continuation._handle, None) if how == "complete_opening" else (continuation._handle,)
        getattr(library, f"segue_continuation_{how}")(*given, reason, len(reason))

    reader = asked.reader
    if how == "fail":
        reader.on_continue(lambda activity, continuation: tell(continuation))
    elif how == "decline":
        reader.on_will_continue(lambda type, continuation: tell(continuation))
    reader.opening = lambda url, continuation: tell(continuation)
    asked.letter()
    asked.pull()
    asked.fleet.run()
    (receipt,) = asked.receipts
    assert receipt.outcome == (segue.Outcome.DECLINED if how == "decline" else segue.Outcome.FAILED)
    told = reason.decode("utf-8", "replace").encode()[:255].decode("utf-8", "ignore")
    assert receipt.reason == told and len(told.encode()) > 250


def test_a_cancel_while_the_document_opens_is_what_ends_it(asked: Devices) -> None:
    """R3.2, R3.5: wait() and on_did_fail say the same."""
    failures: list[segue.Error] = []
    asked.reader.on_did_fail(lambda type, error, continuation: failures.append(error))

    def cancelled(url: URL, continuation: segue.Continuation) -> segue.Document:
        continuation.cancel()
        made: segue.Document = Letter(asked.reader, url, TEXT)
        asked.reader.document = made
        return made

    asked.reader.opening = cancelled
    asked.letter()
    continuation = asked.pull()
    with pytest.raises(segue.UserCancelledError):
        continuation.wait()
    assert [type(failure) for failure in failures] == [segue.UserCancelledError]


# ---- what a document is called ----


def test_the_title_is_the_name_of_the_file(devices: Devices) -> None:
    """R5.1: until the app sets one; it follows a rename."""
    document = devices.letter()
    activity = document.user_activity
    assert activity.title == "letter.txt"
    document.set_url(devices.here / "sub" / "r\u00e9sum\u00e9 100%.txt")
    assert activity.title == "r\u00e9sum\u00e9 100%.txt"
    document.set_url(devices.here)
    assert activity.title is None, "the folder itself"
    document.set_url(devices.here / "again")
    assert activity.title is None, "the app may have taken it away"
    folder = segue.Document(devices.origin, devices.url(devices.here, "folder/"), TEXT)
    assert folder.user_activity is not None and folder.user_activity.title == "folder"
    activity.title = "My letter"
    document.set_url(devices.here / "b.txt")
    assert activity.title == "My letter"
    long = segue.Document(devices.origin, devices.url(devices.here, "a" * 1025), TEXT)
    assert long.user_activity is not None and long.user_activity.title is None


def test_a_path_as_text_and_what_is_no_absolute_url(devices: Devices) -> None:
    """R5.1"""
    document = segue.Document(devices.origin, str(devices.here / "a b.txt"), TEXT)
    assert document.user_activity is not None
    assert document.user_activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here, "a b.txt")
    for url in ("file:relative", "file:", "file:?x"):
        with pytest.raises(segue.InvalidURLError, match="absolute file: URL"):
            document.set_url(url)


@pytest.fixture
def verbose(log: Log) -> Iterator[Log]:
    """The log, with lines of level info."""
    logger = logging.getLogger("segue")
    former = logger.level
    logger.setLevel(logging.INFO)  # an app that is made sets the library's
    yield log
    logger.setLevel(former)


def test_the_log_says_why_a_document_has_no_activity(verbose: Log, devices: Devices, tmp_path: Path) -> None:
    """R5.1"""
    segue.Document(devices.origin, tmp_path / "a.txt", TEXT)
    segue.Document(devices.origin, devices.here / "b.txt", "text/PLAIN")
    said = [line for _, line in verbose if line.startswith("document:")]
    assert len(said) == 2
    assert "in no container" in said[0] and "/a.txt" in said[0]
    assert "no document type" in said[1] and "/b.txt" in said[1]


# ---- what cannot be opened at all (R3.2, R3.5) ----

OTHER = "com.example.notes.other"
UNOPENED = {
    "no container": "its document is in no container of this app",
    "no document type": "no document type of this app has its type",
    "no open_document": "this app has no open_document",
    "no document": "it names no document to open",
}


class Plain(segue.App):
    """Has no on_open_document."""


class Refusing(Plain):
    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        return False


class RefusingLater(Plain):
    async def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        return False


class Failing:
    """A receiver that cannot open what the origin offers, and what both are told."""

    def __init__(self, fleet: Fleet, folder: Path, why: str, *kinds: type[segue.App]):
        class Receiver(*kinds):  # type: ignore[misc]
            """An app of these."""

        if why != "no open_document":
            Receiver.on_open_document = lambda self, url, activity, continuation: pytest.fail("it was asked")
        documents = [(TEXT, "editor", TYPE)]
        self.fleet, self.why = fleet, UNOPENED[why]
        self.origin = fleet.add_device("phone").add_app("com.example.notes", types=[TYPE], document_types=documents)
        self.reader: Any = fleet.add_device("laptop").add_app(
            "com.example.notes",
            Receiver,
            types=[TYPE],
            document_types=[(TEXT, "editor", OTHER)] if why == "no document type" else documents,
        )
        self.origin.add_container(NAME, folder)
        if why != "no container":
            self.reader.add_container(NAME, folder)
        if why == "no document":
            self.activity = segue.Activity(self.origin, TYPE)
            self.activity.become_current()
        else:
            self.document = segue.Document(self.origin, folder / "letter.txt", TEXT)
            self.origin.main_responder = self.document
        self.receipts: list[segue.Receipt] = []
        self.failures: list[segue.Error] = []
        self.announced = 0
        self.origin.on_continuation_ended(lambda activity, receipt: self.receipts.append(receipt))
        self.reader.on_will_continue(self.announce)

    def announce(self, type: str, continuation: segue.Continuation) -> None:
        self.announced += 1

    def hear_failures(self) -> None:
        self.reader.on_did_fail(lambda type, error, continuation: self.failures.append(error))

    def pull(self) -> segue.Continuation:
        self.fleet.run()
        continuation: segue.Continuation = self.reader.continue_(self.reader.offers[0])
        self.fleet.run()
        assert self.announced == 1
        return continuation

    def check_receipt(self) -> None:
        (receipt,) = self.receipts
        assert receipt.outcome == segue.Outcome.FAILED and self.why in receipt.reason
        assert receipt.status == segue.Status.HANDOFF_FAILED


@pytest.mark.parametrize("hears", [True, False], ids=["on_did_fail", "log"])
@pytest.mark.parametrize("why", ["no container", "no document type", "no document"])
def test_without_on_continue_what_cannot_be_opened_fails(
    segue_fleet: Fleet, tmp_path: Path, log: Log, why: str, hears: bool
) -> None:
    """R3.5: nothing has taken the activity, so that no outcome says so; on_did_fail, or the log, has the reason."""
    scene = Failing(segue_fleet, tmp_path, why, Plain)
    if hears:
        scene.hear_failures()
    continuation = scene.pull()
    scene.check_receipt()
    if hears:
        assert [scene.why in str(failure) for failure in scene.failures] == [True]
    else:
        assert [line for level, line in log if level == logging.ERROR and scene.why in line]
    with pytest.raises(segue.HandoffFailedError, match=scene.why):
        continuation.wait()


@pytest.mark.parametrize("why", ["no container", "no document type", "no open_document"])
def test_after_not_handled_what_cannot_be_opened_is_no_did_fail(
    segue_fleet: Fleet, tmp_path: Path, log: Log, why: str
) -> None:
    """R3.2, R3.5: the result of the continuation, the log and the receipt have the error."""
    scene = Failing(segue_fleet, tmp_path, why, Refusing)
    scene.hear_failures()
    continuation = scene.pull()
    scene.check_receipt()
    assert not scene.failures
    assert [line for level, line in log if level == logging.ERROR and scene.why in line]
    with pytest.raises(segue.HandoffFailedError, match=scene.why):
        continuation.wait()


def test_an_app_with_documents_declines_what_names_none(segue_fleet: Fleet, tmp_path: Path, log: Log) -> None:
    """R3.4, R3.5: "not handled" is then all that there is to say."""
    scene = Failing(segue_fleet, tmp_path, "no document", Refusing)
    scene.hear_failures()
    scene.pull().wait()
    assert [receipt.outcome for receipt in scene.receipts] == [segue.Outcome.DECLINED]
    assert not scene.failures and not log


@pytest.mark.parametrize("hears", [True, False], ids=["did_fail", "log"])
@pytest.mark.parametrize("why", list(UNOPENED))
def test_a_c_app_without_continue_hears_of_each_failure(
    segue_fleet: Fleet, tmp_path: Path, log: Log, why: str, hears: bool
) -> None:
    """R3.5, R3.13: will_continue has an end, and neither the activity nor a handle of it is left."""
    from segue import _native, _table

    heard: list[str] = []

    def announce(*_: Any) -> None:
        scene.announced += 1

    def asked(*_: Any) -> int:
        heard.append("open_document")
        return 0

    did_fail = _table.DID_FAIL(lambda _, app, type, length, *rest: heard.append(_native.read_text(type, length)))
    open_document = _table.OPEN_DOCUMENT(asked)
    will_continue = _table.WILL_CONTINUE(announce)
    scene = Failing(segue_fleet, tmp_path, why, Plain)
    delegate = _native.created(library.segue_app_delegate_create, None, _table.DESTROY())
    library.segue_app_delegate_on_will_continue(delegate, will_continue)
    if hears:
        library.segue_app_delegate_on_did_fail(delegate, did_fail)
    if why != "no open_document":
        library.segue_app_delegate_on_open_document(delegate, open_document)
    library.segue_app_set_delegate(scene.reader._handle, delegate)
    scene.pull()
    scene.check_receipt()
    assert heard == ([TYPE] if hears else [])
    assert hears or [line for level, line in log if level == logging.ERROR and scene.why in line]
    offered = scene.origin.current_activity
    assert offered is not None
    with pytest.raises(segue.NotFoundError):
        offered.resume_back().wait()
    library.segue_app_set_delegate(scene.reader._handle, None)
    library.segue_release(delegate)
