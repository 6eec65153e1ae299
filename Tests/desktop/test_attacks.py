# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input of segue-desktop: buses, servers, offers, settings. The server is a stand-in, for no real one does this."""

from __future__ import annotations

import copy
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from agents import AgentDevice
from desk import CAPABILITIES, SOON, Desk, Server, until
from gi.repository import Gio, GLib
from measure import context_switches, private_bytes, settled
from participants import Participant
from programs import Program
from project import ROOT

Notes = tuple[Participant, Participant]
NOTIFICATIONS = "org.freedesktop.Notifications"


@pytest.fixture
def offered(notes: Notes) -> Notes:
    """The laptop offers a budget."""
    notes[1].tell("offer budget.md").hears("offered")
    notes[0].hears("appeared budget.md")
    return notes


def lives(program: Program) -> bool:
    return (
        Path(f"/proc/{program.pid}/status").exists() and "zombie" not in Path(f"/proc/{program.pid}/status").read_text()
    )


def test_no_bus_is_waited_for_with_pauses_that_grow(desk: Desk, offered: Notes) -> None:
    desk.session_bus.kill()
    program = desk.begin()
    program.wait_for("session bus: ")
    desk.bus("session-bus")
    server = Server(desk, *CAPABILITIES)
    until(lambda: has_name(desk, "local.segue.Segue"))
    desk.arrive()
    server.shows()


def test_a_bus_that_is_started_again_is_found(desk: Desk, server: Server, offered: Notes) -> None:
    program = desk.begin()
    desk.arrive()
    server.shows()
    desk.session_bus.kill()
    program.wait_for("session bus: ")
    desk.bus("session-bus")
    again = Server(desk, *CAPABILITIES)
    until(lambda: has_name(desk, "local.segue.Segue"))
    desk.arrive()
    again.shows()
    assert lives(program)


