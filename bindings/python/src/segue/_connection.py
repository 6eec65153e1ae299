# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The connection of an app to the hub of its device."""

from __future__ import annotations

import enum
from ctypes import byref, c_int32

from . import _native
from ._native import library
from .errors import Error, error_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Connection(enum.IntEnum):
    """The state of an app's connection to the device's hub."""

    SEARCHING = 0
    """Looking for a hub, or becoming it."""
    READY = 1
    """Registered, and all offers that the hub knew at that time have arrived."""


def state_of(app: int) -> tuple[Connection, Error | None]:
    """Returns the state of an app's connection, and the last known cause for not being ready."""
    connection, problem = c_int32(), c_int32()

    def get(handle: int, message: Any, length: Any) -> None:
        library.segue_app_get_connection(handle, byref(connection), byref(problem), message, length)

    message = _native.take_text(get, app)
    return Connection(connection.value), error_of(problem.value, message or "") if problem.value else None
