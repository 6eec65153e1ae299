# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders of the user (R13.4): `folder`. The file has a line each: an identifier, a tab, and an absolute path."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from .._terminal import shown
from .files import replace_file
from .installed import config_folder
from .output import CommandError, UsageError, note, said, show_json, show_table
from .verbs import Verbs

MOST, LONGEST = 64, 32768
"""Folders that count, and bytes of the file: those of the library."""
LONGEST_IDENTIFIER = 255
SECONDS = 10
"""For git to answer."""
GIT_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://)(?:[^/@]*@)?(?P<host>\[[^]/]+\]|[^/:]+)(?::[0-9]+)?/+(?P<path>.+)", re.I)
SHORT_GIT_URL = re.compile(r"(?:[^/@:]+@)?(?P<host>\[[^]/]+\]|[^/:]+):/*(?P<path>[^/].*)")


class Folder(NamedTuple):
    identifier: str
    path: str


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "folder",
        show,
        "the folders that are on all your devices, so that a file is found there, whatever its path",
        "A file in such a folder is continued by its place in it. Give it the same identifier on each device.\n\n"
        "    segue folder add notes ~/Notes\n"
        "    segue folder add --git ~/src/segue\n\n"
        "Without an action, the folders are listed.",
    )
    actions = Verbs(parser, of_verb=True)
    adding = actions.add("add", add_folder, "say that a folder is one of yours")
    adding.add_argument(
        "--git", action="store_true", help="take the identifier from the `origin` of the git repository"
    )
    adding.add_argument("words", nargs="+", metavar="[ID] PATH", help="the identifier, and the path of the folder here")
    removing = actions.add("remove", remove, "take it back; the folder itself stays")
    removing.add_argument("identifier", metavar="ID", help="of the folder")
    removing.add_argument("path", nargs="?", metavar="PATH", help="of one of several with this identifier")
    actions.add("list", show, "list the folders")


def show(options: argparse.Namespace) -> int:
    folders = read()
    used = {each.identifier: each for each in reversed(folders)}
    if options.json:
        show_json([{**each._asdict(), "isUsed": used[each.identifier] is each} for each in folders])
    elif folders:
        rows: list[tuple[str, ...]] = [
            (each.identifier, each.path, "" if used[each.identifier] is each else "not used: another one comes first")
            for each in folders
        ]
        show_table(rows, ("FOLDER", "PATH", ""))
    else:
        note("no folders; add one with `segue folder add`")
    return 0


def add_folder(options: argparse.Namespace) -> int:
    if len(options.words) != (1 if options.git else 2):
        raise UsageError("expected PATH after --git" if options.git else "expected ID and PATH")
    path = absolute(options.words[-1])
    if not os.path.isdir(path):
        raise CommandError(f"{shown(path, None)}: is no folder")
    identifier = git_identifier(path) if options.git else options.words[0]
    if any(character in identifier for character in "\t\n\r\0") or identifier.startswith("#") or not identifier:
        raise UsageError("an identifier is not empty, has no tab or line break, and does not begin with #")
    if len(os.fsencode(identifier)) > LONGEST_IDENTIFIER:
        raise UsageError(f"an identifier has at most {LONGEST_IDENTIFIER} bytes")
    new = Folder(identifier, path)
    folders = read()
    if new not in folders:
        if other := next((each for each in folders if each.path == path), None):
            raise CommandError(f"{shown(path, None)}: is the folder {shown(other.identifier)} already")
        first = next((each for each in folders if each.identifier == identifier), None)
        write([*folders, new])
        if first:
            note(f"{first.path} has this identifier, too, and comes first: files in {path} are not found by it")
    if options.json:
        show_json(new._asdict())
    else:
        print(f"{shown(identifier)}: {shown(path, None)}")
    return 0


def remove(options: argparse.Namespace) -> int:
    folders = read()
    path = None if options.path is None else absolute(options.path)
    left = [each for each in folders if each.identifier != options.identifier or path not in (None, each.path)]
    if len(left) == len(folders):
        raise CommandError(f"{shown(options.identifier)}: there is no such folder; `segue folder list` shows all")
    write(left)
    if options.json:
        show_json([each._asdict() for each in folders if each not in left])
    return 0


def absolute(path: str) -> str:
    """Returns a path as it is registered: absolute, with its symbolic links."""
    found = os.path.abspath(os.path.expanduser(path))
    if found == "/":
        raise UsageError("PATH is not /")
    try:
        found.encode()
    except UnicodeEncodeError:
        raise CommandError(f"{shown(found, None)}: is not UTF-8") from None
    if any(character in found for character in "\t\n\r"):
        raise CommandError(f"{shown(found, None)}: a tab or line break in a path cannot be stored")
    return found


# ---- git


def git_identifier(path: str) -> str:
    """Returns the identifier of a checkout: `git:`, and host and path of its `origin`."""
    command = ["git", "-C", path, "config", "--get", "remote.origin.url"]
    top = ["git", "-C", path, "rev-parse", "--show-toplevel"]
    try:
        asked = [subprocess.run(each, capture_output=True, timeout=SECONDS, check=False) for each in (top, command)]
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"git: {said(error)}") from error
    if asked[0].returncode != 0:
        raise CommandError(f"{shown(path, None)}: is in no git repository")
    found = os.fsdecode(asked[0].stdout.rstrip(b"\n"))
    if os.path.realpath(path) != os.path.realpath(found):
        raise CommandError(f"{shown(path, None)}: is inside the repository {shown(found, None)}; add that")
    url = os.fsdecode(asked[1].stdout.rstrip(b"\n"))
    if not url:
        raise CommandError(f"{shown(path, None)}: has no remote `origin`")
    return identifier_of(url)


def identifier_of(url: str) -> str:
    """Returns `git:`, the host in lower case, and the path, without scheme, user, port and `.git`."""
    match = GIT_URL.fullmatch(url) or SHORT_GIT_URL.fullmatch(url)
    if match is None or url.lower().startswith("file:"):
        raise CommandError(f"{shown(url)}: names no host: give an identifier instead of --git")
    place = match["path"].rstrip("/").removesuffix(".git").strip("/")
    if not place:
        raise CommandError(f"{shown(url)}: names no repository")
    return f"git:{match['host'].lower()}/{place}"


# ---- The file


def file() -> Path:
    return config_folder() / "segue" / "folders"


def read() -> list[Folder]:
    """Returns what the file says, in its order."""
    try:
        text = file().read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise CommandError(f"{file()}: is not UTF-8") from None
    except OSError as error:
        raise CommandError(said(error)) from error
    folders = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        identifier, tab, path = line.partition("\t")
        if not identifier or not tab or not path.startswith("/") or "\t" in path:
            raise CommandError(f"{file()}: line {number}: expected an identifier, a tab and an absolute path")
        folders.append(Folder(identifier, path))
    return folders


def write(folders: list[Folder]) -> None:
    text = "".join(f"{each.identifier}\t{each.path}\n" for each in folders).encode()
    if len({each.identifier for each in folders}) > MOST or len(text) > LONGEST:
        raise CommandError(f"there is no room for more: {MOST} folders, {LONGEST} bytes")
    try:
        replace_file(file(), text)
    except OSError as error:
        raise CommandError(said(error)) from error
