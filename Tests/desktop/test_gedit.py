# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for gedit, in gedit, in a virtual screen: what it hands over, and what it continues."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stdio"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "share"))

from desk import until
from gedit import PLUGIN, Gedit
from host import EDITING, PATIENCE, Host
from programs import programs
from public_types import problems
from screen import Screen

LONG = "file:///tmp/" + "x" * 300
TEXT = "# Budget\n\nrent 900\nfood ünä 400\n"
pytestmark = pytest.mark.skipif(not shutil.which("gedit"), reason="gedit is missing: make deps-desktop")


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    with programs() as start:
        yield Screen(tmp_path, start)


@pytest.fixture
def gedit(screen: Screen, folder: Path) -> Callable[..., Gedit]:
    return lambda *words, **environment: Gedit(screen, folder, *words, **environment)


@pytest.fixture
def hosts(folder: Path) -> Iterator[tuple[Host, Host]]:
    """Another editor, and one that sees what it offers."""
    other, watcher = Host(folder), Host(folder)
    other.open("other", EDITING, save=False, lineBytes=24 << 20)
    watcher.open("watcher", EDITING)
    yield other, watcher
    other.kill()
    watcher.kill()


@pytest.fixture
def host(hosts: tuple[Host, Host]) -> Host:
    return hosts[0]


@pytest.fixture
def take(hosts: tuple[Host, Host]) -> Callable[..., dict]:
    """Continues in gedit what the other editor offers, as the item of its menu does. Returns how it has ended."""
    other, watcher = hosts

    def continued(editor: Gedit, **info: object) -> dict:
        other.call("activity/set", activity="a", type=EDITING, title="Budget", userInfo=info)
        other.call("activity/current", activity="a")
        offer = watcher.offer_of("Budget")["offer"]
        for _ in range(10):  # gedit may not know of it yet
            editor.continues(offer)
            with contextlib.suppress(AssertionError):
                found = other.take(lambda message: message.get("method") == "activity/ended", 5)
                return found["params"]
        raise AssertionError(other.heard)

    return continued


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "budget ü%_.md"
    path.write_text(TEXT)
    return path


def info_of(host: Host, title: str, **wanted: object) -> dict:
    """Continues an offer, until keys have come to what is wanted. Returns user_info without mistakes."""
    offer, deadline = host.offer_of(title)["offer"], time.monotonic() + PATIENCE
    while True:
        host.call("offers/continue", offer=offer)
        request = host.hear_message("continuation/continue")
        host.respond(request, {"handled": True})
        host.call("activity/release", activity=request["params"]["activity"])
        info = request["params"]["userInfo"]
        assert problems(EDITING, info) == {}
        if all(info.get(key) == value for key, value in wanted.items()):
            return info
        assert time.monotonic() < deadline, info


def test_gedit_hands_over_file_cursor_and_selection(gedit, host: Host, note: Path) -> None:
    """R13.2"""
    editor = gedit(note)
    host.offer_of(note.name)
    editor.keys("ctrl+End", "Home", *["Right"] * 6, "shift+Right")
    info = info_of(host, note.name, line=4, column=8, anchorLine=4, anchorColumn=7)
    assert info["url"].lower() == note.as_uri().lower()
    assert (info["lineEnding"], info["language"], info["firstVisibleLine"]) == ("lf", "markdown", 1)
    assert info["contentDigest"] == "sha-256:" + hashlib.sha256(note.read_bytes()).hexdigest()
    assert "text" not in info


def test_gedit_hands_over_what_is_not_saved(gedit, host: Host, note: Path) -> None:
    """R13.2"""
    editor = gedit(note)
    host.offer_of(note.name)
    editor.types("new ")
    info_of(host, note.name, text="new " + TEXT, line=1, column=5)
    assert note.read_text() == TEXT


def test_a_text_without_a_file_is_handed_over(gedit, host: Host) -> None:
    gedit().types("milk")
    assert "url" not in info_of(host, "Untitled", text="milk\n")


