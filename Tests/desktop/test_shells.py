# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The searches of desktops by their own code: GNOME's shell without a screen, KRunner's library: make test-desktop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import HERE, Desk, until
from gi.repository import GLib
from participants import Participant
from searching import APP_ID, NAME, Client, begin_bus, installed

Notes = tuple[Participant, Participant]
GNOME = "org.gnome.Shell"
VIEW = "Main.overview._overview._controls._searchController._searchResults"
OURS = f"{VIEW}._providers.find(each => each.id == '{NAME}.desktop')"


class GnomeShell:
    """gnome-shell with a virtual monitor, told in its own language."""

    def __init__(self, desk: Desk):
        self.bus = Client(desk).bus
        words = ["gnome-shell", "--headless", "--wayland", "--no-x11", "--virtual-monitor", "1280x720", "--unsafe-mode"]
        self.program = desk.start("gnome-shell", words)
        self.program.wait_for("GNOME Shell started", 60)

    def does(self, script: str) -> Any:
        """Evaluates an expression there."""
        arguments = GLib.Variant("(s)", (f"JSON.stringify({script}) ?? 'null'",))
        answer = self.bus.call_sync(GNOME, "/org/gnome/Shell", GNOME, "Eval", arguments, None, 0, 20_000, None)
        done, text = answer.unpack()
        assert done, text
        return json.loads(json.loads(text))

    def types(self, text: str) -> None:
        """The user opens the overview, and types."""
        self.does("Main.overview.show()")
        until(lambda: self.does("Main.overview.visible && !Main.overview.animationInProgress"))
        self.does(f"Main.overview.searchEntry.set_text({json.dumps(text)})")

    def shown(self) -> list[list[str]]:
        """Names and descriptions of our results that are on the screen."""
        meta = "[each.metaInfo.name, each.metaInfo.description]"
        shown: list[list[str]] = self.does(f"Object.values({OURS}.display._resultDisplays).map(each => {meta})")
        return shown


@pytest.fixture
def gnome(desk: Desk) -> Iterator[GnomeShell]:
    if shutil.which("gnome-shell") is None:
        pytest.skip("gnome-shell is missing: make deps-desktop")
    begin_bus(desk)
    system = desk.folder / "system" / "gnome-shell" / "search-providers"
    system.mkdir(parents=True)
    (system / f"{APP_ID}.search-provider.ini").write_text(installed("search-provider.ini"))
    entries = Path(desk.variables["XDG_DATA_HOME"]) / "applications"
    entries.mkdir(parents=True)
    (entries / f"{NAME}.desktop").write_text(installed("application.desktop"))
    runtime = desk.folder / "run"
    runtime.mkdir(mode=0o700)
    desk.variables |= {
        "XDG_DATA_DIRS": f"{desk.folder}/system:/usr/local/share:/usr/share",
        "XDG_RUNTIME_DIR": str(runtime),
        "XDG_CACHE_HOME": str(desk.folder / "cache"),
        "XDG_CURRENT_DESKTOP": "GNOME",
        "GSETTINGS_BACKEND": "memory",
        "LIBGL_ALWAYS_SOFTWARE": "1",
    }
    yield GnomeShell(desk)


def test_gnome_finds_it_in_the_overview_and_continues_it(desk: Desk, gnome: GnomeShell, notes: Notes) -> None:
    """It is asked as soon as the user types, and again with each letter; the click continues what is shown."""
    here, there = notes
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    gnome.types("bu")
    until(gnome.shown)
    gnome.types("budg")
    until(lambda: gnome.does(f"{VIEW}._terms") == ["budg"] and gnome.shown())
    assert gnome.shown() == [["budget.md", "com.example.notes, on laptop"]]
    gnome.does(f"Object.values({OURS}.display._resultDisplays)[0].activate()")
    here.hears(r"continue \w+ \d+ budget.md")
    there.hears(r"ended \w+ restored OK.*")


def test_krunner_finds_it_and_continues_it(desk: Desk, notes: Notes) -> None:
    """The library of Plasma's KRunner, which finds its plugins in the user's folder, too."""
    if shutil.which("qmlscene") is None:
        pytest.skip("qmlscene is missing: make deps-desktop")
    begin_bus(desk)
    here, there = notes
    there.tell("offer budget.md").hears("offered")
    here.hears("appeared budget.md")
    plugins = Path(desk.variables["XDG_DATA_HOME"]) / "krunner" / "dbusplugins"
    plugins.mkdir(parents=True)
    (plugins / f"{NAME}.desktop").write_text(installed("krunner.desktop"))
    variables = [f"HOME={desk.folder}", f"XDG_CACHE_HOME={desk.folder}/cache"]
    variables += ["QT_QPA_PLATFORM=offscreen", "QT_QUICK_BACKEND=software"]
    scene = desk.start("krunner", ["env", *variables, "qmlscene", HERE / "krunner.qml"])
    found = json.loads(scene.wait_for(r"match (\[.*\])")[1])
    assert found == ["budget.md", "com.example.notes, on laptop"]
    here.hears(r"continue \w+ \d+ budget.md")
    there.hears(r"ended \w+ restored OK.*")
