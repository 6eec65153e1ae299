# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A laptop and a phone without a route to each other, and a machine at home that both reach: it passes their bytes on
(R14.3), for nobody else (A23), and no longer than it is of the account (A22)."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import cbor2
import pytest
import wire
from agents import AgentDevice, making
from hostile import HostileHub
from intruder import Keys, is_refused, secured
from network import Network, Sockets, can_make_networks, second_cable, two_networks
from programs import programs
from test_command import Machine
from test_two_machines import change_both, nothing_flickered, offer_both_ways

HOME, OPENED, CLOSED = "10.99.0.1", 1, 2
TO_RELAY, FROM_RELAY = 25, 26
FROM_RELAY_BIT = 1 << 31  # in the channel of a frame
NOT_LINKED, TOO_MANY, TOO_OFTEN, VIOLATED, UNKNOWN = 2, 4, 5, 6, 8

STREAMS = """
import sys, threading, time
app.close()
app = segue.App("com.example.streams", team="T", types=["com.example.streaming"])
app.open()
"""
SERVE = f"""{STREAMS}
activity = segue.Activity(app, "com.example.streaming", title="counts")
activity.supports_continuation_streams = True
@activity.on_did_receive_stream
def serve(stream):
    threading.Thread(target=answer, args=(stream,), daemon=True).start()
def answer(stream):
    with stream as connection:
        while asked := connection.recv(1):
            connection.sendall(asked * 100_000)
activity.become_current()
print("serves", flush=True)
app.run()
"""
FETCH = f"""{STREAMS}
while not app.offers:
    time.sleep(0.05)
with app.continue_(app.offers[0]).wait(20).stream().wait(20) as connection:
    connection.settimeout(20)
    for line in sys.stdin:
        connection.sendall(b"7")
        got = 0
        while got < 100_000:
            more = connection.recv(65536)
            assert more and not more.strip(b"7"), more
            got += len(more)
        print("fetched", flush=True)
"""


class Trio:
    """The manager is the laptop: so it can revoke what is at home."""

    def __init__(self, home: Machine, laptop: Machine, phone: Machine):
        self.home, self.laptop, self.phone = home, laptop, phone

    def relay(self, is_on: bool) -> None:
        self.home.device.ask("set-devices", relay=is_on)

    def meet(self) -> None:
        """The two are linked through home."""
        self.relay(True)
        for one, other in (("laptop", "phone"), ("phone", "laptop")):
            state = getattr(self, one).device.linked("home", other)
            found = next(each for each in state["devices"] if each["name"] == other)
            used = next(each for each in found["paths"] if each["state"] == "used")
            assert (used["address"], used["cost"]) == ("through home", "relay")


def route(machines: tuple[Network, Network, Network], what: str) -> None:
    """Home routes between the two, or not."""
    home, laptop, phone = machines
    home.run("sh", "-c", f"echo {int(what == 'add')} >/proc/sys/net/ipv4/ip_forward")
    laptop.run("ip", "route", what, "10.98.0.0/24", "via", HOME)
    phone.run("ip", "route", what, "10.99.0.0/24", "via", "10.98.0.1")


@contextlib.contextmanager
def a_trio(place: Path) -> Iterator[Trio]:
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        home, laptop = cable.machines
        networks = (home, laptop, second_cable(start, home))
        route(networks, "add")
        make = making(start, place)
        names = ("home", "laptop", "phone")
        made = [Machine(make(*each), start) for each in zip(names, networks, strict=True)]
        manager = made[1].device.create()
        for each in (made[0], made[2]):
            manager.admit(each.device)
        manager.linked("home", "phone")
        made[2].device.linked("home", "laptop")
        for each in made:
            each.device.kill()
        route(networks, "del")
        for each in made:
            each.device.begin()
        yield Trio(*made)


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    """For tests after which home does not relay."""
    with a_trio(tmp_path_factory.mktemp("trio")) as made:
        yield made


def reason(device: AgentDevice, other: str, text: str) -> None:
    """Waits until a path to another device has failed for that reason."""
    device.awaits(
        lambda state: any(
            text in path.get("message", "")
            for each in state["devices"]
            if each["name"] == other and not each["linked"]
            for path in each.get("paths", ())
        )
    )


def test_r14_3_two_devices_are_linked_through_a_third_and_no_longer_than_its_user_wants(trio, app):
    laptop, phone = trio.laptop.device, trio.phone.device
    for one, other in ((laptop, "phone"), (phone, "laptop")):
        one.linked("home")
        reason(one, other, "home does not pass bytes on")
    assert "through home: home does not pass bytes on" in trio.laptop.does("explain", status=1).out
    trio.meet()
    apps = offer_both_ways(app, laptop, phone)
    for here, there in (apps, apps[::-1]):
        here.tell("payload 200000", "title letter2")
        there.hears("changed letter2")
        there.ask("continue letter2", r"continue \w+ 2000\d\d letter2")
    change_both(apps, "answer")
    assert "through home, relay, used" in trio.laptop.does("devices", "--paths").out
    trio.phone.types("doctor").wait_for("laptop is linked through home")
    nothing_flickered(apps)
    trio.relay(False)
    for one, other in ((laptop, "phone"), (phone, "laptop")):
        one.linked("home", patience=5)
        reason(one, other, "home does not pass bytes on")


