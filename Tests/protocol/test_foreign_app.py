# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An app of ours at the hub of the library: it offers, continues, and is told."""

from __future__ import annotations

import ctypes
import struct
import uuid

import pytest
from documents import TYPE, document
from wire import OUTCOMES, PROTOCOL, frame, message

USER_INFO_LIMIT = ctypes.c_int32(2)
TEAM_HELLO = (PROTOCOL, PROTOCOL, uuid.uuid4(), "com.example.foreign", "Foreign", "TEAM000001", [], False)


def test_a_put_is_seen_and_continued_by_an_app_of_the_library(origin):
    app, peer, id, activity = origin.continued()
    continuation, asked_of, asked, milliseconds, receiver, account, *marks = peer.expect("fetch")
    assert (asked_of, asked, receiver[3], marks) == (id, activity, "com.example.native", [None, True])
    assert isinstance(account, type(receiver[0])) and account != receiver[0]
    assert 0 < milliseconds <= 20_000
    state = document("From Python", line=7)
    peer.send_state(continuation, receiver[0], state)
    app.until(state)
    assert app.seen[-2:] == ["will_continue", state]

    answered, asked_of, asked, outcome, status, _, told = peer.expect("outcome")
    assert (answered, asked_of, asked) == (continuation, id, activity)
    assert (outcome, status, told) == (1, 0, receiver)
    peer.send_message("outcomeAck", continuation, receiver[0])
    peer.send_message("withdraw", activity)
    app.until(("gone", "From Python"))


def test_a_state_that_is_stale_says_why_in_one_line(origin):
    """R2.4"""
    app, peer, _, _ = origin.continued()
    continuation, _, _, _, receiver, *_ = peer.expect("fetch")
    state = document("From Python", line=7)
    peer.send_state(continuation, receiver[0], state, why_stale="disk\nfull\x1b[2J")
    app.until(state)
    came, text, length = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    app.call("segue_activity_get_continued_from", app.activity, ctypes.byref(came))
    path = b"stale_reason"
    app.call("segue_value_find_string", came, path, len(path), ctypes.byref(text), ctypes.byref(length))
    assert ctypes.string_at(text, length.value) == b"disk full [2J"
    app.library.segue_free(text)
    app.call("segue_release", came)


@pytest.fixture
def large_states(library):
    library.segue_limit_set(USER_INFO_LIMIT, ctypes.c_uint64(1 << 20))
    yield
    library.segue_limit_set(USER_INFO_LIMIT, ctypes.c_uint64(1 << 18))


def test_it_continues_an_activity_of_the_library_by_credit(native, register, large_states):
    app = native()
    app.until("ready")
    state = document("Long", text="x" * 700_000)
    peer, _ = register(TYPE)
    peer.expect("ready")
    _, activity = app.offer_document(state)
    id, type, title, *_, origin, name, bundle, device, rank = peer.expect("offer")
    assert (id, type, title, name, bundle) == (activity, TYPE, "Long", *["com.example.native"] * 2)
    assert device and rank

    continuation = uuid.uuid4()
    peer.send_message("fetch", continuation, origin, activity, 10_000, None)
    told, _, channel, size, stale = peer.expect("state")
    assert (told, size, stale) == (continuation, len(state), False)
    received, granted = b"", 262_144
    while True:
        kind, number, body = peer.next_frame()
        assert number == channel
        if kind == "end":
            break
        assert kind == "data"
        received += body
        assert len(received) <= granted
        if len(received) == granted:
            granted += 200_000
            peer.send(frame("credit", struct.pack(">I", 200_000), channel))
    assert received == state
    peer.send_message("outcome", continuation, origin, activity, 1, 0, "", None)
    app.until(("outcome", 1))
    assert peer.expect("outcomeAck")[0] == continuation


