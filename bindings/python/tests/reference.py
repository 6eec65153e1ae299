# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second opinion: deterministic CBOR by RFC 8949 section 4.2.1, as short as it can be; and values to try."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from segue import URL, Map, Set, Timestamp


def head(major: int, argument: int) -> bytes:
    for size, info in ((1, 24), (2, 25), (4, 26), (8, 27)):
        if argument < 24:
            return bytes([major << 5 | argument])
        if argument < 256**size:
            return bytes([major << 5 | info]) + argument.to_bytes(size, "big")
    raise ValueError(argument)


def real(value: float) -> bytes:
    if math.isnan(value):
        return bytes.fromhex("f97e00")
    for form, initial in (("e", 0xF9), ("f", 0xFA)):
        try:
            short = struct.pack(">" + form, value)
        except OverflowError:
            continue
        if struct.unpack(">" + form, short)[0] == value:
            return bytes([initial]) + short
    return b"\xfb" + struct.pack(">d", value)


def date(seconds: float) -> bytes:
    # An integer that every double nearby tells apart is written as an integer (docs/protocol.md).
    whole = seconds.is_integer() and abs(seconds) <= 2**53
    return b"\xc1" + (reference(int(seconds)) if whole else real(seconds))


def reference(value: Any) -> bytes:
    """The deterministic encoding of a value."""
    if value is None or isinstance(value, bool):
        return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return real(value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, URL):
        return head(6, 32) + reference(str(value))
    if isinstance(value, UUID):
        return head(6, 37) + reference(value.bytes)
    if isinstance(value, datetime):
        return date(value.timestamp())
    if isinstance(value, Timestamp):
        return date(value.seconds)
    if isinstance(value, Mapping):
        entries = sorted((reference(key), reference(element)) for key, element in value.items())
        return head(5, len(entries)) + b"".join(key + element for key, element in entries)
    if isinstance(value, (Set, AbstractSet)):
        return head(6, 258) + head(4, len(value)) + b"".join(sorted(map(reference, value)))
    return head(4, len(value)) + b"".join(map(reference, value))


def differ(elements: Collection[Any]) -> bool:
    """Whether no two are the same value: Python's NaN is equal to nothing, so a set may have two."""
    return len({reference(element) for element in elements}) == len(elements)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))
    | st.uuids()
    | st.builds("https://example.com/{}".format, st.integers(0)).map(URL)
    | st.floats(allow_nan=False, allow_infinity=False).map(Timestamp)
)
"""Values of every kind but containers."""

small = st.sampled_from(
    [0, 1, False, True, 0.0, -0.0, 1.0, "", "1", b"1", None, Timestamp(1.0), URL("a:1"), URL("a:0")]
)
"""Values that look like each other."""

keys = st.recursive(
    scalars | small,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3).filter(differ)
        | st.lists(st.tuples(inner, inner), max_size=3, unique_by=lambda pair: reference(pair[0])).map(Map)
    ),
    max_leaves=4,
)
"""Values that can be hashed."""

values = st.recursive(
    scalars | small,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4).filter(differ)
        | st.lists(st.tuples(keys, inner), max_size=4, unique_by=lambda pair: reference(pair[0])).map(Map)
        | st.sets(keys, max_size=4).filter(differ)
        | st.lists(keys, max_size=4, unique_by=reference).map(Set)
    ),
    max_leaves=12,
)
"""Values of every kind and shape."""
