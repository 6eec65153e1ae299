# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A receiver whose app is not running (R3.8): what the agent fetches is on the disk before anything else happens, and
is delivered at least once, under one name, whoever is killed on the way."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import shutil
import signal
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import cbor2
import inbox
import pytest
import wire
from conftest import CARRIES
from inbox import NAME, command_line
from programs import PATIENCE, Program, programs
from segue import App, Outcome


@pytest.fixture
def segue(folder: Path) -> Iterator[Callable[..., Program]]:
    """segue("continue"): the command line, which runs beside the test."""
    with programs() as run:
        yield lambda *words: run("segue", command_line(folder, *words))


@pytest.fixture
def output(folder: Path) -> Callable[..., list[str]]:
    """output("inbox"): what the command says, once it has ended."""
    return functools.partial(inbox.output, folder)


@pytest.fixture
def entries(folder: Path) -> Callable[[], list[list[str]]]:
    """The entries of the inbox, in words."""
    return functools.partial(inbox.waiting, folder)


@pytest.fixture
def editor(agent, start):
    """An origin that offers "one" at an agent's hub."""
    agent()
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    return editor


def test_an_app_that_breaks_gets_it_again(editor, folder, entries):
    """R3.8: a handler that raises is no answer of the user. Whoever asked is told at once, and nothing is lost."""

    async def story() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        names = ("com.example.viewer",)
        async with App(*names, types=["com.example.editing"], team="T", runtime_folder=str(folder)) as viewer:

            @viewer.on_continue
            async def take(activity, continuation):
                raise ValueError("not for others")

            said = await asyncio.to_thread(inbox.output, folder, "continue", "--app", "com.example.viewer", status=1)
            assert said[0] == "com.example.viewer: unknown: ValueError; the activity waits for the app"

    began = time.monotonic()
    asyncio.run(story())
    assert time.monotonic() - began < 15, "the deadline was not awaited"
    (entry,) = entries()
    assert entry[1:4] == ["com.example.viewer", "com.example.editing", "'one'"]
    editor.hears(rf"ended {NAME} unknown .*")


def test_an_app_that_is_not_ready_gets_it_later(editor, start, segue, output, entries):
    """R3.8: entries wait for the handler, not for the open."""
    viewer = start("viewer", "--unready").ready()
    asking = segue("continue", "--app", "com.example.viewer")
    asking.wait_for("^continuing com.example.editing from com.example.editor on ")
    while not (listed := entries()):
        pass
    assert listed[0][1:4] == ["com.example.viewer", "com.example.editing", "'one'"]
    assert not [line for line in viewer.events() if "continue" in line]
    viewer.tell("accept yes")
    name = viewer.hears(rf"continue ({NAME}) \d+ one")[2]
    asking.wait_for("^com.example.viewer: restored$")
    assert asking.wait() == 0
    editor.hears(rf"was_continued {name} restored OK fresh ")
    editor.hears(rf"ended {name} restored OK fresh ")
    assert entries() == []


def ask(segue, entries, *words: str) -> Program:
    """Somebody asks for the viewer; returns once the entry is on the disk."""
    asking = segue("continue", "--app", "com.example.viewer", *words)
    while not entries():
        pass
    return asking


def test_two_choosers_and_a_push_share_an_entry(editor, folder, start, entries):
    """R3.8: it is continued once; each asker has the same name and the outcome, and all but the first `shared`."""
    viewer = start("viewer", "--unready").ready()

    async def launch(dock: App) -> asyncio.Task:
        while not dock.offers:
            await asyncio.sleep(0.01)  # offers come as events of the loop
        return asyncio.create_task(asyncio.to_thread(dock.launch, dock.offers[0], "com.example.viewer"))

    async def story() -> None:
        async with (
            App("org.example.dock", chooser=True, runtime_folder=str(folder)) as one,
            App("org.example.bar", chooser=True, runtime_folder=str(folder)) as other,
        ):
            first = await launch(one)
            while not entries():
                await asyncio.sleep(0.01)  # the entry is looked for, in another process
            second = await launch(other)
            await asyncio.to_thread(editor.ask, "push com.example.viewer", "push OK")
            short = await asyncio.to_thread(other.launch, other.offers[0], "com.example.viewer", 0.5)
            assert short.outcome is Outcome.UNKNOWN and short.shared, "it waits by its own time"
            assert len(entries()) == 1
            name = viewer.ask("accept yes", rf"continue ({NAME}) \d+ one")[2]
            ends = await asyncio.gather(first, second)
            assert [end.shared for end in ends] == [False, True]
            assert {end.continuation_id.hex for end in (*ends, short)} == {name}
            assert [end.outcome for end in ends] == [Outcome.RESTORED] * 2
            editor.hears(rf"ended {name} restored OK fresh ")

    asyncio.run(story())
    assert entries() == []
    assert not [line for line in viewer.events() if line.startswith("continue")], "once"


