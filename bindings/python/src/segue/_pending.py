# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that arrive through callbacks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from . import _arguments, _native
from ._events import Event
from ._host import Host
from ._loops import needed_loop, soon
from ._unique import Unique, shown
from .errors import UserCancelledError

_T = TypeVar("_T")


class Pending(Unique, Generic[_T]):
    """A result that comes later: `await` it under asyncio, or `wait` for it, repeatedly and from several tasks and
    threads. It is cancelled when the last task that awaits it is cancelled."""

    def __init__(self, app: Host):
        self._prepare(app)

    def _prepare(self, app: Host) -> None:
        self._app = app
        self._ended = Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._waits: list[Any] = []
        """Locks of tasks and threads that wait, which are theirs as long as they do: nothing can interrupt that."""
        self._is_told = False
        """Somebody gets the error: it waited for it, or has taken it."""
        self._lock = threading.RLock()  # a signal handler may end it while its own thread has the lock

    def __repr__(self) -> str:
        return shown(self, self._state)

    def _state(self) -> str:
        return "under way" if not self.done else "done" if self._error is None else f"failed: {str(self._error)!r:.200}"

    @property
    def done(self) -> bool:
        """Whether the result or the error has arrived."""
        return self._ended.is_set()

    def cancel(self) -> None:
        """Cancels the operation: all who wait get a `UserCancelledError`. After the result this has no effect."""
        self._end(None, UserCancelledError("it was given up"))

    def wait(self, timeout: float | None = None) -> _T:
        """Returns the result. Runs the app's callbacks meanwhile, unless a loop or another thread does.

        Raises: TimeoutError if it has not arrived after `timeout` seconds; the operation continues. BusyError inside a
        handler of the logger `segue`, if it has not arrived.
        """
        self._wait_until_ended(timeout)
        return self._taken()

    def __await__(self) -> Generator[Any, None, _T]:
        yield from self._until_ended().__await__()
        return self._taken()

    def _wait_until_ended(self, timeout: float | None) -> None:
        timeout = _arguments.patience(timeout)
        end = None if timeout is None else self._app._time() + timeout
        wait = threading.Lock()
        with wait:
            self._count(wait)
            while not self.done:
                left = None if end is None else end - self._app._time()
                if left is not None and left <= 0:
                    break
                _native.refuse_in_log("nothing can be waited for")
                if self._app._runs_itself:
                    self._app._wait_elsewhere(self._ended, left)
                else:
                    self._app._dispatch_until(self._ended.is_set, left)
        if not self.done:  # an error from now on finds that this call waits no longer
            raise TimeoutError(f"no result within {timeout} seconds")

    async def _until_ended(self) -> None:
        waiter: asyncio.Future[None] = needed_loop().create_future()
        wait = threading.Lock()
        with wait:
            self._count(wait)
            with self._lock:
                if self.done:
                    return
                self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if self._waiting == 1:
                    self._abandoned()
                raise
            finally:
                with self._lock, suppress(ValueError):
                    self._waiters.remove(waiter)

    @property
    def _waiting(self) -> int:
        """Tasks and threads that wait."""
        return sum(each.locked() for each in self._waits)

    def _count(self, wait: Any) -> None:
        """Counts a task or thread for as long as it holds its lock."""
        with self._lock:
            self._waits = [*(each for each in self._waits if each.locked()), wait]

    def _abandoned(self) -> None:
        """The last task that awaited it was cancelled."""
        self.cancel()

    def _taken(self) -> _T:
        if self._error is not None:
            self._is_told = True
            raise self._error
        result: _T = self._result
        return result

    def _end(self, result: _T | None, error: BaseException | None = None) -> None:
        """Sets the result. Runs on any thread; the first result counts."""
        with self._lock:
            outcome = {"_result": result, "_error": error, "_is_told": error is not None and self._waiting > 0}
            if self._ended.flag:
                return
            # One step after the test: a signal handler that ends it, too, comes before both, or its outcome counts.
            self.__dict__.update(outcome)
            self._ended.flag = True
            waiters, self._waiters = self._waiters, []
        self._ended.set()
        for waiter in waiters:
            soon(waiter.get_loop(), _awake, waiter)
        self._app._wake_waiting()

    def _failed(self, error: BaseException) -> None:
        """The callback that brings the result has raised."""
        self._app._answered(self)
        self._end(None, error)


@contextmanager
def expected(*answers: Pending[Any]) -> Iterator[None]:
    """For the call that asks: the app expects the answers, unless it raises."""
    for each in answers:
        each._app._expect(each)
    try:
        yield
    except BaseException:
        for each in answers:
            each._app._answered(each)
        raise


class Readiness(Pending[None]):
    """Waits for the hub; there is nothing to cancel."""

    def _abandoned(self) -> None:
        pass


def _awake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
