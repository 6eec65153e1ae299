# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attacks on an agent by who has the keys of a device, or of the whole account, or none (SECURITY.md): each beside what
the agent does without the attack."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import socket
import ssl
import struct
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import cbor2
import pytest
import wire
from agents import AgentDevice, making
from hostile import SecureConnection
from intruder import GROUPS, PORT, Keys, device_of, exactly, is_refused, secured
from middleman import JoiningGuest
from network import Network, Sockets, can_make_networks, two_networks
from programs import programs
from project import ROOT, run
from proxy import Proxy
from temporary_folders import temporary

FORGERIES = int(os.environ.get("SEGUE_FORGERIES", "20000"))
DAY = 86_400
HERE, THERE, ELSEWHERE = "10.99.0.1", "10.99.0.2", "10.99.0.66"


class Home(NamedTuple):
    """An agent, the manager of an account of two, and an intruder on the machine of the other device, which is off."""

    agent: AgentDevice
    machine: Network
    intruders: Network
    other: AgentDevice
    manager: Keys
    member: Keys
    sockets: Sockets

    @property
    def port(self) -> int:
        return self.agent.account()["port"]

    def dial(self) -> socket.socket:
        return self.sockets.connect(HERE, self.port)

    def announce(self, beacon: bytes, address: str = THERE) -> None:
        """Sends a beacon from an address."""
        with self.sockets.make(kind=socket.SOCK_DGRAM) as one:
            one.bind((address, 0))
            one.sendto(beacon, (GROUPS[socket.AF_INET], PORT))


