# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bridge to Zathura and Okular, with both in a virtual screen."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
BRIDGE = ROOT / "integrations" / "readers" / "segue-reader"


@dataclass(frozen=True)
class Reader:
    """A program, and its names on the bus."""

    name: str
    bundle: str
    prefix: str
    path: str


READERS = (
    Reader("zathura", "org.pwmt.zathura", "org.pwmt.zathura.PID-", "/org/pwmt/zathura"),
    Reader("okular", "org.kde.okular", "org.kde.okular-", "/okular"),
)


@pytest.fixture(params=READERS, ids=lambda reader: reader.name)
def reader(request: pytest.FixtureRequest) -> Reader:
    if not shutil.which(request.param.name):
        pytest.skip(f"{request.param.name} is missing: make deps-desktop")
    return request.param


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


class ReaderScreen(Screen):
    """A screen with one kind of reader."""

    def __init__(self, reader: Reader, folder: Path, start: Callable[..., Program]):
        super().__init__(folder, start)
        self.reader = reader
        self.variables |= {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "QT_QPA_PLATFORM": "xcb"}

    def read(self, *words: str | Path) -> Program:
        return self.start(self.reader.name, [self.reader.name, *words])

    def bus(self, name: str, path: str, method: str, *arguments: str) -> str:
        words = ["--session", "--dest", name, "--object-path", path, "--method", method]
        return self.run("gdbus", "call", *words, *arguments).stdout

    def names(self) -> list[str]:
        """The names that readers have on the bus."""
        said = self.bus("org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames")
        return [each for each in said.split("'") if each.startswith(self.reader.prefix)]

    def name_of(self, program: Program) -> str:
        return f"{self.reader.prefix}{program.pid}"

    def page(self, name: str) -> int:
        """Its page from 1; 0: it shows none."""
        if self.reader.name == "okular":
            said = self.bus(name, self.reader.path, "org.kde.okular.currentPage")
            return int(re.sub(r"\D*(\d+),\)\s*", r"\1", said.replace("uint32", ""))) if said else 0
        said = self.bus(name, self.reader.path, "org.freedesktop.DBus.Properties.GetAll", self.reader.bundle)
        found = re.search(r"'pagenumber': <uint32 (\d+)>", said)
        return int(found[1]) + 1 if found else 0

    def turn(self, name: str, page: int) -> None:
        method, number = ("goToPage", page) if self.reader.name == "okular" else ("GotoPage", page - 1)
        call = f"{self.reader.bundle}.{method}"

        def turned() -> bool:
            self.bus(name, self.reader.path, call, str(number))
            return self.page(name) == page

        until(turned)


@pytest.fixture
def screen(reader: Reader, tmp_path: Path) -> Iterator[ReaderScreen]:
    with programs() as start:
        yield ReaderScreen(reader, tmp_path, start)


@pytest.fixture
def bridge(screen: ReaderScreen, folder: Path) -> Iterator[Callable[[], Program]]:
    """Starts it. The readers that it starts end with the test."""

    def launch() -> Program:
        command = [ROOT / ".venv" / "bin" / "python", BRIDGE, screen.reader.name, "T"]
        return screen.start("bridge", command, SEGUE_RUNTIME_DIR=str(folder))

    yield launch
    for name in screen.names():
        os.kill(int(name.rpartition("-")[2]), signal.SIGKILL)


@pytest.fixture
def host(folder: Path) -> Iterator[Host]:
    host = Host(folder)
    host.open("reader", READING, save=False)
    yield host
    host.kill()


def info_of(host: Host) -> dict:
    host.call("offers/continue", type=READING)
    request = host.hear_message("continuation/continue")
    host.respond(request, {"handled": True})
    info = request["params"]["userInfo"]
    assert problems(READING, info) == {}
    return info


