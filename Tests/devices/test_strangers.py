# SPDX-License-Identifier: Apache-2.0
"""What somebody learns who records all that two machines say to each other on a network (R10.1)."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from programs import programs
from project import ROOT

BEACON = 38
UDP, ETHERNET, IPV4, IPV6 = 17, 14, 0x0800, 0x86DD


def frames(path: Path) -> list[bytes]:
    recorded, found, place = path.read_bytes(), [], 0
    while place < len(recorded):
        (size,) = struct.unpack_from(">I", recorded, place)
        found.append(recorded[place + 4 : place + 4 + size])
        place += 4 + size
    return found


def datagram(frame: bytes) -> bytes | None:
    """What a UDP datagram has; None for other frames."""
    (kind,) = struct.unpack(">H", frame[12:ETHERNET])
    if kind == IPV4 and frame[ETHERNET + 9] == UDP:
        return frame[ETHERNET + 4 * (frame[ETHERNET] & 15) + 8 :]
    return frame[ETHERNET + 48 :] if kind == IPV6 and frame[ETHERNET + 6] == UDP else None


def test_r10_1_a_stranger_learns_of_no_activity_app_user_or_device(cable, agents, app, tmp_path):
    cable.address()
    recording = tmp_path / "recorded"
    one, two = agents("Arthurs desk", cable.machines[0]), agents("Zaphods lap", cable.machines[1])
    with programs() as start:
        words = [sys.executable, ROOT / "Tests" / "devices" / "recorder.py", "cable", recording]
        recorder = start("recorder", [*cable.machines[1].under, *words])
        recorder.wait_for("records")
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
        recorder.tell("end")
        recorder.wait_for("has recorded")
    state = one.account()
    ids = [state["account"], *(device["device"] for device in state["devices"])]
    names = [one.name, two.name, "Betelgeuse", "Mostly harmless", "com.example", "towels"]
    secrets = [text.encode(form) for text in names for form in ("utf-8", "utf-16-le")]
    secrets += [form for each in ids for form in (each.bytes, each.hex.encode(), str(each).encode())]
    seen = frames(recording)
    assert not [secret for secret in secrets for frame in seen if secret in frame]
    # It has recorded what it is about.
    assert sum(map(len, seen)) > 40_000
    beacons = {payload for payload in map(datagram, seen) if payload and len(payload) == BEACON}
    assert beacons
    # Of two that differ no four bytes are alike at a place.
    for beacon in beacons:
        for other in beacons - {beacon}:
            assert not any(beacon[place : place + 4] == other[place : place + 4] for place in range(BEACON - 3))
