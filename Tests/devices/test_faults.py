# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two agents with a bad network between them: what is said arrives whole, or its link ends, and comes back."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
import segue
from agents import AgentDevice, making
from network import Sockets, can_make_networks, two_networks
from programs import programs
from proxy import Proxy

MIB = 1024 * 1024
SIZE = int(os.environ.get("SEGUE_STREAM_MIB", "4")) * MIB
DISTURBANCES = 1 + SIZE // (128 * MIB)
FLIPS = int(os.environ.get("SEGUE_LINK_FLIPS", "12"))
SEED = int(os.environ.get("SEGUE_SEED") or random.SystemRandom().randrange(1_000_000))
PATIENCE = 60.0
TYPE = "com.example.editing"
BACK = 3.0  # seconds until a link is back that was cut: a pause of at most 1 s, and two handshakes on a busy machine


class Pair(NamedTuple):
    """Two agents in an account, of which `two` dials, through the proxy; `three`, on its machine, dials directly."""

    one: AgentDevice
    two: AgentDevice
    three: AgentDevice
    proxy: Proxy
    sockets: tuple[Sockets, Sockets]

    @property
    def target(self) -> tuple[str, int]:
        return "10.99.0.1", self.one.account()["port"]

    def link(self, patience: float = 20.0) -> None:
        self.one.linked("three", "two", patience=patience)
        self.two.linked("one", patience=patience)

    def dial(self, *addresses: str) -> None:
        self.two.ask("set-devices", addresses=list(addresses))

    def unlink(self) -> None:
        """Until another address is dialled."""
        self.dial()
        self.proxy.cut()
        self.one.linked("three")
        self.two.linked()


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with programs() as start, contextlib.ExitStack() as stack:
        cable = two_networks(start)
        cable.address()
        make = making(start, tmp_path_factory.mktemp("pair"))
        one, two, three = (make(name, cable.machines[name != "one"]).begin() for name in ("one", "two", "three"))
        one.create()
        for other in (two, three):
            one.admit(other)
        # Links stay when discovery ends; agents that are started without it know no address of another device.
        for device in (one, two, three):
            device.ask("set-devices", discovery=False)
            device.end()
        for device in (one, two, three):
            device.begin().linked()
        sockets = Sockets(cable.machines[0]), Sockets(cable.machines[1])
        for each in sockets:
            stack.callback(each.close)
        target = ("10.99.0.1", one.account()["port"])
        three.ask("set-devices", addresses=["{}:{}".format(*target)])
        proxy = Proxy(sockets[0], target, "10.99.0.1")
        stack.callback(proxy.close)
        yield Pair(one, two, three, proxy, sockets)


@pytest.fixture
def pair(steady: Pair) -> Iterator[Pair]:
    """Linked, through a proxy that does nothing yet."""
    steady.dial(steady.proxy.address)
    steady.link()
    yield steady
    steady.proxy.set(delay=0.0, pause=0.0, stands_still=False, flip=None)


def until(
    apps: list[segue.App], condition: Callable[[], object], patience: float = PATIENCE, *others: socket.socket
) -> None:
    """Lets apps of this process do what is due, until something is so. It is looked at when an app or one of the other
    sockets has something."""
    poll = select.poll()
    for one in [*apps, *others]:
        poll.register(one.fileno(), select.POLLIN)
    deadline = time.monotonic() + patience
    while not condition():
        left = deadline - time.monotonic()
        assert left > 0, "\n".join(app.describe() for app in apps)
        poll.poll(left * 1000)
        for app in apps:
            app.dispatch(0)


