# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's apps at a hub of ours that an agent carries: what they ask it ("What apps ask the agent")."""

from __future__ import annotations

import ctypes
import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
import wire
from documents import TYPE, of
from native import Native
from wire import PROTOCOL, Connection, FakeHub

AGENT = uuid.uuid4()
SEARCH = 2
"""The bit of eligibility, without handoff's."""


@pytest.fixture
def hub(folder: Path) -> Iterator[FakeHub]:
    ours = FakeHub(folder, 1, locked=True)
    yield ours
    ours.close()


@pytest.fixture
def app(hub: FakeHub, native) -> tuple[Native, Connection, uuid.UUID]:
    """An app that our hub has welcomed, its connection, and the name of its questions."""
    made = native(TYPE)
    peer = hub.accept()
    secret = int.from_bytes(peer.expect("hello")[2].bytes, "big")
    peer.send_message("welcome", PROTOCOL, 1, "device", ["9.9", 0, AGENT])
    peer.send_message("ready")
    made.until("ready")
    assert peer.expect("accepts") == [True]
    name = hashlib.sha256((secret ^ 1).to_bytes(16, "big")).digest()[:16]
    return made, peer, uuid.UUID(bytes=name)


def asked(peer: Connection, name: uuid.UUID) -> tuple[list[Any], Any]:
    """The next request, which is for the agent itself, and what its bytes say."""
    elements = peer.expect("request")
    _, continuation, origin, activity, _, milliseconds, channel, size = elements
    assert (continuation, origin, activity) == (name, AGENT, AGENT) and milliseconds <= 20_000
    data = b""
    while (frame := peer.next_frame())[0] == "data" and frame[1] == channel:
        data += frame[2]
    assert frame == ("end", channel, len(data).to_bytes(8, "big")) and size == len(data)
    return elements, cbor2.loads(data)


def answer(peer: Connection, question: list[Any], channel: int, **value: Any) -> None:
    number, continuation, origin, activity, app, *_ = question
    data = cbor2.dumps(value, canonical=True)
    peer.send_message("response", number, continuation, origin, activity, app, channel, len(data), 0, "")
    peer.send(wire.frame("data", data, channel), wire.end(channel, len(data)))


def test_an_app_saves_what_is_eligible_for_search(app):
    """R8.1: with the required keys only (R1.3), and though it is not offered."""
    native, peer, name = app
    keys = cbor2.CBORTag(258, ["page"])
    info = {"page": 3, "draft": "secret"}
    _, activity = native.offer_document(
        of(title="Budget", eligibility=SEARCH, user_info=info, required_user_info_keys=keys)
    )
    question, asks = asked(peer, name)
    assert asks["ask"] == "save" and asks["activity"] == activity
    version, properties = cbor2.loads(asks["document"])
    assert version == 1 and properties["user_info"] == {"page": 3} and properties["title"] == "Budget"
    answer(peer, question, 2, count=1)


def test_an_app_deletes_after_what_it_has_saved_before(app):
    """R8.2: one question at a time; the answer of the last comes to the host."""
    native, peer, name = app
    counts: list[tuple[int, bool]] = []
    pointers = [ctypes.c_void_p] * 2
    callback = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_size_t, ctypes.c_void_p)(
        lambda _, __, count, error: counts.append((count, error is None)) or native.note("deleted")
    )
    native.offer_document(of(title="Budget", eligibility=SEARCH))
    question, asks = asked(peer, name)
    assert asks["ask"] == "save"
    native.call("segue_app_delete_all_saved", native.app, callback, None, None)
    peer.send_message("ping", 7)
    assert peer.next_message() == ("pong", [7]), "the deletion waits for the answer"
    answer(peer, question, 2, count=1)
    question, asks = asked(peer, name)
    assert asks == {"ask": "delete"}
    answer(peer, question, 4, count=12)
    native.until("deleted")
    assert counts == [(12, True)]


def test_an_app_asks_again_if_the_agent_is_busy(app):
    native, peer, name = app
    native.offer_document(of(title="Budget", eligibility=SEARCH))
    (number, continuation, origin, activity, its, *_), asks = asked(peer, name)
    peer.send_message("response", number, continuation, origin, activity, its, 0, 0, 21, "not connected")
    question, again = asked(peer, name)
    assert again == asks
    answer(peer, question, 2, count=1)
