# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R7.6: attachments as the library sends them, and as it takes them ("An attachment, at both ends")."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import select
import signal
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import cbor2
import lingering
import pytest
from documents import STILL_HERE, TYPE, document, end, handed_over, head, piece
from wire import PATIENCE

TRANSFER_RESUME_LIMIT = ctypes.c_int32(14)
DATA = bytes(range(256)) * 2_000


@pytest.fixture
def ask(native, register) -> Callable[..., Callable[..., tuple[socket.socket, int]]]:
    """ask(data): the library offers an attachment `a`, and has been continued. Returns a function that asks for it from
    an offset, and returns our end of the stream and the status of the answer. Instead of data a file may be given."""

    def offered(data: bytes | Path) -> Callable[..., tuple[socket.socket, int]]:
        app = native()
        app.until("ready")
        peer, _ = register(TYPE)
        peer.expect("ready")
        handle, activity = app.offer_document(document("Mine"))
        if isinstance(data, Path):
            path = str(data).encode()
            app.call("segue_activity_attach_file", handle, b"a", 1, path, len(path))
        else:
            app.call("segue_activity_attach_bytes", handle, b"a", 1, data, len(data))
        origin = peer.expect("offer")[8]
        continuation = uuid.uuid4()
        peer.send_message("fetch", continuation, origin, activity, 10_000, None)
        peer.expect("state")
        _, _, body = peer.next_frame()
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        assert cbor2.loads(body)[1]["attachments"] == {"a": size}
        assert peer.next_frame()[0] == "end"

        def stream(
            name: str, offset: int, early: Callable[[socket.socket], None] | None = None
        ) -> tuple[socket.socket, int]:
            """`early` sends on our end before the library has the other one."""
            near, far = socket.socketpair()
            if early is not None:
                early(near)
            elements = [uuid.uuid4(), continuation, origin, activity, uuid.uuid4(), 0, [name, offset]]

            def send() -> None:
                peer.transfer(far, "stream", *elements)
                # If the library is quicker, this is the last close of what waits in it, and this thread waits.
                far.close()

            threading.Thread(target=send, daemon=True).start()
            answer = peer.expect("streamAnswer")
            assert answer[0] == elements[0]
            return near, answer[5]

        return stream

    return offered


