# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input of segue-search: those who call it, what they call it with, and what it depends on."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk, until
from gi.repository import Gio, GLib
from measure import private_bytes
from participants import Participant
from searching import NAME, PATH, PROGRAM, Client, Runner, Shell, begin_bus

Notes = tuple[Participant, Participant]
ANSWERED = 2.0  # seconds: the longest that a search takes


@pytest.fixture
def shell(desk: Desk) -> Iterator[Shell]:
    begin_bus(desk)
    shell = Shell(desk)
    yield shell


@pytest.fixture
def offered(notes: Notes) -> Notes:
    """The laptop offers a budget."""
    notes[1].tell("offer budget.md").hears("offered")
    notes[0].hears("appeared budget.md")
    return notes


def has_ended(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return not status.exists() or "zombie" in status.read_text()


def timed(shell: Shell, *terms: str) -> tuple[int, float]:
    began = time.monotonic()
    return len(shell.initial(*terms)), time.monotonic() - began


def test_identifiers_mean_nothing_to_others(desk: Desk, shell: Shell, offered: Notes) -> None:
    (id,) = shell.initial("budget")
    other, runner = Shell(desk), Runner(desk)
    assert other.metas([id]) == []
    (its,) = other.initial("budget")
    assert its != id
    wrong = ["", "0" * 32, id.upper(), id[:-1], id + "0", "../" + id, its, "special:" + id]
    assert shell.metas(wrong) == []
    for each in wrong:
        shell.activate(each, "budget")
    other.activate(id)
    runner.run(id, token="mine")
    assert [each["id"] for each in shell.metas([*wrong, id])] == [id]
    assert not any("continue" in line for line in offered[0].events())


def test_the_identifiers_that_are_kept_are_bounded(shell: Shell, offered: Notes, desk: Desk) -> None:
    """Those of one peer may push out those of another, which then do nothing."""
    (id,) = shell.initial("budget")
    for _ in range(260):
        other = Shell(desk)
        assert len(other.initial("budget")) == 1
        other.close()
    assert shell.metas([id]) == []
    shell.activate(id, "budget")
    assert not any("continue" in line for line in offered[0].events())
    assert private_bytes(shell.pid()) < 3 << 20


def test_too_many_and_too_long_terms_find_nothing(desk: Desk, shell: Shell, offered: Notes) -> None:
    runner = Runner(desk)
    assert len(shell.initial("budget")) == 1
    for terms in (["budget"] * 10_000, ["budget" * 200_000], ["b" * 1024, "u"], ["budget\n" * 40], ["\u00df" * 2000]):
        assert shell.initial(*terms) == []
        assert shell.further(["x"] * 10_000, *terms) == []
    assert shell.metas(["x"] * 100_000) == []
    assert runner.match("budget " * 100_000) == []
    odd = ['"', "*", "**", "-", "NEAR(", "a AND", "\u202e", "\u0301", "%s%n", "budget OR x", "'; --"]
    for text in odd:
        assert shell.initial(text) == [], text
    assert len(shell.initial("budget*", "BUDGET")) == 1


def test_terms_that_are_no_text_end_the_connection_of_their_sender(desk: Desk, shell: Shell, offered: Notes) -> None:
    """The bus does so, and the program has never seen them."""
    assert len(shell.initial("budget")) == 1
    call = Gio.DBusMessage.new_method_call(NAME, PATH, Shell.INTERFACE, "GetInitialResultSet")
    call.set_body(GLib.Variant("(as)", (["budget"],)))
    call.set_serial(2)
    hello = Gio.DBusMessage.new_method_call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "Hello")
    hello.set_serial(1)
    flags = Gio.DBusCapabilityFlags.NONE
    words = bytes(hello.to_blob(flags)) + bytes(call.to_blob(flags)).replace(b"budget", b"b\xff\xfe\xc0\x80t")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(str(desk.folder / "session-bus"))
        peer.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert peer.recv(4096).startswith(b"OK")
        peer.sendall(b"BEGIN\r\n" + words)
        while peer.recv(65536):
            pass
    assert len(shell.initial("budget")) == 1


def test_titles_are_shown_in_one_line_without_marks(shell: Shell, notes: Notes) -> None:
    here, there = notes
    there.tell("offer a\u202eb\u200b <b>budget</b>\u2028\u00a0 c &amp; d").hears("offered")
    here.hears("appeared .*")
    assert [name for name, _ in shell.finds("budget")] == ["ab \u2039b\u203abudget\u2039/b\u203a c &amp; d"]
    there.tell("offer budget " + "w" * 500).hears("offered")
    here.hears("appeared .*")
    until(lambda: len(shell.initial("budget", "w")) == 1)
    ((name, _),) = shell.finds("budget", "w")
    assert len(name) == 81 and name.endswith("…")
    there.tell("offer \u202e\u200b").hears("offered")
    here.hears("appeared .*")
    until(lambda: shell.finds("com.example.notes") == [("com.example.notes", "on laptop")])


