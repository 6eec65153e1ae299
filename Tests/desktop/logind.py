#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for logind on a bus of the test, with two sessions, "1" and "2": logind.py

Its standard input has orders of JSON, one a line: {"LockedHint": true, ...} changes properties of the session "1", or
of that in "session"; {"sleep": bool} says PrepareForSleep; {"asked": "hangs"} lets it hang, and say so, when somebody
asks for the state. Another one takes its place on the bus. It says "asked" when somebody has asked for the state.
"""

from __future__ import annotations

import json
import os
import signal

from gi.repository import Gio, GLib

NAME, PATH = "org.freedesktop.login1", "/org/freedesktop/login1"
MANAGER = """<node><interface name="org.freedesktop.login1.Manager">
<method name="GetSession"><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
<signal name="PrepareForSleep"><arg type="b"/></signal></interface></node>"""
PROPERTIES = """<node><interface name="org.freedesktop.login1.Session">
<property name="IdleHint" type="b" access="read"/><property name="LockedHint" type="b" access="read"/>
<property name="IdleSinceHintMonotonic" type="t" access="read"/></interface></node>"""
TYPES = {"IdleHint": "b", "LockedHint": "b", "IdleSinceHintMonotonic": "t"}


class Logind:
    def __init__(self) -> None:
        self.rest = b""
        self.hangs = False
        here: dict[str, object] = {"IdleHint": False, "LockedHint": False, "IdleSinceHintMonotonic": 0}
        self.states = {f"{PATH}/session/_3{id}": dict(here) for id in "12"}
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        address = os.environ["DBUS_SYSTEM_BUS_ADDRESS"]
        self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        self.bus.register_object(PATH, Gio.DBusNodeInfo.new_for_xml(MANAGER).interfaces[0], self.call, None, None)
        session = Gio.DBusNodeInfo.new_for_xml(PROPERTIES).interfaces[0]
        for path in self.states:
            self.bus.register_object(path, session, None, lambda *given: self.value(given[2], given[4]), None)
        Gio.bus_own_name_on_connection(
            self.bus,
            NAME,
            Gio.BusNameOwnerFlags.ALLOW_REPLACEMENT | Gio.BusNameOwnerFlags.REPLACE,
            lambda *_: print("ready", flush=True),
            None,
        )
        GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, self.order)

    def value(self, path: str, name: str) -> GLib.Variant:
        state = self.states[path]
        if self.hangs:
            print("hangs", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
        if name == "LockedHint":
            print(f"asked {json.dumps(state)}", flush=True)
        return GLib.Variant(TYPES[name], state[name])

    def call(self, _bus, _sender, _path, _interface, _method, arguments, invocation) -> None:
        invocation.return_value(GLib.Variant("(o)", (f"{PATH}/session/_3{arguments.unpack()[0]}",)))

    def order(self, *_: object) -> bool:
        came = os.read(0, 65536)
        if not came:
            os._exit(0)
        *lines, self.rest = (self.rest + came).split(b"\n")
        for order in map(json.loads, lines):
            self.change(order)
        return True

    def change(self, order: dict[str, object]) -> None:
        if "sleep" in order:
            arguments = GLib.Variant("(b)", (order["sleep"],))
            self.bus.emit_signal(None, PATH, "org.freedesktop.login1.Manager", "PrepareForSleep", arguments)
            return
        if "asked" in order:
            self.hangs = order["asked"] == "hangs"
            return
        path = f"{PATH}/session/_3{order.pop('session', '1')}"
        self.states[path].update(order)
        changed = {name: GLib.Variant(TYPES[name], value) for name, value in order.items()}
        arguments = GLib.Variant("(sa{sv}as)", ("org.freedesktop.login1.Session", changed, []))
        self.bus.emit_signal(None, path, "org.freedesktop.DBus.Properties", "PropertiesChanged", arguments)


Logind()
GLib.MainLoop().run()
