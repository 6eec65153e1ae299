# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The account of a user, and the devices in it (R10)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from .errors import MalformedError, status_of
from .values import Timestamp

_T = TypeVar("_T")


class Membership(enum.Enum):
    """Whether this device is in an account."""

    NONE = "none"
    MEMBER = "member"
    UNUSABLE = "unusable"
    """The stored account cannot be used; `Account.message` says why, and what to do."""


@dataclass(frozen=True)
class DevicePath:
    """A path to a device (R14.1)."""

    address: str
    """With a port; of a name that leads nowhere now, the name; "command" for that of the user (R14.4), "command there"
    for one that has been started at the other device; "through" and the name of a device for a relay (R14.3)."""
    state: str
    """"used" by the link, "trying", "failed", "known": not needed yet, or "avoided": its kind is not to be used."""
    cost: str | None = None
    """"same network", "other network", "tunnel", "relay" or "command", the cheapest first; None: not known."""
    message: str | None = None
    """Why it has failed."""


@dataclass(frozen=True)
class KnownDevice:
    """A device of the account."""

    device: UUID
    name: str
    """Chosen there, without control characters."""
    platform: str
    this_device: bool
    manager: bool
    """It invites, renames and revokes others."""
    confirmed: bool
    """It has shown that it has its new key."""
    linked: bool
    """Now, so its offers are here."""
    joined: datetime | Timestamp
    certificate_ends: datetime | Timestamp
    fingerprint: str | None = None
    """Only where the names of two devices look the same."""
    last_seen: datetime | Timestamp | None = None
    """None: not since the agent has started."""
    address: str | None = None
    """None: not linked, or by a path that has no address."""
    outdated: bool = False
    """It runs an older Segue, and hears of no revocation."""
    addresses: tuple[str, ...] = ()
    """Those of `App.add_address`."""
    avoided: tuple[str, ...] = ()
    """The kinds of paths that are not to be used to it (`App.avoid_path`)."""
    paths: tuple[DevicePath, ...] = ()
    """At most 6, that of the link first."""
    retains: int | None = None
    """The number of offers of this device that it keeps for the others; the next field says why it does not keep all.
    None: it has not said that it keeps any (R14.5)."""
    retains_problem: str | None = None
    retains_pushes: int = 0
    """The number of pushes of this device that it keeps for others which are off (R3.15)."""
    retained_here: int = 0
    """The number of its offers that this device keeps for the others; the next fields are that of its pushes, and the
    size of all in bytes, with those pushes of which only the end is told."""
    pushes_here: int = 0
    retained_bytes: int = 0


@dataclass(frozen=True)
class Join:
    """A device that joins: the other one of the two, and the digits to compare."""

    join: int
    """For `await_join` and `answer_join`."""
    digits: str
    """Eight, in two groups: "1234 5678". If the other screen shows others, somebody is in between."""
    account_name: str
    device_name: str
    """The name of the other device; the next field is its platform."""
    platform: str
    """Empty if it is not known: the manager does not say."""
    asks: bool = False
    """The user of this device is to answer: `answer_join`."""
    clock_here: datetime | Timestamp | None = None
    """The date by the clock of this device; the next field is that by the clock of the other device. Both are None
    unless they differ by more than a day: show them beside the digits."""
    clock_there: datetime | Timestamp | None = None


@dataclass(frozen=True)
class TakeOver:
    """A device that this one does not know as one of the account has become the manager, with the recovery file. It
    does not count before `App.accept_roster`."""

    device: UUID
    fingerprint: str
    date: datetime | Timestamp
    """When this device has heard of it."""
    term: int
    digest: bytes
    """For `App.accept_roster`: what was shown is what counts."""
    name: str = ""


@dataclass(frozen=True)
class RefusedDevice:
    """A device that has a certificate of the account, and is not in its list: it gets nothing. `App.revoke_device` at
    the manager keeps it out for good."""

    device: UUID
    fingerprint: str
    date: datetime | Timestamp
    """When it was refused last."""
    name: str | None = None


@dataclass(frozen=True)
class Notice:
    """Something about the account that the user should hear of."""

    date: datetime | Timestamp
    status: int
    message: str


@dataclass(frozen=True)
class DeviceSettings:
    """The settings for the links of this device to others. None of these says anything about apps of this device among
    themselves."""

    port: int = 0
    """0: any that is free, and the same one after each start."""
    addresses: tuple[str, ...] = ()
    """IPv4 or IPv6 addresses with a port, that are dialled beside those found: "192.0.2.7:4711"."""
    discovery: bool = True
    """It finds others, and is found, by multicast in the local network."""
    push: str = "ask"
    """Whether other devices may have activities continued here: "ask" (`App.pushes`), "at-once" or "never"
    (R3.15)."""
    private: bool = False
    """Offers of this device go to no device of the account; links that an app makes carry them (R10.2)."""
    private_types: tuple[str, ...] = ()
    """The same for offers of these activity types, at most 64."""
    private_apps: tuple[str, ...] = ()
    """The same for offers of these apps, by bundle identifier, at most 64."""
    relay: bool = False
    """It passes bytes on between devices of the account that do not reach each other (R14.3)."""
    retain_on: UUID | None = None
    """The device that keeps the offers of this one for the others while this one is away, and its pushes while those
    are (R14.5); None: none does."""


