# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the end of an app, and the arguments and folders with which it refuses to begin."""

from __future__ import annotations

import contextlib
import gc
import os
import plistlib
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Opener, run_until
from pair import Pair

import segue


def test_after_closing_every_call_says_so(opened: Opener) -> None:
    """R3.14"""
    pair = Pair(opened)
    ready = pair.origin.ready()
    continuation = pair.receiver.continue_(pair.offer)
    pair.receiver.close()
    with pytest.raises(segue.CancelledError):
        continuation.wait()
    assert pair.offer.title == "Shopping list", "an immutable description stays readable"
    for call in (
        lambda: pair.receiver.dispatch(0),
        lambda: pair.receiver.continue_(pair.offer),
        lambda: segue.Activity(pair.receiver, TYPE),
        lambda: pair.receiver.open(),
    ):
        with pytest.raises((segue.InvalidatedError, segue.InvalidStateError)):
            call()
    assert pair.receiver.offers == []
    pair.origin.close()
    with pytest.raises(segue.InvalidatedError):
        pair.activity.become_current()
    assert ready.done
    assert pair.activity.title == "Shopping list"


def test_closing_ends_what_is_awaited(opened: Opener) -> None:
    app = opened()
    ready = app.ready()
    app.close()
    with contextlib.suppress(segue.CancelledError):  # it may have been ready already
        ready.wait(1)


def test_an_app_that_is_dropped_closes_and_warns(folder: str) -> None:
    app = segue.App("com.example.notes", runtime_folder=folder)
    app.open()
    with pytest.warns(ResourceWarning, match="was not closed"):
        del app
        gc.collect()
    assert segue.live_handles() == 0


def test_handlers_live_as_long_as_what_they_belong_to(opened: Opener) -> None:
    """The trampolines are never collected; what they call is found by number, or not at all."""
    pair = Pair(opened)
    calls: list[str] = []
    for number in range(100):
        activity = segue.Activity(pair.origin, TYPE, title=str(number))
        activity.on_will_save(lambda number=number: calls.append(str(number)))
        activity.become_current()
    gc.collect()
    pair.until(lambda: pair.receiver.offers and pair.receiver.offers[0].title == "99")
    pair.offer = pair.receiver.offers[0]
    assert pair.continue_().wait().title == "99"
    assert calls[-1] == "99"


def test_a_forked_child_is_told_so_and_harms_nobody(opened: Opener) -> None:
    pair = Pair(opened)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            pair.activity.title = "child"
            word = "changed"
        except segue.ForkedError as error:
            word = error.code
            del pair.activity, pair.offer
            gc.collect()
        os.write(writer, word.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "FORKED"
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pair.activity.title == "Shopping list"
    assert pair.continue_().wait().title == "Shopping list"


def test_explain_says_why_it_is_not_offered(opened: Opener) -> None:
    """R6.5"""
    app = opened()
    opened("com.example.other", types=["com.example.other"]).ready().wait(PATIENCE)
    app.ready().wait(PATIENCE)
    activity = segue.Activity(app, TYPE)
    reasons = activity.explain().wait(PATIENCE)
    assert "not current" in [each.reason for each in reasons]
    assert all(each.message for each in reasons)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"bundle_identifier": ""}, ValueError),
        ({"bundle_identifier": "x" * 256}, ValueError),
        ({"name": ""}, ValueError),
        ({"types": [""]}, ValueError),
        ({"types": "com.example.notes"}, TypeError),
        ({"delivery": "pigeon"}, ValueError),
        ({"runtime_folder": "relative"}, ValueError),
    ],
)
def test_what_an_app_cannot_be_is_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        segue.App(**{"bundle_identifier": "com.example.notes", **options})


def test_an_unsafe_folder_is_refused(folder: str) -> None:
    os.chmod(folder, 0o777)
    with pytest.raises(segue.UnsafeFolderError), segue.App("com.example.notes", runtime_folder=folder):
        pass


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_a_manifest_says_who_an_app_is(folder: str, opened: Opener, tmp_path: Path, kind: Any) -> None:
    """R6.1, without an agent: name, team, types and document types."""
    documents = {
        "LSItemContentTypes": ["text/plain"],
        "CFBundleTypeRole": "Editor",
        "NSUbiquitousDocumentUserActivityType": "com.example.document",
    }
    manifest = {
        "CFBundleIdentifier": "com.example.sketch",
        "CFBundleName": "Sketch",
        "NSUserActivityTypes": [TYPE],
        "CFBundleDocumentTypes": [documents],
        "com.apple.developer.team-identifier": "TEAM000001",
    }
    path = tmp_path / "sketch.plist"
    path.write_bytes(plistlib.dumps(manifest))
    app = segue.App("com.example.sketch", runtime_folder=folder)
    app.load_manifest(kind(path))
    viewer = opened(team="TEAM000001")
    with app:
        activity = segue.Activity(app, title="drawing")
        assert activity.type == TYPE
        activity.become_current()
        run_until([app, viewer], lambda: viewer.offers)
        assert [(offer.app_name, offer.title) for offer in viewer.offers] == [("Sketch", "drawing")]
        with pytest.raises(segue.InvalidStateError):
            app.load_manifest(kind(path))


def test_an_app_that_declares_no_type_asks_for_one_until_an_agent_has_answered(folder: str) -> None:
    """R1.1, R6.1"""
    with segue.App("com.example.notes") as app, pytest.raises(segue.InvalidArgumentError) as refused:
        segue.Activity(app)
    assert refused.value.message == "type: must be given: the app declares none, and no agent has answered yet"


def test_a_manifest_that_cannot_be_used_is_an_error_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "other.plist"
    path.write_bytes(plistlib.dumps({"CFBundleIdentifier": "com.example.other", "CFBundleName": "Other"}))
    app = segue.App("com.example.sketch")
    with pytest.raises(segue.InvalidArgumentError, match=r"other\.plist: .*describes com.example.other"):
        app.load_manifest(path)
    with pytest.raises(segue.SystemRefusedError, match="No such file"):
        app.load_manifest(tmp_path / "missing.plist")
    with pytest.raises(segue.WrongKindError):
        app.load_manifest(tmp_path)
    with pytest.raises(segue.ArgumentTypeError):
        app.load_manifest(1)  # type: ignore[arg-type]
    path.write_bytes(b"<plist>")
    with pytest.raises(segue.MalformedError):
        app.load_manifest(path)
    app.close()
