# SPDX-License-Identifier: Apache-2.0
"""The protocol's frames and messages, for hubs and apps that misbehave (docs/protocol.md)."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
import uuid
from pathlib import Path

import cbor2

MESSAGE, DATA, END, RESET, CREDIT = range(5)
HELLO, WELCOME, GOODBYE, PING, PONG, PUT, WITHDRAW, OFFER, GONE, READY = range(1, 11)
FETCH, STATE, REFUSED, OUTCOME, NOTED, VANISHED, EXPLAIN, EXPLANATION = range(11, 19)
UNSUPPORTED_VERSION = 17
TYPE = "com.example.editing"


def frame(kind: int, body: bytes, channel: int = 0) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3, "big") + struct.pack(">I", channel) + body


def message(*fields: object) -> bytes:
    return frame(MESSAGE, cbor2.dumps(list(fields)))


def hello(name: str = "stranger", team: str = "T", types: tuple[str, ...] = (TYPE,), chooser: bool = False) -> bytes:
    return message(HELLO, 1, 1, uuid.uuid4(), f"com.example.{name}", name, team, list(types), chooser)


def offer(title: str = "absurd", **other: object) -> bytes:
    fields = {"id": uuid.uuid4(), "type": TYPE, "title": title, "version": 0, "size": 0, "age": 0, "remaining": None}
    fields |= {"streams": False, "origin": uuid.uuid4(), "app": "Fake", "bundle": "com.example.fake"}
    fields |= {"device": "fake", "rank": 1} | other
    return message(OFFER, *fields.values())


class Connection:
    """One end of a connection, with bytes as they come."""

    def __init__(self, connected: socket.socket):
        self.socket = connected
        self.socket.settimeout(10)
        self._bytes = b""

    @classmethod
    def to(cls, path: Path) -> Connection:
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(path))
        return cls(connected)

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def receive(self) -> list:
        """The next message; EOFError when the other side has closed."""
        while True:
            if len(self._bytes) >= 8:
                length = int.from_bytes(self._bytes[1:4], "big")
                if len(self._bytes) >= 8 + length:
                    kind, body = self._bytes[0], self._bytes[8 : 8 + length]
                    self._bytes = self._bytes[8 + length :]
                    if kind == MESSAGE:
                        return cbor2.loads(body)
                    continue
            if not (more := self.socket.recv(65536)):
                raise EOFError
            self._bytes += more

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


class FakeHub:
    """A hub's socket under a generation's name."""

    def __init__(self, folder: Path, generation: int = 1):
        self.path = folder / f"hub.{generation}"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.path))
        self._listening.listen(64)
        self._listening.settimeout(10)
        self._accepted: list[Connection] = []

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
