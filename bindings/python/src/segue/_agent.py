# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The agent's services for apps that are not running: the values that its answers give (R3.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ._reason import Reason
from ._receipt import Outcome
from .errors import status_of
from .values import Timestamp


@dataclass(frozen=True)
class Launch:
    """The outcome of a continuation in another app, which need not have been running."""

    continuation_id: UUID
    bundle_identifier: str
    """The app of the continuation; the next field is its name."""
    app_name: str
    outcome: Outcome
    """`Outcome.UNKNOWN`: the app has not answered in time; the activity waits for it."""
    status: int
    message: str
    shared: bool
    """Another requester came before: that one has the same `continuation_id`."""
    stale: bool = False
    """The app has got an older state, as the origin did not save (R2.4)."""
    stale_reason: str | None = None
    """None if it is not stale, or that is not known."""


@dataclass(frozen=True)
class Push:
    """A continuation that the origin has asked for (R3.15): the receipt with this identifier says how it ended."""

    continuation_id: UUID
    bundle_identifier: str
    """The app that continues it; the next field is the name of that app."""
    app_name: str
    shared: bool = False
    """Another requester came before: that one has the same `continuation_id`. Never for a push to another device."""
    retained_at: UUID | None = None
    """The device is off, and this one keeps the push until it is back (R14.5): the receipt says UNKNOWN, and how the
    push ends is told there (`App.retained`). `app_name` is the name of this one."""


@dataclass(frozen=True)
class Failure:
    """A continuation that has failed in an app whose program had no means to be told (R3.13)."""

    bundle_identifier: str
    app_name: str
    type: str
    status: int
    message: str
    date: datetime | Timestamp


@dataclass(frozen=True)
class InboxEntry:
    """An activity that waits for an app of this device."""

    continuation_id: UUID
    activity_id: UUID
    bundle_identifier: str
    """The app that is to get it."""
    type: str
    title: str | None
    app_name: str
    """The name of the app at the origin; the next field is the name of the origin's device."""
    device_name: str
    size: int
    """Bytes of the document."""
    attachments: int
    """The number of its attachments."""
    attachments_left: int
    """The number of attachments that were too large, or could not be fetched: only the origin has them."""
    delivered: bool
    """The app has it, or is being started to get it, and has not answered."""
    attempts: int
    crashes: int
    held: bool
    """The app has crashed on it three times: it gets it when the user asks (`App.retry`)."""
    running: bool | None
    """The app is open; None: the agent is older, and does not say."""
    received: datetime | Timestamp
    """The date of its arrival, by the clock of this device."""
    expires: datetime | Timestamp


@dataclass(frozen=True)
class RetainedOffer:
    """An offer of another device that this one keeps for the others, or a push (R14.5)."""

    activity_id: UUID
    type: str
    app_name: str
    """The name of the app at the origin."""
    size: int
    """Bytes of the document."""
    attachments: int
    """The number of its attachments; the next field is the bytes of those that are kept."""
    attachment_bytes: int
    received: datetime | Timestamp
    """The date of its arrival, by the clock of this device."""
    device: UUID | None = None
    """The origin's; the next field is the name of that device."""
    device_name: str = ""
    title: str | None = None
    continued: datetime | Timestamp | None = None
    """When it was continued; the next fields say in which app, and on which device. None: it was not yet."""
    continued_by: str | None = None
    continued_on: str | None = None
    push: UUID | None = None
    """`Push.continuation_id` of a push, as its origin knows it; the next fields are the device that is to continue it.
    None: it is an offer."""
    target: UUID | None = None
    target_name: str = ""
    ended: datetime | Timestamp | None = None
    """When it has ended, for good; the next fields say how. UNKNOWN: that device has it. None: it has not ended."""
    outcome: Outcome | None = None
    reason: str = ""


@dataclass(frozen=True)
class KnownApp:
    """A manifest, and the app that it describes (R6.1)."""

    path: str
    """The path of the file."""
    error: str | None = None
    """The error in the file: then the rest is None or empty."""
    bundle_identifier: str | None = None
    name: str | None = None
    version: str | None = None
    team: str | None = None
    types: tuple[str, ...] = ()
    """The activity types that it continues, as far as the agent lists them."""
    type_count: int = 0
    running: bool = False
    no_launch: str | None = None
    """Why it cannot be started; None: it can."""
    shadowed_by: str | None = None
    """The file that describes the same app, and counts; None: this one does."""
    warnings: tuple[str, ...] = ()
    """Errors in the file that have no effect."""


@dataclass(frozen=True)
class Candidate:
    """An app that might continue an activity on this device (R6.5)."""

    bundle_identifier: str
    name: str
    running: bool
    manifest: bool
    """It has one."""
    preference: str
    """The reason to prefer this app: "same bundle", "chosen", "same team", "desktop default", "used" or "none"; "same
    team" and "desktop default" of public activities only (R13.1)."""
    against: tuple[Reason, ...]
    """The reasons against this app; none: it can continue the activity."""
    public_type: bool = False
    """It is of another team, and may continue the activity because that is public (R13.1)."""
    role: str = "app"
    """Why it is a candidate (R12.2): "app" (it declares the type), "association" (it claims the site of the page),
    "browser" (the user's, which takes part in Handoff) or "url handler" (the user's, which is started with the URL);
    or a program that is started with the file (R13.7): "opener", or "default application" of the desktop."""


class Route(list[Candidate]):
    """The apps that might continue an activity on this device, the one that would first (R6.5)."""

    web: tuple[Reason, ...]
    """Reasons that concern its web page, and no candidate (R12.2): "no web page", "not claimed by an app", "no default
    browser", "browser without extension"."""

    def __init__(self, candidates: Iterable[Candidate] = (), web: Iterable[Reason] = ()) -> None:
        super().__init__(candidates)
        self.web = tuple(web)


def known_app_of(value: Any) -> KnownApp:
    lists = {name: tuple(value.get(name, ())) for name in ("types", "warnings")}
    return KnownApp(**{**_known(KnownApp, value), **lists})


def candidate_of(value: Any) -> Candidate:
    against = tuple(Reason(each["reason"], each["message"], value["name"]) for each in value["against"])
    return Candidate(**{**_known(Candidate, value), "against": against})


def route_of(answer: Any) -> Route:
    # An older agent says nothing of the web.
    web = (Reason(each["reason"], each["message"]) for each in answer.get("web", ()))
    return Route(map(candidate_of, answer["candidates"]), web)


def _known(kind: Any, value: Any) -> dict[str, Any]:
    """The entries that this version knows."""
    return {name: value[name] for name in kind.__dataclass_fields__ if name in value}


def launch_of(value: Any) -> Launch:
    return Launch(
        continuation_id=value["continuation_id"],
        bundle_identifier=value["bundle_identifier"],
        app_name=value["app_name"],
        outcome=Outcome(value["outcome"]),
        status=status_of(value["status"]),
        message=value["message"],
        # An older agent says nothing of these.
        shared=value.get("shared", False),
        stale=value.get("stale", False),
        stale_reason=value.get("stale_reason"),
    )


def push_of(value: Any) -> Push:
    return Push(**_known(Push, value))


def entry_of(value: Any) -> InboxEntry:
    return InboxEntry(**{name: value.get(name) for name in InboxEntry.__dataclass_fields__})


def retained_of(value: Any) -> RetainedOffer:
    known = _known(RetainedOffer, value)
    return RetainedOffer(**{**known, "outcome": Outcome(known["outcome"])} if known.get("outcome") else known)


def failure_of(failure: dict[str, Any]) -> Failure:
    return Failure(**{**_known(Failure, failure), "status": status_of(failure["status"])})
