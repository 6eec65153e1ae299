# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors that go with messages: each belongs to its own, whatever others send or leave unread."""

from __future__ import annotations

import array
import contextlib
import hashlib
import os
import signal
import socket
import struct
import time
import uuid
from pathlib import Path

import lingering
import pytest
from wire import FRAMES, HEAD_SIZE, PATIENCE, PROTOCOL, TYPE, Connection, FakeHub, frame, hello, message

LARGEST = 65536  # bytes of a frame's body
MALFORMED, TIMED_OUT = 7, 22
SECRET, ACTIVITY = uuid.uuid4(), uuid.uuid4()
ORIGIN = uuid.UUID(bytes=hashlib.sha256(SECRET.bytes).digest()[:16])
OF_AN_ORIGIN, OF_AN_ASKER = 256, 64  # docs/protocol.md, "Bounds of a hub"


@pytest.fixture
def hub(start):
    yield start("hub").ready()


@pytest.fixture
def connect(hub, folder: Path):
    opened: list[Connection] = []

    def to_hub(*greeting: bytes) -> Connection:
        """Each is a process to the hub, so that none uses what others have."""
        opened.append(Connection.of_another_process(folder / "hub.1"))
        opened[-1].send(*greeting)
        opened[-1].receive_kind("ready")
        return opened[-1]

    yield to_hub
    for connection in opened:
        connection.close()


@pytest.fixture
def origin(connect) -> Connection:
    """An app that offers an activity with streams."""
    greeting = message("hello", PROTOCOL, PROTOCOL, SECRET, "com.example.origin", "origin", "T", [], False)
    put = message("publish", ACTIVITY, TYPE, "one", 0, 0, 0, None, True, 1)
    return connect(greeting, put)


def stream(id: uuid.UUID, kind: str = "transfer") -> bytes:
    return message("stream", id, uuid.uuid4(), ORIGIN, ACTIVITY, uuid.uuid4(), 0, None, kind=kind)


def ask(connection: Connection, id: uuid.UUID) -> socket.socket:
    """Asks for a stream, in which the name of the stream is written. Gives the end that is here."""
    near, far = socket.socketpair()
    near.send(id.bytes)
    send(connection, stream(id), far)
    far.close()
    return near


def send(connection: socket.socket, data: bytes, *descriptors: socket.socket) -> None:
    fds = array.array("i", [each.fileno() for each in descriptors])
    connection.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if descriptors else [])


def take(origin: Connection) -> tuple[uuid.UUID, list[object]]:
    """The next stream that it is asked for, if it came with the right descriptor."""
    asked = origin.receive_kind("stream")
    with socket.socket(fileno=origin.descriptors.pop(0)) as end:
        assert end.recv(100) == asked[1].bytes
    assert not origin.descriptors
    return asked[1], asked


def answer(origin: Connection, asked: list[object]) -> None:
    origin.send(message("streamAnswer", *asked[1:5], 0, 0, ""))


def status(answer: list[object]) -> object:
    return answer[6]


def descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def wait_for_descriptors(process: int, count: int) -> None:
    """The library closes what others have passed on threads that it does not wait for."""
    deadline = time.monotonic() + PATIENCE
    while descriptors(process) > count and time.monotonic() < deadline:
        os.sched_yield()
    assert descriptors(process) <= count


def test_a_stream_without_a_descriptor_takes_no_other_one(connect, origin):
    """R7.1: it is refused at the hub; who comes next gets the own one."""
    thief, honest = connect(hello("thief")), connect(hello("honest"))
    for _ in range(3):
        thief.send(stream(uuid.uuid4(), kind="message"))
        assert status(thief.receive_kind("streamAnswer")) == MALFORMED
        id = uuid.uuid4()
        with ask(honest, id):
            came, asked = take(origin)
            assert came == id
            answer(origin, asked)
            assert status(honest.receive_kind("streamAnswer")) == 0


