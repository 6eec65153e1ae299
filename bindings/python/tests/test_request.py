# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests between real processes (R7.5): each ends once, within its deadline, with an answer or a clear error."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Callable

import pytest
from conftest import PATIENCE, TYPE, Log, Opener, Pair, continued_by, environment, run_until, stop
from test_link import linked

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet

ORIGIN = """
import os, signal, sys, time, segue
if sys.argv[1]:
    segue.limits.request = int(sys.argv[1])

kept = []

def answer(data):
    word, _, rest = data.partition(b" ")
    if word == b"kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == b"raise":
        raise KeyError("no such page")
    if word == b"refuse":
        raise segue.DeclinedError("not for you")
    if word == b"give":
        return bytes(int(rest))
    if word == b"nothing":
        return None
    if word == b"later":
        import concurrent.futures
        kept.append(concurrent.futures.Future())
        print("kept", flush=True)
        return kept[-1]
    return data[::-1]

with segue.App("com.example.notes", types=["com.example.notes.editing"]) as app:
    activity = segue.Activity(app, "com.example.notes.editing", title="Draft")
    activity.on_request(answer)
    activity.become_current()
    print("offering", flush=True)
    while True:
        try:
            app.run()
        except (KeyError, TypeError, segue.LimitExceededError) as error:
            print(type(error).__name__, flush=True)
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def origin(folder: str) -> Iterator[Start]:
    with ExitStack() as stack:

        def start(limit: str = "") -> subprocess.Popen[str]:
            program = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", ORIGIN, limit],
                env=environment(folder),
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(program)
            stack.callback(program.kill)
            assert program.stdout is not None
            assert program.stdout.readline() == "offering\n"
            return program

        yield start


@pytest.fixture
def app(opened: Opener) -> segue.App:
    """The receiver's; opened first, so that the hub lives here, unlike the process that dies."""
    return opened("com.example.viewer", team="com.example.notes")


def continued(app: segue.App) -> segue.Activity:
    run_until([app], lambda: app.offers)
    return app.continue_(app.offers[0]).wait(PATIENCE)


@pytest.mark.parametrize("size", [0, 1, 70_000, 1_048_576])
def test_an_answer_comes_whole(app: segue.App, origin: Start, size: int) -> None:
    """R7.5"""
    origin()
    data = os.urandom(size)
    assert continued(app).request(data).wait(PATIENCE) == data[::-1]


def test_a_hundred_at_a_time(app: segue.App, origin: Start) -> None:
    """R7.5: concurrent requests, each with the answer that is its own."""
    origin()
    activity = continued(app)
    data = [b"%d" % number * 1_000 for number in range(100)]
    asked = [activity.request(each) for each in data]
    assert [each.wait(PATIENCE) for each in asked] == [each[::-1] for each in data]


def test_the_origin_dies_in_the_middle(app: segue.App, origin: Start) -> None:
    """R7.5: every request ends, and long before its deadline."""
    program = origin()
    activity = continued(app)
    waiting = activity.request(b"later")
    output = program.stdout
    assert output is not None
    run_until([app], lambda: output.readline() == "kept\n")
    began = time.monotonic()
    asked = [waiting, activity.request(b"kill"), activity.request(bytes(1_000_000))]
    for each in asked:
        with pytest.raises(segue.ConnectionUnavailableError):
            each.wait(PATIENCE)
    assert time.monotonic() - began < 5
    with pytest.raises(segue.ConnectionUnavailableError, match="not connected"):
        activity.request(b"anybody?").wait(PATIENCE)


def test_a_deadline_passes(app: segue.App, origin: Start) -> None:
    """R7.5: also when the other process is stopped."""
    program = origin()
    activity = continued(app)
    began = time.monotonic()
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        activity.request(b"later", timeout=0.2).wait(PATIENCE)
    stop(program)
    try:
        with pytest.raises(segue.RemoteApplicationTimedOutError):
            activity.request(bytes(1_000_000), timeout=0.2).wait(PATIENCE)
    finally:
        program.send_signal(signal.SIGCONT)
    assert 0.39 <= time.monotonic() - began < 5
    assert activity.request(b"abc").wait(PATIENCE) == b"cba"


def test_it_is_cancelled(app: segue.App, origin: Start) -> None:
    """R7.5"""
    origin()
    activity = continued(app)
    asked = activity.request(b"later")
    asked.cancel()
    with pytest.raises(segue.UserCancelledError):
        asked.wait(PATIENCE)
    assert activity.request(b"abc").wait(PATIENCE) == b"cba"
    asked.cancel()


