# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The effects of `python -m segue` on files and activities of others."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path

import pytest
from conftest import PATIENCE, TYPE, Opener
from test_command_line import command

import segue
from segue._command.session import within


def test_a_wait_that_ends_and_is_cancelled_at_once_is_cancelled() -> None:
    """Or Ctrl-C is lost at that moment."""

    async def end_and_cancel() -> None:
        awaited = asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(within(PATIENCE, awaited))
        await asyncio.sleep(0)  # it waits
        awaited.set_result("the hub")
        await asyncio.sleep(0)  # it has ended, and the wait has not gone on
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    async def end() -> None:
        with pytest.raises(TimeoutError):
            await within(0, asyncio.Event().wait())
        assert await within(None, asyncio.sleep(0, "the hub")) == "the hub"

    asyncio.run(end_and_cancel())
    asyncio.run(end())


def things(tmp_path: Path) -> dict[str, Path]:
    """One of each kind of file that is no socket of a former process."""
    made = {name: tmp_path / name for name in ("file", "empty", "folder", "pipe", "link")}
    made["file"].write_text("precious")
    made["empty"].touch()
    made["folder"].mkdir()
    os.mkfifo(made["pipe"])
    made["link"].symlink_to(made["file"])
    return made


@pytest.mark.parametrize("kind", ["file", "empty", "folder", "pipe", "link"])
def test_listening_replaces_nothing_but_a_socket(folder: str, tmp_path: Path, kind: str) -> None:
    path = things(tmp_path)[kind]
    before = path.lstat()
    done = command(folder, "link", "--listen", str(path))
    assert done.returncode == 1
    assert b"not a socket" in done.stderr and os.fsencode(path) in done.stderr
    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("backlog", [8, 0], ids=["accepting", "full"])
def test_listening_leaves_a_socket_that_is_in_use(folder: str, tmp_path: Path, backlog: int) -> None:
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as waiting:
        server.bind(path)
        server.listen(backlog)
        if backlog == 0:
            waiting.connect(path)
        before = os.stat(path).st_ino
        done = command(folder, "link", "--listen", path)
        assert done.returncode == 1
        assert b"another process listens" in done.stderr
        assert os.stat(path).st_ino == before


def test_listening_replaces_the_socket_of_a_process_that_has_ended(tmp_path: Path) -> None:
    from segue._command.link import listening

    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as former:
        former.bind(path)
    with listening(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


@pytest.fixture
def crowd(opened: Opener) -> list[segue.Activity]:
    """More activities than there are first digits of identifiers."""
    made = []
    for number in range(17):
        app = opened(f"com.example.notes{number}", delivery="thread")
        activity = segue.Activity(app, TYPE, title=f"Draft {number}", user_info={"number": number})
        activity.become_current()
        made.append(activity)
    for activity in made:
        assert activity.app is not None
        activity.app.ready().wait(PATIENCE)
    return made


@pytest.fixture
def moved(crowd: list[segue.Activity]) -> list[segue.Activity]:
    """Activities that a receiver has taken over."""
    taken: list[segue.Activity] = []
    for activity in crowd:
        activity.on_was_continued(lambda activity=activity: taken.append(activity))
    return taken


def ambiguous(crowd: list[segue.Activity]) -> str:
    digits = [str(activity.id)[0] for activity in crowd]
    return next(digit for digit in digits if digits.count(digit) > 1)


@pytest.mark.parametrize("option", [["--id"], []], ids=["option", "argument"])
def test_an_identifier_that_is_ambiguous_moves_nothing(
    folder: str, crowd: list[segue.Activity], moved: list[segue.Activity], option: list[str]
) -> None:
    prefix = ambiguous(crowd)
    done = command(folder, "continue", *option, prefix)
    assert done.returncode == 1
    said = done.stderr.decode()
    for activity in crowd:
        assert (str(activity.id)[:8] in said) == str(activity.id).startswith(prefix)
    assert f"'{prefix}'" in said
    assert not moved


@pytest.mark.parametrize("identifier", ["", "draft", "-"])
def test_what_is_no_identifier_is_refused_at_once(
    folder: str, crowd: list[segue.Activity], moved: list[segue.Activity], identifier: str
) -> None:
    began = time.monotonic()
    done = command(folder, "continue", "--wait", "15", f"--id={identifier}")
    assert done.returncode == 2
    assert b"identifier" in done.stderr
    assert not moved
    assert time.monotonic() - began < 15


def test_an_identifier_as_it_is_listed_moves_its_activity(folder: str, crowd: list[segue.Activity]) -> None:
    wanted = crowd[5]
    assert wanted.title is not None
    listed = [line.split() for line in command(folder, "list").stdout.decode().splitlines() if wanted.title in line]
    done = command(folder, "continue", listed[0][0].upper())
    assert done.returncode == 0, done.stderr
    assert b'"number": 5' in done.stdout
    assert b"stale" not in done.stdout


def test_a_state_that_is_stale_is_said_to_be(folder: str, opened: Opener) -> None:
    """R2.4."""
    app = opened(delivery="thread")
    activity = segue.Activity(app, TYPE, user_info={"text": "old"})
    saved = 0

    @activity.on_will_save
    def save() -> None:
        nonlocal saved
        saved += 1
        if saved > 1:
            raise segue.HandoffFailedError("the disk is full")

    activity.become_current()
    app.ready().wait(PATIENCE)
    first, second = command(folder, "continue"), command(folder, "continue")
    assert (first.returncode, second.returncode) == (0, 0)
    assert b"stale" not in first.stdout + first.stderr
    assert b"stale: the origin could not save: HANDOFF_FAILED: the disk is full, so this" in second.stdout
