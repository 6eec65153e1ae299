# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for mpv, in mpv, without a screen and without sound."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host import Host
from player import Mpv, made_film, served
from programs import ProgramError
from project import ROOT
from public_types import problems
from versions import versioned

PLAYING = "SegueActivityTypePlayingMedia"
Start = Callable[..., Host]
pytestmark = pytest.mark.skipif(
    not shutil.which("mpv") or not Path("/usr/include/mpv/client.h").exists(), reason="mpv is not installed"
)


@pytest.fixture
def mpv(folder: Path) -> Iterator[Callable[..., Mpv]]:
    started: list[Mpv] = []

    def launch(*words: str | Path) -> Mpv:
        started.append(Mpv(folder, *words))
        return started[-1]

    yield launch
    for each in started:
        each.end()


@pytest.fixture
def film(tmp_path: Path) -> Path:
    return made_film(tmp_path / "film ü%.wav")


def origin(start: Start, **info: object) -> Host:
    host = start()
    host.open("origin", save=False)
    host.call("activity/set", activity="a", type=PLAYING, title="Film", userInfo=info)
    host.call("activity/current", activity="a")
    return host


def continued(player: Mpv, host: Host) -> dict:
    """Continues what the host offers, as soon as the player knows of it: asking again would cancel the attempt."""
    for _ in range(10):
        player("script-message-to", "segue", "continue")
        deadline = time.monotonic() + 5
        while host.read(deadline - time.monotonic()):
            found = [each for each in host.heard if each.get("method") == "activity/ended"]
            if found:
                params: dict = found[0]["params"]
                return params
    raise AssertionError(host.heard)


def test_mpv_hands_over_what_plays_and_where(start: Start, mpv, film: Path) -> None:
    player = mpv("--start=30", "--pause", "--speed=1.5", film)
    host = start()
    host.open("receiver", PLAYING)
    offer = host.offer_of(film.name)
    player("seek", 60, "absolute+exact")
    player.until("time-pos", 60.0)
    host.call("offers/continue", offer=offer["offer"])
    request = host.hear_message("continuation/continue")
    host.respond(request, {"handled": True})
    info = request["params"]["userInfo"]
    assert problems(PLAYING, info) == {}
    assert info["url"] == film.as_uri()
    assert info["position"] == pytest.approx(60, abs=0.1)
    assert (info["duration"], info["paused"], info["rate"], info["audioTrack"]) == (120.0, True, 1.5, 1)
    player("stop")
    while host.hear("offers/changed")["offers"]:
        pass


def test_mpv_goes_on_at_the_same_second(start: Start, mpv, film: Path) -> None:
    player = mpv()
    host = origin(start, url=film.as_uri(), position=42, paused=True, rate=2.0, subtitleTrack=0)
    ended = continued(player, host)
    assert (ended["outcome"], ended["app"]) == ("restored", "mpv")
    assert player("get_property", "path") == str(film)
    assert player("get_property", "time-pos") == pytest.approx(42, abs=0.1)
    assert (player("get_property", "pause"), player("get_property", "speed")) == (True, 2.0)


@pytest.mark.parametrize(("version", "outcome"), [(1, "RESTORED"), (2, "DECLINED")])
def test_mpv_declines_a_newer_version(mpv, folder: Path, film: Path, version: int, outcome: str) -> None:
    """R13.3"""
    player = mpv()
    with versioned(folder, PLAYING, version, url=film.as_uri()) as program:
        for _ in range(10):
            player("script-message-to", "segue", "continue")
            with contextlib.suppress(ProgramError):  # the player does not know of it yet
                assert program.wait_for(r"^ended (\w+)", 5)[1] == outcome
                return
    raise AssertionError(program.said)


@pytest.mark.parametrize("url", ["file:///no/such/film", "file:///tmp/%00", "file:///etc/hostname"])
def test_what_mpv_cannot_play_has_failed(start: Start, mpv, url: str) -> None:
    player = mpv()
    ended = continued(player, origin(start, url=url, position=3))
    assert ended["outcome"] in ("failed", "declined")
    assert player("get_property", "pid") == player.process.pid


def test_numbers_that_are_no_option_values_are_left_out(start: Start, mpv, film: Path) -> None:
    """R13.2: nothing of another app becomes an option."""
    player = mpv()
    host = origin(start, url=film.as_uri(), position=1e300, audioTrack=2**40, rate=0.0, **{"com.example.x": "vo=x"})
    assert continued(player, host)["outcome"] == "restored"


def test_what_needs_a_password_is_not_offered(start: Start, mpv, film: Path) -> None:
    """R13.2: another device would be told the password."""
    host = start()
    host.open("receiver", PLAYING)
    with served(film) as url:
        player = mpv("--pause", url)
        player.until("duration", 120.0)
        player("loadfile", str(film))
        host.offer_of(film.name)
    assert not [each for each in host.heard if "secret" in json.dumps(each) or "127.0.0.1" in json.dumps(each)]


def test_a_file_that_takes_the_place_of_another_one_plays(start: Start, mpv, film: Path) -> None:
    """The events of the file before it say nothing about it."""
    player = mpv(film)
    player.until("path", str(film))
    assert continued(player, origin(start, url="file:///etc/hostname"))["outcome"] == "failed"
    host = origin(start, url=film.as_uri(), position=42, paused=True)
    assert continued(player, host)["outcome"] == "restored"
    assert player("get_property", "path") == str(film)


def test_a_playlist_of_one_film_plays(start: Start, mpv, film: Path, tmp_path: Path) -> None:
    """mpv puts the entries of a playlist into its place."""
    (tmp_path / "films.m3u").write_text(f"#EXTM3U\n{film}\n")
    player = mpv()
    host = origin(start, url=(tmp_path / "films.m3u").as_uri(), paused=True)
    assert continued(player, host)["outcome"] == "restored"
    assert player("get_property", "path") == str(film)


def test_the_plugin_has_at_most_300_lines_of_code() -> None:
    lines = [line.strip() for line in (ROOT / "integrations" / "mpv" / "segue.c").read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith(("/*", "*"))]) <= 300
