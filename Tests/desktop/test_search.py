# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue-search: what the searches of desktops find, and what a click on it does (R2.6, R8.1, R8.3)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import AgentDevice
from desk import Desk, Server, until
from gi.repository import GLib
from participants import Participant, participant
from searching import Client, Runner, Shell, begin_bus, is_opaque

Notes = tuple[Participant, Participant]
EDITOR = "com.example.editor"


@pytest.fixture
def searched(desk: Desk) -> Desk:
    """A desk whose bus starts the program."""
    begin_bus(desk)
    return desk


@pytest.fixture
def shell(searched: Desk) -> Iterator[Shell]:
    shell = Shell(searched)
    yield shell
    shell.close()


@pytest.fixture
def editor(desk: Desk) -> Iterator[Participant]:
    """An app at the desk that saves what it has for search."""
    editor = desk.app(desk.device, "editor")
    yield editor
    editor.ask("delete all", r"deleted \d+ OK")


def saved(desk: Desk, editor: Participant, *titles: str) -> None:
    """Has the app save activities, and waits until they are found."""
    for title in titles:
        editor.ask(f"save - {title}", "offered")
        until(lambda title=title: title in [each.get("title") for each in found(desk)])


def found(desk: Desk) -> list[dict]:
    return desk.device.ask("search", query="", limit=100, bundle_identifier=EDITOR)["results"]


def test_offers_of_other_devices_come_first_then_what_was_saved(
    desk: Desk, notes: Notes, editor: Participant, shell: Shell
) -> None:
    here, there = notes
    saved(desk, editor, "Old budget", "Letter")
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    ids = shell.initial("bud")
    assert all(map(is_opaque, ids))
    offer, old = shell.metas(ids)
    assert (offer["id"], offer["name"], offer["description"]) == (ids[0], "budget.md", "com.example.notes, on laptop")
    assert (old["id"], old["name"], old["description"]) == (ids[1], "Old budget", "com.example.editor")
    assert old["icon"] == ("themed", ["com.example.editor", "local.segue.Segue", "document-open-recent"])
    assert shell.further(ids, "bud", "old") == [ids[1]]  # the same results keep their identifiers
    assert shell.finds("budget", "LAPTOP") == [("budget.md", "com.example.notes, on laptop")]
    assert shell.finds("udget") == shell.finds("nothing") == shell.finds() == shell.finds(" ") == []
    shell.activate(ids[0], "bud", time=1234)
    here.hears(r"continue \w+ \d+ budget.md")
    there.hears(r"ended \w+ restored OK.*")
    shell.activate(ids[1], "bud")
    editor.hears(r"continue \w+ \d+ Old budget")
    shell.launch("bud")


def test_an_offer_of_this_device_is_not_found(desk: Desk, shell: Shell) -> None:
    """R2.6: of another device; R6.5: that something here can continue."""
    here = desk.app(desk.device, "notes")
    desk.app(desk.device, "notes").tell("offer here").hears("offered")
    here.hears("appeared here")
    assert shell.finds("here") == []


def test_an_offer_that_nothing_here_can_continue_is_not_found(
    desk: Desk, notes: Notes, laptop: AgentDevice, shell: Shell
) -> None:
    desk.app(laptop, "alone", "--team", "U").tell("offer letter alone").hears("offered")
    notes[1].tell("offer letter").hears("offered")
    notes[0].hears("appeared letter")
    assert [name for name, _ in shell.finds("letter")] == ["letter"]


def test_words_are_compared_without_case_and_accents(desk: Desk, notes: Notes, shell: Shell) -> None:
    notes[1].tell("offer Über Žluťoučký 予算 αΒΓ.txt").hears("offered")
    notes[0].hears("appeared Über.*")
    for words in (["uber"], ["ÜBER", "zlut"], ["算"], ["ΑΒΓ"], ["txt"], ["zlu*"], ["u\u0308ber"]):
        assert len(shell.initial(*words)) == 1, words
    assert shell.initial("ber") == []


def test_an_app_that_does_not_run_is_started_with_the_time_of_the_click(
    desk: Desk, shell: Shell, app_program: Path, tmp_path: Path
) -> None:
    """R8.3: the time is in the startup id, as X11 wants it; KRunner says the token before."""
    report, data = tmp_path / "report", Path(desk.device.variables["XDG_DATA_HOME"])
    script, entry = tmp_path / "sketches", data / "applications" / "sketches.desktop"
    command = participant(app_program, "sketches", SEGUE_RUNTIME_DIR=str(desk.device.folder))
    script.write_text(
        f'#!/bin/sh\necho "$XDG_ACTIVATION_TOKEN" >>{report}\nsleep 3 | {shlex.join(map(str, command))}\n'
    )
    script.chmod(0o755)
    sketches = desk.app(desk.device, "sketches")
    sketches.ask("save - Sketch", "offered")
    until(lambda: shell.initial("sketch"))
    sketches.kill()
    entry.write_text(
        f"[Desktop Entry]\nType=Application\nName=sketches\nExec={script}\nX-Segue-TeamIdentifier=T\n"
        "X-Segue-BundleIdentifier=com.example.sketches\nX-Segue-ActivityTypes=com.example.editing;\n"
    )
    until(lambda: desk.device.ask("apps")["apps"])
    shell.activate(shell.initial("sketch")[0], "sketch", time=4321)
    until(lambda: report.exists() and report.read_text())
    token = report.read_text().strip()
    assert token.startswith("local.segue.Segue.Search-") and token.endswith("_TIME4321")
    for runs in (True, False):
        until(lambda runs=runs: runs == any(each["running"] for each in desk.device.ask("apps")["apps"]))
    runner = Runner(desk)
    ((id, *_),) = runner.match("sketch")
    runner.run(id, token="of-plasma")
    until(lambda: len(report.read_text().splitlines()) == 2)
    assert report.read_text().splitlines()[1] == "of-plasma"
    desk.device.ask("forget", bundle_identifier="com.example.sketches")
    entry.unlink()


