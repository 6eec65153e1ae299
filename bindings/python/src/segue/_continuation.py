# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continuations: one attempt of a receiver to take an activity over from its origin."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from ctypes import byref
from types import TracebackType
from typing import Any, Callable
from uuid import UUID

from . import _arguments, _native, _table
from ._activity import Activity
from ._hooks import LATER, answer_now
from ._host import Host
from ._native import library
from ._offer import Offer
from ._pending import Pending
from ._responder import ResponderMixin
from .errors import Error, HandoffFailedError, InvalidStateError, RemoteApplicationTimedOutError, UserCancelledError

RestoreState = Callable[[Activity], Any]


class Restorable(_native.Handle):
    """An object (a window, a document) that restores itself from an activity; see `Continuation.restore`.

    restore_state: called with the activity; False: not restored
    """

    def __init__(self, restore_state: RestoreState):
        self._restoring = _Restoring(_arguments.function(restore_state, "restore_state"))
        context = self._restoring.context
        super().__init__(_native.created(library.segue_restorable_create, _restore_state, context, _native.destroy))


class _Restoring:
    """A restorable as its app holds it, while the library may call it."""

    def __init__(self, restore_state: RestoreState):
        self.restore_state = restore_state
        self.app: Host | None = None
        self.context = _native.new_context(weakref.ref(self))

    @property
    def _is_over(self) -> bool:
        return not _native.is_context(self.context)

    def _failed(self, error: BaseException) -> None:
        if self.app is not None:
            self.app._failed(error)


