# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An app as its results, continuations, streams, requests, attachments and links need it. The app knows them all."""

from __future__ import annotations

from typing import Any, Callable, Protocol

from ._events import Event


class Host(Protocol):
    """The app through which something comes. Its callbacks run as it says."""

    @property
    def _handle(self) -> int: ...

    @property
    def _runs_itself(self) -> bool:
        """Whether callbacks run without a call of `dispatch` in this thread."""

    def _wait_elsewhere(self, ended: Event, timeout: float | None) -> None:
        """Waits for an event while callbacks run elsewhere; may return earlier."""

    def _dispatch_until(self, until: Callable[[], bool], timeout: float | None) -> int:
        """Dispatches, or waits while another thread does; `until` says that there is nothing to wait for."""

    def _time(self) -> float:
        """Seconds, by the clock that its timeouts are of."""

    def _wake_waiting(self) -> None:
        """Something that was awaited has ended: threads that wait look."""

    def _expect(self, answer: Any) -> None:
        """Ends a result with an error if the app is closed before it is there."""

    def _answered(self, answer: Any) -> None:
        """Forgets a result that was expected."""

    def _keep(self, restoring: Any) -> None:
        """Holds a restorable until the library has no more use for it."""

    def _run_later(
        self, result: Any, done: Callable[[Any, BaseException | None], object], takes_later: bool = False
    ) -> Callable[[], object]:
        """Calls `done` with the result of a handler's coroutine or future, or with its exception, which is reported
        unless `done` returns True; so is an exception that `done` returns. Returns a function that cancels it, from any
        thread.

        takes_later: `done` takes `LATER`, which is an error otherwise
        """

    def _answer_later(
        self, result: Any, answer: Callable[[Any, BaseException | None], object], takes_later: bool = False
    ) -> Callable[[], object]:
        """Does the same for an answer that another app waits for, unless the app is about to close."""

    def _finish_later(self, result: Any) -> None:
        """Runs a handler's coroutine or future without waiting for its result."""

    def _failed(self, error: BaseException) -> None:
        """Keeps what a callback raised, for `dispatch` to raise."""

    def _report(self, error: BaseException) -> None:
        """Logs an error that no call can raise."""

    def _await_call(self, continuation: Any) -> None:
        """The host answers a continuation by a call, later, and holds it."""

    def _forget(self, continuation: Any) -> None:
        """A continuation has its result."""

    def _activity(self, handle: int) -> Any:
        """Returns the activity of a handle that a callback borrows."""
