# SPDX-License-Identifier: Apache-2.0
"""Attacks on the links of real processes that must fail (SECURITY.md), each beside what works without the attack."""

from __future__ import annotations

import socket
import time

import pytest
from programs import programs

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


def test_a19_a_device_links_in_a_second_though_a_thousand_connections_are_half_open(device):
    flooded, genuine, third = device("1"), device("2"), device("3")
    began = time.monotonic()
    link(third, genuine)
    usual = time.monotonic() - began  # on a machine that may be busy
    flood = []
    try:
        for _ in range(1_000):
            flood.append(connect(flooded))
        began = time.monotonic()
        link(genuine, flooded)
        assert time.monotonic() - began < 1 + 10 * usual
        # The first ones were closed to make room, and the last one is after five seconds.
        for one in (flood[0], flood[-1]):
            one.settimeout(10)
            assert len(one.recv(100)) == 16 and one.recv(100) == b""
        assert time.monotonic() - began < 8 + 10 * usual
    finally:
        for one in flood:
            one.close()


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


def test_a12_what_a_listener_says_is_refused_when_it_comes_back(device):
    """A mirror between the two: what the dialler says comes back to it."""
    dialling, genuine = device("1"), device("2")
    with socket.create_server((LOCAL, 0)) as mirror:
        dialling.tell(f"dial {LOCAL}:{mirror.getsockname()[1]}")
        there, _ = mirror.accept()
        with there:
            there.settimeout(10)
            there.sendall(bytes(range(16)))
            answer = there.recv(100)
            assert len(answer) == 48
            there.sendall(answer)
            assert there.recv(100) == b""
    link(dialling, genuine)


def test_a12_a_device_that_is_led_to_itself_gives_up(device):
    """A proxy passes all that the dialler says to the dialler's own listener."""
    one, other = device("1", level="debug"), device("2")
    one.tell(f"dial {LOCAL}:{one.port}")
    one.program.wait_for("leads back to this device")
    assert one.devices == []
    one.tell(f"dial {LOCAL}:{other.port}")
    one.linked(other)


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
    for wrong in ["nowhere:1", "1.2.3.4", "1.2.3.4:0", "1.2.3.4:65536", "fe80::1:80", "[fe80::1]"]:
        one.tell(f"dial {wrong}")
        assert one.program.wait_for("error .*invalidArgument (.*)")[1].startswith(f"{wrong}: is no address")


def test_no_connection_outlives_the_hub(device):
    with programs():
        one, other = device("1"), device("2")
        link(one, other)
        assert one.program.wait() == 0
        other.unlinked(one)
