# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bridge to MPRIS, with mpv as the player (mpv-mpris), on a session bus of the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host import Host
from player import served
from programs import Program, programs
from project import ROOT
from public_types import problems
from test_agent import agent
from test_mpv import PLAYING, Mpv, film, origin
from versions import versioned

__all__ = ["agent", "film"]
Start = Callable[..., Host]
BRIDGE = ROOT / "integrations" / "mpris" / "segue-mpris"
PLAYER = Path("/usr/lib/mpv-mpris/mpris.so")
pytestmark = pytest.mark.skipif(not PLAYER.exists(), reason="mpv-mpris is not installed")


@pytest.fixture
def bus(folder: Path) -> Iterator[str]:
    """The address of a session bus."""
    options = ["--session", "--nofork", "--print-address", f"--address=unix:path={folder}/bus"]
    with programs() as run:
        yield run("bus", ["dbus-daemon", *options]).wait_for("^unix:.*$")[0]


@pytest.fixture
def player(folder: Path, bus: str, film: Path) -> Iterator[Callable[..., Mpv]]:
    started: list[Mpv] = []

    def launch(*words: str | Path) -> Mpv:
        started.append(Mpv(folder, *words, plugin=PLAYER, DBUS_SESSION_BUS_ADDRESS=bus))
        return started[-1]

    yield launch
    for each in started:
        each.end()


@pytest.fixture
def bridge(folder: Path, bus: str) -> Iterator[Callable[[], Program]]:
    started: list[Program] = []

    def launch() -> Program:
        environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder), "DBUS_SESSION_BUS_ADDRESS": bus}
        started.append(Program("bridge", [ROOT / ".venv" / "bin" / "python", BRIDGE, "T"], environment))
        return started[-1]

    yield launch
    for each in started:
        each.kill()


def test_the_bridge_offers_what_a_player_plays(start: Start, player, bridge, film: Path) -> None:
    mpv = player("--pause", "--start=30", film)
    mpv.until("time-pos", 30.0)
    bridge()
    host = start()
    host.open("receiver", PLAYING)
    host.call("offers/continue", offer=host.offer_of(film.name)["offer"])
    info = host.hear("continuation/continue")["userInfo"]
    assert problems(PLAYING, info) == {}
    assert info["url"].lower() == film.as_uri().lower()
    assert info["position"] == pytest.approx(30, abs=0.5)
    assert (info["duration"], info["paused"]) == (pytest.approx(120, abs=0.1), True)
    mpv.process.kill()
    while host.hear("offers/changed")["offers"]:
        pass


def test_what_needs_a_password_is_not_offered(start: Start, player, bridge, film: Path) -> None:
    """R13.2: another device would be told the password."""
    host = start()
    host.open("receiver", PLAYING)
    with served(film) as url:
        mpv = player("--pause", url)
        mpv.until("duration", 120.0)
        bridge()
        mpv("loadfile", str(film))
        host.offer_of(film.name)
    assert not [each for each in host.heard if "secret" in json.dumps(each) or "127.0.0.1" in json.dumps(each)]


def test_the_bridge_has_at_most_150_lines_of_code() -> None:
    lines = [line.strip() for line in BRIDGE.read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 150


def test_a_player_that_does_not_answer_holds_nothing_up(start: Start, player, bridge, film: Path) -> None:
    first, second = player(film), player("--pause", film)
    second.until("pause", True)
    first.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    bridge()
    host = start()
    host.open("receiver", PLAYING)
    host.offer_of(film.name)
    assert time.monotonic() - began < 20  # GLib waits 25 s by default


def by_the_bridge(folder: Path, status: int = 0) -> None:
    """Continues what is offered in the bridge, which says to nobody but the agent that it is there."""
    command = [ROOT / ".venv/bin/python", "-m", "segue", "continue", "--type", PLAYING, "--app", "org.segue.mpris"]
    environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}
    deadline = time.monotonic() + 20
    while "neither runs" in (done := subprocess.run(command, env=environment, capture_output=True, text=True)).stderr:
        assert time.monotonic() < deadline
    assert done.returncode == status, done


def test_the_bridge_declines_a_newer_version(player, bridge, agent, folder: Path, film: Path) -> None:
    """R13.3"""
    mpv = player()
    mpv("get_property", "pid")
    bridge()
    with versioned(folder, PLAYING, 2, url=film.as_uri()) as program:
        by_the_bridge(folder, 1)
        assert program.wait_for(r"^ended (\w+)")[1] == "DECLINED"


def test_the_bridge_continues_in_a_player(start: Start, player, bridge, agent, folder: Path, film: Path) -> None:
    mpv = player()
    mpv("get_property", "pid")
    bridge()
    host = origin(start, url=film.as_uri(), position=42, duration=120, paused=True)
    by_the_bridge(folder)
    assert host.hear("activity/ended")["outcome"] == "restored"
    mpv.until("pause", True)
    # A player answers before it has sought.
    mpv.until("seeking", False)
    assert mpv("get_property", "time-pos") == pytest.approx(42, abs=0.5)
