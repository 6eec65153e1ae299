# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Another device joins the account: `invite` there, `join` here."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from .._account import Account, Invite, Join, Membership, Notice
from .._app import App
from .._terminal import shown
from ..errors import Error, InvalidStateError, NotFoundError, RemoteApplicationTimedOutError
from .answers import agreed, read_line
from .devices import LONGEST_WAIT, asker, member, require_manager, told
from .output import CommandError, left, note, show_json, when
from .qr import drawn
from .session import asked, chooser
from .verbs import Verbs

MOST_LINK = 2048
TO_ANSWER = 300.0
"""Seconds for which the agent waits for the user who compares the digits (docs/trust.md)."""
TO_SHOW = 15.0
"""Seconds until the digits of a device are here whose first word has used the invite up, in a slow network."""


def add(verbs: Verbs) -> None:
    inviting = verbs.add(
        "invite",
        invite,
        "make a link with which one device can join, and admit that device",
        "The link lives for ten minutes, and is a secret until it has been used. In a terminal it is also drawn\n"
        "as a QR code if Python has segno (Debian: python3-segno). Then the command waits for the device, shows its\n"
        "digits, and asks.\n"
        "With --automatic no one is asked, and no digits are compared. The command ends when the invite is void.",
    )
    inviting.add_argument(
        "--address",
        action="append",
        dest="addresses",
        metavar="ADDRESS",
        help="at which this device is reached; several times",
    )
    inviting.add_argument(
        "--automatic",
        action="store_true",
        help="admit the first device with the link, without asking and without digits: where no user could be asked",
    )
    what = inviting.add_mutually_exclusive_group()
    what.add_argument("--no-wait", action="store_true", help="end once the link is printed")
    what.add_argument("--cancel", action="store_true", help="void all invites instead")
    joining = verbs.add(
        "join",
        join,
        "join the account of an invite",
        "Other users of this machine can see arguments of programs. LINK is - to read it from standard input.",
    )
    joining.add_argument("link", metavar="LINK", help="printed by `segue invite`; -: standard input")
    joining.add_argument("--device", metavar="NAME", help="the name of this device (default: that of the host)")
    joining.add_argument("--yes", action="store_true", help="do not ask before dialling")


# ---- the device that is in the account ----


async def invite(options: argparse.Namespace) -> int:
    async with chooser() as app:
        if options.cancel:
            await asked(app, app.cancel_invites)
            return told(options, {"cancelled": True}, "all invites are void")
        before = await member(app)
        require_manager(before, "invite")
        made = await make(app, options)
        if options.no_wait:
            show_invite(made, options)
            return 0
        try:
            show_invite(made, options)
            return await admit(app, made, before, options)
        except asyncio.CancelledError:
            note("the invite is void now")
            raise
        finally:
            # Its device could no longer be approved.
            with suppress(Error):
                app.cancel_invites(made.link)


async def make(app: App, options: argparse.Namespace) -> Invite:
    """Makes the invite. One that is made when the command is to end is void."""
    making = asyncio.ensure_future(asked(app, app.invite, options.addresses, options.automatic))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        with suppress(Error):
            app.cancel_invites((await making).link)
        raise


def show_invite(made: Invite, options: argparse.Namespace) -> None:
    if options.json:
        show_json(made, line=True)
        return
    print(made.link, flush=True)
    if options.automatic:
        note("the first device that has this link is admitted without asking: there are no digits to compare here")
    if not sys.stdout.isatty():
        return
    code = drawn(made.link)
    if code:
        print(code, flush=True)
    end = when(made.expires, "%H:%M")
    until = f"until {end}" if end else "for ten minutes"
    note(f"on the other device: `segue join 'LINK'`, {until}; Ctrl-C voids it")


async def admit(app: App, made: Invite, state: Account, options: argparse.Namespace) -> int:
    """Waits for the device, and asks the user. Returns the exit status.

    The agent does not say which of several open invites is void: this one is void for sure once none is open.
    """
    known, heard = {each.device for each in state.devices}, set(state.notices)
    handled: set[int] = set()
    void: float | None = None
    """Since when no invite is open, and no device shows digits."""
    why: str | None = None
    state = await asked(app, app.account)
    while True:
        for each in state.joins:
            if each.asks and each.join not in handled:
                handled.add(each.join)
                await decide(app, each, options)
        came = [each for each in state.devices if each.device not in known]
        confirmed = [each for each in came if each.confirmed]
        if confirmed:
            joined(confirmed[0].device, confirmed[0].name, options)
            return 0
        check_still_manager(state)
        new = [
            shown(each.message, None) for each in state.notices if each not in heard and is_about_invites(each, state)
        ]
        heard.update(state.notices)
        rest = remaining(made)
        if state.invites > 0 or state.joins:
            void = None
            for message in new:
                note(message)  # somebody could not join, and may try again
        else:
            why = new[-1] if new else why
            void = time.monotonic() if void is None else void
        if rest <= 0 and came:
            raise TimeoutError(f"{shown(came[0].name)} was admitted, and has not linked yet; `segue devices` says when")
        if rest <= 0 and not state.joins:
            raise TimeoutError("the invite has expired; make another one")
        if void is not None and why:
            raise CommandError(f"{why}; that invite is void, make another one")
        if void is not None and not came:
            if handled:
                raise CommandError("the device was not admitted; that invite is void, make another one")
            rest = min(rest, void + TO_SHOW - time.monotonic())
            if rest <= 0:
                raise CommandError("the invite is void: it was cancelled, or its join has ended; make another one")
        state = await asked(app, app.account, state.change, min(max(rest, 0.1), LONGEST_WAIT))


