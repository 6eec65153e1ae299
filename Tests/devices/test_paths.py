# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines with two ways from one to the other, of which links take the better one (R14.1)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from agents import AgentDevice
from network import Cable
from programs import programs
from test_command import Machine
from test_two_machines import change_both, nothing_flickered, offer_both_ways

NEAR, TAILNET = "10.99.0.", "100.64.0."


class TwoWays:
    """A desktop and a laptop in one account, with a cable that is pulled, and a tailnet between them."""

    def __init__(self, cable: Cable, desktop: Machine, laptop: Machine):
        self.cable, self.machines = cable, (desktop, laptop)

    def uses(self, network: str, patience: float) -> float:
        """Waits until the links of both ends are in a network; the seconds that it took."""
        began = time.monotonic()
        for machine, other in (self.machines, self.machines[::-1]):
            machine.device.awaits(
                lambda state, name=other.device.name: any(
                    each["name"] == name and each.get("address", "").startswith(network) for each in state["devices"]
                ),
                patience,
            )
        return time.monotonic() - began

    def plug(self) -> None:
        """A cable that is pulled loses the addresses of one end; the other keeps its own."""
        self.cable.plug()

    def restart(self) -> None:
        time.sleep(3)  # What they have told each other is stored 2 s later.
        for each in self.machines:
            each.device.kill()
        for each in self.machines:
            each.device.begin()


@pytest.fixture
def ways(cable: Cable, agents: Callable[..., AgentDevice]) -> Iterator[TwoWays]:
    one, other = cable.machines
    one.run("ip", "link", "add", "tailnet", "type", "veth", "peer", "name", "tailnet", "netns", f"{other.network}")
    for number, machine in enumerate(cable.machines, 1):
        for name in ("cable", "tailnet"):
            machine.run("sh", "-c", f"echo 1 >/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
        machine.run("ip", "addr", "add", f"{TAILNET}{number}/24", "dev", "tailnet")
        for name in ("cable", "tailnet"):
            machine.run("ip", "link", "set", name, "multicast", "off")
        machine.run("ip", "link", "set", "tailnet", "up")
    cable.address()
    cable.pull()
    with programs() as start:
        desktop, laptop = (
            Machine(agents(*each), start) for each in zip(("desktop", "laptop"), cable.machines, strict=True)
        )
        desktop.device.create().admit(laptop.device)
        laptop.device.linked("desktop")
        desktop.device.linked("laptop")
        yield TwoWays(cable, desktop, laptop)


def test_r14_1_a_better_path_is_taken_and_left_again_and_nothing_flickers(ways, app):
    ways.uses(TAILNET, 10)
    apps = offer_both_ways(app, *(each.device for each in ways.machines))
    time.sleep(5)  # A link moves once in 5 s at most.
    for number in range(2):
        ways.plug()
        assert ways.uses(NEAR, 15) < 8
        change_both(apps, f"near {number}")
        time.sleep(1)
        ways.cable.pull()
        ways.uses(TAILNET, 10)
        change_both(apps, f"far {number}")
        time.sleep(5)
    nothing_flickered(apps)


def test_r14_1_a_path_that_is_cut_is_left_at_once(ways, app):
    ways.plug()
    ways.uses(NEAR, 15)
    time.sleep(1)
    ways.cable.pull()
    assert ways.uses(TAILNET, 10) < 3


def test_r14_1_devices_that_have_met_need_no_multicast(ways):
    ways.restart()
    ways.uses(TAILNET, 15)
    ways.plug()
    ways.uses(NEAR, 15)
    ways.restart()
    ways.uses(NEAR, 15)


def test_r14_1_the_user_sees_which_path_is_used_and_why_others_are_not(ways):
    ways.plug()
    ways.uses(NEAR, 15)
    laptop = ways.machines[1]
    time.sleep(1)
    ways.cable.pull()
    ways.uses(TAILNET, 15)
    laptop.does("devices", "--add-address", "desktop", f"{NEAR}77:4711")
    deadline = time.monotonic() + 20
    tried = f"desktop: {NEAR}77:4711, other network, failed: "  # A link is 5 s old before a better path is tried.
    while tried not in (said := laptop.does("devices", "--paths").out):
        assert time.monotonic() < deadline, said
        time.sleep(0.2)
    assert re.search(r"^desktop: 100\.64\.0\.1:\d+, tunnel, used$", said, re.MULTILINE)
    assert re.search(rf"^{tried}dialling .*(unreachable|No route to host)$", said, re.MULTILINE), said


def test_r14_1_a_vpn_that_goes_up_and_down_beside_a_network_changes_nothing(ways, app):
    """And one that goes down while it is the only way says so, and is used again once it is up."""
    ways.plug()
    ways.uses(NEAR, 15)
    apps = offer_both_ways(app, *(each.device for each in ways.machines))
    one = ways.machines[1].device.machine
    for number in range(3):
        one.run("ip", "link", "set", "tailnet", "down")
        change_both(apps, f"down {number}")
        one.run("ip", "link", "set", "tailnet", "up")
        change_both(apps, f"up {number}")
    ways.uses(NEAR, 1)
    nothing_flickered(apps)
    ways.cable.pull()
    ways.uses(TAILNET, 15)
    one.run("ip", "link", "set", "tailnet", "down")
    ways.machines[1].device.linked(patience=40)  # Nothing says that the link is dead but its heartbeat.
    said = ways.machines[1].does("explain", status=1).out
    assert "desktop: is not linked" in said and "unreachable" in said, said
    one.run("ip", "link", "set", "tailnet", "up")
    ways.uses(TAILNET, 15)
