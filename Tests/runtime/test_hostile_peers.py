# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A hub whose peers send garbage, too much, or nothing: it goes on serving the others."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import select
import signal
import socket
import threading
import time
import uuid
from pathlib import Path

import cbor2
import pytest
from wire import (
    FRAMES,
    LIMIT_EXCEEDED,
    MESSAGES,
    OUTCOMES,
    PROTOCOL,
    TYPE,
    UNSUPPORTED_VERSION,
    Connection,
    end,
    frame,
    hello,
    message,
)


@pytest.fixture
def pair(start):
    hub, editor = start("hub").ready(), start("editor", "--limit", "10", "0").ready()
    editor.ask("offer one", "offered")
    hub.hears("appeared one")
    yield hub, editor
    # Whatever came, both live, and serve each other.
    assert not any("gone" in line for line in hub.program.said)
    editor.tell("title still here")
    hub.hears("changed still here")
    name = hub.ask("continue still here", "continuation (.*)")[2]
    hub.hears(f"continue {name} .*")
    editor.end()
    hub.end()


@pytest.fixture
def connect(folder: Path):
    opened: list[Connection] = []

    def to_hub(*greeting: bytes) -> Connection:
        opened.append(Connection.to(folder / "hub.1"))
        if greeting:
            opened[-1].send(*greeting)
        return opened[-1]

    yield to_hub
    for connection in opened:
        connection.close()


def test_who_ends_without_reading_is_gone(start, connect):
    """R3.2: a process that is killed, say: what it said last is heard, and then that it has ended, although what it was
    told and did not read makes that an error (ECONNRESET)."""
    hub, viewer = start("hub").ready(), start("viewer").ready()
    stranger = connect(hello())
    stranger.socket.recv(1, socket.MSG_PEEK)
    hub.program.stop()
    stranger.send(message("publish", uuid.uuid4(), TYPE, "last word", 0, 0, 0, None, False, 1))
    stranger.close()
    hub.program.signal(signal.SIGCONT)
    viewer.hears("appeared last word", 3.0)
    viewer.hears("gone last word", 3.0)