def test_a_link_without_a_descriptor_is_refused(connect):
    asker = connect(hello())
    asker.send(message("openLink", 7))
    assert asker.receive_kind("linkDown")[:3] == ["linkDown", 7, MALFORMED]


@pytest.mark.parametrize("what", ["none", "none with the first byte", "with no message"])
def test_a_descriptor_at_another_place_ends_the_connection(connect, what):
    peer = connect(hello())
    near, far = socket.socketpair()
    whole = stream(uuid.uuid4())
    with near, far:
        if what == "none":
            peer.send(whole)
        elif what == "none with the first byte":
            peer.send(whole[:1])
        else:
            send(peer, message("ping", 1), far)
    assert peer.is_closed_within(2.0)


def test_more_than_one_with_a_message_are_closed_and_the_message_is_refused(connect, hub):
    """The hub closes all: nobody is left with what nobody takes."""
    peer = connect(hello())
    before = descriptors(hub.pid)
    for _ in range(20):
        near, far = socket.socketpair()
        with near, far:
            send(peer, stream(uuid.uuid4()), near, far, far)
        assert status(peer.receive_kind("streamAnswer")) != 0
    wait_for_descriptors(hub.pid, before)


def test_an_origin_that_does_not_read_gets_every_stream_with_its_descriptor(connect, origin, hub):
    """R7.1: 1,000 streams of ten apps while it stands still; those that are too many are refused, in words."""
    askers = [connect(hello(f"asker{number}")) for number in range(10)]
    before = descriptors(hub.pid)
    asked: dict[uuid.UUID, Connection] = {}
    ends = []
    for _ in range(100):
        for asker in askers:
            id = uuid.uuid4()
            asked[id] = asker
            ends.append(ask(asker, id))
    refused = set()
    for asker in askers:
        asker.send(message("ping", 5))
        while (heard := asker.receive())[0] != "pong":
            if heard[0] == "streamAnswer":
                assert status(heard) == TIMED_OUT
                refused.add(heard[1])
    assert len(refused) == len(asked) - OF_AN_ORIGIN
    wait_for_descriptors(hub.pid, before + OF_AN_ORIGIN)
    for _ in range(OF_AN_ORIGIN):
        came, message_ = take(origin)
        assert came not in refused
        answer(origin, message_)
        heard = asked.pop(came).receive_kind("streamAnswer")
        assert (heard[1], status(heard)) == (came, 0)
    assert asked.keys() == refused
    # All is in step.
    for asker in askers:
        id = uuid.uuid4()
        ends.append(ask(asker, id))
        came, message_ = take(origin)
        assert came == id
        answer(origin, message_)
        assert status(asker.receive_kind("streamAnswer")) == 0
    wait_for_descriptors(hub.pid, before)
    for end in ends:
        end.close()


def test_who_makes_a_shared_socket_wait_stops_nobody(connect, hub):
    """An app that has handed a socket over may still clear O_NONBLOCK of it: the hub waits for none all the same."""
    owner, other = connect(hello("owner")), connect(hello("other"))
    near, far = socket.socketpair()
    with near, far:
        send(owner, message("openLink", 1, kind="transfer"), far)
        link = Connection(near)
        link.receive_kind("link")
        link.send(message("link", PROTOCOL, PROTOCOL, uuid.UUID(int=1), "made up"))
        link.receive_kind("resume")
        far.setblocking(True)
        # As many bytes as the hub reads at a time, so that it looks for more; the last frame is not complete.
        first = message("resume", uuid.uuid4(), [])
        rest = bytes(LARGEST + HEAD_SIZE - len(first))
        hub.program.stop()
        near.sendall(first + struct.pack(">II", FRAMES["message"] << 24 | LARGEST, 0) + rest)
        os.kill(hub.pid, signal.SIGCONT)
        other.send(message("ping", 1))
        assert other.receive() == ["pong", 1]


