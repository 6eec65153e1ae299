# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A laptop whose lid is closed, an office, and a machine at home that keeps the laptop's offers (R14.5). The laptop is
on a cable of its own to home; home and the office stay linked."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
from agents import Refused, making
from hostile import HostileHub
from intruder import Keys, device_of, secured
from network import Cable, Sockets, another_network, can_make_networks, two_networks
from participants import Participant
from programs import PATIENCE, programs
from test_command import Machine

SIZE = 3_000_000
INVALID_ARGUMENT, NOT_FOUND = 1, 8
RETAIN, RETAINED = 18, 19
AWAY = "laptop, retained at home"


class House:
    def __init__(self, cable: Cable, home: Machine, laptop: Machine, office: Machine):
        self._cable, self.home, self.laptop, self.office = cable, home, laptop, office

    def closes(self) -> None:
        """The lid is closed: its link is silent, and then gone."""
        self._cable.pull()
        self.home.device.linked("office", patience=60)

    def closes_without_office(self) -> None:
        self._cable.pull()
        self.home.device.linked(patience=60)

    def opens(self) -> None:
        self._cable.plug()
        self.home.device.linked("laptop", "office", patience=60)

    def retains(self, count: int) -> None:
        """Waits until the laptop has heard that home has so many of its offers."""
        self.laptop.device.awaits(
            lambda state: any(each["name"] == "home" and each.get("retains", 0) == count for each in state["devices"])
        )


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        home, laptop = cable.machines
        office = another_network(start, home, "machine 3")
        home.run("ip", "link", "add", "works", "type", "veth", "peer", "name", "cable", "netns", f"{office.network}")
        for machine, number, name in ((home, 1, "works"), (office, 2, "cable")):
            machine.run("ip", "addr", "add", f"10.98.0.{number}/24", "dev", name)
            machine.run("sh", "-c", f"ip link set lo up; ip link set {name} up")
        make = making(start, tmp_path)
        names = ("home", "laptop", "office")
        made = [Machine(make(*each), start) for each in zip(names, (home, laptop, office), strict=True)]
        manager = made[0].device.create()
        for each in made[1:]:
            manager.admit(each.device)
        manager.linked("laptop", "office")
        yield House(cable, *made)


def offered(house: House, app) -> tuple[Participant, Participant]:
    """A letter of the laptop with a photo, which the office sees nothing of but through home: they do not reach each
    other."""
    house.laptop.does("account", "set", "--retain-on", "home")
    mine, yours = app(house.laptop.device, "notes"), app(house.office.device, "notes")
    mine.ask("offer letter", "offered")
    mine.ask(f"attach photo {SIZE}", "attached")
    return mine, yours


