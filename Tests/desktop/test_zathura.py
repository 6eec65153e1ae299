# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bridge to Zathura, with Zathura in a virtual screen."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "stdio"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "share"))

from desk import until
from host import Host
from programs import Program, programs
from project import ROOT
from public_types import problems
from screen import Screen
from test_agent import agent

__all__ = ["agent"]
READING = "SegueActivityTypeReadingDocument"
BRIDGE = ROOT / "integrations" / "zathura" / "segue-zathura"
pytestmark = pytest.mark.skipif(not shutil.which("zathura"), reason="zathura is missing: make deps-desktop")


def document(path: Path, pages: int) -> Path:
    """Makes a PDF of empty pages."""
    children = b" ".join(b"%d 0 R" % (3 + number) for number in range(pages))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, children)]
    objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 400]>>"] * pages
    text, places = b"%PDF-1.4\n", b"0000000000 65535 f \n"
    for number, each in enumerate(objects, 1):
        places += b"%010d 00000 n \n" % len(text)
        text += b"%d 0 obj%s endobj\n" % (number, each)
    count = len(objects) + 1
    end = b"xref\n0 %d\n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (count, places, count, len(text))
    path.write_bytes(text + end)
    return path


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return document(tmp_path / "book ü%.pdf", 9)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    with programs() as start:
        yield Screen(tmp_path, start)


@pytest.fixture
def zathura(screen: Screen, tmp_path: Path) -> Callable[..., Program]:
    return lambda *words: screen.start("zathura", ["zathura", *words], HOME=str(tmp_path))


@pytest.fixture
def bridge(screen: Screen, folder: Path, tmp_path: Path) -> Iterator[Callable[[], Program]]:
    """Starts it. Those of Zathura that it starts end with the test."""

    def launch() -> Program:
        command = [ROOT / ".venv" / "bin" / "python", BRIDGE, "T"]
        return screen.start("bridge", command, SEGUE_RUNTIME_DIR=str(folder), HOME=str(tmp_path))

    yield launch
    for name in names(screen):
        os.kill(int(name.rpartition("-")[2]), signal.SIGKILL)


@pytest.fixture
def host(folder: Path) -> Iterator[Host]:
    host = Host(folder)
    host.open("reader", READING, save=False)
    yield host
    host.kill()


def bus(screen: Screen, name: str, path: str, method: str, *arguments: str) -> str:
    words = ["--session", "--dest", name, "--object-path", path, "--method", method]
    return screen.run("gdbus", "call", *words, *arguments).stdout


def names(screen: Screen) -> list[str]:
    """The names that Zathura has on the bus."""
    said = bus(screen, "org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames")
    return [each for each in said.split("'") if each.startswith("org.pwmt.zathura.PID-")]


def turn(screen: Screen, program: Program, page: int) -> None:
    name = f"org.pwmt.zathura.PID-{program.pid}"
    until(lambda: "true" in bus(screen, name, "/org/pwmt/zathura", "org.pwmt.zathura.GotoPage", str(page - 1)))


def shown(screen: Screen, name: str) -> str:
    get = "org.freedesktop.DBus.Properties.GetAll"
    return bus(screen, name, "/org/pwmt/zathura", get, "org.pwmt.zathura")


def info_of(host: Host) -> dict:
    host.call("offers/continue", type=READING)
    request = host.hear_message("continuation/continue")
    host.respond(request, {"handled": True})
    info = request["params"]["userInfo"]
    assert problems(READING, info) == {}
    return info


def push(screen: Screen, folder: Path, host: Host, **info: object) -> dict:
    """Offers, and has the bridge continue it, as a user who names the app. Returns how it has ended."""
    host.call("activity/set", activity="a", type=READING, title="Book", userInfo=info)
    host.call("activity/current", activity="a")
    words = [ROOT / ".venv/bin/python", "-m", "segue", "continue", "--type", READING, "--app", "org.pwmt.zathura"]
    until(lambda: "neither runs" not in screen.run(*words, SEGUE_RUNTIME_DIR=str(folder)).stderr)
    return host.hear("activity/ended")


def test_the_bridge_offers_document_and_page(zathura, bridge, screen: Screen, host: Host, book: Path) -> None:
    """R13.2: the page is the one at which it is continued."""
    reader = zathura(book)
    bridge()
    turn(screen, reader, 4)
    host.offer_of(book.name)
    info = info_of(host)
    assert (info["url"].lower(), info["page"]) == (book.as_uri().lower(), 4)
    turn(screen, reader, 7)
    assert info_of(host)["page"] == 7
    reader.kill()
    while host.hear("offers/changed")["offers"]:
        pass


def test_the_one_before_is_offered_when_the_last_ends(zathura, bridge, host: Host, book: Path, tmp_path: Path) -> None:
    bridge()
    zathura(book)
    host.offer_of(book.name)
    other = zathura(document(tmp_path / "other.pdf", 2))
    host.offer_of("other.pdf")
    other.kill()
    host.offer_of(book.name)


def test_one_that_shows_the_file_turns_the_page(
    zathura, bridge, screen: Screen, folder: Path, host: Host, book: Path, agent: None
) -> None:
    reader = zathura(book)
    bridge()
    turn(screen, reader, 2)
    assert push(screen, folder, host, url=book.as_uri(), page=6)["outcome"] == "restored"
    assert names(screen) == [f"org.pwmt.zathura.PID-{reader.pid}"]
    assert "'pagenumber': <uint32 5>" in shown(screen, names(screen)[0])


@pytest.mark.parametrize(("page", "there"), [(6, 5), (99, 8), (None, 0)])
def test_another_file_is_opened_at_its_page(
    bridge, screen: Screen, folder: Path, host: Host, book: Path, agent: None, page: int | None, there: int
) -> None:
    bridge()
    info = {"url": book.as_uri(), "page": page} if page else {"url": book.as_uri()}
    assert push(screen, folder, host, **info)["outcome"] == "restored"
    (name,) = names(screen)
    until(lambda: f"'pagenumber': <uint32 {there}>" in shown(screen, name))


@pytest.mark.parametrize("url", ["file:///no/such/file", "https://example.com/x.pdf", "file://elsewhere/x.pdf"])
def test_what_is_no_file_here_is_declined(
    bridge, screen: Screen, folder: Path, host: Host, agent: None, url: str
) -> None:
    bridge()
    assert push(screen, folder, host, url=url)["outcome"] in ("declined", "failed")
    assert names(screen) == []


def test_the_bridge_has_at_most_150_lines() -> None:
    assert len([line for line in BRIDGE.read_text().splitlines() if line.strip()]) <= 150