class Carried:
    """A stream from an app on one device to an app on the other."""

    def __init__(self, pair: Pair):
        self.near = segue.App("com.example.editor", team="T", types=[TYPE], runtime_folder=pair.one.folder)
        self.far = segue.App("com.example.viewer", team="T", types=[TYPE], runtime_folder=pair.two.folder)
        self.apps = [self.near, self.far]
        for app in self.apps:
            app.open()
        title = os.urandom(8).hex()  # The far device may still know the offer of a test before.
        self.activity = segue.Activity(self.near, TYPE, title=title)
        self.activity.supports_continuation_streams = True
        came: list[segue.Stream] = []
        self.activity.on_did_receive_stream(came.append)
        self.activity.become_current()
        until(self.apps, lambda: title in [offer.title for offer in self.far.offers])
        continued = self.far.continue_(next(offer for offer in self.far.offers if offer.title == title))
        until(self.apps, lambda: continued.done)
        asked = continued.wait(0).stream()
        until(self.apps, lambda: asked.done and came)
        self.source, self.sink = came.pop(), asked.wait(0)
        self._received, self._news = 0, threading.Condition()

    def wait_for(self, count: int) -> None:
        """Until so many bytes have arrived."""
        with self._news:
            assert self._news.wait_for(lambda: self._received >= count, PATIENCE + count / MIB), self._received

    def carry(self, size: int, beside: Callable[[], None]) -> None:
        """Sends that many bytes, `beside` meanwhile; what arrives is what was sent."""
        sent, came = hashlib.sha256(), hashlib.sha256()
        source, sink = self.source.open(), self.sink.open()

        def send() -> None:
            generator = random.Random(SEED)
            for start in range(0, size, MIB):
                piece = generator.randbytes(min(MIB, size - start))
                sent.update(piece)
                source.sendall(piece)
            self.source.finish()
            source.close()

        def receive() -> None:
            sink.settimeout(PATIENCE)
            while piece := sink.recv(MIB):
                came.update(piece)
                with self._news:
                    self._received += len(piece)
                    self._news.notify_all()

        done, ended = socket.socketpair()
        results: list[BaseException | None] = []

        def run(work: Callable[[], None]) -> None:
            try:
                work()
                results.append(None)
            except BaseException as problem:
                results.append(problem)
            done.send(b"!")

        for work in (send, receive, beside):
            threading.Thread(target=run, args=[work], daemon=True).start()
        with done, ended:
            for count in (1, 2, 3):
                until(self.apps, lambda count=count: len(results) >= count, PATIENCE + size / MIB, ended)
                ended.recv(1)
                assert results[-1] is None, results[-1]
        assert self._received == size and sent.digest() == came.digest(), f"SEGUE_SEED={SEED}"
        sink.close()

    def close(self) -> None:
        for app in self.apps:
            app.close()


@pytest.fixture
def carried(pair: Pair) -> Iterator[Carried]:
    made = Carried(pair)
    yield made
    made.close()


def comes_back(pair: Pair) -> float:
    """Waits until the device that dials has lost its link and has another one: the seconds between."""
    pair.two.agent.wait_for("the link with the device at .* has ended", 20)
    began = time.monotonic()
    pair.two.agent.wait_for("^.*linked with the device at ", 20)
    return time.monotonic() - began


def last_seen(pair: Pair) -> object:
    """When the link with the third device began or ended last."""
    return pair.one.device("three")["last_seen"]