def check_still_manager(state: Account) -> None:
    """Raises: CommandError if the account in which a device should join is no longer this device's to let it in."""
    if state.status != Membership.MEMBER:
        raise CommandError("this device is no longer in the account: that invite is void")
    if not state.manager:
        raise CommandError("another device has become the manager of the account: that invite is void")


def is_about_invites(notice: Notice, state: Account) -> bool:
    """Whether it may say why a device did not join: not what is about a device of the account, which it names first."""
    return not notice.message.startswith(tuple(f"{each.name}: " for each in state.devices))


def remaining(made: Invite) -> float:
    """Seconds until the invite expires."""
    return made.expires.timestamp() - time.time() if isinstance(made.expires, datetime) else LONGEST_WAIT


def show_digits(join: Join) -> None:
    """On a line of their own, which a terminal does not break."""
    note(f"    {shown(join.digits)}")
    if isinstance(join.clock_here, datetime) and isinstance(join.clock_there, datetime):
        here, there = (f"{each:%Y-%m-%d %H:%M}" for each in (join.clock_here, join.clock_there))
        note(f"the clocks differ: here it is {here}, there it is {there} (UTC); set the one that is wrong first")


async def decide(app: App, join: Join, options: argparse.Namespace) -> None:
    """Has the user compare the digits."""

    def show() -> None:
        if options.json:
            show_json({"join": join}, line=True)
        note(f"{asker(join)} asks to join, and must show these digits:")
        show_digits(join)

    async def ended() -> None:
        """Until the other device has given up, or the user has answered elsewhere."""
        state = await asked(app, app.account)
        while any(each.join == join.join and each.asks for each in state.joins):
            state = await asked(app, app.account, state.change, LONGEST_WAIT)

    try:
        admits = await agreed(
            "does it show the same digits, and is it yours?", ended, show, left=f"at most {left(TO_ANSWER)}"
        )
    except asyncio.CancelledError:
        with suppress(Error):  # it has ended by itself
            app.answer_join(join, False)
        raise
    if admits is None:
        note("no answer is needed any longer")
        return
    try:
        await asked(app, app.answer_join, join, admits)
    except (InvalidStateError, NotFoundError):
        note("too late: it was answered elsewhere, or the other device has ended it")
        return
    if not admits:
        raise CommandError("declined; that invite is void")


def joined(device: UUID, name: str, options: argparse.Namespace) -> None:
    if options.json:
        show_json({"joined": device, "name": name}, line=True)
    else:
        print(f"joined: {shown(name)} ({str(device)[:8]})")


# ---- the device that joins ----


async def join(options: argparse.Namespace) -> int:
    async with chooser() as app:
        state = await asked(app, app.account)
        if state.status != Membership.NONE:
            name = f" '{shown(state.account_name)}'" if state.account_name else ""
            raise CommandError(f"this device is in an account{name}; leave it first: `segue account leave`")
        link = options.link if options.link != "-" else await read_link()
        more = re.search(r"&c=[0-9a-f]{8}(.+)$", link.strip())
        if more is not None:
            raise CommandError(f"there is more behind the end of the link: '{shown(more[1])}'; copy the link only")
        contents = await asked(app, app.read_invite, link)
        if not options.yes:
            question = (
                f"join the account '{shown(contents.account_name)}', at {', '.join(map(shown, contents.addresses))}?"
            )
            if not await agreed(question):
                raise CommandError("not joined; nothing was dialled")
        made = await asked(app, app.join, link, options.device)
        if options.json:
            show_json(made, line=True)
        unless = "unless the invite is automatic"
        note(f"{asker(made)} must show these digits, and its user say that they are the same, {unless}:")
        show_digits(made)
        await settle(app, made)
        state = await asked(app, app.account)
    if options.json:
        show_json(state, line=True)
    else:
        print(f"joined: this device is in the account '{shown(state.account_name or '')}'")
    return 0


async def settle(app: App, join: Join) -> None:
    """Waits for the user of the manager. If this user ends the wait, or it lasts too long, the join ends."""
    try:
        await asked(app, app.await_join, join)
    except (asyncio.CancelledError, RemoteApplicationTimedOutError):
        with suppress(Error):  # it has ended by itself
            app.answer_join(join, False)
        raise


async def read_link() -> str:
    if sys.stdin.isatty():
        print("paste the link that `segue invite` shows, and press Enter: ", end="", file=sys.stderr, flush=True)
    text = (await read_line(MOST_LINK) or b"").strip()
    if not text:
        raise CommandError("standard input has no link")
    return text.decode(errors="replace")
