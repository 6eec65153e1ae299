# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The account of the user: `account`, and what is done with it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from .._account import Account, DeviceSettings, Membership
from .._app import App
from .._terminal import shown
from ..errors import NotFoundError
from .answers import agreed, hidden_line, read_line
from .devices import NO_ACCOUNT, asker, heard, member, named, only, require_manager, stranger
from .output import CommandError, count, note, show_json
from .session import asked, chooser
from .verbs import Verbs

MOST_PASSPHRASE = 1024
"""Bytes."""
SHORTEST_PASSPHRASE = 12
"""Characters, as the agent has it."""
RECOVERY_FILE = b"-----BEGIN "
"""The first bytes of a recovery file, which is PEM."""
REMOVED = "this device was removed from "
"""Part of the message by which the agent says that this device was revoked."""
REMAINS = (
    f"what was continued here stays, and so do what apps of this device have saved, and its settings; {NO_ACCOUNT}"
)
PASSPHRASE = "The passphrase is asked for in the terminal; without one it is the first line of standard input."


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "account",
        account,
        "the account that this device is in, and its settings; creates it, leaves it, saves its key",
        "Devices of one account have each other's offers. The first device creates it, others join with `segue\n"
        "invite` and `segue join`.",
    )
    actions = Verbs(parser, of_verb=True)
    making = actions.add("create", create, "make an account, with this device as its manager")
    making.add_argument("name", metavar="NAME", help="of the account: other devices show it when they join")
    making.add_argument("--device", metavar="NAME", help="the name of this device (default: that of the host)")
    leaving = actions.add("leave", leave, "take this device out of its account, and forget the account here")
    leaving.add_argument("--yes", action="store_true", help="do not ask")
    leaving.add_argument(
        "--abandon", action="store_true", help="also as the manager of other devices, which then have none"
    )
    saving = actions.add(
        "recovery",
        recovery,
        "save the key of the account, encrypted, so that another device can become the manager",
        f"Keep the file where a lost device does not take it along. {PASSPHRASE}\n"
        f"It has at least {SHORTEST_PASSPHRASE} characters.",
    )
    saving.add_argument("file", metavar="FILE", help="to make; it must not be there yet")
    becoming = actions.add(
        "recover",
        recover,
        "make this device the manager, with a file of `account recovery`: the former one is lost",
        f"Then `segue revoke` puts the lost one out. {PASSPHRASE}",
    )
    becoming.add_argument("file", metavar="FILE", help="made by `segue account recovery`")
    accepting = actions.add(
        "accept",
        accept,
        "take a device for the manager that has taken the account over with the recovery file",
        "A device that this one knows as one of the account is taken by itself. Any other one waits for this: only\n"
        "you can tell a thief of the recovery file from a device of yours that was admitted while this one was off.",
    )
    accepting.add_argument("device", metavar="DEVICE", help="the beginning of its identifier; `segue account` shows it")
    accepting.add_argument("--yes", action="store_true", help="do not ask")
    setting = actions.add("set", set_devices, "set how this device meets others; what is not named stays as it is")
    setting.add_argument("--port", type=port, help="at which it listens; 0: any that is free")
    setting.add_argument(
        "--address",
        action="append",
        dest="addresses",
        metavar="ADDRESS",
        help="dialled beside those found; several times; '': none",
    )
    setting.add_argument("--discovery", choices=("on", "off"), help="find others, and be found, by multicast")
    setting.add_argument("--relay", choices=("on", "off"), help="pass bytes on between others of the account")
    setting.add_argument(
        "--retain-on", metavar="DEVICE", help="it keeps offers of this device while this one is away; off: none does"
    )
    setting.add_argument(
        "--push",
        choices=("ask", "at-once", "never"),
        help="what others may have continued here (default: ask, see `segue inbox --watch`)",
    )
    setting.add_argument("--private", choices=("on", "off"), help="offers of this device go to no other")
    setting.add_argument(
        "--private-type", action="append", dest="private_types", metavar="TYPE", help="its offers go to no other device"
    )
    setting.add_argument(
        "--private-app", action="append", dest="private_apps", metavar="BUNDLE", help="the same for an app"
    )


def port(text: str) -> int:
    """Parses an argument: a port."""
    if not text.isascii() or not text.isdigit() or not 0 <= int(text) <= 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 65535")
    return int(text)


async def account(options: argparse.Namespace) -> int:
    async with chooser() as app:
        found = await asked(app, app.account)
    if options.json:
        show_json(found)
    else:
        print("\n".join(described(found)))
    return 0 if found.status == Membership.MEMBER else 1


