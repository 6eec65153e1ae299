#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for a notification server, for attacks that no real one makes: server.py [--mute] [CAPABILITY...]

A mute one never answers for a notification.
It prints what it is asked for, one object of JSON a line. Its standard input has orders of the same form:
{"signal": NAME, "arguments": [...], "to": BUS NAME or null}, {"hangs": bool}: it keeps its answers, {"answers": bool}:
it gives those that it has kept, or refuses; {"refuses": bool, or words of what it refuses to show}; {"last": the last
number of a notification}. {"ping": true}: it says "pong" once segue-desktop has taken all that this connection has sent
before; {"reaches": true}: it says "reached" once the bus has taken that. As real servers do, it says with reason 3 that
it has closed what it was asked to close. A second one takes the place of the first, which stays connected.
"""

from __future__ import annotations

import json
import os
import sys

from gi.repository import Gio, GLib

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
BUS = "org.freedesktop.DBus"
PROGRAM = "local.segue.Segue"
INTERFACE = """<node><interface name="org.freedesktop.Notifications">
<method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
<arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/></method>
<method name="CloseNotification"><arg type="u" direction="in"/></method>
<method name="GetCapabilities"><arg type="as" direction="out"/></method>
<signal name="ActionInvoked"><arg type="u"/><arg type="s"/></signal>
<signal name="ActivationToken"><arg type="u"/><arg type="s"/></signal>
<signal name="NotificationClosed"><arg type="u"/><arg type="u"/></signal>
</interface></node>"""
SIGNATURES = {"ActionInvoked": "(us)", "ActivationToken": "(us)", "NotificationClosed": "(uu)"}
CLOSED_BY_CALL = 3
KEYS = ("app", "replaces", "icon", "summary", "body", "actions", "hints", "timeout")


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


class Server:
    def __init__(self, capabilities: list[str], is_mute: bool):
        self.is_mute = is_mute
        self.capabilities, self.last, self.hangs, self.rest = capabilities, 100, False, b""
        self.refuses: bool | str = False
        self.kept: list[tuple[Gio.DBusMethodInvocation, GLib.Variant | None]] = []
        self.open: set[int] = set()
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        address = os.environ["DBUS_SESSION_BUS_ADDRESS"]
        self.bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
        info = Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces[0]
        self.bus.register_object(PATH, info, self.call, None, None)
        replaces = Gio.BusNameOwnerFlags.ALLOW_REPLACEMENT | Gio.BusNameOwnerFlags.REPLACE
        Gio.bus_own_name_on_connection(self.bus, NAME, replaces, lambda *_: say(ready=True), None)
        GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, self.order)

    def call(self, _bus, _sender, _path, _interface, method, arguments, invocation) -> None:
        values, is_good = arguments.unpack(), self.refuses is not True
        if method == "Notify":
            given = dict(zip(KEYS, values, strict=True))
            id = given["replaces"] or self.last + 1
            self.last = max(self.last, id)
            self.open.add(id)
            say(notify=given | {"id": id})
            answer = GLib.Variant("(u)", (id,))
            is_good = is_good and not (self.refuses and self.refuses in given["summary"])
        elif method == "GetCapabilities":
            print("asked", flush=True)
            answer = GLib.Variant("(as)", (self.capabilities,))
        else:
            say(close=values[0])
            answer = None
        if self.is_mute and method == "Notify":
            return
        if self.hangs:
            self.kept.append((invocation, answer))
        else:
            self.give(invocation, answer, is_good)

    def give(self, invocation: Gio.DBusMethodInvocation, answer: GLib.Variant | None, is_good: bool) -> None:
        if not is_good:
            invocation.return_dbus_error("local.Refused", "not now")
            return
        closed = invocation.get_parameters()[0] if invocation.get_method_name() == "CloseNotification" else None
        invocation.return_value(answer)
        if closed in self.open:
            self.signal(None, "NotificationClosed", closed, CLOSED_BY_CALL)

    def signal(self, to: str | None, name: str, *arguments: object) -> None:
        if name == "NotificationClosed":
            self.open.discard(arguments[0])
        self.bus.emit_signal(to, PATH, NAME, name, GLib.Variant(SIGNATURES[name], arguments))

    def ping(self) -> None:
        def answered(bus: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
            bus.call_finish(result)
            say(pong=True)

        self.bus.call(
            PROGRAM, "/", f"{BUS}.Peer", "Ping", None, None, Gio.DBusCallFlags.NO_AUTO_START, -1, None, answered
        )

    def order(self, *_: object) -> bool:
        came = os.read(0, 65536)
        if not came:
            os._exit(0)
        *lines, self.rest = (self.rest + came).split(b"\n")
        for order in map(json.loads, lines):
            if "answers" in order:
                kept, self.kept = self.kept, []
                for invocation, answer in kept:
                    self.give(invocation, answer, order["answers"])
            elif "ping" in order:
                self.ping()
            elif "reaches" in order:
                self.bus.call_sync(BUS, "/", BUS, "GetId", None, None, Gio.DBusCallFlags.NONE, -1, None)
                say(reached=True)
            elif "signal" in order:
                self.signal(order.get("to"), order["signal"], *order["arguments"])
            else:
                vars(self).update(order)
        return True


Server([word for word in sys.argv[1:] if word != "--mute"], "--mute" in sys.argv)
GLib.MainLoop().run()
