# SPDX-License-Identifier: Apache-2.0
"""Frames and messages as docs/protocol.md has them, which is where the numbers are read from; hubs and apps by hand."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import time
import uuid
from pathlib import Path
from typing import Any

import cbor2

ROOT = Path(__file__).resolve().parent.parent
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
PROTOCOL = int(re.findall(r"^Version of the protocol: (\d+)", PAGE, re.MULTILINE)[0])

MESSAGE, DATA, END, RESET, CREDIT = (FRAMES[name] for name in ("message", "data", "end", "reset", "credit"))
TRANSFER = FRAMES["transfer"]
HELLO, WELCOME, GOODBYE, PING, PONG = (MESSAGES[name] for name in ("hello", "welcome", "goodbye", "ping", "pong"))
PUT, WITHDRAW, OFFER, GONE, READY = (MESSAGES[name] for name in ("put", "withdraw", "offer", "gone", "ready"))
FETCH, STATE, REFUSED, OUTCOME = (MESSAGES[name] for name in ("fetch", "state", "refused", "outcome"))
NOTED, VANISHED = MESSAGES["noted"], MESSAGES["vanished"]
LIMIT_EXCEEDED, UNSUPPORTED_VERSION = 10, 17  # statuses of segue.h
TYPE = "com.example.editing"


def frame(kind: int, body: bytes = b"", channel: int = 0) -> bytes:
    return struct.pack(">II", kind << 24 | len(body), channel) + body


def message(*fields: object) -> bytes:
    return frame(MESSAGE, cbor2.dumps(list(fields)))


def hello(name: str = "stranger", team: str = "T", types: tuple[str, ...] = (TYPE,), chooser: bool = False) -> bytes:
    return message(HELLO, PROTOCOL, PROTOCOL, uuid.uuid4(), f"com.example.{name}", name, team, list(types), chooser)


def offer(title: str = "absurd", **other: object) -> bytes:
    fields = {"id": uuid.uuid4(), "type": TYPE, "title": title, "version": 0, "size": 0, "age": 0, "remaining": None}
    fields |= {"streams": False, "origin": uuid.uuid4(), "app": "Fake", "bundle": "com.example.fake"}
    fields |= {"device": "fake", "rank": 1} | other
    return message(OFFER, *fields.values())


class Connection:
    """One end of a connection, with bytes as they come."""

    def __init__(self, connected: socket.socket):
        self.socket = connected
        self.socket.settimeout(PATIENCE)
        self._bytes = b""
        self.descriptors: list[int] = []
        """Those that came, each with a `transfer` frame, in their order."""

    @classmethod
    def to(cls, path: Path) -> Connection:
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(path))
        return cls(connected)

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def read(self, count: int) -> bytes:
        while len(self._bytes) < count:
            more, descriptors, _, _ = socket.recv_fds(self.socket, 65536, 1)
            self.descriptors += descriptors
            if not more:
                raise EOFError
            self._bytes += more
        head, self._bytes = self._bytes[:count], self._bytes[count:]
        return head

    def next_frame(self) -> tuple[int, int, bytes]:
        """Its kind, channel and body."""
        head, channel = struct.unpack(">II", self.read(HEAD_SIZE))
        return head >> 24, channel, self.read(head & 0xFFFFFF)

    def receive(self) -> list:
        """The next message, frames of other kinds passed over; EOFError when the other side has closed."""
        while True:
            kind, _, body = self.next_frame()
            if kind in (MESSAGE, TRANSFER):
                return cbor2.loads(body)

    def receive_kind(self, kind: int) -> list:
        while (found := self.receive())[0] != kind:
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


class Wire:
    """One end of a connection, by the page's names."""

    def __init__(self, connected: socket.socket):
        self.connection = Connection(connected)
        self.socket = connected

    def frame(self, kind: str, channel: int = 0, body: bytes = b"") -> None:
        self.connection.send(frame(FRAMES[kind], body, channel))

    def send(self, name: str, *elements: Any) -> None:
        self.connection.send(message(MESSAGES[name], *elements))

    def end(self, channel: int, count: int) -> None:
        """The channel is complete, and had so many bytes."""
        self.frame("end", channel, struct.pack(">Q", count))

    def transfer(self, descriptor: socket.socket, name: str, *elements: Any) -> None:
        """A message with a descriptor."""
        body = cbor2.dumps([MESSAGES[name], *elements])
        socket.send_fds(self.socket, [frame(TRANSFER, body)], [descriptor.fileno()])

    def next_frame(self) -> tuple[str, int, bytes]:
        number, channel, body = self.connection.next_frame()
        return next(name for name, known in FRAMES.items() if known == number), channel, body

    def next_message(self) -> tuple[str, list[Any]]:
        """Credit that comes before it is passed over."""
        kind, channel, body = self.next_frame()
        while kind == "credit":
            kind, channel, body = self.next_frame()
        if kind not in ("message", "transfer") or channel != 0:
            raise AssertionError(f"a message was expected, not a frame {kind} on channel {channel}")
        number, *elements = cbor2.loads(body)
        return NAMES[number], elements

    def expect(self, name: str) -> list[Any]:
        """The elements of the next message, which has to be this one."""
        came, elements = self.next_message()
        if came != name:
            raise AssertionError(f"{name} was expected, not {came} {elements}")
        return elements

    def ended(self) -> bool:
        """Reads what still comes, up to the end."""
        try:
            while True:
                self.connection.read(1)
        except EOFError:
            return True

    def close(self) -> None:
        self.socket.close()


class FakeHub:
    """A hub's socket under a generation's name."""

    def __init__(self, folder: Path, generation: int = 1):
        self.path = folder / f"hub.{generation}"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.path))
        self._listening.listen(64)
        self._listening.settimeout(10)
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
