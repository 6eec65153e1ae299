# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The devices of the account: `devices`, `revoke`, `rename`."""

from __future__ import annotations

import argparse
import dataclasses
import time
from datetime import datetime
from typing import Any

from .._account import Account, DevicePath, Join, KnownDevice, Membership, Notice, RefusedDevice, TakeOver
from .._app import App
from .._terminal import shown
from ..errors import NotAllowedError, NotFoundError
from . import device_paths
from .answers import agreed
from .output import CommandError, ago, count, note, show_json, show_table, table, when
from .session import asked, chooser
from .verbs import Verbs

HEADS = ("ID", "NAME", "SYSTEM", "STATE", "CERTIFICATE")
NO_ACCOUNT = "this device is in no account: `segue account create NAME`, or `segue join LINK`"
COMMAND = "command"
"""The address of a path that is one."""
KINDS = ("same-network", "other-network", "tunnel", "relay", "command")
"""The kinds of paths, the cheapest first."""
LONGEST_WAIT = 60.0
"""Seconds of one question; it is asked again."""


def add(verbs: Verbs) -> None:
    listing = verbs.add("devices", devices, "the devices of the account, and which of them are linked now")
    listing.add_argument("--watch", action="store_true", help="then each change, until Ctrl-C")
    listing.add_argument("--paths", action="store_true", help="the paths to each device, and why some have failed")
    for option, what in (("add", "dial DEVICE there, too, while it is not linked"), ("remove", "no longer")):
        listing.add_argument(
            f"--{option}-address",
            nargs=2,
            metavar=("DEVICE", "HOST[:PORT]"),
            help=f"{what}; a name, an IPv4 address, or one of IPv6 in brackets"
            if option == "add"
            else f"{what} dial DEVICE there",
        )
    listing.add_argument(
        "--add-path",
        nargs=2,
        metavar=("DEVICE", "COMMAND"),
        help="reach DEVICE by a command, too: 'ssh HOST segue-agent --stdio'; without a shell",
    )
    listing.add_argument("--remove-path", metavar="DEVICE", help="no longer reach DEVICE by its command")
    listing.add_argument(
        "--avoid",
        nargs=2,
        metavar=("DEVICE", "KIND"),
        help=f"use no path of that kind to DEVICE any longer, and take none from there: {', '.join(KINDS)}",
    )
    listing.add_argument("--use", nargs=2, metavar=("DEVICE", "KIND"), help="use paths of that kind to DEVICE again")
    revoking = verbs.add(
        "revoke",
        revoke,
        "put a device out of the account for good: a lost one, or one that is sold",
        "Its links end within a second. What it has already continued stays there. Only the manager revokes; if the\n"
        "manager is what is lost: `segue account recover` first.",
    )
    revoking.add_argument(
        "device", metavar="DEVICE", help="its name, or the beginning of its identifier; also of one that was refused"
    )
    revoking.add_argument("--yes", action="store_true", help="do not ask")
    renaming = verbs.add("rename", rename, "give this device, or at the manager any device, another name")
    renaming.add_argument("name", metavar="NAME", help="the new name")
    renaming.add_argument("--device", metavar="DEVICE", help="its name, or the beginning of its identifier")


