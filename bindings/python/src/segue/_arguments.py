# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts arguments of callers, or refuses them by name."""

from __future__ import annotations

import builtins
import operator
import os
import threading
from collections.abc import Iterable
from typing import Any, TypeVar
from uuid import UUID

from ._table import ID_SIZE
from .errors import ArgumentTypeError, InvalidArgumentError

_T = TypeVar("_T")


def wrong(what: str, value: object, wanted: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{what} is {kind(value, wanted)}, not {wanted}")


def kind(value: object, *others: str) -> str:
    """Returns the name of a value's type, with its module if a type of Python's, or one of `others`, has that name."""
    type_ = type(value)
    is_known = type_.__module__ == "builtins" or not (hasattr(builtins, type_.__name__) or type_.__name__ in others)
    return type_.__name__ if is_known else f"{type_.__module__}.{type_.__qualname__}"


def instance(value: Any, kind: type[_T], what: str) -> _T:
    if not isinstance(value, kind):
        raise wrong(what, value, kind.__name__)
    return value


def function(value: _T, what: str) -> _T:
    if not callable(value):
        raise wrong(what, value, "a function")
    return value


def text(value: str, what: str) -> bytes:
    """Returns the UTF-8 of a string for the library, which gets its length."""
    if not isinstance(value, str):
        raise wrong(what, value, "str")
    try:
        return str.encode(value)
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{what} is not UTF-8: {error.reason}") from error


def string(value: str, what: str) -> str:
    """Returns the string as a str, of no subclass."""
    return text(value, what).decode()


def reason(text: str) -> bytes:
    """Returns the UTF-8 of why something has failed. Any text will do: the library cuts a long one."""
    return str.encode(text, "utf-8", "replace")


def texts(values: Iterable[str], what: str) -> list[str]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise wrong(what, values, "several strings")
    found = list(values)
    for each in found:
        text(each, f"one of {what}")
    return found


def data(value: Any, what: str) -> bytes:
    """Returns the bytes of a buffer: bytes, bytearray, memoryview, array. A subclass of bytes may say another length
    than it has, and the library would read that much."""
    if type(value) is bytes:
        return value
    try:
        return memoryview(value).tobytes()
    except TypeError:
        raise wrong(what, value, "bytes") from None


def identifier(value: Any, what: str) -> bytes:
    """Returns the bytes of a UUID, as many as the library reads. A subclass may give others."""
    found = data(instance(value, UUID, what).bytes, f"the bytes of {what}")
    if len(found) != ID_SIZE:
        raise InvalidArgumentError(f"{what}: has {len(found)} bytes, not {ID_SIZE}")
    return found


def uuid(value: Any, what: str) -> UUID:
    """Returns the UUID, of no subclass."""
    return UUID(bytes=identifier(value, what))


def path(value: Any, what: str) -> bytes:
    try:
        return memoryview(os.fsencode(value)).tobytes()  # a subclass: as for `data`
    except (TypeError, UnicodeEncodeError):
        raise wrong(what, value, "a path") from None


def truth(value: Any, what: str) -> bool:
    """Accepts True, False, 1 and 0: other truthy values are usually mistakes."""
    if not isinstance(value, int) or value not in (0, 1):
        raise wrong(what, value, "bool")
    return bool(value)


def number(value: Any, what: str) -> float:
    if not hasattr(value, "__float__"):
        raise wrong(what, value, "a number")
    try:
        found = float(value)
    except TypeError:  # complex numbers have such a method in Python 3.9
        raise wrong(what, value, "a number") from None
    except OverflowError:
        raise InvalidArgumentError(f"{what} is too large") from None
    return value if isinstance(value, int) else found


def integer(value: Any, least: int, most: int, what: str) -> int:
    """Checks the range, since ctypes would truncate a number that does not fit."""
    try:
        found = operator.index(value)
    except TypeError:
        raise wrong(what, value, "int") from None
    if not least <= found <= most:
        shown = found if abs(found) < 10**300 else "an integer of many digits"
        raise InvalidArgumentError(f"{what} is {shown}, not {least}...{most}")
    return found


def milliseconds(seconds: float, what: str, most: int) -> int:
    """Returns a duration for the library, rounded up so that a short one does not become 0."""
    found = number(seconds, what)
    if not 0 <= found <= most / 1000:
        raise InvalidArgumentError(f"{what} is {found}, not 0...{most // 1000} seconds")
    return -int(-found * 1000 // 1)


def wait(seconds: float | None, most: int) -> int:
    """Returns the timeout of a call, to which 0 is the default: no time at all is the shortest one.

    most: milliseconds
    """
    return 0 if seconds is None else max(1, milliseconds(seconds, "timeout", most))


def patience(seconds: float | None, what: str = "timeout") -> float | None:
    """Returns how long to wait. None means no limit, and so does more than the system supports."""
    if seconds is None:
        return None
    if isinstance(seconds, int):
        return None if seconds > threading.TIMEOUT_MAX else max(seconds, -1)
    found = number(seconds, what)
    if found != found:
        raise InvalidArgumentError(f"{what} is not a number")
    return None if found > threading.TIMEOUT_MAX else found
