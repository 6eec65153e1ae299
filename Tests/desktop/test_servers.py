# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The real notification server dunst, in Xvfb, and python-dbusmock's logind: make test-desktop. logind itself cannot
run on a bus of a test, so its template stands in for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk, until
from participants import Participant
from screen import Dunst

pytestmark = pytest.mark.skipif(
    shutil.which("dunst") is None or shutil.which("Xvfb") is None, reason="dunst or Xvfb is missing: make deps-desktop"
)
Notes = tuple[Participant, Participant]
LOGIND = "org.freedesktop.login1"
SESSION = "/org/freedesktop/login1/session/1"


@pytest.fixture
def dunst(desk: Desk) -> Dunst:
    return Dunst(desk)


@pytest.fixture
def mock(desk: Desk) -> Iterator[Desk]:
    """python-dbusmock's logind in place of the stand-in."""
    if not Path("/usr/lib/python3/dist-packages/dbusmock").exists():
        pytest.skip("python3-dbusmock is missing: make deps-desktop")
    assert desk.logind is not None
    desk.logind.kill()
    desk.logind = None
    desk.start("logind", ["/usr/bin/python3", "-m", "dbusmock", "--system", "--template", "logind"])
    until(lambda: mocked(desk, "/org/freedesktop/login1", "org.freedesktop.DBus.Mock", "AddSession", "ssusb",
                         "1", "seat0", str(os.getuid()), "user", "true").returncode == 0)  # fmt: skip
    yield desk


def mocked(desk: Desk, path: str, interface: str, *words: str) -> subprocess.CompletedProcess[str]:
    address = f"--address={desk.variables['DBUS_SYSTEM_BUS_ADDRESS']}"
    command = ["busctl", address, "call", LOGIND, path, interface, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=20)


def lock(desk: Desk, locked: bool) -> None:
    done = mocked(desk, SESSION, f"{LOGIND}.Session", "SetLockedHint", "b", "true" if locked else "false")
    assert done.returncode == 0, done


def unlocked(desk: Desk, dunst: Dunst) -> None:
    """The user comes back, until a notification is there: the program may not have seen the lock yet."""

    def tried() -> bool:
        lock(desk, True)
        lock(desk, False)
        return dunst.shown() == 1

    until(tried)


def test_a_click_in_dunst_continues_what_the_laptop_offers(mock: Desk, dunst: Dunst, notes: Notes) -> None:
    """R3.8: unlocked, shown, clicked, continued."""
    here, there = notes
    there.tell("offer budget.md").hears("offered")
    mock.begin()
    assert dunst.shown() == 0
    unlocked(mock, dunst)
    dunst.ctl("action")
    here.hears(r"continue \w+ \d+ budget.md")
    there.hears(r"ended \w+ restored OK.*")
    until(lambda: dunst.shown() == 0)
    entry = dunst.history()[0]
    assert entry["summary"] == "Continue 'budget.md'"
    assert entry["appname"] == "Segue"
    assert "laptop" in entry["body"]


def test_one_that_is_closed_in_dunst_does_not_come_again(mock: Desk, dunst: Dunst, notes: Notes) -> None:
    there = notes[1]
    there.tell("offer budget.md").hears("offered")
    mock.begin()
    unlocked(mock, dunst)
    dunst.ctl("close")
    until(lambda: (mock.state / "segue-desktop" / "dismissed").exists())
    there.tell("offer letter").hears("offered")
    unlocked(mock, dunst)
    until(lambda: dunst.shown() == 1)
    dunst.ctl("close")
    assert dunst.history()[0]["summary"] == "Continue 'letter'"


def test_dunst_shows_one_for_the_laptop_and_none_when_its_offer_is_gone(mock: Desk, dunst: Dunst, notes: Notes) -> None:
    there = notes[1]
    there.tell("offer budget.md").hears("offered")
    mock.begin()
    unlocked(mock, dunst)
    there.tell("offer <b>letter</b>").hears("offered")
    there.tell("offer last").hears("offered")
    assert dunst.shown() == 1
    there.tell("invalidate")
    until(lambda: dunst.shown() == 0)


def test_a_dunst_that_is_killed_is_no_end(mock: Desk, dunst: Dunst, notes: Notes) -> None:
    here, there = notes
    there.tell("offer budget.md").hears("offered")
    mock.begin()
    unlocked(mock, dunst)
    dunst.program.kill()
    mock.start("dunst", ["dunst", "-conf", mock.folder / "dunstrc"])
    until(lambda: dunst.tried("is-paused").returncode == 0)
    unlocked(mock, dunst)
    dunst.ctl("action")
    here.hears(r"continue \w+ \d+ budget.md")
