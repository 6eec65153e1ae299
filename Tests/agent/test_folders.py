# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders of the user (R13.4), which the agent tells apps, and the library reads where no agent runs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest
import segue
from commands import Said
from commands import segue as run_command
from programs import Program, programs
from test_openers import EDITING, Desktop

TYPE = "com.example.note"
PATIENCE = 20.0


class Apps:
    """An origin and a receiver in this process. The receiver has the folder `notes` at another place."""

    def __init__(self, stack: ExitStack, folder: Path, there: Path):
        open_app = lambda name: stack.enter_context(  # noqa: E731
            segue.App(f"com.example.{name}", types=[TYPE], team="T", runtime_folder=str(folder))
        )
        self.origin, self.receiver = open_app("origin"), open_app("receiver")
        self.receiver.add_container("notes", there)
        self.activity = segue.Activity(self.origin, TYPE, title="a")
        self.activity.become_current()
        self.until(self.offers)

    def offers(self) -> list[segue.Offer]:
        return [each for each in self.receiver.offers if each.id == self.activity.id]

    def until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline
            for app in (self.origin, self.receiver):
                app.dispatch(0.01)

    def arrives(self, url: str) -> str:
        """Continues with a URL of the origin. Returns that of the receiver."""
        self.activity.user_info = {"url": segue.URL(url)}
        continuation = self.receiver.continue_(self.offers()[0])
        self.until(lambda: continuation.done)
        return str(continuation.wait().user_info["url"])


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """The folder of the origin, by a symbolic link, and that of the receiver. This process has no settings yet."""
    real, here, there = (tmp_path / name for name in ("data", "Notes", "there"))
    real.mkdir()
    here.symlink_to(real)
    there.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "mine"))
    yield here, there


def segue_folder(config: Path, *words: str | Path, status: int = 0) -> Said:
    with mock.patch.dict(os.environ, XDG_CONFIG_HOME=str(config)):
        return run_command(config, "folder", *map(str, words), status=status)


def test_without_an_agent_the_library_reads_them_when_the_app_opens(
    folder: Path, tmp_path: Path, notes: tuple[Path, Path]
) -> None:
    """R13.4"""
    here, there = notes
    segue_folder(tmp_path / "mine", "add", "notes", here)
    with ExitStack() as stack:
        apps = Apps(stack, folder, there)
        for name in (here, here.resolve()):
            assert apps.arrives(f"{name.as_uri()}/a.txt") == f"{there.as_uri()}/a.txt"
        assert apps.arrives("file:///etc/hosts") == "file:///etc/hosts"


def test_a_file_of_them_that_cannot_be_used_is_no_obstacle(
    folder: Path, tmp_path: Path, notes: tuple[Path, Path]
) -> None:
    here, there = notes
    file = tmp_path / "mine" / "segue" / "folders"
    file.parent.mkdir(parents=True)
    for content in (b"x" * 40000, b"\xff\t/a\n", b"notes\trelative\n", None):
        file.unlink(missing_ok=True)
        if content is None:
            os.mkfifo(file)
        else:
            file.write_bytes(content)
        with ExitStack() as stack:
            url = f"{here.as_uri()}/a.txt"
            assert Apps(stack, folder, there).arrives(url) == url


def test_the_agent_tells_apps_and_says_what_changes(
    folder: Path, tmp_path: Path, notes: tuple[Path, Path], command: Callable[..., list[str | Path]]
) -> None:
    """R13.4: while they run; what an app registers itself comes first."""
    here, there = notes
    config = tmp_path / "config"
    with programs() as run, ExitStack() as stack:
        agent: Program = run("agent", command(XDG_CONFIG_HOME=str(config), HOME=str(tmp_path)))
        agent.wait_for("this process is the hub")
        apps = Apps(stack, folder, there)
        url = f"{here.as_uri()}/sub/a%20b.txt"
        assert apps.arrives(url) == url
        segue_folder(config, "add", "notes", here)
        apps.until(lambda: apps.arrives(url) == f"{there.as_uri()}/sub/a%20b.txt")
        assert apps.arrives(f"{here.resolve().as_uri()}/b") == f"{there.as_uri()}/b"
        late = Apps(stack, folder, there)
        assert late.arrives(url) == f"{there.as_uri()}/sub/a%20b.txt"
        apps.origin.add_container("own", here)
        # The receiver has no container "own", and is on the same device: the URL is the origin's.
        assert apps.arrives(url) == url
        apps.origin.remove_container("own")
        segue_folder(config, "remove", "notes")
        apps.until(lambda: apps.arrives(url) == url)


