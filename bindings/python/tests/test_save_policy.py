# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When on_will_save runs (R2.9), and callbacks that an app has for all of its activities (R3.12)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet


class Editor(segue.App):
    """A text editor that never tells when its text changes: neither `user_info` nor `needs_save`."""

    text = ""
    saves = 0

    def on_will_save(self, activity: segue.Activity) -> None:
        self.saves += 1
        activity.user_info = {"text": self.text}

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
        self.text = activity.user_info["text"]
        activity.become_current()


def two(fleet: Fleet, **options: Any) -> tuple[Editor, Editor]:
    made = []
    for name in ("phone", "laptop"):
        app = fleet.add_device(name).add_app("com.example.notes", Editor, types=[TYPE], **options)
        made.append(app)
    return made[0], made[1]


def offered(app: Editor, text: str) -> segue.Activity:
    app.text = text
    activity = segue.Activity(app, TYPE)
    activity.become_current()
    return activity


def hand(fleet: Fleet, origin: Editor, receiver: Editor) -> str:
    """Continues what one offers in the other, which gives what it has got."""
    fleet.run()
    receiver.continue_(receiver.offers[0]).wait()
    fleet.run()
    return receiver.text


def test_there_and_back_keeps_every_edit(segue_fleet: Fleet) -> None:
    phone, laptop = two(segue_fleet)
    offered(phone, "milk")
    assert hand(segue_fleet, phone, laptop) == "milk"
    laptop.text += ", bread"
    assert hand(segue_fleet, laptop, phone) == "milk, bread"
    phone.text += ", tea"
    assert hand(segue_fleet, phone, laptop) == "milk, bread, tea"
    assert (phone.saves, laptop.saves) == (2, 1)


def test_when_needed_nobody_is_asked_unless_something_is_marked(segue_fleet: Fleet) -> None:
    phone, laptop = two(segue_fleet, save_policy="when_needed")
    activity = offered(phone, "milk")
    assert hand(segue_fleet, phone, laptop) == "milk"  # new: it needs saving
    laptop.current_activity.resign_current()  # type: ignore[union-attr]
    phone.text = "milk, bread"
    assert hand(segue_fleet, phone, laptop) == "milk"
    activity.needs_save = True
    assert hand(segue_fleet, phone, laptop) == "milk, bread"
    assert phone.saves == 2


def test_that_nothing_needs_saving_is_believed(segue_fleet: Fleet) -> None:
    phone, laptop = two(segue_fleet)
    activity = offered(phone, "milk")
    activity.user_info = {"text": "all there is"}
    activity.needs_save = False
    assert hand(segue_fleet, phone, laptop) == "all there is"
    assert phone.saves == 0
    activity.title = "changed"
    assert hand(segue_fleet, phone, laptop) == "milk"


def test_an_activity_s_own_callback_comes_first_and_the_others_stay_the_app_s(segue_fleet: Fleet) -> None:
    phone, laptop = two(segue_fleet)
    heard: list[Any] = []

    @phone.on_continuation_ended
    def ended(activity: segue.Activity, receipt: segue.Receipt) -> None:
        heard.append((activity, receipt.outcome))

    activity = offered(phone, "the app's")

    @activity.on_will_save
    def save() -> None:
        activity.user_info = {"text": "its own"}

    assert hand(segue_fleet, phone, laptop) == "its own"
    assert heard == [(activity, segue.Outcome.RESTORED)]
    assert phone.saves == 0


def test_a_callback_that_the_app_gets_later_is_for_activities_that_are_there(segue_fleet: Fleet) -> None:
    phone, laptop = (
        segue_fleet.add_device(name).add_app("com.example.notes", types=[TYPE]) for name in ("phone", "laptop")
    )
    activity = segue.Activity(phone, TYPE)
    activity.on_was_continued(lambda receipt: None)
    activity.become_current()

    @phone.on_request
    def answer(activity: segue.Activity, data: bytes) -> bytes:
        return data.upper()

    segue_fleet.run()
    continued = laptop.continue_(laptop.offers[0]).wait()
    assert continued.request(b"louder").wait() == b"LOUDER"


def test_what_has_no_on_will_save_is_handed_over_though_its_app_is_busy(folder: str) -> None:
    with (
        segue.App("com.example.notes", types=[TYPE], delivery="thread") as origin,
        segue.App("com.example.viewer", team="com.example.notes", types=[TYPE]) as receiver,
    ):
        origin.ready().wait(5)
        activity = segue.Activity(origin, TYPE, title="Draft")
        activity.on_was_continued(lambda receipt: None)
        activity.become_current()
        while not receiver.offers:
            receiver.dispatch(5)
        continued = receiver.continue_(receiver.offers[0]).wait(5)
        assert continued.title == "Draft" and continued.continued_from is not None
        assert not continued.continued_from.stale


def test_async_callbacks_of_the_app(folder: str) -> None:
    async def play() -> None:
        async with (
            segue.App("com.example.notes", types=[TYPE]) as origin,
            segue.App("com.example.viewer", team="com.example.notes", types=[TYPE]) as receiver,
        ):

            @origin.on_will_save
            async def save(activity: segue.Activity) -> None:
                await asyncio.sleep(0)
                activity.user_info = {"text": "saved later"}

            segue.Activity(origin, TYPE).become_current()
            async for event in receiver.offer_events():
                continued = await receiver.continue_(event.offer)
                break
            assert continued.user_info["text"] == "saved later"

    asyncio.run(play())


def test_a_policy_that_there_is_not() -> None:
    with pytest.raises(segue.InvalidArgumentError, match="when_pulled"):
        segue.App("com.example.notes", save_policy="never")  # type: ignore[arg-type]