@dataclass(frozen=True)
class Account:
    """The account that this device is in, at one moment. Without an account, only the first three fields and the last
    three say anything."""

    status: Membership
    change: int
    """For `App.account(after=...)`: another one after each change."""
    message: str | None = None
    """Why it cannot be used, or advice about clock and certificate; None: all is well."""
    account: UUID | None = None
    account_name: str | None = None
    device: UUID | None = None
    """This one."""
    manager: bool = False
    """This device is it."""
    port: int = 0
    """The port at which others reach this device; 0: it does not listen."""
    invites: int = 0
    """Those that can be used now."""
    devices: tuple[KnownDevice, ...] = ()
    joins: tuple[Join, ...] = ()
    """Devices that join now."""
    takeovers: tuple[TakeOver, ...] = ()
    """At most 4, which wait for the user."""
    refused: tuple[RefusedDevice, ...] = ()
    """At most 16, the newest last."""
    settings: DeviceSettings = DeviceSettings()
    notices: tuple[Notice, ...] = ()
    """At most 16, the newest last."""


@dataclass(frozen=True)
class Invite:
    """An invite, with which a device joins an account."""

    link: str
    """A secret until it has been used: who has it can ask to join."""
    expires: datetime | Timestamp


@dataclass(frozen=True)
class InviteContents:
    """The contents of an invite, before anything has proved them."""

    account: UUID
    account_name: str
    addresses: tuple[str, ...]
    """With ports."""


@dataclass(frozen=True)
class Pushed:
    """An activity that another device wants to have continued here. The user is asked about it (R3.15)."""

    push: UUID
    """For `App.answer_push`."""
    device: UUID
    """The device that it comes from; the next field is the name of that device."""
    device_name: str
    activity_id: UUID
    type: str
    app_name: str
    """The name of the app at the origin."""
    bundle_identifier: str
    """The app here that would continue it; the next field is the name of that app."""
    receiver_name: str
    received: datetime | Timestamp
    expires: datetime | Timestamp
    """It is declined then."""
    title: str | None = None


@dataclass(frozen=True)
class Pushes:
    """The pushes of other devices, at one moment."""

    change: int
    """For `App.pushes(after=...)`: another one after each change."""
    pushes: tuple[Pushed, ...] = ()


def account_of(value: Mapping[Any, Any]) -> Account:
    entries = dict(value)
    entries["status"] = _membership(value["status"])
    entries["devices"] = tuple(_device(each) for each in value.get("devices", ()))
    entries["takeovers"] = tuple(_made(TakeOver, each) for each in value.get("takeovers", ()))
    entries["refused"] = tuple(_made(RefusedDevice, each) for each in value.get("refused", ()))
    entries["joins"] = tuple(_made(Join, each) for each in value.get("joins", ()))
    entries["notices"] = tuple(_notice(each) for each in value.get("notices", ()))
    entries["settings"] = _settings(value.get("settings", {}))
    return _made(Account, entries)


def _settings(value: Mapping[Any, Any]) -> DeviceSettings:
    mailbox = value.get("retain_on")
    return _made(DeviceSettings, {**value, "retain_on": mailbox if isinstance(mailbox, UUID) else None})


def _membership(status: object) -> Membership:
    try:
        return Membership(status)
    except ValueError:
        raise MalformedError(f"agent: answers 'account' with the status {status!r}") from None


def _device(value: Mapping[Any, Any]) -> KnownDevice:
    paths = [_made(DevicePath, each) for each in value.get("paths", ())]
    return _made(KnownDevice, {**value, "paths": paths})


def invite_of(value: Mapping[Any, Any]) -> Invite:
    return _made(Invite, value)


def contents_of(value: Mapping[Any, Any]) -> InviteContents:
    return _made(InviteContents, value)


def join_of(value: Mapping[Any, Any]) -> Join:
    return _made(Join, value)


def pushes_of(value: Mapping[Any, Any]) -> Pushes:
    return Pushes(value["change"], tuple(_made(Pushed, each) for each in value["pushes"]))


def _notice(value: Mapping[Any, Any]) -> Notice:
    return _made(Notice, {**value, "status": status_of(value["status"])})


def _made(kind: type[_T], value: Mapping[Any, Any]) -> _T:
    """Makes one of its entries, as far as this version knows them."""
    names = [field.name for field in fields(cast(Any, kind))]
    known = {name: value[name] for name in names if name in value}
    return kind(**{name: tuple(each) if isinstance(each, list) else each for name, each in known.items()})
