# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The threads that run callbacks, the calls that callbacks may make, and the effect of what they raise."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Log, Opener, run_until
from pair import Pair

import segue
from segue import Connection, Outcome


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
    assert (pair.receipts[0].outcome, pair.receipts[0].reason) == (Outcome.FAILED, "Mistake")
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
    # If the app was ready before it was asked, its event still waits.
    run_until([app], lambda: bool(told))
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
    while app.dispatch(0.2):  # callbacks that come with the hub, which `stop` leaves to the next one
        pass
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
