# SPDX-License-Identifier: Apache-2.0
"""Which thread runs an app's callbacks: one at a time, whichever wait for something."""

from __future__ import annotations

import threading
from typing import Callable


class Turns:
    """Threads that would dispatch take turns. One that only waits for a result need not get one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.holder: int | None = None
        """The thread whose turn it is."""

    def take(self, until: Callable[[], bool], timeout: float | None) -> bool:
        """Waits for the turn. False: another thread has it still, and the time is up, or `until` is true."""
        with self._changed:
            self._changed.wait_for(lambda: self.holder is None or until(), timeout)
            if self.holder is not None:
                return False
            self.holder = threading.get_ident()
            return True

    def take_now(self) -> bool:
        """Whether nobody has it; if so, it is this thread's."""
        return self.take(lambda: True, 0)

    def give(self) -> None:
        with self._changed:
            self.holder = None
            self._changed.notify_all()

    def tell(self) -> None:
        """What somebody waits for may have come: those without the turn look."""
        with self._changed:
            self._changed.notify_all()