def memory(pid: int) -> int:
    """Bytes that are resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


HUGE = bytes([FRAMES["message"], 0xFF, 0xFF, 0xFF]) + b"\0\0\0\0"
GARBAGE = {
    "noise": random.Random(1).randbytes(4096),
    "zeros": bytes(4096),
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a frame of 16 MiB": HUGE + b"x" * 1000,
    "a frame of 4 GB": b"\xff\xff\xff\xff" + b"\0\0\0\0" + b"x" * 1000,
    "no CBOR": frame("message", b"\xff" * 100),
    "an empty message": frame("message", b""),
    "no array": frame("message", cbor2.dumps({"hello": 1})),
    "an empty array": frame("message", cbor2.dumps([])),
    "a bomb of arrays": frame("message", b"\x81" * 60000),
    "a count that lies": frame("message", b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    "another first message": message("ping", 1),
    "a message on a channel": frame("message", cbor2.dumps([MESSAGES["ping"], 1]), channel=3),
    "data of no channel": frame("data", b"x", channel=1),
    "hello of many types": hello(types=tuple(f"t{number}" for number in range(2000))),
    "hello with a long name": hello(name="n" * 5000),
    "hello of wrong kinds": message("hello", "1", 1.5, b"", 1, 2, 3, {}, None),
    "negative version": message("hello", -1, -1, uuid.uuid4(), "a", "a", "a", [TYPE], False),
}


@pytest.mark.parametrize("bytes_", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_ends_the_connection_that_sent_it(pair, connect, bytes_):
    """A9: lengths and counts that lie, nesting without end."""
    assert connect(bytes_).is_closed_within(2.0)


def a_put(**other: object) -> bytes:
    fields = {"id": uuid.uuid4(), "type": TYPE, "title": "x", "version": 0, "size": 0, "age": 0, "remaining": None}
    return message("publish", *(fields | {"streams": False, "activation": 1} | other).values())


MISUSE = {
    "hello twice": hello(),
    "put of a long title": a_put(title="t" * 5000),
    "put of a long type": a_put(type="t" * 300),
    "put of an absurd version": a_put(version=2**40),
    "put of an absurd age": a_put(age=2**64 - 1),
    "put that remains absurdly": a_put(remaining=2**64 - 1),
    "put of an absurd size": a_put(size=2**64 - 1),
    "put of an absurd activation": a_put(activation=2**64 - 1),
    "publish of wrong kinds": message("publish", 1, 2, 3, 4, 5, 6, 7, 8, 9),
    "publish that stops short": message("publish", uuid.uuid4()),
    "state on a channel of the other side": message("state", uuid.uuid4(), uuid.uuid4(), 2, 10, False),
    "state on channel 0": message("state", uuid.uuid4(), uuid.uuid4(), 0, 10, False),
    "state of 2^64 bytes": message("state", uuid.uuid4(), uuid.uuid4(), 1, 2**64 - 1, False),
    "state on channel 2^40": message("state", uuid.uuid4(), uuid.uuid4(), 2**40, 1, False),
    "fetch for an absurd time": message("fetch", uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), 2**64 - 1, None),
    "credit without end": frame("credit", b"\xff" * 4, channel=2) * 1000,
    "end of no channel": frame("end", bytes(8), channel=7),
    "reset of no channel": frame("reset", b"", channel=2**32 - 1),
    "an outcome of no kind": message("outcome", uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), 99, 2**63, "", None),
    "a kind that is not known": message(4711, "from the future"),
    "data after the highest of all channels": message("state", uuid.uuid4(), uuid.uuid4(), 2**32 - 1, 1, False)
    + frame("data", b"x", channel=3),
    "noise": random.Random(2).randbytes(4096),
}


@pytest.mark.parametrize("bytes_", MISUSE.values(), ids=MISUSE.keys())
def test_an_app_that_misbehaves_harms_itself_only(pair, connect, bytes_):
    """A9: it may be dismissed or not; the fixture sees whether the others are served."""
    peer = connect(hello())
    peer.receive_kind("ready")
    peer.send(bytes_, message("ping", 1))
    peer.is_closed_within(0.05)


KINDS = "fetch", "state", "refused", "outcome", "outcomeAck", "publish", "withdraw", "welcome", "goodbye", "offer"


def test_random_messages_after_a_proper_hello(pair, connect):
    """Well-formed frames with messages made at random of things that messages are made of."""
    chance = random.Random(3)
    known: list[uuid.UUID] = []
    for _ in range(100):
        peer = connect(hello(chooser=chance.random() < 0.5))
        peer.receive_kind("ready")
        known = [*known[-20:], uuid.UUID(int=chance.getrandbits(128))]
        parts = [0, 1, 2, 4, 2**32, 2**64 - 1, -1, 1.5, "", "x", TYPE, "t" * 2000, b"\0", None, True, [], {}, *known]
        for _ in range(50):
            fields = [chance.choice(parts) for _ in range(chance.randint(0, 10))]
            kind = chance.choice([*KINDS, 17])
            try:
                peer.send(message(kind, *fields), frame(chance.randint(1, 4), b"abcd", chance.randint(0, 5)))
            except (BrokenPipeError, ConnectionResetError):
                break
        peer.close()


def test_half_a_frame_and_nothing_more(pair, connect):
    """A19: a connection that does not say hello is ended after 5 s; the others do not wait for that."""
    began = time.monotonic()
    peer = connect(hello()[:11])
    assert peer.is_closed_within(7.0)
    assert time.monotonic() - began > 4.5


def test_silence_does_not_lock_apps_out(pair, connect, start):
    """A19: a thousand connections that say nothing; an app registers as fast as ever, and the hub keeps few of them."""
    silent = [connect() for _ in range(1000)]
    began = time.monotonic()
    newcomer = start("newcomer")
    newcomer.hears("appeared one")
    newcomer.ready()
    assert time.monotonic() - began < 4.0  # those that say nothing have 5 s
    hub, _ = pair
    assert len(list(Path(f"/proc/{hub.pid}/fd").iterdir())) < 150
    assert silent[0].is_closed_within(3.0)
    newcomer.end()


def test_who_never_reads_costs_no_memory(pair, connect):
    """R2.8: it would hear the last state; 100,000 changes are not kept for it."""
    hub, editor = pair
    peer = connect(hello(chooser=True))
    peer.receive_kind("ready")
    editor.ask("flood 2000", "changed all")
    before = memory(hub.pid)
    editor.ask("flood 100000", "changed all", 60.0)
    editor.events()
    hub.hears("changed change 100000", 30.0)
    assert memory(hub.pid) - before < 8 * 1024 * 1024
    # It reads at last: it learns how things are now.
    titles = []
    while not titles or titles[-1] != "change 100000":
        titles.append(peer.receive_kind("offer")[3])
    assert len(titles) < 10_000


def test_who_asks_and_never_reads_is_given_up(pair, connect):
    """A8: a million questions whose answers nobody takes cost bounded memory."""
    hub, _ = pair
    peer = connect(hello())
    peer.receive_kind("ready")
    peer.socket.settimeout(2.0)
    before = memory(hub.pid)
    questions = message("ping", 1) * 10_000
    with pytest.raises((BrokenPipeError, ConnectionResetError, TimeoutError)):
        for _ in range(100):
            peer.send(questions)
    assert memory(hub.pid) - before < 16 * 1024 * 1024


def test_an_activity_that_it_may_not_see_is_not_given(pair, connect):
    """R6.2: an app of another team that knows the names gets nothing, nor is the origin asked."""
    _, editor = pair
    chooser = connect(hello("dock", chooser=True))
    seen = chooser.receive_kind("offer")
    activity, origin = seen[1], seen[9]
    stranger = connect(hello("spy", team="OTHER"))
    stranger.receive_kind("ready")
    continuation = uuid.uuid4()
    stranger.send(message("fetch", continuation, origin, activity, 1000, None))
    refused = stranger.receive_kind("refused")
    assert refused[1] == continuation
    assert not any("will_save" in line for line in editor.events())


def test_state_for_a_continuation_of_others_goes_nowhere(pair, connect):
    """A13: nobody but the origin answers for it, whatever it says of itself."""
    hub, editor = pair
    editor.ask("on_save later", "on_save later")
    name = hub.ask("continue one", "continuation (.*)")[2]
    editor.hears("will_save")
    forger = connect(hello("forger"))
    forger.receive_kind("ready")
    continuation, anyone = uuid.UUID(name), uuid.uuid4()
    forged = message("state", continuation, anyone, 1, 4, False) + frame("data", b"evil", 1) + end(1, 4)
    refusal = message("refused", continuation, anyone, 20, "forged")
    forger.send(forged, refusal, message("outcomeAck", continuation, anyone), message("ping", 7))
    forger.receive_kind("pong")
    assert not any(f"continue {name}" in line or "did_fail" in line for line in hub.events() if "will" not in line)
    editor.tell("saved", "on_save yes")
    hub.hears(f"continue {name} .*")
    editor.hears(f"ended {name} restored .*")


def seen_by_a_chooser(connect) -> tuple[uuid.UUID, uuid.UUID]:
    """The activity that is offered, and its origin."""
    seen = connect(hello("dock", chooser=True)).receive_kind("offer")
    return seen[1], seen[9]


@pytest.mark.parametrize("team", ["OTHER", "T"])
def test_nothing_is_restored_that_was_not_sent(pair, connect, team):
    """R3.6: an origin may let go of its state when it hears *restored*: nobody can say that of what it never had."""
    _, editor = pair
    activity, origin = seen_by_a_chooser(connect)
    liar = connect(hello("liar", team=team))
    liar.receive_kind("ready")
    for name in ("restored", "unknown"):
        liar.send(message("outcome", uuid.uuid4(), origin, activity, OUTCOMES[name], 0, "", None))
        liar.receive_kind("outcomeAck")
    # An app that asks for the activity, and reports it as restored before it is sent, has failed. An app of another
    # team may not see the activity: it counts as one that has not asked.
    editor.ask("on_save later", "on_save later")
    editor.tell("dirty")
    asked = uuid.uuid4()
    liar.send(message("fetch", asked, origin, activity, 10_000, None))
    if team == "T":
        editor.hears("will_save")
    liar.send(message("outcome", asked, origin, activity, OUTCOMES["restored"], 0, "", None))
    if team == "T":
        editor.hears(f"ended {asked.hex} failed .*")
    liar.send(message("ping", 7))
    liar.receive_kind("pong")
    assert not any("restored" in line or "was_continued" in line for line in editor.events())
    editor.tell("saved", "on_save yes")


def test_nobody_becomes_another_app(pair, connect):
    """A13: the identifier of an app is known to others, the secret behind it is not."""
    _, editor = pair
    _, origin = seen_by_a_chooser(connect)
    for _ in range(100):
        connect(
            message("hello", PROTOCOL, PROTOCOL, origin, "com.example.editor", "editor", "T", [TYPE], False)
        ).receive_kind("ready")
    assert not any("connection" in line for line in editor.events())


@pytest.mark.parametrize("size", [10, 262_120], ids=["small", "larger than the window"])
def test_fetches_that_nobody_reads_do_not_hold_the_origin(pair, connect, size):
    """Section 9: ten apps fetch all that they can, for an hour, and read nothing."""
    hub, editor = pair
    editor.ask(f"payload {size}", "payload set")
    activity, origin = seen_by_a_chooser(connect)
    for number in range(10):
        greedy = connect(hello(f"greedy{number}"))
        greedy.receive_kind("ready")
        fetches = [message("fetch", uuid.uuid4(), origin, activity, 3_600_000, None) for _ in range(100)]
        greedy.send(*fetches, message("ping", 7))
        greedy.receive_kind("refused")
    time.sleep(1.2)  # those that stand still give way after a second
    name = hub.ask("continue one", "continuation (.*)")[2]
    hub.hears(f"continue {name} .*")
    editor.hears(f"was_continued {name} restored .*")


def test_one_process_does_not_take_all_descriptors(pair, connect, start):
    """Section 9: a quarter of those of the process that carries the hub; what it keeps for itself is not touched."""
    hub, _ = pair
    resource.prlimit(hub.pid, resource.RLIMIT_NOFILE, (400, 400))
    turned_away = 0
    for number in range(400):
        peer = connect()
        with contextlib.suppress(BrokenPipeError):
            peer.send(hello(f"flood{number}"))
        answer = peer.receive()
        turned_away += answer[0] == "goodbye"
        assert answer[0] == "welcome" or answer[1] == LIMIT_EXCEEDED, answer
    assert turned_away == 300
    assert len(list(Path(f"/proc/{hub.pid}/fd").iterdir())) < 150
    newcomer = start("newcomer")
    newcomer.hears("appeared one")
    newcomer.ready().end()


def test_an_app_that_does_not_dispatch_costs_no_memory(connect, start):
    """Section 9: of offers the last news waits; receipts wait up to a limit, and then it takes no more attempts."""
    hub, held = start("hub").ready(), start("held").ready()
    held.ask("offer mine", "offered")
    hub.hears("appeared mine")
    activity, origin = seen_by_a_chooser(connect)
    held.ask("hold", "held")
    before = memory(held.pid)
    peer = connect(hello("flood"))
    peer.receive_kind("ready")
    for number in range(20_000):
        attempt = message("outcome", uuid.uuid4(), origin, activity, OUTCOMES["declined"], 14, "r" * 1000, None)
        peer.send(attempt, a_put(title="t" * 1000), message("ping", number))
        if number % 100 == 99:
            while peer.receive_kind("pong")[1] != number:
                pass
    peer.send(a_put(title="last"))
    hub.hears("appeared last", 60.0)
    assert memory(held.pid) - before < 16 * 1024 * 1024
    held.ask("handles", r"handles \d+")
    held.hears("appeared last")
    said = [line for line in held.program.said if "appeared" in line or "gone" in line or "changed" in line]
    assert len(said) < 100
    held.end()
    hub.end()


def test_nobody_speaks_for_the_offer_of_another(pair, connect):
    """A13: an offer's name is taken, and only its app withdraws it."""
    hub, _ = pair
    chooser = connect(hello("dock", chooser=True))
    activity = chooser.receive_kind("offer")[1]
    forger = connect(hello("forger"))
    forger.receive_kind("ready")
    forger.send(a_put(id=activity, title="forged"), message("withdraw", activity), message("ping", 7))
    forger.receive_kind("pong")
    hub.ask("list", "offers 1 one")


