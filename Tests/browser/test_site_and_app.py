# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example site and the example app for GTK (R12.7): a draft crosses from the page into the app, and back, at its
cursor. The site is one of https, the agent asks it which apps it lists, and starts the app."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import segue
from desk import Desk, prepared_desk, until
from sites import APP, PAGE, Site, site_of_app
from visits import BOTH, attempt, shown

pytest.importorskip("gi", reason="needs python3-gi")
EDITOR = "document.getElementById('editor')"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An X server of its own; who asks the agent to start an app gives it his screen."""
    if shutil.which("Xvfb") is None or shutil.which("xdotool") is None:
        pytest.skip("needs xvfb and xdotool")
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    with open(reader) as line:
        monkeypatch.setenv("DISPLAY", f":{line.readline().strip()}")
    # Beside a screen GLib starts a bus, and that a portal, whose file system stays mounted in the browser's folder.
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:")
    yield
    server.terminate()
    server.wait()


def key(*names: str) -> None:
    """Types into the window of the app."""
    window = ["search", "--sync", "--onlyvisible", "--name", "^Draft$"]
    found = subprocess.run(["xdotool", *window], capture_output=True, text=True, timeout=20, check=True).stdout.split()[
        -1
    ]
    subprocess.run(["xdotool", "windowfocus", "--sync", found], timeout=20, check=True)
    subprocess.run(["xdotool", "key", "--clearmodifiers", *names], timeout=20, check=True)


@contextmanager
def desk_of(tmp_path: Path, listed: list[str]) -> Iterator[tuple[Desk, Site]]:
    with (
        site_of_app(tmp_path, listed) as (site, variables),
        prepared_desk(**variables) as desk,
    ):
        yield desk, site


def page_with(browser: Any, text: str, cursor: int) -> Any:
    tab = shown(browser, PAGE)
    until(lambda: attempt(lambda: browser.evaluate(tab, f"Boolean({EDITOR})")))
    browser.evaluate(tab, f"({EDITOR}.value = {text!r}, {EDITOR}.setSelectionRange({cursor}, {cursor}), 1)")
    return tab


def fits(desk: Desk, offer: segue.Offer) -> bool:
    return any(each.bundle_identifier == APP and not each.against for each in desk.chooser.route(offer))


@BOTH
def test_a_draft_crosses_from_its_page_into_its_app_and_back_at_its_cursor(screen, tmp_path, word):
    """(R12.7) Nobody names the app: the site does."""
    with desk_of(tmp_path, [f"{APP}.{APP}"]) as (desk, site):
        browser = desk.start(word, proxy=site.proxy)
        tab = page_with(browser, "Hello w\U0001f30drld", 7)
        offer = desk.offer("Draft", browser.bundle)
        assert (offer.type, offer.web_origin) == ("com.example.draft.editing", "https://localhost")
        until(lambda: fits(desk, offer), 30)
        there = desk.chooser.launch(offer, None, 40)
        assert (there.bundle_identifier, there.outcome) == (APP, segue.Outcome.RESTORED)
        browser.close_tab(tab)
        key("X", "Right")
        back = desk.offer("Draft", APP)
        assert desk.continue_in(browser, back).outcome == segue.Outcome.RESTORED
        (page,) = until(lambda: browser.with_url(PAGE))
        text = f"{EDITOR}?.value"
        until(lambda: attempt(lambda: browser.evaluate(page, text)) == "Hello wX\U0001f30drld", 20)
        # After the picture, which is one character and two units.
        assert browser.evaluate(page, f"{EDITOR}.selectionStart") == 10


def test_a_site_that_does_not_list_the_app_hands_it_nothing_and_gets_nothing(screen, tmp_path):
    """(W3, R12.7) The browser opens the page without the app's state; the app is no candidate for the page's."""
    with desk_of(tmp_path, ["OTHER.com.example.draft"]) as (desk, site):
        browser = desk.start("chromium", proxy=site.proxy)
        tab = page_with(browser, "Hello", 3)
        offer = desk.offer("Draft", browser.bundle)
        until(lambda: "not listed by the site" in reasons(desk, offer), 30)
        browser.close_tab(tab)
        with segue.App(APP, types=["com.example.draft.editing"], runtime_folder=desk.run, delivery="thread") as app:
            activity = segue.Activity(app, "com.example.draft.editing", title="Mine")
            activity.webpage_url, activity.user_info = PAGE, {"text": "SECRET", "cursor": 1}
            activity.become_current()
            desk.continue_in(browser, desk.offer("Mine", APP))
            (page,) = until(lambda: browser.with_url(PAGE))
            until(lambda: attempt(lambda: browser.evaluate(page, f"{EDITOR}?.value")) == "")
        assert "SECRET" not in browser.received()


def reasons(desk: Desk, offer: segue.Offer) -> list[str]:
    return [a.reason for c in desk.chooser.route(offer) if c.bundle_identifier == APP for a in c.against]
