# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A laptop and a phone, a cable between them that is pulled and put back, and a machine at home that passes bytes on
meanwhile: what runs over their link goes on (R14.1, R7.4)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streaming import RunningStream
from test_relay import Trio, a_trio
from test_two_machines import change_both, nothing_flickered, offer_both_ways

MOVE_PAUSE = 5  # seconds between two moves of a link


class Household(Trio):
    """The same, with a cable between the laptop and the phone."""

    def plug(self) -> None:
        for each, number in ((self.laptop, 2), (self.phone, 3)):
            machine = each.device.machine
            machine.run("ip", "link", "set", "lan", "up")
            # A cable that is pulled takes routes along, not addresses.
            machine.run("ip", "addr", "replace", f"10.97.0.{number}/24", "dev", "lan")

    def pull(self) -> None:
        self.laptop.device.machine.run("ip", "link", "set", "lan", "down")

    def uses(self, path: str, patience: float = 15) -> float:
        """Waits until the link between the two uses a path at both ends; the seconds that it took."""
        began = time.monotonic()
        for one, other in (("laptop", "phone"), ("phone", "laptop")):
            getattr(self, one).device.awaits(lambda state, name=other: path in used(state, name), patience)
        return time.monotonic() - began


def used(state: dict, name: str) -> str:
    """The path of the link with a device."""
    found = next(each for each in state["devices"] if each["name"] == name)
    return next((each["address"] for each in found.get("paths", ()) if each["state"] == "used"), "")


@contextlib.contextmanager
def a_household(place: Path) -> Iterator[Household]:
    with a_trio(place) as made:
        household = Household(made.home, made.laptop, made.phone)
        laptop, phone = made.laptop.device.machine, made.phone.device.machine
        laptop.run("ip", "link", "add", "lan", "type", "veth", "peer", "name", "lan", "netns", f"{phone.network}")
        for machine in (laptop, phone):
            machine.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/lan/disable_ipv6")
        household.meet()
        yield household


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with a_household(tmp_path) as made:
        yield made


def test_r14_1_a_stream_goes_on_while_its_link_moves_from_a_relay_to_a_cable_and_back(household, app):
    """R7.4: no byte is lost or repeated, no offer disappears, and a link moves once in 5 s at most."""
    apps = offer_both_ways(app, household.laptop.device, household.phone.device)
    stream = RunningStream(household.phone, household.laptop)
    household.uses("through home")
    for number in range(2):
        time.sleep(MOVE_PAUSE)
        household.plug()
        household.uses("10.97.0.")
        change_both(apps, f"near {number}")
        time.sleep(1)  # Bytes pass over the cable, and none over home.
        household.pull()
        household.uses("through home")
        change_both(apps, f"far {number}")
    gap, count = stream.gap()
    assert gap < 3_000 and count > 100_000
    stream.end()
    nothing_flickered(apps)


def test_r14_1_a_path_that_is_avoided_ends_and_the_stream_goes_on_by_another_one(household, app):
    """It is used again once the user allows it."""
    apps = offer_both_ways(app, household.laptop.device, household.phone.device)
    household.plug()
    household.uses("10.97.0.")
    stream = RunningStream(household.phone, household.laptop)
    said = household.laptop.does("devices", "--avoid", "phone", "same-network", "--paths").out
    assert "phone: not by same-network" in said
    household.uses("through home")
    # It ends before the other one is there: offers come back in a moment.
    for here, there in (apps, apps[::-1]):
        here.tell("title avoided")
        there.hears("(changed|appeared) avoided")
    assert stream.gap()[0] < 3_000
    assert "10.97.0.3:" in (said := household.laptop.does("devices", "--paths").out) and "same network, avoided" in said
    stream.end()
    time.sleep(MOVE_PAUSE + 3)  # Neither end moves back.
    household.uses("through home")
    household.laptop.does("devices", "--avoid", "phone", "relay")
    household.laptop.device.linked("home", patience=5)
    assert "not used: same-network, relay" in household.laptop.does("explain", status=1).out
    assert "segue devices --use phone relay" in household.laptop.does("doctor", status=1).out
    household.laptop.does("devices", "--use", "phone", "same-network")
    household.uses("10.97.0.")
    assert "no kind of path" in household.laptop.does("devices", "--avoid", "phone", "wifi", status=1).err
