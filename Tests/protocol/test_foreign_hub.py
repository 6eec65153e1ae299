# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's apps at a hub of ours, which they use, leave, or prefer to their own."""

from __future__ import annotations

import hashlib
import os
import struct
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import cbor2
import pytest
from documents import TYPE, document
from native import TEAM
from wire import PATIENCE, PROTOCOL, FakeHub


@pytest.fixture
def hub(folder: Path) -> Iterator[Callable[[int], FakeHub]]:
    """hub(N): a hub of generation N that holds its lock."""
    hubs: list[FakeHub] = []

    def listen(generation: int) -> FakeHub:
        hubs.append(FakeHub(folder, generation, locked=True))
        return hubs[-1]

    yield listen
    for each in hubs:
        each.close()


def test_apps_of_the_library_use_it_and_take_over_when_it_is_gone(hub, native, folder):
    ours = hub(1)
    app = native(TYPE)
    peer = ours.accept()
    version, minimum, _, bundle, _, team, types, chooser = peer.expect("hello")
    assert minimum <= PROTOCOL <= version
    assert (bundle, team, types, chooser) == ("com.example.native", TEAM, [TYPE], False)
    peer.send_message("welcome", PROTOCOL, 1, "device")
    offer = [uuid.uuid4(), TYPE, "By a hub in Python", 0, 0, 0, None, False]
    peer.send_message("offer", *offer, uuid.uuid4(), "App", "com.example.app", "device", 1)
    peer.send_message("ready")
    app.until(("appeared", "By a hub in Python"))
    app.until("ready")

    _, activity = app.offer_document(document("Mine"))
    put = peer.expect("publish")
    assert (put[0], put[1], put[2]) == (activity, TYPE, "Mine")
    peer.close()
    ours.listening.close()  # its lock stays, as that of a process that hangs
    app.seen.clear()
    app.until("ready")
    assert (folder / "hub.2").exists()


def test_a_thread_that_stops_dispatching_leaves_the_socket_to_the_library(hub, native):
    ours = hub(1)
    app = native(TYPE)
    peer = ours.accept()
    peer.expect("hello")
    peer.send_message("welcome", PROTOCOL, 1, "device")
    peer.send_message("ready")
    app.until("ready")
    # So many in a row that the dispatching thread keeps the socket between them.
    for number in range(100):
        offer = [uuid.uuid4(), TYPE, f"offer {number}", 0, 0, 0, None, False]
        peer.send_message("offer", *offer, uuid.uuid4(), "App", "com.example.app", "device", number + 1)
        app.until(("appeared", f"offer {number}"))
    # From now on no thread dispatches.
    for number in range(3):
        peer.send_message("ping", number)
        assert peer.expect("pong") == [number]


def test_a_hub_that_never_welcomes_is_left_behind(hub, native, folder):
    ours = hub(1)
    app = native()
    peer = ours.accept()
    peer.expect("hello")
    app.until("ready")
    assert peer.is_closed_within(PATIENCE)
    assert (folder / "hub.2").exists()


def test_a_higher_generation_replaces_the_hub_of_the_library(hub, native, register):
    app = native()
    app.until("ready")
    former, _ = register()
    former.expect("ready")
    ours = hub(9)
    assert former.expect("goodbye")[0] == 21
    assert former.is_closed_within(PATIENCE)
    peer = ours.accept()
    peer.expect("hello")
    app.seen.clear()
    peer.send_message("welcome", PROTOCOL, 9, "device")
    peer.send_message("ready")
    app.until("ready")


def test_what_is_to_stay_offered_is_left_with_the_agent(hub, native, tmp_path):
    """R2.5: once an agent is there, again for the next one, and until the app takes it back; with its attachments."""
    ours = hub(1)
    app = native(TYPE)
    peer = ours.accept()
    secret = peer.expect("hello")[2]
    peer.send_message("welcome", PROTOCOL, 1, "device", ["1.0", 0])
    peer.send_message("ready")
    app.until("ready")
    activity, id = app.offer_document(document("Kept"))
    peer.receive_kind("publish")
    app.call("segue_activity_set_keeps_offering", activity, True)
    file = tmp_path / "photo"
    file.write_bytes(b"pixels")
    app.call("segue_activity_attach_file", activity, b"photo", 5, str(file).encode(), len(str(file).encode()))
    app.call("segue_app_set_foreground", app.app, False)
    for _ in range(2):
        peer.send_message("keeps")
        _, named, who, channel, size = peer.receive_kind("keep")
        assert peer.receive() == ["keepAttachment", channel, "photo", file.stat().st_mtime_ns]
        with os.fdopen(peer.descriptors.pop(), "rb") as handed:
            assert handed.read() == b"pixels"
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.write(handed.fileno(), b"!")
        assert (named, who) == (id, uuid.UUID(bytes=hashlib.sha256(secret.bytes).digest()[:16]))
        kind, on, body = peer.next_frame()
        assert (kind, on, len(body)) == ("data", channel, size)
        assert cbor2.loads(body)[1]["title"] == "Kept"
        assert peer.next_frame() == ("end", channel, struct.pack(">Q", size))
    app.call("segue_activity_resign_current", activity)
    _, named, _, channel, size = peer.receive_kind("keep")
    assert (named, channel, size) == (id, 0, 0)
