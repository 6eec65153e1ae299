# SPDX-License-Identifier: Apache-2.0
"""Frames and messages as docs/protocol.md has them, which is where the numbers are read from."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path
from typing import Any

import cbor2

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "protocol.md").read_text()
PATIENCE = 10  # seconds for what takes milliseconds

# The page's messages and frames by name, as the page numbers them.
MESSAGES = {name: int(number) for name, number in re.findall(r"^([a-z]+) = \[(\d+)", PAGE, re.MULTILINE)}
FRAMES = {name: int(number) for number, name in re.findall(r"^\| (\d) \| (\w+) \|", PAGE, re.MULTILINE)}
OUTCOMES = {name: int(number) for name, number in re.findall(r"^([a-z]+) = (\d)$", PAGE, re.MULTILINE)}
NAMES = {number: name for name, number in MESSAGES.items()}


class Wire:
    """One end of a connection, by the page."""

    def __init__(self, connection: socket.socket):
        self.socket = connection
        self.socket.settimeout(PATIENCE)
        self.bytes = b""

    def frame(self, kind: str, channel: int = 0, body: bytes = b"") -> None:
        self.socket.sendall(struct.pack(">II", FRAMES[kind] << 24 | len(body), channel) + body)

    def send(self, name: str, *elements: Any) -> None:
        self.frame("message", 0, cbor2.dumps([MESSAGES[name], *elements]))

    def read(self, count: int) -> bytes:
        while len(self.bytes) < count:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.bytes += more
        head, self.bytes = self.bytes[:count], self.bytes[count:]
        return head

    def next_frame(self) -> tuple[str, int, bytes]:
        head, channel = struct.unpack(">II", self.read(8))
        kind = next(name for name, number in FRAMES.items() if number == head >> 24)
        return kind, channel, self.read(head & 0xFFFFFF)

    def next_message(self) -> tuple[str, list[Any]]:
        """Credit that comes before it is passed over."""
        kind, channel, body = self.next_frame()
        while kind == "credit":
            kind, channel, body = self.next_frame()
        if (kind, channel) != ("message", 0):
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
                self.read(1)
        except EOFError:
            return True

    def close(self) -> None:
        self.socket.close()
