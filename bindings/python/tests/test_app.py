# SPDX-License-Identifier: Apache-2.0
"""Apps in one process with host delivery: offers, continuing, and what callbacks may do."""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
import time
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Log, Opener, run_until

import segue
from segue import Connection, OfferEventKind, Outcome


class Pair:
    """An origin with a current activity, and a receiver that sees its offer."""

    def __init__(self, opened: Opener, receiver: type[segue.App] = segue.App, **options: Any):
        self.origin = opened()
        self.receiver = opened(kind=receiver, **options)
        self.receipts: list[segue.Receipt] = []
        self.activity = segue.Activity(self.origin, TYPE, title="Shopping list", user_info={"line": 1})
        self.activity.on_continuation_ended(self.receipts.append)
        self.activity.become_current()
        self.until(lambda: self.receiver.offers)
        self.offer = self.receiver.offers[0]

    def until(self, condition: Any) -> None:
        run_until([self.origin, self.receiver], condition)

    def continue_(self, timeout: float | None = None) -> segue.Continuation:
        """Continues to the end, whatever it is."""
        continuation = self.receiver.continue_(self.offer, timeout)
        self.until(lambda: continuation.done)
        return continuation

    def receipt(self) -> segue.Receipt:
        self.until(lambda: self.receipts)
        return self.receipts.pop()


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


def test_a_continued_activity_is_a_live_object_of_the_receiver(opened: Opener) -> None:
    """R3.12"""
    pair = Pair(opened)
    continued = pair.continue_().wait()
    origin = continued.continued_from
    assert origin is not None
    assert (origin.activity_id, origin.app_name, origin.stale) == (pair.activity.id, "com.example.notes", False)
    assert continued.id != pair.activity.id
    assert continued.app is pair.receiver
    assert pair.receipt().outcome == Outcome.RESTORED
    continued.title = "Changed"
    continued.become_current()
    pair.until(lambda: [offer.title for offer in pair.origin.offers] == ["Changed"])


def test_a_handler_may_not_handle_it(opened: Opener) -> None:
    """R3.6"""

    class Notes(segue.App):
        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
            return False

    pair = Pair(opened, Notes)
    pair.continue_()
    assert pair.receipt().outcome == Outcome.DECLINED


def test_a_receiver_may_decline_before_anything_moves(opened: Opener) -> None:
    """R3.7"""
    failed: list[Any] = []

    class Picky(segue.App):
        def on_will_continue(self, type: str, continuation: segue.Continuation) -> None:
            continuation.decline("no window is free")

        def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
            failed.append((type, error, continuation))

    pair = Pair(opened, Picky)
    continuation = pair.continue_()
    receipt = pair.receipt()
    assert (receipt.outcome, receipt.reason) == (Outcome.DECLINED, "no window is free")
    [(type, error, attempt)] = failed
    assert (type, attempt) == (TYPE, continuation)
    assert isinstance(error, segue.DeclinedError)
    with pytest.raises(segue.DeclinedError, match="no window is free"):
        continuation.wait()
    with pytest.raises(segue.InvalidStateError):
        continuation.decline("too late")


def test_a_block_answers_when_it_is_done(opened: Opener) -> None:
    pair = Pair(opened)
    continuation = pair.continue_()
    with continuation as activity:
        assert activity.user_info["line"] == 1
        assert not pair.receipts
    assert pair.receipt().outcome == Outcome.RESTORED
    with pytest.raises(ZeroDivisionError), pair.continue_():
        raise ZeroDivisionError
    assert pair.receipt().outcome == Outcome.DECLINED


def test_a_result_that_nobody_takes_was_not_handled(opened: Opener) -> None:
    pair = Pair(opened)
    pair.continue_()
    gc.collect()
    assert pair.receipt().outcome == Outcome.DECLINED


