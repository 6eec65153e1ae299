# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes in callbacks are found early: by a type checker, or when the class is made or the function given."""

from __future__ import annotations

import functools
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from conftest import ROOT, TYPE, Opener

import segue

PACKAGE = ROOT / "bindings" / "python"

# Each line with "# wrong" must be an error of mypy, and no other line.
SAMPLE = """
from __future__ import annotations

import asyncio
from typing import Any

import segue
from segue import App, Activity, Continuation, Connection, Error, Offer, OfferEventKind, Receipt, Stream


class Good(App):
    def on_offer(self, kind: OfferEventKind, offer: Offer) -> None: ...
    def on_connection(self, connection: Connection) -> None: ...
    def on_will_continue(self, type: str, continuation: Continuation) -> bool:
        return True
    async def on_continue(self, activity: Activity, continuation: Continuation) -> bool:
        return True
    def on_did_fail(self, type: str, error: Error, continuation: Continuation) -> None: ...
    def on_was_continued(self, activity: Activity, receipt: Receipt) -> None: ...
    def on_request(self, activity: Activity, data: bytes) -> bytes:
        return data


class GoodActivity(Activity):
    def on_will_save(self) -> None: ...
    async def on_was_continued(self, receipt: Receipt) -> None: ...
    def on_continuation_ended(self, receipt: Receipt, more: int = 0) -> None: ...
    async def on_did_receive_stream(self, stream: Stream) -> None: ...
    def on_request(self, data: bytes) -> asyncio.Future[bytes]: ...  # type: ignore[empty-body]


class Bad(App):
    def on_offer(self, offer: Offer) -> None: ...  # wrong
    def on_connection(self) -> None: ...  # wrong
    def on_will_continue(self, type: str) -> None: ...  # wrong
    async def on_continue(self, activity: Activity) -> None: ...  # wrong
    def on_did_fail(self, error: Error) -> None: ...  # wrong
    def on_will_save(self) -> None: ...  # wrong
    def on_request(self, data: bytes) -> bytes: return data  # wrong


class BadActivity(Activity):
    def on_will_save(self, more: int) -> None: ...  # wrong
    def on_was_continued(self) -> None: ...  # wrong
    def on_continuation_ended(self, one: Receipt, two: Receipt) -> None: ...  # wrong
    def on_did_receive_stream(self, activity: Activity, stream: Stream) -> None: ...  # wrong
    def on_request(self) -> bytes: return b""  # wrong


app = App("com.example.notes")
activity = Activity(app, "com.example.notes.editing")
receipts: list[Receipt] = []
activity.on_was_continued(receipts.append)
activity.on_request(lambda data: data)


@app.on_offer
def offered(kind: OfferEventKind, offer: Offer) -> None: ...


@app.on_continue
async def take(activity: Activity, continuation: Continuation) -> bool:
    return True


@activity.on_will_save
def save() -> None: ...


@app.on_offer  # wrong
def offered_badly(offer: Offer) -> None: ...


@app.on_continue  # wrong
async def take_badly(activity: Activity) -> None: ...


@activity.on_was_continued  # wrong
def move_badly() -> None: ...


activity.on_request(lambda: b"")  # wrong
app.on_connection(receipts.append)  # wrong
"""