def has_name(desk: Desk, name: str) -> bool:
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(desk.variables["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
    arguments = GLib.Variant("(s)", (name,))
    it = "org.freedesktop.DBus"
    has: bool = bus.call_sync(it, "/", it, "NameHasOwner", arguments, None, 0, 5000, None).unpack()[0]
    bus.close_sync(None)
    return has


def test_a_system_bus_that_ends_is_no_end(desk: Desk, server: Server, offered: Notes) -> None:
    program = desk.begin()
    desk.system_bus.kill()
    program.wait_for("system bus: ")
    server.stays_quiet()
    desk.bus("system-bus")
    desk.begin_logind()
    assert desk.logind is not None
    desk.logind.wait_for("^asked")
    desk.arrive()
    server.shows()


def test_a_system_bus_that_ends_unlocks_no_session(desk: Desk, server: Server, notes: Notes) -> None:
    desk.settings("notify always")
    program = desk.begin()
    desk.session(LockedHint=True)
    desk.system_bus.kill()
    program.wait_for("system bus: ")
    notes[1].tell("offer budget.md").hears("offered")
    server.stays_quiet()
    desk.bus("system-bus")
    desk.begin_logind()  # it says that the session is not locked
    server.shows()


def test_a_logind_that_answers_late_is_believed(desk: Desk, server: Server, offered: Notes) -> None:
    """R2.6: a machine may be busy for a while after a login, or after it has woken up."""
    logind, desk.logind = desk.logind, None
    assert logind is not None
    logind.stop()
    desk.begin()
    time.sleep(11)  # no bus of here waits for that long
    logind.signal(signal.SIGCONT)
    desk.logind = logind
    logind.wait_for("^asked")
    desk.arrive()
    server.shows()


def test_a_logind_in_place_of_one_that_hangs_is_asked(desk: Desk, server: Server, offered: Notes) -> None:
    former = desk.logind
    assert former is not None
    former.tell(json.dumps({"asked": "hangs"}))
    desk.begin(is_known=False)
    former.wait_for("^hangs")
    desk.begin_logind()
    assert desk.logind is not None
    desk.logind.wait_for("^asked")
    desk.arrive()
    server.shows()


def test_a_server_that_comes_later_is_used(desk: Desk, offered: Notes) -> None:
    program = desk.begin()
    desk.arrive()
    program.wait_for("no notification server answers: ")
    server = Server(desk, *CAPABILITIES)
    server.shows()  # the user has arrived just before


def test_a_server_that_is_started_again_is_asked_anew(desk: Desk, server: Server, offered: Notes) -> None:
    desk.begin()
    desk.arrive()
    first = server.shows()
    server.program.kill()
    again = Server(desk, "body")
    desk.arrive()
    notice = again.shows()
    assert (notice["replaces"], notice["actions"]) == (0, [])
    again.says("NotificationClosed", first["id"] + 1000, 2)
    again.stays_quiet()


def test_a_server_that_hangs_holds_nothing_up(desk: Desk, server: Server, offered: Notes) -> None:
    """At most one question of a device waits for it, and another one at an arrival after 5 s."""
    here, there = offered
    program = desk.begin()
    server.program.wait_for("^asked")  # it answers this still
    server.order(hangs=True)
    for _ in range(5):
        desk.arrive()
    server.shows()
    there.tell("offer letter").hears("offered")
    here.hears("appeared letter")
    server.stays_quiet(5.5)
    server.order(hangs=False)
    desk.arrive()
    program.wait_for("a notification was not shown: ", 10)
    until(lambda: server.shows()["summary"] == "Continue 'letter'")


def test_a_server_without_buttons_gets_none_and_declines_nothing(desk: Desk, offered: Notes) -> None:
    """R3.15: with such a server nobody can answer a push."""
    server = Server(desk, "body")
    desk.begin()
    desk.arrive()
    assert server.shows()["actions"] == []
    time.sleep(5.5)  # somebody of the test before counts as there for 5 s after an answer
    offered[1].tell(f"push_to_device {desk.device.device('desk')['device'].hex}")
    offered[1].hears("push_to_device DECLINED.*")
    server.stays_quiet()


def test_identifiers_and_senders_that_are_foreign_do_nothing(desk: Desk, server: Server, offered: Notes) -> None:
    """Anybody may send a signal to a connection: only the server that shows a notification is believed."""
    here, _ = offered
    program = desk.begin()
    desk.arrive()
    id = server.shows()["id"]
    for other in (0, id + 1, 2**32 - 1):
        server.says("ActionInvoked", other, "default")
        server.says("NotificationClosed", other, 2)
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(desk.variables["DBUS_SESSION_BUS_ADDRESS"], flags, None, None)
    path = "/org/freedesktop/Notifications"
    for signal_, arguments in (("ActionInvoked", ("(us)", (id, "default"))), ("NotificationClosed", ("(uu)", (id, 2)))):
        bus.emit_signal("local.segue.Segue", path, NOTIFICATIONS, signal_, GLib.Variant(*arguments))
    owned = GLib.Variant("(sss)", (NOTIFICATIONS, "", str(bus.get_unique_name())))
    bus.emit_signal("local.segue.Segue", "/", "org.freedesktop.DBus", "NameOwnerChanged", owned)
    bus.flush_sync(None)
    server.stays_quiet()
    server.says("ActionInvoked", id, "default")
    here.hears(r"continue \w+ \d+ budget.md")
    assert lives(program)


def test_signals_of_others_on_the_system_bus_are_no_arrival(desk: Desk, server: Server, offered: Notes) -> None:
    """Every user may send there."""
    program = desk.begin()
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    bus = Gio.DBusConnection.new_for_address_sync(desk.variables["DBUS_SYSTEM_BUS_ADDRESS"], flags, None, None)
    arguments = GLib.Variant("(b)", (False,))
    it = "org.freedesktop.login1"
    for number in range(1, 10):
        bus.emit_signal(f":1.{number}", "/org/freedesktop/login1", f"{it}.Manager", "PrepareForSleep", arguments)
    bus.flush_sync(None)
    server.stays_quiet()
    assert lives(program)


def test_a_thousand_offers_a_second_are_a_few_notifications(desk: Desk, server: Server, notes: Notes) -> None:
    there = notes[1]
    desk.settings("notify always")
    program = desk.begin()
    there.tell("offer budget.md").hears("offered")
    server.shows()
    before, began = private_bytes(program.pid), time.monotonic()
    for number in range(3000):
        there.tell(f"title draft {number}")
    there.tell("title the last")
    until(lambda: server.shows()["summary"] == "Continue 'the last'")
    assert server.shown <= 3 + 2 * (time.monotonic() - began)
    assert private_bytes(program.pid) - before < 512 * 1024


@pytest.mark.parametrize(
    ("title", "summary"),
    [
        ("<b>a</b> & <img src='x'/>", "Continue '\u2039b\u203aa\u2039/b\u203a & \u2039img src='x'/\u203a'"),
        ("one\ntwo\r\n\tthree\u2028four", "Continue 'one two three four'"),
        ("abc\u202egpj.exe\u2066\u200f\u061c", "Continue 'abcgpj.exe'"),
        ("\x1b[31mred\x07\x7f\u0085", "Continue '[31mred'"),
        ("\u200b\ufeff\U000e0041\u00ad", "Continue 'segue command line'"),
        ("x" * 1000, f"Continue '{'x' * 80}\u2026'"),
        ("\U0001f469\u200d\U0001f680" * 5, "Continue '" + "\U0001f469\U0001f680" * 5 + "'"),
    ],
)
def test_titles_do_no_harm(
    desk: Desk, server: Server, notes: Notes, laptop: AgentDevice, title: str, summary: str
) -> None:
    words = ["-m", "segue", "offer", "com.example.editing", "--title", title, "--team", "T"]
    words += ["--bundle", "com.example.notes"]
    command = ["env", f"SEGUE_RUNTIME_DIR={laptop.folder}", ROOT / ".venv" / "bin" / "python", *words]
    desk.settings("notify always")
    desk.begin()
    origin = desk.start_program("origin", command)
    notice = server.shows()
    assert notice["summary"] == summary
    assert not re.search("[<>]|&(?!amp;|lt;|gt;)", notice["body"])
    origin.kill()


def test_a_locked_screen_shows_nothing(desk: Desk, server: Server, notes: Notes) -> None:
    here, there = notes
    desk.settings("notify always")
    desk.begin()
    there.tell("offer budget.md").hears("offered")
    id = server.shows()["id"]
    desk.session(LockedHint=True)
    assert server.closes() == id
    there.tell("offer letter").hears("offered")
    here.hears("appeared letter")
    server.stays_quiet()
    desk.session(LockedHint=False)
    assert server.shows()["summary"] == "Continue 'letter'"


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_its_end_or_hang_is_noticed_by_nobody(desk: Desk, server: Server, notes: Notes, how: signal.Signals) -> None:
    here, there = notes
    program = desk.begin()
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    program.signal(how)
    for number in range(200):
        there.tell(f"title draft {number}")
    there.tell("offer letter")
    here.hears("appeared letter")
    here.tell("continue letter").hears(r"continue \w+ \d+ letter")
    there.hears(r"ended \w+ restored OK.*")


def test_a_second_one_in_a_session_ends(desk: Desk, server: Server) -> None:
    program = desk.begin()
    until(lambda: has_name(desk, "local.segue.Segue"))
    second = desk.start("second", [desk.PROGRAM])
    second.wait_for("another one runs")
    assert second.wait() == 0
    assert lives(program)


def test_of_two_sessions_of_one_user_that_is_notified_in_which_the_user_arrives(
    desk: Desk, server: Server, offered: Notes
) -> None:
    other = copy.copy(desk)
    address = f"unix:path={desk.folder}/other-bus"
    other.variables = desk.variables | {"XDG_SESSION_ID": "2", "DBUS_SESSION_BUS_ADDRESS": address}
    other.bus("other-bus")
    elsewhere = Server(other, *CAPABILITIES)
    desk.begin()
    other.begin()
    for is_locked in (True, False):
        other.session(LockedHint=is_locked, session="2")
    assert "budget.md" in elsewhere.shows()["summary"]
    server.stays_quiet()
    desk.arrive()
    assert "budget.md" in server.shows()["summary"]


def test_an_agent_that_hangs_delays_no_end(desk: Desk, server: Server, offered: Notes) -> None:
    """R3.8: the click waits for the agent, the program does not."""
    agent = desk.device.agent
    assert agent is not None
    program = desk.begin()
    desk.arrive()
    id = server.shows()["id"]
    agent.stop()
    try:
        server.says("ActionInvoked", id, "default")
        assert server.closes() == id
        began = time.monotonic()
        program.signal(signal.SIGTERM)
        assert program.wait() == 0
        assert time.monotonic() - began < 5
    finally:
        agent.signal(signal.SIGCONT)


@pytest.mark.parametrize("content", [b"\0\0", b"notify\n", b"idle -1\n", b"off app \n", b"x" * 70000, None, "fifo"])
def test_settings_that_cannot_be_used_switch_it_off(
    desk: Desk, server: Server, offered: Notes, content: object
) -> None:
    desk.settings()
    file = desk.config / "segue" / "desktop"
    file.unlink()
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    program = desk.begin()
    desk.arrive()
    if content == "fifo":  # nobody writes: as an empty file
        server.shows()
        return
    server.stays_quiet()
    assert lives(program)


def test_it_takes_no_arguments(desk: Desk) -> None:
    program = desk.start("wrong", [desk.PROGRAM, "--help"])
    program.wait_for("usage: ")
    assert program.wait() == 2


def test_idle_it_does_nothing_and_is_small(desk: Desk, server: Server, offered: Notes) -> None:
    program = desk.begin()
    desk.arrive()
    server.shows()
    time.sleep(SOON)
    before = settled(lambda: context_switches(program.pid))
    time.sleep(10)  # the measurement itself: nothing may happen meanwhile
    assert context_switches(program.pid) == before
    assert private_bytes(program.pid) <= 1024 * 1024
