# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams in a virtual fleet (R11.1): descriptors as everywhere, and a network that fails on command (R7.2-R7.4)."""

from __future__ import annotations

import asyncio
import os
import random
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Callable

import pytest
from conftest import TYPE

import segue
from segue.testing import Fleet, FleetDevice

pytestmark = pytest.mark.fleet


@dataclass
class Ends:
    """A stream from a phone to a laptop, or within the phone: the origin's end of it, and the end of who continued."""

    fleet: Fleet
    editor: segue.App
    viewer: segue.App
    origin: segue.Stream
    asker: segue.Stream
    closing: ExitStack

    def open(self) -> tuple[socket.socket, socket.socket]:
        sockets = self.origin.open(), self.asker.open()
        for each in sockets:
            self.closing.enter_context(each).setblocking(False)
        return sockets

    @property
    def devices(self) -> tuple[FleetDevice, FleetDevice]:
        assert self.editor.device is not None and self.viewer.device is not None
        return self.editor.device, self.viewer.device


Join = Callable[..., Ends]


@pytest.fixture
def join() -> Iterator[Join]:
    """Makes `Ends`, and closes what they opened."""
    with ExitStack() as closing:
        yield lambda fleet, on_one_device=False: joined(fleet, on_one_device, closing)


def joined(fleet: Fleet, on_one_device: bool, closing: ExitStack) -> Ends:
    phone = fleet.add_device("phone")
    laptop = phone if on_one_device else fleet.add_device("laptop")
    editor = phone.add_app("com.example.editor", team="TEAM", types=[TYPE])
    viewer = laptop.add_app("com.example.viewer", team="TEAM", types=[TYPE])
    activity = segue.Activity(editor, TYPE, title="Draft")
    activity.supports_continuation_streams = True
    came: list[segue.Stream] = []
    activity.on_did_receive_stream(came.append)
    activity.become_current()
    fleet.advance(1)
    continued = viewer.continue_(viewer.offers[0]).wait()
    asker = continued.stream().wait()
    return Ends(fleet, editor, viewer, came[0], asker, closing)


def read(connection: socket.socket) -> bytes | None:
    """Returns the bytes that have come; None: nothing yet."""
    try:
        return connection.recv(1 << 20)
    except BlockingIOError:
        return None


def written(connection: socket.socket, data: bytes) -> int:
    try:
        return connection.send(data)
    except BlockingIOError:
        return 0


@pytest.mark.parametrize("on_one_device", [False, True])
def test_what_one_side_writes_the_other_reads(segue_fleet: Fleet, join: Join, on_one_device: bool) -> None:
    ends = join(segue_fleet, on_one_device)
    origin, asker = ends.open()
    origin.send(b"down")
    asker.send(b"up")
    segue_fleet.run()
    assert (read(asker), read(origin)) == (b"down", b"up")
    assert read(asker) is None
    ends.asker.finish()
    segue_fleet.run()
    assert read(origin) == b""
    ends.origin.result().wait(1)
    origin.send(b"more")
    ends.origin.finish()
    segue_fleet.run()
    assert (read(asker), read(asker)) == (b"more", b"")
    ends.asker.result().wait(1)


@pytest.mark.parametrize("on_one_device", [False, True])
def test_under_asyncio_while_the_fleet_moves(segue_fleet: Fleet, join: Join, on_one_device: bool) -> None:
    data = random.Random(7).randbytes(1_000_000)
    ends = join(segue_fleet, on_one_device)

    async def echo() -> None:
        reader, writer = await ends.origin.open_streams()
        while piece := await reader.read(50_000):
            writer.write(piece)
            await writer.drain()
        writer.close()

    async def ask() -> bytes:
        reader, writer = await ends.asker.open_streams()
        writer.write(data)
        writer.write_eof()
        came = await reader.read()
        writer.close()
        return came

    async def story() -> bytes:
        echoing = asyncio.ensure_future(echo())
        came = await segue_fleet.until(ask(), 600)
        await echoing
        return came

    assert asyncio.run(story()) == data


@pytest.mark.parametrize("on_one_device", [False, True])
@pytest.mark.parametrize("end", ["close", "abort", "unopened", "kill"])
def test_how_the_other_side_ended(segue_fleet: Fleet, join: Join, on_one_device: bool, end: str) -> None:
    ends = join(segue_fleet, on_one_device)
    asker = ends.closing.enter_context(ends.asker.open())
    asker.setblocking(False)
    if end != "unopened":
        origin = ends.closing.enter_context(ends.origin.open())
        origin.send(b"hello")
        segue_fleet.run()
        assert read(asker) == b"hello"
    if end == "close":
        origin.close()
    elif end in ("abort", "unopened"):
        ends.origin.abort(5)
    else:
        segue_fleet.kill(ends.editor)
    # The hub goes with the app: from another device it looks as if it might come back.
    segue_fleet.advance(70 if end == "kill" else 1)
    # A stream that nobody has opened is closed beside everything else.
    select.select([asker], [], [], 5)
    assert read(asker) == b""
    with pytest.raises(segue.StreamBrokenError if end == "kill" else segue.StreamAbortedError) as raised:
        ends.asker.result().wait(1.5)
    if isinstance(raised.value, segue.StreamAbortedError):
        assert raised.value.abort_code == (0 if end == "close" else 5)
    with pytest.raises(BrokenPipeError):
        asker.send(b"?")


