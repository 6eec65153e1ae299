# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The virtual fleet (R11.1): ordinary apps on simulated devices, in time that the test moves."""

from __future__ import annotations

import asyncio
import select
import signal
import time
from ctypes import byref, c_size_t
from typing import Any

import pytest
from conftest import TYPE, Log

import segue
from segue._native import library
from segue.testing import Fleet

pytestmark = pytest.mark.fleet

pytest_plugins = ["pytester"]


def two(fleet: Fleet, kind: type[segue.App] = segue.App) -> tuple[segue.App, segue.App]:
    """An editor on a phone, a viewer on a laptop."""
    phone, laptop = fleet.add_device("phone"), fleet.add_device("laptop")
    editor = phone.add_app("com.example.notes", kind, team="TEAM", types=[TYPE])
    viewer = laptop.add_app("com.example.viewer", kind, team="TEAM", types=[TYPE])
    return editor, viewer


def titles(app: segue.App) -> list[str | None]:
    return [offer.title for offer in app.offers]


def test_an_activity_is_continued_on_another_device(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    activity = segue.Activity(editor, TYPE, title="Shopping list", user_info={"line": 3})
    receipts: list[segue.Receipt] = []
    activity.on_continuation_ended(receipts.append)
    activity.become_current()
    segue_fleet.run()
    assert titles(viewer) == ["Shopping list"]
    assert viewer.offers[0].device_name == "phone"
    continued = viewer.continue_(viewer.offers[0]).wait()
    assert continued.user_info["line"] == 3
    segue_fleet.run()
    assert [(each.outcome, each.device_name) for each in receipts] == [(segue.Outcome.RESTORED, "laptop")]


def test_code_that_waits_works_unchanged(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    editor.ready().wait(5)
    viewer.ready().wait(5)
    assert segue_fleet.time < 5
    with pytest.raises(TimeoutError):
        began = segue_fleet.time
        segue.Pending[None](viewer).wait(10)
    assert segue_fleet.time - began == pytest.approx(10, abs=0.01)


def test_waiting_for_what_never_comes_ends(segue_fleet: Fleet) -> None:
    """The pings of linked devices repeat for ever, and are nothing to wait for."""
    editor, viewer = two(segue_fleet)
    segue.Activity(editor, TYPE, title="Draft").become_current()
    with pytest.raises(segue.InvalidStateError, match="nothing more happens"):
        while True:
            viewer.dispatch()
    with pytest.raises(segue.InvalidStateError, match="nothing more happens"):
        viewer.run()
    assert titles(viewer) == ["Draft"]
    assert segue_fleet.time < 60


def test_an_interrupt_in_any_callback_ends_the_call_that_advances_the_fleet(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    activity = segue.Activity(editor, TYPE, title="Draft")
    saves = 0

    @activity.on_will_save
    def save() -> None:
        nonlocal saves
        saves += 1
        if saves == 3:
            signal.raise_signal(signal.SIGINT)
        activity.needs_save = True  # so something will happen for ever, but not to the viewer

    activity.become_current()
    with pytest.raises(KeyboardInterrupt):
        while True:
            viewer.dispatch()
    assert saves == 3
    activity.invalidate()


def test_steps_come_to_an_end_although_linked_devices_ping_each_other(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    segue.Activity(editor, TYPE, title="Draft").become_current()
    while segue_fleet.step():
        assert segue_fleet.time < 60
    assert titles(viewer) == ["Draft"]
    # A step handles events from outside, and the pings go on.
    segue.Activity(editor, TYPE, title="Another").become_current()
    assert segue_fleet.step()
    while segue_fleet.step():
        pass
    assert titles(viewer) == ["Another"]
    assert segue_fleet.advance(60) > 0


def test_a_partition_is_silence_and_heals(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    phone, laptop = editor.device, viewer.device
    assert phone is not None and laptop is not None
    segue.Activity(editor, TYPE, title="Draft").become_current()
    segue_fleet.run()
    segue_fleet.partition(phone, laptop)
    segue_fleet.advance(5)
    assert titles(viewer) == ["Draft"]
    segue_fleet.advance(30)
    assert titles(viewer) == []
    segue_fleet.heal()
    segue_fleet.advance(2)
    assert titles(viewer) == ["Draft"]


def test_a_crash_is_noticed_by_silence(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    phone = editor.device
    assert phone is not None
    segue.Activity(editor, TYPE, title="Draft").become_current()
    segue_fleet.run()
    attempt = viewer.continue_(viewer.offers[0])
    phone.crash()
    with pytest.raises(segue.Error):
        attempt.wait()
    segue_fleet.advance(32)
    assert titles(viewer) == []
    with pytest.raises(segue.InvalidatedError):
        editor.set_foreground(True)
    phone.restart()
    again = phone.add_app("com.example.notes", team="TEAM", types=[TYPE])
    segue.Activity(again, TYPE, title="Second life").become_current()
    segue_fleet.advance(2)
    assert titles(viewer) == ["Second life"]


def test_killing_and_stopping_an_app(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)
    segue.Activity(editor, TYPE, title="Draft").become_current()
    segue_fleet.run()
    segue_fleet.stop(editor)
    attempt = viewer.continue_(viewer.offers[0])
    segue_fleet.advance(10)
    assert not attempt.done
    segue_fleet.resume(editor)
    assert attempt.wait().title == "Draft"
    segue_fleet.kill(editor)
    segue_fleet.advance(1)
    assert titles(viewer) == []


@pytest.mark.parametrize("how", ["kill", "crash"])
def test_what_waits_in_an_app_hears_that_its_process_is_gone(segue_fleet: Fleet, how: str) -> None:
    """A block, too, when it is left."""
    editor, viewer = two(segue_fleet)
    laptop = viewer.device
    assert laptop is not None
    segue.Activity(editor, TYPE, title="Draft").become_current()
    segue_fleet.run()
    with (
        pytest.raises(segue.CancelledError, match="the process of the app is gone"),
        viewer.continue_(viewer.offers[0]),
    ):
        late = laptop.add_app("com.example.late")
        ready = late.ready()
        if how == "kill":
            segue_fleet.kill(viewer)
            segue_fleet.kill(late)
        else:
            laptop.crash()
    with pytest.raises(segue.CancelledError, match="the process of the app is gone"):
        ready.wait()


def test_what_a_callback_raises_is_raised_by_the_call_that_moves_the_fleet(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)

    @viewer.on_offer
    def on_offer(kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        if kind == segue.OfferEventKind.APPEARED:
            raise ValueError("mine")

    segue.Activity(editor, TYPE).become_current()
    with pytest.raises(ValueError, match="mine"):
        segue_fleet.run()


def test_the_fleet_is_not_moved_inside_its_callbacks(segue_fleet: Fleet) -> None:
    editor, viewer = two(segue_fleet)

    @viewer.on_offer
    def on_offer(kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        segue_fleet.advance(1)

    segue.Activity(editor, TYPE).become_current()
    with pytest.raises(segue.BusyError):
        segue_fleet.run()


def test_a_fleet_that_cannot_be_closed_inside_a_callback_is_closed_afterwards() -> None:
    fleet = Fleet(1)
    editor, viewer = two(fleet)

    @viewer.on_offer
    def on_offer(*_: object) -> None:
        fleet.close()

    segue.Activity(editor, TYPE).become_current()
    with pytest.raises(segue.BusyError):
        fleet.run()
    assert "open" in repr(viewer)
    fleet.close()
    assert "closed" in repr(viewer) and "closed" in repr(editor)
    fleet.close()


def test_an_app_that_fails_while_it_closes_does_not_keep_the_others_open(log: Log) -> None:
    fleet = Fleet(1)
    apps = two(fleet)
    for app in apps:

        @app.on_connection
        def fail(connection: segue.Connection, name: str = app.device.name if app.device else "") -> None:
            raise ValueError(name)

    for app in apps:
        library.segue_app_dispatch(app._handle, 100, byref(c_size_t()))
    with pytest.raises(ValueError, match="phone"):
        fleet.close()
    assert all("closed" in repr(app) for app in apps)
    assert any("laptop" in line for _, line in log)


def test_async_handlers(segue_fleet: Fleet) -> None:
    import asyncio

    async def story() -> None:
        phone, laptop = segue_fleet.add_device("phone"), segue_fleet.add_device("laptop")
        editor = segue.App("com.example.notes", types=[TYPE], device=phone)
        viewer = segue.App("com.example.notes", types=[TYPE], device=laptop)
        async with editor, viewer:
            activity = segue.Activity(editor, TYPE, title="Draft")

            @activity.on_will_save
            async def on_will_save() -> None:
                await asyncio.sleep(0)
                activity.title = "Saved"

            activity.become_current()
            segue_fleet.run()
            continued = await segue_fleet.until(viewer.continue_(viewer.offers[0]))
            assert continued.title == "Saved"

    asyncio.run(story())


def played(seed: int) -> tuple[str, int]:
    fleet = Fleet(seed)
    fleet.play(devices=3, apps=5, events=40)
    fleet.check()
    return fleet.trace, fleet.trace_hash


def test_the_same_seed_gives_the_same_trace() -> None:
    trace, hash = played(7)
    assert (trace, hash) == played(7)
    assert hash != played(8)[1]
    value = 0xCBF29CE484222325
    for byte in trace.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    assert value == hash


def test_a_random_life_has_up_to_400_apps() -> None:
    crowd = Fleet(3)
    crowd.play(devices=1, apps=400, events=0)
    crowd.check()
    with pytest.raises(segue.InvalidArgumentError, match=r"1\.\.\.400 apps"):
        Fleet(3).play(devices=1, apps=401)


def test_bad_input_is_an_error(segue_fleet: Fleet) -> None:
    phone = segue_fleet.add_device("phone")
    other = Fleet(1).add_device("phone")
    cases: list[tuple[type[Exception], Any]] = [
        (segue.InvalidArgumentError, lambda: Fleet(-1)),
        (segue.InvalidArgumentError, lambda: segue_fleet.add_device("phone")),
        (segue.InvalidArgumentError, lambda: segue_fleet.add_device("")),
        (segue.InvalidArgumentError, lambda: segue_fleet.partition(phone, phone)),
        (segue.InvalidArgumentError, lambda: segue_fleet.partition(phone, other)),
        (segue.InvalidArgumentError, lambda: segue_fleet.link(phone, other)),
        (segue.InvalidArgumentError, lambda: segue_fleet.set_network(loss=2)),
        (segue.InvalidArgumentError, lambda: segue_fleet.set_network(delay=(2, 1))),
        (segue.InvalidArgumentError, lambda: segue_fleet.advance(1e9)),
        (segue.InvalidStateError, lambda: segue_fleet.play()),
    ]
    for kind, call in cases:
        with pytest.raises(kind):
            call()
    phone.crash()
    with pytest.raises(segue.InvalidStateError):
        phone.add_app("com.example.late")


def test_the_fixture_shows_seed_and_trace_on_failure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.segue_seed(7)
        def test_mine(segue_fleet):
            app = segue_fleet.add_device("phone").add_app("com.example.notes")
            segue_fleet.run()
            assert segue_fleet.seed == 8
        """
    )
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["*segue_fleet, --segue-seed 7*", "*phone/notes*connection ready*", "*1 failed*"])
    assert pytester.runpytest_subprocess("--segue-seed", "8").ret == 0


def test_a_program_with_a_loop_of_its_own_is_told_in_its_loop(segue_fleet: Fleet) -> None:
    """R11.1: it has a descriptor, as everywhere."""
    editor, viewer = two(segue_fleet)
    told: list[str] = []

    @viewer.on_offer
    def on_offer(kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        told.append(offer.title or "")

    def readable() -> bool:
        return bool(select.select([viewer], [], [], 0)[0])

    viewer.fileno()
    segue.Activity(editor, TYPE, title="Draft").become_current()
    segue_fleet.run()
    assert readable() and not told
    viewer.dispatch(0)
    assert told == ["Draft"]
    assert not readable()


def test_the_fleet_waits_for_what_another_thread_does(segue_fleet: Fleet) -> None:
    async def story() -> None:
        device = segue_fleet.add_device("tablet")
        async with (
            segue.App("com.example.notes", types=[TYPE], device=device) as editor,
            segue.App("com.example.notes", types=[TYPE], device=device) as viewer,
        ):
            activity = segue.Activity(editor, TYPE, title="Draft")

            @activity.on_will_save
            async def save() -> None:
                await asyncio.to_thread(time.sleep, 0.05)  # the fleet has nothing to do meanwhile
                activity.user_info["line"] = 12

            activity.become_current()
            segue_fleet.run()
            continued = await segue_fleet.until(viewer.continue_(viewer.offers[0]), patience=20)
            assert continued.user_info["line"] == 12
            assert segue_fleet.time < 5
            segue_fleet.run()
            assert not segue_fleet.wait(0.01)

    asyncio.run(story())