def test_a_flood_is_answered_and_keeps_nobody_else_from_searching(desk: Desk, shell: Shell, offered: Notes) -> None:
    """Two thousand calls at once of one peer: those that are too many find nothing. Another one finds what there is."""
    assert len(shell.initial("budget")) == 1
    flood = Client(desk).bus
    count = 2_000
    loop = GLib.MainLoop()
    arguments = GLib.Variant("(as)", (["budget"],))

    def told(bus: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        nonlocal count
        bus.call_finish(result)
        count -= 1
        if count == 0:
            loop.quit()

    for _ in range(count):
        flood.call(NAME, PATH, Shell.INTERFACE, "GetInitialResultSet", arguments, None, 0, 20_000, None, told)
    found, seconds = timed(shell, "budget")
    assert found == 1 and seconds < 10
    loop.run()
    assert count == 0
    assert len(shell.initial("budget")) == 1


def test_one_that_is_started_twice_ends(desk: Desk, shell: Shell, offered: Notes) -> None:
    assert len(shell.initial("budget")) == 1
    first = shell.pid()
    second = desk.start("second", [PROGRAM])
    second.wait_for("another one runs")
    assert second.wait() == 0
    assert shell.pid() == first
    assert desk.start("wrong", [PROGRAM, "--stay", "0"]).wait() == 2


def test_without_an_agent_nothing_is_found_at_once(desk: Desk, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    desk.variables["SEGUE_RUNTIME_DIR"] = str(tmp_path)
    begin_bus(desk)
    shell = Shell(desk)
    assert timed(shell, "budget") < (1, ANSWERED)
    assert timed(shell, "budget") < (1, 0.5)
    assert shell.call("org.freedesktop.Application", "Activate", GLib.Variant("(a{sv})", ({},))) is None


def test_an_agent_that_hangs_is_waited_for_once(desk: Desk, shell: Shell, offered: Notes) -> None:
    assert len(shell.initial("budget")) == 1
    assert desk.device.agent is not None
    desk.device.agent.signal(signal.SIGSTOP)
    status = Path(f"/proc/{desk.device.agent.pid}/status")
    until(lambda: "State:\tT" in status.read_text())
    try:
        found, seconds = timed(shell, "budget")
        assert found == 0 and ANSWERED - 0.2 < seconds < ANSWERED + 1
        found, seconds = timed(shell, "budget")
        assert found == 0 and seconds < 0.5
        shell.metas(["x"])
    finally:
        desk.device.agent.signal(signal.SIGCONT)
    until(lambda: len(shell.initial("budget")) == 1)


def test_without_logind_the_session_counts_as_unlocked(desk: Desk, offered: Notes) -> None:
    desk.system_bus.kill()
    begin_bus(desk)
    assert len(Shell(desk).initial("budget")) == 1


def test_it_ends_with_the_bus(desk: Desk, shell: Shell, offered: Notes) -> None:
    assert len(shell.initial("budget")) == 1
    pid = shell.pid()
    desk.session_bus.kill()
    until(lambda: has_ended(pid))
    desk.bus("session-bus")
    assert len(Shell(desk).initial("budget")) == 1


def test_no_bus_is_said(desk: Desk) -> None:
    desk.session_bus.kill()
    program = desk.start("search", [PROGRAM])
    program.wait_for("session bus: ")
    assert program.wait() == 1


def test_it_ends_when_nobody_searches_and_is_started_again(desk: Desk, offered: Notes) -> None:
    """Identifiers of before mean nothing then."""
    begin_bus(desk, f"{PROGRAM} --stay 1")
    shell = Shell(desk)
    (id,) = shell.initial("budget")
    pid = shell.pid()
    until(lambda: not shell.has_provider())
    until(lambda: has_ended(pid))
    assert shell.metas([id]) == []
    (again,) = shell.initial("budget")
    assert again != id


def test_one_that_is_killed_is_started_again(desk: Desk, shell: Shell, offered: Notes) -> None:
    (id,) = shell.initial("budget")
    os.kill(shell.pid(), signal.SIGKILL)
    until(lambda: not shell.has_provider())
    assert len(shell.initial("budget")) == 1
    shell.activate(id)
    assert not any("continue" in line for line in offered[0].events())
