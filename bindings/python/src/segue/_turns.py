# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The turns of threads that run an app's callbacks: one at a time."""

from __future__ import annotations

import threading
import time
from typing import Callable

from ._events import Waiters

_CHECK = 1.0
"""Seconds after which a thread that waits for its turn looks whether that is free: an interrupted call may notify
none."""


class Turn:
    """A call that wants the turn, and may have it while it holds `lock`. A `with` statement frees that however the call
    ends: Ctrl-C can come before every call in a `finally`."""

    __slots__ = ("lock", "thread")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread = threading.get_ident()


class Turns:
    """Lets threads that dispatch take turns. A thread that only waits for a result needs no turn."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiters = Waiters()
        self._taken: Turn | None = None

    @property
    def holder(self) -> int | None:
        """The thread whose turn it is."""
        turn = self._taken
        return turn.thread if turn is not None and turn.lock.locked() else None

    def take(self, turn: Turn, until: Callable[[], bool], timeout: float | None) -> bool:
        """Waits for the turn. False if another thread still has it, and the time is up, or `until` is true."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.take_now(turn):
            left = _CHECK if end is None else min(_CHECK, end - time.monotonic())
            if left <= 0 or until():
                return False
            self._waiters.wait(lambda: self.holder is None or until(), left)
        return True

    def take_now(self, turn: Turn) -> bool:
        """Takes the turn if it is free; returns whether it did."""
        with self._lock:
            if self.holder is not None:
                return False
            self._taken = turn
            return True

    def give(self, turn: Turn) -> None:
        if self._taken is turn:
            self._taken = None
        self._waiters.notify()

    def notify(self) -> None:
        """Makes the threads without the turn check their conditions."""
        self._waiters.notify()
