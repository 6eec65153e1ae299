# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notifications and searches of the desktop: their settings, and `setup desktop`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._terminal import shown
from . import searches
from .checks import Finding, State
from .files import replace_file
from .installed import config_folder, first_program, how_to_install, libexec_programs
from .output import CommandError, UsageError, said, show_json
from .verbs import Verbs

NAME = "segue-desktop"
APP_ID = searches.APP_ID
UNIT = f"{NAME}.service"
SECONDS = 10
"""For systemd to answer."""
KINDS = ("app", "type", "device")
MOST_OFF = 256
LONGEST = 65536
"""Bytes of the file of settings."""


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "desktop",
        desktop,
        "when notifications say that something of another device can be continued, and what they and searches say",
        "`segue setup desktop` switches them on. Without options, the settings are shown.",
    )
    help = "when you arrive (unlock, wake up, come back), for every new offer, or never"
    parser.add_argument("--notify", choices=("arrival", "always", "never"), help=help)
    parser.add_argument("--titles", choices=("shown", "hidden"), help="whether titles of documents are shown")
    parser.add_argument(
        "--idle", type=idle, metavar="SECONDS", help="without input, after which the next one is an arrival"
    )
    for word, effect in (("off", "nothing about this app, type or device"), ("on", "the reverse of --off")):
        parser.add_argument(f"--{word}", nargs=2, action="append", metavar=("KIND", "NAME"), default=[], help=effect)


def idle(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 86400):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to 86400")
    return int(text)


def desktop(options: argparse.Namespace) -> int:
    for kind, name in (*options.off, *options.on):
        if kind not in KINDS:
            raise UsageError(f"{shown(kind)}: it is app, type or device")
        if not name or any(character in name for character in "\n\r\0"):
            raise UsageError("a name is not empty, and has no line break")
    lines = changed(settings_lines(), options)
    if any((options.notify, options.titles, options.idle is not None, options.off, options.on)):
        write(lines)
    if problem := problem_of(lines):
        raise CommandError(problem)
    if options.json:
        show_json(record(lines))
    else:
        for line in lines:
            print(shown(line, None))
    return 0


# ---- The file


def path() -> Path:
    return config_folder() / "segue" / "desktop"


def settings_lines() -> list[str]:
    """Returns the lines that are set, and those of what is not."""
    try:
        text = path().read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise CommandError(said(error)) from error
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    words = {line.partition(" ")[0] for line in lines}
    usual = ("notify arrival", "titles shown", "idle 120")
    return [*(line for line in usual if line.partition(" ")[0] not in words), *lines]


def changed(lines: list[str], options: argparse.Namespace) -> list[str]:
    for word in ("notify", "titles", "idle"):
        if (value := getattr(options, word)) is not None:
            lines = [f"{word} {value}", *(line for line in lines if line.partition(" ")[0] != word)]
    off = [f"off {kind} {name}" for kind, name in options.off]
    on = {f"off {kind} {name}" for kind, name in options.on}
    return [line for line in lines if line not in on and line not in off] + off


def problem_of(lines: list[str]) -> str | None:
    """Returns why the program does not understand the settings, and notifies nothing then."""
    for line in lines:
        word, _, value = line.partition(" ")
        kind, _, name = value.partition(" ")
        is_number = value.isascii() and value.isdigit() and int(value) <= 86400
        values = {"notify": value in ("arrival", "always", "never"), "titles": value in ("shown", "hidden")}
        values |= {"idle": is_number, "off": kind in KINDS and name != ""}
        if not values.get(word, False):
            return f"{path()}: '{shown(line)}' is not understood, so there are no notifications"
    if sum(line.startswith("off ") for line in lines) > MOST_OFF:
        return f"{path()}: it has more than {MOST_OFF} lines with off, so there are no notifications"
    return None


