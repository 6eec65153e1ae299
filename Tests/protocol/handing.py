# SPDX-License-Identifier: Apache-2.0
"""Origins that hand a file over, as the page says or not at all ("An attachment, at both ends")."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fuse
from wire import PATIENCE

STILL_HERE, HANDED_OVER = 0xFFFFFFFF, 0xFFFFFFFE
SEND_BYTES = b"\1"
CHANGED = 20  # a status of segue.h
DATA = b"1234"
O_PATH = 0o10000000


class Handing:
    """Tests for a case that can serve attachments: `serve`, `head`, `piece`, `end`."""

    folder: str
    serve: Callable[..., Any]
    head: Callable[[int], bytes]
    piece: Callable[..., bytes]
    end: Callable[..., bytes]

    def handed(self, fd: int, data: bytes) -> bytes:
        """What comes with a file, which is for reading only."""
        assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        assert os.pread(fd, len(data) + 1, 0) == data
        return self.head(len(data)) + self.time(fd)

    def time(self, fd: int) -> bytes:
        seconds, nanoseconds = divmod(os.fstat(fd).st_mtime_ns, 10**9)
        return struct.pack(">IqI", HANDED_OVER, seconds, nanoseconds)

    def by_the_bytes(self, end: socket.socket) -> None:
        """The library does not copy what came: it asks for the bytes."""
        end.settimeout(2 * PATIENCE)
        while (said := end.recv(1)) == b"\0":
            pass
        assert said == SEND_BYTES, said
        end.sendall(self.piece(DATA) + self.end(0, DATA))

    def to_its_end(self, end: socket.socket) -> None:
        end.settimeout(2 * PATIENCE)
        while end.recv(64):
            pass

    def arrives(self, *sent: Any, size: int = 4, status: int = 0) -> list[int]:
        native, offsets = self.serve(*sent, size=size)
        native.until(("fetched", status))
        if status == 0 and size == len(DATA):
            assert Path(self.folder, "target").read_bytes() == DATA
        if status:
            assert not os.path.exists(f"{self.folder}/target")
        return offsets

    def source(self, name: str = "source") -> int:
        path = Path(self.folder, name)
        path.write_bytes(DATA)
        return os.open(path, os.O_RDONLY)

    def test_a_file_that_is_handed_over_is_copied(self) -> None:
        """A real one, and those in memory, sealed or not; what is open for writing, too, does not matter."""

        def memory(seals: int) -> int:
            fd = os.memfd_create("source", os.MFD_ALLOW_SEALING)
            os.write(fd, DATA)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
            return fd

        sealed = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
        for make in [self.source, lambda: memory(0), lambda: memory(sealed)]:
            with self.subTest():
                self.setUp()
                fd = make()

                def serve(end: socket.socket, fd: int = fd) -> None:
                    socket.send_fds(end, [self.head(4) + self.time(fd)], [fd])
                    os.close(fd)
                    self.to_its_end(end)

                assert self.arrives(serve) == [0]
                self.doCleanups()

    def test_what_is_no_file_is_not_copied(self) -> None:
        """Nor is what cannot be read, or was lost on the way; then the bytes come."""

        def made(name: str, flags: int) -> int:
            fd = self.source()
            os.close(fd)
            if name == "fifo":
                os.mkfifo(f"{self.folder}/fifo")
            return os.open(f"{self.folder}/{name}", flags)

        cases: dict[str, Callable[[], list[int]]] = {
            "a pipe": lambda: list(os.pipe()),
            "a named pipe": lambda: [made("fifo", os.O_RDWR)],
            "a device": lambda: [os.open("/dev/zero", os.O_RDONLY)],
            "a folder": lambda: [os.open("/usr", os.O_RDONLY)],
            "a place without a file": lambda: [made("source", O_PATH)],
            "open for writing only": lambda: [made("source", os.O_WRONLY)],
            "a socket": lambda: [socket.socket().detach()],
            "of the kernel": lambda: [os.open("/proc/self/status", os.O_RDONLY)],
            "nothing": lambda: [],
            "too many": lambda: [os.open("/dev/full", os.O_RDONLY) for _ in range(16)],
        }
        for what, make in cases.items():
            with self.subTest(what):
                self.setUp()
                before = descriptors()
                fds = make()
                names = {os.readlink(f"/proc/self/fd/{fd}") for fd in fds}

                def serve(end: socket.socket, fds: list[int] = fds) -> None:
                    # What comes with a file says another time, so it has to be looked at first.
                    sent = self.head(4) + struct.pack(">IqI", HANDED_OVER, 0, 0)
                    socket.send_fds(end, [sent], fds) if fds else end.sendall(sent)
                    self.by_the_bytes(end)

                assert self.arrives(serve) == [0]
                for fd in fds:
                    os.close(fd)
                # The library closes what it does not trust where nobody waits for it.
                end = time.monotonic() + PATIENCE
                while any(descriptors()[name] > before[name] for name in names) and time.monotonic() < end:
                    os.sched_yield()
                assert all(descriptors()[name] <= before[name] for name in names), (descriptors(), before)
                self.doCleanups()

    def test_a_file_that_hangs_is_not_touched(self) -> None:
        # On a file system whose process answers nobody any more, not even close; nor does the library wait for it.
        with fuse.hanging() as fd:
            if fd is None:
                self.skipTest("only root, or who may make namespaces, can mount")  # type: ignore[attr-defined]

            def serve(end: socket.socket) -> None:
                socket.send_fds(end, [self.head(4) + struct.pack(">IqI", HANDED_OVER, 0, 0)], [fd])
                self.by_the_bytes(end)

            assert self.arrives(serve) == [0]
            self.doCleanups()  # type: ignore[attr-defined]

    def test_a_file_that_was_changed_is_not_taken(self) -> None:
        """Before it came, or while it is copied: longer, shorter, other bytes."""
        size = 256 << 20

        def large() -> int:
            fd = os.open(f"{self.folder}/source", os.O_RDWR | os.O_CREAT)
            os.ftruncate(fd, size)
            return fd

        def meanwhile(change: Callable[[int], Any]) -> Callable[[socket.socket], None]:
            def serve(end: socket.socket) -> None:
                fd = large()
                socket.send_fds(end, [self.head(size) + self.time(fd)], [fd])
                change(fd)
                os.close(fd)
                self.to_its_end(end)

            return serve

        def before(end: socket.socket) -> None:
            fd = self.source()
            socket.send_fds(end, [self.head(4) + struct.pack(">IqI", HANDED_OVER, 7, 7)], [fd])
            self.to_its_end(end)

        cases = {
            "before": (before, 4),
            "grows": (meanwhile(lambda fd: os.ftruncate(fd, size + 1)), size),
            "shrinks": (meanwhile(lambda fd: os.ftruncate(fd, size // 2)), size),
            "other bytes": (meanwhile(lambda fd: os.pwrite(fd, b"x", size - 1)), size),
        }
        for what, (serve, of) in cases.items():
            with self.subTest(what):
                self.setUp()
                self.arrives(serve, size=of, status=CHANGED)
                assert [name for name in os.listdir(self.folder) if not name.startswith("hub.")] == ["source"]
                self.doCleanups()

    def test_a_file_whose_times_are_set_back_comes_by_its_bytes(self) -> None:
        """Whoever hides that he wrote does not deceive a copy; a mere rename does not end it either."""
        size = 256 << 20

        def serve(end: socket.socket) -> None:
            fd = os.open(f"{self.folder}/source", os.O_RDWR | os.O_CREAT)
            os.ftruncate(fd, size)
            socket.send_fds(end, [self.head(size) + self.time(fd)], [fd])
            time_ns = os.fstat(fd).st_mtime_ns
            end.settimeout(0)
            said = None
            while said is None:
                os.utime(fd, ns=(time_ns, time_ns))
                with contextlib.suppress(BlockingIOError):
                    said = end.recv(1)
            assert said == SEND_BYTES
            end.settimeout(PATIENCE)
            end.sendall(struct.pack(">IB", 0, 1) + bytes(32))

        self.arrives(serve, size=size, status=CHANGED)

    def test_an_origin_that_is_silent_is_asked_again_and_one_that_lives_is_not(self) -> None:
        """R7.4: it has nothing to send for longer than a silent one is given."""

        def alive(end: socket.socket) -> None:
            end.sendall(self.head(4) + self.piece(b"12"))
            for _ in range(6):
                threading.Event().wait(2)
                end.sendall(struct.pack(">I", STILL_HERE))
            # Then it dies, and its end stays open.
            began = time.monotonic()
            self.to_its_end(end)
            assert 8 < time.monotonic() - began < 8 + PATIENCE

        rest = self.head(4) + self.piece(b"34") + self.end(0, DATA)
        assert self.arrives(alive, rest) == [0, 2]


def descriptors() -> Counter[str]:
    """What this process has open."""
    found: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[os.readlink(f"/proc/self/fd/{name}")] += 1
    return found
