# SPDX-License-Identifier: Apache-2.0
"""What is offered on this machine: `python -m segue list | watch | continue | inbox | apps | route | choose | link |
describe | doctor`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import logging
import os
import random
import socket
import stat
import sys
import time
from datetime import datetime
from typing import Any

from . import (
    App,
    Candidate,
    Error,
    InboxEntry,
    InvalidStateError,
    KnownApp,
    LibraryError,
    NotFoundError,
    Offer,
    OfferEventKind,
    Outcome,
    __version__,
    describe_value,
    library_path,
    library_version,
)
from ._log import logger
from ._terminal import shown, shown_lines

FIRST_RETRY, LAST_RETRY = 0.5, 30.0
"""Seconds from the end of a link to the next attempt: twice as many each time, until one lasts longer."""

PATIENCE = 10.0
"""Seconds to find the hub."""
MESSAGE = 500
"""Characters that are shown of an error."""


def chooser() -> App:
    return App("segue.python", name="segue command line", chooser=True)


async def list_offers(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await asyncio.wait_for(app.ready(), PATIENCE)
        offers = app.offers
        if offers:
            for line in table([row(offer) for offer in offers]):
                print(line)
        else:
            print("nothing is offered", file=sys.stderr)
    return 0


async def watch(options: argparse.Namespace) -> int:
    async with chooser() as app:
        async for event in app.offer_events():
            now = datetime.now().strftime("%H:%M:%S")
            print(now, f"{event.kind.name.lower():8}", *row(event.offer), sep="  ", flush=True)
    return 0


async def take(options: argparse.Namespace) -> int:
    options.id = options.id or options.argument
    async with chooser() as app:
        offer = await asyncio.wait_for(first(app, options), options.wait)
        names = (shown(name) for name in (offer.type, offer.app_name, offer.device_name))
        print("continuing {} from {} on {}".format(*names), file=sys.stderr)
        if options.launch or options.app:
            return await launch(app, offer, options)
        async with app.continue_(offer, options.timeout) as activity:
            print("type:", shown(activity.type, None))
            if activity.continued_from and activity.continued_from.stale:
                print("stale: the origin could not save its state in time, so this one is older")
            for name in ("title", "webpage_url", "payload_version", "expiration_date"):
                value: Any = getattr(activity, name)
                if value:
                    print(f"{name}: {shown(str(value), None)}")
            print("user_info:", shown_lines(describe_value(activity.user_info.copy())))
            if options.document:
                print("document:", shown_lines(activity.describe()))
    return 0


async def launch(app: App, offer: Offer, options: argparse.Namespace) -> int:
    """Has the agent continue it in an app that need not run."""
    result = await asyncio.to_thread(app.launch, offer, options.app, options.timeout)
    said = f": {shown(result.message, None)}" if result.message else ""
    print(f"{shown(result.app_name)}: {result.outcome.name.lower()}{said}")
    return 0 if result.outcome == Outcome.RESTORED else 1


async def inbox(options: argparse.Namespace) -> int:
    async with chooser() as app:
        # The agent starts on demand, as the hub.
        await asyncio.wait_for(app.ready(), PATIENCE)
        entries = await asyncio.to_thread(app.inbox)
        changes = ((options.drop, app.drop, "dropped"), (options.retry, app.retry, "delivered again"))
        for prefix, change, done in changes:
            if prefix is not None:
                entry = chosen(entries, prefix)
                await asyncio.to_thread(change, entry.continuation_id)
                print(f"{str(entry.continuation_id)[:8]}: {done}")
                return 0
        if not entries:
            print("nothing waits", file=sys.stderr)
            return 0
        heads = ("ID", "FOR", "TYPE", "TITLE", "FROM", "DEVICE", "STATE")
        for line in table([waiting_row(entry) for entry in entries], heads):
            print(line)
    return 0


def waiting_row(entry: InboxEntry) -> tuple[str, ...]:
    state = "held after crashes" if entry.held else "delivered" if entry.delivered else "waits"
    return (
        str(entry.continuation_id)[:8],
        shown(entry.bundle_identifier),
        shown(entry.type),
        f"'{shown(entry.title or '')}'",
        shown(entry.app_name),
        shown(entry.device_name),
        state,
    )


def chosen(entries: list[InboxEntry], prefix: str) -> InboxEntry:
    """Returns the only entry whose identifier begins so. Raises: NotFoundError, AmbiguousEntryError."""
    found = [entry for entry in entries if str(entry.continuation_id).startswith(prefix)]
    if not found:
        raise NotFoundError(f"nothing that waits has an identifier that begins with '{prefix}'")
    if len(found) > 1:
        raise AmbiguousEntryError(prefix, len(found))
    return found[0]


class AmbiguousEntryError(Exception):
    """Several entries have an identifier that begins so."""

    def __init__(self, prefix: str, count: int):
        super().__init__(f"'{prefix}' begins the identifiers of {count} entries: `inbox` lists them")


async def apps(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await asyncio.wait_for(app.ready(), PATIENCE)
        known = await asyncio.to_thread(app.apps)
        if not known:
            print("no app has a manifest", file=sys.stderr)
        declared = [each for each in known if each.error is None and each.shadowed_by is None]
        if declared:
            for line in table([app_row(each) for each in declared], ("APP", "NAME", "TEAM", "TYPES", "STATE")):
                print(line)
        for each in known:
            if each.no_launch is not None and each.shadowed_by is None:
                print(f"{shown(each.bundle_identifier or '')} cannot be started: {shown(each.no_launch, None)}")
            if each.shadowed_by is not None:
                print(f"{shown(each.path, None)}: {shown(each.shadowed_by, None)} describes the same app, and counts")
            if each.error is not None:
                print(f"broken: {shown(each.error, None)}")
    return 0


def app_row(app: KnownApp) -> tuple[str, ...]:
    names = (shown(name or "") for name in (app.bundle_identifier, app.name, app.team))
    state = "runs" if app.running else "can be started" if app.no_launch is None else "cannot be started"
    return (*names, str(app.type_count), state)


async def route(options: argparse.Namespace) -> int:
    """Says which app would continue an offer here, and why no other would."""
    async with chooser() as app:
        options.id = options.argument or options.id
        offer = await asyncio.wait_for(first(app, options), options.wait)
        candidates = await asyncio.to_thread(app.route, offer)
        for line in table([candidate_row(each) for each in candidates], ("APP", "NAME", "STATE", "FOR", "AGAINST")):
            print(line)
    return 0 if candidates and not candidates[0].against else 1


def candidate_row(candidate: Candidate) -> tuple[str, ...]:
    state = "runs" if candidate.running else "has a manifest" if candidate.manifest else ""
    preference = "" if candidate.preference == "none" else candidate.preference
    against = "; ".join(f"{each.reason}: {each.message}" for each in candidate.against)
    return (shown(candidate.bundle_identifier), shown(candidate.name), state, preference, shown(against, None))


async def choose(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await asyncio.wait_for(app.ready(), PATIENCE)
        await asyncio.to_thread(app.choose, options.type, options.app)
        print(f"{shown(options.type)}: {shown(options.app) if options.app else 'no choice'}")
    return 0


async def first(app: App, options: argparse.Namespace) -> Offer:
    """Returns the frontmost matching offer, now or as soon as there is one; with an identifier, the only one.

    Raises: AmbiguousError if the identifier begins those of several activities.
    """
    await app.ready()
    async for event in app.offer_events():
        if event.kind == OfferEventKind.GONE or not wanted(event.offer, options):
            continue
        matches = {offer.id: offer for offer in (*app.offers, event.offer) if wanted(offer, options)}
        if options.id and len(matches) > 1:
            raise AmbiguousError(options.id, list(matches.values()))
        return event.offer
    raise Error("the app was closed")


def wanted(offer: Offer, options: argparse.Namespace) -> bool:
    return options.type in (None, offer.type) and str(offer.id).startswith(options.id or "")


class AmbiguousError(Exception):
    """Several activities have an identifier that begins so."""

    def __init__(self, prefix: str, offers: list[Offer]):
        lines = table([row(offer) for offer in offers])
        super().__init__("\n".join([f"'{prefix}' begins the identifiers of {len(offers)} activities:", *lines]))


def identifier(text: str) -> str:
    """Parses an argument: the beginning of an identifier, as `list` shows it."""
    if not text.strip("-"):
        raise argparse.ArgumentTypeError("the identifier is empty")
    if text.strip("0123456789abcdefABCDEF-"):
        raise argparse.ArgumentTypeError(f"no identifier begins with {text!r}: they consist of hexadecimal digits")
    return text.lower()


async def link(options: argparse.Namespace) -> int:
    async with chooser() as app:
        if options.listen:
            with listening(options.socket) as listener:
                print(f"waiting for the other device at {options.socket}", flush=True)
                following: set[asyncio.Task[bool]] = set()
                while True:
                    # The hubs decide which of several connections of one device stays.
                    connection, _ = await asyncio.get_running_loop().sock_accept(listener)
                    task = asyncio.ensure_future(follow(app, connection, options))
                    following.add(task)
                    task.add_done_callback(following.discard)
        return await keep(app, options)


async def keep(app: App, options: argparse.Namespace) -> int:
    """Links again whenever the link ends; gives up only if the first attempt fails."""
    has_linked = False
    wait = FIRST_RETRY
    while True:
        began = time.monotonic()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(connection, options.socket)
        except OSError as failure:
            connection.close()
            if not has_linked:
                raise
            print(f"no connection: {said(failure)}", file=sys.stderr, flush=True)
        else:
            has_linked |= await follow(app, connection, options)
            if not has_linked:
                return 1
        if time.monotonic() - began > wait:
            wait = FIRST_RETRY
        # Two that keep the same link do not keep in step.
        await asyncio.sleep(wait * random.uniform(0.5, 1))
        wait = min(2 * wait, LAST_RETRY)


async def follow(app: App, connection: socket.socket, options: argparse.Namespace) -> bool:
    """Reports the events of a link until it ends.

    Returns whether there was one, if only another's.
    """
    has_linked = False
    error: Exception | None
    try:
        made = app.link(connection, any_user=options.any_user)
        device = await made
        has_linked = True
        print(linked_line(device), flush=True)
        error = await made.ended
    except InvalidStateError as failure:
        print(f"standing by: {said(failure)}", file=sys.stderr, flush=True)
        return True
    except Error as failure:
        error = failure
    print(f"the link has ended: {said(error)}", file=sys.stderr, flush=True)
    return has_linked


def linked_line(device_name: str) -> str:
    return f"linked with {shown(device_name)}"


def said(error: BaseException) -> str:
    """Returns an error in one line, escaped, since it may quote another app."""
    return shown(str(error), MESSAGE)


def listening(path: str) -> socket.socket:
    """Creates a socket for this user only, in place of one that a former process left.

    Raises: FileExistsError if a process listens there, or something else than a socket is there.
    """
    with contextlib.suppress(FileNotFoundError):
        # A link is not followed: where it leads is not for us to replace.
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(f"{path} exists, and is not a socket")
        if is_in_use(path):
            raise FileExistsError(f"another process listens at {path}")
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o077)
    try:
        listener.bind(path)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    listener.listen()
    return listener


def is_in_use(path: str) -> bool:
    """Tells whether a process listens at a socket, even one that has no room for another connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except BlockingIOError:
            return True
        except ConnectionRefusedError:
            return False
    return True