def write(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    off = sum(line.startswith("off ") for line in lines)
    if len(text) > LONGEST or off > MOST_OFF:
        raise CommandError(f"there is no room for more: {MOST_OFF} names, {LONGEST} bytes")
    try:
        replace_file(path(), text)
    except OSError as error:
        raise CommandError(said(error)) from error


def record(lines: list[str]) -> dict[str, Any]:
    single = dict(line.split(" ", 1) for line in lines if not line.startswith("off "))
    off = [line.split(" ", 2)[1:] for line in lines if line.startswith("off ")]
    return {**single, "idle": int(single["idle"]), "off": [{"kind": kind, "name": name} for kind, name in off]}


# ---- Setup


def found() -> Path | None:
    named = os.environ.get("SEGUE_DESKTOP")
    program = first_program([named] if named else libexec_programs(NAME))
    return Path(program).resolve() if program else None


def installed_file(program: Path, *parts: str) -> Path:
    """Returns a file that `make install` puts under the same prefix as the program."""
    file = program.parents[2].joinpath(*parts)
    if not file.is_file():
        raise CommandError(f"there is no {shown(str(file), None)}: install {NAME} ({how_to_install(NAME)})")
    return file


def places() -> tuple[Path, Path]:
    """Returns the link by which systemd starts it with a graphical session, and the entry that other desktops read."""
    config = config_folder()
    wants = config / "systemd" / "user" / "graphical-session.target.wants"
    return wants / UNIT, config / "autostart" / f"{APP_ID}.desktop"


def set_up() -> tuple[list[Path], list[str]]:
    """Enables it for the user. Returns the files, and what is left to do."""
    program = found()
    if program is None:
        raise CommandError(f"there is no {NAME}: install it (the package segue-desktop, or `make desktop install`)")
    unit = installed_file(program, "lib", "systemd", "user", UNIT)
    entry = installed_file(program, "share", "segue", "desktop", f"{APP_ID}.desktop")
    link, copy = places()
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(unit)
        replace_file(copy, entry.read_bytes(), mode=0o644)
        searching, left = searches.set_up(program.parents[2] / "share")
    except OSError as error:
        raise CommandError(said(error)) from error
    started = systemd("daemon-reload") and systemd("start", UNIT)
    later = [] if started else ["Log out and in again: it starts with the session."]
    return [link, copy, *searching], [*later, *left]


def take_away() -> list[Path]:
    removed = []
    systemd("stop", UNIT)
    for file in places():
        if file.is_symlink() or file.exists():
            file.unlink()
            removed.append(file)
    if removed:
        systemd("daemon-reload")
    return [*removed, *searches.take_away()]


def systemd(*words: str) -> bool:
    """Tells whether the user's systemd has done it; it may not be there."""
    if shutil.which("systemctl") is None:
        return False
    try:
        done = subprocess.run(
            ["systemctl", "--user", "--no-ask-password", *words], capture_output=True, timeout=SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


# ---- doctor


def findings() -> Iterator[Finding]:
    program, (link, copy) = found(), places()
    enabled = link.is_symlink() or copy.exists()
    if program is None and enabled:
        why = f"it is enabled, and {NAME} is not installed any longer"
        yield Finding("desktop", State.PROBLEM, why, "install it again, or `segue setup desktop --remove`")
    elif program is not None and not enabled:
        yield Finding("desktop", State.NOTE, "notifications are not enabled for you", "`segue setup desktop`")
    elif enabled:
        yield Finding("desktop", State.OK, f"{link if link.is_symlink() else copy}")
    if program is not None and enabled and not searches.is_enabled():
        why = "searches of the desktop do not find what other devices offer, as setup was done before there were any"
        yield Finding("desktop", State.NOTE, why, "`segue setup desktop`")
    try:
        problem = problem_of(settings_lines())
    except CommandError as error:
        problem = str(error)
    if problem:
        yield Finding("desktop", State.PROBLEM, problem, "correct or remove that file")
