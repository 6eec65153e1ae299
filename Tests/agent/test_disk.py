# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The agent with a disk that is full, hangs, or on which it dies at any call: a hub does not wait for a disk, and what
was told to anybody is on it (R3.8)."""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import commands
import pytest
from conftest import CARRIES
from inbox import NAME, command_line, output, waiting
from programs import Program, programs
from project import ROOT, run
from segue import App, Error, Membership, NotAllowedError
from segue._command import origin
from temporary_folders import temporary

KILLS = int(os.environ.get("SEGUE_INBOX_KILLS", "6"))
SEED = int(os.environ.get("SEGUE_SEED") or random.SystemRandom().randrange(1_000_000))
LAST_CALL = 70
"""Calls that change something on the disk, from the start of an agent to the end of one entry."""


@pytest.fixture(scope="session")
def shim() -> Iterator[Path]:
    with temporary("segue-disk-") as folder:
        library = folder / "disk.so"
        run("cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", ROOT / "Tests/StoreTests/disk.c", "-o", library, "-ldl")
        yield library


@pytest.fixture
def disk(shim: Path, state: Path, tmp_path: Path) -> dict[str, str]:
    """The variables that make an agent's disk full, or have it hang, while these files exist."""
    return {
        "LD_PRELOAD": str(shim),
        "DISK_ROOT": str(state),
        "DISK_FULL": str(tmp_path / "full"),
        "DISK_HANG": str(tmp_path / "hang"),
    }


@pytest.fixture
def segue(folder: Path) -> Iterator[Callable[..., Program]]:
    with programs() as begin:
        yield lambda *words: begin("segue", command_line(folder, *words))


def test_a_disk_that_hangs_for_10_s_changes_no_generation(agent, start, disk, folder, segue):
    """Slow work runs beside the hub: offers and continuations go on, and the entry is kept afterwards."""
    running = agent(**disk)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    viewer = start("viewer", "--unready").ready()
    hang = Path(disk["DISK_HANG"])
    hang.touch()
    asking = segue("continue", "--app", "com.example.viewer", "--timeout", "30")
    editor.hears("will_save")
    began = time.monotonic()
    for number in range(10):
        editor.tell(f"title {number}")
        viewer.hears(f"changed {number}")
        time.sleep(1)  # the time in which the disk hangs
    name = viewer.ask("continue 9", "continuation (.*)")[2]
    viewer.hears(rf"continue {name} \d+ 9")
    assert time.monotonic() - began >= 10
    hang.unlink()
    viewer.ask("accept yes", rf"continue {NAME} \d+ .*")
    assert asking.wait() == 0
    assert not [line for line in viewer.events() + editor.events() if line.startswith("connection")]
    running.signal(signal.SIGTERM)
    assert running.wait() == 0


def test_on_a_full_disk_it_is_an_error_before_anything_is_acknowledged(agent, start, disk, folder):
    """The origin hears that it failed, and why; with room again it works."""
    agent(**disk)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    viewer = start("viewer").ready()
    Path(disk["DISK_FULL"]).touch()
    said = output(folder, "continue", "--app", "com.example.viewer", status=1)
    assert "full" in said[-1], said
    editor.hears(rf"ended {NAME} failed SYSTEM fresh .*full.*")
    assert not [line for line in viewer.events() if "continue" in line]
    Path(disk["DISK_FULL"]).unlink()
    assert output(folder, "continue", "--app", "com.example.viewer")[0].endswith("restored")


def test_the_command_says_that_a_full_disk_keeps_nothing(agent, disk, folder, state, monkeypatch):
    """R2.5: the agent only logs it."""
    running = agent(**disk)
    commands.segue(folder, "inbox")
    Path(disk["DISK_FULL"]).touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    full = mock.Mock(f_bavail=10, f_frsize=1024)
    began = time.monotonic()
    with mock.patch.object(os, "statvfs", lambda path: full):
        said = commands.segue(folder, "offer", "com.example.editing", "--keep", status=1).err
    running.wait_for("is not kept: .*the disk is full, and nothing was stored")
    assert said.startswith(f"segue: not kept: {state}/segue has 10 KiB left: what should be kept is refused: make room")
    assert time.monotonic() - began < 9
    with mock.patch.object(origin, "PATIENCE", 3):
        said = commands.segue(folder, "offer", "com.example.editing", "--keep", status=3).err
    assert "nothing came in time: the agent does not offer it; its log says why" in said


