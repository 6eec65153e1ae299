# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's callbacks for an activity: they call its own handlers, or those of its app for all its activities."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, Callable, Protocol

from . import _arguments, _native, _request, _stream, _table
from ._hooks import is_later
from ._native import library
from ._receipt import receipt_of
from .errors import Error

_REPLY_NO, _REPLY_YES, _REPLY_LATER = 0, 1, 2
_OPTIONAL = ("on_will_save", "on_did_receive_stream", "on_request")


class Owner(Protocol):
    """An activity, or an app."""

    def _handler(self, name: str) -> Callable[..., Any] | None: ...

    def _activity(self, handle: int) -> Any:
        """The activity that a callback is about."""

    def _failed(self, error: BaseException) -> None: ...


def takes_of(owner: Owner) -> tuple[bool, ...]:
    """Whether its delegate has callbacks for those for which that makes a difference."""
    return tuple(owner._handler(name) is not None for name in _OPTIONAL)


def make_delegate(owner: Owner, takes: tuple[bool, ...]) -> tuple[int, int]:
    """Creates a delegate that calls the handlers of an activity, or those of an app for all of its activities.

    Returns: the delegate, and its context
    """
    context = _native.new_context(weakref.ref(owner))
    delegate = _native.created(library.segue_activity_delegate_create, context, _native.destroy)
    library.segue_activity_delegate_on_was_continued(delegate, _was_continued)
    library.segue_activity_delegate_on_continuation_ended(delegate, _continuation_ended)
    library.segue_activity_delegate_on_will_resume_back(delegate, _will_resume_back)
    library.segue_activity_delegate_on_did_resume_back(delegate, _did_resume_back)
    if takes[0]:
        library.segue_activity_delegate_on_will_save(delegate, _will_save)
    if takes[1]:
        library.segue_activity_delegate_on_did_receive_stream(delegate, _did_receive_stream)
    if takes[2]:
        library.segue_activity_delegate_on_request(delegate, _requested)
    return delegate, context


class _Save(_native.Handle):
    """The later answer to will_save."""


def _summary(error: BaseException) -> str:
    """Returns the kind and text of a failed save for receivers. Errors of the package begin with their status."""
    try:
        text = str(error)
    except Exception:  # an error without a text
        text = ""
    if text and isinstance(error, Error):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def answer_save(app: Any, save: int, handler: Callable[[], Any]) -> int:
    """Runs a handler of a step of a save, now or later. Returns the reply to the library."""
    saving = _native.wrap(_Save, save, owned=False)

    def saved(value: Any, error: BaseException | None) -> None:
        if error is None:
            library.segue_save_complete(saving._handle)
        else:
            fail(error)

    def fail(error: BaseException) -> None:
        reason = _arguments.reason(_summary(error))
        library.segue_save_fail(saving._handle, reason, len(reason))

    try:
        result = handler()
        if not is_later(result):
            return _REPLY_YES
        app._answer_later(result, saved)
    except BaseException as error:
        app._failed(error)
        fail(error)
    return _REPLY_LATER


@_native.trampoline(_table.WILL_SAVE, default=_REPLY_YES)
def _will_save(owner: Owner, told: int, save: int) -> int:
    activity = owner._activity(told)
    handler = activity._handler("on_will_save")
    app = activity._app
    if handler is None or app is None:
        return _REPLY_YES
    return answer_save(app, save, handler)


@_native.trampoline(_table.RECEIPT)
def _was_continued(owner: Owner, told: int, receipt: int) -> None:
    owner._activity(told)._notify("on_was_continued", receipt_of(receipt))


@_native.trampoline(_table.RECEIPT)
def _continuation_ended(owner: Owner, told: int, receipt: int) -> None:
    owner._activity(told)._notify("on_continuation_ended", receipt_of(receipt))


@_native.trampoline(_table.WILL_RESUME_BACK, default=_REPLY_NO)
def _will_resume_back(owner: Owner, told: int, changed: bool, request: int) -> int:
    activity = owner._activity(told)
    handler = activity._handler("on_will_resume_back")
    app = activity._app
    if handler is None or app is None:
        return _REPLY_NO if changed else _REPLY_YES
    _request.ask_to_replace(app, handler, changed, request)
    return _REPLY_LATER


@_native.trampoline(_table.DID_RESUME_BACK)
def _did_resume_back(owner: Owner, told: int, stale: bool) -> None:
    owner._activity(told)._notify("on_did_resume_back", stale)


@_native.trampoline(_table.DID_RECEIVE_STREAM)
def _did_receive_stream(owner: Owner, told: int, stream: int) -> None:
    activity = owner._activity(told)
    handler = activity._handler("on_did_receive_stream")
    if handler is not None and activity._app is not None:
        _stream.serve(activity._app, handler, stream)


@_native.trampoline(_table.REQUEST)
def _requested(owner: Owner, told: int, request: int, data: int | None, length: int) -> None:
    activity = owner._activity(told)
    handler = activity._handler("on_request")
    if handler is not None and activity._app is not None:
        _request.serve(activity._app, handler, request, b"" if data is None else ctypes.string_at(data, length))
