# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files in containers (R5.4)."""

from __future__ import annotations

import os
from ctypes import byref, c_int32, c_void_p
from types import TracebackType
from typing import BinaryIO

from . import _arguments, _native
from ._native import library
from ._unique import shown
from .errors import InvalidStateError
from .values import URL

_WRITE = 1


class Access(_native.Handle):
    """An open file or folder of a container, from `activity.access(url)`. It is closed when the `with` block ends, or
    by `end()`.

        with activity.access(url) as file:
            data = file.read()
    """

    _fd: int
    _write: bool
    _file: BinaryIO | None = None

    def __init__(self) -> None:
        raise TypeError("accesses come from Activity.access")

    @property
    def fd(self) -> int:
        """The descriptor: of a file, or of a folder for `os.listdir`. It belongs to the access: do not close it."""
        if self._fd < 0:
            raise InvalidStateError("the access has ended")
        return self._fd

    def fileno(self) -> int:
        """The same, for `os` and `select`."""
        return self.fd

    def end(self) -> None:
        """Writes what is buffered, and closes the file. A second call has no effect."""
        file, self._file, self._fd = self._file, None, -1
        try:
            if file is not None:
                file.close()
        finally:
            library.segue_access_end(self._handle)

    def __enter__(self) -> BinaryIO:
        """The file, in binary mode. A folder has none (IsADirectoryError): use `fd`."""
        if self._file is None:
            try:
                self._file = os.fdopen(self.fd, "r+b" if self._write else "rb", closefd=False)
            except BaseException:
                self.end()
                raise
        return self._file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        return shown(self, lambda: "ended" if self._fd < 0 else f"fd {self._fd}")


def begin(activity: int, url: URL | str, write: bool) -> Access:
    text = _arguments.text(str(url) if isinstance(url, URL) else url, "url")
    flags = _WRITE if _arguments.truth(write, "write") else 0
    handle, fd = c_void_p(), c_int32(-1)
    library.segue_activity_access_begin(activity, text, len(text), flags, byref(handle), byref(fd))
    assert handle.value is not None  # "required"
    return _native.wrap(Access, handle.value, owned=True, _fd=fd.value, _write=bool(flags))
