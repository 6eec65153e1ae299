# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Responders: windows that share, move and restore activities (R4), on a virtual fleet."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE, Opener, run_until

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet

Save = Callable[[segue.Activity], Any]


class Window(segue.ResponderMixin):
    """A window of an editor: its own part of what is on the screen. It has no `__init__` for the mixin."""

    def __init__(self, name: str, line: int = 1):
        self.name = name
        self.line = line

    def update_user_activity_state(self, activity: segue.Activity) -> Any:
        activity.user_info.update({self.name: self.line, "focus": self.name})

    def restore_user_activity_state(self, activity: segue.Activity) -> Any:
        self.line = activity.user_info[self.name]


class Silent(segue.ResponderMixin):
    """A view that shows an activity, and adds nothing to it."""


class Notes(segue.App):
    """Keeps what it continues in a window."""

    window: segue.ResponderMixin | None = None
    answer: concurrent.futures.Future[bool] | None = None
    """Its answer, if it comes later."""

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        assert self.window is not None
        self.window.user_activity = activity
        if isinstance(self.window, Window):
            continuation.restore([self.window])
        return self.answer


def two(fleet: Fleet) -> tuple[Notes, Notes]:
    made = [fleet.add_device(name).add_app("com.example.notes", Notes, types=[TYPE]) for name in ("phone", "laptop")]
    return made[0], made[1]


def note(app: segue.App, **user_info: Any) -> segue.Activity:
    return segue.Activity(app, TYPE, title="Note", user_info=user_info)


def pulled(fleet: Fleet, receiver: segue.App) -> segue.Activity:
    """Continues the frontmost offer."""
    fleet.run()
    continued = receiver.continue_(receiver.offers[0])
    fleet.run()
    return continued.wait()


class Reader(segue.App):
    """Answers by its result."""


def origin_and_reader(fleet: Fleet) -> tuple[segue.App, segue.App]:
    phone, laptop = fleet.add_device("phone"), fleet.add_device("laptop")
    return phone.add_app("com.example.notes", types=[TYPE]), laptop.add_app("com.example.notes", Reader, types=[TYPE])


def test_two_windows_on_one_document_and_the_focused_one_wins(segue_fleet: Fleet) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    left, right = Window("left", 3), Window("right", 7)
    left.user_activity = right.user_activity = note(origin, stale=True)
    for focused in (left, right):
        origin.main_responder = focused
        got = pulled(segue_fleet, reader)
        assert got.user_info.copy() == {"left": 3, "right": 7, "focus": focused.name}
    assert origin.current_activity is left.user_activity
    left.line = 4
    assert pulled(segue_fleet, reader).user_info["left"] == 4


def test_the_app_has_the_last_word_and_will_save_the_first(segue_fleet: Fleet) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    window = Window("only")
    activity = note(origin, former=1)
    seen: list[Any] = []

    @activity.on_will_save
    def first() -> None:
        seen.append(activity.user_info.copy())
        activity.user_info["focus"] = "will_save"

    @origin.on_did_update
    def last(updated: segue.Activity) -> None:
        seen.append(updated.user_info.copy())
        updated.user_info["only"] = "did_update"

    window.user_activity = activity
    origin.main_responder = window
    got = pulled(segue_fleet, reader)
    assert got.user_info.copy() == {"focus": "only", "only": "did_update"}
    assert seen == [{}, {"focus": "only", "only": 1}]
    assert not activity.needs_save
    # Without a responder, too (R2.9).
    plain = note(origin, mine=1)
    plain.become_current()
    assert pulled(segue_fleet, reader).user_info.copy() == {"mine": 1, "only": "did_update"}


def test_there_and_back_by_an_app_without_update_state(segue_fleet: Fleet) -> None:
    phone, laptop = two(segue_fleet)
    phone.window, laptop.window = Window("text", 5), Silent()
    phone.window.user_activity = note(phone)
    phone.main_responder, laptop.main_responder = phone.window, laptop.window
    pulled(segue_fleet, laptop)
    back = laptop.current_activity
    assert back is not None and back.user_info.copy() == {"text": 5, "focus": "text"}
    phone.window.line = 0
    phone.window.user_activity = None
    segue_fleet.run()
    pulled(segue_fleet, phone)
    assert phone.window.line == 5