def test_an_app_of_another_protocol_is_told_so(pair, connect):
    """A14, as far as there is one version: there is nothing to fall back to."""
    peer = connect(message("hello", 99, 98, uuid.uuid4(), "com.example.new", "new", "T", [TYPE], False))
    assert peer.receive_kind("goodbye")[1] == UNSUPPORTED_VERSION
    assert peer.is_closed_within(1.0)


def test_a_process_with_many_apps_leaves_room_for_others(pair, connect):
    """Section 9: one process is 128 apps; each fetches all that an app may, for an hour, and says no more."""
    hub, editor = pair
    activity, origin = seen_by_a_chooser(connect)
    for number in range(128):
        greedy = connect(hello(f"greedy{number}"))
        greedy.receive_kind("ready")
        greedy.send(*[message("fetch", uuid.uuid4(), origin, activity, 3_600_000, None) for _ in range(8)])
    name = hub.ask("continue one", "continuation (.*)")[2]
    hub.hears(f"continue {name} .*")
    editor.hears(f"was_continued {name} restored .*")


@pytest.mark.parametrize("connections", [1, 20])
def test_a_process_that_floods_the_hub_costs_others_little(pair, connect, connections):
    """Section 9: who sends more than its share of the hub's time waits, over however many connections it sends."""
    hub, editor = pair
    flood = message("ping", 1) * 4_000
    peers = [connect(hello(f"flood{number}")) for number in range(connections)]
    for peer in peers:
        peer.receive_kind("ready")
        peer.socket.setblocking(False)
    stop = threading.Event()
    sent = {peer.socket: 0 for peer in peers}

    def send_and_read() -> None:
        while not stop.is_set():
            readable, writable, _ = select.select(sent, sent, [], 0.1)
            for end_of_hub in readable:
                end_of_hub.recv(1 << 18)
            for end_of_hub in writable:
                with contextlib.suppress(BlockingIOError):
                    count = end_of_hub.send(flood[sent[end_of_hub] :])
                    sent[end_of_hub] = (sent[end_of_hub] + count) % len(flood)

    flooding = threading.Thread(target=send_and_read)
    with contextlib.ExitStack() as stack:
        flooding.start()
        stack.callback(flooding.join)
        stack.callback(stop.set)
        began, before = time.monotonic(), hub_time(hub.pid)
        for _ in range(20):
            name = hub.ask("continue one", "continuation (.*)")[2]
            hub.hears(f"continue {name} .*")
            editor.hears(f"was_continued {name} restored .*")
        time.sleep(1.0)  # that long it is measured
        share = (hub_time(hub.pid) - before) / (time.monotonic() - began)
    # Without a quota it takes a whole core.
    assert share < 0.4, share


def hub_time(pid: int) -> float:
    """Seconds of a processor that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