def test_gedit_follows_its_documents(gedit, host: Host, note: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("other\n")
    editor = gedit(note, other)
    host.offer_of(note.name)
    editor.keys("ctrl+alt+Page_Down")
    host.offer_of(other.name)
    editor.keys("ctrl+w")
    host.offer_of(note.name)


def test_gedit_continues_a_file_at_its_place(gedit, take, host: Host, note: Path) -> None:
    """R13.2"""
    editor = gedit()
    ended = take(editor, url=note.as_uri(), line=4, column=7, anchorLine=3, anchorColumn=1)
    assert (ended["outcome"], ended["app"]) == ("restored", "gedit")
    info = info_of(host, note.name)
    assert [info[key] for key in ("line", "column", "anchorLine", "anchorColumn")] == [4, 7, 3, 1]
    assert "text" not in info


@pytest.mark.parametrize("text", ["new\ntext\n", "new\ntext", ""])
def test_a_continued_text_is_unsaved_and_writes_nothing(gedit, take, host: Host, note: Path, text: str) -> None:
    """R13.3"""
    editor = gedit()
    assert take(editor, url=note.as_uri(), text=text, line=2, column=99)["outcome"] == "restored"
    info = info_of(host, note.name)
    assert (info["text"], note.read_text()) == (text, TEXT)
    assert (info["line"], info["column"]) == ((2, 5) if text else (1, 1))


def test_a_text_of_a_file_that_is_not_here_is_opened_under_its_name(gedit, take, host: Host, tmp_path: Path) -> None:
    editor = gedit()
    assert take(editor, url=(tmp_path / "not here.md").as_uri(), text="words\n")["outcome"] == "restored"
    assert info_of(host, "not here.md")["text"] == "words\n"
    assert not (tmp_path / "not here.md").exists()


def test_unsaved_changes_here_are_kept(gedit, take, host: Host, note: Path) -> None:
    """R13.3"""
    editor = gedit(note)
    host.offer_of(note.name)
    editor.types("mine ")
    info_of(host, note.name, text="mine " + TEXT)
    assert take(editor, url=note.as_uri(), text="theirs\n")["outcome"] == "declined"
    host.call("activity/invalidate", activity="a")
    assert info_of(host, note.name)["text"] == "mine " + TEXT


def test_a_file_of_another_version_is_opened(gedit, take, host: Host, note: Path) -> None:
    """R13.3: a bar says so."""
    editor = gedit()
    same = "sha-256:" + hashlib.sha256(note.read_bytes()).hexdigest()
    assert take(editor, url=note.as_uri(), contentDigest=same)["outcome"] == "restored"
    assert "version" not in editor.bars()
    assert take(editor, url=note.as_uri(), contentDigest="sha-256:" + "0" * 64)["outcome"] == "restored"
    until(lambda: "The file has another version here." in editor.bars())


@pytest.mark.parametrize("url", ["file:///no/such/file", "https://example.com/x", "file://elsewhere/x", "pipe", LONG])
def test_what_is_no_file_here_is_declined(gedit, take, host: Host, tmp_path: Path, url: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    editor = gedit()
    assert take(editor, url=(tmp_path / "pipe").as_uri() if url == "pipe" else url)["outcome"] == "declined"


def test_a_death_of_the_program_does_not_harm_gedit(gedit, host: Host, note: Path) -> None:
    editor = gedit(note)
    host.offer_of(note.name)
    os.kill(editor.stdio(), signal.SIGKILL)
    while host.hear("offers/changed")["offers"]:
        pass
    until(lambda: "segue-continue" not in editor.ask("List"))
    editor.types("goes on ")
    editor.keys("ctrl+s")
    until(lambda: note.read_text() == "goes on " + TEXT)


def test_without_the_program_gedit_is_as_ever(gedit, note: Path) -> None:
    """A program that was uninstalled after the set-up."""
    editor = gedit(note, SEGUE_STDIO="/no/such/program")
    until(lambda: note.name in editor.title())
    editor.types("goes on ")
    editor.keys("ctrl+s")
    until(lambda: note.read_text() == "goes on " + TEXT)


def test_gedit_that_is_closed_withdraws_its_offers(gedit, host: Host, note: Path) -> None:
    editor = gedit(note)
    host.offer_of(note.name)
    editor.keys("ctrl+q")
    while host.hear("offers/changed")["offers"]:
        pass
    assert editor.program.wait() == 0


def test_the_plugin_has_at_most_200_lines_of_code() -> None:
    text = (PLUGIN / "segue_gedit.py").read_text()
    words: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            words |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = [line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in words]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 200
