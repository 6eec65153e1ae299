# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attachments between apps (R7.6): what arrives is what was attached."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import time
from pathlib import Path

import pytest
from attaching import LARGE, ORIGIN, RECEIVER, Both, continued, left
from conftest import PATIENCE, TYPE, Opener, Start, run_until

import segue

# ---- what is attached ----


def test_the_receiver_sees_names_and_sizes(opened: Opener, tmp_path: Path) -> None:
    """R7.6."""
    path = tmp_path / "file"
    path.write_bytes(b"12345")

    def attach(activity: segue.Activity) -> None:
        assert activity.attachments == {}
        activity.attach("é.txt", path)
        activity.attach("bytes", b"123")
        with path.open("rb") as file:
            activity.attach("open", file)
        activity.attach("gone", b"")
        activity.remove_attachment("gone")
        activity.attach("bytes", b"")
        assert activity.attachments == {"é.txt": 5, "bytes": 0, "open": 5}

    both = Both(opened, attach)
    assert both.continued.attachments == {"é.txt": 5, "bytes": 0, "open": 5}
    assert segue.Activity.decode(None, both.activity.encode()).attachments == both.activity.attachments


def test_attaching_counts_as_a_change(opened: Opener) -> None:
    """R1.7: outside of a save."""
    activity = segue.Activity(opened(), TYPE)
    activity.needs_save = False
    activity.attach("a", b"1")
    assert activity.needs_save
    activity.needs_save = False
    activity.remove_attachment("a")
    assert activity.needs_save
    activity.needs_save = False
    with pytest.raises(segue.NotFoundError):
        activity.remove_attachment("a")
    assert not activity.needs_save


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "x" * 256])
def test_a_name_is_one_that_a_file_can_have(name: str) -> None:
    activity = segue.Activity(None, TYPE)
    with pytest.raises((segue.InvalidArgumentError, segue.LimitExceededError)):
        activity.attach(name, b"1")
    assert activity.attachments == {}


def test_there_are_64_at_most() -> None:
    activity = segue.Activity(None, TYPE)
    for number in range(64):
        activity.attach(str(number), b"")
    with pytest.raises(segue.LimitExceededError):
        activity.attach("64", b"")
    activity.attach("63", b"1")
    assert len(activity.attachments) == 64


def test_only_files_that_can_be_read_are_attached(tmp_path: Path) -> None:
    activity = segue.Activity(None, TYPE)
    os.mkfifo(tmp_path / "pipe")
    for path in [tmp_path, tmp_path / "pipe", Path("/dev/null")]:
        with pytest.raises(segue.InvalidArgumentError, match="no regular file"):
            activity.attach("a", path)
    with pytest.raises(segue.SystemRefusedError, match="No such file"):
        activity.attach("a", tmp_path / "nothing")
    with (tmp_path / "written").open("wb") as file, pytest.raises(segue.InvalidArgumentError):
        activity.attach("a", file)
    for descriptor in [-1, 9999]:
        with pytest.raises(segue.Error):
            activity.attach("a", descriptor)
    assert activity.attachments == {}


# ---- fetching ----