async def describe(options: argparse.Namespace) -> int:
    async with chooser() as app:
        await asyncio.wait_for(app.ready(), PATIENCE)
        print(f"library: {library_path}, version {library_version}")
        before, text, after = app.offers, app.describe(), app.offers
        print(shown_lines(text, [name for offer in (*before, *after) for name in names_of(offer)]))
    return 0


async def doctor(options: argparse.Namespace) -> int:
    print(f"library: {library_path}, version {library_version}")
    for name in ("SEGUE_RUNTIME_DIR", "XDG_RUNTIME_DIR", "TMPDIR"):
        print(f"{name}: {os.environ.get(name) or 'not set'}")
    async with chooser() as app:
        print(*(shown_lines(line.strip()) for line in app.describe().split("\n") if "runtime folder: " in line))
        try:
            await asyncio.wait_for(app.ready(), options.wait)
        except (asyncio.TimeoutError, TimeoutError):
            problem = app.connection_problem
            print(f"not connected: {shown(str(problem), None) if problem else 'no hub has answered yet'}")
            return 1
        print("connected")
    return 0


def names_of(offer: Offer) -> list[str]:
    """The names in an offer, which its app and its device have chosen."""
    return [offer.type, offer.title or "", offer.app_name, offer.device_name, offer.bundle_identifier]