def test_what_has_expired_is_in_no_list(agent, start, segue, output, entries):
    """R1.6: although it is not deleted before the date has gone on for a while, since that may be wrong."""
    agent()
    editor = start("editor").ready()
    editor.tell("offer one", "expire 10")  # it is listed before
    editor.hears("offered")
    start("viewer", "--unready").ready()
    while not json.loads("".join(output("list", "--json")))[0]["expiration_date"]:
        pass  # the date follows the offer
    segue("continue", "--app", "com.example.viewer")
    end = time.monotonic() + 40
    for is_listed in (True, False):
        while bool(entries()) != is_listed:
            assert time.monotonic() < end


def test_an_agent_stores_how_long_it_has_run(agent, start, ask, state):
    """Time that nobody has read counts for little (docs/decisions/lifetimes-are-uptime.md)."""

    def read(name: str) -> int:
        with contextlib.closing(sqlite3.connect(state / "segue" / name)) as database:
            return database.execute("SELECT uptime FROM clock").fetchone()[0]

    for stores in (["inbox.db"], ["inbox.db", "search.db"]):
        program = agent()
        if len(stores) > 1:
            start("editor").ready().ask("save a one", "offered")
            while not ask("search", query="one")["results"]:
                pass
        assert ask("inbox")["entries"] == []
        ending = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
        program.signal(signal.SIGTERM)
        assert program.wait() == 0
        assert [path.name for path in sorted((state / "segue").glob("*.db"))] == stores, "none was made for this"
        assert all(read(name) >= ending for name in stores)


def test_what_is_of_another_type_than_was_offered_is_not_kept(agent, folder, start, segue, entries):
    """R2.6, R3.8: no app gets it, asker and origin are told, and the offer is fetched again for the next one."""
    agent()
    viewer = start("viewer").ready()
    origin, activity, channels = wire.Connection.to(folder / "hub.1"), uuid.uuid4(), iter((1, 3))
    origin.send(wire.hello("editor"))
    origin.receive_kind("ready")
    origin.send_message("publish", activity, wire.TYPE, "one", 0, 0, 0, None, False, 1)

    def continued(type: str) -> tuple[Program, list]:
        """The command, and the outcome of which the origin hears."""
        asking = segue("continue", "--app", "com.example.viewer")
        _, continuation, _, _, _, receiver, *_ = origin.receive_kind("fetch")
        state = cbor2.dumps(cbor2.CBORTag(55799, [1, {"type": type, "title": "one"}]), canonical=True)
        channel = next(channels)
        words = wire.message("state", continuation, receiver[0], channel, len(state), False)
        origin.send(words, wire.frame("data", state, channel), wire.end(channel, len(state)))
        told = origin.receive_kind("outcome")
        origin.send_message("outcomeAck", continuation, receiver[0])
        return asking, told[4:6]

    asking, outcome = continued("com.example.other")
    asking.wait_for(r"MALFORMED: .*com\.example\.other")
    assert asking.wait() == 1 and outcome == [wire.OUTCOMES["failed"], 7] and entries() == []
    assert not [line for line in viewer.events() if "continue" in line]
    asking, outcome = continued(wire.TYPE)
    viewer.hears(rf"continue ({NAME}) \d+ one")
    assert asking.wait() == 0 and outcome[0] == wire.OUTCOMES["restored"] and entries() == []


