# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Web pages that the agent opens in the user's browser (R12.2, R12.3), with programs in the place of browsers."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import commands
import pytest
import segue as segue_package
from inbox import command_line
from programs import PATIENCE, programs

BROWSING = "NSUserActivityTypeBrowsingWeb"
HANDLER = "MimeType=x-scheme-handler/http;x-scheme-handler/https;"
PAGE = "https://example.com/a?b=$(id)&c='d'#:~:text=e"


class Desktop(NamedTuple):
    """The folders of a user, whose browsers write down the arguments with which they are started."""

    home: Path

    @property
    def variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_DATA_DIRS": "/nonexistent",
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CONFIG_DIRS": "/nonexistent",
            "DISPLAY": ":77",
        }

    def browser(self, name: str, field: str = "%u") -> None:
        program = self.home / name
        program.write_text(
            f'#!/bin/sh\n{{ echo $#; printf "%s\\n" "$@"; }} >>{self.home}/{name}.new\n'
            f"mv {self.home}/{name}.new {self.home}/{name}.opened\n"
        )
        program.chmod(0o755)
        folder = self.home / "data" / "applications"
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["[Desktop Entry]", "Type=Application", f"Name={name}", f"Exec={program} {field}", HANDLER]
        (folder / f"{name}.desktop").write_text("\n".join(lines) + "\n")

    def default(self, *names: str) -> None:
        ids = "".join(f"{name}.desktop;" for name in names)
        (self.home / "config").mkdir(exist_ok=True)
        text = f"[Default Applications]\nx-scheme-handler/https={ids}\nx-scheme-handler/http={ids}\n"
        (self.home / "config" / "mimeapps.list").write_text(text)

    def opened(self, name: str) -> list[str]:
        path = self.home / f"{name}.opened"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def desktop(tmp_path: Path) -> Desktop:
    made = Desktop(tmp_path)
    made.browser("first")
    made.browser("second", "--new-tab %U")
    made.default("removed", "second", "first")
    return made


@pytest.fixture
def offer(folder: Path) -> Iterator[Callable[..., None]]:
    with programs() as run:

        def make(url: str, type: str = "com.example.note") -> None:
            run("offer", command_line(folder, "offer", type, "--title", "a page", "--url", url)).wait_for("^offering")

        yield make


@pytest.fixture
def segue(folder: Path, control: Path) -> Callable[..., Any]:
    return lambda *words, status=0: json.loads(commands.segue(folder, *words, "--json", status=status).out)


def wait_for(desktop: Desktop, name: str) -> list[str]:
    """Nothing tells of a program that ends: its report is watched for."""
    path = desktop.home / f"{name}.opened"
    subprocess.run(["sh", "-c", f"until test -e {path}; do sleep 0.02; done"], timeout=20, check=True)
    return desktop.opened(name)


def test_a_page_opens_in_the_default_browser_as_one_argument_and_once(agent, desktop, offer, segue):
    """The list names a removed browser first (W10, W19)."""
    agent(**desktop.variables)
    offer(PAGE)
    route = segue("route")
    assert [each["role"] for each in route["candidates"] if not each["against"]] == ["url handler"]
    assert route["offer"]["web_origin"] == "https://example.com"
    assert [each["reason"] for each in route["web"]] == ["not claimed by an app", "browser without extension"]
    ended = segue("continue", "--launch", status=1)
    assert (ended["outcome"], ended["bundle_identifier"]) == ("unknown", "second")
    assert wait_for(desktop, "second") == ["2", "--new-tab", PAGE]
    assert desktop.opened("first") == []
    assert segue("inbox") == []


def test_a_browser_that_is_started_with_a_page_goes_to_its_place(agent, desktop, folder, segue):
    """(R12.6, W10) By a text directive, whatever the text is: the page is one argument."""
    agent(**desktop.variables)
    state = {"SegueBrowserState": {"text": "--flag 'a'\n$(id)", "before": "x"}}
    with programs() as run:
        url = "https://example.com/?q#part"
        words = ("offer", BROWSING, "--title", "a page", "--url", url, "--user-info", json.dumps(state))
        run("offer", command_line(folder, *words)).wait_for("^offering")
        segue("continue", "--launch", status=1)
    text = "%2D%2Dflag%20%27a%27%0A%24%28id%29"
    assert wait_for(desktop, "second") == ["2", "--new-tab", f"{url}:~:text=x-,{text}&text={text}"]


def test_the_users_choice_comes_first_and_changes_of_the_desktop_count_at_once(agent, desktop, offer, segue):
    agent(**desktop.variables)
    offer("http://example.com/")
    segue("choose", BROWSING, "first")
    segue("continue", "--launch", status=1)
    assert wait_for(desktop, "first") == ["1", "http://example.com/"]
    segue("choose", BROWSING, "--forget")
    (desktop.home / "data" / "applications" / "second.desktop").unlink()
    limit = time.monotonic() + PATIENCE
    while segue("route")["candidates"][0]["bundle_identifier"] != "first":
        assert time.monotonic() < limit, "the agent reads the folder again"
    (desktop.home / "first.opened").unlink()
    segue("continue", "--launch", status=1)
    assert wait_for(desktop, "first") == ["1", "http://example.com/"]


def test_without_a_browser_nothing_opens_and_the_reason_is_named(agent, desktop, offer, segue):
    for path in (desktop.home / "data" / "applications").iterdir():
        path.unlink()
    agent(**desktop.variables)
    offer(PAGE)
    assert [each["reason"] for each in segue("route", status=1)["web"]] == [
        "not claimed by an app",
        "no default browser",
    ]


def test_an_activity_is_told_why_its_page_is_continued_nowhere_or_without_its_place(agent, desktop, folder):
    """(R6.5, R12.2) By `explain`, which needs no offer of another app, and by `route`."""
    agent(**desktop.variables)
    with segue_package.App("com.example.editor", runtime_folder=folder, delivery="thread") as app:
        app.ready().wait(PATIENCE)

        routes: list[list[str]] = []
        explained: list[list[str]] = []

        def about_the_page(url: str | None) -> list[str]:
            activity = segue_package.Activity(app, "com.example.note")
            activity.webpage_url = url
            activity.become_current()
            said = activity.explain().wait(PATIENCE)
            assert said[-1].reason == "no other app", said
            routes.append([each.message for each in app.route(activity).web])
            explained.append([each.message for each in said[:-1]])
            return [each.reason for each in said[:-1]]

        def comes(*reasons: str) -> None:
            """The agent reads the folder when it begins, and again when it changes."""
            limit = time.monotonic() + PATIENCE
            while about_the_page(PAGE) != [*reasons]:
                assert time.monotonic() < limit, explained[-1]

        comes("not claimed by an app", "browser without extension")
        routes.clear(), explained.clear()
        assert about_the_page(PAGE) == ["not claimed by an app", "browser without extension"]
        assert about_the_page(None) == ["no web page"]
        assert explained == routes
        for path in (desktop.home / "data" / "applications").iterdir():
            path.unlink()
        comes("not claimed by an app", "no default browser")


def test_without_a_display_no_browser_is_started(agent, desktop, offer, folder):
    agent(**{**desktop.variables, "DISPLAY": ""})
    offer(PAGE)
    without = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        command_line(folder, "continue", "--launch"), env=without, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "no display" in done.stderr, done
    assert desktop.opened("second") == []
