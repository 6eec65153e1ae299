# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Waits of threads for each other, of which signal handlers may be part.

Python runs a signal handler between two steps of the main thread. If it uses what that thread was just using, a lock
inside of it that is not re-entrant is never free again: `threading.Event` and `threading.Condition` have such locks.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, Callable


class Waiters:
    """Threads that wait to be notified."""

    def __init__(self) -> None:
        self._locks: list[Any] = []
        """One for each thread, which waits until it is free. Each operation of a list is one step."""

    def wait(self, is_over: Callable[[], bool], timeout: float | None) -> None:
        """Waits for a notification, unless `is_over` is true; may return earlier.

        timeout: seconds
        """
        lock = threading.Lock()
        lock.acquire()
        self._locks.append(lock)
        try:
            # A notification that came before the lock was in the list has made that true.
            if not is_over():
                lock.acquire(timeout=-1 if timeout is None else min(max(0.0, timeout), threading.TIMEOUT_MAX))
        finally:
            with suppress(ValueError):
                self._locks.remove(lock)

    def notify(self) -> None:
        """Makes all threads that wait now go on."""
        while self._locks:
            with suppress(IndexError):
                self._locks.pop().release()


class Event:
    """A flag that threads wait for."""

    def __init__(self) -> None:
        self.flag = False
        """Assigning it is one step; then call `set`."""
        self._waiters = Waiters()

    def is_set(self) -> bool:
        return self.flag

    def set(self) -> None:
        self.flag = True
        self._waiters.notify()

    def wait(self, timeout: float | None) -> bool:
        """Waits until it is set; may return earlier. Returns whether it is.

        timeout: seconds
        """
        if not self.flag:
            self._waiters.wait(self.is_set, timeout)
        return self.flag
