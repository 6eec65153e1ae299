# SPDX-License-Identifier: Apache-2.0
"""The turns of threads that run an app's callbacks: one at a time."""

from __future__ import annotations

import threading
from typing import Callable


class Turns:
    """Lets threads that dispatch take turns. A thread that only waits for a result needs no turn."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.holder: int | None = None
        """The thread whose turn it is."""

    def take(self, until: Callable[[], bool], timeout: float | None) -> bool:
        """Waits for the turn. False if another thread still has it, and the time is up, or `until` is true."""
        with self._changed:
            self._changed.wait_for(lambda: self.holder is None or until(), timeout)
            if self.holder is not None:
                return False
            self.holder = threading.get_ident()
            return True

    def take_now(self) -> bool:
        """Takes the turn if it is free; returns whether it did."""
        return self.take(lambda: True, 0)

    def give(self) -> None:
        with self._changed:
            self.holder = None
            self._changed.notify_all()

    def notify(self) -> None:
        """Makes the threads without the turn check their conditions."""
        with self._changed:
            self._changed.notify_all()
