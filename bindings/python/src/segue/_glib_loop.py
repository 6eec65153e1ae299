# SPDX-License-Identifier: Apache-2.0
"""An asyncio loop that turns inside a main loop of GLib."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any, Callable

from ._loops import running_loop


class GLibLoop(asyncio.SelectorEventLoop):
    """Runs coroutines where GLib runs everything else: GLib watches the descriptor of its selector and the time of its
    timers, and each event makes it turn once. PyGObject has such a loop from version 3.50 on; Debian 12 has 3.42."""

    def __init__(self, context: Any) -> None:
        """
        context: a GLib.MainContext; None: the default one
        """
        from gi.repository import GLib

        self._glib = GLib
        self._context = context
        self._is_due = False
        """A turn is due as soon as GLib has nothing that is more urgent."""
        self._was_missed = False
        """GLib has asked for a turn inside of a turn."""
        selector = selectors.EpollSelector()
        super().__init__(selector)
        self._watch = GLib.unix_fd_source_new(selector.fileno(), GLib.IOCondition.IN)
        self._add(self._watch, lambda: True)  # GLib.SOURCE_CONTINUE

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        """As of any loop; GLib wakes up for it."""
        handle = super().call_soon(callback, *args, context=context)
        if not self._is_due:
            self._is_due = True
            self._add(self._glib.idle_source_new(), lambda: False)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """As of any loop; GLib wakes up for it."""
        handle = super().call_at(when, callback, *args, context=context)
        wait = max(0, -int((self.time() - when) * 1000 // 1))  # rounded up: not before its time
        self._add(self._glib.timeout_source_new(min(wait, 0xFFFF_FFFF)), lambda: False)
        return handle

    def close(self) -> None:
        """Closes it; not from inside of one of its callbacks."""
        if not self.is_closed():
            self._watch.destroy()
        super().close()

    def _add(self, source: Any, again: Callable[[], bool]) -> None:
        def turn(*_: Any) -> bool:
            if self.is_closed():
                return False  # GLib.SOURCE_REMOVE
            if running_loop() is not None:  # a coroutine iterates the main loop
                self._was_missed = True
                return again()
            self._is_due = self._was_missed = False
            self.stop()  # after one turn, which does not wait
            self.run_forever()
            if self._was_missed and not self.is_closed():
                self.call_soon(_nothing)
            return again()

        source.set_priority(self._glib.PRIORITY_DEFAULT)
        source.set_callback(turn)
        source.attach(self._context)


def _nothing() -> None:
    """The turn is what matters."""
