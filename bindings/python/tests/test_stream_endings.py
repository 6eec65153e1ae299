# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stream reads as ended only if who wrote it has succeeded (R7.3), however its code is written."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Callable, Union

import pytest
from conftest import PATIENCE, TYPE, Log, Opener, becomes, both_ends, run_until
from streaming import ended, read_all

import segue

Serve = Callable[[segue.Stream], Awaitable[None]]


class Mistake(Exception):
    pass


@asynccontextmanager
async def reading(folder: str, serve: Serve) -> AsyncIterator[segue.Activity]:
    """A continued activity, whose streams `serve` serves."""
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    origin = segue.App("com.example.notes", types=[TYPE], runtime_folder=folder)
    viewer = segue.App("com.example.viewer", team="com.example.notes", types=[TYPE], runtime_folder=folder)
    async with origin, viewer:
        activity = segue.Activity(origin, TYPE)
        activity.supports_continuation_streams = True
        activity.on_did_receive_stream(serve)
        activity.become_current()
        async for event in viewer.offer_events():
            yield await viewer.continue_(event.offer)
            return


def heard(folder: str, serve: Serve) -> str:
    """Returns how a stream that `serve` serves ends for the other side."""

    async def main() -> str:
        async with reading(folder, serve) as activity:
            reader, writer = await activity.streams()
            try:
                read = await reader.read()
            except segue.StreamAbortedError as error:
                return f"aborted {error.abort_code}"
            else:
                return f"ended after {len(read)}"
            finally:
                writer.abort()

    return asyncio.run(asyncio.wait_for(main(), PATIENCE))


