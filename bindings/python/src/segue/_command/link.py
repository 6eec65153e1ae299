# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links this device with another one: `link`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import socket
import stat
import time
from collections.abc import Iterator
from typing import Any

from .._app import App
from .._terminal import shown
from ..errors import Error, InvalidStateError
from .output import CommandError, note, said, show_json
from .session import chooser
from .verbs import Verbs

FIRST_RETRY, LAST_RETRY = 0.5, 30.0
"""Seconds from the end of a link to the next attempt: twice as many each time, until one lasts longer."""


def add(verbs: Verbs) -> None:
    what = "link this device with another over a Unix socket, such as one that `ssh -L` forwards"
    parser = verbs.add("link", link, what)
    parser.add_argument("socket", help="path of the socket")
    parser.add_argument("--listen", action="store_true", help="wait there for the other device, again and again")
    parser.add_argument("--any-user", action="store_true", help="trust other users who can reach the socket")


async def link(options: argparse.Namespace) -> int:
    async with chooser() as app:
        if not options.listen:
            return await keep(app, options)
        with listening(options.socket) as listener:
            tell(options, f"waiting for the other device at {options.socket}", event="waiting", socket=options.socket)
            loop = asyncio.get_running_loop()
            accepting = asyncio.ensure_future(loop.sock_accept(listener))
            tasks: set[asyncio.Future[Any]] = {accepting}
            while True:
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    result = task.result()  # or what it has raised
                    if task is accepting:
                        # The hubs decide which of several connections of one device stays.
                        tasks.add(asyncio.ensure_future(follow(app, result[0], options)))
                        accepting = asyncio.ensure_future(loop.sock_accept(listener))
                        tasks.add(accepting)


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
                raise CommandError(f"{options.socket}: {said(failure)}") from failure
            note(f"no connection: {said(failure)}")
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
        tell(options, linked_line(device), event="linked", device_name=device)
        error = await made.ended
    except InvalidStateError as failure:
        note(f"standing by: {said(failure)}")
        return True
    except Error as failure:
        error = failure
    note(f"the link has ended: {said(error)}")
    return has_linked


def tell(options: argparse.Namespace, line: str, **event: Any) -> None:
    if options.json:
        show_json(event, line=True)
    else:
        print(line, flush=True)


def linked_line(device_name: str) -> str:
    return f"linked with {shown(device_name)}"


@contextlib.contextmanager
def listening(path: str) -> Iterator[socket.socket]:
    """Creates a socket for this user only, in place of one that a former process left, and removes it at the end.

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
    with listener:
        listener.setblocking(False)
        listener.listen()
        made = os.lstat(path)
        try:
            yield listener
        finally:
            with contextlib.suppress(OSError):
                if os.path.samestat(made, os.lstat(path)):  # else another process has replaced it
                    os.unlink(path)


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