def test_each_restorable_object_gets_the_activity(opened: Opener) -> None:
    """R3.4, R3.6"""
    restored: list[Any] = []

    class Window:
        def restore_state(self, activity: segue.Activity) -> None:
            restored.append(("window", activity))

    class Notes(segue.App):
        fails = False

        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
            restorable = segue.Restorable(lambda activity: restored.append(("restorable", activity)))
            continuation.restore([Window(), restorable, lambda activity: not self.fails])

    pair = Pair(opened, Notes)
    activity = pair.continue_().wait()
    assert pair.receipt().outcome == Outcome.RESTORED
    assert restored == [("window", activity), ("restorable", activity)]
    assert isinstance(pair.receiver, Notes)
    pair.receiver.fails = True
    pair.continue_()
    assert pair.receipt().outcome != Outcome.RESTORED


def test_a_second_continuation_cancels_the_first(opened: Opener) -> None:
    """R3.3"""
    pair = Pair(opened)
    first = pair.receiver.continue_(pair.offer)
    second = pair.receiver.continue_(pair.offer)
    pair.until(lambda: first.done and second.done)
    with pytest.raises(segue.UserCancelledError) as raised:
        first.wait()
    assert raised.value.foundation_code == 3072
    assert second.wait().title == "Shopping list"


def test_a_continuation_can_be_cancelled(opened: Opener) -> None:
    pair = Pair(opened)
    continuation = pair.receiver.continue_(pair.offer)
    continuation.cancel()
    pair.until(lambda: continuation.done)
    with pytest.raises(segue.UserCancelledError):
        continuation.wait()
    continuation.cancel()


def test_a_failure_that_nobody_hears_of_is_logged(opened: Opener, log: Log) -> None:
    """R3.13"""
    pair = Pair(opened)
    pair.receiver.continue_(pair.offer).cancel()
    pair.until(lambda: log)
    [(level, line)] = log
    assert level == logging.ERROR
    assert TYPE in line
    assert "USER_CANCELLED" in line


def test_the_origin_may_not_answer_in_time(opened: Opener) -> None:
    """R3.9, R3.11"""
    pair = Pair(opened)
    pair.activity.on_will_save(lambda: None)
    continuation = pair.receiver.continue_(pair.offer, timeout=0.05)
    run_until([pair.receiver], lambda: continuation.done)  # the origin's callbacks do not run
    with pytest.raises(segue.Error) as raised:
        continuation.wait()
    assert raised.value.code in ("REMOTE_APPLICATION_TIMED_OUT", "HANDOFF_FAILED")
    with pytest.raises(segue.InvalidArgumentError):
        pair.receiver.continue_(pair.offer, timeout=3601)


# ---- exceptions ----


def test_what_a_callback_raises_is_raised_by_dispatch(opened: Opener) -> None:
    class Mistake(Exception):
        pass

    pair = Pair(opened)

    @pair.activity.on_continuation_ended
    def end(receipt: segue.Receipt) -> None:
        pair.receipts.append(receipt)
        raise Mistake("ending")

    @pair.receiver.on_will_continue
    def begin(type: str, continuation: segue.Continuation) -> None:
        raise Mistake("beginning")

    @pair.receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> None:
        raise Mistake("continuing")

    continuation = pair.receiver.continue_(pair.offer)
    raised: list[str] = []
    while len(raised) < 3:
        try:
            pair.until(lambda: len(raised) == 3)
        except Mistake as mistake:
            raised.append(str(mistake))
    assert sorted(raised) == ["beginning", "continuing", "ending"]
    assert pair.receipts[0].outcome == Outcome.DECLINED, "a handler that raises has not handled it"
    with pytest.raises(Mistake, match="continuing"):
        continuation.wait()


def test_the_first_of_several_is_raised_and_the_others_are_logged(opened: Opener, log: Log) -> None:
    app = opened()
    app._failed(KeyError("first"))
    app._failed(KeyError("second"))
    with pytest.raises(KeyError, match="first"):
        app.dispatch(0)
    assert "second" in str(log)
    app.dispatch(0)


