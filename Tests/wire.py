# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Frames and messages as docs/protocol.md has them, which is where the numbers are read from; hubs and apps by hand."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import struct
import time
import uuid
from pathlib import Path
from typing import Any

import cbor2
from project import ROOT

PAGE = (ROOT / "docs" / "protocol.md").read_text()
PATIENCE = 10  # seconds for what takes milliseconds
HEAD_SIZE = 8

# The page's messages and frames by name, as the page numbers them.
MESSAGES = {
    re.sub("-(.)", lambda match: match[1].upper(), name): int(number)
    for name, number in re.findall(r"^([a-z-]+) = \[(\d+)", PAGE, re.MULTILINE)
}
FRAMES = {name: int(number) for number, name in re.findall(r"^\| (\d) \| (\w+) \|", PAGE, re.MULTILINE)}
OUTCOMES = {name: int(number) for name, number in re.findall(r"^([a-z]+) = (\d)$", PAGE, re.MULTILINE)}
NAMES = {number: name for name, number in MESSAGES.items()}
KINDS = {number: name for name, number in FRAMES.items()}
CARRIERS = ("message", "transfer")  # frames that carry a message
PROTOCOL = int(re.findall(r"^Version of the protocol: (\d+)", PAGE, re.MULTILINE)[0])

LIMIT_EXCEEDED, UNSUPPORTED_VERSION = 10, 17  # statuses of segue.h
TYPE = "com.example.editing"


def frame(kind: str | int, body: bytes = b"", channel: int = 0) -> bytes:
    """A frame by its name, or by its number."""
    number = FRAMES[kind] if isinstance(kind, str) else kind
    return struct.pack(">II", number << 24 | len(body), channel) + body


def message(name: str | int, *elements: object, kind: str = "message") -> bytes:
    """A message by its name, or by a number that may have none, in a frame of a kind."""
    return frame(kind, cbor2.dumps([MESSAGES[name] if isinstance(name, str) else name, *elements]))


def end(channel: int, count: int) -> bytes:
    """The channel is complete, and had `count` bytes."""
    return frame("end", struct.pack(">Q", count), channel)


def hello(name: str = "stranger", team: str = "T", types: tuple[str, ...] = (TYPE,), chooser: bool = False) -> bytes:
    app = [f"com.example.{name}", name, team, list(types), chooser]
    return message("hello", PROTOCOL, PROTOCOL, uuid.uuid4(), *app)


def offer(title: str = "absurd", **other: object) -> bytes:
    fields = {"id": uuid.uuid4(), "type": TYPE, "title": title, "version": 0, "size": 0, "age": 0, "remaining": None}
    fields |= {"streams": False, "origin": uuid.uuid4(), "app": "Fake", "bundle": "com.example.fake"}
    fields |= {"device": "fake", "rank": 1} | other
    return message("offer", *fields.values())


