# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams between two real processes (R7.1-R7.3): the other side does what the first line that it reads says."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Callable

import pytest
from conftest import PATIENCE, TYPE, Opener, both_ends, continued_by, run_until, stop
from streaming import ENDINGS, ORIGIN, OTHER_HUB, Program, continued, ended, read_all, verdict

import segue


@pytest.fixture
def app(opened: Opener) -> segue.App:
    """The receiver's; opened first, so that the hub lives here, unlike the process that dies."""
    return opened("com.example.viewer", team="com.example.notes")


@pytest.fixture(params=["this device", "another device"])
def origin(
    request: pytest.FixtureRequest, folder: str, app: segue.App
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the origin's process: here, or beyond a link."""
    with ExitStack() as stack:
        if request.param == "another device":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="segue-"))
            app.ready().wait(PATIENCE)
            mine, other = socket.socketpair()
            with other:
                stack.enter_context(Program(OTHER_HUB, str(other.fileno()), folder=folder, fds=(other.fileno(),)))
            app.link(mine).wait(PATIENCE)

        yield lambda option="": stack.enter_context(Program(ORIGIN, option, folder=folder))


@pytest.mark.parametrize("finished_first", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_receiver_hears_how_the_origin_ended(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]], ending: str, finished_first: bool
) -> None:
    """R7.3: in either order: before this side has ended, and after."""
    origin()
    stream = continued(app).stream().wait(PATIENCE)
    with stream.open() as connection:
        connection.sendall(f"{ending}\n".encode())
        if finished_first:
            stream.finish()
        assert read_all(connection) == b"hello\n"
        assert ended(stream) == verdict(ending)
        if not finished_first:
            stream.finish()
    # Asked again, and after the close: the same.
    assert ended(stream) == verdict(ending)


@pytest.mark.parametrize("ending", ["finish", "shutdown", "close", "abort 9"])
def test_the_origin_hears_how_the_receiver_ended(opened: Opener, ending: str) -> None:
    """R7.3, in one process."""
    editor, viewer = opened(), opened("com.example.viewer", team="com.example.notes")
    mine, theirs = both_ends(editor, viewer)
    near, far = mine.open(), theirs.open()
    with near, far:
        near.sendall(b"all")
        if ending == "finish":
            mine.finish()
        elif ending == "shutdown":
            near.shutdown(socket.SHUT_WR)
        elif ending == "abort 9":
            mine.abort(9)
        else:
            near.close()
        assert read_all(far) == b"all"
        result = theirs.result()
        run_until([editor, viewer], lambda: result.done)
        expected = {"finish": "ended", "shutdown": "ended", "close": "abort 0"}.get(ending, ending)
        assert ended(theirs) == expected
    near.close()