def test_closing_raises_what_its_callbacks_raise(opened: Opener) -> None:
    app = opened()
    activity = segue.Activity(app, TYPE)

    @activity.on_will_save
    def save() -> None:
        raise LookupError("while closing")

    activity.become_current()
    with pytest.raises(LookupError, match="while closing"):
        app.close()
    app.close()


# ---- dispatching ----


def test_ready_waits_for_the_hub(opened: Opener) -> None:
    app = opened()
    told: list[Connection] = []
    app.on_connection(told.append)
    app.ready().wait(PATIENCE)
    assert app.connection == Connection.READY
    assert app.ready().done
    assert told[-1] == Connection.READY


def test_dispatch_waits_no_longer_than_asked(opened: Opener) -> None:
    app = opened()
    app.ready().wait(PATIENCE)
    began = time.monotonic()
    while app.dispatch(0.05):
        began = time.monotonic()
    assert time.monotonic() - began >= 0.05
    with pytest.raises(TimeoutError):
        segue.Pending(app).wait(0.01)


def test_another_thread_can_wake_and_stop_it(opened: Opener) -> None:
    app = opened()
    app.ready().wait(PATIENCE)
    threading.Thread(target=app.stop).start()
    app.run()
    app.wake()
    assert app.dispatch(PATIENCE) == 0


def test_closing_ends_run_in_another_thread(opened: Opener) -> None:
    app = opened()
    running = threading.Event()
    app.on_connection(lambda connection: running.set())
    thread = threading.Thread(target=app.run)
    thread.start()
    assert running.wait(PATIENCE)
    app.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_signal_handlers_run_while_it_waits(opened: Opener) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: Any) -> None:
        raise Interrupted

    app = opened()
    app.ready().wait(PATIENCE)
    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupted):
            app.run()
    finally:
        signal.signal(signal.SIGALRM, former)


def test_neither_dispatch_nor_close_is_possible_in_a_callback(opened: Opener) -> None:
    app = opened()
    errors: list[str] = []

    @app.on_connection
    def connected(connection: Connection) -> None:
        for call in (app.close, app.dispatch, app.run):
            try:
                call()
            except segue.BusyError as error:
                errors.append(error.code)

    run_until([app], lambda: errors)
    assert errors == ["BUSY"] * 3


def test_callbacks_can_run_on_a_thread_of_the_library(opened: Opener, log: Log) -> None:
    threads: set[int] = set()

    class Notes(segue.App):
        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
            threads.add(threading.get_ident())
            raise LookupError("on a thread")

    origin = opened(delivery="thread")
    receiver = opened(kind=Notes, delivery="thread")
    ended = threading.Event()
    activity = segue.Activity(origin, TYPE)
    activity.on_continuation_ended(lambda receipt: ended.set())
    activity.become_current()
    appeared = threading.Event()
    receiver.on_offer(lambda kind, offer: appeared.set())
    assert receiver.offers or appeared.wait(PATIENCE)
    continuation = receiver.continue_(receiver.offers[0])
    with pytest.raises(LookupError):
        continuation.wait(PATIENCE)
    assert ended.wait(PATIENCE)
    assert threads and threading.get_ident() not in threads
    assert "on a thread" in str(log), "nothing else could raise it"
    with pytest.raises(segue.InvalidStateError):
        receiver.dispatch(0)
    with pytest.raises(segue.InvalidStateError):
        receiver.fileno()


def test_without_a_loop_an_async_handler_is_an_error(opened: Opener) -> None:
    app = opened()

    async def connected(connection: Connection) -> None:
        raise AssertionError

    app.on_connection(connected)
    with pytest.raises(segue.InvalidStateError, match="async with"):
        run_until([app], lambda: False)


# ---- the end ----


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
    if not ready.done:
        app.close()
        with pytest.raises(segue.CancelledError):
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