@pytest.mark.parametrize(
    ("fault", "size"),
    [({"delay": 0.02}, SIZE), ({"pause": 0.005}, min(SIZE // 64, 2 * MIB))],
    ids=["delayed", "trickling"],
)
def test_a_stream_arrives_whole(pair, carried, fault, size):
    pair.proxy.set(**fault)
    carried.carry(size, lambda: None)


@pytest.mark.parametrize("fault", ["cut", "flip"])
def test_a_link_that_is_disturbed_comes_back_and_its_stream_goes_on(pair, carried, fault):
    """Cut, or with a bit turned over: that ends this link and no other."""
    third = last_seen(pair)
    took: list[float] = []

    def disturb() -> None:
        for part in range(DISTURBANCES):
            carried.wait_for((part + 1) * SIZE // (DISTURBANCES + 1))
            if fault == "cut":
                pair.proxy.cut()
            else:
                pair.proxy.set(flip=(False, None, 1 << part % 8))
            took.append(comes_back(pair))

    carried.carry(SIZE, disturb)
    assert len(took) == DISTURBANCES and max(took) < BACK, took
    assert last_seen(pair) == third


def test_a10_a_bit_that_is_turned_over_before_a_link_is_up_leaves_none(pair):
    """Evenly over all that both ends say until then; SEGUE_LINK_FLIPS bits of it."""
    pair.unlink()
    with contextlib.closing(Proxy(pair.sockets[0], pair.target, "10.99.0.1", most=1)) as clean:
        pair.dial(clean.address)
        pair.link()
        said = [count * 3 // 4 for count in clean.moved]
        pair.dial()
    pair.two.linked()
    assert min(said) > 500
    for number in range(FLIPS):
        is_from_dialler = number % 2 == 1
        place = (number // 2 * 2 + 1) * said[is_from_dialler] // (FLIPS + 1)
        with contextlib.closing(Proxy(pair.sockets[0], pair.target, "10.99.0.1", most=1)) as proxy:
            proxy.set(flip=(is_from_dialler, place, 1 << number * 3 % 8))
            pair.dial(proxy.address)
            proxy.ended()
            assert proxy.flip is None, f"byte {place} was never said"
            pair.one.linked("three")
            pair.two.linked()
            pair.dial()


def test_connections_that_overtake_each_other_leave_one_link(pair, app):
    """Both dial at once, by ways of different lengths."""
    pair.unlink()
    there = "10.99.0.2", pair.two.account()["port"]
    with contextlib.ExitStack() as stack:
        for title, delays in {"one": (0.15, 0.0, 0.05), "two": (0.0, 0.15, 0.05), "three": (0.05, 0.1, 0.0)}.items():
            ways = [
                stack.enter_context(contextlib.closing(Proxy(sockets, target, target[0], delay=delay)))
                for sockets, target, delay in zip(
                    (pair.sockets[0], pair.sockets[0], pair.sockets[1]),
                    (pair.target, pair.target, there),
                    delays,
                    strict=True,
                )
            ]
            pair.dial(ways[0].address, ways[1].address)
            pair.one.ask("set-devices", addresses=[ways[2].address])
            pair.link()
            here, other = app(pair.one, "notes"), app(pair.two, "notes")
            here.tell(f"offer {title}")
            other.hears(f"appeared {title}")
            other.ask(f"continue {title}", rf"continue \w+ \d+ {title}")
            for each in (here, other):
                each.end()
            pair.one.ask("set-devices", addresses=[])
            pair.dial()
            for way in ways:
                way.cut()
            pair.one.linked("three")
            pair.two.linked()


def test_a20_a_continuation_ends_in_time_though_its_origin_falls_silent(pair, app):
    here, there = app(pair.one, "notes"), app(pair.two, "notes")
    here.tell("offer letter").ask("payload 200000", "payload set")
    there.hears("appeared letter")
    there.ask("continue letter", r"continue \w+ 2000\d\d letter")
    pair.proxy.set(stands_still=True)
    began = time.monotonic()
    name = there.ask("continue letter/1000", "continuation (.*)")[2]
    there.hears(f"did_fail {name} REMOTE_APPLICATION_TIMED_OUT .*", 5)
    assert time.monotonic() - began > 0.9
    pair.proxy.set(stands_still=False)
    there.ask("continue letter", r"continue \w+ 2000\d\d letter")


def test_a19_a_device_links_in_a_second_though_a_thousand_connections_are_half_open(pair):
    """The first ones are closed to make room."""
    pair.unlink()
    began = time.monotonic()
    pair.dial(pair.proxy.address)
    pair.link()
    usual = time.monotonic() - began  # on a machine that may be busy
    pair.unlink()
    with contextlib.ExitStack() as stack:
        flood = [stack.enter_context(pair.sockets[1].connect(*pair.target)) for _ in range(1_000)]
        began = time.monotonic()
        pair.dial(pair.proxy.address)
        pair.link()
        assert time.monotonic() - began < 1 + 10 * usual
        assert len(flood[0].recv(100)) == 16 and flood[0].recv(100) == b""