@pytest.fixture
def linger():
    with lingering.lingering() as make:
        yield make


def pass_slow(connection: Connection, way: str, linger) -> None:
    """Passes descriptors whose close waits. The other end stands still, and would close the last ones."""
    ping = message("ping", 9, kind="transfer")
    if way == "one":
        lingering.send(connection.socket, ping, linger())
    elif way == "two":
        lingering.send(connection.socket, ping, linger(), linger())
    elif way == "many":
        lingering.send(connection.socket, ping, *(linger() for _ in range(60)))
    elif way == "in a queue":
        lingering.send(connection.socket, ping, lingering.inside(linger()))
    elif way == "in a queue of a queue":
        lingering.send(connection.socket, ping, lingering.inside(lingering.inside(linger())))
    elif way == "urgent":
        lingering.send(connection.socket, b"z", linger(), flags=socket.MSG_OOB)
        connection.send(ping)
    else:
        assert way == "never read"
        connection.send(frame(9, b"no such frame"))
        for _ in range(4):
            lingering.send(connection.socket, ping, linger())


WAYS = ["one", "two", "many", "in a queue", "in a queue of a queue", "urgent", "never read"]
ENDS = ("urgent", "never read")
"""Ways that end the connection."""


@pytest.mark.parametrize("way", WAYS)
def test_what_takes_long_to_close_holds_nobody_up(connect, hub, linger, way):
    """Closing a TCP socket with bytes that nobody reads may wait for as long as its owner likes."""
    peer, other = connect(hello("lingering")), connect(hello("other"))
    hub.program.stop()
    pass_slow(peer, way, linger)
    os.kill(hub.pid, signal.SIGCONT)
    if way in ENDS:
        assert peer.is_closed_within(PATIENCE)
    else:
        assert peer.receive() == ["pong", 9]
    for number in range(3):
        other.send(message("ping", number))
        assert other.receive() == ["pong", number]


def test_connections_that_wait_with_what_takes_long_to_close_hold_nobody_up(connect, hub, linger, folder):
    """The hub ends, and has not accepted them."""
    hub.program.stop()
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            waiting = stack.enter_context(contextlib.closing(Connection.to(folder / "hub.1")))
            pass_slow(waiting, "one", linger)
        os.kill(hub.pid, signal.SIGCONT)
        assert hub.program.wait(PATIENCE) == 0


@pytest.mark.parametrize("way", WAYS)
def test_what_a_hub_passes_and_takes_long_to_close_holds_no_app_up(start, folder, linger, way):
    fake = FakeHub(folder, locked=True)
    with contextlib.closing(fake):
        app = start("app")
        connection = fake.accept()
        connection.receive_kind("hello")
        connection.send(message("welcome", PROTOCOL, 1, "fake"), message("ready"))
        app.ready()
        app.program.stop()
        pass_slow(connection, way, linger)
        os.kill(app.pid, signal.SIGCONT)
        if way in ENDS:
            assert connection.is_closed_within(PATIENCE)
        else:
            assert connection.receive_kind("pong") == ["pong", 9]
        assert app.program.wait(PATIENCE) == 0


@pytest.mark.parametrize("kind", ["stream", "openLink"])
def test_what_is_refused_and_takes_long_to_close_holds_nobody_up(connect, hub, linger, kind):
    peer, other = connect(hello("lingering")), connect(hello("other"))
    for each in [linger(), lingering.inside(linger())]:
        hub.program.stop()
        asked = stream(uuid.uuid4()) if kind == "stream" else message("openLink", 1, kind="transfer")
        lingering.send(peer.socket, asked, each)
        os.kill(hub.pid, signal.SIGCONT)
        if kind == "stream":
            assert status(peer.receive_kind("streamAnswer")) != 0
        other.send(message("ping", 1))
        assert other.receive() == ["pong", 1]


