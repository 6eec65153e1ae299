# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two devices: hubs in two runtime folders, linked over real sockets."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Pair, continued_by, environment, run_until

import segue


def linked(pair: Pair, sockets: tuple[socket.socket, socket.socket] | None = None) -> tuple[segue.Link, segue.Link]:
    first, second = sockets or socket.socketpair()
    links = pair[0].link(first), pair[1].link(second)
    run_until(list(pair), lambda: all(link.done for link in links))
    return links


def test_an_activity_is_continued_on_a_linked_device(pair: Pair) -> None:
    """R2.1, R3.6: across two hubs."""
    editor, viewer = pair
    activity = segue.Activity(editor, TYPE, title="Draft", user_info={"line": 12})
    receipts: list[segue.Receipt] = []
    activity.on_continuation_ended(receipts.append)
    activity.become_current()
    links = linked(pair)
    assert [link.wait(0) for link in links] == [socket.gethostname()] * 2
    continued = continued_by(viewer, editor)
    assert continued.user_info["line"] == 12
    run_until([editor, viewer], lambda: receipts)
    assert receipts[0].outcome == segue.Outcome.RESTORED


def test_closing_an_app_ends_its_links_and_takes_back_what_came_by_them(pair: Pair) -> None:
    editor, viewer = pair
    activity = segue.Activity(editor, TYPE, title="Draft")
    activity.become_current()
    mine, theirs = linked(pair)
    run_until([editor, viewer], lambda: viewer.offers)
    editor.close()
    assert isinstance(mine.ended.wait(0), segue.CancelledError)
    run_until([viewer], lambda: theirs.ended.done and not viewer.offers)
    assert isinstance(theirs.ended.wait(0), segue.ConnectionUnavailableError)


def test_a_link_of_a_device_with_itself_is_refused(pair: Pair) -> None:
    editor, _ = pair
    first, second = socket.socketpair()
    links = editor.link(first), editor.link(second)
    run_until([editor], lambda: all(link.ended.done for link in links))
    for link in links:
        with pytest.raises(segue.Error):
            link.wait(0)
    assert any(isinstance(link.ended.wait(0), segue.InvalidStateError) for link in links)


def test_what_is_no_connected_stream_socket_is_refused_and_stays_the_callers(pair: Pair) -> None:
    editor, _ = pair
    datagrams, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as alone, datagrams, other:
        for one in (alone, datagrams):
            with pytest.raises(segue.InvalidArgumentError, match="stream socket"):
                editor.link(one)
            assert one.fileno() >= 0
            one.getsockname()


