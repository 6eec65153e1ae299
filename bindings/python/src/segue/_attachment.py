# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attachments: files of any size that belong to an activity (R7.6)."""

from __future__ import annotations

import io
import os
import shutil
import weakref
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Union

from . import _arguments, _native, _table
from ._host import Host
from ._native import library
from ._pending import Pending, expected
from .errors import Error

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike, ReadableBuffer, StrOrBytesPath, StrPath

    Content = Union[ReadableBuffer, StrPath, FileDescriptorLike, io.BytesIO]
    Target = Union[StrOrBytesPath, FileDescriptorLike, io.BytesIO]

Progress = Callable[[int, int], Any]
_IN_MEMORY = (io.BytesIO, io.StringIO)


class _Transfer(_native.Handle):
    """An attachment transfer to this app."""


class _Fetching(Pending[None]):
    """Waits for an attachment; cancelling it cancels the transfer."""

    _transfer: _Transfer | None = None
    _progress: Progress | None = None
    _memory: _Memory | None = None

    def cancel(self) -> None:
        super().cancel()
        self._stop()

    def _stop(self) -> None:
        if self._transfer is not None:
            library.segue_transfer_cancel(self._transfer._handle)

    def _failed(self, error: BaseException) -> None:
        """Ends the transfer with what `progress` raised."""
        self._end(None, error)
        self._stop()


def attach(activity: int, name: str, content: Content) -> None:
    key = _arguments.text(name, "name")
    if isinstance(content, (str, os.PathLike)):
        path = _arguments.path(content, "content")
        try:
            library.segue_activity_attach_file(activity, key, len(key), path, len(path))
        except Error as error:
            if not error.message.startswith("path: "):
                raise
            hint = "; content that is a str is a path" if isinstance(content, str) and "/" not in content else ""
            named = f"{os.fsdecode(path)}: {error.message[len('path: ') :]}{hint}"
            raise type(error)(named, error.status) from error
    elif isinstance(content, int) or (hasattr(content, "fileno") and not isinstance(content, _IN_MEMORY)):
        library.segue_activity_attach_fd(activity, key, len(key), _descriptor(content, "content"))
    else:
        data = content.getvalue() if isinstance(content, io.BytesIO) else _arguments.data(content, "content")
        library.segue_activity_attach_bytes(activity, key, len(key), data, len(data))


def remove(activity: int, name: str) -> None:
    key = _arguments.text(name, "name")
    library.segue_activity_remove_attachment(activity, key, len(key))


def fetch(activity: int, app: Host, name: str, to: Target, progress: Progress | None) -> Pending[None]:
    fetching = _Fetching(app)
    fetching._progress = None if progress is None else _arguments.function(progress, "progress")
    key = _arguments.text(name, "name")
    path, descriptor = None, -1
    if isinstance(to, (str, bytes, os.PathLike)):
        path = _arguments.path(to, "to")
    elif isinstance(to, io.BytesIO):
        fetching._memory = _Memory(to)
        descriptor = fetching._memory.descriptor
    else:
        descriptor = _descriptor(to, "to")
    context = _native.new_context(weakref.ref(fetching))
    transfer = c_void_p()
    callbacks = (_progressed if progress is not None else _table.PROGRESS(), _fetched, context, _native.destroy)
    with expected(fetching):
        if path is not None:
            library.segue_activity_fetch_attachment(
                activity, key, len(key), path, len(path), *callbacks, byref(transfer)
            )
        else:
            library.segue_activity_fetch_attachment_to_fd(
                activity, key, len(key), descriptor, *callbacks, byref(transfer)
            )
    fetching._transfer = _native.wrap(_Transfer, transfer.value or 0, owned=True)
    if fetching._error is not None:
        fetching._stop()  # `progress` has raised already, on another thread
    return fetching


class _Memory:
    """A BytesIO as the target of a fetch, through a file in memory: it gets everything, or nothing."""

    def __init__(self, target: io.BytesIO):
        self.target = target
        self.descriptor = os.memfd_create("segue-attachment", os.MFD_CLOEXEC)
        weakref.finalize(self, os.close, self.descriptor)

    def fetched(self) -> None:
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        with open(self.descriptor, "rb", closefd=False) as file:
            shutil.copyfileobj(file, self.target)


def _descriptor(file: Any, what: str) -> int:
    """Returns the descriptor of an open file after flushing it."""
    if isinstance(file, int) and not isinstance(file, bool):
        return _arguments.integer(file, 0, 0x7FFF_FFFF, what)
    try:
        flush = getattr(file, "flush", None)
        if flush is not None:
            flush()
        return _arguments.integer(file.fileno(), 0, 0x7FFF_FFFF, what)
    except (AttributeError, io.UnsupportedOperation):
        raise _arguments.wrong(what, file, "a path, an open file or bytes") from None


@_native.trampoline(_table.PROGRESS)
def _progressed(fetching: _Fetching, _: int, received: int, total: int) -> None:
    if fetching._progress is not None and not fetching.done:
        fetching._app._finish_later(fetching._progress(received, total))


@_native.trampoline(_table.FETCHED)
def _fetched(fetching: _Fetching, _: int, error: int | None) -> None:
    fetching._app._answered(fetching)
    if error is None:
        if fetching._memory is not None:
            fetching._memory.fetched()
        return fetching._end(None)
    fetching._end(None, _native.error_from(error))