def test_krunner_finds_the_same(desk: Desk, searched: Desk, notes: Notes, editor: Participant) -> None:
    here, there = notes
    saved(desk, editor, "Old budget")
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    runner = Runner(desk)
    assert runner.call(runner.INTERFACE, "Config") == {"MinLetterCount": 1}
    assert runner.call(runner.INTERFACE, "Actions") == []
    offer, old = runner.match("bud")
    assert [offer[1], offer[5]] == ["budget.md", {"subtext": "com.example.notes, on laptop"}]
    assert [old[1], old[5]] == ["Old budget", {"subtext": "com.example.editor"}]
    assert 1 > offer[4] > old[4] > 0  # the first result stays the first
    assert runner.match("  ") == []
    runner.call(runner.INTERFACE, "Teardown")
    runner.run(offer[0])
    here.hears(r"continue \w+ \d+ budget.md")
    runner.run(old[0])
    editor.hears(r"continue \w+ \d+ Old budget")


def test_settings_hold_for_searches(desk: Desk, notes: Notes, editor: Participant, shell: Shell) -> None:
    here, there = notes
    saved(desk, editor, "Old budget")
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    both = ["budget.md", "Old budget"]
    desk.settings("notify never")  # that is for notifications
    assert [name for name, _ in shell.finds("bud")] == both
    desk.settings("titles hidden")
    assert shell.finds("bud") == [("com.example.notes", "on laptop"), ("com.example.editor", "")]
    desk.settings("off device laptop")
    assert [name for name, _ in shell.finds("bud")] == both[1:]
    desk.settings(f"off app {EDITOR}")
    assert [name for name, _ in shell.finds("bud")] == both[:1]
    desk.settings("off type com.example.editing")
    assert shell.finds("bud") == []
    desk.settings("of app mine")  # it may be one that switches something off
    assert shell.finds("bud") == []
    desk.settings()
    assert [name for name, _ in shell.finds("bud")] == both


def test_nothing_is_found_nor_continued_while_the_session_is_locked(
    desk: Desk, notes: Notes, editor: Participant, shell: Shell
) -> None:
    here, there = notes
    saved(desk, editor, "Old budget")
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    assert desk.logind is not None
    desk.logind.tell('{"LockedHint": true}')  # before the bus starts the program
    assert shell.initial("bud") == []
    desk.session(LockedHint=False)
    until(lambda: len(shell.initial("bud")) == 2)
    ids = shell.initial("bud")
    desk.session(LockedHint=True)
    until(lambda: shell.metas(ids) == [])
    shell.activate(ids[0], "bud")
    desk.session(LockedHint=False)
    until(lambda: len(shell.metas(ids)) == 2)
    shell.activate(ids[1], "bud")
    editor.hears(r"continue \w+ \d+ Old budget")
    assert not any("continue" in line for line in here.events())


def test_the_entry_among_the_apps_continues_the_frontmost_offer(desk: Desk, notes: Notes, shell: Shell) -> None:
    here, there = notes
    client, server = Client(desk), Server(desk, "body", "actions")
    arguments = GLib.Variant("(a{sv})", ({"activation-token": GLib.Variant("s", "t")},))
    client.call("org.freedesktop.Application", "Activate", arguments)
    assert server.shows()["summary"] == "Nothing to continue"
    there.tell("offer budget.md").hears("offered")
    until(lambda: shell.initial("budget"))
    client.call("org.freedesktop.Application", "Activate", arguments)
    here.hears(r"continue \w+ \d+ budget.md")


def test_a_click_that_continues_nothing_says_why(desk: Desk, notes: Notes, editor: Participant, shell: Shell) -> None:
    here, there = notes
    saved(desk, editor, "Old budget")
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    server = Server(desk, "body", "actions")
    ids = shell.initial("bud")
    there.tell("invalidate")
    here.hears("gone budget.md")
    shell.activate(ids[0], "bud")
    assert server.shows()["summary"] == "'budget.md' is not continued"
    editor.ask("delete all", r"deleted 1 OK")
    shell.activate(ids[1], "bud")
    failure = server.shows()
    assert failure["summary"] == "'Old budget' is not continued"
    assert desk.logind is not None
    desk.logind.tell('{"LockedHint": true}')
    assert {server.closes(), server.closes()} == {failure["id"] - 1, failure["id"]}  # titles on a locked screen