def test_a_slow_reader_stops_the_writer(segue_fleet: Fleet, join: Join) -> None:
    origin, asker = join(segue_fleet).open()
    total = 0
    for _ in range(200):
        total += written(origin, bytes(100_000))
        segue_fleet.advance(0.1)
    # The two sockets, the window of the link, and what the fleet holds at either side of it.
    assert total < 2_000_000
    assert written(origin, b"x") == 0
    count = 0
    while count < total:
        piece = read(asker)
        assert piece != b""
        count += len(piece or b"")
        segue_fleet.advance(0.1)
    assert count == total
    assert written(origin, b"x") == 1


def test_a_link_that_is_cut_goes_on_where_it_was(segue_fleet: Fleet, join: Join) -> None:
    ends = join(segue_fleet)
    origin, asker = ends.open()
    data = random.Random(7).randbytes(2_000_000)
    sent, came = 0, b""
    for turn in range(400):
        sent += written(origin, data[sent : sent + 50_000])
        segue_fleet.advance(0.05)
        came += read(asker) or b""
        if turn % 20 == 10:
            segue_fleet.unlink(*ends.devices)
        if turn % 20 == 15:
            segue_fleet.link(*ends.devices)
    assert came == data


def test_cut_off_for_too_long_it_is_broken_at_both_ends(segue_fleet: Fleet, join: Join) -> None:
    ends = join(segue_fleet)
    origin, asker = ends.open()
    origin.send(b"hello")
    segue_fleet.run()
    segue_fleet.partition(*ends.devices)
    origin.send(b"lost")
    segue_fleet.advance(28)
    assert (read(asker), read(asker), read(origin)) == (b"hello", None, None)
    segue_fleet.advance(70)
    for connection, stream in ((origin, ends.origin), (asker, ends.asker)):
        assert read(connection) == b""
        with pytest.raises(segue.StreamBrokenError):
            stream.result().wait(1.5)


def test_an_app_that_is_stopped_reads_when_it_goes_on(segue_fleet: Fleet, join: Join) -> None:
    ends = join(segue_fleet)
    origin, asker = ends.open()
    segue_fleet.stop(ends.viewer)
    origin.send(b"hello")
    segue_fleet.advance(1)
    assert read(asker) is None
    segue_fleet.resume(ends.viewer)
    segue_fleet.run()
    assert read(asker) == b"hello"


def test_the_power_goes(segue_fleet: Fleet, join: Join) -> None:
    ends = join(segue_fleet)
    _, asker = ends.open()
    ends.devices[0].crash()
    segue_fleet.advance(100)
    assert read(asker) == b""
    with pytest.raises(segue.StreamBrokenError):
        ends.asker.result().wait(1.5)


def test_the_same_seed_gives_the_same_trace_and_nothing_is_left_open() -> None:
    def trace() -> str:
        with Fleet(3) as fleet, ExitStack() as closing:
            fleet.set_network(delay=(0.01, 0.2), loss=0.1, reordering=0.1)
            ends = joined(fleet, False, closing)
            origin, asker = ends.open()
            sent, came = 0, 0
            while came < 300_000:
                sent += written(origin, bytes(min(20_000, 300_000 - sent)))
                fleet.advance(0.1)
                came += len(read(asker) or b"")
            ends.origin.finish()
            fleet.advance(1)
            ends.asker.result().wait(2)
            return fleet.trace

    first = trace()
    before = len(os.listdir("/proc/self/fd"))
    assert trace() == first
    assert len(os.listdir("/proc/self/fd")) == before
    assert "reads the end of a stream" in first


def test_a_call_that_blocks_while_the_fleet_does_not_advance_fails(segue_fleet: Fleet, join: Join) -> None:
    """Both wait for what travels only when the fleet advances: 10 s later they get an error."""
    ends = join(segue_fleet)
    writing, reading = ends.open()
    outcomes: list[type[BaseException]] = []

    def blocked(call: Callable[[], object]) -> None:
        with pytest.raises(OSError) as error:
            call()
        outcomes.append(error.type)

    calls: list[Callable[[], object]] = [lambda: writing.sendall(bytes(1 << 20)), lambda: reading.recv(1)]
    for each in (writing, reading):
        each.setblocking(True)
    threads = [threading.Thread(target=blocked, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [BlockingIOError] * 2
    # Bytes that were written before are not lost.
    segue_fleet.advance(1)
    assert reading.recv(1) == b"\0"
    ends.origin.abort(1)


@pytest.mark.parametrize(("how", "most"), [("kill", 60), ("crash", 90)])
def test_a_stream_of_a_dead_origin_breaks_within_the_time_of_until(segue_fleet: Fleet, how: str, most: int) -> None:
    """R7.2"""

    async def story() -> None:
        phone, laptop = segue_fleet.add_device("phone"), segue_fleet.add_device("laptop")
        editor = segue.App("com.example.notes", types=[TYPE], device=phone)
        viewer = segue.App("com.example.notes", types=[TYPE], device=laptop)
        opened: list[tuple[segue.StreamReader, segue.StreamWriter]] = []
        async with editor, viewer:
            activity = segue.Activity(editor, TYPE)
            activity.supports_continuation_streams = True

            @activity.on_did_receive_stream
            async def begin(stream: segue.Stream) -> None:
                opened.append(await stream.open_streams())

            activity.become_current()
            segue_fleet.run()
            continued = await segue_fleet.until(viewer.continue_(viewer.offers[0]))
            reader, writer = await segue_fleet.until(continued.streams())
            began = segue_fleet.time
            if how == "kill":
                segue_fleet.kill(editor)
            else:
                phone.crash()
            with pytest.raises(segue.StreamBrokenError):
                await segue_fleet.until(reader.read())
            assert most - 31 < segue_fleet.time - began <= most + 1
            for each in (writer, opened[0][1]):
                each.abort()
                with suppress(segue.Error):
                    await each.wait_closed()

    asyncio.run(story())
