# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An app whose hub is older, newer, silent, or talks nonsense (docs/decisions/numbered-generations.md)."""

from __future__ import annotations

import contextlib
import os
import random
import select
import threading
import time
import uuid
from pathlib import Path

import cbor2
import pytest
from programs import ProgramError
from wire import FRAMES, PROTOCOL, UNSUPPORTED_VERSION, FakeHub, end, frame, message, offer


@pytest.fixture
def fake(folder):
    """fake(N): a hub of generation N that does what the test makes it do."""
    hubs: list[FakeHub] = []

    def hub(generation: int = 1) -> FakeHub:
        hubs.append(FakeHub(folder, generation))
        return hubs[-1]

    yield hub
    for one in hubs:
        one.close()


def beat(lock: Path) -> None:
    """As a hub that serves somebody does: the uptime, not the date."""
    os.utime(lock, ns=(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME)))


def greeted(hub: FakeHub):
    connection = hub.accept()
    assert connection.receive()[0] == "hello"
    connection.send(message("welcome", PROTOCOL, 1, "fake"))
    return connection


@pytest.fixture
def offered(start, fake):
    """An app that sees an offer of a hub, and its connection."""
    hub = fake()
    app = start("app")
    connection = greeted(hub)
    connection.send(offer("one"), message("ready"))
    app.hears("appeared one")
    return app, connection


def test_a_proper_fake_hub_is_believed(offered):
    """The fake hub talks as a true one does; the tests below rely on it."""
    app, connection = offered
    app.ready()
    app.tell("offer mine")
    assert connection.receive_kind("publish")[3] == "mine"


def test_an_older_hub_is_replaced(start, fake, folder):
    hub = fake(3)
    app = start("app")
    connection = hub.accept()
    connection.receive()
    connection.send(message("welcome", 0, 3, "old"))
    app.hears("connection ready", 2.0)
    assert (folder / "hub.4").exists()


def test_a_newer_hub_is_not_replaced_but_waited_for(start, fake, folder):
    """It says that it does not speak our version: a takeover would drive all newer apps away."""
    hub = fake(3)
    app = start("app")
    connection = hub.accept()
    connection.receive()
    connection.send(message("goodbye", UNSUPPORTED_VERSION, "too old"))
    assert connection.is_closed_within(2.0)
    assert hub.connections_within(1.5) == 0
    assert not (folder / "hub.4").exists()
    # A hub of a higher generation may do: it is found as soon as its socket has its name.
    (folder / "coming").mkdir(mode=0o700)
    higher = FakeHub(folder / "coming", 4)
    (folder / "coming" / "hub.4").rename(folder / "hub.4")
    greeted(higher).send(message("ready"))
    app.hears("connection ready", 1.0)
    higher.close()


def test_a_silent_hub_is_replaced_after_half_a_second(start, fake, folder):
    fake()
    began = time.monotonic() * 1000
    app = start("app")
    assert 400 < float(app.hears("connection ready", 3.0)["at"]) - began < 1500
    assert (folder / "hub.2").exists()


def test_what_an_app_says_last_is_heard_although_the_socket_is_full(start, fake):
    """The hub has not read for a while, and goes on when the app closes."""
    hub = fake()
    app = start("app")
    connection = greeted(hub)
    connection.send(message("ready"))
    app.ready().ask("offer one", "offered")
    app.ask("flood 3000", "changed all")
    app.tell("close").hears("will_save")
    with pytest.raises(ProgramError, match="did not say"):
        app.hears("closed", 0.1)
    assert connection.receive_kind("withdraw")
    app.hears("closed", 2.0)


def test_a_hub_that_is_busy_is_waited_for(start, fake, folder):
    """It serves others, which shows at its lock: nobody opens the next generation, as thousands would on a machine that
    is too slow for all of them. Once that sign is old, it is replaced."""
    hub = fake()
    (folder / "hub.1.lock").write_text("")
    app = start("app")
    connection = hub.accept()
    assert connection.receive()[0] == "hello"
    silent = time.monotonic()
    while time.monotonic() < silent + 1.5:
        beat(folder / "hub.1.lock")
        assert hub.connections_within(0.1) == 0
    connection.send(message("welcome", PROTOCOL, 1, "fake"), message("ready"))
    app.ready()
    assert not (folder / "hub.2").exists()
    app.tell("offer one")
    assert app.ask("describe", r"described .*", 2.0)
    began = time.monotonic() * 1000
    app.hears("connection searching", 3.0)
    assert float(app.hears("connection ready", 1.0)["at"]) - began < 2000
    assert (folder / "hub.2").exists()


