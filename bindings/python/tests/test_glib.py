# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GLib adapter. Needs PyGObject, which is a package of the system (python3-gi)."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Log, Opener

import segue
import segue.glib
from segue._glib_loop import GLibLoop

pytest.importorskip("gi", reason="needs python3-gi")
with warnings.catch_warnings():  # it imports in a way that Python will drop
    warnings.simplefilter("ignore", ImportWarning)
    from gi.repository import GLib, GObject


def test_a_main_loop_dispatches(opened: Opener, log: Log) -> None:
    context = GLib.MainContext.new()
    loop = GLib.MainLoop.new(context, False)
    late = GLib.timeout_source_new(int(PATIENCE * 1000))
    late.set_callback(lambda *_: loop.quit())
    late.attach(context)

    origin, receiver = opened(), opened()
    receipts: list[segue.Receipt] = []
    activity = segue.Activity(origin, TYPE, title="Shopping list")

    @activity.on_continuation_ended
    def ended(receipt: segue.Receipt) -> None:
        receipts.append(receipt)
        loop.quit()

    @receiver.on_offer
    def offered(kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        if kind == segue.OfferEventKind.APPEARED:
            receiver.continue_(offer)
            raise LookupError("is reported")

    @receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> bool:
        return activity.title == "Shopping list"

    for app in (origin, receiver):
        segue.glib.attach(app, context)
    with pytest.raises(segue.InvalidStateError):
        segue.glib.attach(origin, context)
    activity.become_current()
    loop.run()
    late.destroy()
    assert [receipt.outcome for receipt in receipts] == [segue.Outcome.RESTORED]
    assert "is reported" in str(log)


def test_detaching_leaves_the_app_to_others(opened: Opener) -> None:
    app = opened()
    detach = segue.glib.attach(app)
    detach()
    detach = segue.glib.attach(app)
    detach()
    app.ready().wait(PATIENCE)


def test_an_object_of_glib_is_a_responder(opened: Opener) -> None:
    class View(segue.ResponderMixin, GObject.Object):  # type: ignore[misc]
        def update_user_activity_state(self, activity: segue.Activity) -> None:
            activity.user_info["line"] = 7

    app = opened()
    view, window = View(), View()
    view.next_user_activity_responder = window
    window.user_activity = segue.Activity(app, TYPE)
    app.main_responder = view
    assert app.current_activity is window.user_activity
    app.main_responder = None
    while window.user_activity is not None and window.user_activity.user_info.get("line") != 7:
        app.dispatch(PATIENCE)
    assert window.user_activity is not None


@pytest.fixture
def main_loop() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Runs the main loop until a condition holds."""
    context = GLib.MainContext.default()

    def run(condition: Callable[[], Any]) -> None:
        late: list[bool] = []
        timer = GLib.timeout_source_new(int(PATIENCE * 1000))
        timer.set_callback(lambda *_: late.append(True))
        timer.attach(context)
        while not condition():
            assert not late, "it does not come true"
            context.iteration(True)
        timer.destroy()

    yield run


def offered(origin: segue.App) -> list[segue.Receipt]:
    """Offers an activity; returns its receipts."""
    receipts: list[segue.Receipt] = []
    activity = segue.Activity(origin, TYPE, title="Shopping list")
    activity.on_continuation_ended(receipts.append)
    origin.kept = activity  # type: ignore[attr-defined]
    activity.become_current()
    return receipts


class Notes(segue.App):
    kept: Any = None

    def on_offer(self, kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        if kind == segue.OfferEventKind.APPEARED:
            self.kept = self.continue_(offer)


@pytest.mark.parametrize(
    "answer, outcome, reason",
    [
        (lambda continuation: continuation.complete(True), segue.Outcome.RESTORED, ""),
        (lambda continuation: continuation.complete(False), segue.Outcome.DECLINED, "not handled"),
        (lambda continuation: continuation.fail("no room"), segue.Outcome.FAILED, "no room"),
    ],
)
def test_a_continuation_is_answered_later(
    opened: Opener, main_loop: Any, answer: Any, outcome: segue.Outcome, reason: str
) -> None:
    origin, receiver = opened(kind=Notes, types=[]), opened(kind=Notes)

    @receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> Any:
        GLib.idle_add(lambda: answer(continuation))
        return segue.LATER

    for app in (origin, receiver):
        segue.glib.attach(app)
    receipts = offered(origin)
    main_loop(lambda: receipts)
    assert (receipts[0].outcome, receipts[0].reason) == (outcome, reason)
    kept = receiver.kept  # type: ignore[attr-defined]
    assert kept.done, "who waits for the result has it, too"
    if outcome == segue.Outcome.FAILED:
        with pytest.raises(segue.HandoffFailedError, match="no room"):
            kept.wait(0)


def test_coroutines_run_in_the_main_loop(opened: Opener, main_loop: Any, log: Log) -> None:
    origin, receiver = opened(kind=Notes, types=[]), opened(kind=Notes)
    steps: list[str] = []

    @receiver.on_continue
    async def take(activity: segue.Activity, continuation: segue.Continuation) -> bool:
        before = GLib.get_monotonic_time()
        await asyncio.sleep(0.05)
        assert GLib.get_monotonic_time() - before >= 50_000
        steps.append("slept")
        steps.append((await activity.request(b"ask")).decode())
        await asyncio.gather(asyncio.sleep(0), receiver.ready())
        return True

    @origin.on_request
    async def answer(activity: segue.Activity, data: bytes) -> bytes:
        await asyncio.sleep(0)
        return data.upper()

    @receiver.on_connection
    async def connected(connection: segue.Connection) -> None:
        raise LookupError("is reported")

    for app in (origin, receiver):
        segue.glib.attach(app)
    receipts = offered(origin)
    main_loop(lambda: receipts)
    assert receipts[0].outcome == segue.Outcome.RESTORED
    assert steps == ["slept", "ASK"]
    assert "is reported" in str(log)


def test_closing_cancels_the_coroutines_that_run(opened: Opener, main_loop: Any) -> None:
    app = opened()
    ended: list[str] = []

    @app.on_connection
    async def connected(connection: segue.Connection) -> None:
        ended.append("begun")
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    segue.glib.attach(app)
    main_loop(lambda: ended)
    app.close()
    assert ended == ["begun", "cancelled"]
    assert not app._tasks


def test_a_coroutine_may_close_its_app_and_iterate_the_main_loop(opened: Opener, main_loop: Any) -> None:
    app = opened()
    ended: list[str] = []

    @app.on_connection
    async def connected(connection: segue.Connection) -> None:
        if ended:
            return
        ended.append("begun")
        waited: list[bool] = []
        asyncio.get_running_loop().call_soon(ended.append, "called")
        GLib.timeout_add(20, lambda: waited.append(True))
        while not waited:  # as a dialog does
            GLib.MainContext.default().iteration(True)
        await asyncio.sleep(0.01)
        app.close()
        ended.append("closed")

    segue.glib.attach(app)
    main_loop(lambda: "closed" in ended and not app._tasks)
    assert ended == ["begun", "called", "closed"]


class Counting:
    """GLib, whose sources for timers are counted."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(GLib, name)

    def timeout_source_new(self, wait: int) -> Any:
        source = GLib.timeout_source_new(wait)
        self.made.append(source)
        return source

    @property
    def live(self) -> int:
        return sum(not source.is_destroyed() for source in self.made)


def test_a_loop_has_one_source_for_all_timers() -> None:
    context = GLib.MainContext.new()
    loop = GLibLoop(context)
    loop._glib = counting = Counting()
    order: list[int] = []
    far = [loop.call_later(3_600 + number, order.append, number) for number in range(100)]
    near = loop.call_later(0.03, order.append, 2)
    loop.call_later(0.01, order.append, 1)
    cancelled = loop.call_later(0.02, order.append, 3)
    assert counting.live == 1
    cancelled.cancel()
    while len(order) < 2:
        context.iteration(True)
    assert order == [1, 2] and not near.cancelled()
    assert counting.live == 1, "for the earliest of those that are left"
    for timer in far:
        timer.cancel()
    loop.call_soon(order.append, 4)
    while len(order) < 3:
        context.iteration(True)
    assert counting.live == 0, "none that is cancelled wakes it up"
    loop.call_later(3_600, order.append, 5)
    loop.close()
    assert counting.live == 0


def test_a_wait_that_is_over_leaves_no_timer(opened: Opener, main_loop: Any) -> None:
    app = opened()
    counted: list[int] = []
    loops: list[GLibLoop] = []

    @app.on_connection
    async def connected(connection: segue.Connection) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, GLibLoop)
        loop._glib = counting = Counting()
        for _ in range(50):
            await asyncio.wait_for(asyncio.sleep(0), 3_600)
        loops.append(loop)
        await asyncio.sleep(0)
        counted.append(counting.live)

    segue.glib.attach(app)
    main_loop(lambda: counted)
    assert counted == [0]
    app.close()
