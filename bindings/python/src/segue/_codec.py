# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python values to CBOR and back.

`cbor2` does the work in machine code. It would silently lose keys that Python considers equal, and dates outside of
`datetime`: in these cases the decoder at the end of this file takes over.
"""

from __future__ import annotations

import math
import struct
from datetime import datetime, timezone
from io import BytesIO
from typing import Any, Callable
from uuid import UUID

import cbor2

from ._arguments import kind
from ._faults import fault_in
from ._plain import TAG_DATE, TAG_SET, TAG_URL, TAG_UUID, Entries, plain, seconds_of
from .errors import (
    Error,
    InvalidArgumentError,
    LimitExceededError,
    MalformedError,
    UnsupportedValueError,
)
from .values import URL, Map, Set, Timestamp

_SET_HEAD = b"\xd9\x01\x02"


def encode(value: Any) -> bytes:
    """Encodes a value as CBOR, not deterministic: the library normalises it."""
    try:
        copy = plain(value)
        try:
            encoder = _encoders.pop()
        except IndexError:
            encoder = cbor2.CBOREncoder(BytesIO(), datetime_as_timestamp=True, default=_encode_other)
        data: bytes = encoder.encode_to_bytes(copy)
        _encoders.append(encoder)  # one that has failed is not used again
        return data
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(fault_in(value) or f"a string is not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise LimitExceededError("the value is nested too deeply") from error
    except (UnsupportedValueError, InvalidArgumentError) as error:  # of `plain`
        raise type(error)(fault_in(value) or error.message) from None
    except cbor2.CBOREncodeError as error:
        raise UnsupportedValueError(fault_in(value) or str(error)) from error


def explained(error: Error, value: Any) -> Error:
    """Returns an error of the library about an encoding, with what is wrong with the value if that is found."""
    fault = fault_in(value) if isinstance(error, UnsupportedValueError) else None
    return error if fault is None else UnsupportedValueError(fault)


def _encode_other(encoder: Any, value: Any) -> None:
    """Encodes types of plain values that cbor2 does not support."""
    if isinstance(value, Entries):
        encoder.encode_length(5, len(value.parts) // 2)
        for part in value.parts:
            encoder.encode(part)
    elif isinstance(value, URL):
        encoder.encode(cbor2.CBORTag(TAG_URL, str(value)))
    elif isinstance(value, Timestamp):
        encoder.encode(cbor2.CBORTag(TAG_DATE, value.seconds))
    elif isinstance(value, datetime):
        encoder.encode(cbor2.CBORTag(TAG_DATE, seconds_of(value)))
    else:
        raise UnsupportedValueError(f"user_info cannot hold a {kind(value)}: {value!r:.80}")


_encoders: list[Any] = []
"""Those that are not in use: to make one costs as much as a small value. A list, since other threads may ask for one in
between, or a value that is being encoded."""


class _Unusual(Exception):
    """Native types may not be able to represent it."""


def decode(data: bytes) -> Any:
    """Decodes deterministic CBOR of the library to native types, as far as they can represent it."""
    try:
        return _decode_native(data)
    except Exception:  # cbor2 wraps what its hooks raise
        return decode_exact(data)


def date_of(seconds: float) -> datetime | Timestamp:
    """A date in UTC, to the microsecond."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return Timestamp(seconds)


def _has_nan(key: Any) -> bool:
    """Whether a dict or a set does not find a key again: NaN is equal to no other NaN."""
    if isinstance(key, tuple):
        return any(map(_has_nan, key))
    return isinstance(key, float) and key != key


# ---- by cbor2 ----

if hasattr(cbor2, "shareable_decoder") and not hasattr(cbor2, "CBORDecodeValueError"):
    # cbor2 6 refuses, if asked to, all keys but strings and bytes, which is the fastest; or else keys that are equal,
    # and says where a value is a key or an element.

    def _refuse_keys(entries: Any, immutable: bool) -> Any:
        if immutable or any(map(_has_nan, entries)):
            raise _Unusual
        return entries

    def _url(text: str, immutable: bool) -> URL:
        return URL(text)

    def _set(elements: Any, immutable: bool) -> Any:
        distinct = frozenset(elements) if immutable else set(elements)
        if len(distinct) != len(elements) or any(map(_has_nan, elements)):
            raise _Unusual
        return distinct

    def _tag(tag: Any, immutable: bool) -> URL:
        if tag.tag != TAG_URL:
            raise _Unusual
        return URL(tag.value)

    _DECODERS = {TAG_URL: _url, TAG_SET: _set}

    def _decode_native(data: bytes) -> Any:
        try:
            return cbor2.loads(data, strict_hashable_types=True, tag_hook=_tag)
        except Exception:
            return cbor2.loads(data, allow_duplicate_keys=False, object_hook=_refuse_keys, semantic_decoders=_DECODERS)