def test_who_holds_up_its_own_closes_holds_up_no_stream_of_others(connect, origin, hub, linger):
    """The hub closes its copy of each end that it has passed on: otherwise no stream would end."""
    peer, honest = connect(hello("lingering")), connect(hello("honest"))
    hub.program.stop()
    for _ in range(20):
        lingering.send(peer.socket, message("ping", 9, kind="transfer"), lingering.inside(linger()))
    os.kill(hub.pid, signal.SIGCONT)
    for _ in range(20):
        assert peer.receive_kind("pong") == ["pong", 9]
    for _ in range(200):
        with ask(honest, uuid.uuid4()) as near:
            _, asked = take(origin)
            answer(origin, asked)
            assert status(honest.receive_kind("streamAnswer")) == 0
            near.settimeout(PATIENCE)
            assert near.recv(1) == b""


def test_who_has_too_many_closes_waiting_loses_its_connection_alone(connect, hub, linger):
    peer, other = connect(hello("lingering")), connect(hello("other"))
    hub.program.stop()
    for _ in range(4):
        lingering.send(peer.socket, stream(uuid.uuid4()), lingering.inside(linger()))
    os.kill(hub.pid, signal.SIGCONT)
    for _ in range(4):
        assert status(peer.receive_kind("streamAnswer")) != 0
    # Its closes are held up for half a second by then.
    deadline = time.monotonic() + PATIENCE
    with pytest.raises(OSError):
        while time.monotonic() < deadline:
            near, far = socket.socketpair()
            with near, far:
                send(peer, stream(uuid.uuid4()), far)
            time.sleep(0.005)  # 200 a second, of which all wait
    assert peer.is_closed_within(PATIENCE)
    near, far = socket.socketpair()
    with near, far:
        send(other, stream(uuid.uuid4()), far)
    assert status(other.receive_kind("streamAnswer")) != 0


def test_a_few_threads_close_whatever_comes(connect, hub, linger):
    """They are all held up: the rest waits, and other apps notice nothing."""
    peer, other = connect(hello("lingering")), connect(hello("other"))
    tasks = Path(f"/proc/{hub.pid}/task")
    before, count = len(list(tasks.iterdir())), descriptors(hub.pid)
    with lingering.lingering() as make:
        hub.program.stop()
        for _ in range(50):
            lingering.send(peer.socket, stream(uuid.uuid4()), lingering.inside(make()))
        os.kill(hub.pid, signal.SIGCONT)
        for _ in range(50):
            assert status(peer.receive_kind("streamAnswer")) != 0
        assert len(list(tasks.iterdir())) <= before + 2
        other.send(message("ping", 1))
        assert other.receive() == ["pong", 1]
    wait_for_descriptors(hub.pid, count)
    # The threads end with their work.
    deadline = time.monotonic() + PATIENCE
    while len(list(tasks.iterdir())) > before and time.monotonic() < deadline:
        os.sched_yield()
    assert len(list(tasks.iterdir())) == before


def test_a_link_is_refused_before_its_descriptor_is_used(connect):
    """A file of FUSE would hold up whoever looks whether there is something to read."""
    asker = connect(hello())
    with open("/dev/null") as file:
        send(asker, message("openLink", 7, kind="transfer"), file)
        assert asker.receive_kind("linkDown")[:3] == ["linkDown", 7, MALFORMED]


def test_one_asker_leaves_room_for_others(connect, origin):
    greedy, other = connect(hello("greedy")), connect(hello("other"))
    with_ends = [ask(greedy, uuid.uuid4()) for _ in range(OF_AN_ASKER + 1)]
    assert status(greedy.receive_kind("streamAnswer")) == TIMED_OUT
    with_ends.append(ask(other, uuid.uuid4()))
    for _ in range(OF_AN_ASKER + 1):
        answer(origin, take(origin)[1])
    assert status(other.receive_kind("streamAnswer")) == 0
    for end in with_ends:
        end.close()