def described(account: Account) -> list[str]:
    """Returns lines for people."""
    lines = []
    if account.status == Membership.NONE:
        lines.append(NO_ACCOUNT)
    elif account.status == Membership.UNUSABLE:
        lines.append("the account cannot be used")
    else:
        role = "this device is its manager" if account.manager else "another device is its manager"
        linked = sum(each.linked for each in account.devices)
        devices = f"{count(len(account.devices), 'device')}, {linked} linked now"
        listens = f"listens at port {account.port}" if account.port else "does not listen"
        lines += [f"account '{shown(account.account_name or '')}': {role}", devices, listens]
    if account.invites:
        lines.append(f"invites that can be used: {account.invites}")
    lines += [
        f"{asker(each)} asks to join, with the digits {shown(each.digits)}: `segue invite` asks for the answer"
        for each in account.joins
        if each.asks
    ]
    lines += [
        f"{stranger(each)} has taken over with the recovery file: `segue account accept {str(each.device)[:8]}`"
        " if that was you"
        for each in account.takeovers
    ]
    lines += [
        f"{stranger(each)} has a certificate of the account, is not in its list, and is refused:"
        f" `segue revoke {str(each.device)[:8]}` at the manager keeps it out for good"
        for each in account.refused
    ]
    if account.message:
        lines.append(shown(account.message, None))
    return [*lines, *settings(account), *keeping(account), *map(heard, account.notices)]


def settings(account: Account) -> list[str]:
    """Those that differ from what they are at first."""
    found, usual = account.settings, DeviceSettings()
    lines = []
    for name in DeviceSettings.__dataclass_fields__:
        value = getattr(found, name)
        if name == "retain_on" and value is not None:
            lines.append(f"retain on: {mailbox(account)}")
        elif value != getattr(usual, name):
            words = ", ".join(map(shown, value)) if isinstance(value, tuple) else shown(str(value))
            lines.append(f"{name.replace('_', ' ')}: {words}")
    return lines


def mailbox(account: Account) -> str:
    """The device that keeps the offers of this one, and what it says that it has."""
    for each in account.devices:
        if each.device == account.settings.retain_on:
            when = "" if each.linked else " when it was linked"
            kept = f" ({count(each.retains, 'offer')} retained there{when})" if each.retains is not None else ""
            if each.retains_pushes:
                kept += f", {count(each.retains_pushes, 'push', 'pushes')} kept there"
            problem = f"; it {shown(each.retains_problem, None)}" if each.retains_problem else ""
            return f"{named(each)}{kept}{problem}"
    return str(account.settings.retain_on)[:8]


def keeping(account: Account) -> list[str]:
    """Lines about the offers and pushes that this device keeps for others."""
    lines = []
    for each in account.devices:
        kept = [count(each.retained_here, "offer")] if each.retained_here else []
        kept += [count(each.pushes_here, "push", "pushes")] if each.pushes_here else []
        if kept:
            lines.append(f"keeps {' and '.join(kept)} of {named(each)}, {each.retained_bytes} bytes")
    return lines