@pytest.mark.parametrize("size", [0, 1, 128 * 1024, 3_000_001])
def test_what_arrives_is_what_was_attached(opened: Opener, target: Path, size: int) -> None:
    """R7.6: bytes, a file, an open file whose offset does not matter; as often as it is fetched."""
    data = os.urandom(size)
    path = target.parent.parent / "source"
    path.write_bytes(data)

    def attach(activity: segue.Activity) -> None:
        activity.attach("bytes", data)
        memory = io.BytesIO(data)
        memory.seek(size // 2)
        activity.attach("memory", memory)
        activity.attach("path", str(path))
        with path.open("rb") as file:
            file.seek(size // 2)
            activity.attach("file", file)

    both = Both(opened, attach)
    # From now on the name of the file does not matter, nor whether it has a name.
    path.unlink()
    for name in ["bytes", "path", "file", "path", "memory"]:
        for to in (target, str(target), os.fsencode(target)):
            both.result(both.fetch(name, to))
            assert target.read_bytes() == data
            assert left(target) == ["file"]
            target.unlink()
        memory = io.BytesIO(b"before")
        memory.seek(0, io.SEEK_END)
        both.result(both.fetch(name, memory))
        assert memory.getvalue() == b"before" + data


def test_many_are_fetched_at_a_time_across_processes(opened: Opener, start: Start, large: Path, target: Path) -> None:
    """R7.6: 64 of them, and no more."""
    app = opened("com.example.viewer", team="com.example.notes")
    start(ORIGIN, large, says="offering")
    activity = continued(app)
    reader, writer = os.pipe()
    held = [activity.fetch_attachment("large", writer) for _ in range(64)]
    with pytest.raises(segue.LimitExceededError, match="64"):
        activity.fetch_attachment("large", target)
    for fetching in held[1:]:
        fetching.cancel()
    # Each ends for the library too, not for us alone.
    run_until([app], lambda: len(app._expected) == 1)
    activity.fetch_attachment("large", target).wait(PATIENCE)
    assert target.read_bytes() == large.read_bytes()
    held[0].cancel()
    run_until([app], lambda: not app._expected)
    os.close(reader)
    os.close(writer)


def test_a_process_that_takes_nothing_leaves_room_for_others(
    opened: Opener, start: Start, large: Path, target: Path
) -> None:
    """R7.6: 64 that stand still, and whose apps say that they live, are all that the origin sends to a process."""
    hogs = [opened(f"com.example.hog{number}", team="com.example.notes") for number in range(2)]
    origin = start(ORIGIN, large, says="offering")
    activities = [continued(hog) for hog in hogs]
    reader, writer = os.pipe()
    held = [activities[0].fetch_attachment("large", writer) for _ in range(64)]
    # A thread sends each.
    while len(os.listdir(f"/proc/{origin.pid}/task")) <= len(held):
        hogs[0].dispatch(0.01)
    with pytest.raises(segue.LimitExceededError):
        activities[1].fetch_attachment("large", writer).wait(PATIENCE)
    other = start(RECEIVER.format(before="pass", progress="None"), target)
    assert other.wait(PATIENCE) == 0
    assert target.read_bytes() == large.read_bytes()
    assert not any(fetching.done for fetching in held)
    for fetching in held:
        fetching.cancel()
    run_until([hogs[0]], lambda: not hogs[0]._expected)
    os.close(reader)
    os.close(writer)


def test_it_comes_into_a_file_a_pipe_or_memory(opened: Opener, tmp_path: Path) -> None:
    data = os.urandom(1_000_000)
    both = Both(opened, lambda activity: activity.attach("a", data))
    with (tmp_path / "file").open("w+b") as file:
        file.write(b"before ")
        both.result(both.fetch("a", file))
        file.write(b" after")
    assert (tmp_path / "file").read_bytes() == b"before " + data + b" after"
    memory = os.memfd_create("memory")
    both.result(both.fetch("a", memory))
    assert os.pread(memory, len(data) + 1, 0) == data
    os.close(memory)
    reader, writer = os.pipe()
    fetching = both.fetch("a", writer)
    os.close(writer)
    read = b""
    with open(reader, "rb", buffering=0) as pipe:
        while piece := pipe.read(65536):
            read += piece
    both.result(fetching)
    assert read == data


def test_a_pipe_that_nobody_reads_any_more_ends_it(opened: Opener) -> None:
    both = Both(opened, lambda activity: activity.attach("a", bytes(1_000_000)))
    reader, writer = os.pipe()
    fetching = both.fetch("a", writer)
    os.close(reader)
    with pytest.raises(segue.Error, match="Broken pipe"):
        both.result(fetching)
    os.close(writer)


def test_progress_is_told(opened: Opener, target: Path) -> None:
    """R7.6: rising, with the whole at the end."""
    both = Both(opened, lambda activity: activity.attach("a", bytes(LARGE)))
    told: list[tuple[int, int]] = []
    both.result(both.fetch("a", target, progress=lambda *numbers: told.append(numbers)))
    assert told == sorted(set(told)) and told[-1] == (LARGE, LARGE)
    assert {total for _, total in told} == {LARGE}


def test_no_more_than_one_progress_waits(opened: Opener, target: Path) -> None:
    both = Both(opened, lambda activity: activity.attach("a", bytes(LARGE)))
    told: list[int] = []
    fetching = both.fetch("a", target, progress=lambda received, _: told.append(received))
    while not target.exists():
        # The other app has nothing to do; nor has this one, and what it does not take does not pile up.
        time.sleep(0.05)
    both.result(fetching)
    assert len(told) <= 2 and told[-1] == LARGE


def test_what_progress_raises_ends_it(opened: Opener, target: Path) -> None:
    both = Both(opened, lambda activity: activity.attach("a", bytes(LARGE)))

    def fail(received: int, total: int) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        both.result(both.fetch("a", target, progress=fail))
    run_until(both.apps, lambda: not both.viewer._expected)


def test_an_existing_file_is_replaced_at_once_or_not_at_all(opened: Opener, target: Path) -> None:
    """R7.6: who has it open reads what it was."""
    both = Both(opened, lambda activity: activity.attach("a", b"new"))
    target.write_bytes(b"old")
    with target.open("rb") as file:
        both.result(both.fetch("a", target))
        assert (file.read(), target.read_bytes()) == (b"old", b"new")
    both.activity.remove_attachment("a")
    with pytest.raises(segue.NotFoundError):
        both.result(both.fetch("a", target))
    assert target.read_bytes() == b"new" and left(target) == ["file"]


def test_under_asyncio(opened: Opener, folder: str, target: Path) -> None:
    """R7.6: many at a time; giving one up cancels it."""

    async def main() -> None:
        async with (
            segue.App("com.example.notes", types=[TYPE], runtime_folder=folder) as editor,
            segue.App("com.example.viewer", team="com.example.notes", types=[TYPE], runtime_folder=folder) as viewer,
        ):
            activity = segue.Activity(editor, TYPE)
            for number in range(10):
                activity.attach(f"{number}", b"%d" % number * 100_000)
            activity.become_current()
            async for event in viewer.offer_events():
                async with viewer.continue_(event.offer) as continued:
                    names = sorted(continued.attachments)
                    await asyncio.gather(*(continued.fetch_attachment(each, target.parent / each) for each in names))
                    assert [(target.parent / each).read_bytes()[:1] for each in names] == [b"%d" % n for n in range(10)]
                    reader, writer = os.pipe()
                    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
                        await asyncio.wait_for(continued.fetch_attachment("1", writer), 0.05)
                    os.close(reader)
                    os.close(writer)
                break

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


# ---- errors ----


def test_who_has_nothing_to_fetch_hears_so(opened: Opener, target: Path) -> None:
    both = Both(opened, lambda activity: activity.attach("a", b"1"))
    with pytest.raises(segue.NotFoundError):
        both.fetch("b", target)
    with pytest.raises(segue.InvalidStateError, match="not continued"):
        both.activity.fetch_attachment("a", target)
    with pytest.raises(segue.InvalidStateError, match="no app"):
        segue.Activity(None, TYPE).fetch_attachment("a", target)
    with pytest.raises(segue.Error, match="its folder"):
        both.fetch("a", target.parent / "nothing" / "file")
    for folder in [target.parent, f"{target.parent}/", "/", "."]:
        with pytest.raises(segue.InvalidArgumentError, match="that of a folder"):
            both.fetch("a", folder)
    with target.open("wb") as file, (target.parent / "file").open("rb") as readable:
        assert file
        with pytest.raises(segue.InvalidArgumentError, match="cannot be written to"):
            both.fetch("a", readable)
    target.unlink()
    both.activity.invalidate()
    with pytest.raises(segue.HandoffFailedError):
        both.result(both.fetch("a", target))
    both.continued.invalidate()
    with pytest.raises(segue.InvalidatedError):
        both.fetch("a", target)
    assert left(target) == []


@pytest.mark.parametrize("what", ["pipe", "link", "dangling", "socket"])
def test_nothing_but_a_file_is_replaced(opened: Opener, target: Path, tmp_path: Path, what: str) -> None:
    """R7.6: as root that could be a device of the system."""
    both = Both(opened, lambda activity: activity.attach("a", b"1"))
    (tmp_path / "elsewhere").write_bytes(b"kept")
    occupy(target, what, tmp_path / "elsewhere")
    mode = target.lstat().st_mode
    with pytest.raises(segue.InvalidArgumentError, match="no file; fetch into its descriptor"):
        both.fetch("a", target)
    assert target.lstat().st_mode == mode and left(target) == [target.name]
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"


@pytest.mark.parametrize("what", ["pipe", "link", "dangling", "folder"])
def test_nothing_but_a_file_is_replaced_that_comes_meanwhile(
    opened: Opener, target: Path, tmp_path: Path, what: str
) -> None:
    both = Both(opened, lambda activity: activity.attach("a", b"1"))
    (tmp_path / "elsewhere").write_bytes(b"kept")
    fetching = both.fetch("a", target)
    occupy(target, what, tmp_path / "elsewhere")  # nothing moves until the origin dispatches
    mode = target.lstat().st_mode
    with pytest.raises(segue.InvalidArgumentError, match="that of a folder" if what == "folder" else "no file"):
        both.result(fetching)
    assert target.lstat().st_mode == mode and left(target) == [target.name]
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"


def occupy(path: Path, what: str, file: Path) -> None:
    """Puts something else than a file under a name."""
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        path.symlink_to(file if what == "link" else file.with_name("nothing"))


def test_a_continued_activity_has_only_what_is_attached_anew(opened: Opener, target: Path) -> None:
    """R3.12: its receiver is its origin then."""
    both = Both(opened, lambda activity: activity.attach("a", b"1"))
    both.activity.attach("b", b"2")
    continuation = both.viewer.continue_(both.viewer.offers[0])
    run_until(both.apps, lambda: continuation.done)
    both.continued = continuation.wait(0)
    both.continued.attach("b", b"anew")
    both.continued.become_current()
    run_until(both.apps, lambda: both.editor.offers)
    continuation = both.editor.continue_(both.editor.offers[0])
    run_until(both.apps, lambda: continuation.done)
    third = continuation.wait(0)
    assert third.attachments == {"a": 1, "b": 4}
    both.result(third.fetch_attachment("b", target))
    assert target.read_bytes() == b"anew"
    with pytest.raises(segue.NotFoundError):
        both.result(third.fetch_attachment("a", target))