async def devices(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await change_addresses(app, options)
        await change_paths(app, options)
        await change_kinds(app, options)
        found: Account = await asked(app, app.account)
        show(found, options)
        while options.watch:
            former, found = found, await asked(app, app.account, found.change, LONGEST_WAIT)
            if found.change == former.change:
                continue
            if options.json:
                show_json(found, line=True)
            else:
                for line in changes(former, found):
                    print(line, flush=True)
    return 0 if found.status == Membership.MEMBER else 1


async def change_addresses(app: App, options: argparse.Namespace) -> None:
    """Gives a device an address, or takes one back, as the options say."""
    for named_address, change in ((options.add_address, app.add_address), (options.remove_address, app.remove_address)):
        if named_address is not None:
            name, address = named_address
            await asked(app, change, only(await member(app), name).device, address)


async def change_paths(app: App, options: argparse.Namespace) -> None:
    """Sets the command of a device, or takes it back, and has the agent read that again. The agent gets the device
    alone: its launcher reads the file."""
    if options.add_path is not None:
        name, command = options.add_path
        words = device_paths.words_of(command)
        device = only(await member(app), name)
        if device.this_device:
            raise CommandError(f"{named(device)} is this device")
        device_paths.change(device.device, words)
    if options.remove_path is not None:
        device_paths.change(only(await member(app), options.remove_path).device, None)
    if options.add_path is not None or options.remove_path is not None:
        await asked(app, app.read_paths)


async def change_kinds(app: App, options: argparse.Namespace) -> None:
    """Has kinds of paths to a device used no longer, or again."""
    for named_kind, change in ((options.avoid, app.avoid_path), (options.use, app.use_path)):
        if named_kind is not None:
            name, kind = named_kind
            kind = kind.replace(" ", "-")  # as --paths shows it
            if kind not in KINDS:
                raise CommandError(f"'{shown(kind)}' is no kind of path: {', '.join(KINDS)}")
            await asked(app, change, only(await member(app), name).device, kind.replace("-", " "))


def show(account: Account, options: argparse.Namespace) -> None:
    if options.json:
        show_json(account, line=options.watch)
        return
    if account.devices:
        show_table([row(each) for each in account.devices], HEADS)
        for device in account.devices:
            for line in details(device, options.paths):
                print(line)
    elif account.status == Membership.UNUSABLE:
        note("the account cannot be used")
    else:
        note(NO_ACCOUNT)
    for each in account.takeovers:
        note(f"{stranger(each)} has taken over with the recovery file: `segue account accept` if that was you")
    for refused in account.refused:
        note(f"{stranger(refused)} is not in the list of the account, and is refused")
    if account.message:
        note(shown(account.message, None))
    for told in account.notices:
        note(heard(told))


def details(device: KnownDevice, with_paths: bool) -> list[str]:
    """Returns lines about the addresses of a device, and about the paths to it."""
    lines = [f"{named(device)}: dialled at {', '.join(map(shown, device.addresses))}"] if device.addresses else []
    if device.avoided:
        lines.append(f"{named(device)}: not by {', '.join(map(kind_of, device.avoided))}")
    if device.retains:
        lines.append(f"{named(device)}: retains {count(device.retains, 'offer')} of this device")
    if device.retains_problem:
        lines.append(f"{named(device)}: {shown(device.retains_problem, None)}")
    if device.retained_here:
        lines.append(f"{named(device)}: {count(device.retained_here, 'offer')} of it retained here")
    pushes = ((device.retains_pushes, "of this device kept there"), (device.pushes_here, "of it kept here"))
    for number, where in pushes:
        if number:
            lines.append(f"{named(device)}: {count(number, 'push', 'pushes')} {where}")
    return lines + [f"{named(device)}: {path(with_command(each, device))}" for each in device.paths if with_paths]


def kind_of(cost: str) -> str:
    """Returns a kind of path as `--avoid` takes it."""
    return shown(cost).replace(" ", "-")


def with_command(found: DevicePath, device: KnownDevice) -> DevicePath:
    """Returns a path with the words of its command, which the agent does not know."""
    command = device_paths.shown_of(device.device) if found.address == COMMAND else None
    return dataclasses.replace(found, address=f"`{command}`") if command else found


def path(found: DevicePath) -> str:
    """Returns a path in words: its address, whether it is used, and why it has failed."""
    words = [shown(found.address, None), *([shown(found.cost)] if found.cost else [])]
    message = f": {shown(found.message, None)}" if found.message else ""
    return ", ".join([*words, shown(found.state)]) + message


def heard(notice: Notice) -> str:
    """Returns the text of a notice for the user, with its date."""
    date = when(notice.date)
    return f"{date} {shown(notice.message, None)}" if date else shown(notice.message, None)


def changes(former: Account, now: Account) -> list[str]:
    """Returns a line for each difference."""
    lines = []
    before = {each.device: each for each in former.devices}
    for each in now.devices:
        old = before.pop(each.device, None)
        if old is None:
            lines.append(f"joined    {named(each)}")
        elif old.name != each.name:
            lines.append(f"renamed   {named(old)} is {named(each)} now")
        if each.manager and old and not old.manager:
            lines.append(f"manager   {named(each)}")
        if each.linked and not (old and old.linked):
            lines.append(f"linked    {named(each)} {where(each)}")
        if old and old.linked and not each.linked:
            lines.append(f"gone      {named(each)}")
    if now.status == Membership.MEMBER:
        lines += [f"removed   {named(each)} has left, or was revoked" for each in before.values()]
    waiting = {each.digest for each in former.takeovers}
    lines += [f"takeover  {stranger(each)}" for each in now.takeovers if each.digest not in waiting]
    refused = {each.device for each in former.refused}
    lines += [f"refused   {stranger(each)}" for each in now.refused if each.device not in refused]
    known = {each.join for each in former.joins}
    lines += [f"asks      {asker(each)}" for each in now.joins if each.asks and each.join not in known]
    if former.status != now.status:
        lines.append(f"account   {now.status.value}")
    if now.message and former.message != now.message:
        lines.append(f"advice    {shown(now.message, None)}")
    heard = set(former.notices)
    return lines + [f"notice    {shown(each.message, None)}" for each in now.notices if each not in heard]


def row(device: KnownDevice) -> tuple[str, ...]:
    words = []
    if device.this_device:
        words.append("this device")
    elif device.linked:
        words.append(f"linked, {shown(device.address or used(device) or '')}".rstrip(", "))
    elif isinstance(device.last_seen, datetime):
        words.append(f"seen {ago(max(0.0, time.time() - device.last_seen.timestamp()))} ago")
    else:
        words.append("not seen")
    if device.manager:
        words.append("manager")
    if not device.confirmed:
        words.append("not confirmed")
    return (str(device.device)[:8], named(device), shown(device.platform), ", ".join(words), ends(device))


def used(device: KnownDevice) -> str | None:
    """Returns the path of the link of a device that has no address."""
    return next((each.address for each in device.paths if each.state == "used"), None)


def where(device: KnownDevice) -> str:
    """Returns where a device is linked, for a line."""
    if device.address:
        return f"at {shown(device.address)}"
    found = used(device)
    return f"by a {shown(found)}" if found else "at an unknown address"


def ends(device: KnownDevice) -> str:
    if not isinstance(device.certificate_ends, datetime):
        return ""
    return f"until {device.certificate_ends:%Y-%m-%d}"


def named(device: KnownDevice) -> str:
    """The name, with the fingerprint where names look the same."""
    return shown(device.name) + (f" ({shown(device.fingerprint)})" if device.fingerprint else "")


def asker(join: Join) -> str:
    return f"'{shown(join.device_name)}'" + (f" ({shown(join.platform)})" if join.platform else "")


def only(account: Account, text: str) -> KnownDevice:
    """Returns the device of this name, as it is or as it is shown, or whose identifier begins so. A device chooses its
    name, which may be what the identifier of another one begins with: then neither is meant.

    Raises: NotFoundError, CommandError.
    """
    called = [each for each in account.devices if text in (each.name, shown(each.name), named(each))]
    begins = text.lower() if text.strip("-") else None
    others = [each for each in account.devices if begins and each not in called]
    others = [each for each in others if str(each.device).startswith(begins or "")]
    if called and others:
        one, other = (f"{named(each)} ({each.device})" for each in (called[0], others[0]))
        raise CommandError(
            f"'{shown(text)}' is the name of {one}, and the identifier of {other} begins so:"
            " give more, or fewer, characters of the identifier of the one that you mean"
        )
    found = called or others
    if not found:
        raise NotFoundError(f"no device of the account has the name '{text}', or an identifier that begins so")
    if len(found) > 1:
        lines = table([row(each) for each in found], HEADS)
        raise CommandError("\n".join([f"'{shown(text)}' is what {len(found)} devices are called:", *lines]))
    return found[0]


async def member(app: App) -> Account:
    """Returns the account. Raises: CommandError if this device is in none, or it cannot be used."""
    account: Account = await asked(app, app.account)
    if account.status == Membership.MEMBER:
        return account
    message = shown(account.message, None) if account.message else None
    none = NO_ACCOUNT if account.status == Membership.NONE else None
    raise CommandError("; ".join(each for each in (message, none) if each) or "the account cannot be used")


def require_manager(account: Account, to: str) -> None:
    """Raises: NotAllowedError unless this device is the manager."""
    if not account.manager:
        names = [each.name for each in account.devices if each.manager]
        raise NotAllowedError(f"only the manager of the account{f', {names[0]},' if names else ''} can {to}")


async def revoke(options: argparse.Namespace) -> int:
    async with chooser() as app:
        account = await member(app)
        require_manager(account, "revoke devices")
        unlisted = strangers(account, options.device)
        if unlisted is not None:
            return await revoke_stranger(app, unlisted, options)
        device = only(account, options.device)
        if device.this_device:
            raise CommandError(f"{named(device)} is this device: `segue account leave` takes it out")
        question = f"put {named(device)} ({str(device.device)[:8]}) out of the account for good?"
        if not options.yes and not await agreed(question):
            raise CommandError("not revoked")
        await asked(app, app.revoke_device, device.device)
    outdated = [named(each) for each in account.devices if each.outdated and each.device != device.device]
    if outdated:
        note(f"{', '.join(outdated)}: an older Segue runs there, which does not hear of it; update it")
    return told(options, {"revoked": device.device}, f"revoked: {named(device)}")


def strangers(account: Account, text: str) -> TakeOver | RefusedDevice | None:
    """Returns the device that is not listed whose identifier begins so; None if no such one is meant.

    Raises: CommandError if a listed one begins so, too, or several do.
    """
    begin = text.lower().replace(" ", "")
    unlisted: list[TakeOver | RefusedDevice] = [*account.takeovers, *account.refused]
    every = {each.device: each for each in unlisted}
    found = [each for device, each in every.items() if begin.strip("-") and str(device).startswith(begin)]
    if not found or any(text in (each.name, shown(each.name), named(each)) for each in account.devices):
        return None
    listed = [named(each) for each in account.devices if str(each.device).startswith(begin)]
    if len(found) + len(listed) > 1:
        words = ", ".join([*map(stranger, found), *listed])
        raise CommandError(f"'{shown(text)}' is how the identifiers of several begin: {words}")
    return found[0]


def stranger(device: TakeOver | RefusedDevice) -> str:
    """The name, which nothing has proved, and the fingerprint."""
    fingerprint = shown(device.fingerprint)
    return f"{shown(device.name)} ({fingerprint})" if device.name else fingerprint


async def revoke_stranger(app: App, device: TakeOver | RefusedDevice, options: argparse.Namespace) -> int:
    if not options.yes and not await agreed(f"keep {stranger(device)} out of the account for good?"):
        raise CommandError("not revoked")
    await asked(app, app.revoke_device, device.device)
    return told(options, {"revoked": device.device}, f"revoked: {stranger(device)}")


async def rename(options: argparse.Namespace) -> int:
    async with chooser() as app:
        account = await member(app)
        device = None if options.device is None else only(account, options.device).device
        await asked(app, app.rename_device, options.name, device)
    return told(options, {"name": options.name}, "renamed")


def told(options: argparse.Namespace, record: dict[str, Any], said: str) -> int:
    if options.json:
        show_json(record)
    else:
        print(said)
    return 0
