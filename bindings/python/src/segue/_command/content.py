# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hands files, or what comes through a pipe, from one shell to another: `send`, `receive`."""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Callable

from .._activity import Activity
from .._terminal import shown, shown_lines
from . import pushes
from .document import activity_record
from .origin import add_identity, attach, file_name, hold, origin
from .output import CommandError, UsageError, bytes_in_words, count, note, show_json
from .session import add_choice, beside, chooser, connected, first, seconds
from .streams import standard_input
from .verbs import Verbs

TYPE = "segue.content"
MOST = 64 << 20
"""Bytes that are handed over if `--limit` does not say more."""
MOST_FILES = 256
LONGEST = 600.0
"""Seconds of a continuation, in which all content is fetched."""
PIECE = 1 << 20
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
STANDARD_INPUT = "stdin"


def add(verbs: Verbs) -> None:
    sending = verbs.add(
        "send",
        send,
        "hand files over, or what comes through a pipe, and wait until somebody has received it",
        "examples:\n  segue send letter.pdf\n  tar c folder | segue send --title folder\n\n`segue receive` takes it.",
    )
    sending.add_argument("files", nargs="*", metavar="FILE", help="without one, or for -, standard input")
    sending.add_argument("--title", help="for people (default: the names of the files)")
    sending.add_argument("--type", default=TYPE, help=f"the activity type (default: {TYPE})")
    add_limit(sending)
    add_identity(sending)
    sending.add_argument("--timeout", metavar="SECONDS", type=seconds, help="end after this time, with status 3")
    sending.set_defaults(once=True)
    receiving = verbs.add(
        "receive",
        receive,
        "take over what `segue send` hands over: into a pipe or a folder",
        "examples:\n  segue receive | tar x\n  segue receive --to ~/Downloads\n\n"
        "The sender is told that it was received once all is written.",
    )
    add_choice(receiving, wait=None)
    receiving.add_argument(
        "--to", metavar="FOLDER", help="write files there, by their names (default: standard output)"
    )
    receiving.add_argument("--force", action="store_true", help="replace files that are there")
    add_limit(receiving)


def add_limit(parser: argparse.ArgumentParser) -> None:
    help = f"bytes at most, such as 10M or 2G (default: {bytes_in_words(MOST)})"
    parser.add_argument("--limit", metavar="SIZE", type=size, default=MOST, help=help)


def size(text: str) -> int:
    """Parses a number of bytes."""
    number, unit = text.rstrip("KMGkmg"), text[len(text.rstrip("KMGkmg")) :].upper()
    if not (number.isascii() and number.isdigit() and len(number) < 16 and unit in UNITS):
        raise argparse.ArgumentTypeError(f"{text!r} is no size: 4096, 64K, 10M and 2G are")
    return int(number) * UNITS[unit]


# ---- send ----


async def send(options: argparse.Namespace) -> int:
    names = [STANDARD_INPUT if path == "-" else file_name(path) for path in options.files or ["-"]]
    doubles = {name for name in names if names.count(name) > 1}
    if doubles:
        raise CommandError(f"two files have the name {shown(min(doubles))}: send them one after the other")
    async with origin(options) as app:
        device = None if options.to is None else await pushes.target(app, options.to)
        activity = Activity(app, options.type, title=options.title or title_of(names))
        total = 0
        with tempfile.TemporaryFile() as spool:
            for path, name in zip(options.files or ["-"], names):
                left = options.limit - total
                if path == "-":
                    total += await beside(spooled, spool, left, options.limit)  # Ctrl-C does not wait for it
                    activity.attach(name, spool)
                else:
                    total += length_of(path, left, options.limit)
                    attach(activity, name, path)
            await connected(app)
            what = count(len(names), "file") if len(names) > 1 else shown(names[0])
            doing = f"sending {what}, {bytes_in_words(total)}; waiting for a receiver, Ctrl-C withdraws it"
            return await hold(activity, options, doing, device)


def title_of(names: list[str]) -> str:
    """Returns a title of file names, which need not be UTF-8."""
    return ", ".join(names)[:200].encode(errors="replace").decode()