else:
    # cbor2 5 keeps the first of two equal keys. Keys of these types are equal to none of another type.
    _DISTINCT = frozenset((str, bytes, UUID, URL, type(None)))

    def _refuse_keys_5(decoder: Any, entries: Any) -> Any:
        if type(entries) is not dict or not _DISTINCT.issuperset(map(type, entries)):
            raise _Unusual
        return entries

    def _tag_5(decoder: Any, tag: Any) -> Any:
        if tag.tag != TAG_URL:
            raise _Unusual
        return URL(tag.value)

    def _decode_native(data: bytes) -> Any:
        if _SET_HEAD in data:  # it drops equal elements, and no hook is asked
            raise _Unusual
        return cbor2.loads(data, object_hook=_refuse_keys_5, tag_hook=_tag_5)


# ---- by ourselves ----


def decode_exact(data: bytes) -> Any:
    """Decodes deterministic CBOR; `Map`, `Set` and `Timestamp` replace native types that would lose information."""
    return _decode_exact(data, precise=False)


def _decode_exact(data: bytes, precise: bool) -> Any:
    decoder = _ExactDecoder(data, precise)
    try:
        value = decoder.item(key=False)
    except (IndexError, struct.error, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"not CBOR: {error}") from error
    if decoder.at != len(data):
        raise MalformedError(f"trailing bytes at offset {decoder.at}")
    return value


def decode_pairs(data: bytes) -> Map:
    """Returns the entries of a dictionary by exact key, such that encoding them again changes nothing."""
    value = _decode_exact(data, precise=True)
    return value if isinstance(value, Map) else Map(value)


class _ExactDecoder:
    """Reads the part of RFC 8949 that the library writes: definite lengths, and the tags above."""

    __slots__ = ("at", "data", "precise")

    def __init__(self, data: bytes, precise: bool):
        self.data = data
        self.at = 0
        self.precise = precise
        """Dates between two microseconds are no `datetime` then."""

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise MalformedError(f"truncated at offset {len(self.data)}")
        self.at += count
        return taken

    def argument(self, info: int) -> int:
        if info < 24:
            return info
        if info > 27:
            raise MalformedError(f"no definite length at offset {self.at}")
        return int.from_bytes(self.take(1 << (info - 24)), "big")

    def item(self, key: bool) -> Any:
        """Reads one item. `key`: inside a key or an element of a set, which must be hashable."""
        head = self.take(1)[0]
        major, info = head >> 5, head & 31
        if major == 7:
            return self.simple(info)
        argument = self.argument(info)
        if major == 0:
            return argument
        if major == 1:
            return -1 - argument
        if major == 2:
            return self.take(argument)
        if major == 3:
            return self.take(argument).decode()
        if major == 4:
            elements = (self.item(key) for _ in range(argument))
            return tuple(elements) if key else list(elements)
        if major == 5:
            return self.dictionary(argument, key)
        return self.tagged(argument, key)

    def simple(self, info: int) -> Any:
        if info in (20, 21, 22):
            return (False, True, None)[info - 20]
        form = {25: ">e", 26: ">f", 27: ">d"}.get(info)
        if form is None:
            raise MalformedError(f"a simple value at offset {self.at - 1}")
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def dictionary(self, count: int, key: bool) -> Any:
        start = self.at
        pairs = [(self.item(True), self.item(key)) for _ in range(count)]
        entries = dict(pairs)
        if len(entries) == count and not any(map(_has_nan, entries)):
            return Map(pairs) if key else entries
        if not self.precise:
            pairs = self.again(start, lambda: [(self.item(True), self.item(key)) for _ in range(count)])
        return Map(pairs)

    def again(self, start: int, read: Callable[[], Any]) -> Any:
        """Reads an item with equal keys again, exactly: two dates may be within one microsecond.

        Never inside such a reading, or a nest of these would take exponential time.
        """
        self.at, precise, self.precise = start, self.precise, True
        try:
            return read()
        finally:
            self.precise = precise

    def tagged(self, tag: int, key: bool) -> Any:
        if tag == TAG_SET:
            start = self.at
            elements = self.item(True)
            distinct = frozenset(elements) if key else set(elements)
            if len(distinct) == len(elements) and not any(map(_has_nan, elements)):
                return distinct
            return Set(elements if self.precise else self.again(start, lambda: self.item(True)))
        content = self.item(key)
        if tag == TAG_URL:
            return URL(content)
        if tag == TAG_UUID:
            return UUID(bytes=content)
        if tag == TAG_DATE and math.isfinite(content):
            date = date_of(content)
            return date if not self.precise or seconds_of(date) == content else Timestamp(content)
        raise MalformedError(f"tag {tag} is none of ours")