def test_a_pull_during_restoration_gets_what_was_received(segue_fleet: Fleet) -> None:
    phone, laptop = two(segue_fleet)
    tablet = segue_fleet.add_device("tablet").add_app("com.example.notes", types=[TYPE])
    phone.window = Window("text", 5)
    phone.window.user_activity = note(phone)
    phone.main_responder = phone.window
    laptop.window = Window("text", 0)
    laptop.main_responder = laptop.window
    laptop.answer = concurrent.futures.Future()
    segue_fleet.run()
    laptop.continue_(laptop.offers[0])
    segue_fleet.advance(2)
    offer = next(each for each in tablet.offers if each.device_name == "laptop")
    assert tablet.continue_(offer).wait().user_info["text"] == 5
    laptop.window.line = 9
    laptop.answer.set_result(True)
    segue_fleet.advance(2)
    assert tablet.continue_(offer).wait().user_info["text"] == 9


def test_the_offer_stays_when_the_focus_is_lost(segue_fleet: Fleet) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    window = Window("only")
    window.user_activity = note(origin)
    origin.main_responder = window
    origin.set_foreground(False)
    segue_fleet.run()
    assert [offer.title for offer in reader.offers] == ["Note"]
    origin.main_responder = None
    segue_fleet.run()
    assert reader.offers == [] and window.user_activity is not None


@pytest.mark.parametrize("how", ["raises", "too slow", "too large", "yields"])
def test_a_save_that_fails_leaves_the_former_user_info(segue_fleet: Fleet, how: str) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    first, second = Window("first"), Window("second")
    activity = note(origin)
    first.user_activity = second.user_activity = activity
    origin.main_responder = second
    assert pulled(segue_fleet, reader).user_info.copy() == {"first": 1, "second": 1, "focus": "second"}
    former = activity.user_info.copy()
    answers: list[Any] = []

    def fail(activity: segue.Activity) -> Any:
        if how == "raises":
            raise RuntimeError("not now")
        if how == "yields":
            return (1 for _ in "unused")
        if how == "too large":
            activity.user_info["large"] = b"x" * segue.limits.user_info
        answers.append(concurrent.futures.Future())
        return answers[-1]

    first.line = 2
    second.update_user_activity_state = fail  # type: ignore[method-assign]
    receipts: list[segue.Receipt] = []
    activity.on_continuation_ended(receipts.append)
    segue_fleet.run()
    continuation = reader.continue_(reader.offers[0])
    if how == "too slow":
        segue_fleet.advance(2)
        assert activity.user_info.copy() != former, "until it is answered later, every thread is the save's"
        segue_fleet.advance(4)
        assert activity.user_info.copy() == former
        assert answers.pop().set_result(None) is None
    else:
        kinds = {"raises": RuntimeError, "too large": segue.UserInfoTooLargeError, "yields": TypeError}
        with pytest.raises(kinds[how], match="genexpr.* has a yield: it was not run" if how == "yields" else None):
            segue_fleet.run()
    segue_fleet.run()
    got = continuation.wait()
    assert got.continued_from is not None and got.continued_from.stale
    assert got.continued_from.stale_reason is not None
    assert got.continued_from.stale_reason.startswith(
        ("the origin could not save: ", "the origin did not save in time")
    )
    assert got.user_info.copy() == former == activity.user_info.copy()
    assert activity.needs_save
    del second.update_user_activity_state  # for the save when its app closes


def test_nobody_else_sees_an_activity_half_filled(opened: Opener) -> None:
    """The offer's size hint, and other threads, while a callback runs."""
    origin, viewer = opened(), opened()
    activity = note(origin, former="x" * 1000)
    seen: list[Any] = []

    def update(activity: segue.Activity) -> None:
        mine = len(activity.user_info)
        activity.user_info["new"] = 1
        activity.title = "changed"  # so that the offer is updated
        other = threading.Thread(target=lambda: seen.append(activity.user_info.copy()))
        other.start()
        other.join()
        seen.append((mine, activity.user_info.copy()))

    responder = segue.Responder(origin, update)
    responder.user_activity = activity
    origin.main_responder = responder
    run_until([origin, viewer], lambda: viewer.offers)
    assert viewer.offers[0].size_hint > 1000
    continuation = viewer.continue_(viewer.offers[0])
    run_until([origin, viewer], lambda: continuation.done)
    assert seen == [{"former": "x" * 1000}, (0, {"new": 1})]
    assert activity.user_info.copy() == {"new": 1}


