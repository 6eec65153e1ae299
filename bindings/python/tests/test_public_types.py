# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public types: their classes check values by the table, at the origin and at the receiver (R13.2, R13.3)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from conftest import Log, Opener, run_until

import segue
from segue.public_types import EditingText, PlayingMedia, ReadingDocument, UsingTerminal

FILE = "file:///home/ada/budget.md"


def test_the_constants_are_the_types_of_the_classes() -> None:
    """R13.2"""
    assert EditingText.TYPE == segue.ACTIVITY_TYPE_EDITING_TEXT
    assert PlayingMedia.TYPE == segue.ACTIVITY_TYPE_PLAYING_MEDIA
    assert ReadingDocument.TYPE == segue.ACTIVITY_TYPE_READING_DOCUMENT
    assert UsingTerminal.TYPE == segue.ACTIVITY_TYPE_USING_TERMINAL


def test_values_get_the_kinds_of_the_table() -> None:
    """R13.2"""
    info = EditingText(url=FILE, line=12.0, open_urls=[FILE], line_ending="lf").to_user_info()  # type: ignore[arg-type]
    assert info == {"url": segue.URL(FILE), "line": 12, "openURLs": [segue.URL(FILE)], "lineEnding": "lf"}
    assert type(info["line"]) is int
    assert type(PlayingMedia(url=FILE, position=12).to_user_info()["position"]) is float
    assert EditingText.read(info) == EditingText(
        url=segue.URL(FILE), line=12, open_urls=[segue.URL(FILE)], line_ending="lf"
    )


@pytest.mark.parametrize(
    ("info", "wrong"),
    [
        ({"url": FILE, "line": 0}, {"line": "out of range"}),
        ({"url": FILE, "line": True}, {"line": "a number is needed"}),
        ({"url": FILE, "line": 2**63}, {"line": "an integer is needed"}),
        ({"url": FILE, "column": float("nan")}, {"column": "a finite number is needed"}),
        ({"url": FILE, "language": "-x"}, {"language": "has another form"}),
        ({"text": "", "openURLs": [FILE, "x"]}, {"openURLs": "a URL is needed"}),
        ({"text": "", "lineEnding": "vt"}, {"lineEnding": "another value is needed"}),
    ],
)
def test_an_optional_key_that_is_wrong_is_left_out_and_named(log: Log, info: dict[str, Any], wrong: Any) -> None:
    """R13.3"""
    assert EditingText.problems(info) == wrong
    (name,) = wrong
    assert name not in EditingText.read(info).to_user_info()
    assert [text for _, text in log] == [f"{EditingText.TYPE}: {name} is left out: {wrong[name]}"]


@pytest.mark.parametrize(
    ("kind", "info", "why"),
    [
        (EditingText, {"line": 1}, "url: url or text is required"),
        (EditingText, {"url": "https://ada:secret@example.com/", "text": ""}, "a URL with a user is not handed over"),
        (EditingText, {"text": b"bytes"}, "text: a string is needed"),
        (PlayingMedia, {"url": "gopher://x/"}, "another scheme is needed"),
        (UsingTerminal, {"url": "file://elsewhere/"}, "a file URL without host is needed"),
        (ReadingDocument, {"url": segue.URL("no-url:ü")}, "a URL is needed"),
    ],
)
def test_a_required_key_that_is_missing_or_wrong_is_an_error(kind: Any, info: dict[str, Any], why: str) -> None:
    """R13.3"""
    assert kind.problems(info)
    with pytest.raises(segue.MalformedError, match=why):
        kind.read(info)


def test_without_a_required_key_the_save_fails_and_so_does_the_continuation(opened: Opener, log: Log) -> None:
    """R13.3: before the app gets anything of it."""
    got: list[EditingText] = []

    def takes(activity: segue.Activity, continuation: segue.Continuation) -> bool:
        got.append(EditingText.read(activity.user_info))
        return True

    origin = opened("org.example.one", types=[EditingText.TYPE])
    receiver = opened("org.example.two", types=[EditingText.TYPE])
    receiver.on_continue(takes)
    activity = segue.Activity(origin, EditingText.TYPE, title="Budget")
    receipts: list[segue.Receipt] = []
    activity.on_continuation_ended(receipts.append)
    activity.user_info = {"line": 3}
    activity.become_current()
    run_until([origin, receiver], lambda: receiver.offers)

    def ended(continues: int) -> segue.Receipt:
        receiver.continue_(receiver.offers[0])
        while len(receipts) < continues:
            with suppress(segue.MalformedError):  # what a callback raises is raised where the app is dispatched
                run_until([origin, receiver], lambda: len(receipts) == continues)
        return receipts[-1]

    assert ended(1).outcome == segue.Outcome.FAILED and got == []
    activity.on_will_save(lambda: setattr(activity, "user_info", EditingText(line=4).to_user_info()))
    activity.needs_save = True
    assert ended(2).outcome == segue.Outcome.FAILED and got == []
    assert any("url or text is required" in text for _, text in log)
    activity.on_will_save(lambda: setattr(activity, "user_info", EditingText(text="a", line=5).to_user_info()))
    activity.needs_save = True
    assert ended(3).outcome == segue.Outcome.RESTORED
    assert got == [EditingText(text="a", line=5)]
