# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Offers come, change and go, and the callbacks of apps and activities are called."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Opener, run_until
from pair import Pair

import segue
from segue import OfferEventKind, Outcome


def test_an_offer_describes_its_activity(opened: Opener) -> None:
    """R2.1"""
    pair = Pair(opened)
    offer = pair.offer
    assert (offer.type, offer.title, offer.id) == (TYPE, "Shopping list", pair.activity.id)
    assert (offer.app_name, offer.bundle_identifier) == ("com.example.notes", "com.example.notes")
    assert offer.device_name
    assert (offer.payload_version, offer.expiration_date, offer.supports_continuation_streams) == (0, None, False)
    assert 0 <= offer.age < PATIENCE
    assert offer.size_hint >= 0
    assert pair.receiver.offers == [offer]
    assert pair.origin.offers == [], "R2.6: never its own"
    assert "Shopping list" in repr(offer)
    assert "com.example.notes" in pair.receiver.describe()


def test_what_others_say_is_no_line_of_its_own(opened: Opener) -> None:
    """In text for people the name of an app, or the title of an activity, looks like nothing else."""
    pair = Pair(opened, name="Notes\n  hub: mine\u009b")
    pair.activity.title = "List\n  hub: mine\u202e"
    pair.until(lambda: "List" in (pair.receiver.offers[0].title or ""))
    text = pair.receiver.describe()
    assert [line for line in text.splitlines() if line.startswith("  hub:")] == ["  hub: generation 1"]
    assert text.count("hub: mine") == 2
    assert not set("\u009b\u202e") & set(text)


def test_offers_come_change_and_go(opened: Opener) -> None:
    """R2.7, R2.8"""
    seen: list[tuple[OfferEventKind, str | None]] = []

    class Watcher(segue.App):
        def on_offer(self, kind: OfferEventKind, offer: segue.Offer) -> None:
            seen.append((kind, offer.title))

    pair = Pair(opened, Watcher)
    pair.activity.title = "Groceries"
    pair.until(lambda: (OfferEventKind.CHANGED, "Groceries") in seen)
    pair.activity.invalidate()
    pair.until(lambda: seen[-1][0] == OfferEventKind.GONE)
    assert seen[0] == (OfferEventKind.APPEARED, "Shopping list")
    assert pair.receiver.offers == []


def test_methods_of_a_subclass_are_called(opened: Opener) -> None:
    """R3.1, R3.2, R3.4, R3.6"""
    told: list[Any] = []

    class Editing(segue.Activity):
        def on_will_save(self) -> None:
            self.user_info["line"] += 1

        def on_was_continued(self, receipt: segue.Receipt) -> None:
            told.append(("was continued", receipt.outcome))

    class Notes(segue.App):
        def on_will_continue(self, type: str, continuation: segue.Continuation) -> bool:
            told.append(("will continue", type, continuation.offer.title))
            return True

        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
            told.append(("continue", activity.user_info["line"]))
            return True

    pair = Pair(opened, Notes)
    saved = Editing(pair.origin, TYPE, title="Saved", user_info={"line": 1})
    saved.become_current()
    pair.until(lambda: pair.receiver.offers and pair.receiver.offers[0].title == "Saved")
    pair.offer = pair.receiver.offers[0]
    continuation = pair.continue_()
    pair.until(lambda: len(told) == 3)
    assert told == [
        ("will continue", TYPE, "Saved"),
        ("continue", 2),
        ("was continued", Outcome.RESTORED),
    ]
    assert continuation.wait().title == "Saved"


def test_decorated_functions_are_called(opened: Opener) -> None:
    pair = Pair(opened)
    told: list[Any] = []

    @pair.activity.on_will_save
    def save() -> None:
        pair.activity.user_info["line"] = 2

    @pair.receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> None:
        told.append((activity.user_info["line"], continuation.id))
        received, total = continuation.progress
        assert received == total > 0

    pair.activity.needs_save = True
    continuation = pair.continue_()
    receipt = pair.receipt()
    assert told == [(2, continuation.id)]
    assert (receipt.outcome, receipt.status, receipt.continuation_id) == (
        Outcome.RESTORED,
        segue.Status.OK,
        continuation.id,
    )
    assert (receipt.app_name, receipt.stale) == ("com.example.notes", False)