def wait_for_sent(state: Path, copy: Path) -> None:
    """Until the disk says that an app has the whole of an entry: no agent believes its answer before (R3.6). The agent
    locks its files, and may be writing to them: a copy is read."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for file in (state / "segue").glob("inbox.db*"):
            shutil.copy(file, copy)
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(copy / "inbox.db")) as database,
        ):
            if database.execute("SELECT 1 FROM sent").fetchone():
                return
        time.sleep(0.01)
    raise AssertionError("the disk does not say that the entry was sent")


@pytest.mark.parametrize("when", ["waiting", "delivered"])
def test_a_killed_agent_loses_nothing(begin, start, segue, output, entries, state, tmp_path, when):
    """The next agent delivers what waited, and leaves with its app what that has already."""
    first = begin()
    first.wait_for(CARRIES)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    if when == "delivered":
        name = viewer.ask("accept yes", rf"continue ({NAME}) \d+ one")[2]
        wait_for_sent(state, tmp_path)
    first.kill()
    begin().wait_for(CARRIES)
    if when == "waiting":
        name = viewer.ask("accept yes", rf"continue ({NAME}) \d+ one( redelivered)?")[2]
    viewer.tell("complete yes")
    editor.hears(rf"ended {name} restored OK fresh ")
    while entries():
        pass
    assert not [line for line in viewer.events() if line.startswith("continue")], "once for each process"


def test_a_killed_receiver_gets_it_again(editor, start, segue, output, entries):
    """At least once, under the same name, marked; never after the answer."""
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    name = viewer.ask("accept yes", rf"continue ({NAME}) \d+ one")[2]
    viewer.kill()
    again = start("viewer")
    again.hears(rf"continue {name} \d+ one redelivered")
    editor.hears(rf"ended {name} restored OK fresh ")
    assert entries() == []
    third = start("viewer").ready()
    assert not [line for line in third.events() if "continue" in line]


def crash_three_times(start, segue, entries):
    """Returns a viewer that runs, and takes nothing yet; three others have crashed on one entry."""
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    for _ in range(3):
        viewer.ask("accept yes", rf"continue {NAME} \d+ one.*")
        viewer.kill()
        viewer = start("viewer", "--unready", "--later").ready()
    return viewer


def test_after_three_crashes_only_the_user_has_it_delivered(editor, start, segue, output, entries):
    viewer = crash_three_times(start, segue, entries)
    viewer.tell("accept yes")
    while (entry := entries()[0])[6] != "held after crashes":
        pass
    assert not [line for line in viewer.events() if "continue" in line]
    assert "`segue inbox --retry ID` lets it try again" in output("inbox")[-1]
    assert output("inbox", "--retry", entry[0]) == [f"{entry[0]}: delivered again"]
    viewer.hears(rf"continue {NAME} \d+ one redelivered")
    viewer.tell("complete yes")
    while entries():
        pass


def test_an_entry_whose_app_does_not_run_comes_when_that_opens(editor, start, segue, output, entries):
    crash_three_times(start, segue, entries).kill()
    while (entry := entries()[0])[6] != "held after crashes":
        pass
    assert output("inbox", "--retry", entry[0]) == [f"{entry[0]}: comes when com.example.viewer opens next"]
    viewer = start("viewer", "--unready", "--later").ready()
    viewer.ask("accept yes", rf"continue {NAME} \d+ one redelivered")
    viewer.tell("complete yes")
    while entries():
        pass


def test_what_is_dropped_is_not_delivered(editor, start, segue, output, entries):
    viewer = start("viewer", "--unready").ready()
    ask(segue, entries)
    assert output("inbox", "--drop", entries()[0][0])[0].endswith(": dropped")
    assert entries() == []
    assert "nothing that waits has an identifier" in output("inbox", "--drop", "00", status=1)[-1]
    viewer.tell("accept yes")
    assert not [line for line in viewer.events() if "continue" in line]


def test_a_killed_origin_is_not_needed_any_more(agent, start, segue, output, entries):
    agent()
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    viewer = start("viewer", "--unready").ready()
    ask(segue, entries)
    editor.kill()
    viewer.ask("accept yes", rf"continue {NAME} \d+ one")
    while entries():
        pass


def test_a_late_answer_ends_the_entry_and_the_origin_has_one_receipt(editor, start, segue, output, entries):
    viewer = start("viewer", "--later").ready()
    asking = segue("continue", "--app", "com.example.viewer", "--timeout", "3")
    name = viewer.hears(rf"continue ({NAME}) \d+ one")[2]
    editor.hears(rf"ended {name} unknown REMOTE_APPLICATION_TIMED_OUT fresh .*")
    asking.wait_for("^com.example.viewer: unknown: the app has not answered yet")
    assert asking.wait() == 1
    viewer.tell("complete yes")
    while entries():
        pass
    assert not [line for line in editor.events() if "ended" in line or "was_continued" in line]


def test_a_stopped_agent_is_an_error_that_says_what_to_do(start, output):
    """Without an agent nothing waits."""
    start("editor").ready()
    assert output("inbox", status=1)[-1].endswith(inbox.NO_AGENT)


def test_what_no_app_can_continue_says_why(editor, output):
    assert "neither runs nor has a manifest" in output("continue", "--app", "com.example.none", status=1)[-1]


def test_an_app_of_another_team_does_not_get_it(editor, start, output):
    start("viewer", "--team", "U").ready()
    assert output("continue", "--app", "com.example.viewer", status=1)[-1].endswith("is of another team")


def test_an_inbox_of_another_machine_is_not_used(begin, state, output, start):
    """Its entries are delivered there: the hub works, and the inbox says why it does not."""
    first = begin()
    first.wait_for(CARRIES)
    first.signal(signal.SIGTERM)
    assert first.wait() == 0
    machine = state / "segue" / "machine"
    machine.write_text("0" * 64 + "\n")
    begin().wait_for(CARRIES)
    assert "belongs to another machine" in output("inbox", status=1)[-1]