def test_what_another_thread_changes_meanwhile_is_kept(opened: Opener) -> None:
    origin, viewer = opened(), opened()
    activity = note(origin, former=1)

    def update(activity: segue.Activity) -> None:
        other = threading.Thread(target=lambda: activity.user_info.update({"other": 1}))
        other.start()
        other.join()
        activity.user_info["mine"] = 1

    responder = segue.Responder(origin, update)
    responder.user_activity = activity
    origin.main_responder = responder
    run_until([origin, viewer], lambda: viewer.offers)
    continuation = viewer.continue_(viewer.offers[0])
    run_until([origin, viewer], lambda: continuation.done)
    assert continuation.wait().user_info.copy() == {"other": 1, "mine": 1}
    assert activity.needs_save, "the change of the other thread marks it (R1.7)"


def test_an_activity_moves_from_window_to_window(segue_fleet: Fleet) -> None:
    origin, _ = origin_and_reader(segue_fleet)
    one, two = Window("one"), Window("two")
    activity = note(origin)
    one.user_activity = activity
    one.user_activity = None
    two.user_activity = activity
    segue_fleet.run()
    assert activity.is_valid and two.user_activity is activity and one.user_activity is None
    two.user_activity = None
    assert activity.is_valid, "it is decided at the next delivery (R4.4)"
    segue_fleet.run()
    assert not activity.is_valid


def test_a_managed_activity_needs_no_other_reference(segue_fleet: Fleet) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    window = Window("only", 8)
    window.user_activity = note(origin)
    origin.main_responder = window
    gc.collect()
    assert pulled(segue_fleet, reader).user_info["only"] == 8
    del window
    gc.collect()
    segue_fleet.run()
    assert reader.offers == [] and origin.main_responder is None and origin.current_activity is None


def test_the_chain_leads_to_the_window(segue_fleet: Fleet) -> None:
    origin, _ = origin_and_reader(segue_fleet)
    window, pane, text = Window("window"), Silent(), Window("text")
    text.next_user_activity_responder = pane  # before any of them knows the app
    pane.next_user_activity_responder = window
    window.user_activity = note(origin)
    origin.main_responder = text
    assert origin.current_activity is window.user_activity
    text.user_activity = note(origin)
    assert origin.current_activity is text.user_activity is not window.user_activity
    text.user_activity = None
    assert text.next_user_activity_responder is pane
    del pane
    gc.collect()
    assert origin.current_activity is None, "a responder that is gone ends the chain"
    assert text.next_user_activity_responder is None


def test_a_loop_and_another_apps_responder_are_errors(segue_fleet: Fleet) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    one, other = segue.Responder(origin), segue.Responder(origin)
    one.next_user_activity_responder = other
    for last in (one, other):
        with pytest.raises(segue.InvalidArgumentError, match="loop"):
            other.next_user_activity_responder = last
    assert other.next_user_activity_responder is None
    foreign = segue.Responder(reader)
    with pytest.raises(segue.InvalidArgumentError, match="another app"):
        other.next_user_activity_responder = foreign
    with pytest.raises(segue.InvalidArgumentError, match="another app"):
        origin.main_responder = foreign
    with pytest.raises(segue.InvalidArgumentError, match="app"):
        foreign.user_activity = note(origin)
    with pytest.raises(segue.InvalidArgumentError, match="app"):
        foreign.user_activity = segue.Activity(None, TYPE)
    activity = note(origin)
    activity.invalidate()
    with pytest.raises(segue.InvalidatedError):
        one.user_activity = activity


def test_a_responder_is_not_copied(segue_fleet: Fleet) -> None:
    origin, _ = origin_and_reader(segue_fleet)
    window = Window("first")
    assert copy.copy(window).name == "first", "it is no responder yet"
    window.user_activity = note(origin)
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="Window is a responder of an app, and cannot be copied or pickled"):
            make(window)
    assert window.user_activity is not None


