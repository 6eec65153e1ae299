# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The knowledge of a stranger who records all that two machines say to each other on a network (R10.1)."""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from programs import programs
from project import ROOT

BEACON = 38
TCP, UDP, ETHERNET, IPV4, IPV6 = 6, 17, 14, 0x0800, 0x86DD
APPLICATION_DATA, RECORD_HEAD = 23, 5


def frames(path: Path) -> list[bytes]:
    recorded, found, place = path.read_bytes(), [], 0
    while place < len(recorded):
        (size,) = struct.unpack_from(">I", recorded, place)
        found.append(recorded[place + 4 : place + 4 + size])
        place += 4 + size
    return found


def datagram(frame: bytes) -> bytes | None:
    """The payload of a UDP datagram; None for other frames."""
    (kind,) = struct.unpack(">H", frame[12:ETHERNET])
    if kind == IPV4 and frame[ETHERNET + 9] == UDP:
        return frame[ETHERNET + 4 * (frame[ETHERNET] & 15) + 8 :]
    return frame[ETHERNET + 48 :] if kind == IPV6 and frame[ETHERNET + 6] == UDP else None


def segment(frame: bytes) -> tuple[tuple[bytes, bytes], int, bytes] | None:
    """The ends of a TCP segment, its number and what it has; None for other frames."""
    (kind,) = struct.unpack(">H", frame[12:ETHERNET])
    packet = frame[ETHERNET:]
    if kind == IPV4 and packet[9] == TCP:
        addresses, start = (packet[12:16], packet[16:20]), 4 * (packet[0] & 15)
        (size,) = struct.unpack(">H", packet[2:4])
    elif kind == IPV6 and packet[6] == TCP:
        addresses, start = (packet[8:24], packet[24:40]), 40
        size = start + struct.unpack(">H", packet[4:6])[0]
    else:
        return None
    head = packet[start:size]
    ends = (addresses[0] + head[0:2], addresses[1] + head[2:4])
    return ends, struct.unpack(">I", head[4:8])[0], head[4 * (head[12] >> 4) :]


def record_lengths(seen: list[bytes]) -> list[int]:
    """The lengths of all records of TLS, as the other end got them. The connections must have been silent when the
    recording began."""
    streams: dict[tuple[bytes, bytes], dict[int, bytes]] = {}
    for found in filter(None, map(segment, seen)):
        ends, number, payload = found
        if payload:
            streams.setdefault(ends, {}).setdefault(number, payload)
    lengths = []
    for pieces in streams.values():
        first = next(iter(pieces))
        bytes_, place = b"", 0
        for number in sorted(pieces, key=lambda each: (each - first) % 2**32):
            place = (number - first) % 2**32
            assert place <= len(bytes_), "a segment was not recorded"
            bytes_ = bytes_[:place] + pieces[number] if place + len(pieces[number]) > len(bytes_) else bytes_
        place = 0
        while place < len(bytes_):
            kind, _, length = struct.unpack_from(">BHH", bytes_, place)
            assert kind == APPLICATION_DATA, "a record begins elsewhere"
            lengths.append(length)
            place += RECORD_HEAD + length
        assert place == len(bytes_), "the last record is not whole"
    return lengths


@contextlib.contextmanager
def recorded(machine, path: Path) -> Iterator[list[bytes]]:
    """All that goes over a machine's cable while the block runs: in the list after it."""
    seen: list[bytes] = []
    with programs() as start:
        words = [sys.executable, ROOT / "Tests" / "devices" / "recorder.py", "cable", path]
        recorder = start("recorder", [*machine.under, *words])
        recorder.wait_for("records")
        yield seen
        recorder.tell("end")
        recorder.wait_for("has recorded")
    seen += frames(path)


def test_a26_no_length_tells_a_title(cable, agents, app, tmp_path):
    """The records between two agents are as long for a title of one byte as for one of 150."""
    cable.address()
    one, two = agents("one", cable.machines[0]).begin(), agents("two", cable.machines[1]).begin()
    one.create().admit(two)
    one.linked(two.name)
    two.linked(one.name)
    mine, yours = app(one, "towels"), app(two, "towels")
    mine.tell("offer first")
    yours.hears("appeared first")
    lengths = {}
    for title in ("a", "b" * 150):
        with recorded(cable.machines[1], tmp_path / title[:1]) as seen:
            # The same activity, and another one.
            mine.tell(f"title {title}")
            yours.hears(f"changed {title}")
            mine.tell(f"offer {title}")
            yours.hears(f"appeared {title}")
        lengths[len(title)] = record_lengths(seen)
    assert len(lengths[1]) >= 2 and set(lengths[1]) == set(lengths[150])
    # The control: a document of another size is seen.
    with recorded(cable.machines[1], tmp_path / "payload") as seen:
        mine.tell("offer large", "payload 20000")
        yours.hears("appeared large")
        yours.ask("continue large", r"continue \w+ 200\d\d large")
    assert set(record_lengths(seen)) != set(lengths[1])


def test_r10_1_a_stranger_learns_of_no_activity_app_user_or_device(cable, agents, app, tmp_path):
    cable.address()
    recording = tmp_path / "recorded"
    one, two = agents("Arthurs desk", cable.machines[0]), agents("Zaphods lap", cable.machines[1])
    with recorded(cable.machines[1], recording) as seen:
        one.begin()
        two.begin()
        one.create("Betelgeuse").admit(two)
        one.linked(two.name)
        two.linked(one.name)
        two.ask("set-devices", push="at-once")
        mine, yours = app(one, "towels"), app(two, "towels")
        mine.tell("offer Mostly harmless", "payload 20000")
        yours.hears("appeared Mostly harmless")
        yours.ask("continue Mostly harmless", r"continue \w+ 200\d\d Mostly harmless")
        mine.ask(f"push_to_device {one.device(two.name)['device'].hex}", "push_to_device OK")
        yours.hears(r"continue \w+ 200\d\d Mostly harmless( redelivered)?")
    state = one.account()
    ids = [state["account"], *(device["device"] for device in state["devices"])]
    names = [one.name, two.name, "Betelgeuse", "Mostly harmless", "com.example", "towels"]
    secrets = [text.encode(form) for text in names for form in ("utf-8", "utf-16-le")]
    secrets += [form for each in ids for form in (each.bytes, each.hex.encode(), str(each).encode())]
    assert not [secret for secret in secrets for frame in seen if secret in frame]
    # It has recorded what it is about.
    assert sum(map(len, seen)) > 40_000
    beacons = {payload for payload in map(datagram, seen) if payload and len(payload) == BEACON}
    assert beacons
    # Two beacons that differ have no four equal bytes at one place.
    for beacon in beacons:
        for other in beacons - {beacon}:
            assert not any(beacon[place : place + 4] == other[place : place + 4] for place in range(BEACON - 3))
