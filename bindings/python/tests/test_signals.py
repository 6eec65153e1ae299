# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signal handlers that raise, as Ctrl-C does, or use the package, wherever they come."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from conftest import PATIENCE, Opener
from interrupting import handled_everywhere

import segue


@pytest.fixture
def app(opened: Opener) -> segue.App:
    app = opened(types=[])
    app.ready().wait(PATIENCE)
    while app.dispatch(0.2):
        pass
    return app


def test_an_interrupt_leaves_no_turn_taken(app: segue.App) -> None:
    """Else this thread would take its next call for one inside a callback, and no other one would get a turn."""
    places = 0
    for places in handled_everywhere(lambda: app.dispatch(0)):
        assert app._turns.holder is None, places
    assert places > 10
    for places in handled_everywhere(app._dispatch_reporting):
        assert app._turns.holder is None, places
    assert places > 5
    dispatched: list[int] = []
    thread = threading.Thread(target=lambda: dispatched.append(app.dispatch(0.01)))
    thread.start()
    thread.join(PATIENCE)
    assert dispatched


def test_a_thread_gets_the_turn_that_an_interrupted_call_has_left(app: segue.App, monkeypatch: Any) -> None:
    """Though that has told nobody."""
    taken, left = threading.Event(), threading.Event()

    def give(turn: Any) -> None:
        raise KeyboardInterrupt

    def dispatch_due() -> int:
        taken.set()
        assert left.wait(PATIENCE)
        monkeypatch.undo()
        monkeypatch.setattr(app._turns, "give", give)
        return 0

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            app.dispatch(0)

    monkeypatch.setattr(app, "_dispatch_due", dispatch_due)
    first = threading.Thread(target=interrupted)
    first.start()
    assert taken.wait(PATIENCE)
    second = threading.Thread(target=lambda: app._turns.take(_turn(), lambda: False, PATIENCE))
    second.start()
    left.set()
    for each in (first, second):
        each.join(PATIENCE / 2)
        assert not each.is_alive()


def _turn() -> Any:
    from segue._turns import Turn

    return Turn()


def test_an_interrupted_wait_waits_no_longer(app: segue.App) -> None:
    """Else a failure would count as told, and stay out of the log."""
    pending: segue.Pending[None] = segue.Pending(app)

    def wait() -> None:
        with pytest.raises(TimeoutError):
            pending.wait(0)

    places = 0
    for places in handled_everywhere(wait):
        assert pending._waiting == 0, places
    assert places > 10
    pending._end(None, ValueError("it failed"))
    assert not pending._is_told
    with pytest.raises(ValueError, match="it failed"):
        pending.wait()


@pytest.mark.parametrize("delivery", ["host", "thread"])
def test_a_signal_handler_can_cancel_what_its_thread_waits_for(opened: Opener, delivery: str) -> None:
    app = opened(types=[], delivery=delivery)
    app.ready().wait(PATIENCE)
    made: list[segue.Pending[int]] = []
    told: list[Any] = []

    def wait() -> None:
        made.append(segue.Pending(app))
        try:
            told.append(made[-1].wait(0.001))
        except (segue.UserCancelledError, TimeoutError) as error:
            told.append(type(error))

    for _ in handled_everywhere(wait, lambda: made[-1].cancel() if made else None):
        assert told[-1] is (segue.UserCancelledError if made[-1].done else TimeoutError)
    assert segue.UserCancelledError in told


def test_the_first_end_counts_also_if_a_signal_handler_comes_in_between(app: segue.App) -> None:
    made: list[segue.Pending[int]] = []

    def end() -> None:
        made.append(segue.Pending(app))
        made[-1]._end(1)

    ends = set()
    for place in handled_everywhere(end, lambda: made[-1].cancel() if made and hasattr(made[-1], "_lock") else None):
        pending = made[-1]
        assert pending.done, place
        assert (pending._result == 1) == (pending._error is None), place
        ends.add(pending._result)
    assert ends == {1, None}
