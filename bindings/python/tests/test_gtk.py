# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The notes app for GTK 4 (examples/gtk_notes.py), twice on one screen, as a user has it: focus and keys come from
xdotool, never from our API. A screenshot is kept in .build/screenshots."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, Opener, run_until

import segue

pytest.importorskip("gi", reason="needs python3-gi")

EXAMPLE = ROOT / "bindings" / "python" / "examples" / "gtk_notes.py"
REFUSED = "the document cannot be opened"
SHOTS = ROOT / ".build" / "screenshots"


class Screen:
    """An X server of its own."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
            pass_fds=[writer],
            stderr=subprocess.DEVNULL,
        )
        os.close(writer)
        self.errors = ""
        """The standard error of the program that has ended last."""
        with open(reader) as line:
            self.display = f":{line.readline().strip()}"

    def do(self, *command: str) -> str:
        """Runs a program for X, which ends in time."""
        environment = {**os.environ, "DISPLAY": self.display}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return done.stdout

    def window(self, program: subprocess.Popen[str], name: str) -> str:
        """Waits for a window of a program."""
        search = ("search", "--sync", "--onlyvisible", "--all", "--pid", str(program.pid), "--name", f"^{name}$")
        return self.do("xdotool", *search).split()[-1]

    def focus(self, window: str) -> None:
        self.do("xdotool", "windowfocus", "--sync", window)

    @contextmanager
    def running(self, home: Path, folder: Path, *names: str) -> Iterator[subprocess.Popen[str]]:
        """The example, until the end of the block, when it has to end well."""
        environment = {
            **os.environ,
            "DISPLAY": self.display,
            "GDK_BACKEND": "x11",
            "GSK_RENDERER": "cairo",
            "GSETTINGS_BACKEND": "memory",
            "HOME": str(home),
        }
        program = subprocess.Popen(
            [sys.executable, str(EXAMPLE), str(folder), *names], env=environment, stderr=subprocess.PIPE, text=True
        )
        try:
            yield program
            program.send_signal(signal.SIGTERM)
            _, errors = program.communicate(timeout=PATIENCE)
            self.errors = errors
            assert program.returncode == 0, errors
            assert "Traceback" not in errors and "segue" not in errors, errors
        finally:
            program.kill()
            program.wait()


@pytest.fixture
def screen() -> Iterator[Screen]:
    if shutil.which("Xvfb") is None:
        pytest.skip("needs xvfb")
    screen = Screen()
    yield screen
    screen.server.terminate()
    screen.server.wait()


def test_the_window_that_the_user_works_in_goes_on(screen: Screen, opened: Opener, tmp_path: Path) -> None:
    """R4.3, R5.1, R3.5: two windows, of which the one with the focus is offered; the offer stays when another program
    has the focus; there the same file opens, from another folder, with the cursor at its place."""
    here, there, mine = (tmp_path / name for name in ("here", "there", "mine"))
    for path in (here, there):
        path.mkdir()
        (path / "a.txt").write_text("Shopping list")
    look = opened("com.example.look", chooser=True)
    look.add_container("com.example.notes.files", mine)

    def titles() -> list[str | None]:
        return [offer.title for offer in look.offers]

    with (
        screen.running(tmp_path, here, "a.txt", "b.txt") as origin,
        screen.running(tmp_path, there, "c.txt") as receiver,
    ):
        a, b = screen.window(origin, "a.txt"), screen.window(origin, "b.txt")
        c = screen.window(receiver, "c.txt")
        screen.focus(c)
        run_until([look], lambda: "c.txt" in titles())
        for window, name in ((a, "a.txt"), (b, "b.txt"), (a, "a.txt")):
            screen.focus(window)
            wanted = [name, "c.txt"]
            run_until([look], lambda: sorted(map(str, titles())) == wanted)  # noqa: B023
        screen.do("xdotool", "key", "--clearmodifiers", "ctrl+Home", "Right", "Right", "Right")
        former = {offer.id: offer.title for offer in look.offers}
        screen.focus(c)
        screen.do("xdotool", "key", "--clearmodifiers", "ctrl+Return")
        opened_there = screen.window(receiver, "a.txt")
        screen.focus(opened_there)
        run_until([look], lambda: titles().count("a.txt") == 2)
        assert [former.get(offer.id) for offer in look.offers].count("a.txt") == 1, "the offer stays"
        SHOTS.mkdir(parents=True, exist_ok=True)
        screen.do("import", "-window", "root", str(SHOTS / "gtk_notes.png"))
        (offer,) = [offer for offer in look.offers if offer.id not in former]
        continuation = look.continue_(offer)
        run_until([look], lambda: continuation.done)
        state = continuation.wait().user_info
        assert state["cursor"] == 3
        assert state[segue.DOCUMENT_URL_KEY] == segue.URL((mine / "a.txt").as_uri())
    assert (there / "a.txt").read_text() == "Shopping list"


def test_no_text_is_lost_there_and_back(screen: Screen, opened: Opener, tmp_path: Path) -> None:
    """R5.1, R3.5: a window that is open shows what the file has when it is continued, or turned to; what the user has
    written is kept apart if the file has changed meanwhile."""
    folder = tmp_path / "both"
    folder.mkdir()
    file = folder / "a.txt"
    file.write_text("one")
    look = opened("com.example.look", chooser=True)

    def press(window: str, *keys: str) -> None:
        screen.focus(window)
        screen.do("xdotool", "key", "--clearmodifiers", *keys)

    def pull() -> None:
        pending = [look.continue_(offer) for offer in look.offers[:1]]
        run_until([look], lambda: all(continuation.done for continuation in pending))
        look.dispatch(0.1)

    def saved(text: str) -> None:
        """Waits until the text, which was typed, is in the file: whoever continues a note has it written."""
        while file.read_text() != text:
            pull()

    def titles() -> list[str]:
        return sorted(str(offer.title) for offer in look.offers)

    with screen.running(tmp_path, folder, "a.txt") as origin, screen.running(tmp_path, folder, "c.txt") as receiver:
        a, c = screen.window(origin, "a.txt"), screen.window(receiver, "c.txt")
        press(a, "ctrl+End", "2")
        saved("one2")
        screen.focus(c)
        run_until([look], lambda: titles() == ["a.txt", "c.txt"])
        press(c, "ctrl+Return")
        there = screen.window(receiver, "a.txt")
        press(there, "ctrl+End", "3")
        saved("one23")
        press(a, "ctrl+Return")
        run_until([look], lambda: titles() == ["a.txt", "a.txt"])
        press(a, "ctrl+End", "4")
        saved("one234")
        # Synchronisation brings other text while the user writes, at a window that is not turned to again.
        press(a, "ctrl+End", "5")
        file.write_text("brought")
        mine = folder / "a (mine 1).txt"
        run_until([look], lambda: titles() == ["a.txt", "a.txt"])
        while not mine.exists():
            pull()
        assert mine.read_text() == "one2345"
        run_until([look], lambda: mine.name in titles())
    assert file.read_text() == "brought"
    assert sorted(os.listdir(folder)) == [mine.name, "a.txt"]


def test_a_file_that_cannot_be_opened(screen: Screen, opened: Opener, tmp_path: Path) -> None:
    """R3.5: one that is not there yet, and what another device may name: neither opens an empty window, hangs the
    program, or leads out of the folder."""
    here, there = tmp_path / "here", tmp_path / "there"
    for path in (here, there):
        path.mkdir()
    (tmp_path / "outside.txt").write_text("outside")
    os.mkfifo(there / "fifo.txt")
    (there / "latin.txt").write_bytes(b"caf\xe9")
    (there / "link.txt").symlink_to(tmp_path / "outside.txt")
    origin = opened("com.example.notes", document_types=[("text/plain", "editor", "com.example.notes.editing")])
    origin.add_container("com.example.notes.files", here)
    receipts: list[tuple[segue.Activity, segue.Receipt]] = []
    origin.on_continuation_ended(lambda activity, receipt: receipts.append((activity, receipt)))
    names = ["late.txt", "fifo.txt", "latin.txt", "link.txt"]

    class Note(segue.Document):
        def update_user_activity_state(self, activity: segue.Activity) -> None:
            activity.user_info["cursor"] = 1

    with screen.running(tmp_path, there, "c.txt") as receiver:
        screen.focus(screen.window(receiver, "c.txt"))
        for name in [*names, "late.txt"]:
            note = Note(origin, here / name, "text/plain")
            origin.main_responder = note
            activity = note.user_activity
            has_come = name == "late.txt" and (there / name).exists()
            wanted = (segue.Outcome.RESTORED, "") if has_come else (segue.Outcome.FAILED, REFUSED)
            # Nobody tells a test that the program has seen the offer; a second key stroke cancels the first.
            while not any(of is activity and (each.outcome, each.reason) == wanted for of, each in receipts):
                screen.do("xdotool", "key", "--clearmodifiers", "ctrl+Return")
                origin.dispatch(0.1)
            if has_come:
                screen.window(receiver, "late.txt")
            note.close()
            if name == names[-1]:
                (there / "late.txt").write_text("it has come")
    for name, why in zip(names, ["is not there yet", "cannot be opened", "cannot be opened", "cannot be opened"]):
        assert f"{name} {why}" in screen.errors
    assert (there / "late.txt").read_text() == "it has come"
    assert (tmp_path / "outside.txt").read_text() == "outside"
