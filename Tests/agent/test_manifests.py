# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apps that have a manifest (R6.1): the agent knows them, sees changes while it runs, says which one would continue an
activity and why no other would (R6.2, R6.5), and starts it."""

from __future__ import annotations

import contextlib
import os
import plistlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import wire
from conftest import CARRIES
from inbox import NO_AGENT, unreadable
from programs import Program

TYPE = "com.example.editing"
NOT_FOUND, INVALID_ARGUMENT, LIMIT_EXCEEDED = 8, 1, 10


class Data:
    """$XDG_DATA_HOME of a test, and the agent that reads it."""

    def __init__(self, path: Path, folder: Path, begin: Callable[..., Program], ask: Callable[..., Any]) -> None:
        self.path, self.folder, self.begin, self.ask = path, folder, begin, ask
        self.apps, self.applications = path / "segue" / "apps", path / "applications"
        self.agent: Program | None = None

    def start(self, *options: str, **more: str) -> Data:
        variables = {"XDG_DATA_HOME": str(self.path), "XDG_DATA_DIRS": "/nonexistent", "SEGUE_LOG": "debug"}
        self.agent = self.begin(*options, **{**variables, "DISPLAY": "", **more})
        self.agent.wait_for(CARRIES)
        return self

    def reads(self, apps: int, files: int) -> None:
        """Waits until the agent has read so many."""
        assert self.agent is not None
        self.agent.wait_for(rf"manifests: {apps} apps in {files} files$")

    def plist(self, name: str, **more: Any) -> None:
        """A manifest of an app of team T that continues the usual type."""
        self.apps.mkdir(parents=True, exist_ok=True)
        manifest = {
            "CFBundleIdentifier": f"com.example.{name}",
            "CFBundleName": name,
            "NSUserActivityTypes": [TYPE],
            "com.apple.developer.team-identifier": "T",
            **more,
        }
        new = self.apps / f".{name}.new"
        new.write_bytes(plistlib.dumps({key: value for key, value in manifest.items() if value is not None}))
        new.rename(self.apps / f"{name}.plist")

    def desktop(self, name: str, command: str, *lines: str) -> None:
        self.applications.mkdir(parents=True, exist_ok=True)
        head = ["[Desktop Entry]", "Type=Application", f"Name={name}", f"Exec={command}"]
        (self.applications / f"{name}.desktop").write_text("\n".join([*head, *lines]) + "\n")

    def route(self, **more: Any) -> dict[str, str]:
        """Each candidate, in order, and what speaks for it or against it."""
        answer = self.ask("route", **more)
        return {
            each["bundle_identifier"].removeprefix("com.example."): ", ".join(
                [reason["reason"] for reason in each["against"]] or ["fits", each["preference"]]
            )
            for each in answer["candidates"]
        }


@pytest.fixture
def data(tmp_path: Path, folder: Path, begin, ask) -> Data:
    return Data(tmp_path / "data", folder, begin, ask)


QUERY = {"type": TYPE, "team": "T", "bundle_identifier": "com.example.elsewhere"}


def test_apps_are_listed_with_what_is_wrong_with_their_files(data):
    data.plist("notes", SegueDesktopFile="notes.desktop", CFBundleVersion="7")
    data.plist("list", **{"com.apple.developer.team-identifier": None})
    data.plist("broken", NSUserActivityTypes="x")
    data.desktop("notes", "notes %U")
    data.desktop("notes2", "notes", "X-Segue-BundleIdentifier=com.example.notes")
    data.start()
    assert data.agent is not None
    data.reads(2, 4)
    # Manifests are read before the agent carries the hub.
    broken_line = re.compile("error: manifest .*NSUserActivityTypes: expected an array, found a string$")
    assert any(broken_line.search(line) for line in data.agent.said), data.agent.said
    broken, listed, notes, shadowed = data.ask("apps")["apps"]
    path = f"{data.apps}/broken.plist"
    assert broken == {"path": path, "error": f"{path}: NSUserActivityTypes: expected an array, found a string"}
    assert notes == {
        "path": f"{data.apps}/notes.plist",
        "bundle_identifier": "com.example.notes",
        "name": "notes",
        "version": "7",
        "team": "T",
        "types": [TYPE],
        "type_count": 1,
        "running": False,
    }
    assert listed["team"] == "com.example.list"
    assert listed["no_launch"].endswith("SegueDesktopFile: is missing; expected the desktop id of a launcher")
    assert shadowed["shadowed_by"] == f"{data.apps}/notes.plist"


def test_of_apps_without_a_manifest_nothing_is_stored(data, folder, state):
    """A process may say hello under any number of names: that costs no commit for each, and others do not wait."""
    data.plist("notes")
    data.start().reads(1, 1)
    for number in range(200):
        stranger = wire.Connection.to(folder / "hub.1")
        stranger.send(wire.hello(f"stranger{number}"))
        assert stranger.next_message()[0] == "welcome"
        stranger.socket.close()
    notes = wire.Connection.to(folder / "hub.1")
    notes.send(wire.hello("notes"))
    while not data.ask("apps")["apps"][0]["running"]:
        pass
    # The inbox does its jobs in their order.
    assert data.ask("inbox")["entries"] == []
    data.agent.signal(signal.SIGTERM)
    assert data.agent.wait() == 0
    with contextlib.closing(sqlite3.connect(state / "segue" / "inbox.db")) as database:
        assert database.execute("SELECT app FROM uses").fetchall() == [("com.example.notes",)]


def test_changes_are_seen_while_the_agent_runs(data):
    """Also in folders that were not there, and are gone again; and idle folders cost nothing."""
    data.start().reads(0, 0)
    data.plist("one")
    data.reads(1, 1)
    data.plist("two")
    data.reads(2, 2)
    data.desktop("three", "three", "X-Segue-BundleIdentifier=com.example.three")
    data.reads(3, 3)
    (data.apps / "one.plist").write_text("nonsense")
    data.reads(2, 3)
    shutil.rmtree(data.path)
    data.reads(0, 0)
    (data.path / "applications" / "vendor").mkdir(parents=True)
    (data.path / "applications" / "vendor" / "four.desktop").write_text(
        "[Desktop Entry]\nX-Segue-BundleIdentifier=com.example.four\n"
    )
    data.reads(1, 1)
    assert [app["bundle_identifier"] for app in data.ask("apps")["apps"]] == ["com.example.four"]


def test_many_apps_are_listed_in_parts(data):
    for number in range(300):
        data.plist(f"app{number:03}", NSUserActivityTypes=[f"{TYPE}.{each}" for each in range(20)])
    data.start().reads(300, 300)
    found: list[str] = []
    more = True
    while more:
        answer = data.ask("apps", after=len(found))
        found += [app["name"] for app in answer["apps"]]
        more = answer["more"]
    assert found == [f"app{number:03}" for number in range(300)]
    # There may be fewer than when the asker began.
    assert data.ask("apps", after=301) == {"apps": [], "more": False}
    assert data.ask("apps", after=-1) == (INVALID_ARGUMENT, "after: must be a number of manifests")


def test_a_route_names_every_candidate_with_its_reasons(data, start):
    """R6.5: a dry run of what chooses."""
    data.desktop("app", "app")
    for name in ("fits", "preferred"):
        data.plist(name, SegueDesktopFile="app.desktop")
    data.plist("other-team", SegueDesktopFile="app.desktop", **{"com.apple.developer.team-identifier": "X"})
    data.plist("other-type", SegueDesktopFile="app.desktop", NSUserActivityTypes=["x"])
    data.plist("old", SegueDesktopFile="app.desktop", SeguePayloadVersions=[7])
    data.plist("no-launcher")
    data.start().reads(6, 6)
    start("running").ready()
    expected = {
        "running": "fits, used",
        "fits": "fits, none",
        "preferred": "fits, none",
        "elsewhere": "no manifest",
        "no-launcher": "no launch command",
        "old": "version declined",
        "other-team": "team differs",
        "other-type": "type not declared",
    }
    assert data.route(**QUERY) == expected
    assert list(data.route(**QUERY)) == list(expected)
    assert next(iter(data.route(**{**QUERY, "bundle_identifier": "com.example.fits"}))) == "fits"
    assert data.route(**{**QUERY, "payload_version": 7})["old"] == "fits, none"


def test_a_choice_is_remembered_by_the_next_agent(data):
    """R6.2"""
    data.desktop("app", "app")
    for name in ("a", "b"):
        data.plist(name, SegueDesktopFile="app.desktop")
    data.start().reads(2, 2)
    assert data.route(**QUERY) == {"a": "fits, none", "b": "fits, none", "elsewhere": "no manifest"}
    assert data.ask("choose", type=TYPE, app="com.example.b") == {}
    assert list(data.route(**QUERY)) == ["b", "a", "elsewhere"]
    data.start("--replace").reads(2, 2)
    assert data.route(**QUERY)["b"] == "fits, chosen"
    assert data.ask("choose", type=TYPE) == {}
    assert data.route(**QUERY) == {"a": "fits, none", "b": "fits, none", "elsewhere": "no manifest"}


def test_a_choice_that_the_disk_refuses_to_say_at_first_counts_later(data, state):
    """R6.2: and needs no restart."""
    data.desktop("app", "app")
    for name in ("a", "b"):
        data.plist(name, SegueDesktopFile="app.desktop")
    data.start().reads(2, 2)
    assert data.ask("choose", type=TYPE, app="com.example.b") == {}
    data.agent.signal(signal.SIGTERM)
    assert data.agent.wait() == 0
    with unreadable(state / "segue" / "inbox.db"):
        data.start().reads(2, 2)
        data.agent.wait_for("inbox.db: is no regular file")
        assert data.route(**QUERY)["b"] == "fits, none"
    data.agent.wait_for("the disk says which apps the user prefers")
    assert data.route(**QUERY)["b"] == "fits, chosen"


def test_an_offer_that_is_not_there_has_no_route(data):
    data.start().reads(0, 0)
    assert data.ask("route", activity=UUID(int=7)) == (NOT_FOUND, "continue: the activity is not offered")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "activity: must be a UUID"),
        ({**QUERY, "type": ""}, "type: must not be empty"),
        ({**QUERY, "team": "x" * 256}, "team: 256 bytes, at most 255 are allowed"),
        ({**QUERY, "payload_version": -1}, "payload_version: must be 0 to 4294967295"),
        ({"activity": "x"}, "activity: must be a UUID"),
    ],
)
def test_a_bad_question_says_what_is_wrong(data, asked, expected):
    data.start().reads(0, 0)
    status = LIMIT_EXCEEDED if "at most" in expected else INVALID_ARGUMENT
    assert data.ask("route", **asked) == (status, expected)


def test_files_that_never_end_delay_no_hub(data, start):
    data.apps.mkdir(parents=True)
    (data.apps / "zero.plist").symlink_to("/dev/zero")
    os.mkfifo(data.apps / "fifo.plist")
    data.plist("good")
    data.start()
    start("viewer").ready()
    data.reads(1, 3)


# ---- the command line, by the C interface and the Python package


@pytest.fixture
def segue(folder: Path) -> Callable[..., list[list[str]]]:
    """segue("apps"): what the command says, a list of columns for each line."""

    def run(*words: str, status: int = 0) -> list[list[str]]:
        command = ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-m", "segue", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stdout + done.stderr
        return [re.split(r"\s{2,}", line) for line in (done.stdout + done.stderr).splitlines()]

    return run


def test_the_command_line_shows_apps_routes_and_choices(data, start, segue):
    data.plist("broken", CFBundleIdentifier=7)
    data.desktop("app", "app")
    for name in ("a", "b"):
        data.plist(name, SegueDesktopFile="app.desktop")
    data.plist("c")
    data.start().reads(3, 4)
    path = data.apps
    assert segue("apps") == [
        ["APP", "NAME", "TEAM", "TYPES", "STATE"],
        ["com.example.a", "a", "T", "1", "can be started"],
        ["com.example.b", "b", "T", "1", "can be started"],
        ["com.example.c", "c", "T", "1", "cannot be started"],
        [f"broken: {path}/broken.plist: CFBundleIdentifier: expected a string, found an integer"],
        [
            f"com.example.c cannot be started: {path}/c.plist: SegueDesktopFile: is missing; expected the desktop id"
            " of a launcher"
        ],
    ]
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    assert segue("choose", TYPE, "com.example.b") == [[f"{TYPE}: com.example.b"]]
    assert [line[0] for line in segue("route")] == [
        "APP",
        *(f"com.example.{name}" for name in ("b", "a", "editor", "c")),
    ]
    assert segue("route")[1] == ["com.example.b", "b", "app", "has a manifest", "chosen"]
    assert segue("route")[3][-1] == "own app: it is the origin, and no other process of it runs"
    told = "no manifest describes com.example.none: it is chosen only while it runs"
    assert segue("choose", TYPE, "com.example.none") == [[f"{TYPE}: com.example.none"], [told]]
    assert segue("choose", TYPE) == [[f"{TYPE}: com.example.none"]], "it only asks"
    assert segue("choose", "com.example.other") == [["com.example.other: no choice"]]
    assert segue("choose", TYPE, "com.example.b", "--forget", status=2) == [["segue: --forget takes no app"]]
    assert segue("choose", TYPE) == [[f"{TYPE}: com.example.none"]]
    assert segue("choose", TYPE, "--forget") == [[f"{TYPE}: no choice"]]
    assert segue("choose", TYPE) == [[f"{TYPE}: no choice"]]
    assert segue("route")[1][0] == "com.example.a"
    start("viewer").ready()
    assert segue("route")[1] == ["com.example.viewer", "com.example.viewer", "app", "runs", "used"]


def test_apps_and_doctor_report_what_is_wrong_and_has_no_effect(data, segue):
    """A blemish of a file hides no app (R6.1); a terminal that is missing is no mistake of the file."""
    identifier = "X-Segue-BundleIdentifier=com.example.a"
    data.desktop("a", "/bin/true", identifier, "Terminal=true", "just a line", "Name[ko]=A", "Name[ko]=B")
    data.start(PATH="/nonexistent").reads(1, 1)
    path = f"{data.applications}/a.desktop"
    warnings = [f"{path}: line 7: expected KEY=VALUE", f"{path}: line 9: the key Name[ko] is there twice"]
    shown = [" ".join(line) for line in segue("apps")]
    assert shown[2].startswith(f"com.example.a cannot be started: {path}: Terminal: neither xdg-terminal-exec nor")
    assert shown[3:] == warnings
    command = ["env", f"SEGUE_RUNTIME_DIR={data.folder}", sys.executable, "-m", "segue", "doctor"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert all(warning in told for warning in warnings), told
    assert "install xdg-terminal-exec, or a terminal emulator" in told


def test_without_an_agent_it_is_said(start, segue):
    start("viewer").ready()
    for words in (("apps",), ("choose", TYPE, "a")):
        assert segue(*words, status=1) == [[f"segue: CONNECTION_UNAVAILABLE: {NO_AGENT}"]]


APP = """
import asyncio, os, sys, segue