def test_a_hub_that_falls_silent_is_replaced_when_something_is_to_be_said(start, fake, folder):
    hub = fake()
    app = start("app")
    greeted(hub).send(message("ready"))
    app.ready().tell("offer one")
    app.hears("connection searching", 3.0)
    app.hears("connection ready", 3.0)
    assert (folder / "hub.2").exists()


def test_a_hub_that_closes_at_once_is_not_asked_over_and_over(start, fake):
    """No busy loop; and in the end another hub takes its place."""
    hub = fake()
    app = start("app")
    hub.listening.accept()[0].close()  # it may take a while to begin
    assert hub.connections_within(0.4) < 20
    app.hears("connection ready", 10.0)


class ManyHubs:
    """Hubs that answer each connection with the same words and close it; when an app opens a generation, the next is
    theirs. Counts the connections."""

    def __init__(self, folder: Path, outruns: bool, *words: bytes):
        self._folder, self._outruns, self._words = folder, outruns, words
        self._hubs = [FakeHub(folder, 1)]
        self._coming = folder / "coming"
        self._coming.mkdir()
        self.visits = 0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        generation = 1
        while not self._ends.is_set():
            ready, _, _ = select.select([hub.listening for hub in self._hubs], [], [], 0.005)
            for socket in ready:
                connection, _ = socket.accept()
                with contextlib.suppress(OSError):
                    connection.settimeout(1)
                    connection.recv(65536)
                    connection.sendall(b"".join(self._words))
                connection.close()
                self.visits += 1
            if self._outruns and (self._folder / f"hub.{generation + 1}").exists():
                generation += 2
                self._hubs.append(FakeHub(self._coming, generation))
                (self._coming / f"hub.{generation}").rename(self._folder / f"hub.{generation}")

    @property
    def count(self) -> int:
        return len(self._hubs)

    def close(self) -> None:
        self._ends.set()
        self._thread.join()
        for hub in self._hubs:
            hub.close()


WELCOMED = message("welcome", PROTOCOL, 1, "fake")
GOODBYES = {
    "goodbye": message("goodbye", 21, "not today"),
    "welcome and goodbye": WELCOMED + message("goodbye", 21, "not today"),
    "welcome, ready and goodbye": WELCOMED + message("ready") + message("goodbye", 21, "not today"),
    "welcome and the end": WELCOMED,
    "welcome and nonsense": WELCOMED + b"\xff" * 8,
}


@pytest.mark.parametrize("words", GOODBYES.values(), ids=GOODBYES.keys())
def test_a_hub_that_comes_to_nothing_is_not_visited_over_and_over(start, folder, words):
    """However welcome it makes us: in the end another takes its place."""
    hubs = ManyHubs(folder, False, words)
    try:
        app = start("app")
        # A connection that was of use for a while.
        app.hears("connection ready", 5.0)
        deadline = time.monotonic() + 5
        while not (folder / "hub.2").exists() and time.monotonic() < deadline:
            time.sleep(0.05)  # its name comes by a rename, which only a look shows
        app.ask("offer one", "offered")
        assert (folder / "hub.2").exists() and 1 <= hubs.visits <= 20
        app.end()
    finally:
        hubs.close()


@pytest.mark.parametrize("words", [GOODBYES["welcome and goodbye"], GOODBYES["welcome and nonsense"]])
def test_hubs_that_outrun_each_other_are_not_followed_for_ever_at_once(start, folder, words):
    hubs = ManyHubs(folder, True, words)
    try:
        app = start("app")
        time.sleep(3)  # what is counted is what comes in a time
        # 20 at once, and 5 a second; each is asked up to ten times in half a second.
        assert 2 <= hubs.visits <= 100 and hubs.count > 2
        app.end()
    finally:
        hubs.close()


