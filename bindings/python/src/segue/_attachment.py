# SPDX-License-Identifier: Apache-2.0
"""Attachments: files of any size that go with an activity (R7.6)."""

from __future__ import annotations

import os
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Union

from . import _native, _table
from ._native import library
from ._pending import Pending
from .errors import error_of

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike, ReadableBuffer, StrPath

    from ._activity import Activity
    from ._app import App

    Content = Union[ReadableBuffer, StrPath, FileDescriptorLike]
    Target = Union[StrPath, FileDescriptorLike]

Progress = Callable[[int, int], Any]


class _Transfer(_native.Handle):
    """An attachment on its way to this app."""

    _noun = "transfer"


class _Fetching(Pending[None]):
    """Waits for an attachment; giving it up cancels its transfer."""

    _transfer: _Transfer | None = None
    _progress: Progress | None = None

    def cancel(self) -> None:
        super().cancel()
        self._stop()

    def _stop(self) -> None:
        if self._transfer is not None:
            library.segue_transfer_cancel(self._transfer._handle)

    def _failed(self, error: BaseException) -> None:
        """What `progress` raised ends it."""
        self._end(None, error)
        self._stop()


def attach(activity: Activity, name: str, content: Content) -> None:
    key = _native.utf8(name, "name")
    if isinstance(content, (str, os.PathLike)):
        path = os.fsencode(content)
        library.segue_activity_attach_file(activity._handle, key, len(key), path, len(path))
    elif isinstance(content, (bytes, bytearray, memoryview)):
        data = bytes(content)
        library.segue_activity_attach_bytes(activity._handle, key, len(key), data, len(data))
    else:
        library.segue_activity_attach_fd(activity._handle, key, len(key), _descriptor(content))


def remove(activity: Activity, name: str) -> None:
    key = _native.utf8(name, "name")
    library.segue_activity_remove_attachment(activity._handle, key, len(key))


def fetch(activity: Activity, app: App, name: str, to: Target, progress: Progress | None) -> Pending[None]:
    fetching = _Fetching(app)
    fetching._progress = progress
    key = _native.utf8(name, "name")
    context = _native.new_context(lambda: fetching)
    transfer = c_void_p()
    callbacks = (_progressed if progress is not None else _table.PROGRESS(), _fetched, context, _native.destroy)
    app._expect(fetching)
    try:
        if isinstance(to, (str, os.PathLike)):
            path = os.fsencode(to)
            library.segue_activity_fetch_attachment(
                activity._handle, key, len(key), path, len(path), *callbacks, byref(transfer)
            )
        else:
            library.segue_activity_fetch_attachment_to_fd(
                activity._handle, key, len(key), _descriptor(to), *callbacks, byref(transfer)
            )
    except BaseException:
        app._answered(fetching)
        raise
    fetching._transfer = _native.wrap(_Transfer, transfer.value or 0, owned=True)
    if fetching._error is not None:
        fetching._stop()  # `progress` has raised already, on another thread
    return fetching


def _descriptor(file: Any) -> int:
    """That of an open file, which what was written to it has reached."""
    if isinstance(file, int):
        _native.check_range(file, 0, 0x7FFF_FFFF, "the descriptor")
        return file
    flush = getattr(file, "flush", None)
    if flush is not None:
        flush()
    number: int = file.fileno()
    return number


@_native.trampoline(_table.PROGRESS)
def _progressed(fetching: _Fetching, _: int, received: int, total: int) -> None:
    if fetching._progress is not None and not fetching.done:
        fetching._app._finish_later(fetching._progress(received, total))


@_native.trampoline(_table.FETCHED)
def _fetched(fetching: _Fetching, _: int, error: int | None) -> None:
    fetching._app._answered(fetching)
    if error is None:
        return fetching._end(None)
    status = _native.take_int32(library.segue_error_get_status, error)
    fetching._end(None, error_of(status, _native.take_text(library.segue_error_get_message, error) or ""))
