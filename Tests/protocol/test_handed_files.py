# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Origins that hand a file over, as the page says or not at all ("An attachment, at both ends")."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fuse
import lingering
import pytest
from documents import HANDED_OVER, SEND_BYTES, end, handed_over, head, piece
from wire import PATIENCE

CHANGED = 20  # a status of segue.h
DATA = b"1234"
LARGE = 256 << 20  # bytes, so that copying takes a while
O_PATH = 0o10000000


def by_the_bytes(stream: socket.socket) -> None:
    """The library does not copy what came: it asks for the bytes."""
    stream.settimeout(2 * PATIENCE)
    while (said := stream.recv(1)) == b"\0":
        pass
    assert said == SEND_BYTES, said
    stream.sendall(piece(DATA) + end(0, DATA))


def to_its_end(stream: socket.socket) -> None:
    stream.settimeout(2 * PATIENCE)
    while stream.recv(64):
        pass


def source(folder: Path) -> int:
    path = folder / "source"
    path.write_bytes(DATA)
    return os.open(path, os.O_RDONLY)


def memory(seals: int) -> int:
    fd = os.memfd_create("source", os.MFD_ALLOW_SEALING)
    os.write(fd, DATA)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


SEALED = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
FILES = {"on disk": source, "in memory": lambda _: memory(0), "sealed": lambda _: memory(SEALED)}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES.keys())
def test_a_file_that_is_handed_over_is_copied(origin, folder, make):
    """A file that is open for writing, too, is copied like the others."""
    fd = make(folder)

    def hand_over(stream: socket.socket) -> None:
        socket.send_fds(stream, [head(4) + handed_over(fd)], [fd])
        os.close(fd)
        to_its_end(stream)

    assert origin.arrives(hand_over) == [0]


def made(folder: Path, name: str, flags: int) -> list[int]:
    os.close(source(folder))
    os.mkfifo(folder / "fifo")
    return [os.open(folder / name, flags)]


NO_FILES: dict[str, Callable[[Path], list[int]]] = {
    "a pipe": lambda _: list(os.pipe()),
    "a named pipe": lambda folder: made(folder, "fifo", os.O_RDWR),
    "a device": lambda _: [os.open("/dev/zero", os.O_RDONLY)],
    "a folder": lambda _: [os.open("/usr", os.O_RDONLY)],
    "a place without a file": lambda folder: made(folder, "source", O_PATH),
    "open for writing only": lambda folder: made(folder, "source", os.O_WRONLY),
    "a socket": lambda _: [socket.socket().detach()],
    "of the kernel": lambda _: [os.open("/proc/self/status", os.O_RDONLY)],
    "nothing": lambda _: [],
    "too many": lambda _: [os.open("/dev/full", os.O_RDONLY) for _ in range(16)],
}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES.keys())
def test_what_is_no_file_is_not_copied(origin, folder, make):
    """Nor is what cannot be read, or was lost on the way; then the bytes come."""
    before = descriptors()
    fds = make(folder)
    names = {os.readlink(f"/proc/self/fd/{fd}") for fd in fds}

    def hand_over(stream: socket.socket) -> None:
        # The time that comes with the file is wrong, so the library has to look at the file first.
        sent = head(4) + struct.pack(">IqI", HANDED_OVER, 0, 0)
        socket.send_fds(stream, [sent], fds) if fds else stream.sendall(sent)
        by_the_bytes(stream)

    assert origin.arrives(hand_over) == [0]
    for fd in fds:
        os.close(fd)
    # The library closes untrusted descriptors on a thread for which no caller waits.
    deadline = time.monotonic() + PATIENCE
    while any(descriptors()[name] > before[name] for name in names) and time.monotonic() < deadline:
        os.sched_yield()
    assert all(descriptors()[name] <= before[name] for name in names), (descriptors(), before)


@pytest.fixture
def hanging() -> Iterator[int]:
    """A file on a file system whose process answers nobody any more, not even close."""
    with fuse.hanging() as fd:
        if fd is None:
            pytest.skip("only root, or who may make namespaces, can mount")
        yield fd