@pytest.mark.parametrize("attached", [True, False])
def test_an_iteration_whose_loop_is_closed_disturbs_nothing(opened: Opener, attached: bool) -> None:
    """Each event made dispatch raise, no handler was called, and close raised, too."""
    origin, receiver = opened(), opened()
    seen: list[tuple[OfferEventKind, str | None]] = []
    receiver.on_offer(lambda kind, offer: seen.append((kind, offer.title)))
    activity = segue.Activity(origin, TYPE, title="one")
    activity.become_current()
    run_until([origin, receiver], lambda: receiver.offers)
    events = receiver.offer_events()

    async def begin() -> str | None:
        if attached:
            receiver.attach()
        return (await events.__anext__()).offer.title

    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(begin()) == "one"
    loop.close()
    activity.title = "two"
    run_until([origin, receiver], lambda: (OfferEventKind.CHANGED, "two") in seen)
    assert not receiver._offer_events._listeners
    receiver.close()


def test_a_handler_is_called_whatever_an_iteration_does(opened: Opener) -> None:
    origin, receiver = opened(), opened()
    seen: list[OfferEventKind] = []
    receiver.on_offer(lambda kind, offer: seen.append(kind))

    def fail(event: segue.OfferEvent | None) -> None:
        raise LookupError("listening")

    receiver._offer_events._listeners.append(fail)
    activity = segue.Activity(origin, TYPE)
    activity.become_current()
    with pytest.raises(LookupError, match="listening"):
        run_until([origin, receiver], lambda: receiver.offers and seen)
    assert seen == [OfferEventKind.APPEARED]
    receiver._offer_events._listeners.clear()


def test_a_public_activity_is_offered_to_other_teams(opened: Opener) -> None:
    """R13.1"""
    apps = origin, ours, stranger = [
        opened(f"com.example.{name}", team=team, types=[TYPE])
        for name, team in (("origin", "T"), ("ours", "T"), ("stranger", "OTHER"))
    ]
    activity = segue.Activity(origin, TYPE, title="List", user_info={"contentType": "text/plain"})
    assert not activity.public
    activity.become_current()
    run_until(apps, lambda: bool(ours.offers))
    assert not ours.offers[0].public
    assert stranger.offers == []
    activity.public = True
    assert activity.public
    run_until(apps, lambda: bool(stranger.offers))
    assert stranger.offers[0].public
    assert segue.Activity.decode(stranger, activity.encode()).public
    activity.public = False
    run_until(apps, lambda: not stranger.offers)
    run_until(apps, lambda: not ours.offers[0].public)
    for name in ("EDITING_TEXT", "PLAYING_MEDIA", "READING_DOCUMENT", "USING_TERMINAL", "BROWSING_WEB"):
        shared = segue.Activity(origin, getattr(segue, f"ACTIVITY_TYPE_{name}"))
        assert shared.public
        shared.public = False
        assert not shared.public


def test_a_label_tells_apps_of_one_bundle_apart(opened: Opener) -> None:
    """R13.6"""
    pair = Pair(opened)
    assert pair.origin.label is None
    assert pair.offer.label is None
    pair.origin.label = "window 2"
    pair.until(lambda: pair.receiver.offers[0].label == "window 2")
    assert pair.origin.label == "window 2"
    with pytest.raises(segue.LimitExceededError, match="label: 129 bytes"):
        pair.origin.label = "x" * 129
    assert pair.origin.label == "window 2"
    pair.origin.label = None
    pair.until(lambda: pair.receiver.offers[0].label is None)
    assert opened("com.example.other", label="terminal").label == "terminal"
