# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The correspondence of values and JSON text."""

from __future__ import annotations

import enum


class JSONMode(enum.IntEnum):
    """The correspondence of values and JSON text (RFC 8259); `segue.h` has the details."""

    PLAIN = 1
    """The values of JSON, and nothing else: bytes, dates, URLs, UUIDs, sets, NaN, infinities and keys that are no
    strings raise UnsupportedValueError."""
    TAGGED = 2
    """Every value, reversibly: what JSON lacks is an object with one entry, as in {"$date": 1700000000.25}."""
    TAGGED_INTEGERS = 3
    """The same, but integers beyond 2^53 are written as {"$int": "..."}, for readers that keep numbers as doubles."""
    FOR_PEOPLE = 4
    """Indented, for people; cannot be decoded."""
