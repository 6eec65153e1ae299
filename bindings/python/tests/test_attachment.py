# SPDX-License-Identifier: Apache-2.0
"""Attachments between real processes (R7.6): what arrives is what was attached, or there is an error and nothing."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable

import pytest
from conftest import PATIENCE, TYPE, Opener, environment, run_until

import segue

ORIGIN = """
import os, sys, segue

with segue.App("com.example.notes", types=["com.example.notes.editing"]) as app:
    activity = segue.Activity(app, "com.example.notes.editing", title="Draft")
    for name in sys.argv[1:]:
        activity.attach(os.path.basename(name), name)
    activity.become_current()
    print("offering", flush=True)
    app.run()
"""

RECEIVER = """
import os, resource, sys, segue

with segue.App("com.example.viewer", team="com.example.notes", types=["com.example.notes.editing"]) as app:
    while not app.offers:
        app.dispatch()
    activity = app.continue_(app.offers[0]).wait()
    {before}
    try:
        activity.fetch_attachment("large", sys.argv[1], progress={progress}).wait()
    except segue.Error as error:
        print(type(error).__name__, error, flush=True)
"""

LARGE = 64 << 20
"""Bytes that surely are under way for a while."""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(folder: str) -> Iterator[Start]:
    """Starts a program; given something to say, waits until it has said so."""
    with ExitStack() as stack:

        def run(program: str, *arguments: object, says: str = "") -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
                env=environment(folder),
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            if says:
                assert process.stdout is not None
                assert process.stdout.readline() == says + "\n"
            return process

        yield run


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file of the origin's, no two pieces of which are the same."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        for number in range(LARGE >> 20):
            file.write(hashlib.sha256(b"%d" % number).digest() * (1 << 15))
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where something is fetched to: a folder of its own, in which nothing else may be left."""
    (tmp_path / "target").mkdir()
    return tmp_path / "target" / "file"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody is waited for for long."""
    segue.limits.transfer_resume_ms = 300
    yield
    segue.limits.transfer_resume_ms = 60_000


def left(target: Path) -> list[str]:
    return os.listdir(target.parent)


def continued(app: segue.App) -> segue.Activity:
    run_until([app], lambda: app.offers)
    return app.continue_(app.offers[0]).wait(PATIENCE)


class Both:
    """Two apps of this process, one of which has continued what the other offers."""

    def __init__(self, opened: Opener, attach: Callable[[segue.Activity], None]):
        self.editor = opened()
        self.viewer = opened("com.example.viewer", team="com.example.notes")
        self.apps = [self.editor, self.viewer]
        self.activity = segue.Activity(self.editor, TYPE)
        attach(self.activity)
        self.activity.become_current()
        run_until(self.apps, lambda: self.viewer.offers)
        continuation = self.viewer.continue_(self.viewer.offers[0])
        run_until(self.apps, lambda: continuation.done)
        self.continued = continuation.wait(0)

    def fetch(self, name: str, to: Any, **options: Any) -> Any:
        return self.continued.fetch_attachment(name, to, **options)

    def result(self, fetching: Any) -> None:
        run_until(self.apps, lambda: fetching.done)
        fetching.wait(0)


def sockets() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.add(int(name))
    return found


def cut(before: set[int]) -> int:
    """Ends the streams that have been made since, at both ends, as a link that breaks would."""
    number = 0
    for fd in sockets() - before:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as one:
            one.shutdown(socket.SHUT_RDWR)
            number += 1
    return number


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
        activity.attach("path", str(path))
        with path.open("rb") as file:
            file.seek(size // 2)
            activity.attach("file", file)

    both = Both(opened, attach)
    # What it is called does not matter any more, nor whether it is called anything.
    path.unlink()
    for name in ["bytes", "path", "file", "path"]:
        both.result(both.fetch(name, target))
        assert target.read_bytes() == data
        assert left(target) == ["file"]
        target.unlink()


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


def test_a_fleet_has_no_attachments(segue_fleet: segue.Fleet) -> None:
    app = segue_fleet.add_device("phone").add_app("com.example.notes", types=[TYPE])
    with pytest.raises(segue.InvalidStateError, match="virtual fleet"):
        segue.Activity(app, TYPE).attach("a", b"1")


def test_a_file_that_is_changed_after_it_was_attached_is_not_sent(opened: Opener, target: Path) -> None:
    """R7.6: shorter, longer, or other bytes; attached anew it is."""
    source = target.parent.parent / "source"
    source.write_bytes(b"1234")
    both = Both(opened, lambda activity: activity.attach("a", source))
    for content in [b"123", b"12345", b"4321"]:
        # Both times would be the same to a clock that ticks a few hundred times a second.
        before = source.stat().st_mtime_ns
        while source.stat().st_mtime_ns == before:
            source.write_bytes(content)
        with pytest.raises(segue.HandoffFailedError, match="was changed"):
            both.result(both.fetch("a", target))
        assert left(target) == []
    both.activity.attach("a", source)
    both.result(both.fetch("a", target))
    assert target.read_bytes() == b"4321"


@pytest.mark.parametrize("change", ["truncated", "overwritten"])
def test_a_file_that_is_changed_while_it_is_sent_is_an_error(
    opened: Opener, start: Start, large: Path, change: str
) -> None:
    """R7.6: the pipe holds it up half-way."""
    app = opened("com.example.viewer", team="com.example.notes")
    start(ORIGIN, large, says="offering")
    reader, writer = os.pipe()
    fetching = continued(app).fetch_attachment("large", writer)
    os.close(writer)
    with open(reader, "rb", buffering=0) as pipe:
        read = len(pipe.read(65536))
        if change == "truncated":
            os.truncate(large, LARGE // 2)
        else:
            with large.open("r+b") as file:
                file.seek(LARGE // 2)
                file.write(b"other")
        while piece := pipe.read(1 << 20):
            read += len(piece)
    with pytest.raises(segue.HandoffFailedError, match="was changed"):
        fetching.wait(PATIENCE)
    assert read == (LARGE // 2 if change == "truncated" else LARGE)


def test_a_full_disk_is_an_error_and_nothing_is_left(start: Start, large: Path, target: Path) -> None:
    """R7.6: a file that may not be so large. The limit would be a signal, which no thread of the library takes."""
    start(ORIGIN, large, says="offering")
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({LARGE // 2}, {LARGE // 2}))"
    receiver = start(RECEIVER.format(before=limit, progress="None"), target)
    said, _ = receiver.communicate(timeout=PATIENCE)
    assert said.startswith("SystemRefusedError") and "File too large" in said
    assert left(target) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_no_space_left_is_an_error(opened: Opener) -> None:
    both = Both(opened, lambda activity: activity.attach("a", bytes(1_000_000)))
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(segue.Error, match="No space left"):
        both.result(both.fetch("a", full))


# ---- the end of one side ----


def test_cancel_ends_it_and_nothing_is_left(opened: Opener, start: Start, large: Path, target: Path) -> None:
    """R7.6."""
    app = opened("com.example.viewer", team="com.example.notes")
    origin = start(ORIGIN, large, says="offering")
    activity = continued(app)
    began: list[int] = []

    def stop(received: int, total: int) -> None:
        if not began:
            os.kill(origin.pid, signal.SIGSTOP)
        began.append(received)

    fetching = activity.fetch_attachment("large", target, progress=stop)
    run_until([app], lambda: began)
    ended = time.monotonic()
    fetching.cancel()
    run_until([app], lambda: not app._expected)
    assert time.monotonic() - ended < 1
    assert left(target) == []
    os.kill(origin.pid, signal.SIGCONT)
    activity.fetch_attachment("large", target).wait(PATIENCE)
    assert target.read_bytes() == large.read_bytes()


def test_the_origins_death_is_an_error_and_nothing_is_left(
    quick: None, opened: Opener, start: Start, large: Path, target: Path
) -> None:
    """R7.6."""
    app = opened("com.example.viewer", team="com.example.notes")
    origin = start(ORIGIN, large, says="offering")
    target.write_bytes(b"old")
    fetching = continued(app).fetch_attachment("large", target, progress=lambda *_: origin.kill())
    with pytest.raises(segue.ConnectionUnavailableError):
        fetching.wait(PATIENCE)
    assert target.read_bytes() == b"old" and left(target) == ["file"]


def test_the_receivers_death_leaves_nothing(start: Start, large: Path, target: Path, tmp_path: Path) -> None:
    """R7.6."""
    origin = start(ORIGIN, large, says="offering")
    kill = "lambda *_: os.kill(os.getpid(), 9)"
    receiver = start(RECEIVER.format(before="pass", progress=kill), target)
    assert receiver.wait(PATIENCE) == -signal.SIGKILL
    assert left(target) == []
    # The origin does not mind.
    other = start(RECEIVER.format(before="pass", progress="None"), target)
    assert other.wait(PATIENCE) == 0
    assert target.read_bytes() == large.read_bytes()
    assert origin.poll() is None


@pytest.mark.parametrize("side", ["viewer", "editor"])
def test_close_ends_what_is_under_way_and_nothing_runs_any_more(opened: Opener, target: Path, side: str) -> None:
    """R3.14."""
    both = Both(opened, lambda activity: activity.attach("a", bytes(LARGE)))
    reader, writer = os.pipe()
    fetching = both.fetch("a", writer)
    assert os.read(reader, 1)
    threads = len(os.listdir("/proc/self/task"))
    getattr(both, side).close()
    assert len(os.listdir("/proc/self/task")) <= threads - 1
    if side == "viewer":
        with pytest.raises(segue.CancelledError):
            fetching.wait(0)
    else:
        fetching.cancel()
        run_until([both.viewer], lambda: not both.viewer._expected)
    os.close(reader)
    os.close(writer)


# ---- going on ----


def held_up(both: Both, size: int) -> tuple[Any, int, bytes, set[int]]:
    """A fetch that a pipe holds up: what it is, the pipe, what has come, and the sockets of before."""
    before = sockets()
    reader, writer = os.pipe()
    fetching = both.fetch("a", writer)
    os.close(writer)
    read = os.read(reader, size)
    return fetching, reader, read, before


def rest(reader: int) -> bytes:
    with open(reader, "rb", buffering=0) as pipe:
        read = b""
        while piece := pipe.read(1 << 20):
            read += piece
    return read


def test_a_stream_that_breaks_is_asked_for_again_and_goes_on_where_it_was(opened: Opener) -> None:
    """R7.4, R7.6: several times."""
    data = os.urandom(5_000_000)
    both = Both(opened, lambda activity: activity.attach("a", data))
    fetching, reader, read, before = held_up(both, 100_000)
    for _ in range(3):
        assert cut(before) >= 1
        size = len(read) + 1_000_000
        while len(read) < size:
            read += os.read(reader, 65536)
    read += rest(reader)
    both.result(fetching)
    assert read == data


def test_the_hubs_death_and_a_break_together_do_not_end_it(opened: Opener, start: Start, large: Path) -> None:
    """R7.4, R7.6: the next hub is asked."""
    hub = start(ORIGIN.replace("com.example.notes.editing", "com.example.other"), says="offering")
    data = os.urandom(5_000_000)
    both = Both(opened, lambda activity: activity.attach("a", data))
    fetching, reader, read, before = held_up(both, 100_000)
    hub.kill()
    hub.wait()
    assert cut(before) >= 1
    read += rest(reader)
    both.result(fetching)
    assert read == data


def test_what_was_attached_anew_meanwhile_is_no_continuation_of_it(opened: Opener) -> None:
    """R7.6: the digest is over the whole."""
    for size, error in [(5_000_001, segue.HandoffFailedError), (5_000_000, segue.MalformedError)]:
        both = Both(opened, lambda activity: activity.attach("a", bytes(5_000_000)))
        fetching, reader, _, before = held_up(both, 100_000)
        both.activity.attach("a", b"1" * size)
        assert cut(before) >= 1
        rest(reader)
        with pytest.raises(error):
            both.result(fetching)
        both.editor.close()
        both.viewer.close()


def test_what_does_not_come_back_fails_when_its_time_is_up(quick: None, opened: Opener) -> None:
    """R7.4."""
    both = Both(opened, lambda activity: activity.attach("a", bytes(5_000_000)))
    fetching, reader, _, _ = held_up(both, 100_000)
    both.editor.close()
    began = time.monotonic()
    rest(reader)
    with pytest.raises(segue.ConnectionUnavailableError):
        fetching.wait(PATIENCE)
    assert time.monotonic() - began < 2


# ---- OpenSSL ----


def test_without_openssl_attaching_is_an_error_that_names_it(start: Start, tmp_path: Path) -> None:
    """Apps that attach nothing do not load it."""
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "libcrypto.so.3"], check=True)
    program = f"""
import os, sys
os.environ["LD_LIBRARY_PATH"] = {str(tmp_path)!r}
os.execv(sys.executable, [sys.executable, "-c", '''
import segue
with segue.App("com.example.notes", types=["{TYPE}"]) as app:
    activity = segue.Activity(app)
    activity.become_current()
    print("libcrypto" in open("/proc/self/maps").read())
    try:
        activity.attach("a", b"1")
    except segue.Error as error:
        print(error.status.name, error)
'''])
"""
    said, _ = start(program).communicate(timeout=PATIENCE)
    loaded, error = said.splitlines()
    assert loaded == "False"
    assert error.startswith("SYSTEM") and "libcrypto.so.3" in error and "libssl3" in error
