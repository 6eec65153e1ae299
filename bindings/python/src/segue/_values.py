# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of the library: handles made from Python values and read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _arguments, _native
from ._codec import decode, encode, explained
from ._json import JSONMode
from ._native import library, release
from .errors import UnsupportedValueError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@contextmanager
def value_of(value: Any) -> Iterator[int]:
    """Creates a value handle for a with block."""
    data = encode(value)
    try:
        handle = _native.created(library.segue_value_decode, data, len(data))
    except UnsupportedValueError as error:
        raise explained(error, value) from None
    try:
        yield handle
    finally:
        release(handle)


def encoding_of(handle: int) -> bytes:
    """The deterministic CBOR of a value handle."""
    return _native.take_bytes(library.segue_value_encode, handle) or b""


def taken(handle: int | None) -> Any:
    """Returns the Python value of an owned handle, and releases it; None if there is none."""
    if handle is None:
        return None
    try:
        return decode(encoding_of(handle))
    finally:
        release(handle)


def encode_value(value: Any) -> bytes:
    """Encodes a value as deterministic CBOR (RFC 8949 section 4.2.1). Equal values give equal bytes."""
    with value_of(value) as handle:
        return encoding_of(handle)


def decode_value(cbor: ReadableBuffer) -> Any:
    """Decodes the value of one CBOR item, deterministic or not.

    Raises: MalformedError, UnsupportedValueError (with the offset), LimitExceededError.
    """
    data = _arguments.data(cbor, "cbor")
    return taken(_native.created(library.segue_value_decode, data, len(data)))


def describe_value(value: Any) -> str:
    """Describes a value in CBOR diagnostic notation (RFC 8949 section 8), for people."""
    with value_of(value) as handle:
        return _native.take_text(library.segue_value_describe, handle) or ""


def encode_json(value: Any, mode: JSONMode) -> str:
    """Encodes a value as JSON text (RFC 8259). Equal values give equal text.

    Raises: UnsupportedValueError for what JSON lacks, with its path, in plain text.
    """
    number = _arguments.instance(mode, JSONMode, "mode").value
    with value_of(value) as handle:
        return _native.take_text(library.segue_value_encode_json, handle, number) or ""


def decode_json(text: str | ReadableBuffer, mode: JSONMode) -> Any:
    """Decodes a value from JSON text, a string or UTF-8.

    Unlike `json.loads`, it refuses what may be lost or understood in two ways: a key twice in one object, numbers that
    do not fit, half of a pair of surrogates.

    Raises: MalformedError, UnsupportedValueError, LimitExceededError, with the offset in bytes and the path (RFC 6901).
    """
    number = _arguments.instance(mode, JSONMode, "mode").value
    data = text_of(text)
    return taken(_native.created(library.segue_value_decode_json, data, len(data), number))


def text_of(text: str | ReadableBuffer) -> bytes:
    """The UTF-8 of JSON text."""
    return _arguments.text(text, "text") if isinstance(text, str) else _arguments.data(text, "text")