@contextlib.contextmanager
def a_home(place: Path) -> Iterator[Home]:
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        cable.machines[1].run("ip", "addr", "add", f"{ELSEWHERE}/24", "dev", "cable")
        make = making(start, place)
        one, two = make("one", cable.machines[0]).begin(), make("two", cable.machines[1]).begin()
        one.create().admit(two)
        one.linked("two")
        two.linked("one")
        two.end()
        one.linked()
        sockets = Sockets(cable.machines[1])
        yield Home(one, *cable.machines, two, Keys.of(one.state_folder), Keys.of(two.state_folder), sockets)
        sockets.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """For tests after which it is as before."""
    with a_home(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[Home]:
    with a_home(tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def flood() -> Iterator[Path]:
    with temporary("segue-flood-") as folder:
        program = folder / "flood"
        run("cc", "-O1", "-D_GNU_SOURCE", ROOT / "Tests" / "devices" / "flood.c", "-o", program)
        yield program


@pytest.fixture(scope="module")
def clock(preloaded: Callable[[str], Path]) -> Path:
    return preloaded("devices/clock.c")


def lured(home: Home, stack: contextlib.ExitStack) -> socket.socket:
    """A connection that the agent has dialled."""
    listener = stack.enter_context(home.sockets.listen(THERE))
    home.announce(home.member.beacon(listener.getsockname()[1]))
    connection = stack.enter_context(listener.accept()[0])
    connection.settimeout(10)
    return connection


# ---- who it is ----


def misnamed(home: Home, clock: Path) -> dict[str, object]:
    return {"keys": home.member.signed(home.manager, device_of(home.manager))}


def expired(home: Home, clock: Path) -> dict[str, object]:
    return {"keys": home.member.signed(home.manager, device_of(home.member), clock=clock, offset=-400 * DAY)}


def of_the_future(home: Home, clock: Path) -> dict[str, object]:
    return {"keys": home.member.signed(home.manager, device_of(home.member), clock=clock, offset=400 * DAY)}


def self_signed(home: Home, clock: Path) -> dict[str, object]:
    """It has the names of the account, and is signed by another key."""
    member = home.member
    return {"keys": member.signed(member._replace(root=member.certificate, root_key=member.key), device_of(member))}


FLAWS: dict[str, Callable[[Home, Path], dict[str, object]]] = {
    "none": lambda *_: {},
    "none, another certificate": lambda home, _: {"keys": home.member.signed(home.manager, device_of(home.member))},
    "A13 a certificate that names another device": misnamed,
    "A13 its own certificate": lambda home, _: {"keys": home.manager},
    "A13 a certificate by another key": self_signed,
    "A14 TLS 1.2": lambda *_: {"version": ssl.TLSVersion.TLSv1_2},
    "A14 no application protocol": lambda *_: {"protocols": ()},
    "A14 another application protocol": lambda *_: {"protocols": ("segue/0", "http/1.1")},
    "A15 no certificate": lambda *_: {"shows": False},
    "A15 an expired certificate": expired,
    "A15 a certificate of the future": of_the_future,
}


WAYS = [(flaw, serves) for flaw in FLAWS for serves in (False, True) if not (serves and "no certificate" in flaw)]


@pytest.mark.parametrize(("flaw", "serves"), WAYS, ids=[f"{flaw}, {'dialled' if s else 'dials'}" for flaw, s in WAYS])
def test_who_gets_a_link(home, clock, flaw, serves):
    speaks = {"keys": home.member, **FLAWS[flaw](home, clock)}
    with contextlib.ExitStack() as stack:
        if serves:
            connection = lured(home, stack)
            home.member.answer(connection)
        else:
            connection = stack.enter_context(home.dial())
            home.member.knock(connection)

        def speak() -> None:
            tls = stack.enter_context(secured(connection, serves=serves, **speaks))
            if serves:
                tls.sendall(b"\1")  # the first byte of a frame: then a dialled link is up
            else:
                exactly(tls, 1)  # so does the agent
            assert not tls.session or not tls.session.has_ticket
            if flaw.startswith("none"):
                home.agent.linked("two")
            else:
                exactly(tls, 1)

        assert is_refused(speak) == (not flaw.startswith("none"))
        if not flaw.startswith("none"):
            assert home.agent.linked()["status"] == "member"
    home.agent.linked()
    if serves and "its own" in flaw:
        assert "is this device, too: its state folder was copied" in home.agent.account()["message"]


def test_a15_a_revoked_device_is_out_at_once_and_under_its_old_epoch(own_home):
    home = own_home
    with home.dial() as connection:
        home.member.knock(connection)
        with secured(connection, home.member) as tls:
            exactly(tls, 1)
            home.agent.linked("two")
            began = time.monotonic()
            home.agent.ask("revoke-device", device=home.agent.device("two")["device"])

            def read_on() -> None:
                while tls.recv(4096):
                    pass
                raise EOFError

            assert is_refused(read_on) and time.monotonic() - began < 1
    # Its knock is answered, under the epoch that it knows: a device that has slept has to get so far. TLS refuses it.
    with home.dial() as connection:
        home.member.knock(connection)
        with pytest.raises(ssl.SSLError, match="REVOKED"), secured(connection, home.member) as tls:
            exactly(tls, 1)
    # Under the epoch since then a knock needs a key that it has not.
    now = Keys.of(home.agent.state_folder)
    assert now.epochs[1] == home.member.epochs[0] and now.epochs[0] not in home.member.epochs
    with home.dial() as connection:
        now.knock(connection)
    with home.dial() as connection, pytest.raises(EOFError):
        home.member._replace(epochs=(os.urandom(32),)).knock(connection)


def unlisted(home: Home) -> Keys:
    """A device with a certificate by the key of the account, which is in no list."""
    made = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-outform", "DER"], capture_output=True)
    words = ["openssl", "pkey", "-inform", "DER", "-pubout", "-outform", "DER"]
    public = subprocess.run(words, input=made.stdout, capture_output=True, check=True).stdout
    device = hashlib.sha256(public).digest()[:16]
    return home.manager._replace(key=made.stdout).signed(home.manager, device)


def test_a24_a_device_that_is_not_listed_hears_which_list_there_is_and_nothing_else(own_home):
    """It has no session of the hub: one message, and the end after 5 s. Its messages are held, up to 64 KiB."""
    home, stranger = own_home, unlisted(own_home)
    with home.dial() as connection:
        stranger.knock(connection)
        with secured(connection, stranger) as tls:
            peer, began = SecureConnection(tls), time.monotonic()
            peer.send(wire.message("link", wire.PROTOCOL, wire.PROTOCOL, uuid.uuid4(), "stranger"))
            peer.send(wire.message("ping", 1) * 5_000)
            number, term, roster, digest, *_ = cbor2.loads(peer.expect("account")[0])
            assert (number, term, len(digest)) == (1, 1, 32) and roster > 0
            assert is_refused(lambda: peer.read(1)), "more was said"
            assert 4 < time.monotonic() - began < 9
    (refused,) = home.agent.awaits(lambda state: state["refused"])["refused"]
    assert refused["device"].bytes == device_of(stranger) and refused["fingerprint"]
    home.agent.linked()
    with home.dial() as connection:
        stranger.knock(connection)
        with secured(connection, stranger) as tls:
            peer, began = SecureConnection(tls), time.monotonic()
            peer.expect("account")

            def floods() -> None:
                peer.send(wire.message("ping", 1) * 7_000)
                peer.read(1)

            assert is_refused(floods) and time.monotonic() - began < 4
    assert len(home.agent.linked()["refused"]) == 1


LIES = {
    "no TLS": (False, b"GET / HTTP/1.1\r\n\r\n"),
    "a record of any length": (False, b"\x16\x03\x01\xff\xff"),
    "more than 64 KiB": (
        False,
        (b"\x16\x03\x01\x00\x04\x01\x01\x00\x00" + b"\x16\x03\x01\x40\x00" + bytes(0x4000)) * 5,
    ),
    "a frame of any length": (True, struct.pack(">II", 0xFFFFFF | wire.FRAMES["message"] << 24, 0)),
    "an array without an end": (True, wire.frame("message", b"\x9f" * 1000)),
    "an array of any length": (True, wire.frame("message", b"\x9b" + b"\xff" * 8)),
    "a frame that there is not": (True, wire.frame(99, b"")),
}


@pytest.mark.parametrize("lie", LIES)
def test_a9_who_lies_about_lengths_is_hung_up_on(home, lie):
    """Before TLS and under it; what an honest device says next is heard."""
    is_under_tls, said = LIES[lie]
    for is_honest in (False, True):
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(home.dial())
            home.member.knock(connection)
            if is_under_tls or is_honest:
                connection = stack.enter_context(secured(connection, home.member))
                exactly(connection, 1)
                home.agent.linked("two")

            def lie_and_read(connection: socket.socket = connection) -> None:
                connection.sendall(said)
                while connection.recv(4096):
                    pass
                raise EOFError

            assert is_honest or is_refused(lie_and_read)
        home.agent.linked()


def test_a9_who_ends_tls_with_its_certificate_is_hung_up_on(home):
    """All in one packet, and TCP stays open: the agent would wait for room to write."""
    with home.dial() as connection:
        home.member.knock(connection)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        with secured(connection, home.member) as session, socket.socket(fileno=os.dup(session.fileno())) as raw:
            session.settimeout(0)
            with contextlib.suppress(OSError):
                session.unwrap()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            assert ends_soon(raw)


def ends_soon(connection: socket.socket) -> bool:
    """Whether the other end closes it long before its time is over."""
    connection.settimeout(2)
    try:
        while connection.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def test_a16_who_ends_tls_with_its_first_message_is_hung_up_on(own_home):
    """A holder of an invite, in the same way: the inviting agent would wait for 30 s."""
    link = own_home.agent.ask("invite")["link"]
    with own_home.dial() as connection, JoiningGuest(connection, link) as guest:
        guest.say_and_end(b"\0\0\0\1\xa0")
        assert ends_soon(connection)


def test_a12_what_an_agent_says_is_refused_when_it_comes_back(home):
    with contextlib.ExitStack() as stack:
        connection = lured(home, stack)
        connection.sendall(os.urandom(16))
        said = exactly(connection, 48)
        connection.sendall(said[16:])
        assert record(connection) == 22  # TLS begins behind the knock, whoever answers.
        assert connection.recv(100) == b""
    with contextlib.ExitStack() as stack:
        connection = lured(home, stack)
        home.member.answer(connection)
        assert record(connection) == 22
        connection.sendall(b"\x16\x03\x03\0\4\2\0\0\0")
        assert record(connection) == 21  # It listens, and answers what is no TLS with an alert.


def record(connection):
    """Reads a TLS record, and returns its type (RFC 8446 §5.1)."""
    head = exactly(connection, 5)
    exactly(connection, int.from_bytes(head[3:], "big"))
    return head[0]


def test_a12_an_agent_that_is_led_to_itself_has_no_link_and_takes_itself_for_no_copy(home):
    before = home.agent.account()["notices"]
    with contextlib.closing(Proxy(home.sockets, (HERE, home.port), THERE)) as proxy:
        home.announce(home.member.beacon(int(proxy.address.partition(":")[2])))
        proxy.ended()
        assert min(proxy.moved) > 48  # It came as far as TLS.
    assert home.agent.linked()["notices"] == before


# ---- beacons ----


def wait_until_read(home: Home) -> None:
    """Until the agent has taken all datagrams that have arrived: none was lost."""
    pid, deadline = home.machine.network, time.monotonic() + 20
    while True:
        lines = [line.split() for line in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]]
        mine = [line for line in lines if line[1].endswith(f":{PORT:04X}")]
        assert mine and all(line[12] == "0" for line in mine), f"datagrams were lost: {mine}"
        if all(line[4].endswith(":00000000") for line in mine):
            return
        assert time.monotonic() < deadline, mine


def memory_of(agent: AgentDevice) -> int:
    """KiB."""
    status = Path(f"/proc/{agent.agent.pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0])


def is_dialled(home: Home, beacon: Callable[[int], bytes], address: str = ELSEWHERE) -> bool:
    """Whether the agent dials the port of a beacon: it has been read once it dials that of an honest one after it."""
    with home.sockets.listen(address) as listener, home.sockets.listen(address) as honest:
        home.announce(beacon(listener.getsockname()[1]), address)
        home.announce(home.member.beacon(honest.getsockname()[1]), address)
        honest.accept()[0].close()
        listener.setblocking(False)
        try:
            listener.accept()[0].close()
            return True
        except BlockingIOError:
            return False


def test_a3_a4_a8_forged_beacons_change_nothing(home):
    assert is_dialled(home, home.member.beacon)
    wait_until_read(home)
    before = memory_of(home.agent)
    with home.sockets.make(kind=socket.SOCK_DGRAM) as one:
        one.bind((THERE, 0))
        for count in range(FORGERIES):
            one.sendto(os.urandom(38), (GROUPS[socket.AF_INET], PORT))
            if count % 100 == 99:
                wait_until_read(home)
    assert memory_of(home.agent) - before < 1024
    assert not is_dialled(home, lambda _: os.urandom(38))
    assert is_dialled(home, home.member.beacon)


@pytest.mark.parametrize("sources", [1, 40], ids=["one address", "40 addresses"])
def test_a19_on_ipv6_one_stranger_does_not_keep_a_device_out(home, flood, sources):
    """A device of the account, 20 ms away, has its knock answered within a second, and its link."""
    address, _ = local_address(home.machine)
    own, scope = local_address(home.intruders)
    many = [f"fe80::77:{number + 1:x}" for number in range(sources - 1)]
    for each in many:
        home.intruders.run("ip", "addr", "add", f"{each}/64", "dev", "cable", "nodad")

    def knocks() -> float:
        """Dials as a device does until its knock is answered; the delay is at this end."""
        began = time.monotonic()
        while True:
            with home.sockets.make(socket.AF_INET6) as connection, contextlib.suppress(EOFError, OSError):
                connection.settimeout(1)
                connection.bind(("fe80::99", 0, 0, scope))
                connection.connect((address, home.port, 0, scope))
                time.sleep(0.02)
                home.member.knock(connection)
                return time.monotonic() - began
            assert time.monotonic() - began < 30, "it is kept out"

    home.intruders.run("ip", "addr", "add", "fe80::99/64", "dev", "cable", "nodad")
    usual = knocks()
    with programs() as start:
        words = [flood, address, str(home.port), "cable", "24000", own, *many]
        stranger = start("flood", [*home.intruders.under, *words])
        stranger.wait_for("floods")
        taken = sorted(knocks() for _ in range(9))
        assert stranger.wait() == 0
    # Both machines and the flood share this one's cores.
    assert taken[4] < 1 + 10 * usual, (usual, taken)
    for each in [*many, "fe80::99"]:
        home.intruders.run("ip", "addr", "del", f"{each}/64", "dev", "cable")
    home.agent.linked()


def test_a6_a7_a_beacon_counts_once_and_in_its_time(home):
    assert is_dialled(home, lambda port: home.member.beacon(port, slot=-1))
    assert is_dialled(home, lambda port: home.member.beacon(port, slot=1))
    assert not is_dialled(home, lambda port: home.member.beacon(port, slot=-3))
    assert not is_dialled(home, lambda port: home.member.beacon(port, slot=3))
    # A beacon that was heard once is worth nothing, at whatever address it is heard again, nor with another port.
    nonce = os.urandom(16)
    assert is_dialled(home, lambda port: home.member.beacon(port, nonce=nonce), THERE)
    assert not is_dialled(home, lambda port: home.member.beacon(port, nonce=nonce))
    assert not is_dialled(home, lambda port: home.member._replace(epochs=(os.urandom(32),)).beacon(port))


def local_address(machine: Network) -> tuple[str, int]:
    """The link-local address of a machine's end of the cable, and the number of the interface there."""
    for line in Path(f"/proc/{machine.network}/net/if_inet6").read_text().splitlines():
        digits, index, _, _, _, name = line.split()
        if name == "cable" and digits.startswith("fe80"):
            return ":".join(digits[at : at + 4] for at in range(0, 32, 4)), int(index, 16)
    raise AssertionError("the cable has no address")


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_a_beacon_that_is_not_sent_to_the_group_is_not_heard(home, family):
    """Nobody who is further away than the own network makes a device do anything."""
    is_v6 = family == socket.AF_INET6
    scope = (0, local_address(home.intruders)[1]) if is_v6 else ()
    directly = local_address(home.machine)[0] if is_v6 else HERE

    def is_heard(target: str) -> bool:
        with contextlib.ExitStack() as stack:
            listeners = [stack.enter_context(home.sockets.make(family)) for _ in range(2)]
            for listener in listeners:
                listener.bind(("::" if is_v6 else THERE, 0))
                listener.listen()
                listener.settimeout(10)
            with home.sockets.make(family, socket.SOCK_DGRAM) as one:
                if not is_v6:
                    one.bind((THERE, 0))
                for listener, where in zip(listeners, (target, GROUPS[family]), strict=True):
                    one.sendto(home.member.beacon(listener.getsockname()[1]), (where, PORT, *scope))
            listeners[1].accept()[0].close()
            listeners[0].setblocking(False)
            with contextlib.suppress(BlockingIOError):
                listeners[0].accept()[0].close()
                return True
            return False

    assert is_heard(GROUPS[family]) and not is_heard(directly)


# ---- what an observer sees ----


def test_a1_a2_a5_an_observer_recognises_nothing_across_slots_restarts_and_copies(own_home, clock):
    """Four slots; each other time the state and the clock are those of the time before, as after a snapshot."""
    home = own_home
    home.agent.end()
    snapshot = {path: path.read_bytes() for path in home.agent.state_folder.iterdir() if path.is_file()}
    said: list[bytes] = []
    beacons: list[bytes] = []
    with home.sockets.make(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as cable:
        cable.bind(("cable", 0x0800))
        cable.settimeout(10)
        for run in range(8):
            for path, content in snapshot.items():
                path.write_bytes(content)
            home.agent.variables = {"LD_PRELOAD": str(clock), "CLOCK_OFFSET": str(run // 2 * 900)}
            home.agent.begin()
            while (packet := cable.recv(4096))[14 + 9] != socket.IPPROTO_UDP:
                pass
            address, target = socket.inet_ntoa(packet[26:30]), socket.inet_ntoa(packet[30:34])
            ports = struct.unpack(">HHH", packet[34:40])
            # All that is the same: addresses, the group, its port at both ends, the length.
            assert (address, target, ports) == (HERE, GROUPS[socket.AF_INET], (PORT, PORT, 8 + 38)) and packet[22] == 1
            beacons.append(packet[42:])
            with home.dial() as connection:
                said.append(exactly(connection, 16))
            home.agent.end()
    for all_ in (beacons, said):
        assert {len(one) for one in all_} == {len(all_[0])}
        for place in range(len(all_[0])):
            column = [one[place] for one in all_]
            steps = {(later - earlier) % 256 for earlier, later in itertools.pairwise(column)}
            assert len(set(column)) > 2 and len(steps) > 2, f"byte {place}: {column}"
    # No part is repeated: no nonce, though the state, the date and the process were as before.
    parts = [one[at : at + 4] for one in beacons + said for at in range(len(one) - 3)]
    assert len(parts) - len(set(parts)) <= 1  # some 350 of 2^32