def test_a_file_that_hangs_is_not_touched(hanging, origin):
    """Nor does the library wait for it: its app is closed before the file system is."""

    def hand_over(stream: socket.socket) -> None:
        socket.send_fds(stream, [head(4) + struct.pack(">IqI", HANDED_OVER, 0, 0)], [hanging])
        by_the_bytes(stream)

    assert origin.arrives(hand_over) == [0]


@pytest.mark.parametrize("way", ["two", "in a queue", "behind the head", "urgent", "never read"])
def test_what_takes_long_to_close_holds_no_app_up(origin, way):
    """Sockets that linger, with a stream: the app gets what comes besides, and closes."""
    with lingering.lingering() as make:

        def early(stream: socket.socket) -> None:
            if way == "two":
                lingering.send(stream, head(4), make(), make())
            elif way == "in a queue":
                lingering.send(stream, head(4), lingering.inside(make()))
            elif way == "behind the head":
                stream.sendall(head(4))
                lingering.send(stream, piece(b"1234"), make())
                lingering.send(stream, end(0, DATA), make(), make())
            elif way == "urgent":
                stream.sendall(head(4) + piece(DATA)[:-1])
                lingering.send(stream, DATA[-1:], make(), flags=socket.MSG_OOB)
            else:
                stream.sendall(head(5))
                lingering.send(stream, b"?", make())

        def late(stream: socket.socket) -> None:
            if way in ("two", "in a queue"):
                stream.sendall(piece(DATA))
            if way not in ("behind the head", "never read"):
                stream.sendall(end(0, DATA))

        origin.arrives(late, status=CHANGED if way == "never read" else 0, early=early)


def large(folder: Path) -> int:
    fd = os.open(folder / "source", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, LARGE)
    return fd


def test_a_file_that_was_changed_is_not_taken(origin, folder):
    def hand_over(stream: socket.socket) -> None:
        fd = source(folder)
        socket.send_fds(stream, [head(4) + struct.pack(">IqI", HANDED_OVER, 7, 7)], [fd])
        os.close(fd)
        to_its_end(stream)

    origin.arrives(hand_over, status=CHANGED)
    assert origin.files == ["source"]


CHANGES: dict[str, Callable[[int], Any]] = {
    "grows": lambda fd: os.ftruncate(fd, LARGE + 1),
    "shrinks": lambda fd: os.ftruncate(fd, LARGE // 2),
    "other bytes": lambda fd: os.pwrite(fd, b"x", LARGE - 1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_is_changed_while_it_is_copied_is_not_taken(origin, folder, change):
    def hand_over(stream: socket.socket) -> None:
        fd = large(folder)
        socket.send_fds(stream, [head(LARGE) + handed_over(fd)], [fd])
        change(fd)
        os.close(fd)
        to_its_end(stream)

    origin.arrives(hand_over, data=LARGE, status=CHANGED)
    assert origin.files == ["source"]


def test_a_file_whose_times_are_set_back_comes_by_its_bytes(origin, folder):
    """Whoever hides that he wrote does not deceive a copy; a mere rename does not end it either."""

    def hand_over(stream: socket.socket) -> None:
        fd = large(folder)
        socket.send_fds(stream, [head(LARGE) + handed_over(fd)], [fd])
        time_ns = os.fstat(fd).st_mtime_ns
        stream.settimeout(0)
        said = None
        while said is None:
            os.utime(fd, ns=(time_ns, time_ns))
            with contextlib.suppress(BlockingIOError):
                said = stream.recv(1)
        os.close(fd)
        assert said == SEND_BYTES
        stream.settimeout(PATIENCE)
        stream.sendall(end(1))

    origin.arrives(hand_over, data=LARGE, status=CHANGED)


def descriptors() -> Counter[str]:
    """The files that this process has open, and the number of descriptors of each."""
    found: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[os.readlink(f"/proc/self/fd/{name}")] += 1
    return found
