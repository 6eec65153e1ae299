# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attachments of what waits (R3.8, R7.6): they are in the inbox with the document, and no death loses them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import inbox
import pytest
from conftest import CARRIES
from inbox import NAME, command_line
from programs import PATIENCE, Program, programs
from segue import App, LimitExceededError

SIZE = 3_000_000
"""More than a socket and a piece hold."""


def content(size: int) -> bytes:
    """The bytes that a participant attaches."""
    return (bytes(7 * n & 255 for n in range(256)) * (size // 256 + 1))[:size]


@pytest.fixture
def segue(folder: Path) -> Iterator[Callable[..., Program]]:
    with programs() as run:
        yield lambda *words: run("segue", command_line(folder, *words))


@pytest.fixture
def entries(folder: Path) -> Callable[[], list[list[str]]]:
    return functools.partial(inbox.waiting, folder)


def offer(start, *attachments: tuple[str, int]) -> Program:
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    for name, size in attachments:
        editor.ask(f"attach {name} {size}", "attached")
    return editor


def ask(segue, entries) -> None:
    """Somebody asks for the viewer; returns once the entry is on the disk."""
    segue("continue", "--app", "com.example.viewer")
    while not entries():
        pass


@pytest.mark.parametrize("killed", ["origin", "origin and agent", "receiver and agent"])
def test_attachments_outlive_everybody(begin, start, segue, entries, tmp_path, killed):
    """R3.8: what waits has its attachments, whoever is killed before the app fetches them."""
    agent = begin()
    agent.wait_for(CARRIES)
    editor = offer(start, ("photo", SIZE), ("empty", 0))
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    if "receiver" in killed:
        viewer.ask("accept yes", rf"continue {NAME} \d+ one.*")
        viewer.kill()
        viewer = start("viewer", "--unready", "--later").ready()
    editor.kill()
    if "agent" in killed:
        agent.kill()
        begin().wait_for(CARRIES)
    viewer.ask("accept yes", rf"continue {NAME} \d+ one( redelivered)?")
    for name, size in (("photo", SIZE), ("empty", 0)):
        viewer.ask(f"fetch {name} {tmp_path}/{name}", f"fetched {name} OK")
        assert (tmp_path / name).read_bytes() == content(size)
    viewer.tell("complete yes")
    while entries():
        pass


@pytest.mark.parametrize("umask", ["0477", "0777"])
def test_attachments_are_stored_whatever_the_umask(masked_agent, start, segue, entries, tmp_path, umask):
    """R3.8: the files without a name in which they are on their way to the database and back are opened again."""
    masked_agent(umask)
    editor = offer(start, ("photo", SIZE), ("small", 5))
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    assert "attachments" not in entries()[0][6]
    editor.kill()
    viewer.ask("accept yes", rf"continue {NAME} \d+ one")
    for name, size in (("photo", SIZE), ("small", 5)):
        viewer.ask(f"fetch {name} {tmp_path}/{name}", f"fetched {name} OK")
        assert (tmp_path / name).read_bytes() == content(size)


def test_an_agent_that_is_killed_while_an_app_fetches_goes_on(begin, start, segue, entries, tmp_path):
    """The document and the attachments may come from different agents."""
    agent = begin()
    agent.wait_for(CARRIES)
    offer(start, ("photo", SIZE))
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    viewer.ask("accept yes", rf"continue {NAME} \d+ one")
    agent.kill()
    begin()
    # While there is no agent, an app waits for 2 s.
    while viewer.ask(f"fetch photo {tmp_path}/photo", r"fetched photo (\w+)")[2] != "OK":
        pass
    assert (tmp_path / "photo").read_bytes() == content(SIZE)


def test_what_is_too_large_stays_with_the_origin(agent, folder, start, segue, entries, tmp_path):
    """R3.8: the entry says so, and so does the error."""
    agent()
    offer(start, ("large", 64 * 1024 * 1024 + 1), ("small", 5))
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    assert entries()[0][6] == "waits, 1 of 2 attachments stay with the origin"
    viewer.ask("accept yes", rf"continue {NAME} \d+ one")
    viewer.ask(f"fetch large {tmp_path}/large", "fetched large NOT_FOUND")
    viewer.ask(f"fetch small {tmp_path}/small", "fetched small OK")
    assert (tmp_path / "small").read_bytes() == content(5)


def test_an_app_fetches_before_it_answers(agent, start, segue, entries, tmp_path):
    """Its answer ends the entry, with its attachments."""
    agent()
    offer(start, ("photo", 5))
    viewer = start("viewer", "--unready", "--later").ready()
    ask(segue, entries)
    viewer.ask("accept yes", rf"continue {NAME} \d+ one")
    viewer.tell("complete yes")
    while entries():
        pass
    viewer.ask(f"fetch photo {tmp_path}/photo", "fetched photo NOT_FOUND")
    assert not (tmp_path / "photo").exists()


def test_nothing_is_left_of_what_is_fetched(agent, state, start, segue, entries):
    """On the way to the database attachments are in files without names."""
    agent()
    offer(start, ("photo", SIZE))
    start("viewer", "--unready").ready()
    ask(segue, entries)
    files = {path.name for path in (state / "segue").iterdir()}
    assert files <= {"inbox.db", "inbox.db-wal", "search.db", "search.db-wal", "lock", "machine", "participant"}


def descriptors(process: int) -> list[str]:
    """The targets of the descriptors of a process, without those that are closed meanwhile."""
    held = []
    for path in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.append(os.readlink(path))
    return held


def copies_in(process: int, state: Path) -> set[str]:
    """The files without a name that a process has open in the state folder."""
    return {name for name in descriptors(process) if name.startswith(f"{state}/segue/") and "deleted" in name}


def test_an_app_that_fetches_over_and_over_has_a_quarter(agent, state, folder, start, segue, entries):
    """It reads nothing of what it fetches: others are served, and the disk has one copy for all of it."""
    service = agent()
    offer(start, ("photo", SIZE))
    pipes = [os.pipe() for _ in range(12)]

    async def fetch() -> None:
        app = App("com.example.viewer", team="T", types=["com.example.editing"], runtime_folder=folder)
        continued = asyncio.get_running_loop().create_future()

        @app.on_continue
        async def later(activity, continuation) -> None:
            continued.set_result(activity)
            await asyncio.Event().wait()

        async with app:
            await asyncio.to_thread(ask, segue, entries)
            activity = await continued
            fetches = [asyncio.ensure_future(activity.fetch_attachment("photo", write)) for _, write in pipes]
            refused, waiting = await asyncio.wait(fetches, return_when=asyncio.FIRST_EXCEPTION)
            while len(refused) < 4:
                more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                refused |= more
            assert all(isinstance(fetch.exception(), LimitExceededError) for fetch in refused)
            # It is made on the thread of the inbox, for which no refusal waits.
            deadline = time.monotonic() + PATIENCE
            while not (copies := copies_in(service.pid, state)) and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            assert len(copies) == 1
            for fetch in waiting:
                fetch.cancel()

    asyncio.run(fetch())
    for pipe in pipes:
        for end in pipe:
            os.close(end)
