# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each attempt to continue an activity ends in one receipt, whatever has become of the activity (R3.6)."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE
from test_documents import NAME, TEXT, Devices, Letter, Window

import segue
from segue import Outcome, _native

if TYPE_CHECKING:
    from segue.testing import Fleet


class Origin(Devices):
    """An origin whose activity goes while a receiver has it, and counts what it is told of it."""

    activity: segue.Activity | None = None
    window: Any = None
    document: Any = None

    def __init__(self, fleet: Fleet, folder: Path):
        super().__init__(fleet, folder, segue.App)
        self.told: list[Any] = []

    def watch(self, activity: segue.Activity) -> None:
        """Handlers of its own, which hold it, as they often do."""
        activity.on_was_continued(lambda receipt: self.told.append(("was continued", activity.type)))
        activity.on_continuation_ended(lambda receipt: self.told.append((receipt.outcome, activity.type)))

    def offer(self, kind: str) -> None:
        """An activity that is kept by nothing but what `kind` says."""
        if kind in ("document", "container"):
            self.document = Removed(self) if kind == "container" else Letter(self.origin, self.here / "a.txt", TEXT)
            self.origin.main_responder = self.document
            self.watch(self.document.user_activity)
        else:
            self.activity = segue.Activity(self.origin, TYPE)
            self.watch(self.activity)
            if kind == "window":
                self.window = Window("window")
                self.window.user_activity, self.activity = self.activity, None
                self.origin.main_responder = self.window
            else:
                self.activity.become_current()
        self.fleet.run()

    def lose(self, how: str) -> None:
        self.begin_to_lose(how)
        self.fleet.run()

    def begin_to_lose(self, how: str) -> None:
        if how == "invalidate":
            assert self.activity is not None
            self.activity.invalidate()
        elif how == "close":
            self.document.close()
        elif how == "move":
            self.window.user_activity = segue.Activity(self.origin, TYPE)
        elif how == "outside":
            self.origin.remove_container(NAME)
        elif how == "drop":
            self.activity = None
            segue.Activity(self.origin, TYPE).become_current()  # the app holds its current one
        elif how == "go":
            self.window = None
        gc.collect()


class Removed(Letter):
    """Its container is removed while it is asked for its state."""

    def __init__(self, devices: Origin):
        self.devices = devices
        super().__init__(devices.origin, devices.here / "a.txt", TEXT)

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        self.devices.origin.remove_container(NAME)


@pytest.fixture
def origin(segue_fleet: Fleet, tmp_path: Path) -> Origin:
    return Origin(segue_fleet, tmp_path)


WAYS = [
    ("activity", "invalidate"),
    ("activity", "drop"),
    ("document", "close"),
    ("document", "outside"),
    ("window", "move"),
    ("window", "go"),
]


@pytest.mark.parametrize(("kind", "how"), WAYS, ids=lambda word: word)
@pytest.mark.parametrize("handled", [True, False], ids=["restored", "cancelled"])
def test_an_activity_that_goes_while_the_receiver_has_it(origin: Origin, kind: str, how: str, handled: bool) -> None:
    """R3.6: its own handlers are called, once each, when the receiver answers, though its last reference is gone."""
    origin.offer(kind)
    continuation = origin.pull()
    assert continuation.done and not origin.told
    origin.lose(how)
    assert not origin.told
    if handled:
        continuation.wait()
    else:
        continuation.cancel()
    origin.fleet.run()
    expected = ["was continued", Outcome.RESTORED] if handled else [Outcome.FAILED]
    assert origin.told == [(each, TYPE) for each in expected]
    del continuation
    origin.document = origin.window = None
    gc.collect()


@pytest.mark.parametrize(("kind", "how"), [*WAYS, ("container", "")], ids=lambda word: word)
def test_an_activity_that_goes_inside_of_its_save(origin: Origin, kind: str, how: str) -> None:
    """R3.6: one that is invalidated at once fails, and both sides are told. An activity that no responder has any
    longer is invalidated after the save (R4.4), and arrives."""
    origin.offer(kind)

    def go(activity: segue.Activity) -> None:
        origin.origin.on_will_save(lambda activity: None)
        origin.begin_to_lose(how)

    if how:
        origin.origin.on_will_save(go)
    expected: list[Any]
    continuation = origin.pull()
    if how in ("invalidate", "close"):
        with pytest.raises(segue.HandoffFailedError, match="invalidated"):
            continuation.wait()
        expected = [Outcome.FAILED]
    else:
        assert not origin.told
        continuation.wait()
        expected = ["was continued", Outcome.RESTORED]
    origin.fleet.run()
    assert origin.told == [(each, TYPE) for each in expected]
    del continuation


@pytest.mark.parametrize("level", ["activity", "app"])
def test_an_activity_that_is_dropped_in_was_continued(origin: Origin, level: str) -> None:
    """R3.6: "move": the receipt comes after it, by the same handlers."""
    activity = segue.Activity(origin.origin, TYPE)
    activity.become_current()
    ended: list[segue.Receipt] = []

    def moved(*_: Any) -> None:
        nonlocal activity
        assert not ended
        activity.invalidate()
        del activity

    if level == "activity":
        activity.on_was_continued(moved)
        activity.on_continuation_ended(ended.append)
    else:
        origin.origin.on_was_continued(moved)
        origin.origin.on_continuation_ended(lambda activity, receipt: ended.append(receipt))
    origin.pull().wait()
    origin.fleet.run()
    assert [receipt.outcome for receipt in ended] == [Outcome.RESTORED]


def test_an_app_that_closes_after_its_activity_has_gone(origin: Origin) -> None:
    """R3.6, R3.14: it does not know the outcome, and says so."""
    origin.offer("activity")
    continuation = origin.pull()
    origin.lose("drop")
    origin.origin.close()
    assert origin.told == [(Outcome.UNKNOWN, TYPE)]
    del continuation


@pytest.mark.parametrize("kind", ["activity", "document", "window"])
def test_without_an_attempt_nothing_is_kept(origin: Origin, kind: str) -> None:
    """R1.15: what goes without one leaves nothing behind."""
    before = segue.live_handles(), _native.live_contexts()
    origin.offer(kind)
    origin.lose({"activity": "drop", "document": "close", "window": "go"}[kind])
    if kind == "activity":
        successor = origin.origin.current_activity
        assert successor is not None
        successor.invalidate()
        del successor
    origin.document = None
    gc.collect()
    origin.fleet.run()
    assert (segue.live_handles(), _native.live_contexts()) == before
    assert not origin.told