def test_what_is_too_large_says_so_at_either_end(app: segue.App, origin: Start) -> None:
    """R7.5: capped by the sender and by the receiver."""
    program = origin("1024")
    activity = continued(app)
    with pytest.raises(segue.LimitExceededError, match="the request is larger than SEGUE_LIMIT_REQUEST"):
        activity.request(bytes(1_048_577))
    with pytest.raises(segue.LimitExceededError, match="the request is larger than SEGUE_LIMIT_REQUEST"):
        activity.request(bytes(1_025)).wait(PATIENCE)
    with pytest.raises(segue.DeclinedError, match=r"LimitExceededError.*the answer is larger"):
        activity.request(b"give 1025").wait(PATIENCE)
    assert program.stdout is not None
    assert program.stdout.readline() == "LimitExceededError\n"
    assert activity.request(b"give 1024").wait(PATIENCE) == bytes(1_024)


def test_an_answer_is_larger_than_the_receiver_takes(folder: str, opened: Opener, origin: Start) -> None:
    """R7.5: and a limit can be set."""
    former = segue.limits.request
    segue.limits.request = 2_000
    try:
        app = opened("com.example.viewer", team="com.example.notes")
    finally:
        segue.limits.request = former
    origin()
    activity = continued(app)
    with pytest.raises(segue.LimitExceededError, match="the answer is larger than SEGUE_LIMIT_REQUEST"):
        activity.request(b"give 2001").wait(PATIENCE)
    assert activity.request(b"give 2000").wait(PATIENCE) == bytes(2_000)


def test_what_a_handler_raises_is_heard_at_both_ends(app: segue.App, origin: Start) -> None:
    """R7.5: an error that says what was wrong; DeclinedError is the handler's own way to refuse."""
    program = origin()
    activity = continued(app)
    with pytest.raises(segue.DeclinedError, match="KeyError: 'no such page'"):
        activity.request(b"raise").wait(PATIENCE)
    with pytest.raises(segue.DeclinedError, match="TypeError: on_request gave NoneType"):
        activity.request(b"nothing").wait(PATIENCE)
    with pytest.raises(segue.DeclinedError) as refused:
        activity.request(b"refuse").wait(PATIENCE)
    assert refused.value.message == "not for you"
    assert program.stdout is not None
    assert [program.stdout.readline() for _ in range(2)] == ["KeyError\n", "TypeError\n"]


def test_who_was_not_continued_has_nobody_to_ask(app: segue.App) -> None:
    """R7.1, R7.5"""
    with pytest.raises(segue.InvalidStateError, match="was not continued"):
        segue.Activity(app, TYPE).request(b"")
    with pytest.raises(segue.InvalidStateError, match="no app"):
        segue.Activity(None, TYPE).request(b"")


class Pages(segue.Activity):
    """Answers as a coroutine, with a method."""

    asked = 0

    async def on_request(self, data: bytes) -> bytes:
        self.asked += 1
        if data == b"raise":
            raise ValueError("no such page")
        if data == b"refuse":
            raise segue.DeclinedError("not for you")
        if data == b"never":
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return b"page " + data


def test_an_async_handler(folder: str, log: Log) -> None:
    """R7.5: `async def`, many at a time; the receiver gives up, the activity goes, its app closes."""

    async def main() -> None:
        async with segue.App("com.example.viewer", team="T", types=[TYPE], runtime_folder=folder) as viewer:
            editor = segue.App("com.example.editor", team="T", types=[TYPE], runtime_folder=folder)
            async with editor:
                errors: list[dict[str, object]] = []
                asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
                pages = Pages(editor, TYPE)
                pages.become_current()
                async for event in viewer.offer_events():
                    activity = await viewer.continue_(event.offer)
                    break
                answers = await asyncio.gather(*(activity.request(b"%d" % page) for page in range(100)))
                assert answers == [b"page %d" % page for page in range(100)]
                with pytest.raises(segue.DeclinedError, match="ValueError: no such page"):
                    await activity.request(b"raise")
                assert isinstance(errors[0]["exception"], ValueError)
                with pytest.raises(segue.DeclinedError, match="not for you"):
                    await activity.request(b"refuse")
                assert len(errors) == 1
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(activity.request(b"never"), 0.05)
                never = [activity.request(b"never") for _ in range(3)]
                await activity.request(b"1")
                pages.invalidate()
                for each in never:
                    with pytest.raises(segue.HandoffFailedError, match="invalidated"):
                        await each
            again = segue.App("com.example.editor", team="T", types=[TYPE], runtime_folder=folder)
            async with again:
                pages = Pages(again, TYPE)
                pages.become_current()
                async for event in viewer.offer_events():
                    if event.kind == segue.OfferEventKind.APPEARED:
                        activity = await viewer.continue_(event.offer)
                        break
                never = [activity.request(b"never")]
                await activity.request(b"1")
            with pytest.raises(segue.ConnectionUnavailableError, match="was closed"):
                await never[0]

    asyncio.run(main())