def spooled(spool: IO[bytes], left: int, limit: int) -> int:
    """Copies standard input to a file. Returns the number of bytes."""
    source = standard_input()
    if source.isatty():
        note("reading standard input; Ctrl-D ends it")
    length = 0
    data = b"\0" * PIECE
    # Less than was asked for is the end: a terminal would have to say so twice.
    while len(data) == PIECE:
        data = source.read(PIECE)
        length += len(data)
        if length > left:
            raise too_much("standard input", limit)
        try:
            spool.write(data)
            spool.flush()
        except OSError as error:
            raise CommandError(f"a temporary file in {tempfile.gettempdir()}: {error.strerror}") from error
    return length


def length_of(path: str, left: int, limit: int) -> int:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise CommandError(f"{shown(path, None)}: is no file; send a folder as an archive: tar c … | segue send")
    if status.st_size > left:
        raise too_much(shown(path, None), limit)
    return status.st_size


def too_much(what: str, limit: int) -> CommandError:
    return CommandError(f"{what}: more than {bytes_in_words(limit)} in all; --limit allows more; nothing was offered")


# ---- receive ----


async def receive(options: argparse.Namespace) -> int:
    if options.json and options.to is None:
        raise UsageError("--json needs --to FOLDER: standard output is for the content")
    if not (options.type or options.id or options.argument):
        options.type = TYPE
    folder = None if options.to is None else Path(options.to)
    if folder is not None and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder")
    async with chooser() as app:
        offer = await first(app, options, lambda: note("waiting until something is sent; Ctrl-C ends that"))
        async with app.continue_(offer, LONGEST) as activity:
            sizes = checked(activity, options)
            there, total = count(len(sizes), "file"), bytes_in_words(sum(sizes.values()))
            note(f"receiving '{shown(offer.title or '')}' from {shown(offer.device_name)}: {there}, {total}")
            if folder is None:
                await to_output(activity, *sizes)
            else:
                await to_folder(activity, sizes, folder)
                if options.json:
                    show_json({"activity": activity_record(activity), "files": [str(folder / name) for name in sizes]})
            # Output that cannot be written is an error.
            sys.stdout.flush()
    return 0


def checked(activity: Activity, options: argparse.Namespace) -> dict[str, int]:
    """Returns the names and sizes of what is to be fetched. Raises: CommandError; then the sender is told."""
    sizes = activity.attachments
    if not sizes:
        raise CommandError("the activity has no files: `segue continue` shows its state")
    if len(sizes) > MOST_FILES:
        raise CommandError(f"there are {len(sizes)} files: more than {MOST_FILES}")
    if sum(sizes.values()) > options.limit:
        there = f"{count(len(sizes), 'file')}, {bytes_in_words(sum(sizes.values()))}"
        raise CommandError(f"{there}: more than {bytes_in_words(options.limit)}; --limit allows more")
    if options.to is None:
        if len(sizes) > 1:
            raise CommandError(f"there are {len(sizes)} files: --to FOLDER writes them")
        return sizes
    for name in sizes:
        if "/" in name or name in ("", ".", ".."):
            raise CommandError(f"{shown(name)} is no name of a file")
        path = os.path.join(options.to, name)
        if os.path.lexists(path) and not options.force:
            raise CommandError(f"{shown(path, None)} is there already: --force replaces it")
    return sizes


async def to_output(activity: Activity, name: str) -> None:
    """Writes an attachment to standard output, once all of it is here. Into a terminal it goes escaped."""
    with tempfile.TemporaryFile() as file:
        await activity.fetch_attachment(name, file, progress=progress(name))
        file.seek(0)
        if sys.stdout.isatty():
            print(shown_lines(file.read().decode("utf-8", "backslashreplace").rstrip("\n")))
        else:
            shutil.copyfileobj(file, sys.stdout.buffer)


async def to_folder(activity: Activity, sizes: dict[str, int], folder: Path) -> None:
    for name in sizes:
        await activity.fetch_attachment(name, folder / name, progress=progress(name))
        note(f"{shown(str(folder / name), None)}: {bytes_in_words(sizes[name])}")


def progress(name: str) -> Callable[[int, int], Any] | None:
    """Shows how far it is, on one line of a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(received: int, total: int) -> None:
        line = f"\r{shown(name)}: {bytes_in_words(received)} of {bytes_in_words(total)}"
        print(line.ljust(60), end="\r" if received < total else "\r\x1b[K", file=sys.stderr, flush=True)

    return show
