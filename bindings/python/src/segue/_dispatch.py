# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an app's callbacks: in the thread that dispatches, in a loop, or on a thread of the library."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import select
import threading
import time
from contextlib import suppress
from ctypes import byref
from typing import Any, Callable

from . import _arguments, _native, _table
from ._events import Event
from ._hooks import LATER, NOT_LATER, is_later
from ._log import logger
from ._loops import needed_loop, running_loop, soon
from ._native import library
from ._turns import Turn, Turns
from .errors import (
    BusyError,
    CancelledError,
    Error,
    InvalidatedError,
    InvalidStateError,
)

_MOST_POLL_MS = (1 << 31) - 1
"""The most that poll(2) takes."""


_LOOP_CHECK = 0.25
"""Seconds after which a thread that waits for a loop looks whether that still runs: a loop tells nobody of its end."""

_advancing: list[Dispatcher] = []
"""Apps of virtual fleets that dispatch now, and so run callbacks of all apps of their fleet."""


class Dispatcher(_native.Handle):
    """An app as far as running its callbacks goes, with what they raise and the tasks of async ones."""

    _noun = "app"
    """By this, modules below the one of `App` recognise an app."""
    _opened = False
    _closed = False

    def __init__(self, handle: int, delivers_by_thread: bool, is_simulated: bool):
        """
        is_simulated: it is in a virtual fleet, and dispatching moves that
        """
        self._delivers_by_thread = delivers_by_thread
        self._is_simulated = is_simulated
        self._failures: list[BaseException] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[Any]] = set()
        self._detach: Callable[[], None] | None = None
        self._make_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
        """Makes the loop of async handlers when the first one runs: GLib's."""
        self._stopped = False
        self._woken = False
        self._is_leaving = False
        """Handlers are being cancelled because the app is about to close."""
        self._unanswered: list[object] = []
        """Answers that those handlers owe. Each holds a handle, whose release before the end would be an answer."""
        self._turns = Turns()
        super().__init__(handle)

    def _begin(self) -> None:
        """The app is open."""
        self._opened = True
        if not self._is_simulated and not self._delivers_by_thread:
            self._fd = self.fileno()

    def _end_now(self, end: Callable[[], object]) -> None:
        """Ends the app by a call, for which another thread that dispatches makes room; as it was if that is refused."""
        _native.refuse_in_log("an app cannot be closed")
        stopped, self._stopped = self._stopped, True
        if self._opened and not self._closed and not self._delivers_by_thread:
            library.segue_app_wake(self._handle)
        try:
            end()
        except BusyError:
            self._stopped = stopped
            raise
        self._closed = True
        self._unanswered.clear()

    def _leave_loop(self) -> None:
        if self._detach is not None:
            self._detach()
            self._detach = None
        self._loop = None if self._loop is not None and self._loop.is_closed() else self._loop

    async def _cancel_tasks(self) -> None:
        """Ends the handlers that run, before the app closes."""
        tasks = list(self._tasks)
        self._is_leaving = not self._closed
        try:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self._is_leaving = False

    def dispatch(self, timeout: float | None = None) -> int:
        """Runs the callbacks that are due, after waiting for the first of them; returns their number.

        timeout: seconds; 0: do not wait; None: wait for ever
        Returns 0 if the time is up, or `wake` was called. Raises what a callback raised. Ctrl-C works. If several
        threads dispatch, one does so at a time; the others wait for their turn.

        Raises: BusyError inside a handler of the logger `segue`, if it would wait: the thread may be the library's.
        """
        return self._dispatch_until(lambda: False, timeout)

    def _dispatch_until(self, until: Callable[[], bool], timeout: float | None) -> int:
        """Dispatches, or waits while another thread does, until `until` is true."""
        timeout = _arguments.patience(timeout)
        if self._is_simulated:
            return self._dispatch_in_fleet(timeout)
        may_wait = self._opened and not self._closed and not self._delivers_by_thread
        if not may_wait or self._turns.holder == threading.get_ident() or _native.is_forked():
            return self._dispatch_due()
        if timeout is None or timeout > 0:
            _native.refuse_in_log("nothing can be waited for")
        end = None if timeout is None else time.monotonic() + max(0.0, timeout)

        def need_not() -> bool:
            return self._woken or until()

        turn = Turn()
        with turn.lock:
            while self._turns.take(turn, need_not, None if end is None else end - time.monotonic()):
                try:
                    left = None if end is None else max(0.0, (end - time.monotonic()) * 1000)
                    if need_not():
                        left = 0
                    if left != 0:
                        # The wait is Python's, so that signal handlers run meanwhile.
                        poll = select.poll()
                        poll.register(self._fd, select.POLLIN)
                        poll.poll(None if left is None else min(left, _MOST_POLL_MS))
                    delivered = self._dispatch_due()
                finally:
                    self._turns.give(turn)
                if delivered or left == 0:
                    self._woken = False
                    return delivered
        self._woken = False
        return 0

    def _dispatch_in_fleet(self, timeout: float | None) -> int:
        """Advances the fleet until a callback has run. The timeout is in the fleet's time."""
        delivered = _table.Size()
        left = None if timeout is None else _arguments.milliseconds(max(0.0, timeout), "timeout", 1 << 63)
        most = -1 if left is None else min(left, _MOST_POLL_MS)
        try:
            _advancing.append(self)
            library.segue_app_dispatch(self._handle, most, byref(delivered))
        finally:
            if self in _advancing:  # otherwise Ctrl-C came first
                _advancing.remove(self)
        _native.release_deferred()
        self._raise_failure()
        if timeout is None and not delivered.value and not self._woken:
            raise InvalidStateError("nothing more happens in the fleet that this app could wait for")
        self._woken = False
        return delivered.value

    def run(self) -> None:
        """Runs callbacks until `stop` or `close`."""
        try:
            while not self._stopped:
                self._dispatch_until(lambda: self._stopped, None)
        except InvalidatedError:
            if not self._stopped:  # else another thread closes it
                raise
        finally:
            self._stopped = self._closed

    def stop(self) -> None:
        """Makes `run` return, or the next `run` return at once. For callbacks, signal handlers and other threads."""
        self._stopped = True
        self.wake()

    def wake(self) -> None:
        """Makes a waiting `dispatch` return; if none waits, the next one does not wait."""
        self._woken = True
        library.segue_app_wake(self._handle)
        self._turns.notify()

    def fileno(self) -> int:
        """Returns a descriptor that is readable while `dispatch` has something to do. Do not read from it."""
        return _native.take_int32(library.segue_app_fd, self._handle)

    def attach(self) -> None:
        """Lets the running asyncio loop dispatch from now on; `async with` does it. Closing detaches."""
        loop = needed_loop()
        if self._closed:
            raise InvalidatedError("the app is closed")
        if not self._opened:
            raise InvalidStateError("the app is not open yet")
        if self._loop is not None and self._loop.is_closed():
            self._leave_loop()
        if self._loop is not None or self._detach is not None:
            raise InvalidStateError("the app is attached to a loop already")
        if not self._is_simulated and not self._delivers_by_thread:
            loop.add_reader(self._fd, self._dispatch_reporting)
            self._detach = lambda: _remove_reader(loop, self._fd)
        self._loop = loop

    def _dispatch_due(self) -> int:
        delivered = _table.Size()
        library.segue_app_dispatch(self._handle, 0, byref(delivered))
        _native.release_deferred()
        self._raise_failure()
        return delivered.value

    def _dispatch_reporting(self) -> None:
        """Dispatches for loops: errors of callbacks do not end the loop."""
        turn = Turn()
        with turn.lock:
            if not self._turns.take_now(turn):
                return  # another thread does it
            try:
                self._dispatch_due()
            except Exception as error:
                self._report(error)
            finally:
                self._turns.give(turn)

    @property
    def _runs_itself(self) -> bool:
        """Whether callbacks run without a call of `dispatch` in this thread."""
        if self._delivers_by_thread:
            return True
        if self._loop is None or not self._loop.is_running():
            return False
        if running_loop() is self._loop:
            raise InvalidStateError("waiting would stop the loop that dispatches: use await")
        return True

    def _wait_elsewhere(self, ended: Event, timeout: float | None) -> None:
        """Waits for an event while callbacks run elsewhere, at most as long as these may be taken to do so."""
        if not self._delivers_by_thread:
            timeout = _LOOP_CHECK if timeout is None else min(timeout, _LOOP_CHECK)
        ended.wait(timeout)

    # ---- answers that come later, and errors ----

    def _finish_later(self, result: Any) -> None:
        """Runs handlers whose result is not awaited."""
        if is_later(result):
            self._run_later(result, lambda value, error: None)

    def _run_later(
        self, result: Any, done: Callable[[Any, BaseException | None], object], takes_later: bool = False
    ) -> Callable[[], object]:
        """Calls `done` with the result of a handler's coroutine or future, or with its exception, which is reported
        unless `done` returns True; so is an exception that `done` returns. Returns a function that cancels it, from any
        thread.

        takes_later: `done` takes `LATER`, which is an error otherwise
        """

        def ended(future: Any) -> None:
            self._later_done(future, done, takes_later)

        if isinstance(result, concurrent.futures.Future):
            result.add_done_callback(ended)
            return result.cancel
        if self._loop is None and self._make_loop is not None:
            self._loop = self._make_loop()
        loop = self._loop
        task: asyncio.Future[Any] | None = None

        def start() -> None:
            nonlocal task
            task = asyncio.ensure_future(result)
            self._tasks.add(task)
            task.add_done_callback(ended)

        def cancel() -> None:
            if task is not None:
                task.cancel()

        def cancel_soon() -> None:
            if loop is not None:
                soon(loop, cancel)

        if loop is not None and running_loop() is loop:
            start()
        elif loop is None or not soon(loop, start):
            if inspect.iscoroutine(result):
                result.close()
            raise InvalidStateError("an async handler needs a loop: open the app with async with, or attach it")
        return cancel_soon

    def _answer_later(
        self, result: Any, answer: Callable[[Any, BaseException | None], object], takes_later: bool = False
    ) -> Callable[[], object]:
        """Does the same for an answer that another app waits for. A handler that is cancelled because the app is about
        to close gives none: closing ends the attempt itself, and says so (R3.14)."""

        def done(value: Any, error: BaseException | None) -> object:
            if self._is_leaving and isinstance(error, CancelledError):
                self._unanswered.append(answer)
                return None
            return answer(value, error)

        return self._run_later(result, done, takes_later=takes_later)

    def _later_done(self, future: Any, done: Callable[[Any, BaseException | None], object], takes_later: bool) -> None:
        self._tasks.discard(future)
        error: BaseException | None = None if future.cancelled() else future.exception()
        result = None if future.cancelled() or error is not None else future.result()
        if result is LATER and not takes_later:
            error, result = TypeError(NOT_LATER), None
        try:
            if future.cancelled():
                done(None, CancelledError("the handler was cancelled"))
            else:
                told = done(result, error)
                if told is True:
                    return
                error = told if isinstance(told, BaseException) else error
        except Error as late:  # its app was closed
            logger.debug("an answer came too late: %s", late)
        except Exception as wrong:
            error = error or wrong
        if error is not None:
            if self._loop is None and not self._delivers_by_thread:
                self._failures.append(error)
                self.wake()
            else:
                self._report(error)

    def _failed(self, error: BaseException) -> None:
        """Records what a callback raised."""
        if self._delivers_by_thread:
            self._report(error)
        elif _advancing and self._is_simulated and not isinstance(error, Exception):
            # Ctrl-C, in a callback of any app of the fleet: the call that advances it ends.
            _advancing[-1]._failures.append(error)
            library.segue_app_wake(_advancing[-1]._handle)
        else:
            self._failures.append(error)

    def _raise_failure(self) -> None:
        if self._failures:
            failures, self._failures = self._failures, []
            # Ctrl-C and SystemExit end the program, whatever else has failed.
            first = next((each for each in failures if not isinstance(each, Exception)), failures[0])
            for other in failures:
                if other is not first:
                    self._report(other)
            raise first

    def _report(self, error: BaseException) -> None:
        """Reports an error that no call can raise."""
        logger.error("exception in a callback of %s", self, exc_info=error)
        loop = self._loop
        if loop is not None and not loop.is_closed():
            context = {"message": f"exception in a callback of {self!r}", "exception": error}
            if running_loop() is loop:
                loop.call_exception_handler(context)
            else:
                soon(loop, loop.call_exception_handler, context)

    def _wake_waiting(self) -> None:
        """Notifies a thread that waits for events, unless it is this one, that something awaited has ended."""
        self._turns.notify()
        if self._turns.holder not in (None, threading.get_ident()) and not self._closed:
            with suppress(Error):
                library.segue_app_wake(self._handle)

    def _time(self) -> float:
        """Seconds, by the clock that its timeouts are of."""
        return time.monotonic()


def _remove_reader(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    if not loop.is_closed():
        loop.remove_reader(fd)
