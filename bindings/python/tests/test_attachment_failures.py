# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attachments that are changed, cut off, cancelled (R7.6): an error and nothing, or all of it after all."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from attaching import LARGE, ORIGIN, RECEIVER, Both, continued, cut, left, sockets
from conftest import PATIENCE, TYPE, Opener, Start, run_until, stop

import segue


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

    def report(received: int, total: int) -> None:
        if not began:
            stop(origin)
        began.append(received)

    fetching = activity.fetch_attachment("large", target, progress=report)
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
    activity = continued(app)
    target.write_bytes(b"old")
    reader, writer = os.pipe()
    held = activity.fetch_attachment("large", writer)
    os.close(writer)
    assert os.read(reader, 1)
    origin.kill()
    origin.wait()
    fetching = activity.fetch_attachment("large", target)
    with open(reader, "rb", buffering=0) as pipe:
        while pipe.read(1 << 20):
            pass
    for each in [held, fetching]:
        with pytest.raises(segue.ConnectionUnavailableError):
            each.wait(PATIENCE)
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


def threads() -> int:
    """Those of this process."""
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("side", ["viewer", "editor"])
def test_close_ends_what_is_under_way_and_nothing_runs_any_more(opened: Opener, target: Path, side: str) -> None:
    """R3.14."""
    both = Both(opened, lambda activity: activity.attach("a", bytes(LARGE)))
    reader, writer = os.pipe()
    fetching = both.fetch("a", writer)
    assert os.read(reader, 1)
    before = threads()
    getattr(both, side).close()
    # The kernel takes a thread off its list a moment after it has told whoever waits for its end.
    end = time.monotonic() + PATIENCE
    while threads() >= before and time.monotonic() < end:
        os.sched_yield()
    assert threads() < before
    if side == "viewer":
        with pytest.raises(segue.CancelledError):
            fetching.wait(0)
    else:
        fetching.cancel()
        run_until([both.viewer], lambda: not both.viewer._expected)
    os.close(reader)
    os.close(writer)


# ---- going on ----


def held_up(both: Both, size: int) -> tuple[Any, int, bytes, set[str]]:
    """A fetch that a pipe holds up: what it is, the pipe, what has come, and the sockets of before."""
    before = set(sockets())
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