def test_a22_a_relay_that_is_revoked_while_it_carries_a_stream_loses_the_role_within_a_second(tmp_path):
    """R14.3, A22: what passes through it ends, and it gets nothing new."""
    with a_trio(tmp_path) as trio:
        trio.meet()
        trio.laptop.runs(SERVE).wait_for("serves")
        fetching = trio.phone.runs(FETCH)
        for _ in range(3):
            fetching.tell("more")
            fetching.wait_for("fetched")
        laptop, phone = trio.laptop.device, trio.phone.device
        laptop.ask("revoke-device", device=laptop.device("home")["device"])
        began = time.monotonic()
        laptop.linked(patience=5)
        phone.awaits(lambda state: not phone_has(state, "laptop"), 5)
        assert time.monotonic() - began < 1
        fetching.tell("more")
        reason(phone, "laptop", "home is not linked with laptop")


def phone_has(state: dict, name: str) -> bool:
    return any(each["name"] == name and each["linked"] for each in state["devices"])


class Member:
    """A device of the account that has turned hostile, in the place of the phone, linked with home by hand."""

    def __init__(self, trio: Trio, stack: contextlib.ExitStack):
        self.device = trio.phone.device
        self.keys = Keys.of(self.device.state_folder)
        self.device.kill()
        stack.callback(self.device.begin)
        sockets = Sockets(self.device.machine)
        stack.callback(sockets.close)
        self._connect = lambda: sockets.connect("10.98.0.1", trio.home.device.account()["port"])
        connection = stack.enter_context(self._connect())
        self.keys.knock(connection)
        self.hub = HostileHub(stack.enter_context(secured(connection, self.keys)))

    def stranger_is_refused(self) -> bool:
        """One that knows the key of the knock, and shows no certificate of the account, says nothing to a relay."""
        with self._connect() as connection:
            self.keys.knock(connection)
            return is_refused(lambda: secured(connection, self.keys, shows=False).recv(1))

    def says(self, *messages: list) -> None:
        for message in messages:
            self.hub.peer.send_message("account", cbor2.dumps(message, canonical=True))

    def opens(self, channel: int, device: uuid.UUID) -> list:
        return [TO_RELAY, channel, device]

    def answers(self, count: int) -> list[tuple[int, ...]]:
        """The next words of the relay about channels: opened, or closed and the reason."""
        found: list[tuple[int, ...]] = []
        while len(found) < count:
            kind, channel, body = self.hub.peer.next_frame()
            if kind == "relayedEnd":
                assert channel & FROM_RELAY_BIT
                found.append((channel & ~FROM_RELAY_BIT, CLOSED, *body))
            elif kind == "message":
                number, *elements = cbor2.loads(body)
                said = cbor2.loads(elements[0]) if wire.NAMES[number] == "account" else [0]
                if said[0] == FROM_RELAY and said[2] is True:
                    found.append((said[1], OPENED))
        return found


def test_a23_a_member_that_opens_10_000_channels_is_refused_and_harms_nobody(trio, app):
    """R14.3, A23: nor does it reach anything but devices of the account, nor send what was not granted."""
    trio.relay(True)
    laptop, home = trio.laptop.device, trio.home.device
    laptop.linked("home", "phone")
    with contextlib.ExitStack() as stack:
        apps = offer_both_ways(app, home, laptop)
        member = Member(trio, stack)
        there, own = (laptop.device(name)["device"] for name in ("laptop", "phone"))
        member.says(member.opens(1, uuid.uuid4()), member.opens(3, own))
        member.hub.peer.send(wire.frame("relayed", bytes(8) + b"7", 5))
        assert member.answers(3) == [(1, CLOSED, NOT_LINKED), (3, CLOSED, VIOLATED), (5, CLOSED, UNKNOWN)]
        answers = []
        for first in range(0, 10_000, 500):
            member.says(*(member.opens(2 * number + 101, there) for number in range(first, first + 500)))
            answers += member.answers(490)
        refused = [why for _, step, *why in answers if step == CLOSED and why[0] in (TOO_MANY, TOO_OFTEN)]
        opened = {channel for channel, step, *_ in answers if step == OPENED}
        assert len(refused) > 9_500 and len(opened) <= 20
        change_both(apps, "answer")
        assert laptop.device("home")["linked"]
        assert member.stranger_is_refused()
    nothing_flickered(apps)
    trio.relay(False)
    laptop.linked("home")