def test_a_responder_released_in_its_own_callback(segue_fleet: Fleet) -> None:
    origin, reader = origin_and_reader(segue_fleet)
    calls: list[str] = []
    kept = segue.Responder(origin, lambda activity: calls.append("kept"))
    gone: list[segue.Responder] = []

    def release(activity: segue.Activity) -> None:
        calls.append("gone")
        activity.user_info["gone"] = 1
        gone.clear()
        gc.collect()

    gone.append(segue.Responder(origin, release))
    gone.append(segue.Responder(origin, lambda activity: calls.append("never")))
    for each in (*gone, kept):
        each.user_activity = note(origin) if kept.user_activity is None and each is gone[0] else gone[0].user_activity
    del each
    origin.main_responder = kept
    assert pulled(segue_fleet, reader).user_info.copy() == {"gone": 1}
    assert calls == ["gone", "kept"]


def test_later_answers_keep_the_order(folder: str) -> None:
    async def play() -> None:
        async with (
            segue.App("com.example.notes", types=[TYPE]) as origin,
            segue.App("com.example.viewer", types=[TYPE], chooser=True) as viewer,
        ):
            order: list[str] = []

            async def slow(activity: segue.Activity) -> None:
                await asyncio.sleep(0.01)  # the point is that others could run
                order.append("slow")
                activity.user_info["last"] = "slow"

            def fast(activity: segue.Activity) -> None:
                order.append("fast")
                activity.user_info["last"] = "fast"

            one, other = segue.Responder(origin, slow), segue.Responder(origin, fast)
            one.user_activity = other.user_activity = note(origin)
            origin.main_responder = other
            async for event in viewer.offer_events():
                continued = await viewer.continue_(event.offer)
                break
            assert order == ["slow", "fast"]
            assert continued.user_info.copy() == {"last": "fast"}

    asyncio.run(play())


def test_a_responder_that_is_attached_to_a_closed_app_can_have_another(folder: str) -> None:
    window = Window("only")
    with segue.App("com.example.notes", types=[TYPE]) as app:
        window.user_activity = note(app)
    assert window.user_activity is None
    with segue.App("com.example.notes", types=[TYPE]) as app:
        window.user_activity = note(app)
        app.main_responder = window
        assert app.current_activity is window.user_activity is not None


def test_before_the_app_is_open_there_are_no_responders() -> None:
    app = segue.App("com.example.notes", types=[TYPE])
    with pytest.raises(segue.InvalidStateError):
        segue.Responder(app)
    with pytest.raises(segue.ArgumentTypeError):
        segue.Responder(None)  # type: ignore[arg-type]
    with pytest.raises(segue.ArgumentTypeError):
        segue.Responder(app, update=3)  # type: ignore[arg-type]


class Ancestors(segue.ResponderMixin):
    """As widgets: what is next is not known to the mixin."""

    parent: segue.ResponderMixin | None = None

    @property
    def next_user_activity_responder(self) -> segue.ResponderMixin | None:
        return self.parent

    @next_user_activity_responder.setter
    def next_user_activity_responder(self, responder: segue.ResponderMixin | None) -> None:
        self.parent = responder


def test_responders_that_no_app_knows_yet_make_no_loop(segue_fleet: Fleet) -> None:
    origin, _ = origin_and_reader(segue_fleet)
    first, second, third = Window("first"), Window("second"), Window("third")
    first.next_user_activity_responder = second
    second.next_user_activity_responder = third
    for last in (first, second, third):
        with pytest.raises(segue.InvalidArgumentError, match="loop"):
            third.next_user_activity_responder = last
    third.user_activity = note(origin)
    for _ in range(2):
        origin.main_responder = first
    assert origin.current_activity is third.user_activity


def test_a_loop_of_responders_that_say_themselves_what_is_next_is_an_error_each_time(segue_fleet: Fleet) -> None:
    origin, _ = origin_and_reader(segue_fleet)
    one, other = Ancestors(), Ancestors()
    one.parent = other
    origin.main_responder = one
    other.parent = one
    for _ in range(2):
        with pytest.raises(segue.InvalidArgumentError, match="loop"):
            origin.main_responder = one
        with pytest.raises(segue.InvalidArgumentError, match="loop"):
            origin.current_activity  # noqa: B018


def test_a_chain_of_any_length_is_attached(segue_fleet: Fleet) -> None:
    origin, _ = origin_and_reader(segue_fleet)
    views = [Silent() for _ in range(2000)]
    for view, behind in zip(views, views[1:]):
        view._next = weakref.ref(behind)  # as the setter does, without its look for loops
    origin.main_responder = views[0]
    views[-1].user_activity = note(origin)
    origin.main_responder = views[0]
    assert origin.current_activity is views[-1].user_activity