def until(holds: Callable[[], bool]) -> None:
    """A device is linked before its offers are there, and an offer ends here before it does there."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline


def picture() -> bytes:
    return (bytes(7 * n & 255 for n in range(256)) * (SIZE // 256 + 1))[:SIZE]


def test_r14_5_the_office_continues_from_home_what_a_closed_laptop_has_offered(house, app, tmp_path):
    """With its attachment, once; the outcome stays at home."""
    mine, yours = offered(house, app)
    mine.hears("ended .* unknown .*retained at home.*")
    house.retains(1)
    said = house.laptop.does("account").out
    assert "retain on: home (1 offer retained there)" in said
    assert "home: retains 1 offer of this device" in house.laptop.does("devices").out
    assert "keeps 1 offer of laptop" in house.home.does("account").out
    house.closes()
    yours.hears("appeared letter")
    (listed,) = house.office.json("list")
    assert (listed["device_name"], listed["title"]) == (AWAY, "letter")
    assert AWAY in house.home.does("list").out
    yours.ask("continue letter", r"continue \w+ \d+ letter")
    yours.hears("gone letter")
    yours.ask(f"fetch photo {tmp_path}/photo", "fetched photo OK")  # what was continued is served on
    assert (tmp_path / "photo").read_bytes() == picture()
    (kept,) = house.home.json("inbox")
    assert (kept["title"], kept["continued_on"], kept["device_name"]) == ("letter", "office", "laptop")
    assert "continued by com.example.notes on office" in house.home.does("inbox").out


@pytest.mark.parametrize("end", ("kill", "end"))
def test_r14_5_what_is_retained_outlives_the_agents_of_both(house, app, end):
    mine, yours = offered(house, app)
    house.retains(1)
    getattr(house.laptop.device, end)()
    yours.hears("appeared letter", 60)
    yours.tell("forget")
    getattr(house.home.device, end)()
    yours.hears("gone letter", 60)
    house.home.device.begin()
    yours.hears("appeared letter", 60)
    yours.ask("continue letter", r"continue \w+ \d+ letter")
    yours.hears("gone letter")
    mine.kill()


def test_r14_5_the_origin_is_back_while_its_offer_is_being_continued(house, app):
    """One outcome; and then its own offer is the one that counts."""
    _, yours = offered(house, app)
    house.retains(1)
    house.closes()
    yours.hears("appeared letter", 60)
    yours.tell("on_continue later")
    yours.ask("continue letter", r"continue \w+ \d+ letter")
    house.opens()
    yours.tell("complete yes")
    # One that is continued has left the list of those that are offered.
    house.home.device.awaits(lambda state: "continued" in house.home.device.ask("retained")["retained"][0])
    (kept,) = house.home.json("inbox")
    assert kept["continued_on"] == "office"
    # Home has the laptop's own offer again. The office does not reach the laptop, and the copy was continued.
    until(lambda: [each["device_name"] for each in house.home.json("list")] == ["laptop"])
    until(lambda: house.office.json("list") == [])


def test_r14_5_only_a_device_of_the_account_and_not_this_one_can_be_the_mailbox(house):
    laptop = house.laptop
    for device, status in ((uuid.uuid4(), NOT_FOUND), (laptop.device.account()["device"], INVALID_ARGUMENT)):
        with pytest.raises(Refused) as refused:
            laptop.device.ask("set-devices", retain_on=device)
        assert refused.value.status == status and refused.value.message.startswith("retain_on: ")
    assert (
        "no device of the account has the name 'nas'"
        in laptop.does("account", "set", "--retain-on", "nas", status=1).err
    )
    laptop.does("account", "set", "--retain-on", "home")
    assert "retain on: home" in laptop.does("account").out
    laptop.does("account", "set", "--retain-on", "off")
    assert "retain on" not in laptop.does("account").out


def test_r14_5_a_mailbox_that_is_revoked_loses_the_role_at_once(house, app):
    offered(house, app)
    house.retains(1)
    # Home is the manager, which nobody revokes.
    house.laptop.device.ask("set-devices", retain_on=house.laptop.device.device("office")["device"])
    house.retains(0)
    house.home.device.ask("revoke-device", device=house.home.device.device("office")["device"])
    house.laptop.device.awaits(lambda state: state["settings"]["retain_on"] == "off")
    assert "mailbox: was removed from the account" in house.laptop.device.problems()


def signed(keys: Keys, mailbox: uuid.UUID, activity: uuid.UUID, revision: int, **of_push: Any) -> bytes:
    """docs/protocol.md, "Mailboxes"."""
    said = keys.account + device_of(keys) + mailbox.bytes + activity.bytes + revision.to_bytes(8, "big")
    head = b"segue retained offer 1\0"
    if of_push:
        head, app = b"segue retained push 1\0", of_push.get("app")
        said += of_push["push"].bytes + of_push["target"].bytes + (b"\0" if app is None else b"\1" + app.encode())
    return keys.sign(head + said)


class Member:
    """The laptop, turned hostile: its keys, in the hands of a program that says what it likes."""

    def __init__(self, house: House, stack: contextlib.ExitStack):
        device = house.laptop.device
        self.keys = Keys.of(device.state_folder)
        self.home, self.office = (
            uuid.UUID(bytes=device_of(Keys.of(each.device.state_folder))) for each in (house.home, house.office)
        )
        device.kill()
        sockets = Sockets(device.machine)
        stack.callback(sockets.close)
        connection = stack.enter_context(sockets.connect("10.99.0.1", house.home.device.account()["port"]))
        self.keys.knock(connection)
        self.hub = HostileHub(stack.enter_context(secured(connection, self.keys)))

    def says(self, message: list) -> None:
        self.hub.peer.send_message("account", cbor2.dumps(message, canonical=True))


@pytest.mark.parametrize(
    "offers",
    (
        [[uuid.uuid4(), 7, bytes(96)]] * 64,
        [[uuid.uuid4(), 7, bytes(95)]],
        [[uuid.uuid4(), -1, bytes(96)]],
        [[uuid.uuid4(), 7]],
        [7] * 10_000,
        "offers",
    ),
    ids=("not signed", "short proof", "negative", "no proof", "many", "text"),
)
def test_r14_5_what_a_hostile_member_wants_retained_costs_nothing(house, offers):
    with contextlib.ExitStack() as stack:
        member = Member(house, stack)
        for _ in range(50):
            member.says([RETAIN, offers])
            member.says([RETAINED, offers, 3, "x" * 5_000])
            member.hub.is_heard()
        # It is served as before: what it signs itself is fetched, and nothing else.
        genuine = member.hub.offers("genuine")
        member.says([RETAIN, [[genuine, 8, signed(member.keys, member.home, genuine, 8)]]])
        member.hub.delivers(genuine)
        house.home.device.linked("laptop", "office")
        while not (kept := house.home.device.ask("retained")["retained"]):
            member.hub.is_heard()
        assert [each["title"] for each in kept] == ["delivered"]


FORGED = {
    "by another device": lambda member, activity, other: signed(other, member.home, activity, 7),
    "another mailbox": lambda member, activity, _: signed(member.keys, member.office, activity, 7),
    "another revision": lambda member, activity, _: signed(member.keys, member.home, activity, 6),
    "another activity": lambda member, _activity, _: signed(member.keys, member.home, uuid.uuid4(), 7),
    "a push": lambda member, activity, _: signed(
        member.keys, member.home, activity, 7, push=uuid.uuid4(), target=member.office
    ),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_r14_5_what_is_not_signed_by_its_device_is_not_retained(house, forge):
    """Home fetches in the order of the list: the first fetch would be for what is forged."""
    other = Keys.of(house.office.device.state_folder)
    with contextlib.ExitStack() as stack:
        member = Member(house, stack)
        forged, genuine = member.hub.offers("forged"), member.hub.offers("genuine")
        assert member.hub.is_heard() is not None
        proof = forge(member, forged, other)
        member.says([RETAIN, [[forged, 7, proof], [genuine, 7, signed(member.keys, member.home, genuine, 7)]]])
        member.hub.delivers(genuine)


def test_r14_5_a_member_cannot_offer_as_another_device(house):
    """A hub takes a retained offer only with the signature of the device that it names."""
    office = Keys.of(house.office.device.state_folder)
    with contextlib.ExitStack() as stack:
        member = Member(house, stack)
        laptop = uuid.UUID(bytes=device_of(member.keys))
        # Otherwise what it offers itself counts.
        house.office.device.kill()
        house.home.device.linked("laptop", patience=60)

        def offers(title: str, signer: Keys) -> None:
            activity = uuid.uuid4()
            proof = signed(signer, laptop, activity, 7)
            member.hub.offers_as(title, [member.office, activity, 7, proof])

        offers("forged", member.keys)
        offers("genuine", office)
        member.hub.is_heard()
        assert [(each["title"], each["device_name"]) for each in house.home.json("list")] == [
            ("genuine", "office, retained at laptop")
        ]


def test_r3_15_a_push_to_an_office_that_is_off_comes_once_it_is_back(house, app, tmp_path):
    house.laptop.does("account", "set", "--retain-on", "home")
    house.office.does("account", "set", "--push", "at-once")
    house.office.device.kill()
    house.home.device.linked("laptop", patience=60)
    offering = ("offer", "com.example.editing", "--team", "T", "--title", "letter", "--to", "office")
    said = house.laptop.does(*offering)
    assert "office is not linked: home keeps it until then" in said.err
    assert "unknown" in said.out and "retained at home" in said.out
    assert "1 push kept there" in house.laptop.does("account").out
    assert "home: 1 push of this device kept there" in house.laptop.does("devices").out
    assert "keeps 1 push of laptop" in house.home.does("account").out
    assert "waits for office" in house.home.does("inbox").out
    assert house.home.json("list") == []
    house.closes_without_office()
    house.office.device.begin()
    yours = app(house.office.device, "notes", waits=False)
    yours.hears("continue .* letter", 60)
    house.home.device.awaits(lambda _: "ended" in house.home.device.ask("retained")["retained"][0])
    (kept,) = house.home.json("inbox")
    assert (kept["title"], kept["continued_on"], kept["target_name"]) == ("letter", "office", "office")
    assert "continued by com.example.notes on office" in house.home.does("inbox").out