def test_the_receiver_closes(app: segue.App, origin: Start) -> None:
    """R3.14, R7.5"""
    origin()
    asked = continued(app).request(b"later")
    app.close()
    with pytest.raises(segue.CancelledError):
        asked.wait(PATIENCE)


def test_a_future_is_an_answer_and_who_forgets_to_answer_has_failed(opened: Opener) -> None:
    """R7.5: an answer from any thread."""
    editor = opened("com.example.editor", team="T", delivery="thread")
    viewer = opened("com.example.viewer", team="T")
    pages = segue.Activity(editor, TYPE)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pages.on_request(lambda data: pool.submit(lambda: data * 2))
        pages.become_current()
        activity = continued(viewer)
        assert activity.request(b"ab").wait(PATIENCE) == b"abab"
    pages.invalidate()


def test_across_linked_devices(pair: Pair) -> None:
    """R7.5: from hub to hub, over real sockets."""
    editor, viewer = pair
    pages = segue.Activity(editor, TYPE)
    pages.on_request(lambda data: data[::-1])
    pages.become_current()
    linked(pair)
    continued = continued_by(viewer, editor)
    activity = continued
    data = os.urandom(500_000)
    asked = [activity.request(data) for _ in range(20)]
    run_until([editor, viewer], lambda: all(each.done for each in asked))
    assert all(each.wait(0) == data[::-1] for each in asked)
    editor.close()
    asked = [activity.request(data)]
    run_until([viewer], lambda: asked[0].done)
    with pytest.raises(segue.ConnectionUnavailableError):
        asked[0].wait(0)


def test_in_a_virtual_fleet_a_request_ends_at_its_deadline(segue_fleet: Fleet) -> None:
    """R7.5, R11.1: the fleet holds every request against its deadline."""
    phone, laptop = segue_fleet.add_device("phone"), segue_fleet.add_device("laptop")
    editor = phone.add_app("com.example.notes", team="TEAM", types=[TYPE])
    viewer = laptop.add_app("com.example.viewer", team="TEAM", types=[TYPE])
    pages = segue.Activity(editor, TYPE)
    pages.on_request(lambda data: data[::-1])
    pages.become_current()
    segue_fleet.run()
    activity = viewer.continue_(viewer.offers[0]).wait()
    data = os.urandom(200_000)
    assert activity.request(data).wait() == data[::-1]
    segue_fleet.partition(phone, laptop)
    began = segue_fleet.time
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        activity.request(b"anybody?", timeout=5).wait()
    assert segue_fleet.time - began == pytest.approx(5, abs=0.1)
    asked = activity.request(b"anybody?")
    segue_fleet.kill(viewer)
    with pytest.raises(segue.CancelledError):
        asked.wait()


async def answers_later(data: bytes) -> bytes:
    return data


def exits(data: bytes) -> bytes:
    raise SystemExit(3)


def interrupted(data: bytes) -> bytes:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "handler, raised, reason",
    [
        (answers_later, segue.InvalidStateError, "an async handler needs a loop"),
        (exits, SystemExit, "SystemExit: 3"),
        (interrupted, KeyboardInterrupt, "KeyboardInterrupt"),
        (lambda data: segue.LATER, TypeError, "segue.LATER is an answer of on_continue"),
        (lambda data: (yield), TypeError, "has a yield"),
    ],
)
def test_whatever_a_handler_raises_the_asker_is_told_at_once(
    opened: Opener, handler: Any, raised: type[BaseException], reason: str
) -> None:
    """R7.5; also where no handler can be async, because no loop runs."""
    editor, viewer = opened(), opened("com.example.viewer", team="com.example.notes")
    activity = segue.Activity(editor, TYPE)
    activity.on_request(handler)
    activity.become_current()
    asked = continued_by(viewer, editor).request(b"ask", timeout=600)
    with pytest.raises(raised):
        run_until([editor, viewer], lambda: asked.done)
    run_until([editor, viewer], lambda: asked.done)
    with pytest.raises(segue.DeclinedError, match=reason):
        asked.wait(0)


def test_a_coroutine_that_breaks_or_is_cancelled_refuses_the_request(folder: str) -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        origin = segue.App("com.example.notes", runtime_folder=folder)
        viewer = segue.App("com.example.viewer", team="com.example.notes", types=[TYPE], runtime_folder=folder)
        async with origin, viewer:
            activity = segue.Activity(origin, TYPE)

            @activity.on_request
            async def answer(data: bytes) -> Any:
                task = asyncio.current_task()
                assert task is not None
                if data == b"cancel":
                    task.cancel()
                    await asyncio.sleep(0)
                return 5

            activity.become_current()
            async for event in viewer.offer_events():
                continued = await viewer.continue_(event.offer)
                break
            for data, reason in ((b"cancel", "was cancelled"), (b"wrong", "gave int, not bytes")):
                with pytest.raises(segue.DeclinedError, match=reason):
                    await continued.request(data, timeout=600)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