async def raises_after_closing(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    try:
        writer.write(b"half")
        raise Mistake
    finally:
        writer.close()


async def raises_with_a_reader_only(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    writer.write(b"half")
    raise Mistake


async def raises_after_draining(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    writer.write(b"half")
    await writer.drain()
    raise Mistake


async def forgets(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    writer.write(b"half")
    await writer.drain()


async def raises_in_a_block(stream: segue.Stream) -> None:
    async with stream as (_, writer):
        writer.write(b"half")
        raise Mistake


async def is_cancelled(stream: segue.Stream) -> None:
    async def serve() -> None:
        _, writer = await stream.open_streams()
        try:
            writer.write(b"half")
            await asyncio.Event().wait()
        finally:
            writer.close()

    await asyncio.wait_for(serve(), 0.05)


async def raises_in_a_sync_block(stream: segue.Stream) -> None:
    with stream as connection:
        connection.sendall(b"half")
        raise Mistake


async def raises_with_a_socket(stream: segue.Stream) -> None:
    stream.open().sendall(b"half")
    raise Mistake


async def aborts_in_a_block(stream: segue.Stream) -> None:
    with stream as connection:
        connection.sendall(b"half")
        stream.abort(7)


async def closes(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    try:
        writer.write(b"whole")
    finally:
        writer.close()
    await writer.wait_closed()


async def closes_and_forgets(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    writer.write(b"whole")
    writer.close()


async def closes_after_another_error(stream: segue.Stream) -> None:
    try:
        raise Mistake
    except Mistake:
        await closes(stream)


async def says_that_all_is_written(stream: segue.Stream) -> None:
    _, writer = await stream.open_streams()
    try:
        writer.write(b"whole")
        writer.write_eof()
        raise Mistake
    finally:
        writer.close()


async def writes_in_a_block(stream: segue.Stream) -> None:
    async with stream as (_, writer):
        writer.write(b"whole")


async def writes_in_a_sync_block(stream: segue.Stream) -> None:
    with stream as connection:
        connection.sendall(b"whole")


async def finishes_in_a_sync_block(stream: segue.Stream) -> None:
    with stream as connection:
        connection.sendall(b"whole")
        stream.finish()


@pytest.mark.parametrize(
    "serve",
    [
        raises_after_closing,
        raises_with_a_reader_only,
        raises_after_draining,
        forgets,
        raises_in_a_block,
        is_cancelled,
        raises_in_a_sync_block,
        raises_with_a_socket,
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_fails_is_aborted(folder: str, serve: Serve, log: Log) -> None:
    """R7.3"""
    assert heard(folder, serve) == "aborted 0"


def test_an_abort_in_a_block_is_one(folder: str) -> None:
    """R7.3"""
    assert heard(folder, aborts_in_a_block) == "aborted 7"


@pytest.mark.parametrize(
    "serve",
    [
        closes,
        closes_and_forgets,
        closes_after_another_error,
        says_that_all_is_written,
        writes_in_a_block,
        writes_in_a_sync_block,
        finishes_in_a_sync_block,
    ],
)
def test_what_succeeds_has_ended(folder: str, serve: Serve, log: Log) -> None:
    """R7.3"""
    assert heard(folder, serve) == "ended after 5"


def test_a_stream_is_asked_for_in_a_block(folder: str) -> None:
    """R7.1, R7.3: the other way round."""
    told: list[str] = []

    async def serve(stream: segue.Stream) -> None:
        async with stream as (reader, _):
            try:
                told.append(f"ended after {len(await reader.read())}")
            except segue.StreamAbortedError as error:
                told.append(f"aborted {error.abort_code}")

    async def main() -> None:
        async with reading(folder, serve) as activity:
            async with activity.streams() as (reader, writer):
                writer.write(b"whole")
                writer.write_eof()
                assert await reader.read() == b""
            with pytest.raises(Mistake):
                async with activity.streams() as (_, writer):
                    writer.write(b"half")
                    raise Mistake
            while len(told) < 2:
                await asyncio.sleep(0.01)  # transports close in turns of the loop that follow

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert told == ["ended after 5", "aborted 0"]


Sync = Callable[[segue.Stream], Union[socket.socket, None]]


def fails_in_a_block(stream: segue.Stream) -> None:
    with pytest.raises(Mistake), stream as connection:
        connection.sendall(b"half")
        raise Mistake


def drops_it(stream: segue.Stream) -> None:
    stream.open().sendall(b"half")


def succeeds(stream: segue.Stream) -> None:
    with stream as connection:
        connection.sendall(b"whole")


@pytest.mark.parametrize("write, expected", [(fails_in_a_block, "abort 0"), (drops_it, "abort 0"), (succeeds, "ended")])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_block_for_scripts(opened: Opener, write: Any, expected: str) -> None:
    """R7.3"""
    editor, viewer = opened(), opened("com.example.viewer", team="com.example.notes")
    mine, theirs = both_ends(editor, viewer)
    with theirs.open() as far:
        write(mine)
        gc.collect()
        read_all(far)
        result = theirs.result()
        run_until([editor, viewer], lambda: result.done)
        assert ended(theirs) == expected


async def is_cancelled_with_the_end_of_its_block(stream: segue.Stream) -> None:
    task = asyncio.current_task()
    assert task is not None
    async with stream as (_, writer):
        writer.write(b"half")
        task.cancel()


async def is_cancelled_while_it_closes(stream: segue.Stream) -> None:
    task = asyncio.current_task()
    assert task is not None
    _, writer = await stream.open_streams()
    writer.write(b"half")
    writer.close()
    task.cancel()
    await writer.wait_closed()


async def is_cancelled_after_its_last_byte(stream: segue.Stream) -> None:
    task = asyncio.current_task()
    assert task is not None
    _, writer = await stream.open_streams()
    writer.write_eof()
    await asyncio.sleep(0)
    writer.close()
    task.cancel()
    await writer.wait_closed()


async def has_its_ending_cancelled(stream: segue.Stream) -> None:
    """As asyncio.run does at its end, to each task."""
    _, writer = await stream.open_streams()
    writer.write(b"half")
    others = asyncio.all_tasks()
    writer.close()
    for ending in asyncio.all_tasks() - others:
        ending.cancel()


def descriptors() -> list[str]:
    """The files that this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(found)


@pytest.mark.parametrize(
    "serve, expected",
    [
        (is_cancelled_with_the_end_of_its_block, "aborted 0"),
        (is_cancelled_while_it_closes, "aborted 0"),
        (has_its_ending_cancelled, "aborted 0"),
        (is_cancelled_after_its_last_byte, "ended after 0"),
    ],
)
def test_a_cancellation_while_it_ends_leaves_neither_the_other_side_waiting_nor_descriptors(
    folder: str, serve: Serve, expected: str
) -> None:
    # The first stream of a process makes a pipe that the process keeps.
    assert heard(folder, serve) == expected
    gc.collect()
    before = descriptors()
    assert heard(folder, serve) == expected
    gc.collect()
    assert becomes(lambda: len(descriptors()) <= len(before)), (before, descriptors())


@pytest.mark.parametrize("block", [True, False])
def test_a_receiver_that_is_cancelled_while_it_ends_leaves_no_origin_waiting(folder: str, block: bool) -> None:
    read: list[str] = []
    over: list[asyncio.Event] = []  # made inside the loop, as Python 3.9 needs it

    async def serve(stream: segue.Stream) -> None:
        reader, writer = await stream.open_streams()
        try:
            read.append(f"ended after {len(await reader.read())}")
        except segue.StreamAbortedError as error:
            read.append(f"aborted {error.abort_code}")
        writer.abort()
        over[0].set()

    async def cancelled(activity: segue.Activity) -> None:
        task = asyncio.current_task()
        assert task is not None
        if block:
            async with activity.streams() as (_, writer):
                writer.write(b"half")
                task.cancel()
        else:
            _, writer = await activity.streams()
            writer.write(b"half")
            writer.close()
            task.cancel()
            await writer.wait_closed()

    async def main() -> None:
        over.append(asyncio.Event())
        async with reading(folder, serve) as activity:
            task = asyncio.ensure_future(cancelled(activity))
            await asyncio.wait([task])
            assert task.cancelled()
            await over[0].wait()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    gc.collect()
    before = descriptors()
    over.clear()
    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    gc.collect()
    assert becomes(lambda: len(descriptors()) <= len(before)), (before, descriptors())
    assert read == ["aborted 0"] * 2


def test_a_reader_whose_question_is_cancelled_does_not_wait(folder: str) -> None:
    """A task asks how the other side has ended, and programs cancel all tasks."""

    async def finishes(stream: segue.Stream) -> None:
        async with stream:
            pass

    async def main() -> None:
        async with reading(folder, finishes) as activity:
            reader, writer = await activity.streams()
            others = asyncio.all_tasks()
            reader.feed_eof()
            for task in asyncio.all_tasks() - others:
                task.cancel()
            with pytest.raises(segue.StreamBrokenError):
                await reader.read()
            writer.abort()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
