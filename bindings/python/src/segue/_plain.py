# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of values in Python's own types, for cbor2 to encode.

cbor2 descends without a bound, and a stack that is used up is the end of the process. So it gets no object that another
thread, or a method of the object, could change after its nesting was checked.
"""

from __future__ import annotations

from collections import UserString
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from gc import get_referents
from itertools import chain, islice
from typing import Any, Callable
from uuid import UUID

import cbor2

from ._arguments import identifier, kind
from ._faults import miscounted
from .errors import ArgumentTypeError, InvalidArgumentError, LimitExceededError, UnsupportedValueError
from .values import NESTING, TOO_DEEP, URL, Set, Timestamp

# Tags (RFC 8949 section 3.4 and the IANA registry).
TAG_DATE = 1
TAG_URL = 32
TAG_UUID = 37
TAG_SET = 258

MOST_CONTAINERS = 1 << 24
"""In one value: as many as the largest user_info could hold."""
_FLAT = frozenset((bool, int, float, str, bytes, bytearray, type(None), datetime, UUID, URL, Timestamp))
"""Types that hold no other value. Their subclasses may."""
_COPIES: dict[type, Callable[[Any], Any]] = {
    dict: dict.copy,
    list: list.copy,
    tuple: list,
    set: set.copy,
    frozenset: frozenset.copy,
}
"""The functions that copy containers of these types, each in one step."""
_MOST_USUAL = 1 << 16
"""Containers of one level that are copied without a look at which of them stand in the value several times."""
_FEW = 3
"""Containers whose parts are looked at one by one, which is faster then."""
_LEVELS = range(NESTING - 1)
"""Those that may hold containers."""


class Entries:
    """A dictionary that a dict may not represent: its keys and values in turn."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Any]):
        self.parts = parts


def plain(value: Any) -> Any:
    """Returns a copy of a value that has containers of Python's own types only, or `Entries`.

    Raises: LimitExceededError (too deep, or too large), UnsupportedValueError, InvalidArgumentError.
    """
    if type(value) in _FLAT:
        return value
    # Most values have nothing but Python's own types. These go level by level, and a container is copied before its
    # parts are looked at: python.codec.ratio_vs_cbor2.
    try:
        top = _COPIES[type(value)](value)
        inner = [top]
        for _ in _LEVELS:
            level, inner = inner, []
            for each in level:
                if type(each) is dict:
                    for key, part in each.items():
                        if type(part) not in _FLAT:
                            each[key] = copy = _COPIES[type(part)](part)
                            inner.append(copy)
                        if type(key) is not str and type(key) not in _FLAT:
                            raise KeyError
                elif each and type(each) is list and type(each[0]) is dict:  # a table
                    each[:] = map(_COPIES[dict], each)
                    # A dict whose keys are all strings refers to its values only.
                    if not _FLAT.issuperset(map(type, get_referents(*each))):
                        inner += each
                elif not _FLAT.issuperset(map(type, each)):
                    for index, part in enumerate(each):
                        if type(part) not in _FLAT:
                            each[index] = copy = _COPIES[type(part)](part)
                            inner.append(copy)
            if not inner or (len(inner) > _FEW and _FLAT.issuperset(map(type, get_referents(*inner)))):
                return top
            if len(inner) > _MOST_USUAL:
                break
    except (KeyError, TypeError):  # a type is not in `_COPIES`, there is more than dicts in a table, or it is in a set
        pass
    return _Copier().copy(value, 0)[0]


class _Copier:
    """Copies any value. A container that stands in it several times is copied once, and counts each time."""

    __slots__ = ("known", "total")

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any, int, int]] = {}
        """By address: the container, its copy, the levels of containers in that, and their number."""
        self.total = 0

    def copy(self, value: Any, depth: int) -> tuple[Any, int]:
        """Returns the copy, and how many levels of containers that has.

        depth: containers around it
        """
        if type(value) in _FLAT:
            return value, 0
        known = self.known.get(id(value))
        if known is not None:
            _, copy, height, count = known
            if depth + height > NESTING:
                raise LimitExceededError(TOO_DEEP)
            self.add(count)
            return copy, height
        parts, make = _parts_of(value)
        if make is None:
            return _leaf(value), 0
        if depth == NESTING:
            raise LimitExceededError(TOO_DEEP)
        before, height = self.total, 0
        self.add(1)
        for index, part in enumerate(parts):
            if type(part) not in _FLAT:
                parts[index], below = self.copy(part, depth + 1)
                height = max(height, below)
        copy = make(parts)
        self.known[id(value)] = value, copy, height + 1, self.total - before
        return copy, height + 1

    def add(self, count: int) -> None:
        self.total += count
        if self.total > MOST_CONTAINERS:
            raise LimitExceededError(f"the value has more than {MOST_CONTAINERS} containers")


def _parts_of(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any] | None]:
    """Returns the parts of a container, and the function that makes the copy of theirs; None: it is no container."""
    if isinstance(value, dict):  # not what a subclass shows: cbor2 has never asked for that
        parts = list(chain.from_iterable(list(dict.items(value))))
        return parts, _dict_of if _FLAT.issuperset(map(type, parts[::2])) else Entries
    if isinstance(value, Mapping):
        pairs = counted(value, value.items())
        return [part for key, element in pairs for part in (key, element)], Entries
    if isinstance(value, (Set, AbstractSet)):
        return counted(value, value), lambda parts: cbor2.CBORTag(TAG_SET, parts)
    if isinstance(value, cbor2.CBORTag):
        tag = value.tag
        return [value.value], lambda parts: cbor2.CBORTag(tag, parts[0])
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview, UserString)):
        return counted(value, value), list
    return [], None


def _dict_of(parts: list[Any]) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2]))


def counted(value: Any, parts: Iterable[Any]) -> list[Any]:
    """Returns the parts that a container shows. Raises UnsupportedValueError if its length is another number."""
    if type(value) in _COPIES:  # another thread may change it between two steps
        return list(value)
    length = len(value)
    found = list(islice(parts, length + 1))
    if len(found) != length:
        raise UnsupportedValueError(miscounted(value, length, found))
    return found


def _leaf(value: Any) -> Any:
    """Returns a value of a subclass as one of Python's own types, which is what it has, not what it shows."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return memoryview(value).tobytes()
    if isinstance(value, datetime):
        return cbor2.CBORTag(TAG_DATE, seconds_of(value))
    if isinstance(value, Timestamp):
        return cbor2.CBORTag(TAG_DATE, float(value.seconds))
    if isinstance(value, UUID):
        return cbor2.CBORTag(TAG_UUID, identifier(value, "a UUID"))
    if isinstance(value, URL):
        return cbor2.CBORTag(TAG_URL, str(value))
    raise UnsupportedValueError(f"user_info cannot hold a {kind(value)}: {value!r:.80}")


def seconds_of(date: datetime | Timestamp, what: str = "the date") -> float:
    """Seconds since 1970."""
    if isinstance(date, Timestamp):
        return date.seconds
    if not isinstance(date, datetime):
        raise ArgumentTypeError(f"{what} is {type(date).__name__}, not datetime")
    if date.tzinfo is None:
        raise InvalidArgumentError(f"{what} {date.isoformat()} has no time zone")
    return float(date.timestamp())
