# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines without multicast, which reach each other by names and by addresses that a user gives (R14.2)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agents import AgentDevice, Refused
from network import Cable, Network
from programs import Program, programs
from project import ROOT
from test_command import Machine
from test_ssh import of

SCRIPT = """
for file in resolv.conf nsswitch.conf hosts; do mount --bind "$0/$file" "/etc/$file" || exit; done
exec "$@"
"""


class NamingNetwork(Network):
    """A machine with a server of names of its own."""

    def __init__(self, network: Network, folder: Path, start: Callable[..., Program]):
        super().__init__(network.user, network.network)
        self._folder = folder
        (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:30\n")
        (folder / "nsswitch.conf").write_text("hosts: files dns\n")
        (folder / "hosts").write_text("127.0.0.1 localhost\n127.0.1.1 self.test\n")
        self.serve()
        server = ROOT / "Tests" / "devices" / "name_server.py"
        self.server = start("names", [*super().under, sys.executable, server, folder / "names"])
        self.server.wait_for("serves")

    def serve(self, **names: list | None) -> None:
        """Sets the addresses of names, below .test."""
        beside = self._folder / "names.new"
        beside.write_text(json.dumps({f"{name}.test": known for name, known in names.items()}))
        os.replace(beside, self._folder / "names")

    @property
    def under(self) -> list[str]:
        return [*super().under, "unshare", "--mount", "sh", "-c", SCRIPT, str(self._folder)]


class Pair:
    """A desktop, and a laptop with a server of names: one account, and no beacons."""

    def __init__(self, cable: Cable, desktop: Machine, laptop: Machine, names: NamingNetwork):
        self.cable, self.desktop, self.laptop, self.names = cable, desktop, laptop, names

    def part(self, *, ipv6: bool = False) -> None:
        """Both get addresses that the other has never heard of: 10.99.0.50 and 10.99.0.60, or fd00:99::50 and ::60."""
        time.sleep(3)  # What they have told each other is stored 2 s later.
        for each in (self.desktop, self.laptop):
            each.device.kill()
        for machine, number in zip(self.cable.machines, (50, 60), strict=True):
            machine.run("ip", "addr", "flush", "dev", "cable")
            address = f"fd00:99::{number}/64" if ipv6 else f"10.99.0.{number}/24"
            machine.run("ip", "addr", "add", address, "dev", "cable")
        for each in (self.desktop, self.laptop):
            each.device.begin()
        time.sleep(2)  # The case that is tried: all that they have told each other is out of date.
        assert not self.laptop.device.device("desktop")["linked"]

    def linked(self, patience: float = 20) -> float:
        """Waits until they are, and returns the seconds that it took."""
        began = time.monotonic()
        self.laptop.device.linked("desktop", patience=patience)
        return time.monotonic() - began

    def failures(self, text: str) -> str:
        """The state of the desktop's paths at the laptop, once one of them has failed with such a text."""
        deadline = time.monotonic() + 20
        while True:
            paths = self.laptop.device.device("desktop").get("paths", [])
            if any(text in path.get("message", "") for path in paths):
                return json.dumps(paths)
            assert time.monotonic() < deadline, paths
            time.sleep(0.2)


@pytest.fixture
def pair(
    cable: Cable, agents: Callable[..., AgentDevice], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Pair]:
    with_ipv6 = "ipv6" in request.node.name
    for machine in cable.machines:
        if not with_ipv6:
            machine.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/cable/disable_ipv6")
            machine.run("ip", "link", "set", "cable", "multicast", "off")
    cable.address()
    folder = tmp_path / "names"
    folder.mkdir()
    with programs() as start:
        names = NamingNetwork(cable.machines[1], folder, start)
        made = [Machine(agents(*each), start) for each in (("desktop", cable.machines[0]), ("laptop", names))]
        for each in made:
            if with_ipv6:  # It needs multicast to find the machines of its network.
                each.device.ask("set-devices", discovery=False)
        desktop, laptop = made
        desktop.device.create().admit(laptop.device)
        laptop.device.linked("desktop")
        desktop.device.linked("laptop")
        yield Pair(cable, desktop, laptop, names)


def test_r14_2_a_device_is_linked_by_a_name_without_multicast(pair):
    pair.part()
    pair.names.serve(desktop=["10.99.0.50"])
    said = pair.laptop.does("devices", "--add-address", "desktop", "desktop.test")
    assert "desktop: dialled at desktop.test" in said.out
    assert pair.linked() < 5
    said = pair.laptop.does("devices", "--paths").out
    assert "desktop: 10.99.0.50:" in said and "same network, used" in said
    # The agent keeps it, and the address that it has led to.
    pair.laptop.device.end()
    pair.names.serve()
    pair.laptop.device.begin()
    assert pair.linked() < 5
    said = pair.laptop.does("devices", "--remove-address", "desktop", "desktop.test")
    assert "dialled at" not in said.out
    said = pair.laptop.does("devices", "--remove-address", "desktop", "desktop.test", status=1)
    assert "has no address desktop.test" in said.err


def test_r14_2_of_ten_addresses_nine_are_dead(pair):
    pair.part()
    pair.names.serve(desktop=[*(f"10.99.0.{number}" for number in range(200, 209)), "10.99.0.50"])
    pair.laptop.does("devices", "--add-address", "desktop", "desktop.test")
    assert pair.linked() < 8


def test_r14_2_a_name_that_changes_at_each_lookup_is_looked_up_anew(pair):
    pair.part()
    pair.names.serve(desktop=[["10.99.0.201"], ["10.99.0.202"], ["10.99.0.50"]])
    pair.laptop.does("devices", "--add-address", "desktop", "desktop.test")
    pair.linked(patience=40)
    for _ in range(3):
        pair.names.server.wait_for("asked desktop.test 1")


def test_r14_2_names_that_lead_nowhere_or_to_this_machine_say_so(pair):
    pair.part()
    pair.names.serve(empty=[])
    for name in ("none.test", "empty.test", "self.test"):
        pair.laptop.does("devices", "--add-address", "desktop", name)
    said = pair.failures("self.test: leads to this device itself")
    said += pair.failures("none.test: the name is not found") + pair.failures("empty.test: the name is not found")
    assert not pair.laptop.device.device("desktop")["linked"]


def test_r14_2_a_resolver_that_never_answers_is_killed_and_holds_up_nothing(pair):
    pair.part()
    pair.names.serve(**{f"silent{number}": None for number in range(6)})
    for number in range(6):
        pair.laptop.does("devices", "--add-address", "desktop", f"silent{number}.test")
    # Each names itself once it has a processor, and lives for 5 s.
    deadline = time.monotonic() + 4
    while not (running := len(of(pair.laptop.device, "segue-resolve"))):
        assert time.monotonic() < deadline, "none runs"
        time.sleep(0.02)
    assert running <= 4
    began = time.monotonic()
    pair.laptop.does("account")  # The agent answers meanwhile.
    assert time.monotonic() - began < 3
    pair.failures("nothing was found within 5 s")
    pair.names.serve(desktop=["10.99.0.50"])
    pair.laptop.does("devices", "--add-address", "desktop", "desktop.test")
    pair.linked()


def test_r14_2_ipv6_only_by_name_and_by_an_address_with_a_zone(pair):
    pair.part(ipv6=True)
    pair.names.serve(desktop=["fd00:99::50"])
    pair.laptop.does("devices", "--add-address", "desktop", "desktop.test")
    pair.linked()
    assert pair.laptop.device.device("desktop")["address"].startswith("[fd00:99::50]:")
    port = pair.desktop.device.account()["port"]
    # A zone that is not there: it waits, and says so.
    pair.laptop.does("devices", "--add-address", "desktop", f"[fe80::7%gone0]:{port}")
    waiting = pair.laptop.device.account()["message"]
    assert "[fe80::7%gone0]" in waiting and "waits for its network interface" in waiting
    pair.laptop.does("devices", "--remove-address", "desktop", f"[fe80::7%gone0]:{port}")
    assert "message" not in pair.laptop.device.account()


@pytest.mark.parametrize("address", ["", "a b", "-n:1", "2001:db8::1", "10.99.0.50:0", "10.99.0.50:99999", "[x]:1"])
def test_r14_2_what_is_no_address_is_refused(pair, address):
    device = pair.laptop.device
    desktop = device.device("desktop")["device"]
    with pytest.raises(Refused) as refused:
        device.ask("add-address", device=desktop, address=address)
    assert refused.value.status == 1
    assert "addresses" not in device.device("desktop")
