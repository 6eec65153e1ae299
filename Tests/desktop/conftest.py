# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A desk, and a laptop in the same account: two agents in network namespaces with a cable, and buses of the test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "devices"))

from agents import AgentDevice
from desk import CAPABILITIES, Desk, Server, two_devices
from network import can_make_networks
from participants import Participant
from programs import programs
from project import ROOT, build, run
from temporary_folders import temporary


@pytest.fixture(scope="session")
def app_program() -> Iterator[Path]:
    with temporary("segue-desktop-") as folder:
        yield build(ROOT / "Tests" / "runtime" / "participant.c", folder)


@pytest.fixture(scope="session")
def home() -> Iterator[tuple[AgentDevice, AgentDevice]]:
    """The agents of the desk and of the laptop, linked. They serve all tests, whose apps end with each."""
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with two_devices() as devices:
        yield devices


@pytest.fixture
def laptop(home: tuple[AgentDevice, AgentDevice]) -> AgentDevice:
    return home[1]


@pytest.fixture
def desk(home: tuple[AgentDevice, AgentDevice], app_program: Path, folder: Path) -> Iterator[Desk]:
    """The session at the desk: both buses, and a session of logind. The program has not begun."""
    with programs() as start:
        desk = Desk(folder, home[0], start, app_program)
        desk.begin_logind()
        yield desk


@pytest.fixture
def server(desk: Desk) -> Server:
    return Server(desk, *CAPABILITIES)


@pytest.fixture
def notes(desk: Desk, laptop: AgentDevice) -> tuple[Participant, Participant]:
    """An app at the desk that can continue what the same app on the laptop offers."""
    return desk.app(desk.device, "notes"), desk.app(laptop, "notes")


@pytest.fixture
def refusals(desk: Desk, folder: Path) -> Path:
    """The folder that says what a preloaded library refuses to the program (refusing.c)."""
    library, made = folder / "refusing.so", folder / "refusals"
    made.mkdir()
    source = ROOT / "Tests" / "desktop" / "refusing.c"
    run("cc", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{ROOT}/include", source, "-o", library, "-ldl")
    desk.variables |= {"LD_PRELOAD": str(library), "REFUSALS": str(made)}
    return made
