# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attachments whose other side lives and says nothing, or is slow (R7.6): the one ends, the other does not."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from attaching import LARGE, ORIGIN, Both, continued, left, sockets
from conftest import PATIENCE, Opener, Start, becomes, stop

import segue

SILENCE = 10.0
"""Seconds in which nothing is heard of the other side, after which it counts as gone."""


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_an_origin_that_stands_still_ends_the_fetch(quick: None, opened: Opener, start: Start, large: Path) -> None:
    """R7.4, R7.6: its end stays open, and nothing comes. No thread and no descriptor stays."""
    app = opened("com.example.viewer", team="com.example.notes")
    origin = start(ORIGIN, large, says="offering")
    activity = continued(app)
    before = threads(), set(sockets())
    reader, writer = os.pipe()
    fetching = activity.fetch_attachment("large", writer)
    os.close(writer)
    assert os.read(reader, 1)
    stop(origin)
    began = time.monotonic()
    with open(reader, "rb", buffering=0) as pipe:
        while pipe.read(1 << 20):
            pass
    with pytest.raises(segue.Error):
        fetching.wait(2 * PATIENCE)
    assert time.monotonic() - began < SILENCE + 8
    assert becomes(lambda: (threads(), set(sockets())) == before)
    origin.send_signal(signal.SIGCONT)


def test_a_reader_that_is_slow_is_waited_for(quick: None, opened: Opener) -> None:
    """R7.6: longer than an origin waits for who is silent: its library says that it lives."""
    both = Both(opened, lambda activity: activity.attach("a", bytes(LARGE)))
    reader, writer = os.pipe()
    fetching = both.fetch("a", writer)
    os.close(writer)
    read = len(os.read(reader, 1))
    streams = set(sockets())
    time.sleep(SILENCE + 3)  # it reads nothing for so long
    assert set(sockets()) == streams
    with open(reader, "rb", buffering=0) as pipe:
        while piece := pipe.read(1 << 20):
            read += len(piece)
    both.result(fetching)
    assert read == LARGE


def test_what_was_handed_over_comes_whatever_becomes_of_the_origin(
    quick: None, opened: Opener, start: Start, large: Path, target: Path
) -> None:
    """R7.6: on one device the kernel copies."""
    app = opened("com.example.viewer", team="com.example.notes")
    origin = start(ORIGIN, large, says="offering")
    fetching = continued(app).fetch_attachment("large", target, progress=lambda *_: origin.kill())
    fetching.wait(PATIENCE)
    assert target.read_bytes() == large.read_bytes() and left(target) == ["file"]


def test_nobody_gets_a_descriptor_to_write_by(opened: Opener, target: Path) -> None:
    """R7.6: what is attached as bytes stays as it is, whoever opens it again."""
    both = Both(opened, lambda activity: activity.attach("a", b"1234"))
    files = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    memory = [name for name in files if os.path.exists(name) and os.readlink(name).startswith("/memfd:segue")]
    assert memory
    for name in memory:
        fd = os.open(name, os.O_RDWR)
        with pytest.raises(PermissionError):
            os.write(fd, b"x")
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 0)
        os.close(fd)
    both.result(both.fetch("a", target))
    assert target.read_bytes() == b"1234"
