# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device of the account whose hub was modified: it shows its certificate, and then tells what it likes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import ssl
import uuid
from pathlib import Path
from typing import Any

import cbor2
import wire
from wire import PROTOCOL

TEAM = "T"


class SecureConnection(wire.Connection):
    def read(self, count: int) -> bytes:
        while len(self._bytes) < count:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self._bytes += more
        head, self._bytes = self._bytes[:count], self._bytes[count:]
        return head


def read(connected: socket.socket, count: int) -> bytes:
    said = b""
    while len(said) < count:
        more = connected.recv(count - len(said))
        assert more, "the listener has closed it"
        said += more
    return said


def knock(connected: socket.socket, key: bytes) -> None:
    """docs/device-links.md, "The knock"."""
    theirs, own = read(connected, 16), os.urandom(16)
    proof = {
        role: hmac.new(key, b"segue knock" + role + theirs + own, hashlib.sha256).digest() for role in (b"\1", b"\2")
    }
    connected.sendall(own + proof[b"\1"])
    assert read(connected, 32) == proof[b"\2"]


def context(folder: Path) -> ssl.SSLContext:
    """With the credentials of a device."""
    pem = folder / "hostile.pem"
    parts = []
    for name, label in (("key", "PRIVATE KEY"), ("certificate", "CERTIFICATE")):
        text = base64.encodebytes((folder / name).read_bytes()).decode()
        parts.append(f"-----BEGIN {label}-----\n{text}-----END {label}-----\n")
    pem.write_text("".join(parts))
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.options &= ~ssl.OP_ENABLE_MIDDLEBOX_COMPAT
    made.set_alpn_protocols(["segue/1"])
    made.load_cert_chain(pem)
    return made


class HostileHub:
    """A hub that is linked by hand."""

    @classmethod
    def of_probe(cls, port: int, folder: Path) -> HostileHub:
        """Linked with a DeviceProbe of epoch 1."""
        connected = socket.create_connection(("127.0.0.1", port), timeout=wire.PATIENCE)
        knock(connected, bytes([1]) * 32)
        return cls(context(folder).wrap_socket(connected))

    def __init__(self, secured: ssl.SSLSocket, claimed: uuid.UUID | None = None):
        """secured: a connection that this end has dialled, TLS being up; claimed: the identifier of another hub"""
        self.peer = SecureConnection(secured)
        self.id, self.app = claimed or uuid.UUID(int=uuid.uuid4().int >> 64), uuid.uuid4()
        self._number, self._channel = 0, 1
        self.peer.send_message("link", PROTOCOL, PROTOCOL, self.id, "hostile")
        self.other = self.peer.receive_kind("link")[3]
        self.peer.send_message("resume", uuid.uuid4(), [])
        self.peer.receive_kind("resume")
        # The lower identifier decides that a session begins.
        if self.id < self.other:
            self.peer.send_message("proceed", None, 0)
        else:
            self.peer.receive_kind("proceed")
        self.peer.send_message("route", self.id, [0, self.id])

    def offers(
        self, title: str, remaining: int | None = None, *further: object, activity: uuid.UUID | None = None
    ) -> uuid.UUID:
        """further: follows on what an offer between hubs has; activity: None: a new one"""
        self._number += 1
        activity = activity or uuid.uuid4()
        described = [activity, wire.TYPE, title, 0, 0, 0, remaining, False]
        names = [self.app, "Fake", "com.example.fake", "hostile", 1]
        origin = [TEAM, 1, self.id, self._number]
        self.peer.send_message("offer", *described, *names, origin, *further)
        return activity

    def offers_as(self, title: str, retained: list[object]) -> None:
        """Offers an activity that it says it has retained for another device."""
        self._number += 1
        described = [uuid.uuid4(), wire.TYPE, title, 0, 0, 0, None, False]
        names = [self.app, "Fake", "com.example.fake", "hostile", 1]
        self.peer.send_message("offer", *described, *names, [TEAM, 1, self.id, self._number, retained])

    def delivers(self, activity: uuid.UUID, **properties: Any) -> None:
        """Answers the next fetch, whatever it is for."""
        _, continuation, origin, wanted, _, receiver, *_ = self.peer.receive_kind("fetch")
        assert (origin, wanted) == (self.app, activity)
        state = cbor2.dumps(
            cbor2.CBORTag(55799, [1, {"type": wire.TYPE, "title": "delivered", **properties}]), canonical=True
        )
        channel, self._channel = self._channel, self._channel + 2
        self.peer.send_message("state", continuation, receiver[0], channel, len(state), False)
        self.peer.send(wire.frame("data", state, channel), wire.end(channel, len(state)))

    def outcome(self) -> int:
        """Acknowledges the outcome of the last continuation, and returns it."""
        _, continuation, _, _, kind, *_, receiver = self.peer.receive_kind("outcome")
        self.peer.send_message("outcomeAck", continuation, receiver[0])
        return kind

    def says_of_account(self, *elements: object) -> None:
        """docs/trust.md, "Over links"."""
        self.peer.send_message("account", cbor2.dumps(list(elements), canonical=True))

    def is_heard(self) -> list[str]:
        """Returns once the other agent has heard all that was said of the account: a push is answered after it.

        The names of all other messages that have come since.
        """
        names = []
        push = int.from_bytes(os.urandom(4), "big")
        self.says_of_account(8, push, uuid.uuid4(), None, 5_000)
        while (message := self.peer.receive())[0] != "account" or cbor2.loads(message[1])[:2] != [9, push]:
            names.append(message[0])
        return names

    def close(self) -> None:
        self.peer.close()