NONSENSE = {
    "noise": random.Random(4).randbytes(4096),
    "half a frame": message("ready")[:5],
    "a frame of 16 MiB": bytes([FRAMES["message"], 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]) + b"x" * 100,
    "a frame of 4 GB": b"\xff" * 8 + b"x" * 100,
    "a bomb of arrays": frame("message", b"\x81" * 60000),
    "data of no channel": frame("data", b"x", channel=2),
    "no array": frame("message", cbor2.dumps("welcome")),
}


@pytest.mark.parametrize("welcomed", [False, True], ids=["before the welcome", "after it"])
@pytest.mark.parametrize("bytes_", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_hub_that_talks_nonsense_is_left(start, fake, bytes_, welcomed):
    """Half a frame looks like silence until something has to be said."""
    hub = fake()
    app = start("app")
    if welcomed:
        connection = greeted(hub)
        connection.send(message("ready"))
        app.ready()
    else:
        connection = hub.accept()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.send(bytes_)
    app.tell("offer one")
    if welcomed:
        app.hears("connection searching", 3.0)
    app.hears("connection ready", 3.0)
    app.end()


ABSURD = {
    "a long title": offer("t" * 5000),
    "a long type": offer(type="t" * 1000),
    "a long app name": offer(app="n" * 5000),
    "an absurd version": offer(version=2**63),
    "an absurd size": offer(size=2**64 - 1),
    "an absurd age": offer(age=2**64 - 1),
    "an absurd time left": offer(remaining=2**64 - 1),
    "an absurd rank": offer(rank=2**64 - 1),
    "no time left": offer(remaining=0),
    "a title that is no text": offer(title=b"\xff"),
    "state that nobody asked for": message("state", uuid.uuid4(), uuid.uuid4(), 2, 2**64 - 1, False),
    "a kind of the future": message(4711, {}),
    "an offer that stops short": message("offer", uuid.uuid4()),
}


@pytest.mark.parametrize("bytes_", ABSURD.values(), ids=ABSURD.keys())
def test_absurd_messages_harm_nobody(start, fake, bytes_):
    """They are taken as far as they make sense, or the hub is left; the app lives and is of use."""
    hub = fake()
    app = start("app")
    connection = greeted(hub)
    connection.send(message("ready"))
    app.ready()
    connection.send(bytes_)
    connection.close()
    hub.close()
    app.hears("connection searching", 3.0)
    app.hears("connection ready", 3.0)
    app.ask("list", r"offers \d.*")
    app.ask("describe", "described .*")
    app.end()


def test_an_offer_expires_though_its_hub_does_not_say_so(start, fake):
    """A18: the date is the receiver's to keep, too."""
    hub = fake()
    app = start("app")
    greeted(hub).send(offer("kept", remaining=60_000), offer("short", remaining=2_000), message("ready"))
    app.hears("appeared short")
    app.hears("gone short", 10.0)
    app.ask("list", "offers 1 kept")


def test_a_hub_that_is_silent_about_a_continuation_does_not_hold_it_up(offered):
    """A20: it answers pings, and no more; the deadline ends it."""
    app, connection = offered
    began = time.monotonic()
    name = app.ask("continue one/1500", "continuation (.*)")[2]
    connection.receive_kind("fetch")
    connection.send(message("pong", connection.receive_kind("ping")[1]))
    app.hears(f"did_fail {name} REMOTE_APPLICATION_TIMED_OUT .*", 10.0)
    assert 1.4 < time.monotonic() - began < 10.0


def test_state_that_lies_about_its_size_fails(offered):
    """R3.2: more or less than was announced, or no activity at all."""
    app, connection = offered
    for channel, (size, body) in enumerate([(4, b"toolong"), (9, b"short"), (4, b"evil"), (2**64 - 1, b"x")], start=1):
        name = app.ask("continue one", "continuation (.*)")[2]
        to = connection.receive_kind("fetch")
        assert to[1] == uuid.UUID(name)
        state = message("state", to[1], uuid.uuid4(), 2 * channel, size, False)
        connection.send(state, frame("data", body, 2 * channel), end(2 * channel, len(body)))
        app.hears(f"did_fail {name} (HANDOFF_FAILED|USER_INFO_TOO_LARGE) .*")