async def main():
    async with segue.App("com.example.viewer", team="T", types=["com.example.editing"]) as app:
        @app.on_continue
        def restore(activity, continuation):
            with open(sys.argv[1], "w") as file:
                file.write(" ".join([str(os.getpid()), activity.title, *sys.argv[2:]]))

        await asyncio.Event().wait()

asyncio.run(main())
"""


def test_an_app_that_has_a_manifest_is_started(data, start, segue, tmp_path):
    """R3.8, R6.1: from the offer to the restored activity, by what its `.desktop` file says."""
    program, restored = tmp_path / "viewer.py", tmp_path / "restored"
    program.write_text(APP)
    data.desktop(
        "viewer",
        f'"{sys.executable}" {program} {restored} %U --name=%c',
        "X-Segue-BundleIdentifier=com.example.viewer",
        "X-Segue-TeamIdentifier=T",
        f"X-Segue-ActivityTypes={TYPE};",
        "X-Segue-BackgroundOnly=true",
    )
    data.start().reads(1, 1)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    assert segue("continue", "--launch")[0] == ["viewer: restored"]
    process, *words = restored.read_text().split()
    os.kill(int(process), signal.SIGKILL)
    assert words == ["one", "--name=viewer"]
    editor.hears(r"was_continued [0-9a-f]{32} restored OK fresh .*")


def test_a_program_that_cannot_be_started_is_named_and_the_activity_waits(data, start, segue, tmp_path):
    """R3.8: each asker is told why; they share the entry, which the app gets once it opens by itself."""
    program = tmp_path / "viewer"
    program.write_bytes(bytes(4))
    program.chmod(0o755)
    data.desktop(
        "viewer",
        str(program),
        "X-Segue-BundleIdentifier=com.example.viewer",
        "X-Segue-TeamIdentifier=T",
        f"X-Segue-ActivityTypes={TYPE};",
        "X-Segue-BackgroundOnly=true",
    )
    data.start().reads(1, 1)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    for _ in range(2):
        told = " ".join(segue("continue", "--app", "com.example.viewer", status=1)[-1])
        assert f"launch of com.example.viewer: {program}: is no program of this system" in told
        assert told.endswith("the activity waits in the inbox")
    assert len(data.ask("inbox")["entries"]) == 1
    start("viewer").ready().hears(r"continue [0-9a-f]{32} \d+ one")
    editor.hears(r"was_continued [0-9a-f]{32} restored OK fresh .*")


RUNNING = """
import asyncio, sys, segue

