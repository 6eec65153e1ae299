# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Receipts: how an attempt ended, for the origin."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from . import _native
from ._codec import date_of
from ._native import library
from .errors import status_of
from .values import Timestamp


class Outcome(enum.IntEnum):
    """The outcome of an attempt (R3.6)."""

    RESTORED = 1
    """Handled, and every restorable object restored."""
    DECLINED = 2
    FAILED = 3
    UNKNOWN = 4
    """The answer was lost; it may or may not have been restored."""


@dataclass(frozen=True)
class Receipt:
    """The outcome of one attempt to continue an activity, and its cause."""

    outcome: Outcome
    status: int
    """`Status.OK` if restored, otherwise the cause."""
    reason: str
    """The reason or error in words; may be empty."""
    device_name: str
    """The receiver's, as the next two."""
    app_name: str
    bundle_identifier: str
    continuation_id: UUID
    """The same at both ends."""
    date: datetime | Timestamp
    """The date at which the origin learned the outcome."""
    stale: bool
    """Whether an older snapshot was handed over, because will_save failed or did not answer in time (R2.4)."""


def receipt_of(handle: int) -> Receipt:
    """Copies a receipt that a callback borrows."""
    status = _native.take_int32(library.segue_receipt_get_status, handle)
    return Receipt(
        outcome=Outcome(_native.take_int32(library.segue_receipt_get_outcome, handle)),
        status=status_of(status),
        reason=_native.take_text(library.segue_receipt_get_reason, handle) or "",
        device_name=_native.take_text(library.segue_receipt_get_device_name, handle) or "",
        app_name=_native.take_text(library.segue_receipt_get_app_name, handle) or "",
        bundle_identifier=_native.take_text(library.segue_receipt_get_bundle_identifier, handle) or "",
        continuation_id=_native.take_id(library.segue_receipt_get_continuation_id, handle),
        date=date_of(_native.take_double(library.segue_receipt_get_date, handle)),
        stale=_native.take_bool(library.segue_receipt_get_stale, handle),
    )