def row(offer: Offer) -> tuple[str, ...]:
    title = f"'{shown(offer.title or '')}'"
    return (
        str(offer.id)[:8],
        shown(offer.type),
        title,
        shown(offer.app_name),
        shown(offer.device_name),
        ago(offer.age),
    )


def ago(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


OFFER_HEADS = ("ID", "TYPE", "TITLE", "APP", "DEVICE", "AGE")


def table(rows: list[tuple[str, ...]], heads: tuple[str, ...] = OFFER_HEADS) -> list[str]:
    rows = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(each, widths)).rstrip() for each in rows]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m segue", description=__doc__)
    parser.add_argument("--version", action="version", version=f"segue {__version__}, library {library_version}")
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Any, help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help)
        made.set_defaults(run=run)
        return made

    command("list", list_offers, "what is offered now, frontmost first")
    command("watch", watch, "offers as they come, change and go")
    command("describe", describe, "the state of this app and of the hub, for a bug report")
    checking = command("doctor", doctor, "whether this process can connect, and if not, why")
    checking.add_argument("--wait", type=float, default=5.0, help="seconds to wait for a hub (default: 5)")
    linking = command(
        "link", link, "link this device with another over a Unix socket, such as one that `ssh -L` forwards"
    )
    linking.add_argument("socket", help="path of the socket")
    linking.add_argument("--listen", action="store_true", help="wait there for the other device, again and again")
    linking.add_argument("--any-user", action="store_true", help="trust other users who can reach the socket")
    continuing = command("continue", take, "continue an offer and print its document; the origin is told: restored")
    continuing.add_argument("--type", help="only an activity of this type")
    begins: dict[str, Any] = {"type": identifier, "metavar": "ID", "help": "the activity whose identifier begins so"}
    which = continuing.add_mutually_exclusive_group()
    which.add_argument("argument", nargs="?", **begins)
    which.add_argument("--id", **begins)
    continuing.add_argument("--wait", type=float, default=PATIENCE, help="seconds to wait for an offer (default: 10)")
    continuing.add_argument("--timeout", type=float, help="seconds for the continuation")
    continuing.add_argument("--document", action="store_true", help="print the whole document too")
    continuing.add_argument(
        "--launch", action="store_true", help="in the app that fits, which need not run: the agent starts it"
    )
    continuing.add_argument("--app", metavar="BUNDLE", help="the same, in this app")
    command("apps", apps, "apps that have a manifest, and what is wrong with manifests")
    routing = command("route", route, "which app would continue an offer here, and why no other would")
    routing.add_argument("--type", help="only an activity of this type")
    whose = routing.add_mutually_exclusive_group()
    whose.add_argument("argument", nargs="?", **begins)
    whose.add_argument("--id", **begins)
    routing.add_argument("--wait", type=float, default=PATIENCE, help="seconds to wait for an offer (default: 10)")
    choosing = command("choose", choose, "remember which app continues a type")
    choosing.add_argument("type", help="the activity type")
    choosing.add_argument("app", nargs="?", metavar="BUNDLE", help="the app; without it the choice is forgotten")
    waiting = command("inbox", inbox, "what waits at the agent for apps that were not running")
    act = waiting.add_mutually_exclusive_group()
    prefix: dict[str, Any] = {"type": identifier, "metavar": "ID"}
    act.add_argument("--drop", **prefix, help="forget the entry whose identifier begins so")
    act.add_argument("--retry", **prefix, help="deliver it again, although its app has crashed on it")
    return parser


class Escaping(logging.Formatter):
    """Escapes log lines, which name types and errors of others, too."""

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record), MESSAGE)


def main() -> int:
    options = arguments().parse_args()
    handler = logging.StreamHandler()
    handler.setFormatter(Escaping())
    logger.addHandler(handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal need not be of Unicode
    try:
        result: int = asyncio.run(options.run(options))
        return result
    except BrokenPipeError:
        sys.stderr.close()
    except (AmbiguousError, AmbiguousEntryError) as error:
        print(f"segue: {shown_lines(str(error))}", file=sys.stderr)
    except Error as error:  # of which some are timeouts
        print(f"segue: {said(error)}", file=sys.stderr)
    except (asyncio.TimeoutError, TimeoutError):
        print("segue: nothing came in time; SEGUE_LOG=debug shows what happens", file=sys.stderr)
    except (LibraryError, OSError) as error:
        print(f"segue: {said(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
