# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that the agent has programs open which take no part in Handoff (R13.7), and the openers that ship."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import commands
import pytest
from inbox import command_line
from programs import programs
from project import ROOT
from terminal import terminals

EDITING = "SegueActivityTypeEditingText"
SHIPPED = sorted((ROOT / "share" / "openers").glob("*.desktop"))


class Desktop(NamedTuple):
    """The folders of a user, whose editors write down the arguments with which they are started."""

    home: Path

    @property
    def variables(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": str(self.home / "bin"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_DATA_DIRS": "/nonexistent",
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CONFIG_DIRS": "/nonexistent",
            "DISPLAY": ":77",
        }

    def program(self, name: str) -> None:
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/sh\nPATH=/usr/bin:/bin\n{{ echo $#; printf "%s\\n" "$@"; }} >>{self.home}/{name}.new\n'
            f"mv {self.home}/{name}.new {self.home}/{name}.opened\n"
        )
        path.chmod(0o755)

    def opener(self, name: str, line: str) -> None:
        folder = self.home / "data" / "segue" / "openers"
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["[Desktop Entry]", "Type=Application", f"Name={name}", f"X-Segue-ActivityTypes={EDITING};"]
        (folder / f"{name}.desktop").write_text("\n".join([*lines, f"X-Segue-Open={line}"]) + "\n")

    def opened(self, name: str) -> list[str]:
        """Nothing tells of a program that ends: its report is watched for."""
        path = self.home / f"{name}.opened"
        subprocess.run(["sh", "-c", f"until test -e {path}; do sleep 0.02; done"], timeout=20, check=True)
        return path.read_text().splitlines()


@pytest.fixture
def desktop(tmp_path: Path) -> Desktop:
    made = Desktop(tmp_path)
    for name in ("first", "second"):
        made.program(name)
        made.opener(name, f"{name};+%{{line}}:%{{column}};--language=%{{language}};%{{path}};")
    return made


@pytest.fixture
def offer(folder: Path) -> Iterator[Callable[..., None]]:
    with programs() as run:

        def make(**info: Any) -> None:
            words = ("offer", EDITING, "--title", "a text", "--user-info", json.dumps(info))
            run("offer", command_line(folder, *words)).wait_for("^offering")

        yield make


@pytest.fixture
def segue(folder: Path, control: Path) -> Callable[..., Any]:
    return lambda *words, status=0: json.loads(commands.segue(folder, *words, "--json", status=status).out)


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "a $(id) 'b'.md"
    path.write_text("a\nb\nc\n")
    return path


def test_a_file_opens_at_its_place_once_and_route_says_by_which_program(agent, desktop, offer, segue, note):
    """R13.7, R6.5: each element is one argument, and one without its key is left out."""
    agent(**desktop.variables)
    offer(url=note.as_uri(), line=3)
    roles = [(each["bundle_identifier"], each["role"]) for each in segue("route")["candidates"] if not each["against"]]
    assert roles == [("opener:first", "opener"), ("opener:second", "opener")]
    ended = segue("continue", "--app", "opener:first", status=1)
    assert (ended["outcome"], ended["bundle_identifier"]) == ("unknown", "opener:first")
    assert desktop.opened("first") == ["2", "+3:1", str(note)]
    assert segue("inbox") == []


def test_the_users_choice_counts_and_openers_that_come_are_noticed(agent, desktop, offer, segue, note):
    """R13.7"""
    agent(**desktop.variables)
    offer(url=note.as_uri(), language="markdown")
    segue("choose", EDITING, "opener:third")
    desktop.program("third")
    desktop.opener("third", "third;%{path};")
    while segue("route")["candidates"][0]["bundle_identifier"] != "opener:third":
        pass  # the agent reads the folder again
    found = [each["bundle_identifier"] for each in segue("route")["candidates"]]
    assert found.count("opener:third") == 1
    segue("continue", "--launch", status=1)
    assert desktop.opened("third") == ["1", str(note)]
    segue("continue", "--app", "opener:second", status=1)
    assert desktop.opened("second") == ["3", "+1:1", "--language=markdown", str(note)]


def test_text_that_was_not_saved_stays_behind_only_if_the_user_agrees(agent, desktop, offer, folder, segue, note):
    """R13.7: programs are not asked."""
    agent(**desktop.variables)
    offer(url=note.as_uri(), text="a\nunsaved\n")
    said = commands.segue(folder, "continue", "--app", "opener:first", status=1).err
    assert "was changed and not saved" in said and not (desktop.home / "first.opened").exists()
    segue("continue", "--app", "opener:first", "--without-text", status=1)
    assert desktop.opened("first") == ["2", "+1:1", str(note)]


@pytest.mark.parametrize("answer", ["n", "y"])
def test_people_are_asked_before_text_stays_behind(agent, desktop, offer, folder, control, tmp_path, note, answer):
    """R13.7"""
    agent(**desktop.variables)
    offer(url=note.as_uri(), text="unsaved")
    with terminals(tmp_path, dict(os.environ)) as open_terminal:
        terminal = open_terminal("user")
        terminal.type(" ".join(map(str, command_line(folder, "continue", "--app", "opener:first"))))
        terminal.shows(r"Open the file without the changes\? \[y/N\] $")
        terminal.keys(answer)
        terminal.press("Enter")
        terminal.shows("first: unknown" if answer == "y" else "not saved")
    if answer == "y":
        assert desktop.opened("first")[-1] == str(note)
    else:
        assert not (desktop.home / "first.opened").exists()


@pytest.mark.parametrize(
    "url",
    ["file:///no/such/file", "file://elsewhere/etc/hostname", "https://example.com/", "file:///dev/null", "-x", "pipe"],
)
def test_what_is_no_file_here_is_opened_by_nothing_and_the_reason_is_said(
    agent, desktop, offer, folder, control, tmp_path, url
):
    """R13.7"""
    agent(**desktop.variables)
    os.mkfifo(tmp_path / "pipe")
    offer(url=(tmp_path / "pipe").as_uri() if url == "pipe" else url)
    said = commands.segue(folder, "continue", "--app", "opener:first", status=1)
    assert "file" in said.err
    assert not (desktop.home / "first.opened").exists()


def test_what_this_device_offers_is_not_opened_a_second_time(agent, desktop, offer, folder, control, note):
    """R13.7: a program opens any file, also the one of the app that offers it; only the user's word has it so."""
    agent(**desktop.variables)
    offer(url=note.as_uri())
    assert "nothing came in time" in commands.segue(folder, "continue", "--launch", "--wait", "0.5", status=3).err
    assert not (desktop.home / "first.opened").exists()


def test_a_broken_opener_is_named(agent, desktop, segue):
    desktop.opener("broken", "first;%{path")
    agent(**desktop.variables)
    (error,) = [each["error"] for each in segue("apps") if each["error"]]
    assert "broken.desktop" in error and "percent sign" in error


@pytest.mark.parametrize(
    ("line", "said"), [("--flag;%{path};", None), ("./first;%{path};", "./first"), ("first;--new;", "%{path}")]
)
def test_an_opener_that_names_no_program_or_no_file_starts_nothing(
    agent, desktop, offer, segue, folder, note, line, said
):
    """R13.7: such a file is named. A flag is a program that is not installed."""
    desktop.opener("odd", line)
    agent(**desktop.variables)
    errors = [each["error"] for each in segue("apps") if each["error"]]
    assert len(errors) == (said is not None) and all("odd.desktop" in each and said in each for each in errors)
    offer(url=note.as_uri())
    assert "opener:odd neither runs" in commands.segue(folder, "continue", "--app", "opener:odd", status=1).err


def test_an_opener_that_is_not_installed_or_hangs_holds_nothing_up(agent, desktop, offer, segue, folder, note):
    """R13.7: nobody waits for the program."""
    desktop.opener("absent", "no-such-program;%{path};")
    desktop.opener("stuck", "stuck;%{path};")
    stuck, opened = desktop.home / "bin" / "stuck", desktop.home / "stuck.opened"
    stuck.write_text(f"#!/bin/sh\nPATH=/bin\necho $$ >{opened}.new\nmv {opened}.new {opened}\nexec sleep 60\n")
    stuck.chmod(0o755)
    agent(**desktop.variables)
    offer(url=note.as_uri())
    assert "opener:absent neither runs" in commands.segue(folder, "continue", "--app", "opener:absent", status=1).err
    began = time.monotonic()
    assert segue("continue", "--app", "opener:stuck", status=1)["outcome"] == "unknown"
    assert time.monotonic() - began < 10
    (process,) = desktop.opened("stuck")
    segue("continue", "--app", "opener:first", status=1)
    assert desktop.opened("first")[-1] == str(note)
    os.kill(int(process), signal.SIGKILL)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_an_opener_that_ships_is_read(agent, desktop, offer, segue, path, note):
    """R13.7: with a program of its name."""
    lines = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    program = lines["X-Segue-Open"].split(";")[0]
    desktop.program(program)
    folder = desktop.home / "data" / "segue" / "openers"
    shutil.copy(path, folder)
    agent(**desktop.variables)
    assert [each["error"] for each in segue("apps") if each["error"]] == []
    if EDITING in lines["X-Segue-ActivityTypes"]:
        offer(url=note.as_uri(), line=3, column=2)
        segue("continue", "--app", f"opener:{path.stem}", status=1)
        assert str(note) in desktop.opened(program)