def test_a_program_that_takes_no_part_opens_the_file_that_is_here(
    folder: Path, tmp_path: Path, notes: tuple[Path, Path], command: Callable[..., list[str | Path]]
) -> None:
    """R13.4, R13.7"""
    here, there = notes
    (here / "a.md").write_text("a\n")
    desktop = Desktop(tmp_path)
    desktop.program("editor")
    desktop.opener("editor", "editor;%{path};")
    segue_folder(tmp_path / "config", "add", "notes", here)
    with programs() as run, ExitStack() as stack:
        run("agent", command(**desktop.variables)).wait_for("this process is the hub")
        app = stack.enter_context(
            segue.App("com.example.origin", types=[EDITING], runtime_folder=str(folder), delivery="thread")
        )
        app.add_container("notes", there)
        text = segue.Activity(app, EDITING, title="a", user_info={"url": segue.URL(f"{there.as_uri()}/a.md")})
        text.public = True
        text.become_current()
        run_command(folder, "continue", "--app", "opener:editor", status=1)
        assert desktop.opened("editor") == ["1", str(here / "a.md")]


def test_checkouts_of_one_repository_are_one_folder(tmp_path: Path) -> None:
    """R13.4: whatever the way by which they were cloned."""
    config, first, second = (tmp_path / name for name in ("config", "first", "second"))
    addresses = ("git@Example.com:team/app.git", "https://anna@example.com:8443/team/app")
    for path, address in zip((first, second), addresses, strict=True):
        subprocess.run(["git", "init", "-q", path], check=True)
        assert "has no remote `origin`" in segue_folder(config, "add", "--git", path, status=1).err
        subprocess.run(["git", "-C", path, "remote", "add", "origin", address], check=True)
        segue_folder(config, "add", "--git", path)
    listed = segue_folder(config, "list").out.splitlines()
    assert [line.split("  ")[:2] for line in listed[1:]] == [
        ["git:example.com/team/app", str(path)] for path in (first, second)
    ]
    assert "not used" in listed[2] and "not used" not in listed[1]
    (first / "inner").mkdir()
    assert "is inside the repository" in segue_folder(config, "add", "--git", first / "inner", status=1).err
    segue_folder(config, "remove", "git:example.com/team/app", first)
    assert "not used" not in segue_folder(config, "list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "notes"), "expected ID and PATH"),
        (("add", "--git", "a", "b"), "expected PATH after --git"),
        (("add", "notes", "/nonexistent"), "is no folder"),
        (("add", "a\tb", "/tmp"), "has no tab"),
        (("add", "#a", "/tmp"), "does not begin with #"),
        (("add", "x" * 256, "/tmp"), "at most 255 bytes"),
        (("add", "notes", "/"), "PATH is not /"),
        (("add", "--git", "/tmp"), "is in no git repository"),
        (("remove", "notes"), "there is no such folder"),
    ],
)
def test_wrong_words_are_explained(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    usage = ("expected", "has no tab", "does not begin", "at most", "PATH")
    done = segue_folder(tmp_path, *words, status=2 if said.startswith(usage) else 1)
    assert said in done.err and not done.out


def test_a_second_name_of_a_folder_and_a_strange_file_are_refused(tmp_path: Path) -> None:
    segue_folder(tmp_path, "add", "one", tmp_path)
    segue_folder(tmp_path, "add", "one", tmp_path)
    assert "is the folder one already" in segue_folder(tmp_path, "add", "two", tmp_path, status=1).err
    assert segue_folder(tmp_path, "list", "--json").out.count("identifier") == 1
    (tmp_path / "segue" / "folders").write_text("nonsense\n")
    for word in ("list", "add"):
        refused = segue_folder(tmp_path, word, *(("a", tmp_path) if word == "add" else ()), status=1)
        assert "line 1: expected" in refused.err
    assert (tmp_path / "segue" / "folders").read_text() == "nonsense\n"
