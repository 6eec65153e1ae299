# SPDX-License-Identifier: Apache-2.0
"""Devices, each a process with the hub and its links; two of them in network namespaces of their own, with a cable."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from participants import Participant, participant
from programs import Program, programs
from project import ROOT, build, run

PROBE = ROOT / ".build" / "debug" / "DeviceProbe"


class Network:
    """A machine's network: a namespace, in which programs are started."""

    def __init__(self, user: int, network: int):
        self.user, self.network = user, network

    @property
    def under(self) -> list[str]:
        """What a command is started under."""
        namespaces = [f"--user=/proc/{self.user}/ns/user", f"--net=/proc/{self.network}/ns/net"]
        return ["nsenter", *namespaces, "--preserve-credentials"]

    def run(self, *command: str) -> None:
        run(*self.under, *command)


class Cable:
    """Two machines, and what joins them: 10.99.0.1 and 10.99.0.2, fe80:: at both ends."""

    def __init__(self, one: Network, other: Network):
        self.machines = (one, other)
        for machine in self.machines:
            machine.run("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up")
        one.run("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", f"{other.network}")
        self.plug()

    def address(self, *, ipv4: bool = True) -> None:
        """Gives both machines addresses; without IPv4 only those that every interface has."""
        for number, machine in enumerate(self.machines, 1):
            if ipv4:
                machine.run("ip", "addr", "add", f"10.99.0.{number}/24", "dev", "cable")

    def pull(self) -> None:
        self.machines[0].run("ip", "link", "set", "cable", "down")

    def plug(self) -> None:
        for machine in self.machines:
            machine.run("ip", "link", "set", "cable", "up")


class TestedDevice:
    """A running DeviceProbe."""

    __test__ = False

    def __init__(self, program: Program, folder: Path, machine: Network | None):
        self.program, self.folder, self.machine = program, folder, machine
        found = program.wait_for(r"ready (\w{32}) (\d+)$")
        self.name, self.port = found[1], int(found[2])

    def tell(self, line: str) -> None:
        self.program.tell(line)

    def linked(self, other: TestedDevice, patience: float = 10.0) -> None:
        self.program.wait_for(f"^linked {other.name}$", patience)

    def unlinked(self, other: TestedDevice, patience: float = 10.0) -> None:
        self.program.wait_for(f"^unlinked {other.name}$", patience)

    @property
    def devices(self) -> list[str]:
        self.tell("devices")
        return self.program.wait_for(r"^devices(.*)$")[1].split()


@pytest.fixture(scope="session")
def probe() -> Path:
    if not PROBE.exists():
        subprocess.run(["swift", "build", "--product", "DeviceProbe"], cwd=ROOT, check=True, capture_output=True)
    return PROBE


@pytest.fixture(scope="session")
def account(probe: Path) -> Iterator[Path]:
    """A folder with the credentials of three devices of one account."""
    with tempfile.TemporaryDirectory(prefix="segue-account-") as folder:
        run(probe, "issue", folder, "3")
        yield Path(folder)


@pytest.fixture(scope="session")
def app_program() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="segue-devices-") as folder:
        yield build(ROOT / "Tests" / "runtime" / "participant.c", Path(folder))


@pytest.fixture
def device(probe: Path, account: Path, tmp_path: Path) -> Iterator[Callable[..., TestedDevice]]:
    """device("1", machine): the device of that number, which carries the hub of its own runtime folder."""
    with programs() as start:

        def begin(
            number: str, machine: Network | None = None, epochs: Sequence[int] = (1,), level: str = "info"
        ) -> TestedDevice:
            folder = tmp_path / number
            folder.mkdir(mode=0o700, exist_ok=True)
            under = machine.under if machine else []
            variables = [f"SEGUE_RUNTIME_DIR={folder}", f"SEGUE_LOG={level}"]
            words = [*under, "env", *variables, probe, "run", account / number, *map(str, epochs)]
            return TestedDevice(start(f"device {number}", words), folder, machine)

        yield begin


@pytest.fixture
def app(app_program: Path) -> Iterator[Callable[..., Participant]]:
    """app(device, "name"): an app on that device."""
    with programs() as start:

        def begin(device: TestedDevice, name: str, *options: str) -> Participant:
            under = device.machine.under if device.machine else []
            words = participant(app_program, name, *options, under=under, SEGUE_RUNTIME_DIR=str(device.folder))
            return Participant(start(name, words)).ready()

        yield begin


@pytest.fixture
def cable() -> Iterator[Cable]:
    """Two machines, without addresses of IPv4 yet."""
    try:
        subprocess.run(["unshare", "-Urn", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("namespaces cannot be made here")
    with programs() as start:
        one = start("machine 1", ["unshare", "-Urn", "sh", "-c", "echo there; read line"])
        one.wait_for("there")
        under = Network(one.pid, one.pid).under
        other = start("machine 2", [*under, "unshare", "-n", "sh", "-c", "echo there; read line"])
        other.wait_for("there")
        assert os.readlink(f"/proc/{one.pid}/ns/net") != os.readlink(f"/proc/{other.pid}/ns/net")
        yield Cable(Network(one.pid, one.pid), Network(one.pid, other.pid))
