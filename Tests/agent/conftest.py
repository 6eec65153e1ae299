# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The agent that ships, with apps that use the shipped library, each in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
import wire
from certificates import Certificates
from participants import Participant, participant
from programs import Program, programs
from project import ROOT, build
from site_server import Site
from temporary_folders import temporary

AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()
CARRIES = r"this process is the hub of generation (\d+) "


@pytest.fixture(scope="session")
def app_program() -> Iterator[Path]:
    """The program of the apps."""
    with temporary("segue-agent-") as folder:
        yield build(ROOT / "Tests" / "runtime" / "participant.c", folder)


@pytest.fixture(scope="session")
def launcher_probe() -> Path:
    """An agent of which nothing is left but its launcher and its confinement."""
    program = ROOT / ".build" / "debug" / "LauncherProbe"
    if not program.exists():
        subprocess.run(["swift", "build", "--product", "LauncherProbe"], cwd=ROOT, check=True, capture_output=True)
    return program


@pytest.fixture
def state() -> Iterator[Path]:
    """The folder that is $XDG_STATE_HOME in a test."""
    with temporary("segue-state-") as path:
        yield path


@pytest.fixture
def start(app_program: Path, folder: Path) -> Iterator[Callable[..., Participant]]:
    """start("name", "--chooser", ...): a participant of team T that declares the usual type."""
    with programs() as run:

        def launch(name: str, *options: str, **more: str) -> Participant:
            command = participant(app_program, name, *options, SEGUE_RUNTIME_DIR=str(folder), **more)
            return Participant(run(name, command))

        yield launch


@pytest.fixture
def command(folder: Path, state: Path) -> Callable[..., list[str | Path]]:
    """command("--replace", NAME="value"): what starts an agent for this test's apps."""

    def words(*options: str, **more: str) -> list[str | Path]:
        variables = {"SEGUE_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(state), "SEGUE_LOG": "info", **more}
        return ["env", *(f"{key}={value}" for key, value in variables.items()), AGENT, *options]

    return words


@pytest.fixture
def begin(command: Callable[..., list[str | Path]]) -> Iterator[Callable[..., Program]]:
    """begin("--replace"): an agent that may not carry the hub yet."""
    with programs() as run:
        yield lambda *options, **more: run("agent", command(*options, **more))


@pytest.fixture
def agent(begin: Callable[..., Program]) -> Callable[..., Program]:
    """agent("--replace"): an agent that carries the hub."""

    def ready(*options: str, **more: str) -> Program:
        program = begin(*options, **more)
        program.wait_for(CARRIES)
        return program

    return ready


@pytest.fixture
def control(folder: Path) -> Iterator[Path]:
    """The path of the agent's second socket, in the folder beside the runtime folder."""
    beside = Path(f"{folder}-agent")
    yield beside / "control"
    shutil.rmtree(beside, ignore_errors=True)


@pytest.fixture
def ask(control: Path) -> Callable[..., Any]:
    """ask("search", query=""): the value of the answer; a pair of status and message if it is an error."""

    def answer(what: str, **more: object) -> Any:
        peer = wire.Connection.to(control)
        peer.send_message("ask", 1, cbor2.dumps({"ask": what, **more}, canonical=True))
        name, (number, status, message, value) = peer.next_message()
        assert (name, number) == ("answer", 1)
        return cbor2.loads(value) if status == 0 else (status, message)

    return answer


@pytest.fixture
def masked_agent(command: Callable[..., list[str | Path]]) -> Iterator[Callable[[str], Program]]:
    """masked_agent("0777"): an agent that carries the hub under that umask. It may do what any user may."""
    lost = "-dac_override,-dac_read_search"
    without = ["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}"] if os.geteuid() == 0 else []
    with programs() as run:

        def ready(umask: str) -> Program:
            *before, program = command()
            shell = ["sh", "-c", f'umask {umask} && exec "$@"', "sh"]
            masked = run("agent", [*before, *without, *shell, program])
            masked.wait_for(CARRIES)
            return masked

        yield ready


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def site(certificates: Certificates) -> Iterator[Site]:
    made = Site(certificates)
    yield made
    made.close()