def test_a_socket_that_does_not_tell_its_user_is_refused_unless_asked_for(pair: Pair) -> None:
    """TCP: whoever is at the other end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    with pytest.raises(segue.InvalidArgumentError, match="SEGUE_LINK_ANY_USER"):
        pair[0].link(client)
    links = pair[0].link(client, any_user=True), pair[1].link(accepted, any_user=True)
    run_until(list(pair), lambda: all(link.done for link in links))
    assert links[0].wait(0)


def test_garbage_and_silence_end_a_link_and_nothing_else(pair: Pair) -> None:
    """A9, A20."""
    editor, _ = pair
    for bad in (b"GET / HTTP/1.1\r\n\r\n", b"\x00\xff\xff\xff" + bytes(60), b""):
        mine, theirs = socket.socketpair()
        link = editor.link(mine)
        with theirs:
            theirs.sendall(bad)
            if not bad:
                theirs.close()
            ended = link.ended
            run_until([editor], lambda: ended.done)  # noqa: B023
        with pytest.raises(segue.Error):
            link.wait(0)
    assert editor.connection == segue.Connection.READY


@pytest.mark.parametrize("waiting", [False, True], ids=["cancelled", "timed out"])
def test_an_attempt_that_is_cancelled_makes_no_link(pair: Pair, waiting: bool) -> None:
    editor, viewer = pair
    segue.Activity(editor, TYPE, title="Secret").become_current()
    first, second = socket.socketpair()
    mine = editor.link(first)
    if waiting:
        asyncio.run(given_up(mine))
    else:
        mine.cancel()
    theirs = viewer.link(second)
    run_until([editor, viewer], lambda: theirs.ended.done and mine.ended.done)
    with pytest.raises(segue.UserCancelledError):
        mine.wait(0)
    assert isinstance(mine.ended.wait(0), segue.UserCancelledError)
    with pytest.raises(segue.Error):
        theirs.wait(0)
    assert not viewer.offers


async def given_up(link: segue.Pending[Any]) -> None:
    with pytest.raises((asyncio.TimeoutError, TimeoutError)):
        await asyncio.wait_for(link, 0.01)


def test_a_link_is_ended_on_purpose_and_another_can_be_made(pair: Pair) -> None:
    editor, viewer = pair
    activity = segue.Activity(editor, TYPE, title="Draft")
    activity.become_current()
    mine, theirs = linked(pair)
    run_until([editor, viewer], lambda: viewer.offers)
    with pytest.raises(TimeoutError):
        mine.ended.wait(0)
    mine.cancel()
    run_until([editor, viewer], lambda: mine.ended.done and theirs.ended.done and not viewer.offers)
    assert isinstance(mine.ended.wait(0), segue.UserCancelledError)
    assert isinstance(theirs.ended.wait(0), segue.ConnectionUnavailableError)
    assert mine.wait(0) == socket.gethostname(), "the link was made"
    mine.cancel()
    linked(pair)
    run_until([editor, viewer], lambda: viewer.offers)


def test_who_no_longer_waits_for_its_end_does_not_end_a_link(pair: Pair) -> None:
    editor, viewer = pair
    mine, theirs = linked(pair)
    asyncio.run(given_up(mine.ended))
    segue.Activity(editor, TYPE, title="Draft").become_current()
    run_until([editor, viewer], lambda: viewer.offers)
    assert not mine.ended.done and not theirs.ended.done
    mine.ended.cancel()
    run_until([editor, viewer], lambda: mine.ended.done and theirs.ended.done)


def test_a_stream_whose_hub_goes_is_broken(folders: tuple[str, str], pair: Pair) -> None:
    """R7.4: the app that carries the hub of the other device closes; the origin's app lives on."""
    editor, viewer = pair
    with segue.App("com.example.other", team="com.example.notes", runtime_folder=folders[0], types=[TYPE]) as other:
        run_until([other, editor, viewer], lambda: other.ready().done)
        activity = segue.Activity(other, TYPE, title="Draft")
        activity.supports_continuation_streams = True
        came: list[segue.Stream] = []
        activity.on_did_receive_stream(came.append)
        activity.become_current()
        linked(pair)
        continued = continued_by(viewer, other, editor)
        asked = continued.stream()
        run_until([other, editor, viewer], lambda: asked.done and came)
        mine, theirs = asked.wait(0), came.pop()
        with mine.open() as near, theirs.open() as far:
            near.sendall(b"so far")
            assert far.recv(100) == b"so far"
            far.sendall(b"and back")
            assert near.recv(100) == b"and back"
            editor.close()
            assert far.recv(1) == b""
            broken = theirs.result()
            assert near.recv(1) == b""
            also = mine.result()
            run_until([other, viewer], lambda: broken.done and also.done)
            for result in (broken, also):
                with pytest.raises(segue.StreamBrokenError):
                    result.wait(0)


OFFERING = """
import segue
with segue.App("com.example.notes", types=["com.example.notes.editing"]) as app:
    activity = segue.Activity(app, "com.example.notes.editing", title="Draft", user_info={"line": 12})
    activity.on_continuation_ended(lambda receipt: app.stop())
    activity.become_current()
    app.run()
"""


def test_the_command_line_links_two_devices(folders: tuple[str, str], tmp_path: Any) -> None:
    """Four processes, two runtime folders, one Unix socket: as `ssh -L` would forward it."""
    path = os.path.join(folders[0], "peer")
    environments = [environment(folder) for folder in folders]

    def start(folder: int, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, *arguments]
        program = subprocess.Popen(
            command, env=environments[folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        stack.callback(program.communicate)
        stack.callback(program.kill)
        return program

    def line(stream: Any, expected: str) -> None:
        for said in stream:
            if expected in said:
                return
        raise AssertionError(f"nothing said {expected!r}")

    with ExitStack() as stack:
        listening = start(0, "-m", "segue", "link", "--listen", path)
        line(listening.stdout, "waiting for the other device")
        # The hub is that of the one that listens: it does not go with the editor, and the link stays.
        editor = start(0, "-c", OFFERING)
        linking = start(1, "-m", "segue", "link", path)
        line(linking.stdout, "linked with")
        viewer = start(1, "-m", "segue", "continue", "--wait", "20")
        said, _ = viewer.communicate(timeout=PATIENCE)
        assert viewer.returncode == 0
        assert '"line": 12' in said
        assert editor.wait(PATIENCE) == 0
        other = start(1, "-m", "segue", "link", path)
        line(other.stderr, "standing by")
        linking.kill()
        line(other.stdout, "linked with")
        listening.kill()
        listening.wait()
        start(0, "-m", "segue", "link", "--listen", path)
        line(other.stdout, "linked with")
