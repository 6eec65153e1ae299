# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A desk whose bus starts segue-search, and clients that call it as GNOME's shell and KRunner do."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from desk import Desk
from gi.repository import Gio, GLib
from project import ROOT

PROGRAM = Path(os.environ.get("SEGUE_SEARCH", ROOT / "lib" / "segue-search")).resolve()
TEMPLATES = ROOT / "packaging" / "search"
APP_ID = "local.segue.Segue"
NAME = f"{APP_ID}.Search"
PATH = "/" + NAME.replace(".", "/")
BUS = "org.freedesktop.DBus"
WITHIN_MS = 20_000


def installed(name: str, program: Path | str = PROGRAM) -> str:
    """A template as `make install` writes it, for a program that is elsewhere."""
    text = (TEMPLATES / f"{name}.in").read_text()
    text = text.replace("@LIBEXECDIR@/segue/segue-search", str(program))
    return text.replace("@APP_ID@", APP_ID).replace("@SEARCH_PATH@", PATH)


def begin_bus(desk: Desk, program: Path | str = PROGRAM) -> None:
    """Starts the session's bus anew, with the service."""
    data = desk.folder / "data"
    services = data / "dbus-1" / "services"
    services.mkdir(parents=True, exist_ok=True)
    (services / f"{NAME}.service").write_text(installed("dbus.service", program))
    desk.variables["XDG_DATA_HOME"] = str(data)
    desk.session_bus.kill()
    desk.bus("session-bus")


class Client:
    """A connection to the session's bus."""

    def __init__(self, desk: Desk):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        address = desk.variables["DBUS_SESSION_BUS_ADDRESS"]
        self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)

    def ask_bus(self, method: str) -> Any:
        return self.bus.call_sync(BUS, "/", BUS, method, GLib.Variant("(s)", (NAME,)), None, 0, WITHIN_MS, None)

    def pid(self) -> int:
        number: int = self.ask_bus("GetConnectionUnixProcessID").unpack()[0]
        return number

    def has_provider(self) -> bool:
        has: bool = self.ask_bus("NameHasOwner").unpack()[0]
        return has

    def call(self, interface: str, method: str, arguments: GLib.Variant | None = None, flags: int = 0) -> Any:
        answer = self.bus.call_sync(NAME, PATH, interface, method, arguments, None, flags, WITHIN_MS, None)
        return answer.unpack()[0] if answer.n_children() else None

    def close(self) -> None:
        self.bus.close_sync(None)


class Shell(Client):
    """GNOME's shell: js/ui/remoteSearch.js."""

    INTERFACE = "org.gnome.Shell.SearchProvider2"

    def initial(self, *terms: str) -> list[str]:
        ids: list[str] = self.call(self.INTERFACE, "GetInitialResultSet", GLib.Variant("(as)", (terms,)))
        return ids

    def further(self, ids: list[str], *terms: str) -> list[str]:
        arguments = GLib.Variant("(asas)", (ids, terms))
        found: list[str] = self.call(self.INTERFACE, "GetSubsearchResultSet", arguments)
        return found

    def metas(self, ids: list[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call(self.INTERFACE, "GetResultMetas", GLib.Variant("(as)", (ids,)))
        return found

    def activate(self, id: str, *terms: str, time: int = 0) -> None:
        self.call(self.INTERFACE, "ActivateResult", GLib.Variant("(sasu)", (id, terms, time)))

    def launch(self, *terms: str) -> None:
        self.call(self.INTERFACE, "LaunchSearch", GLib.Variant("(asu)", (terms, 1)))

    def finds(self, *terms: str) -> list[tuple[str, str]]:
        """Names and descriptions that are shown for the terms."""
        return [(each["name"], each.get("description", "")) for each in self.metas(self.initial(*terms))]


class Runner(Client):
    """KRunner: src/dbusrunner.cpp."""

    INTERFACE = "org.kde.krunner1"

    def match(self, text: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.call(self.INTERFACE, "Match", GLib.Variant("(s)", (text,)))
        return found

    def run(self, id: str, token: str | None = None) -> None:
        if token is not None:
            self.call(self.INTERFACE, "SetActivationToken", GLib.Variant("(s)", (token,)))
        self.call(self.INTERFACE, "Run", GLib.Variant("(ss)", (id, "")))


def is_opaque(id: str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", id) is not None