class Continuation(_native.Handle, Pending[Activity]):
    """One attempt to continue an offer. Its result is the activity:

        activity = await app.continue_(offer)       # asyncio; or app.continue_(offer).wait()

    In an app without `on_continue`, taking the result in this way answers "handled". To answer only after the work is
    done, so that the origin learns of a failure, use a block. It answers "handled" unless it raises, or `complete` or
    `fail` has answered inside of it:

        async with app.continue_(offer) as activity: ...        # or: with

    If `on_continue`, or the opening of a document, has answered, a block raises InvalidStateError as it begins.

    A restoration that fails is told in the origin's receipt, not in this result, and `wait` may return before
    responders are restored: `dispatch` once more. Keep the continuation until it is answered; a dropped one is
    declined.
    """

    _unanswered = False
    """The result is here, and its taker answers the origin."""
    _is_takers = False
    """The taker of the result answers the origin, or has done so: the app has no `on_continue`."""
    _blocks = 0
    """Blocks of it that have begun: the last one to end answers, and no other taker of the result."""
    _later: Activity | None = None
    """The activity, while `on_continue` has not answered, and may do so by a call."""
    _cancel_handler: Callable[[], object] | None = None
    """Cancels the coroutine or future that answers `on_continue`, until it has."""
    _cancel_opening: Callable[[], object] | None = None
    """Cancels the coroutine or future that brings the document. It may begin before the handler that has answered by a
    call has ended."""

    def __init__(self) -> None:
        raise TypeError("continuations come from App.continue_")

    @property
    def id(self) -> UUID:
        """The identifier of the attempt, the same at both ends."""
        return _native.take_id(library.segue_continuation_get_id, self._handle)

    @property
    def offer(self) -> Offer:
        """The offer that is being continued."""
        return _native.wrap(Offer, _native.created(library.segue_continuation_get_offer, self._handle), owned=True)

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes of the payload: received, and in total (0 until it is known)."""
        received, total = _table.UInt64(), _table.UInt64()
        library.segue_continuation_get_progress(self._handle, byref(received), byref(total))
        return received.value, total.value

    @property
    def _opens_document(self) -> bool:
        """Whether the opening of its document brings the result, as on_continue has not handled it (R3.5)."""
        return _native.take_bool(library.segue_continuation_get_opens_document, self._handle)

    def cancel(self) -> None:
        """Ends the continuation with UserCancelledError: before `on_continue`, and after it until it is answered with
        *handled*, has failed, or its document is open. A coroutine that was to answer is cancelled. Without
        `on_continue` a result that nobody has taken is gone at once. After that this has no effect."""
        self._fail_untaken(UserCancelledError("the user cancelled"))
        library.segue_continuation_cancel(self._handle)

    def decline(self, reason: str) -> None:
        """Declines, inside `on_will_continue` only: no payload moves, and the origin sees the reason (R3.7)."""
        data = _arguments.text(reason, "reason")
        library.segue_continuation_decline(self._handle, data, len(data))

    def restore(self, restorables: Iterable[Restorable | RestoreState | Any]) -> None:
        """The restoration handler (R3.4): call it inside `on_continue` or later, at most once. Each object is a
        `Restorable`, a responder, has a method `restore_state(activity)`, or is such a function. If called before the
        answer, the results count for the outcome, also that of a document that is opened then (R3.5)."""
        if not isinstance(restorables, Iterable) or isinstance(restorables, (str, bytes)):
            raise _arguments.wrong("restorables", restorables, "several objects")
        made = [_restorable_of(each) for each in restorables]
        for each in made:
            each._restoring.app = self._app
            self._app._keep(each._restoring)
        handles = (_table.Handle * len(made))(*(each._handle for each in made))
        library.segue_continuation_restore(self._handle, handles, len(made))

    def complete(self, handled: bool) -> None:
        """Answers, if neither `on_continue` has answered nor the result was taken: after `segue.LATER`, or inside a
        block.

        Raises: RemoteApplicationTimedOutError after its end by the deadline, a cancel or the next continuation: the
        origin was told that the attempt failed."""
        answer = _arguments.truth(handled, "handled")
        activity, self._later = self._later, None
        # If it is too late, a callback brings the result.
        with self._answering():
            library.segue_continuation_complete(self._handle, answer)
        self._cancel_handler = None
        # Otherwise its document is opened, and brings the result (R3.5).
        if activity is not None and not self._opens_document:
            self._end(activity)

    def fail(self, reason: str) -> None:
        """Answers, after `on_continue` has returned `segue.LATER`, or inside a block: the app could not restore the
        activity. The origin's receipt says failed, with the reason."""
        _arguments.text(reason, "reason")
        data = _arguments.reason(reason)
        activity, self._later = self._later, None
        with self._answering():
            library.segue_continuation_fail(self._handle, data, len(data))
        self._cancel_handler = None
        if activity is not None:
            self._end(None, HandoffFailedError(reason))

    def _fail(self, error: BaseException) -> None:
        """Answers: the handler has raised. The origin's receipt says failed; unknown if the activity waits at
        the agent, which delivers it again."""
        reason = kind_of(error)
        library.segue_continuation_fail(self._handle, reason, len(reason))

    def _state(self) -> str:
        offer = self.offer
        return f"of {offer.title!r} from {offer.app_name!r}, {super()._state()}, {self.id}"

    def __enter__(self) -> Activity:
        self._wait_until_ended(None)
        return self._entered()

    async def __aenter__(self) -> Activity:
        await self._until_ended()
        return self._entered()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(error)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(error)

    def _entered(self) -> Activity:
        activity = super()._taken()
        if not self._is_takers:  # its end would answer nothing, and hide failures
            raise InvalidStateError(
                "the app's on_continue, or a document, has answered: use await or wait, not a block"
            )
        with self._lock:
            self._blocks += 1
        return activity

    def _leave(self, error: BaseException | None) -> None:
        with self._lock:
            if not self._blocks:
                raise InvalidStateError("no block of the continuation has begun")
            self._blocks -= 1
        if error is None:
            super()._taken()  # raises if it has failed meanwhile
        if error is not None or not self._blocks:
            self._answer(True, error)

    def _taken(self) -> Activity:
        super()._taken()
        if not self._blocks:
            self._answer(True)
        return super()._taken()

    def _answer(self, handled: bool, error: BaseException | None = None) -> None:
        """Answers for the taker of the result, unless that was done."""
        try:
            with self._answering() as is_mine:
                if is_mine:
                    self._complete(handled, error)
        except RemoteApplicationTimedOutError:
            if error is None:
                raise

    @contextmanager
    def _answering(self) -> Iterator[bool]:
        """For an answer, which its taker gives if none was given yet; that it came too late is the result then."""
        with self._lock:
            is_takers, self._unanswered = self._unanswered, False
        try:
            yield is_takers
        except RemoteApplicationTimedOutError as late:
            if is_takers:
                self._result, self._error, self._is_told = None, late, True
            raise

    def _complete(self, handled: bool, error: BaseException | None) -> None:
        if error is None:
            self.complete(handled)
        else:
            self._fail(error)

    def _complete_with(self, activity: Activity, answer: Any, error: BaseException | None) -> None:
        """An async on_continue has answered, or failed."""
        self._cancel_handler = None
        if self._later is None:  # it has answered by a call, which counts: what it raises then is only reported
            return
        if error is None and answer is LATER:
            self._app._await_call(self)
            return
        self._later = None
        if error is not None:
            self._end(None, error)
        try:
            self._complete(answer is not False, error)
        except InvalidStateError:  # another thread has answered by a call
            pass
        except RemoteApplicationTimedOutError:  # a callback brings the result, and the library's log has the error
            return
        # Otherwise its document is opened, and brings the result (R3.5).
        if not self._opens_document:
            self._end(activity)

    def _end_failed(self, error: Error) -> None:
        """The attempt has failed: what was to answer is cancelled, and a result that was not answered is gone."""
        self._fail_untaken(error)
        self._end(None, error)
        cancels = self._cancel_handler, self._cancel_opening
        self._cancel_handler = self._cancel_opening = None
        for cancel in cancels:
            if cancel is not None:
                cancel()

    def _fail_untaken(self, error: Error) -> None:
        """It has failed, if there is a result that was not answered: its taker gets the error."""
        with self._lock:
            if self._unanswered:
                self._unanswered = False
                self._result, self._error = None, error
                self._is_told = self._waiting > 0 or self._blocks > 0

    def _end(self, result: Activity | None, error: BaseException | None = None) -> None:
        self._app._forget(self)
        super()._end(result, error)

    def __del__(self, release: Callable[[int], None] = _native.release) -> None:
        if (self._unanswered or self._later is not None) and not _native.is_leaving():
            with suppress(Error):  # it has ended otherwise
                self.complete(False)
        super().__del__(release)


def kind_of(error: BaseException) -> bytes:
    """Returns only the kind of an error, for the origin: its text may name what is not for another device."""
    return _arguments.reason(type(error).__name__)


def continuation_of(app: Host, handle: int, owned: bool) -> Continuation:
    """Returns the continuation of a handle. A callback may know it before segue_app_continue returns it."""
    with _native.known_lock:
        made = _native.wrap(Continuation, handle, owned)
        if not hasattr(made, "_ended"):
            made._prepare(app)
        return made


def _restorable_of(each: Restorable | RestoreState | Any) -> Restorable:
    if isinstance(each, Restorable):
        return each
    if isinstance(each, ResponderMixin) and each._overrides("restore_user_activity_state"):
        return Restorable(each.restore_user_activity_state)
    restore_state = getattr(each, "restore_state", each)
    if not callable(restore_state):
        raise _arguments.wrong("one of restorables", each, "restorable")
    return Restorable(restore_state)


@_native.trampoline(_table.RESTORE_STATE, default=False)
def _restore_state(restoring: _Restoring, activity: int) -> bool:
    if restoring.app is None:
        return False
    return answer_now(restoring.restore_state(restoring.app._activity(activity)), "restore_state") is not False
