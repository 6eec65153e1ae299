# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of `doctor` about the account, its certificate, the port and the network."""

from __future__ import annotations

import errno
import os
import re
import socket
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from .._account import Account, DevicePath, KnownDevice, Membership
from .._app import App
from .._terminal import shown
from .checks import Finding, State
from .devices import COMMAND, heard, kind_of, named, stranger, with_command
from .output import count
from .quoting import quoted

BEACONS = "UDP port 47470 (to 239.255.47.47 and ff12::8000:5e9e)"
"""The port and the groups by which devices find each other: docs/device-links.md."""
ADVICE = (
    (
        "Host key verification failed",
        "look at the host's key with `ssh HOST` in a terminal, and then say whether it is right",
    ),
    (
        "Permission denied",
        "it must need no password here: a key without one, or one in an ssh-agent that the agent knows",
    ),
    ("something writes", "keep the shell's profile there silent unless the shell is interactive"),
    ("no agent runs", "start it there: `segue agent`, or `systemctl --user enable --now segue-agent`"),
    ("in no account", "let it join there: `segue join`"),
    ("not found", "name the program by its full path, such as /usr/bin/segue-agent"),
)
"""Advice about a command to a device, by words that it has said."""
EARLY = 30 * 86_400
"""Seconds before the end of a certificate from which on that is worth a note: it is renewed after half a year."""
IFF_UP, IFF_LOOPBACK, IFF_MULTICAST = 0x1, 0x8, 0x1000
INTERFACES = Path("/sys/class/net")
TAILNET = re.compile(r"tailscale|wg|zt|nebula|nb-|netbird|utun|tun|ham")
"""The beginning of the names that the interfaces of tailnets and VPNs have."""


def devices(app: App) -> list[Finding]:
    return findings(app.account())


def findings(account: Account) -> list[Finding]:
    told = [Finding("account", State.NOTE, heard(each)) for each in account.notices if each.message != account.message]
    if account.status == Membership.NONE:
        return [Finding("account", State.OK, "this device is in none, so no other device has its offers"), *told]
    if account.status == Membership.UNUSABLE:
        message = account.message or "it cannot be used"
        return [Finding("account", State.PROBLEM, shown(message, None), unusable_remedy(message)), *told]
    linked = sum(each.linked for each in account.devices)
    said = f"'{shown(account.account_name or '')}', {count(len(account.devices), 'device')}, {linked} linked"
    found = [Finding("account", State.OK, said)]
    if account.message:
        found.append(Finding("account", State.PROBLEM, shown(account.message, None)))
    found += unlisted(account)
    found += [each for device in account.devices if device.this_device for each in certificate(device, account)]
    if account.port or not account.message:  # else that says why it does not listen
        found += port(account.port)
    if not any(interfaces()):
        why = "no network interface is up, so this device can neither invite nor be reached"
        found.append(Finding("network", State.NOTE, why, "connect it to a network"))
    found += relayed(account)
    found += retained(account)
    if any(not each.linked and not each.this_device for each in account.devices):
        found += network(account)
    return found + told


def unlisted(account: Account) -> Iterator[Finding]:
    """Devices that are not in the list of the account, and want to be. Only the user knows whether they are."""
    for taken in account.takeovers:
        why = f"{stranger(taken)} has taken over with the recovery file, and waits for your answer"
        begin = str(taken.device)[:8]
        advice = f"`segue account accept {begin}` if that was you; else another has the recovery file: `segue revoke"
        advice += f" {begin}` at the manager, and save a new one there"
        yield Finding("account", State.PROBLEM, why, advice)
    for refused in account.refused:
        why = f"{stranger(refused)} has a certificate of the account, is not in its list, and is refused"
        advice = f"`segue revoke {str(refused.device)[:8]}` at the manager keeps it out for good"
        yield Finding("account", State.NOTE, why, advice)


def unusable_remedy(message: str) -> str | None:
    """Returns advice about an account that cannot be used; None: the message contains it."""
    if "`segue account leave`" in message:
        return None
    leave = (
        "`segue account leave`, then join again; if this device is the manager, that gives up the account: the other"
        " devices have no manager then, unless a recovery file makes one"
    )
    mode = re.match(r"(.*?): its mode is not 0600", message)
    if mode is None:
        return leave
    return f"if no one else has read it: chmod 600 '{mode[1]}', and `segue agent --replace`; else {leave}"


def certificate(device: KnownDevice, account: Account) -> Iterator[Finding]:
    """Says when the certificate of this device ends. The agent itself says that a certificate has ended."""
    if not isinstance(device.certificate_ends, datetime):
        return
    left = device.certificate_ends.timestamp() - time.time()
    said = f"ends at {device.certificate_ends:%Y-%m-%d}"
    if left > EARLY:
        yield Finding("certificate", State.OK, said)
    elif account.manager:
        yield Finding("certificate", State.NOTE, said, "the agent renews it by itself; its log says if it could not")
    else:
        yield Finding("certificate", State.NOTE, said, "bring this device together with the manager, which renews it")


