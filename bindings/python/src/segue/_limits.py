# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of this process that can be read and, some of them, set."""

from __future__ import annotations

from ctypes import byref
from typing import Any

from . import _arguments, _table
from ._native import library


class _Limit:
    """One limit of the library."""

    def __init__(self, number: int, doc: str):
        self._number = number
        self.__doc__ = doc

    def __get__(self, instance: Any, owner: type) -> int:
        value = _table.UInt64()
        library.segue_limit_get(self._number, byref(value))
        return value.value

    def __set__(self, instance: Any, value: int) -> None:
        library.segue_limit_set(self._number, _arguments.integer(value, 0, 0xFFFF_FFFF_FFFF_FFFF, "the limit"))


class Limits:
    """The limits of this process (handoff.md section 9). Times and the size of requests apply to apps that open
    afterwards, other sizes at once."""

    advised_payload = _Limit(1, "bytes; validate reports a larger payload as a problem")
    user_info = _Limit(2, "bytes of encoded user_info; settable 1024...16777216")
    nesting = _Limit(3, "levels of nesting")
    title = _Limit(4, "bytes")
    type = _Limit(5, "bytes")
    identifier = _Limit(6, "bytes")
    url = _Limit(7, "bytes")
    save_ms = _Limit(8, "ms for an app to answer will_save; settable 1...600000")
    continuation_ms = _Limit(9, "ms for a whole continuation; settable 1...3600000")
    save_delay_ms = _Limit(10, "ms from the last change of a current activity to its save; settable 0...3600000")
    save_latest_ms = _Limit(11, "ms from the first unsaved change to its save; settable 0...3600000")
    offer_update_ms = _Limit(12, "ms between two updates of one offer")
    request = _Limit(13, "bytes of a request, and of its answer; settable 1024...16777216")
    transfer_resume_ms = _Limit(
        14, "ms for which a stopped attachment is retried, or kept for a silent receiver; settable 0...3600000"
    )

    __slots__ = ()

    def __repr__(self) -> str:
        found = (f"{name}={getattr(self, name)}" for name, each in vars(Limits).items() if isinstance(each, _Limit))
        return f"Limits({', '.join(found)})"


limits = Limits()
