# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two devices on two machines: network namespaces of their own, joined by a cable that is pulled and put back."""

from __future__ import annotations

import time

import pytest


def link(one, other) -> None:
    one.linked(other)
    other.linked(one)


def know(one, other) -> None:
    one.tell(f"known {other.name}")
    other.tell(f"known {one.name}")


def carry(origin, receiver, title: str) -> None:
    """An activity continues, document included."""
    origin.tell(f"offer {title}", "payload 200000")
    receiver.hears(f"appeared {title}")
    receiver.ask(f"continue {title}", rf"continue \w+ 2000\d\d {title}")


def test_activities_continue_on_the_other_machine_both_ways(cable, device, app):
    cable.address()
    one, other = device("1", cable.machines[0]), device("2", cable.machines[1])
    one.tell(f"dial 10.99.0.2:{other.port}")
    link(one, other)
    here, there = app(one, "notes"), app(other, "notes")
    carry(here, there, "letter")
    carry(there, here, "answer")


@pytest.mark.parametrize("ipv4", [True, False], ids=["IPv4 and IPv6", "IPv6 alone"])
def test_devices_find_each_other_by_their_beacons(cable, device, app, ipv4):
    cable.address(ipv4=ipv4)
    one = device("1", cable.machines[0])
    one.tell("known " + "00" * 16)  # It announces itself to a device that is not there.
    other = device("2", cable.machines[1])
    began = time.monotonic()
    know(one, other)
    link(one, other)
    assert time.monotonic() - began < 3
    carry(app(one, "notes"), app(other, "notes"), "letter")


def test_devices_that_dial_each_other_have_one_link(cable, device, app):
    cable.address()
    one, other = device("1", cable.machines[0]), device("2", cable.machines[1])
    one.tell(f"dial 10.99.0.2:{other.port}")
    other.tell(f"dial 10.99.0.1:{one.port}")
    link(one, other)
    carry(app(one, "notes"), app(other, "notes"), "letter")
    assert one.devices == [other.name] and other.devices == [one.name]


def test_a_cable_that_is_pulled_and_put_back(cable, device, app):
    cable.address()
    one, other = device("1", cable.machines[0]), device("2", cable.machines[1])
    one.tell(f"dial 10.99.0.2:{other.port}")
    link(one, other)
    here, there = app(one, "notes"), app(other, "notes")
    carry(here, there, "letter")
    cable.pull()
    here.tell("title answer")
    time.sleep(2)  # The case that is tried: nothing gets through for so long.
    assert "changed answer" not in there.events()
    # A cable that is pulled takes the routes of IPv4 with it, as the addresses of a machine that has left.
    cable.plug()
    began = time.monotonic()
    there.hears("(changed|appeared) answer", 10)
    assert time.monotonic() - began < 3
    there.ask("continue answer", r"continue \w+ 2000\d\d answer")


def test_a_machine_that_has_another_address(cable, device, app):
    cable.address()
    one, other = device("1", cable.machines[0]), device("2", cable.machines[1])
    know(one, other)
    link(one, other)
    here, there = app(one, "notes"), app(other, "notes")
    carry(here, there, "letter")
    cable.machines[1].run("ip", "addr", "flush", "dev", "cable")
    cable.machines[1].run("ip", "addr", "add", "10.99.0.77/24", "dev", "cable")
    began = time.monotonic()
    here.tell("title answer")
    there.hears("(changed|appeared) answer")
    assert time.monotonic() - began < 6


def by_name(device, cable):
    """Two devices that know and dial each other: the one of the lower identifier, and the other. While a link is new,
    only the former replaces one that the other has dialled: the devices could be dialling each other."""
    both = device("1", cable.machines[0]), device("2", cable.machines[1])
    lower, higher = sorted(both, key=lambda each: each.name)
    # It may be found before it hears a beacon itself, and would have nothing to dial then.
    lower.tell(f"dial 10.99.0.{both.index(higher) + 1}:{higher.port}")
    know(lower, higher)
    link(lower, higher)
    return lower, higher


def offer_both_ways(app, *devices):
    """An app on each device that offers a letter, which the other has seen."""
    apps = [app(each, "notes") for each in devices]
    for here, there in (apps, apps[::-1]):
        here.tell("offer letter")
        there.hears("appeared letter")
    return apps


def change_both(apps, title: str) -> None:
    """Each hears that the other's title has changed."""
    for here, there in (apps, apps[::-1]):
        here.tell(f"title {title}")
        there.hears(f"changed {title}")


def nothing_flickered(apps) -> None:
    """No offer was gone, or came twice."""
    for app in apps:
        heard = [line.partition(" ")[2] for line in app.program.said if "gone" in line or "appeared" in line]
        assert heard == ["appeared letter"]


@pytest.mark.parametrize("what", ["an interface", "an address"])
def test_r2_8_offers_stay_while_a_network_comes_and_goes(cable, device, app, what):
    """The link stays, as it answers; or it moves to another connection, before the former one ends."""
    cable.address()
    lower, higher = by_name(device, cable)
    apps = offer_both_ways(app, lower, higher)
    machine = lower.machine
    coming = {
        "an interface": [
            ["ip", "link", "add", "extra", "type", "veth", "peer", "name", "other"],
            ["ip", "addr", "add", "10.98.0.1/24", "dev", "extra"],
            ["sh", "-c", "ip link set extra up; ip link set other up"],
        ],
        "an address": [["ip", "addr", "add", "10.99.0.66/24", "dev", "cable"]],
    }[what]
    going = {
        "an interface": ["ip", "link", "del", "extra"],
        "an address": ["ip", "addr", "del", "10.99.0.66/24", "dev", "cable"],
    }[what]
    for number, commands in enumerate([coming, [going]] * 5):
        for command in commands:
            machine.run(*command)
        change_both(apps, f"letter {number}")
    nothing_flickered(apps)
    for each in (lower, higher):
        assert not [line for line in each.program.said if line.startswith("unlinked")]
    assert lower.devices == [higher.name] and higher.devices == [lower.name]


def test_r2_8_offers_stay_while_a_device_moves(cable, device, app):
    """Each time the link is dead without a word, and another connection takes its place: also while a link is young,
    and more often than two machines could that are one device (contested)."""
    for machine in cable.machines:
        # A link over fe80:: would outlive it all.
        machine.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/cable/disable_ipv6")
    cable.address()
    lower, higher = by_name(device, cable)
    apps = offer_both_ways(app, lower, higher)
    present = f"10.99.0.{cable.machines.index(lower.machine) + 1}"
    for number in range(8):
        another = f"10.99.0.{100 + number}"
        # Packets to the former address reach no machine from then on.
        script = f"ip addr del {present}/24 dev cable; ip addr add {another}/24 dev cable"
        lower.machine.run("sh", "-c", script)
        present = another
        lower.program.wait_for("linked with the device at", 10)
        change_both(apps, f"letter {number}")
    nothing_flickered(apps)
    assert lower.devices == [higher.name] and higher.devices == [lower.name]


def test_a_device_whose_process_dies_is_linked_again(cable, device, app):
    cable.address()
    one, other = device("1", cable.machines[0]), device("2", cable.machines[1])
    know(one, other)
    link(one, other)
    other.program.kill()
    one.unlinked(other)
    again = device("2", cable.machines[1])
    know(one, again)
    link(one, again)
    carry(app(one, "notes"), app(again, "notes"), "letter")