class Connection:
    """One end of a connection: bytes, frames and messages, by the page's names."""

    def __init__(self, connected: socket.socket):
        self.socket = connected
        self.socket.settimeout(PATIENCE)
        self._process: tuple[socket.socket, int] | None = None
        self._bytes = b""
        self.descriptors: list[int] = []
        """Those that came, each with a `transfer` frame, in their order."""

    @classmethod
    def to(cls, path: Path) -> Connection:
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(path))
        return cls(connected)

    @classmethod
    def of_another_process(cls, path: Path) -> Connection:
        """The hub charges a process of its own for it, which connects, hands the connection over, and lives as long:
        one that has ended is taken for no app (R13.8)."""
        here, there = socket.socketpair()
        process = os.fork()
        if process == 0:
            with contextlib.suppress(BaseException):
                # Nothing of this process's may stay open in the other one.
                os.closerange(3, there.fileno())
                os.closerange(there.fileno() + 1, 65536)
                with cls.to(path).socket as connected:
                    socket.send_fds(there, [b"!"], [connected.fileno()])
                there.recv(1)
            os._exit(0)
        there.close()
        here.settimeout(PATIENCE)
        _, descriptors, _, _ = socket.recv_fds(here, 1, 1)
        connection = cls(socket.socket(fileno=descriptors[0]))
        connection._process = (here, process)
        return connection

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def send_message(self, name: str, *elements: object) -> None:
        self.send(message(name, *elements))

    def send_state(self, continuation: uuid.UUID, receiver: uuid.UUID, state: bytes, why_stale: str = "") -> None:
        """Answers a fetch, on channel 1."""
        stale = (True, why_stale) if why_stale else (False,)
        parts = [message("state", continuation, receiver, 1, len(state), *stale), frame("data", state, 1)]
        self.send(*parts, end(1, len(state)))

    def transfer(self, descriptor: socket.socket, name: str, *elements: object) -> None:
        """Sends a message with a descriptor."""
        socket.send_fds(self.socket, [message(name, *elements, kind="transfer")], [descriptor.fileno()])

    def read(self, count: int) -> bytes:
        while len(self._bytes) < count:
            more, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 1)
            self.descriptors += descriptors
            if not more:
                raise EOFError
            self._bytes += more
        head, self._bytes = self._bytes[:count], self._bytes[count:]
        return head

    def next_frame(self) -> tuple[str, int, bytes]:
        """Its kind, channel and body."""
        head, channel = struct.unpack(">II", self.read(HEAD_SIZE))
        return KINDS[head >> 24], channel, self.read(head & 0xFFFFFF)

    def next_message(self) -> tuple[str, list[Any]]:
        """Passes over credit that comes before it."""
        kind, channel, body = self.next_frame()
        while kind == "credit":
            kind, channel, body = self.next_frame()
        assert (kind in CARRIERS, channel) == (True, 0), f"not a message but a frame {kind} on channel {channel}"
        number, *elements = cbor2.loads(body)
        return NAMES[number], elements

    def expect(self, name: str) -> list[Any]:
        """Returns the elements of the next message, which has to be this one."""
        came, elements = self.next_message()
        assert came == name, f"{name} was expected, not {came} {elements}"
        return elements

    def receive(self) -> list[Any]:
        """The next message, its name first, frames of other kinds passed over; EOFError when the other side closes."""
        while True:
            kind, _, body = self.next_frame()
            if kind in CARRIERS:
                number, *elements = cbor2.loads(body)
                return [NAMES[number], *elements]

    def receive_kind(self, name: str) -> list[Any]:
        """The next message of that name; others are passed over."""
        while (found := self.receive())[0] != name:
            pass
        return found

    def is_closed_within(self, seconds: float) -> bool:
        """Reads on until the other side closes."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                if not self.socket.recv(65536):
                    return True
            except TimeoutError:
                return False
            except ConnectionResetError:
                return True
        return False

    def close(self) -> None:
        self.socket.close()
        if self._process is not None:
            self._process[0].close()
            os.waitpid(self._process[1], 0)
            self._process = None


class FakeHub:
    """A hub's socket under a generation's name."""

    def __init__(self, folder: Path, generation: int = 1, locked: bool = False):
        self.path = folder / f"hub.{generation}"
        self._lock = None
        if locked:
            self._lock = os.open(folder / f"hub.{generation}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._listening = socket.socket(socket.AF_UNIX)
        # It listens before it has its name, as the page asks for.
        before = folder / f"hub.{generation}.{os.getpid()}"
        self._listening.bind(str(before))
        self._listening.listen(64)
        self._listening.settimeout(PATIENCE)
        before.rename(self.path)
        self._accepted: list[Connection] = []

    @property
    def listening(self) -> socket.socket:
        return self._listening

    def accept(self) -> Connection:
        self._accepted.append(Connection(self._listening.accept()[0]))
        return self._accepted[-1]

    def connections_within(self, seconds: float) -> int:
        """Takes what comes, and closes it at once."""
        deadline, count = time.monotonic() + seconds, 0
        while (left := deadline - time.monotonic()) > 0:
            self._listening.settimeout(left)
            with contextlib.suppress(TimeoutError):
                self._listening.accept()[0].close()
                count += 1
        return count

    def close(self) -> None:
        for connection in self._accepted:
            connection.close()
        self._listening.close()
        if self._lock is not None:
            os.close(self._lock)