def push(screen: ReaderScreen, folder: Path, host: Host, **info: object) -> dict:
    """Offers, and has the bridge continue it, as a user who names the app. Returns how it has ended."""
    host.call("activity/set", activity="a", type=READING, title="Book", userInfo=info)
    host.call("activity/current", activity="a")
    words = [ROOT / ".venv/bin/python", "-m", "segue", "continue", "--type", READING, "--app", screen.reader.bundle]
    until(lambda: "neither runs" not in screen.run(*words, SEGUE_RUNTIME_DIR=str(folder)).stderr)
    return host.hear("activity/ended")


def test_the_bridge_offers_document_and_page(bridge, screen: ReaderScreen, host: Host, book: Path) -> None:
    """R13.2: the page is the one at which it is continued."""
    program = screen.read(book)
    bridge()
    name = screen.name_of(program)
    screen.turn(name, 4)
    host.offer_of(book.name)
    info = info_of(host)
    assert (info["url"].lower(), info["page"]) == (book.as_uri().lower(), 4)
    screen.turn(name, 7)
    assert info_of(host)["page"] == 7
    program.kill()
    while host.hear("offers/changed")["offers"]:
        pass


def test_the_one_before_is_offered_when_the_last_ends(
    bridge, screen: ReaderScreen, host: Host, book: Path, tmp_path: Path
) -> None:
    bridge()
    screen.read(book)
    host.offer_of(book.name)
    other = screen.read(document(tmp_path / "other.pdf", 2))
    host.offer_of("other.pdf")
    other.kill()
    host.offer_of(book.name)


def test_one_that_shows_the_file_turns_the_page(
    bridge, screen: ReaderScreen, folder: Path, host: Host, book: Path, agent: None
) -> None:
    name = screen.name_of(screen.read(book))
    bridge()
    screen.turn(name, 2)
    assert push(screen, folder, host, url=book.as_uri(), page=6)["outcome"] == "restored"
    assert screen.names() == [name]
    until(lambda: screen.page(name) == 6)


@pytest.mark.parametrize(("page", "there"), [(6, 6), (99, 9), (None, 1)])
def test_another_file_is_opened_at_its_page(
    bridge, screen: ReaderScreen, folder: Path, host: Host, book: Path, agent: None, page: int | None, there: int
) -> None:
    bridge()
    info = {"url": book.as_uri(), "page": page} if page else {"url": book.as_uri()}
    assert push(screen, folder, host, **info)["outcome"] == "restored"
    (name,) = screen.names()
    until(lambda: screen.page(name) == there)


@pytest.mark.parametrize("before", ["file:///no/such", "https://example.com", "file://elsewhere"])
def test_what_is_no_file_here_is_declined(
    bridge, screen: ReaderScreen, folder: Path, host: Host, book: Path, agent: None, before: str
) -> None:
    """Although there is a file with the path of the second and the third."""
    bridge()
    assert push(screen, folder, host, url=book.as_uri().replace("file://", before))["outcome"] == "declined"
    assert screen.names() == []


@pytest.mark.parametrize("reader", READERS[:1], indirect=True)  # a new Okular itself waits for one that hangs
def test_one_that_hangs_holds_up_no_other(
    bridge, screen: ReaderScreen, folder: Path, host: Host, book: Path, agent: None, tmp_path: Path
) -> None:
    """A save of a window that hangs fails; meanwhile the bridge opens another document."""
    hanging = screen.read(book)
    bridge()
    screen.turn(screen.name_of(hanging), 3)
    host.offer_of(book.name)
    os.kill(hanging.pid, signal.SIGSTOP)
    other = document(tmp_path / "other.pdf", 5)
    assert push(screen, folder, host, url=other.as_uri(), page=4)["outcome"] == "restored"
    (name,) = [each for each in screen.names() if each != screen.name_of(hanging)]
    until(lambda: screen.page(name) == 4)


@pytest.mark.parametrize("words", [(), ("evince",)])
def test_another_program_is_refused(words: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, BRIDGE, *words], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "usage: segue-reader" in done.stderr


def test_the_bridge_has_at_most_175_lines_of_code() -> None:
    """For two programs."""
    lines = [line.strip() for line in BRIDGE.read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 175