def test_a_thousand_streams_of_an_origin_that_was_stopped_are_each_the_right_one(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]], request: pytest.FixtureRequest
) -> None:
    """R7.1, R7.3: asked for while the origin stands still for a second. Each is the right one, and has ended."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2_500:
        pytest.skip("too few descriptors")
    count = 128 if "another" in request.node.name else 1_000  # channels of a process over one link
    program = origin()
    activity = continued(app)
    stop(program)
    asked = [activity.stream(timeout=PATIENCE) for _ in range(count)]
    time.sleep(1)  # it stands still so long
    program.send_signal(signal.SIGCONT)
    for number, each in enumerate(asked):
        stream = each.wait(PATIENCE)
        with stream.open() as connection:
            connection.sendall(f"{number}\n".encode())
            stream.finish()
            assert read_all(connection) == f"{number}\n".encode()
            assert ended(stream) == "ended"


def test_bytes_flow_both_ways_and_a_slow_reader_stops_the_writer(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]]
) -> None:
    """R7.2."""
    origin()
    activity = continued(app)
    stream = activity.stream().wait(PATIENCE)
    with stream.open() as connection:
        connection.sendall(b"echo\n")
        # Nobody reads what comes back: in the end nobody takes any more.
        connection.settimeout(0.5)
        line = b"x" * 999 + b"\n"
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 100_000_000:
                sent += connection.send(line)
        assert sent < 5_000_000
        connection.settimeout(PATIENCE)
        stream.finish()
        assert len(read_all(connection)) == len(b"hello\n") + sent
        assert ended(stream) == "ended"


def test_streams_are_asked_for_several_times_and_do_not_mix(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]]
) -> None:
    """R7.1."""
    origin()
    activity = continued(app)
    for ending in ["close", "finish", "abort 7"]:
        stream = activity.stream().wait(PATIENCE)
        with stream.open() as connection:
            connection.sendall(f"{ending}\n".encode())
            assert read_all(connection) == b"hello\n"
            assert ended(stream) == verdict(ending)


@pytest.mark.parametrize(
    ("option", "why"), [("unsupported", "does not support continuation streams"), ("deaf", "takes no streams")]
)
def test_a_stream_that_is_not_supported_is_an_error_that_says_which(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]], option: str, why: str
) -> None:
    """R7.1."""
    origin(option)
    with pytest.raises(segue.InvalidStateError, match=why):
        continued(app).stream().wait(PATIENCE)


def test_an_activity_that_was_not_continued_has_nobody_to_ask(app: segue.App) -> None:
    """R7.1."""
    with pytest.raises(segue.InvalidStateError, match="was not continued"):
        segue.Activity(app, TYPE).stream()


def test_an_origin_that_is_gone_is_an_error_at_once(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]]
) -> None:
    program = origin()
    activity = continued(app)
    program.kill()
    program.wait()
    with pytest.raises(segue.ConnectionUnavailableError):
        activity.stream().wait(PATIENCE)


def test_an_unopened_stream_that_is_let_go_of_is_aborted(opened: Opener) -> None:
    """R7.2, R7.3."""
    editor, viewer = opened(), opened("com.example.viewer", team="com.example.notes")
    activity = segue.Activity(editor, TYPE)
    activity.supports_continuation_streams = True
    activity.on_did_receive_stream(lambda stream: None)
    activity.become_current()
    continued = continued_by(viewer, editor)
    asked = continued.stream()
    run_until([editor, viewer], lambda: asked.done)
    stream = asked.wait(0)
    with stream.open() as connection:
        gc.collect()
        run_until([editor, viewer], lambda: select.select([connection], [], [], 0)[0])
        assert connection.recv(1) == b""
        result = stream.result()
        run_until([editor, viewer], lambda: result.done)
        with pytest.raises(segue.StreamAbortedError):
            result.wait(0)


def test_a_stream_is_opened_once_and_its_end_is_asked_for_when_it_has_ended(
    app: segue.App, origin: Callable[..., subprocess.Popen[str]]
) -> None:
    origin()
    stream = continued(app).stream().wait(PATIENCE)
    with pytest.raises(segue.InvalidStateError, match="not open"):
        stream.finish()
    with pytest.raises(segue.InvalidStateError, match="not open"):
        stream.result()
    with stream.open() as connection:
        assert not os.get_inheritable(connection.fileno())
        assert os.get_blocking(connection.fileno())
        with pytest.raises(segue.InvalidStateError, match="opened"):
            stream.open()
        with pytest.raises(segue.InvalidStateError, match="has not ended"):
            stream.result()


def test_the_hubs_death_does_not_disturb_a_stream(opened: Opener, folder: str) -> None:
    """R7.3: how it ended is known through the next hub."""
    with Program(ORIGIN.replace("com.example.notes.editing", "com.example.other"), "", folder=folder) as hub:
        editor, viewer = opened(), opened("com.example.viewer", team="com.example.notes")
        run_until([editor, viewer], lambda: editor.ready().done and viewer.ready().done)
        mine, theirs = both_ends(editor, viewer)
        with mine.open() as near, theirs.open() as far:
            os.kill(hub.pid, signal.SIGKILL)
            run_until([editor, viewer], lambda: all("generation 2" in app.describe() for app in (editor, viewer)))
            near.sendall(b"still here")
            mine.abort(3)
            assert read_all(far) == b"still here"
            result = theirs.result()
            run_until([editor, viewer], lambda: result.done)
            assert ended(theirs) == "abort 3"


# ---- asyncio ----


async def other_side(app: segue.App) -> segue.Activity:
    await app.ready()
    async for event in app.offer_events():
        return await app.continue_(event.offer)
    raise AssertionError


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_reader_raises_unless_the_other_side_ended_cleanly(
    origin: Callable[..., subprocess.Popen[str]], folder: str, ending: str
) -> None:
    """R7.3, under asyncio."""

    async def main() -> None:
        async with segue.App("com.example.viewer", team="com.example.notes", types=[TYPE]) as app:
            await app.ready()
            program = await asyncio.to_thread(origin)
            reader, writer = await (await other_side(app)).streams()
            writer.write(f"{ending}\n".encode())
            assert await reader.readline() == b"hello\n"
            if verdict(ending) == "ended":
                assert await reader.read() == b""
            else:
                kind = segue.StreamBrokenError if ending == "kill" else segue.StreamAbortedError
                with pytest.raises(kind):
                    await reader.read()
            writer.close()
            await writer.wait_closed()
            del reader, writer
            program.kill()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_what_a_writer_still_holds_when_it_closes_is_not_lost(
    origin: Callable[..., subprocess.Popen[str]], folder: str
) -> None:
    """R7.2, R7.3: more than the socket holds at once."""

    async def main() -> None:
        async with segue.App("com.example.viewer", team="com.example.notes", types=[TYPE]) as app:
            await app.ready()
            await asyncio.to_thread(origin)
            activity = await other_side(app)
            reader, writer = await activity.streams()
            lines = b"".join(b"%d\n" % number for number in range(300_000))
            writer.write(b"echo\n" + lines)
            writer.write_eof()
            assert await reader.readline() == b"hello\n"
            assert await reader.read() == lines
            writer.close()
            await writer.wait_closed()
            reader, writer = await activity.streams()
            writer.abort(5)
            with pytest.raises((segue.StreamError, ConnectionError)):
                await reader.readexactly(100)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
