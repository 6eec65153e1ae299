# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, each a process with the hub and its links; two of them in network namespaces of their own, with a cable."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from agents import AgentDevice, making
from network import Cable, Network, Sockets, can_make_networks, two_networks
from participants import Participant, participant
from programs import Program, programs
from project import ROOT, build, run
from temporary_folders import temporary

PROBE = ROOT / ".build" / "debug" / "DeviceProbe"


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
    with temporary("segue-account-") as folder:
        run(probe, "issue", folder, "3")
        yield folder


@pytest.fixture(scope="session")
def app_program() -> Iterator[Path]:
    with temporary("segue-devices-") as folder:
        yield build(ROOT / "Tests" / "runtime" / "participant.c", folder)


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
def agents(tmp_path: Path) -> Iterator[Callable[..., AgentDevice]]:
    """agents("one", machine): a device whose agent is started by `begin`."""
    with programs() as start:
        yield making(start, tmp_path)


@pytest.fixture
def app(app_program: Path) -> Iterator[Callable[..., Participant]]:
    """app(device, "name"): an app on that device."""
    with programs() as start:

        def begin(device: TestedDevice, name: str, *options: str, waits: bool = True) -> Participant:
            under = device.machine.under if device.machine else []
            words = participant(app_program, name, *options, under=under, SEGUE_RUNTIME_DIR=str(device.folder))
            made = Participant(start(name, words))
            return made.ready() if waits else made

        yield begin


@pytest.fixture(scope="session")
def preloaded() -> Iterator[Callable[[str], Path]]:
    """preloaded("devices/clock.c"): the library of that source, for LD_PRELOAD."""
    with temporary("segue-preloaded-") as folder:

        def made(source: str) -> Path:
            library = folder / f"{Path(source).stem}.so"
            if not library.exists():
                run("cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", ROOT / "Tests" / source, "-o", library, "-ldl")
            return library

        yield made


@pytest.fixture
def cable() -> Iterator[Cable]:
    """Two machines, without addresses of IPv4 yet."""
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with programs() as start:
        yield two_networks(start)


@pytest.fixture
def sockets(cable: Cable) -> Iterator[tuple[Sockets, Sockets]]:
    """For both machines."""
    made = Sockets(cable.machines[0]), Sockets(cable.machines[1])
    yield made
    for each in made:
        each.close()
