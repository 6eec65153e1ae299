# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values for which Python has no type of its own."""

from __future__ import annotations

import struct
from collections import UserString
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any
from uuid import UUID

from . import _arguments
from .errors import LimitExceededError, UnsupportedValueError

NESTING = 64
"""Levels of containers; the library's limit, which `tests/test_values.py` compares with it."""
TOO_DEEP = f"containers are nested more than {NESTING} deep, or contain themselves"


class URL:
    """An absolute URL inside user_info: a kind of its own, not equal to any string.

    It is not a `str`: a URL and a string of the same text are two different keys, and `cbor2` writes a subclass of
    `str` as text. `str(url)` is its text, kept byte for byte.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str):
        self._text = _arguments.text(text, "text").decode()

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"URL({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, URL) else NotImplemented

    def __hash__(self) -> int:
        return hash((URL, self._text))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._text,))


class Timestamp:
    """A date in seconds since 1970-01-01T00:00:00Z, for dates outside the range of `datetime` (years 1 to 9999)."""

    __slots__ = ("_seconds",)

    def __init__(self, seconds: float):
        self._seconds = float(_arguments.number(seconds, "seconds"))

    @property
    def seconds(self) -> float:
        """Seconds since 1970, in UTC; may be fractional, or negative."""
        return self._seconds

    def __repr__(self) -> str:
        return f"Timestamp({self._seconds!r})"

    def __eq__(self, other: object) -> bool:
        return self._seconds == other._seconds if isinstance(other, Timestamp) else NotImplemented

    def __hash__(self) -> int:
        return hash((Timestamp, self._seconds))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._seconds,))


class Map(Mapping[Any, Any]):
    """A dictionary whose keys a `dict` cannot distinguish, or that is itself a key (R1.2).

    1, 1.0 and True are three keys. Immutable and ordered. Keys match by exact value: same kind, strings as UTF-8.
    """

    __slots__ = ("_identity", "_index", "_pairs")

    def __init__(self, pairs: Iterable[tuple[Any, Any]] | Mapping[Any, Any] = ()):
        self._pairs = tuple(pairs.items() if isinstance(pairs, Mapping) else ((key, value) for key, value in pairs))
        self._index = {identity(key): value for key, value in self._pairs}
        if len(self._index) != len(self._pairs):
            raise ValueError("a key stands in it twice")
        self._identity: Hashable = None

    @property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """Its entries in order."""
        return self._pairs

    def __getitem__(self, key: Any) -> Any:
        return self._index[identity(key)]

    def __contains__(self, key: object) -> bool:
        return identity(key) in self._index

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return identity(self) == identity(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(identity(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._pairs,))

    def __repr__(self) -> str:
        return f"Map([{', '.join(f'({key!r}, {value!r})' for key, value in self._pairs)}])"


class Set(Collection[Any]):
    """A set whose elements a `frozenset` cannot distinguish, such as {1, 1.0}. Immutable, ordered, exact like `Map`."""

    __slots__ = ("_elements", "_index")

    def __init__(self, elements: Iterable[Any] = ()):
        self._elements = tuple(elements)
        self._index = frozenset(identity(element) for element in self._elements)
        if len(self._index) != len(self._elements):
            raise ValueError("an element stands in it twice")

    def __contains__(self, element: object) -> bool:
        return identity(element) in self._index

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __eq__(self, other: object) -> bool:
        return identity(self) == identity(other) if isinstance(other, (Set, AbstractSet)) else NotImplemented

    def __hash__(self) -> int:
        return hash(identity(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._elements,))

    def __repr__(self) -> str:
        return f"Set([{', '.join(map(repr, self._elements))}])"


def without_zone(date: datetime) -> str:
    """Tells what is wrong with a date that means another moment in each time zone."""
    return f"the date {date.isoformat()} has no time zone: give it one, as datetime.now(timezone.utc) does"


def identity(value: object, depth: int = 0) -> Hashable:
    """Returns the identity of a value, kind included: equal if and only if the library considers the values equal.

    depth: containers around it
    Raises: UnsupportedValueError for a date without a time zone, LimitExceededError for what is nested too deeply.
    """
    kind = type(value)
    if kind is bool or kind is str or kind is bytes or value is None:
        return (kind, value)
    if isinstance(value, float):
        return (float, b"nan" if value != value else struct.pack(">d", value))
    if isinstance(value, (list, tuple)):
        return (list, tuple(_identities(value, depth)))
    if isinstance(value, Map) and value._identity is not None:
        return value._identity
    if isinstance(value, Mapping):
        entries = (dict, frozenset(tuple(_identities(entry, depth)) for entry in value.items()))
        if isinstance(value, Map):
            value._identity = entries
        return entries
    if isinstance(value, (Set, AbstractSet)):
        return (set, frozenset(_identities(value, depth)))
    if isinstance(value, datetime) and value.tzinfo is None:
        raise UnsupportedValueError(without_zone(value))
    if isinstance(value, (datetime, Timestamp)):
        return (Timestamp, value.timestamp() if isinstance(value, datetime) else value.seconds)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return (bytes, bytes(value))
    for base in (URL, UUID, str, int):
        if isinstance(value, base):
            return (base, value)
    if isinstance(value, Sequence) and not isinstance(value, UserString):  # each of its characters is another one
        return (list, tuple(_identities(value, depth)))
    raise TypeError(f"{kind.__name__} is not a value of user_info")


def _identities(values: Iterable[object], depth: int) -> Iterator[Hashable]:
    """The identities of what is in a container, with `depth` others around that."""
    if depth == NESTING:
        raise LimitExceededError(TOO_DEEP)
    return (identity(each, depth + 1) for each in values)
