# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saved activities and search (R8): from an app to the agent's disk, found when the app is gone, opened in the app."""

from __future__ import annotations

import asyncio
import functools
import os
import re
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import inbox
import pytest
import segue
from conftest import CARRIES

TYPE = "com.example.editing"


@pytest.fixture
def output(folder: Path) -> Callable[..., list[str]]:
    """output("search"): what the command says, once it has ended."""
    return functools.partial(inbox.output, folder)


@pytest.fixture
def titles(ask) -> Callable[..., list[str]]:
    """titles(2, "budget"): those of the results, once there are as many, the newest first."""

    def find(count: int, query: str = "", **more: object) -> list[str]:
        end = time.monotonic() + 20
        while len(found := ask("search", query=query, **more)["results"]) != count:
            assert time.monotonic() < end, found
        return [each.get("title") for each in found]

    return find


def test_an_activity_is_found_when_its_app_is_gone(agent, start, output, titles):
    """R8.1: what is eligible for search is, and nothing else."""
    agent()
    editor = start("editor").ready()
    editor.ask("offer Secret budget", "offered")
    editor.ask("save a Budget 2026", "offered")
    editor.ask("save - Über 予算 Budget", "offered")
    assert titles(2) == ["Über 予算 Budget", "Budget 2026"]
    editor.kill()
    heads, *rows = (re.split(r"\s{2,}", line) for line in output("search", "budget"))
    assert heads == ["NO", "TITLE", "TYPE", "APP", "SAVED"]
    assert [row[:4] for row in rows] == [
        ["1", "'Über 予算 Budget'", TYPE, "com.example.editor"],
        ["2", "'Budget 2026'", TYPE, "com.example.editor"],
    ]
    assert titles(1, "予") == titles(1, "uber") == titles(1, "budget", limit=1) == ["Über 予算 Budget"]
    assert output("search", "2026*", "--limit", "1", "--app", "com.example.none") == ["nothing was found"]
    assert "words" in output("search", *["w"] * 40, status=1)[-1]


def test_a_change_takes_the_place_of_what_was_saved_before(agent, start, titles):
    agent()
    editor = start("editor").ready()
    editor.ask("save a One", "offered")
    assert titles(1) == ["One"]
    editor.tell("title Two", "resign")
    while titles(1) != ["Two"]:
        pass
    editor.ask("save a Three", "offered")
    while titles(1) != ["Three"]:
        pass


def test_pages_are_bounded_and_go_on(agent, start, ask, titles):
    agent()
    editor = start("editor").ready()
    for number in range(3):
        editor.ask(f"save - Number {number}", "offered")
    titles(3)
    first = ask("search", query="number", limit=2)
    assert [each["title"] for each in first["results"]] == ["Number 2", "Number 1"] and first["more"]
    rest = ask("search", query="number", limit=2, after=first["results"][-1]["number"])
    assert [each["title"] for each in rest["results"]] == ["Number 0"] and not rest["more"]
    status, message = ask("search", query="number", limit=0)
    assert status == 1 and message == "limit: must be a number of results"
    assert ask("search")[1] == "query: must be a string"
    assert ask("open", bundle_identifier="com.example.editor")[1] == "activity_id: must be a UUID"
    missing = ask("open", bundle_identifier="com.example.editor", activity_id=uuid.uuid4())
    assert missing[1] == "open: the activity is no longer saved"


def test_an_app_deletes_its_own(agent, start, titles):
    """R8.2: by persistent identifier, or all; the callback says how many, and nothing is found then."""
    agent()
    editor, other = start("editor").ready(), start("other").ready()
    other.ask("save a Other", "offered")
    for name in ("a", "b", "c"):
        editor.ask(f"save {name} Mine {name}", "offered")
    titles(4)
    editor.ask("delete a", "deleted 1 OK")
    assert "Mine a" not in titles(3)
    editor.ask("delete none", "deleted 0 OK")
    editor.ask("delete all", "deleted 2 OK")
    assert titles(1) == ["Other"]


def test_the_user_forgets_what_an_app_has_saved(agent, start, output, titles):
    """R8.2: that of one app, or everything."""
    agent()
    for name in ("editor", "other"):
        start(name).ready().ask(f"save a Of {name}", "offered")
    titles(2)
    assert output("search", "--forget", "--app", "com.example.other") == ["forgotten: 1"]
    assert titles(1) == ["Of editor"]
    assert "takes no words" in output("search", "--forget", "editor", status=2)[-1]
    assert output("search", "--forget") == ["forgotten: 1"]
    assert titles(0) == []


def test_nothing_is_lost_by_a_killed_agent(begin, start, titles):
    """A saved activity is found, and one that an app saves meanwhile comes when there is an agent."""
    first = begin()
    first.wait_for(CARRIES)
    editor = start("editor").ready()
    editor.ask("save a Before", "offered")
    titles(1)
    first.kill()
    editor.ask("save b Meanwhile", "offered")
    begin().wait_for(CARRIES)
    assert titles(2) == ["Meanwhile", "Before"]


def test_without_an_agent_it_is_said(start, output):
    editor = start("editor").ready()
    editor.ask("delete all", "deleted 0 CONNECTION_UNAVAILABLE")
    assert output("search", "x", status=1)[-1].endswith(inbox.NO_AGENT)


