# SPDX-License-Identifier: Apache-2.0
"""What the agent does for apps that are not running (R3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ._receipt import Outcome
from .errors import Status
from .values import Timestamp


@dataclass(frozen=True)
class Launch:
    """How a continuation in another app ended, which need not have been running."""

    continuation_id: UUID
    bundle_identifier: str
    """Of the app, as the next one."""
    app_name: str
    outcome: Outcome
    """`Outcome.UNKNOWN`: the app has not answered in time; the activity waits for it."""
    status: int
    message: str


@dataclass(frozen=True)
class InboxEntry:
    """An activity that waits for an app of this device."""

    continuation_id: UUID
    activity_id: UUID
    bundle_identifier: str
    """Of the app that is to get it."""
    type: str
    title: str | None
    app_name: str
    """Of the origin, as the next one."""
    device_name: str
    size: int
    """In bytes."""
    delivered: bool
    """The app has it, and has not answered."""
    attempts: int
    crashes: int
    held: bool
    """The app has crashed on it three times: it gets it when the user asks (`App.retry`)."""
    received: datetime | Timestamp
    expires: datetime | Timestamp


def launch_of(value: Any) -> Launch:
    status = value["status"]
    return Launch(
        continuation_id=value["continuation_id"],
        bundle_identifier=value["bundle_identifier"],
        app_name=value["app_name"],
        outcome=Outcome(value["outcome"]),
        status=Status(status) if status in Status.__members__.values() else status,
        message=value["message"],
    )


def entry_of(value: Any) -> InboxEntry:
    return InboxEntry(**{name: value.get(name) for name in InboxEntry.__dataclass_fields__})
