# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attacks on the links of real processes that must fail (SECURITY.md), each beside what works without the attack."""

from __future__ import annotations

import re
import socket
import time

import cbor2
import pytest
from hostile import HostileHub
from programs import programs
from wire import OUTCOMES

LOCAL = "127.0.0.1"


def connect(device) -> socket.socket:
    return socket.create_connection((LOCAL, device.port), timeout=10)


def link(one, other) -> None:
    one.tell(f"dial {LOCAL}:{other.port}")
    one.linked(other)
    other.linked(one)


def test_a15_the_open_connection_of_a_revoked_device_ends_within_a_second(device, account):
    one, lost, third = device("1"), device("2"), device("3")
    link(one, lost)
    link(third, one)
    began = time.monotonic()
    one.tell(f"renew {account}/1/revoking-2 2 1")
    one.unlinked(lost)
    assert time.monotonic() - began < 1
    lost.unlinked(one)
    assert one.devices == [third.name]
    # It dials again, under the epoch that it knows: the knock is answered, and TLS refuses it.
    lost.tell(f"dial {LOCAL}:{one.port}")
    lost.program.wait_for("no link with .* certificate revoked")
    assert lost.devices == [] and one.devices == [third.name]
    one.tell(f"dial {LOCAL}:{lost.port}")
    one.program.wait_for("certificate: certificate revoked")


@pytest.mark.parametrize(
    "said", [b"", b"\x00" * 48, b"GET / HTTP/1.1\r\nHost: there\r\nUser-Agent: nobody\r\n\r\n", b"\x16\x03\x01" * 40]
)
def test_a21_a_probe_learns_nothing(device, said):
    listening, genuine = device("1"), device("2")
    heard = []
    for _ in range(10):
        with connect(listening) as probe:
            probe.sendall(said)
            probe.shutdown(socket.SHUT_WR)
            heard.append(b"".join(iter(lambda: probe.recv(4096), b"")))
    assert all(len(one) == 16 for one in heard) and len(set(heard)) == 10
    # No byte of them is the same in all.
    assert all(len({one[place] for one in heard}) > 1 for place in range(16))
    link(genuine, listening)


def test_a_device_that_slept_through_a_revocation_is_linked_under_its_old_epoch(device, account):
    awake, sleeper = device("1", epochs=(3, 2, 1)), device("3")
    sleeper.tell(f"dial {LOCAL}:{awake.port}")
    sleeper.linked(awake)
    # The other way around the knock goes back from epoch to epoch.
    second = device("2", epochs=(3, 2, 1))
    second.tell(f"dial {LOCAL}:{sleeper.port}")
    second.linked(sleeper, 20)


def test_a_wrong_address_is_named(device):
    one = device("1")
    unreadable = ["nowhere:1", "1.2.3.4", "1.2.3.4:0", "1.2.3.4:65536", "fe80::1:80", "[fe80::1]"]
    ambiguous = ["1:80", "127.1:80", "010.0.0.1:80", "1.2.3.4:+80"]
    of_many = ["0.0.0.0:80", "224.0.0.1:80", "255.255.255.255:80", "[::]:80", "[ff02::1]:80"]
    for wrong in unreadable + ambiguous + of_many:
        one.tell(f"dial {wrong}")
        assert one.program.wait_for("error .*invalidArgument (.*)")[1].startswith(f"{wrong}: is no address")


def test_no_connection_outlives_the_hub(device):
    with programs():
        one, other = device("1"), device("2")
        link(one, other)
        assert one.program.wait() == 0
        other.unlinked(one)


def test_a18_what_has_expired_or_is_private_is_neither_shown_nor_continued(device, account, app):
    """The hub of another device of the account was modified: it offers such things, and delivers them."""
    receiving = device("1")
    notes = app(receiving, "notes")
    hub = HostileHub.of_probe(receiving.port, account / "3")
    try:
        hub.offers("expired", 0)
        hub.offers("private", None, True)
        past, future = (cbor2.CBORTag(1, time.time() + days * 86_400) for days in (-2, 2))
        for title, document, error in (
            ("late", {"expiration_date": past}, "has expired"),
            ("secret", {"private": True}, "is private"),
            # The same without the attack.
            ("in time", {"expiration_date": future}, None),
            ("public", {"private": False}, None),
        ):
            activity = hub.offers(title)
            notes.hears(f"appeared {title}")
            notes.tell(f"continue {title}")
            hub.delivers(activity, **document)
            if error:
                notes.hears(rf"did_fail \w+ HANDOFF_FAILED the activity {error}.*")
                assert hub.outcome() == OUTCOMES["failed"]
            else:
                notes.hears(r"continue \w+ \d+ delivered")
                assert hub.outcome() == OUTCOMES["restored"]
        # Later offers over the same link were shown: these were not.
        assert not [line for line in notes.program.said if re.search("appeared (expired|private)", line)]
    finally:
        hub.close()
