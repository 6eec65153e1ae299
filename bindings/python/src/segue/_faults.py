# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds what a value has in it that the library cannot hold, once it was refused."""

from __future__ import annotations

from collections import UserString
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

import cbor2

from ._arguments import kind
from .values import URL, Set, Timestamp, without_zone

_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
"""The integers of user_info (R1.2)."""
_LONGEST = 80
"""Characters that are shown of a value."""
_HELD = (bool, float, str, bytes, bytearray, memoryview, type(None), UUID, URL, Timestamp)
_NAMES = ("URL", "Map", "Set", "Timestamp", "UUID", "datetime")


def fault_in(value: Any) -> str | None:
    """Returns where the first such part of a value is, what is wrong with it, and what to do; None: nothing is found.
    The value is looked at once more, and may have changed."""
    with suppress(RecursionError):
        for place, part in _parts(value, ""):
            what = _fault(part)
            if what is not None:
                return f"{place}: {what}" if place else what
    return None


def _parts(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yields a value and all that is in it, with the subscripts that lead there."""
    yield place, value
    if isinstance(value, Mapping):
        for key, each in dict.items(value) if isinstance(value, dict) else value.items():
            yield from _parts(key, f"{place}, the key {key!r:.{_LONGEST}}".lstrip(", "))
            yield from _parts(each, f"{place}[{key!r:.{_LONGEST}}]")
    elif isinstance(value, (Set, AbstractSet)):
        for each in value:
            yield from _parts(each, f"{place}, in the set".lstrip(", "))
    elif isinstance(value, Sequence) and not isinstance(value, (*_HELD, UserString)):
        for number, each in enumerate(value):
            yield from _parts(each, f"{place}[{number}]")


def _fault(value: Any) -> str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return without_zone(value)
    elif isinstance(value, int) and not _LEAST <= value <= _MOST:
        shown = f"{value:.3e}" if abs(value) < 10**300 else "an integer"
        return f"{shown} is not in -2^63...2^64-1: make it a str, or bytes"
    elif isinstance(value, UserString):
        return f"user_info cannot hold a UserString: {value!r:.{_LONGEST}}: make it a str"
    elif isinstance(value, (str, URL)) and any("\ud800" <= each <= "\udfff" for each in str(value)):
        return f"{str(value)!r:.{_LONGEST}} is not UTF-8: it has half of a pair of surrogates"
    elif not isinstance(value, (int, *_HELD, Mapping, Set, AbstractSet, Sequence, cbor2.CBORTag)):
        return f"user_info cannot hold a {kind(value, *_NAMES)}: {value!r:.{_LONGEST}}"
    elif isinstance(value, (Mapping, Set, AbstractSet, Sequence)) and not isinstance(value, (dict, *_HELD)):
        return _miscount(value, value.items() if isinstance(value, Mapping) else value)
    return None


def _miscount(value: Any, parts: Iterable[Any]) -> str | None:
    if type(value) in (list, tuple, set, frozenset):
        return None
    length = len(value)
    found = list(islice(parts, length + 1))
    return None if len(found) == length else miscounted(value, length, found)


def miscounted(value: Any, length: int, found: list[Any]) -> str:
    """Tells that the length of a container is not the number of the parts that it shows."""
    shown = "more" if len(found) > length else len(found)
    return f"the length of a {kind(value, *_NAMES)} is {length}, and it shows {shown}"
