# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The packages of what is built in lib, and machines on which they are installed."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from bare import DOWNLOADED, Bare
from programs import Program
from project import ROOT


def build(folder: Path) -> list[Path]:
    """Builds the packages where there is no network."""
    command = ["unshare", "--map-root-user", "--net", ROOT / "packaging" / "deb", folder]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return sorted(folder.glob("*.deb"))


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def wanted(packages: list[Path]) -> list[Path]:
    """The packages of a user, without those of developers."""
    names = {"libsegue0", "python3-segue", "segue", "webext-segue"}
    names |= {f"segue-{each}" for each in ("agent", "desktop", "gedit", "mpris", "mpv", "nvim", "readers", "stdio")}
    return [package for package in packages if package.name.partition("_")[0] in names]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as `make wheel` makes it."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([ROOT / "packaging/wheel", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    (made,) = folder.glob("*.whl")
    return made


class Installation(NamedTuple):
    layer: Path
    before: set[str]  # the files of the bare machine with what the packages depend on
    seconds: float
    computed: float  # seconds of processors that it took


def computing() -> float:
    """Seconds of processors that programs took which have ended, and for which this process or they have waited."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def installed(folder: Path, wanted: list[Path]) -> Installation:
    """Installs the packages of a user on a bare machine that has what they depend on."""
    machine = Bare(folder)
    try:
        machine.run("apt-get", "install", "-qy", "ca-certificates", *DOWNLOADED.split())
        before = machine.files()
        began, computed = time.monotonic(), computing()
        machine.install(wanted)
        return Installation(folder / "upper", before, time.monotonic() - began, computing() - computed)
    finally:
        machine.close()


@pytest.fixture(scope="session")
def installation(wanted: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A layer for machines on which the packages of a user are installed."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a machine's files")
    return installed(tmp_path_factory.mktemp("installed"), wanted)


@pytest.fixture
def machine(installation: Installation, tmp_path: Path) -> Iterator[Bare]:
    made = Bare(tmp_path, installation.layer)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def agent(machine: Bare) -> Program:
    """An agent that has an entry in its inbox."""
    (machine.root / "usr/share/applications").mkdir(exist_ok=True)
    (machine.root / "usr/share/applications/reader.desktop").write_text(READER)
    agent = machine.begin("segue", "agent")
    agent.wait_for("this process is the hub")
    offer = ("offer", "--keep", "--team", "EXAMPLE", "--title", "Shopping list", "com.example.writing")
    machine.say("segue", *offer)
    done = subprocess.run(
        machine.as_user("segue", "continue", "--app", "com.example.reader"), capture_output=True, text=True
    )
    assert "the activity waits in the inbox" in done.stderr, done
    return agent


# An app with a window, which cannot be started where no display is.
READER = """[Desktop Entry]
Type=Application
Name=Reader
Exec=/bin/true
X-Segue-BundleIdentifier=com.example.reader
X-Segue-ActivityTypes=com.example.writing;
X-Segue-TeamIdentifier=EXAMPLE
"""