async def main():
    async with segue.App("com.example.notes") as app:
        app.add_container("org.example.folder", sys.argv[1])
        document = segue.Document(app, sys.argv[1] + "/a.txt", "text/plain")
        await app.ready()
        while document.user_activity is None:
            await asyncio.sleep(0.01)
        print(segue.Activity(app).type, document.user_activity.type)
        known, = [each for each in app.apps() if each.bundle_identifier == "com.example.notes"]
        print(known.running, known.name, known.team, *known.types)
        while not (offers := app.offers):
            await asyncio.sleep(0.01)
        print(*[offer.title for offer in offers])

asyncio.run(main())
"""


def test_what_a_manifest_says_holds_for_the_running_app(data, start, folder, tmp_path):
    """R6.1: an app that says only who it is sees what its manifest declares, and its documents have activities."""
    documents = {
        "LSItemContentTypes": ["text/plain"],
        "CFBundleTypeRole": "Editor",
        "NSUbiquitousDocumentUserActivityType": "com.example.document",
    }
    data.plist("notes", NSUserActivityTypes=["com.example.first", TYPE], CFBundleDocumentTypes=[documents])
    data.start().reads(1, 1)
    start("editor").ready().ask("offer one", "offered")
    (tmp_path / "files").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RUNNING, tmp_path / "files"],
        env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "com.example.first com.example.document",
        f"True notes T com.example.first {TYPE} com.example.document",
        "one",
    ], done.stderr


@pytest.mark.parametrize(
    ("exec_value", "expected"),
    [
        ("/nonexistent/app", "/nonexistent/app: No such file or directory"),
        ("app '", "Exec: the character ' is reserved; expected double quotes around it"),
    ],
)
def test_an_app_that_cannot_be_started_says_why(data, start, segue, exec_value, expected):
    data.desktop(
        "viewer",
        exec_value,
        "X-Segue-BundleIdentifier=com.example.viewer",
        "X-Segue-TeamIdentifier=T",
        f"X-Segue-ActivityTypes={TYPE};",
        "X-Segue-BackgroundOnly=true",
    )
    data.start().reads(1, 1)
    start("editor").ready().ask("offer one", "offered")
    assert expected in " ".join(segue("continue", "--app", "com.example.viewer", status=1)[-1])
