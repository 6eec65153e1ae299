# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The user's settings for sites that apps claim (R12.9): the options of `segue apps`."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from .._terminal import shown
from .files import replace_file
from .installed import config_folder
from .output import CommandError, UsageError, show_json

HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z")
SETTINGS = ("private", "port", "ca")
SIZE_LIMIT = 1 << 16  # bytes of the file that the process reads


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", metavar="HOST", help="show or change how the site of that host is asked")
    private = parser.add_mutually_exclusive_group()
    private.add_argument(
        "--private", action="store_true", help="the host may have a private address (claims with ?mode=developer alone)"
    )
    private.add_argument("--no-private", action="store_true", help="the host must have an address of the Internet")
    parser.add_argument("--port", type=int, metavar="N", help="the port of the host, in place of 443")
    parser.add_argument("--ca", metavar="FILE", help="trust the certificates in this file, in place of the system's")
    parser.add_argument("--forget", action="store_true", help="forget what was set for the host")


def change(options: argparse.Namespace) -> str | None:
    """Stores what the options say about a site. Returns the name of its host; None: they name no site."""
    others = (options.private, options.no_private, options.forget, options.port is not None, options.ca is not None)
    if options.site is None:
        if any(others):
            raise UsageError("--private, --no-private, --port, --ca and --forget are about a --site")
        return None
    if options.forget and sum(others) > 1:
        raise UsageError("--forget forgets all settings of the site: leave the other options out")
    host: str = options.site.lower().removesuffix(".")
    if not HOST.match(host):
        raise UsageError(f"{shown(options.site)}: is no name of a host")
    options.site = host
    if any(others):
        store(host, {} if options.forget else changed(settings().get(host, {}), options))
    return host


def changed(own: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    if options.private:
        own["private"] = True
    if options.no_private:
        own.pop("private", None)
    if options.port is not None:
        if not 1 <= options.port <= 65535:
            raise UsageError("--port: must be 1 to 65535")
        own["port"] = options.port
    if options.ca is not None:
        if not Path(options.ca).is_file():
            raise UsageError(f"--ca: {shown(options.ca, None)} is no file")
        own["ca"] = str(Path(options.ca).resolve())
        try:
            own["ca"].encode()
        except UnicodeEncodeError:
            raise UsageError(f"--ca: {shown(own['ca'], None)} is no UTF-8") from None
    return own


def show(host: str, asked: int | None, options: argparse.Namespace) -> None:
    """Prints the settings of a host, and, if it is not None, how many sites are asked."""
    own = settings().get(host, {})
    if options.json:
        show_json({"site": host, "settings": own, **({} if asked is None else {"asked": asked})})
    else:
        said = ", ".join(f"{name} {shown(str(own[name]), None)}" for name in SETTINGS if name in own)
        print(f"{shown(host)}: {said or 'asked as every site is'}")


def file() -> Path:
    """The file that the process reads which asks sites."""
    return config_folder() / "segue" / "sites"


def settings() -> dict[str, Any]:
    try:
        found = json.loads(file().read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CommandError(f"{file()}: is no JSON: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise CommandError(f"{file()}: is no JSON object of objects")
    return found


def store(host: str, own: dict[str, Any]) -> None:
    """Replaces the file, whole or not at all."""
    all_of_them = settings()
    all_of_them.pop(host, None)
    if own:
        all_of_them[host] = own
    text = json.dumps(all_of_them, indent=2, sort_keys=True) + "\n"
    if len(text) > SIZE_LIMIT:
        raise CommandError(f"{file()}: there is no room for another host, the file may have {SIZE_LIMIT} bytes")
    replace_file(file(), text.encode())
