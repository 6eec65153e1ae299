# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests between the two sides of a continuation (R7.5)."""

from __future__ import annotations

import ctypes
import weakref
from contextlib import suppress
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, TypeVar

from . import _arguments, _native, _table
from ._hooks import is_later
from ._host import Host
from ._native import library
from ._pending import Pending, expected
from .errors import DeclinedError, Error

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_T = TypeVar("_T")


class _Request(_native.Handle):
    """A request of this app, or of another app, which needs an answer."""

    def respond(self, answer: Any) -> None:
        try:
            data = _arguments.data(answer, "the answer")
        except TypeError:
            raise TypeError(f"on_request gave {type(answer).__name__}, not bytes") from None
        library.segue_request_respond(self._handle, data, len(data))

    def refuse(self, error: BaseException) -> None:
        """Refuses with the text of an exception."""
        text = error.message if isinstance(error, DeclinedError) else f"{type(error).__name__}: {error}"
        reason = _arguments.reason(text)
        with suppress(Error):  # who asks has gone, or has it refused already
            library.segue_request_refuse(self._handle, reason, len(reason))


class _Response(Pending[_T]):
    """The answer to a request, or the end of a resumption; cancelling it cancels the request."""

    _request: _Request | None = None

    def _keep(self, request: c_void_p) -> None:
        if request.value is not None:
            self._request = _native.wrap(_Request, request.value, owned=True)

    def cancel(self) -> None:
        super().cancel()
        if self._request is not None:
            library.segue_request_cancel(self._request._handle)


def ask(activity: int, app: Host, data: ReadableBuffer, timeout: float | None) -> Pending[bytes]:
    milliseconds = _arguments.wait(timeout, 3_600_000)
    data = _arguments.data(data, "data")
    response: _Response[bytes] = _Response(app)
    context = _native.new_context(weakref.ref(response))
    request = c_void_p()
    with expected(response):
        library.segue_activity_request(
            activity, data, len(data), milliseconds, _responded, context, _native.destroy, byref(request)
        )
    response._keep(request)
    return response


def resume_back(activity: int, app: Host, timeout: float | None) -> Pending[bool]:
    milliseconds = _arguments.wait(timeout, 3_600_000)
    response: _Response[bool] = _Response(app)
    context = _native.new_context(weakref.ref(response))
    request = c_void_p()
    with expected(response):
        library.segue_activity_resume_back(
            activity, milliseconds, _resumed_back, context, _native.destroy, byref(request)
        )
    response._keep(request)
    return response


@_native.trampoline(_table.RESPONSE)
def _responded(response: _Response[bytes], _: int, data: int | None, length: int, error: int | None) -> None:
    response._app._answered(response)
    if error is None:
        return response._end(b"" if data is None else ctypes.string_at(data, length))
    response._end(None, _native.error_from(error))


@_native.trampoline(_table.RESUME_BACK)
def _resumed_back(response: _Response[bool], _: int, stale: bool, error: int | None) -> None:
    response._app._answered(response)
    response._end(stale, None if error is None else _native.error_from(error))


def ask_to_replace(app: Host, handler: Any, changed: bool, handle: int) -> None:
    """Answers will_resume_back with the result of a handler, now or later. Without a result, changes stay."""
    request: _Request | None = _native.wrap(_Request, handle, owned=False)

    def answered(value: Any, error: BaseException | None) -> None:
        nonlocal request
        # A future keeps this function: the request is let go.
        asked, request = request, None
        yes = error is None and (not changed if value is None else bool(value))
        # By now it may have had its time, or its app may be closed.
        if asked is not None:
            library.segue_request_complete(asked._handle, yes)

    try:
        result = handler(changed)
        if is_later(result):
            app._answer_later(result, answered)
            return
    except BaseException as error:
        app._failed(error)
        return answered(None, error)
    answered(result, None)


def serve(app: Host, handler: Any, handle: int, data: bytes) -> None:
    """Answers the request that a callback borrows with the result of a handler, now or later."""
    request = _native.wrap(_Request, handle, owned=False)

    def answered(answer: Any, error: BaseException | None) -> bool:
        """Whether an error is an answer."""
        if error is None:
            try:
                request.respond(answer)
                return True
            except Exception as wrong:
                app._report(wrong)
                error = wrong
        request.refuse(error)
        return isinstance(error, DeclinedError)

    try:
        answer = handler(data)
        if is_later(answer):
            app._answer_later(answer, answered)
            return
        request.respond(answer)
    except DeclinedError as error:
        request.refuse(error)
    except BaseException as error:
        request.refuse(error)
        raise