def test_an_answer_is_acknowledged_once_the_full_disk_has_room(agent, start, disk, folder):
    agent(**disk)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    viewer = start("viewer", "--later").ready()
    output(folder, "continue", "--app", "com.example.viewer", "--timeout", "3", status=1)
    Path(disk["DISK_FULL"]).touch()
    viewer.tell("complete yes")
    assert len(waiting(folder)) == 1
    Path(disk["DISK_FULL"]).unlink()
    deadline = time.monotonic() + 30
    while waiting(folder):
        assert time.monotonic() < deadline


def test_what_a_full_disk_does_not_withdraw_stays_offered(agent, start, disk, folder):
    """R2.5: the user is told; otherwise the next agent would offer again what was withdrawn."""
    agent(**disk)
    viewer, editor = start("viewer").ready(), start("editor").ready()
    editor.ask("offer one", "offered")
    editor.ask("keep_offering yes", "keeps offering")
    viewer.hears("appeared one")
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    name = next(line for line in output(folder, "list") if "'one'" in line).split()[0]
    Path(disk["DISK_FULL"]).touch()
    assert "the disk is full" in output(folder, "withdraw", name, status=1)[-1]
    Path(disk["DISK_FULL"]).unlink()
    assert output(folder, "withdraw", name)[0].endswith("withdrawn")
    viewer.hears("gone one")


def moments() -> list[int]:
    """Calls of the disk at which the agent dies, each printed with its test."""
    return sorted(random.Random(SEED).sample(range(1, LAST_CALL + 1), min(KILLS, LAST_CALL)))


@pytest.mark.parametrize("call", moments(), ids=lambda call: f"seed{SEED}-call{call}")
def test_an_agent_that_dies_at_a_call_of_the_disk_loses_nothing(begin, start, disk, folder, segue, call):
    """A receipt *restored* is true. An entry that was stored once is delivered, and twice only if it is marked."""
    first = begin(**disk, DISK_KILL=str(call))
    editor = start("editor", "--limit", "10", "0").ready()
    editor.ask("offer one", "offered")
    viewer = start("viewer").ready()
    asking = segue("continue", "--app", "com.example.viewer", "--timeout", "5")
    asked = asking.wait()
    first.kill()  # unless it has died: it makes fewer calls than that if the asker was quick
    begin().wait_for(CARRIES)
    deadline = time.monotonic() + 30
    while waiting(folder):
        assert time.monotonic() < deadline, "what waits is not delivered"
    continued = [line for line in viewer.events() if line.startswith("continue ")]
    receipts = [line.split() for line in editor.events() if line.startswith("ended ")]
    assert len({line.split()[1] for line in continued}) <= 1, continued
    assert len(continued) <= 1, "an app that lives gets it once"
    if asked == 0:
        assert continued, "the asker was told that it is restored"
    for receipt in receipts:
        assert receipt[2] != "restored" or continued, "the origin was told that it is restored"


def test_a_join_whose_asker_has_gone_does_nothing_to_the_next(agent, disk, folder):
    """It goes before the account has answered, which waits for the disk. No message says what arrives at the agent
    meanwhile, so that gets time."""
    hang = Path(disk["DISK_HANG"])
    agent(**disk)
    with contextlib.ExitStack() as stack:
        silent, gone = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        reached, closed = silent.getsockname()[1], gone.getsockname()[1]
        gone.close()
        setting, first, second = (
            stack.enter_context(App(f"com.example.{name}", runtime_folder=folder)) for name in ("a", "b", "c")
        )
        hang.touch()
        stack.callback(hang.unlink, missing_ok=True)
        began = [beside(setting.set_devices, discovery=False)]
        began.append(beside(first.join, invite(closed)))
        first.close()
        joined = beside(second.join, invite(reached), timeout=1.0)
        hang.unlink()
        with pytest.raises(NotAllowedError, match="does not take this invite"):
            joined.result(20)
        assert second.account().status is Membership.NONE
        for each in began:
            each.exception(20)


def beside(call: Callable[..., Any], *arguments: Any, **named: Any) -> concurrent.futures.Future[Any]:
    """Calls it on a thread, and gives the agent time to get it."""
    answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run_it() -> None:
        try:
            answer.set_result(call(*arguments, **named))
        except Error as error:
            answer.set_exception(error)

    threading.Thread(target=run_it, daemon=True).start()
    time.sleep(0.3)
    return answer


def invite(port: int) -> str:
    link = f"segue:join?v=1&a={'0' * 32}&f={'1' * 64}&t={'2' * 64}&p={port}&h=127.0.0.1&n=Home"
    return f"{link}&c={hashlib.sha256(link.encode()).hexdigest()[:8]}"
