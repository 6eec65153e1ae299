# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that race with callbacks, which run on another thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Opener

import segue
from segue import Outcome

ROUNDS = 300


def test_a_continuation_may_end_before_the_call_that_began_it_returns(opened: Opener) -> None:
    """R3.2: with callbacks on a thread of the library, each result reaches who asked for it."""
    origin, receiver = opened(delivery="thread"), opened(delivery="thread")
    activity = segue.Activity(origin, TYPE, user_info={"line": 1})
    outcomes: list[Outcome] = []
    ended = threading.Event()

    @activity.on_continuation_ended
    def end(receipt: segue.Receipt) -> None:
        outcomes.append(receipt.outcome)
        ended.set()

    activity.become_current()
    receiver.ready().wait(PATIENCE)
    offers = threading.Event()
    receiver.on_offer(lambda kind, offer: offers.set())
    assert receiver.offers or offers.wait(PATIENCE)
    [offer] = receiver.offers
    for _ in range(ROUNDS):
        ended.clear()
        assert receiver.continue_(offer).wait(PATIENCE).user_info["line"] == 1
        assert ended.wait(PATIENCE)
    assert outcomes == [Outcome.RESTORED] * ROUNDS
    assert not receiver._continuations


def test_a_continuation_that_is_known_late_is_the_one_that_has_ended(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, with the worst timing: the thread that continues sleeps before it knows the continuation."""
    from segue import _native

    origin, receiver = opened(delivery="thread"), opened(delivery="thread")
    activity = segue.Activity(origin, TYPE, user_info={"line": 1})
    activity.become_current()
    offers = threading.Event()
    receiver.on_offer(lambda kind, offer: offers.set())
    assert receiver.offers or offers.wait(PATIENCE)
    [offer] = receiver.offers
    real = _native.created
    told = threading.Event()
    receiver.on_will_continue(lambda type, continuation: told.set())

    def slow(function: Any, *arguments: Any) -> int:
        handle = real(function, *arguments)
        if function is _native.library.segue_app_continue:
            told.wait(0.3)
        return handle

    monkeypatch.setattr(_native, "created", slow)
    assert receiver.continue_(offer).wait(PATIENCE).user_info["line"] == 1


def test_one_thread_dispatches_and_another_waits(opened: Opener) -> None:
    """R3.2, with host delivery: `run` in one thread, `wait` in another."""
    origin, receiver = opened(delivery="thread"), opened()
    activity = segue.Activity(origin, TYPE, user_info={"line": 1})
    activity.become_current()
    receiver.ready().wait(PATIENCE)
    while not receiver.offers:
        receiver.dispatch(PATIENCE)
    [offer] = receiver.offers
    running = threading.Thread(target=receiver.run)
    running.start()
    try:
        for _ in range(ROUNDS):
            assert receiver.continue_(offer).wait(PATIENCE).user_info["line"] == 1
    finally:
        receiver.stop()
        running.join(PATIENCE)
    assert not running.is_alive()
