# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
        self._timer: Any = None
        """The one source of GLib that wakes it up for a timer: for the earliest one."""
        self._timer_at: float | None = None
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
        self._follow_timers()
        return handle

    def close(self) -> None:
        """Closes it; not from inside of one of its callbacks."""
        if not self.is_closed():
            self._watch.destroy()
            self._set_timer(None)
        super().close()

    def _follow_timers(self) -> None:
        """Sets the source to the earliest timer that is not cancelled."""
        timers: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if timers and timers[0].cancelled():  # asyncio drops it in its next turn
            self._set_timer(min((each.when() for each in timers if not each.cancelled()), default=None))
        else:
            self._set_timer(timers[0].when() if timers else None)

    def _set_timer(self, when: float | None) -> None:
        if when == self._timer_at:
            return
        if self._timer is not None:
            self._timer.destroy()
        self._timer, self._timer_at = None, when
        if when is not None:
            wait = max(0, -int((self.time() - when) * 1000 // 1))  # rounded up: not before its time
            self._timer = self._glib.timeout_source_new(min(wait, 0xFFFF_FFFF))
            self._add(self._timer, lambda: False)

    def _add(self, source: Any, again: Callable[[], bool]) -> None:
        def turn(*_: Any) -> bool:
            if source is self._timer:  # it fires once
                self._timer = self._timer_at = None
            if self.is_closed():
                return False  # GLib.SOURCE_REMOVE
            if running_loop() is not None:  # a coroutine iterates the main loop
                self._was_missed = True
                return again()
            self._is_due = self._was_missed = False
            self.stop()  # after one turn, which does not wait
            self.run_forever()
            if not self.is_closed():
                self._follow_timers()
            if self._was_missed and not self.is_closed():
                self.call_soon(_nothing)
            return again()

        source.set_priority(self._glib.PRIORITY_DEFAULT)
        source.set_callback(turn)
        source.attach(self._context)


def _nothing() -> None:
    """The turn is what matters."""