APP = """
import asyncio, os, sys, segue

async def main():
    async with segue.App("com.example.editor", team="T", types=["com.example.editing"]) as app:
        @app.on_continue
        def restore(activity, continuation):
            with open(sys.argv[1], "w") as file:
                file.write(f"{os.getpid()} {activity.persistent_identifier} {activity.title}")

        await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_result_is_opened_in_its_app_which_is_launched(begin, start, output, titles, tmp_path):
    """R8.3: a continuation on this device, through the inbox."""
    program, restored, data = tmp_path / "editor.py", tmp_path / "restored", tmp_path / "data"
    program.write_text(APP)
    (data / "applications").mkdir(parents=True)
    lines = [
        "[Desktop Entry]",
        "Type=Application",
        "Name=The editor",
        f'Exec="{sys.executable}" {program} {restored}',
        "X-Segue-BundleIdentifier=com.example.editor",
        "X-Segue-TeamIdentifier=T",
        f"X-Segue-ActivityTypes={TYPE};",
        "X-Segue-BackgroundOnly=true",
    ]
    (data / "applications" / "editor.desktop").write_text("\n".join(lines) + "\n")
    folders = {"XDG_DATA_HOME": str(data), "XDG_DATA_DIRS": str(data / "none")}
    begin(**folders).wait_for(CARRIES)
    editor = start("editor").ready()
    editor.ask("save a Budget", "offered")
    titles(1)
    editor.kill()
    assert output("search", "budget", "--open") == ["The editor: restored"]
    process, name, title = restored.read_text().split()
    os.kill(int(process), signal.SIGKILL)
    assert (name, title) == ("a", "Budget")
    assert "none has the number 2" in output("search", "budget", "--open", "2", status=1)[-1]
    assert output("inbox") == ["nothing waits"]


def test_a_result_is_opened_in_an_app_that_runs(agent, start, output, titles):
    agent()
    editor = start("editor").ready()
    editor.ask("save - Budget", "offered")
    titles(1)
    other = start("editor").ready()
    assert output("search", "--open") == ["com.example.editor: restored"]
    assert [
        line for each in (editor, other) for line in each.events() if re.fullmatch(r"continue \w+ \d+ Budget", line)
    ]


def test_a_result_whose_app_is_gone_says_so(agent, start, output, titles):
    agent()
    editor = start("editor").ready()
    editor.ask("save - Budget", "offered")
    titles(1)
    editor.kill()
    assert "does not run, and no manifest says how it is started" in output("search", "--open", status=1)[-1]


def test_what_becomes_private_is_found_no_longer(agent, folder):
    """R10.2: with or without a persistent identifier, current or not. What is no longer eligible stays."""
    agent()

    async def story() -> None:
        app = segue.App("com.example.python", team="T", runtime_folder=folder)
        other = segue.App("com.example.other", team="U", runtime_folder=folder)
        async with app, other:
            await app.ready()
            await other.ready()
            made = []
            for number in range(3):
                each = segue.Activity(app, TYPE, title=f"Secret {number}", user_info={"page": 3})
                each.persistent_identifier = "name" if number == 0 else None
                each.eligible_for_search = True
                each.become_current()
                made.append(each)
                while len(await asyncio.to_thread(other.search, "secret")) != len(made):
                    pass
            made[0].private = True
            made[2].private, made[2].title = True, "Harmless"
            made[1].eligible_for_search = False
            while len(found := await asyncio.to_thread(other.search, "secret")) > 1:
                pass
            assert [each.title for each in found] == ["Secret 1"]

    asyncio.run(asyncio.wait_for(story(), 30))


def test_a_python_app_saves_searches_and_deletes(agent, folder, control):
    """R8.1, R8.2 by the Python package."""
    agent()

    async def story() -> None:
        async with segue.App("com.example.python", name="Python", runtime_folder=folder) as app:
            await app.ready()
            made = segue.Activity(app, TYPE, title="Café Budget", user_info={"page": 3, "draft": "x"})
            made.keywords = {"money"}
            made.persistent_identifier = "café"
            made.required_user_info_keys = {"page"}
            made.webpage_url = "https://example.com/budget"
            made.eligible_for_search = True
            made.become_current()
            while not (found := await asyncio.to_thread(app.search, "cafe MONEY")):
                pass
            one = found[0]
            assert (one.title, one.type, one.activity_id) == ("Café Budget", TYPE, made.id)
            assert (one.bundle_identifier, one.persistent_identifier) == ("com.example.python", "café")
            assert one.app_name == "Python", "no manifest says what the app says of itself"
            assert one.webpage_url == "https://example.com/budget"
            assert (one.expires - one.saved).days == 30
            assert await asyncio.to_thread(app.search, "budget", "com.example.other") == []
            assert await app.delete_saved(["other"]) == 0
            assert await app.delete_saved(["café"]) == 1
            assert await app.delete_all_saved() == 0
            assert await asyncio.to_thread(app.search) == []
            assert await asyncio.to_thread(app.forget_saved, None) == 0
            with pytest.raises(segue.NotFoundError, match="no longer saved"):
                await asyncio.to_thread(app.open_saved, one)

    asyncio.run(asyncio.wait_for(story(), 30))