async def create(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await asked(app, app.create_account, options.name, options.device)
        return await done(options, app, "created; `segue invite` lets another device join")


async def done(options: argparse.Namespace, app: object, said: str, **record: Any) -> int:
    if options.json:
        show_json(record or {"done": True})
    else:
        print(said)
    return 0


async def leave(options: argparse.Namespace) -> int:
    async with chooser() as app:
        state: Account = await asked(app, app.account)
        others = [each for each in state.devices if not each.this_device]
        is_removed = state.message is not None and REMOVED in state.message
        abandoned = count(len(others), "other device") if state.manager and others else None
        if abandoned and not options.abandon:
            raise CommandError(
                f"this device is the manager of {abandoned}: make one of them the manager first"
                " (`segue account recover` there), or leave them without one: --abandon"
            )
        if state.message and (is_removed or state.status != Membership.MEMBER):
            note(shown(state.message, None))
        # Without an account there is at most what came from another machine, of which the message tells.
        if not options.yes and (state.status != Membership.NONE or state.message):
            named = f" '{shown(state.account_name)}'" if state.account_name else ""
            question = f"take this device out of its account{named}?"
            if state.status == Membership.NONE:
                question = "set aside what came from another machine?"
            if is_removed:
                question = f"forget the account{named} here, too?"
            if abandoned:
                question += f" That leaves {abandoned} without a manager, until a recovery file makes one."
            if not await agreed(question):
                raise CommandError("not left")
        try:
            aside = await asked(app, app.leave_account, options.abandon)
        except NotFoundError:
            return await done(options, app, f"nothing to leave: {NO_ACCOUNT}", aside=None)
    if options.json:
        show_json({"aside": aside})
        return 0
    print(f"left{f'; what could not be used is kept as {shown(aside)}' if aside else ''}")
    for each in others:
        if each.manager and not each.linked and not is_removed:
            note(f"{shown(each.name)}, the manager, is not linked: it lists this device until `segue revoke` there")
    note(REMAINS)
    return 0


async def accept(options: argparse.Namespace) -> int:
    async with chooser() as app:
        waiting = (await member(app)).takeovers
        begin = options.device.lower().replace(" ", "")
        found = [each for each in waiting if begin and str(each.device).startswith(begin)]
        if len(found) != 1:
            raise CommandError(f"{len(found)} of {len(waiting)} devices that wait have an identifier that begins so")
        taken = found[0]
        if not options.yes and not await agreed(f"{stranger(taken)} has taken over with the recovery file: accept?"):
            raise CommandError("not accepted")
        await asked(app, app.accept_roster, taken.device, taken.digest)
    return await done(options, app, f"accepted: {stranger(taken)} is the manager now", accepted=taken.device)


async def passphrase(*, new: bool) -> str:
    """Raises: CommandError if there is none, or it is not UTF-8; if it is new, also if it is too short, or not the same
    when it is typed once more."""
    if not sys.stdin.isatty():
        return text_of(await read_line(MOST_PASSPHRASE + 1))
    first = text_of(await hidden_line("passphrase: ", MOST_PASSPHRASE + 1))
    if new and len(first) < SHORTEST_PASSPHRASE:
        raise CommandError(f"the passphrase has fewer than {SHORTEST_PASSPHRASE} characters; nothing was saved")
    if new and text_of(await hidden_line("once more: ", MOST_PASSPHRASE + 1)) != first:
        raise CommandError("the two differ; nothing was saved")
    return first


def text_of(line: bytes | None) -> str:
    if line is None:
        raise CommandError("standard input has ended: there is no passphrase")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise CommandError("the passphrase is not UTF-8") from None


async def recovery(options: argparse.Namespace) -> int:
    path = Path(options.file)
    if os.path.lexists(path):
        raise CommandError(f"{shown(str(path), None)}: is there already")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CommandError(f"{shown(str(path.parent), None)}: is no folder in which a file can be made")
    async with chooser() as app:
        require_manager(await member(app), "save the key of the account")
        data = await asked(app, app.recovery_file, await passphrase(new=True))
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            os.fchmod(file.fileno(), 0o600)  # whatever the umask
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CommandError(f"{shown(str(path), None)}: {error.strerror}") from error
    if options.json:
        show_json({"file": str(path)})
    else:
        print(f"saved: {shown(str(path), None)}")
        note("who has this file and its passphrase has the account: keep it away from the device")
    return 0


async def recover(options: argparse.Namespace) -> int:
    try:
        data = Path(options.file).read_bytes()
    except OSError as error:
        raise CommandError(f"{shown(options.file, None)}: {error.strerror}") from error
    if not data.startswith(RECOVERY_FILE):
        raise CommandError(f"{shown(options.file, None)}: is no file that `segue account recovery` has made")
    async with chooser() as app:
        was_manager = (await member(app)).manager
        await asked(app, app.recover_account, data, await passphrase(new=False))
        if was_manager:
            return await done(options, app, "this device is the manager, as before")
        return await done(options, app, "this device is the manager now; `segue revoke` puts the lost one out")


async def set_devices(options: argparse.Namespace) -> int:
    wanted: dict[str, Any] = {
        "port": options.port,
        "discovery": truth(options.discovery),
        "relay": truth(options.relay),
        "push": options.push,
        "private": truth(options.private),
        "addresses": several(options.addresses),
        "private_types": several(options.private_types),
        "private_apps": several(options.private_apps),
    }
    async with chooser() as app:
        if options.retain_on is not None:
            wanted["retain_on"] = await mailbox_of(app, options.retain_on)
        await asked(app, lambda: app.set_devices(**wanted))
        state: Account = await asked(app, app.account)
        types = {offer.type for offer in app.offers}
    found = state.settings
    if options.json:
        show_json(found)
    else:
        for line in settings(state) or ["all settings are as they were at first"]:
            print(line)
    for each in wanted["private_types"] or ():
        if each not in types:
            note(f"nothing that is offered now has the type {shown(each)}")
    if options.port and state.port not in (0, options.port):
        raise CommandError(shown(state.message or f"this device listens at port {state.port}", None))
    return 0


async def mailbox_of(app: App, name: str) -> UUID | Literal["off"]:
    """Returns the device that is to keep the offers of this one. One called "off" is named by its identifier."""
    if name == "off":
        return "off"
    device = only(await member(app), name)
    if device.this_device:
        raise CommandError(f"{named(device)} is this device, which is away whenever its offers are needed")
    return device.device


def truth(word: str | None) -> bool | None:
    return None if word is None else word == "on"


def several(words: list[str] | None) -> list[str] | None:
    """An empty word stands for none."""
    return None if words is None else [word for word in words if word]