def take(stream: socket.socket, data: bytes) -> bytes:
    """Returns the bytes of a stream, from its start to its end. Checks that a file that is handed over has these bytes,
    and is for reading only; then asks for the bytes, too."""
    with stream:
        stream.settimeout(PATIENCE)
        read, files, _, _ = socket.recv_fds(stream, 65536, 16)
        if files:
            assert fcntl.fcntl(files[0], fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            assert os.pread(files[0], len(data) + 1, 0) == data
            assert read == head(len(data)) + handed_over(files[0])
            os.close(files[0])
            stream.sendall(b"\0\1")
            read = read[:8]
        while more := stream.recv(65536):
            read += more
        return read


@pytest.mark.parametrize("offset", [0, 300_000, len(DATA)])
def test_what_the_library_sends_is_as_the_page_says(ask, offset):
    near, status = ask(DATA)("a", offset)
    assert status == 0
    came = take(near, DATA)
    assert struct.unpack(">Q", came[:8]) == (len(DATA),)
    rest, came = b"", came[8:]
    while length := struct.unpack(">I", came[:4])[0]:
        assert length <= 1 << 20
        rest += came[4 : 4 + length]
        came = came[4 + length :]
    assert rest == DATA[offset:]
    assert came[4:] == b"\0" + hashlib.sha256(DATA).digest()


def test_what_is_not_attached_is_not_found(ask):
    near, status = ask(DATA)("b", 0)
    assert status == 8
    assert take(near, DATA) == b""


@pytest.mark.parametrize("name", ["a", "b"])
def test_what_takes_long_to_close_in_a_stream_holds_no_app_up(ask, name):
    """A socket that lingers waits unread in the end that the library gets, and closes."""
    stream = ask(DATA)
    with lingering.lingering() as make:

        def early(near: socket.socket) -> None:
            near.sendall(b"\1")
            for _ in range(3):
                lingering.send(near, b"\0", make())
            near.shutdown(socket.SHUT_RD)

        for _ in range(3):
            near, status = stream(name, 0, early)
            near.close()
            assert (status == 0) == (name == "a")
        near, status = stream("a", 0)
        assert status == 0
        assert hashlib.sha256(DATA).digest() in take(near, DATA)


def test_who_asks_and_leaves_has_the_library_hash_once(ask):
    """Receivers that ask for the last byte, over and over, and are gone before the digest of the rest is known."""
    block, sample = bytes(1 << 20), hashlib.sha256()
    began = time.process_time()
    for _ in range(128):
        sample.update(block)
    # So much that it lasts longer than the library takes to send something, which tells it that a receiver is gone.
    count = int(2.5 / (time.process_time() - began) * 128)
    # In memory, where a hole costs next to nothing to read.
    large = os.memfd_create("large")
    os.ftruncate(large, count << 20)
    began, whole = time.process_time(), hashlib.sha256()
    for _ in range(count):
        whole.update(block)
    once = time.process_time() - began
    stream = ask(Path(f"/proc/self/fd/{large}"))
    os.close(large)
    began, came = time.process_time(), b""
    while not came.endswith(b"\0" + whole.digest()):
        assert time.process_time() - began < 4 * once + 2, once
        streams = [stream("a", (count << 20) - 1)[0] for _ in range(4)]
        time.sleep(0.2)
        came = streams[0].recv(1024, socket.MSG_DONTWAIT)
        for each in streams:
            each.close()


def test_who_talks_without_end_costs_little(ask):
    """Words of a receiver that does not read, as many as it can send."""
    stream = ask(bytes(4_000_000))
    near, status = stream("a", 1)
    assert status == 0
    talker = os.fork()
    if talker == 0:
        with contextlib.suppress(BaseException):
            while True:
                near.sendall(bytes(65536))
        os._exit(0)
    try:
        began, used = time.monotonic(), time.process_time()
        time.sleep(3)
        assert time.process_time() - used < (time.monotonic() - began) / 10
    finally:
        os.kill(talker, signal.SIGKILL)
        os.waitpid(talker, 0)
        near.close()


@pytest.fixture
def no_resume(library):
    library.segue_limit_set(TRANSFER_RESUME_LIMIT, ctypes.c_uint64(0))
    yield
    library.segue_limit_set(TRANSFER_RESUME_LIMIT, ctypes.c_uint64(60_000))


def test_who_reads_nothing_and_says_nothing_is_sent_no_more(ask, no_resume):
    """R7.4: the library has no thread and no descriptor for it then; who is slow, and says so, is waited for."""
    data = bytes(4_000_000)
    stream = ask(data)
    silent, mute, slow = (stream("a", 0)[0] for _ in range(3))
    with silent, mute, slow:
        for each in [silent, slow]:
            each.sendall(b"\1")
        ended = select.poll()
        for each in [silent, mute, slow]:
            ended.register(each, select.POLLHUP)
        began, gone = time.monotonic(), set()
        while time.monotonic() < began + 14:
            gone |= {fd for fd, events in ended.poll(1_000) if events & select.POLLHUP}
            with contextlib.suppress(OSError):
                slow.sendall(b"\0")
        assert gone == {silent.fileno(), mute.fileno()}
        with slow.makefile("rb") as file:
            came = file.read(8 + 16 + (len(data) + (1 << 18) - 1) // (1 << 18) * 4 + len(data) + 37)
        assert came[-33:] == b"\0" + hashlib.sha256(data).digest()


# Fetching


def test_the_library_takes_it_and_asks_for_the_rest_where_a_stream_breaks(origin):
    whole = end(0, b"1234")
    # Between parts, and in the middle of each.
    first = head(4)
    breaks = [b"", first[:5], first, first + piece(b"1") + b"\0\0", first + piece(b"2", 3), first + whole[:20]]
    app, offsets = origin.serve(*breaks, first + piece(b"34") + whole)
    app.until(("fetched", 0))
    assert offsets == [0, 0, 0, 0, 1, 2, 2]
    assert ("progress", 4, 4) in app.seen
    # The end is reported last, and once, whatever progress was waiting.
    app.library.segue_app_dispatch(app.app, 0, None)
    assert app.seen.index(("fetched", 0)) == len(app.seen) - 1
    assert (origin.folder / "target").read_bytes() == b"1234"


PIECE = head(4) + piece(b"1234")
LIES = {
    "another digest": (7, 4, PIECE + end(0, b"4321")),
    "too few bytes": (7, 4, head(4) + piece(b"123") + end(0, b"123")),
    "a piece that is too large": (7, 1 << 30, head(1 << 30) + piece(b"", (1 << 20) + 1)),
    "more than there is": (7, 4, PIECE + piece(b"5")),
    "no room for it": (13, 1 << 62, head(1 << 62)),
    "changed": (20, 4, PIECE + end(1, b"1234")),
    "unreadable": (20, 4, head(4) + end(2)),
    "handed over behind a piece": (7, 4, PIECE + struct.pack(">IqI", 0xFFFFFFFE, 0, 0)),
    "signs of life without end": (7, 4, head(4) + b"\xff" * 4 * 200),
    "a verdict of the future": (20, 4, PIECE + end(9, b"1234")),
    "another size than the activity says": (20, 4, head(5)),
    "another size the second time": (20, 4, head(4) + piece(b"12"), head(5)),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_the_library_believes_nothing_that_is_not_so(origin, lie):
    status, size, *sent = lie
    app, _ = origin.serve(*sent, size=size)
    app.until(("fetched", status))
    assert origin.files == []


def test_an_origin_that_is_silent_is_asked_again_and_one_that_lives_is_not(origin):
    """R7.4: it has nothing to send for longer than a silent one is given."""

    def alive(stream: socket.socket) -> None:
        stream.sendall(head(4) + piece(b"12"))
        for _ in range(6):
            # Nothing comes meanwhile that could be awaited: the silence is what is tried.
            time.sleep(2)
            stream.sendall(struct.pack(">I", STILL_HERE))
        # Then it dies, and its end stays open.
        began = time.monotonic()
        stream.settimeout(2 * PATIENCE)
        while stream.recv(64):
            pass
        assert 8 < time.monotonic() - began < 8 + PATIENCE

    assert origin.arrives(alive, head(4) + piece(b"34") + end(0, b"1234")) == [0, 2]