def test_a_type_checker_finds_wrong_callbacks(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file=", str(file)],
        cwd=PACKAGE,
        env={"PATH": "/usr/bin:/bin", "MYPYPATH": str(PACKAGE / "src"), "MYPY_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    # The error of a decorated function has the line of the decorator, or that of the function.
    wrong = {number for number, line in enumerate(SAMPLE.splitlines(), 1) if "# wrong" in line}
    assert {number if number in wrong else number - 1 for number in found} == wrong, done.stdout + done.stderr


def test_a_method_of_a_wrong_arity_is_found_when_its_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"on_offer is called with \(kind, offer\)"):

        class Notes(segue.App):
            def on_offer(self, offer: segue.Offer) -> None:  # type: ignore[override]
                pass

    with pytest.raises(TypeError, match=r"on_will_save is called with \(\)"):

        class Editing(segue.Activity):
            def on_will_save(self, more: int) -> None:  # type: ignore[override]
                pass


def test_a_function_of_a_wrong_arity_is_found_when_it_is_given() -> None:
    app, activity = segue.App("com.example.notes"), segue.Activity(None, TYPE)
    wrong: list[tuple[Any, Any]] = [
        (app.on_offer, lambda offer: None),
        (app.on_continue, lambda *, activity, continuation: None),
        (app.on_will_save, lambda: None),
        (activity.on_will_save, lambda more: None),
        (activity.on_request, functools.partial(lambda data, more: data, b"", b"")),
        (activity.on_request, dict.get),
    ]
    for register, handler in wrong:
        with pytest.raises(TypeError, match="is called with"):
            register(handler)
    assert not app._handlers
    assert not activity._handlers


def test_whatever_can_be_called_so_is_taken() -> None:
    activity = segue.Activity(None, TYPE)
    taken: list[Any] = [[].append, Mock(), print, lambda *all: None, lambda data=b"": data, functools.partial(max, b"")]
    for handler in taken:
        assert activity.on_request(handler) is handler


def test_a_handler_can_be_assigned_and_taken_away() -> None:
    activity = segue.Activity(None, TYPE)
    activity.on_will_save = print  # type: ignore[method-assign]
    assert activity._handler("on_will_save") is print
    with pytest.raises(TypeError):
        activity.on_will_save = 5  # type: ignore[method-assign, assignment]
    activity.on_will_save = None  # type: ignore[method-assign, assignment]
    assert activity._handler("on_will_save") is None


def test_an_unknown_callback_warns(opened: Opener, folder: str) -> None:
    with pytest.warns(UserWarning, match="Notes has no callback on_ofer; did you mean on_offer"):

        class Notes(segue.App):
            def on_ofer(self, kind: int, offer: segue.Offer) -> None:
                pass

    with pytest.warns(UserWarning, match="Editing has no callback on_was_restored"):

        class Editing(segue.Activity):
            def on_was_restored(self) -> None:
                pass

    class Note(segue.Activity):
        pass

    class Reader(segue.App):
        pass

    activity = Note(opened(), TYPE)
    activity.on_wil_save = print  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="did you mean on_will_save"):
        activity.become_current()
    app = Reader("com.example.notes", runtime_folder=folder)
    app.on_ofer = print  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="did you mean on_offer"), app:
        pass
    with pytest.raises(AttributeError):
        activity.on_wil_svae(print)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        segue.App("com.example.notes", on_offer=print)  # type: ignore[call-arg]


def test_what_is_right_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Notes(segue.App):
            def on_offer(self, *all: Any) -> None:
                pass

            def once(self) -> None:
                pass

        class More(Notes):
            pass

        More("com.example.notes")


def test_a_callback_that_its_class_has_can_still_be_given_to_one_object() -> None:
    """`@app.on_connection` must not call the method of that name."""
    called: list[Any] = []

    class Notes(segue.App):
        def on_connection(self, connection: segue.Connection) -> None:
            called.append(connection)

        async def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
            """Its documentation."""
            return True

    class More(Notes):
        def on_connection(self, connection: segue.Connection) -> None:
            super().on_connection(connection)
            called.append("more")

    app: Any = More("com.example.notes")
    other: Any = More("com.example.notes")

    def connected(connection: segue.Connection) -> None:
        pass

    def take(activity: segue.Activity, continuation: segue.Continuation) -> bool:
        return False

    assert (app.on_connection(connected), app.on_continue(take)) == (connected, take)
    assert called == []
    assert (app._handler("on_connection"), app._handler("on_continue")) == (connected, take)
    with pytest.raises(TypeError, match="on_connection is called with"):
        app.on_connection(lambda: None)
    other.on_connection(segue.Connection.READY)
    assert called == [segue.Connection.READY, "more"]
    handler = other._handler("on_connection")
    assert handler is not None
    handler(segue.Connection.SEARCHING)
    assert called[2:] == [segue.Connection.SEARCHING, "more"]
    assert Notes.on_continue.__doc__ == "Its documentation."


def test_a_callback_of_an_activity_can_still_be_given_to_one_object() -> None:
    class Editing(segue.Activity):
        def on_will_save(self) -> None:
            raise AssertionError

        def on_request(self, data: bytes) -> bytes:
            return data

    activity: Any = Editing(None, TYPE)
    activity.on_will_save(print)
    activity.on_request(bytes.upper)
    assert (activity._handler("on_will_save"), activity._handler("on_request")) == (print, bytes.upper)
    assert Editing(None, TYPE).on_request(b"data") == b"data"