def test_the_state_of_an_activity_goes_back_to_its_origin(native, register):
    app = native()
    app.until("ready")
    state = document("Mine")
    peer, id = register(TYPE)
    peer.expect("ready")
    handle, activity = app.offer_document(state)
    origin = peer.expect("offer")[8]
    continuation = uuid.uuid4()
    peer.send_message("fetch", continuation, origin, activity, 10_000, None)
    peer.expect("state")
    assert peer.next_frame()[2] == state
    assert peer.next_frame()[0] == "end"
    peer.send_message("outcome", continuation, origin, activity, 1, 0, "", None)
    app.until(("outcome", 1))
    peer.expect("outcomeAck")

    app.resume_back(handle)
    name, asked_of, asked, milliseconds, receiver, _, back, near = peer.expect("fetch")
    assert (asked_of, asked, back, near) == (id, continuation, True, True)
    assert (receiver[0], receiver[3]) == (origin, "com.example.native")
    assert 0 < milliseconds <= 20_000
    changed = document("Ours", line=8)
    peer.send_state(name, receiver[0], changed)
    app.until(("resumed back", 0))
    assert app.seen[-2] == changed
    answered, *_, outcome, status, _, told = peer.receive_kind("outcome")[1:]
    assert (answered, outcome, status, told) == (name, 1, 0, receiver)
    peer.send_message("outcomeAck", name, receiver[0])

    app.resume_back(handle)
    name, *_, receiver, _, _, _ = peer.receive_kind("fetch")[1:]
    peer.send_message("refused", name, receiver[0], 20, "it is not kept")
    app.until(("resumed back", 20))


def test_the_receiver_hears_that_the_origin_is_gone(origin):
    app, peer, _, _ = origin.continued()
    peer.expect("fetch")
    peer.close()
    app.until(("failed", 21))
    app.until(("gone", "From Python"))


def test_the_origin_hears_that_the_receiver_is_gone(native, register):
    app = native(TYPE)
    app.until("ready")
    state = document("Mine")
    witness, _ = register(TYPE)
    witness.expect("ready")
    _, activity = app.offer_document(state)
    witness.expect("offer")  # the hub knows of it now, and tells who comes before it says "ready"
    peer, _ = register(TYPE)
    origin = peer.expect("offer")[8]
    peer.expect("ready")
    peer.send_message("fetch", uuid.uuid4(), origin, activity, 10_000, None)
    size = peer.expect("state")[3]
    assert peer.next_frame()[2] == state
    assert size == len(state)
    peer.close()
    app.until(("outcome", OUTCOMES["unknown"]))


def test_a_young_hub_waits_for_the_origin_of_a_fetch_and_of_an_outcome(native, register):
    native().until("ready")
    peer, id = register()
    peer.expect("ready")
    fetched, ended, nobody = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    peer.send_message("fetch", fetched, nobody, uuid.uuid4(), 10_000, None)
    peer.send_message("outcome", ended, nobody, uuid.uuid4(), 1, 0, "", None)
    answers = [peer.next_message() for _ in range(2)]
    assert sorted(name for name, _ in answers) == ["outcomeAck", "refused"]
    for name, elements in answers:
        assert elements[:2] == [fetched if name == "refused" else ended, id]
        assert elements[2:3] == ([21] if name == "refused" else [])


def test_it_is_told_who_would_not_see_its_activity(native, register):
    native("com.example.other").until("ready")
    peer, _ = register()
    peer.expect("ready")
    peer.send_message("explain", 5, uuid.uuid4(), TYPE)
    assert peer.expect("explanation") == [5, 1, ["com.example.native", 2]]
    peer.send_message("ping", 9)
    assert peer.expect("pong") == [9]


HELLO = message("hello", *TEAM_HELLO)
BAD = {
    "an unknown frame": struct.pack(">II", 9 << 24, 0),
    "a message of 16 MiB": struct.pack(">II", 0xFFFFFF, 0),
    "no hello": message("ping", 1),
    "hello twice": HELLO * 2,
    "no CBOR": frame("message", b"\xff"),
    "a channel that never was": HELLO + frame("data", b"x", 7),
}


@pytest.mark.parametrize("bytes_", BAD.values(), ids=BAD.keys())
def test_what_the_page_does_not_allow_ends_the_connection_and_nothing_else(native, connect, register, bytes_):
    native(TYPE).until("ready")
    peer = connect()
    peer.send(bytes_)
    assert peer.is_closed_within(10)
    other, _ = register()
    other.expect("ready")


def test_an_app_of_another_protocol_is_told_so(native, connect, register):
    native(TYPE).until("ready")
    peer = connect()
    peer.send_message("hello", 9, 9, *TEAM_HELLO[2:])
    assert peer.expect("goodbye")[0] == 17
    other, _ = register()
    other.expect("ready")
