# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attachments in a virtual fleet (R7.6, R11.1): the same calls, in time that the test moves."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from conftest import TYPE

import segue
from segue.testing import Fleet, FleetDevice

pytestmark = pytest.mark.fleet

DATA = bytes(range(256)) * 2_000


def continued(fleet: Fleet) -> tuple[segue.Activity, segue.Activity]:
    """An activity with an attachment, and the same on another device."""
    phone, laptop = fleet.add_device("phone"), fleet.add_device("laptop")
    editor = phone.add_app("com.example.notes", types=[TYPE])
    viewer = laptop.add_app("com.example.notes", types=[TYPE])
    activity = segue.Activity(editor, TYPE, title="Draft")
    activity.attach("picture", DATA)
    activity.become_current()
    fleet.run()
    return activity, viewer.continue_(viewer.offers[0]).wait()


def app_of(activity: segue.Activity) -> segue.App:
    assert activity.app is not None
    return activity.app


def device_of(activity: segue.Activity) -> FleetDevice:
    device = app_of(activity).device
    assert device is not None
    return device


def test_an_attachment_comes_whole(segue_fleet: Fleet, tmp_path: Path) -> None:
    _, here = continued(segue_fleet)
    assert here.attachments == {"picture": len(DATA)}
    told: list[tuple[int, int]] = []
    fetching = here.fetch_attachment("picture", tmp_path / "picture", progress=lambda *far: told.append(far))
    assert not (tmp_path / "picture").exists()
    fetching.wait()
    assert (tmp_path / "picture").read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA))
    memory = io.BytesIO()
    here.fetch_attachment("picture", memory).wait()
    assert memory.getvalue() == DATA


def test_a_file_is_attached_and_comes_by_a_bad_network(segue_fleet: Fleet, tmp_path: Path) -> None:
    there, here = continued(segue_fleet)
    (tmp_path / "source").write_bytes(DATA[::-1])
    there.attach("picture", tmp_path / "source")
    segue_fleet.set_network(delay=(0.01, 0.3), loss=0.1, reordering=0.2)
    phone, laptop = device_of(there), device_of(here)
    segue_fleet.advance(1)
    again = app_of(here).continue_(app_of(here).offers[0]).wait()
    fetching = again.fetch_attachment("picture", tmp_path / "target")
    segue_fleet.advance(0.5)
    segue_fleet.unlink(phone, laptop)
    segue_fleet.advance(20)
    assert not fetching.done
    segue_fleet.link(phone, laptop)
    fetching.wait(60)
    assert (tmp_path / "target").read_bytes() == DATA[::-1]


def test_what_is_not_attached_any_more_is_not_found(segue_fleet: Fleet, tmp_path: Path) -> None:
    there, here = continued(segue_fleet)
    there.remove_attachment("picture")
    with pytest.raises(segue.NotFoundError):
        here.fetch_attachment("picture", tmp_path / "picture").wait()
    assert list(tmp_path.iterdir()) == []


def test_what_was_changed_is_not_taken_for_what_it_was(segue_fleet: Fleet, tmp_path: Path) -> None:
    there, here = continued(segue_fleet)
    source = tmp_path / "source"
    source.write_bytes(DATA)
    there.attach("picture", source)
    source.write_bytes(DATA + b"more")
    with pytest.raises(segue.HandoffFailedError):
        here.fetch_attachment("picture", tmp_path / "picture").wait()


def test_the_origin_is_gone_for_good(segue_fleet: Fleet, tmp_path: Path) -> None:
    there, here = continued(segue_fleet)
    fetching = here.fetch_attachment("picture", tmp_path / "picture")
    device_of(there).crash()
    with pytest.raises(segue.ConnectionUnavailableError):
        fetching.wait(300)
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_given_up_leaves_nothing(segue_fleet: Fleet, tmp_path: Path) -> None:
    _, here = continued(segue_fleet)
    fetching = here.fetch_attachment("picture", tmp_path / "picture")
    segue_fleet.step()
    fetching.cancel()
    segue_fleet.run()
    assert fetching.done and list(tmp_path.iterdir()) == []
    fetching = here.fetch_attachment("picture", tmp_path / "picture")
    app_of(here).close()
    assert fetching.done and list(tmp_path.iterdir()) == []


def test_the_app_that_fetches_is_killed(segue_fleet: Fleet, tmp_path: Path) -> None:
    _, here = continued(segue_fleet)
    fetching = here.fetch_attachment("picture", tmp_path / "picture")
    segue_fleet.step()
    segue_fleet.kill(app_of(here))
    fetching.cancel()
    segue_fleet.run()
    assert list(tmp_path.iterdir()) == []


def test_what_the_killed_app_had_open_is_closed(segue_fleet: Fleet, tmp_path: Path) -> None:
    """Whoever reads the pipe hears of its end, however long the handle is held."""
    _, here = continued(segue_fleet)
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    fetching = here.fetch_attachment("picture", writing)
    os.close(writing)
    segue_fleet.advance(0.1)
    segue_fleet.kill(app_of(here))
    while os.read(reading, 65536):
        pass  # BlockingIOError: it is open somewhere
    os.close(reading)
    assert fetching.done


def test_what_was_sent_is_not_kept_open(segue_fleet: Fleet) -> None:
    there, here = continued(segue_fleet)
    here.fetch_attachment("picture", io.BytesIO()).wait()
    before = len(os.listdir("/proc/self/fd"))
    there.remove_attachment("picture")
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_a_pipe_that_nobody_reads_stops_it_and_nothing_else(segue_fleet: Fleet) -> None:
    _, here = continued(segue_fleet)
    reading, writing = os.pipe()
    fetching = here.fetch_attachment("picture", writing)
    os.close(writing)
    came = b""
    for _ in range(10_000):
        segue_fleet.advance(0.1)
        came += os.read(reading, 65536)
        if len(came) == len(DATA):
            break
    os.close(reading)
    segue_fleet.advance(1)
    fetching.wait(0)
    assert came == DATA


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    def play() -> int:
        with Fleet(7) as fleet:
            fleet.set_network(delay=(0.01, 0.3), loss=0.1)
            _, here = continued(fleet)
            here.fetch_attachment("picture", tmp_path / "picture").wait()
            fleet.run()
            return fleet.trace_hash

    assert play() == play()
