# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The user's settings for sites that apps claim (R12.9): the options of `segue apps`."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from .._terminal import shown
from .installed import config_folder
from .output import CommandError, UsageError, show_json

HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z")
SETTINGS = ("private", "port", "ca")


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


def change(options: argparse.Namespace) -> bool:
    """Does what the options say about a site. Returns whether none of them does."""
    named = options.private or options.no_private or options.port is not None or options.ca or options.forget
    if options.site is None:
        if named:
            raise UsageError("--private, --no-private, --port, --ca and --forget are about a --site")
        return True
    host = options.site.lower()
    host = host[:-1] if host.endswith(".") else host
    if not HOST.match(host):
        raise UsageError(f"{shown(options.site)}: is no name of a host")
    options.site = host
    if named:
        store(host, changed(settings().get(host, {}), options))
    elif options.refresh:
        return False
    show(host, settings().get(host, {}), options)
    return False


def changed(own: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    if options.forget:
        return {}
    if options.private:
        own["private"] = True
    if options.no_private:
        own.pop("private", None)
    if options.port is not None:
        if not 1 <= options.port <= 65535:
            raise UsageError("--port: must be 1 to 65535")
        own["port"] = options.port
    if options.ca is not None:
        path = Path(options.ca).resolve()
        if not path.is_file():
            raise UsageError(f"--ca: {shown(str(path), None)} is no file")
        own["ca"] = str(path)
    return own


def show(host: str, own: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        show_json({"site": host, "settings": own})
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
    file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file().parent, delete=False) as made:
        json.dump(all_of_them, made, indent=2, sort_keys=True)
        made.write("\n")
    Path(made.name).replace(file())
