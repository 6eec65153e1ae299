# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the devices of the account that an offer does not reach, and those whose offers are not here (R6.5)."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress
from datetime import datetime

from .._account import Account, KnownDevice
from .._app import App
from .._offer import Offer
from .._reason import Reason
from .._terminal import shown
from ..errors import ConnectionUnavailableError, Error
from .devices import kind_of, named
from .output import CommandError, ago
from .session import PATIENCE, beside, connected, tell_of_stopped_agent, within

BRIEFLY = 2.0
"""Seconds for the agent's answer where a list is of use without it."""


async def asked_account(app: App) -> Account | None:
    """Returns the account as the agent has it, which may be starting on demand. Tells people if it is stopped. None: no
    agent runs.

    Raises: CommandError if it does not answer: nobody knows then whether an offer is of this device; TimeoutError if
        there is no hub"""
    telling = asyncio.ensure_future(tell_of_stopped_agent(app))
    try:
        await connected(app)
        try:
            return await within(PATIENCE, beside(app.account))
        except ConnectionUnavailableError:
            return None
        except (TimeoutError, asyncio.TimeoutError):
            raise CommandError(f"the agent does not answer within {PATIENCE:g} s") from None
    finally:
        telling.cancel()


async def account_of(app: App) -> Account | None:
    """Returns the account as the agent has it. None: it does not answer soon, or none runs."""
    with suppress(Error, TimeoutError, asyncio.TimeoutError):
        return await within(BRIEFLY, beside(app.account))
    return None


def others(account: Account | None) -> list[KnownDevice]:
    return [] if account is None else [each for each in account.devices if not each.this_device]


def has_own_name(offer: Offer, account: Account | None) -> bool:
    """Whether this device has the name that an offer gives, which is all that it says of its device."""
    devices = account.devices if account else []
    if not devices:
        return offer.device_name == (socket.gethostname().partition(".")[0] or "this device")
    return any(each.this_device and each.name == offer.device_name for each in devices)


def is_from_here(offer: Offer, account: Account | None) -> bool:
    """Whether an offer is of this device, and of no other one of the account that has the same name."""
    return has_own_name(offer, account) and all(each.name != offer.device_name for each in others(account))


def reasons(offer: Offer | None, account: Account | None) -> list[Reason]:
    """Why other devices do not get an offer of this device; without one: which of them have no offers here."""
    found = []
    if account is not None and account.message:
        found.append(Reason("account", account.message))
    if offer is not None and not is_from_here(offer, account):
        return found
    kept = None if offer is None or account is None else kept_by(offer, account)
    if kept is not None and others(account):
        found.append(Reason("private", f"it stays on this device: {kept} is kept here (`segue account set`)"))
    then = "what it offers is not here" if offer is None else "it is not offered there"
    for each in others(account):
        if not each.linked:
            tried = [f"{shown(path.address)}: {shown(path.message, None)}" for path in each.paths if path.message]
            paths = f"; tried: {'; '.join(tried)}" if tried else ""
            paths += f"; not used: {', '.join(map(kind_of, each.avoided))}" if each.avoided else ""
            found.append(Reason("not linked", f"{seen(each)}: {then}{paths}", device=named(each)))
    return found


def kept_by(offer: Offer, account: Account) -> str | None:
    """Returns the setting that keeps an offer on this device; None: no setting does. An offer does not say whether its
    app has made the activity private."""
    settings = account.settings
    if settings.private:
        return "everything"
    if offer.type in settings.private_types:
        return "its type"
    return "its app" if offer.bundle_identifier in settings.private_apps else None


def seen(device: KnownDevice) -> str:
    if isinstance(device.last_seen, datetime):
        return f"seen {ago(max(0.0, time.time() - device.last_seen.timestamp()))} ago"
    return "not seen since the agent has started"


def lines(found: list[Reason]) -> list[str]:
    """Says reasons in words."""
    return [
        f"{each.device}: is {each.reason}, {each.message}"
        if each.device
        else f"{each.reason}: {shown(each.message, None)}"
        for each in found
    ]


def reached(offer: Offer, account: Account | None, found: list[Reason]) -> list[str]:
    """Says which devices have an offer of this one, as far as is known."""
    if not is_from_here(offer, account) or any(each.reason == "private" for each in found):
        return []
    linked = (each for each in others(account) if each.linked)
    return [f"{named(each)}: is linked, and is offered it unless its app has made it private" for each in linked]