def port(number: int) -> Iterator[Finding]:
    """Whether something listens where others are told to dial."""
    if number == 0:
        why = "this device does not listen, so others cannot dial it"
        yield Finding("port", State.PROBLEM, why, "`segue account set --port N` with one that is free; 0 finds one")
        return
    problem = refusal(number)
    if problem is None:
        yield Finding("port", State.OK, f"listens at TCP port {number}")
    else:
        why = f"nothing answers at TCP port {number} of this machine: {problem}"
        yield Finding("port", State.PROBLEM, why, "restart the agent: `segue agent --replace`")


def refusal(number: int) -> str | None:
    """Why a connection to a port of this machine fails; None: it does not."""
    why = "unknown"
    for family, address in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as made:
                made.settimeout(2)
                made.connect((address, number))
            return None
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                why = error.strerror or str(error)
    return why


def network(account: Account) -> Iterator[Finding]:
    """Finds what may keep devices from each other, while one is not linked."""
    missing = [each for each in account.devices if not each.linked and not each.this_device]
    names = ", ".join(shown(each.name) for each in missing[:3]) + (", …" if len(missing) > 3 else "")
    advice = "is it on, in an account, and in the same network? Elsewhere: `segue devices --add-address DEVICE HOST`"
    yield Finding("devices", State.NOTE, f"not linked now: {names}", advice)
    for each in missing:
        for tried in each.paths:
            if tried.message:
                place = with_command(tried, each)
                at = "by " if place is not tried else "" if tried.cost == "relay" else "at "
                why = f"{named(each)} {at}{shown(place.address, None)}: {shown(tried.message, None)}"
                yield Finding("path", State.NOTE, why, advice_on(tried))
        for kind in map(kind_of, each.avoided):
            why = f"{named(each)} is not reached by {kind}, since you have said so here"
            yield Finding("path", State.NOTE, why, f"`segue devices --use {word_for(each)} {kind}`")
    yield from tailnets(missing)
    if not account.settings.discovery:
        why = "discovery is off: only addresses that are set are dialled"
        yield Finding("network", State.NOTE, why, "`segue account set --discovery on`")
    elif not any(flags & IFF_MULTICAST for flags in interfaces()):
        why = "no network interface that is up can multicast, so no device is found by itself"
        yield Finding("network", State.NOTE, why, "`segue account set --address ADDRESS:PORT` on one of two devices")
    for name in firewalls():
        why = f"{name} is in use, and may drop what devices need"
        yield Finding("firewall", State.NOTE, why, f"let in TCP port {account.port} and {BEACONS}")


def advice_on(tried: DevicePath) -> str | None:
    """Says what to do about a command that has failed: it has no terminal, where it could ask."""
    said = tried.message or ""
    return next((advice for words, advice in ADVICE if tried.address == COMMAND and words in said), None)


def relayed(account: Account) -> Iterator[Finding]:
    """Says which devices are linked through another one."""
    for each in account.devices:
        for used in each.paths:
            if used.state == "used" and used.cost == "relay":
                said = f"{named(each)} is linked {shown(used.address)}, which passes bytes on"
                yield Finding("path", State.NOTE, said)


def retained(account: Account) -> Iterator[Finding]:
    """Says which device keeps the offers of this one, and what it does not keep."""
    for each in account.devices:
        if each.device != account.settings.retain_on:
            continue
        if each.retains_problem:
            yield Finding("mailbox", State.PROBLEM, f"{named(each)} {shown(each.retains_problem, None)}")
        elif not each.linked:
            why = f"{named(each)} is to keep the offers of this device, and is not linked"
            why += f"; it had {count(each.retains, 'offer')} at last" if each.retains is not None else ""
            yield Finding("mailbox", State.NOTE, why, "`segue devices --paths` says what was tried")
        elif each.retains is not None:
            yield Finding("mailbox", State.OK, f"{count(each.retains, 'offer')} retained at {named(each)}")


def tailnets(missing: list[KnownDevice]) -> Iterator[Finding]:
    """Says how devices meet in a tailnet or a VPN, which passes no multicast on. The name of the interface tells it."""
    unset = [each for each in missing if not each.addresses]
    for name in sorted(each.name for each in INTERFACES.glob("*") if TAILNET.match(each.name)):
        for each in unset[:3]:
            why = f"{name} is up, which passes no multicast on, and no address of {named(each)} in it is set"
            command = f"`segue devices --add-address {word_for(each)} HOST`"
            yield Finding("tailnet", State.NOTE, why, f"{command}, with its name or address there")


def word_for(device: KnownDevice) -> str:
    """Returns the word for a device in a command: one that begins with `-` would be taken for an option."""
    return str(device.device)[:8] if device.name.startswith("-") else quoted(shown(device.name))


def interfaces() -> Iterator[int]:
    """The flags of each network interface that is up and no loopback."""
    for each in sorted(INTERFACES.glob("*/flags")):
        try:
            flags = int(each.read_text(), 16)
        except (OSError, ValueError):
            continue  # it has just gone
        if flags & IFF_UP and not flags & IFF_LOOPBACK:
            yield flags


def firewalls() -> Iterator[str]:
    """Those that say so in files that everybody may read; others cannot be told without root."""
    try:
        if "ENABLED=yes" in Path("/etc/ufw/ufw.conf").read_text().split():
            yield "ufw"
    except (OSError, UnicodeDecodeError):
        pass
    if os.path.isdir("/run/firewalld"):
        yield "firewalld"
