# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfers that are under way between two devices outlive cuts of their connection (R7.4)."""

from __future__ import annotations

import os
import select
import socket
import threading
from contextlib import suppress
from typing import Any, Callable

from conftest import PATIENCE, TYPE, Pair, continued_by, run_until

import segue


def over(continuation: segue.Continuation, links: tuple[segue.Link, segue.Link]) -> Callable[[], bool]:
    return lambda: continuation.done or all(link.ended.done for link in links)


class Proxy:
    """Stands between two devices, passes some bytes on, and then cuts both connections."""

    def __init__(self, count: int):
        ends = [socket.socketpair(), socket.socketpair()]
        self.sockets = ends[0][0], ends[1][0]
        self._ends = ends[0][1], ends[1][1]
        self._left = count
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._pump, args=(index,)) for index in (0, 1)]
        for thread in self._threads:
            thread.start()

    def _pump(self, index: int) -> None:
        source, sink = self._ends[index], self._ends[1 - index]
        with suppress(OSError):
            while data := source.recv(4096):
                with self._lock:
                    data = data[: self._left]
                    self._left -= len(data)
                sink.sendall(data)
                if self._left == 0:
                    break
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()


def test_a_cut_link_goes_on_where_it_was(pair: Pair) -> None:
    """R7.4: 200 KB of user_info behind a proxy that cuts the connection every few kilobytes."""
    editor, viewer = pair
    text = "".join(f"line {number} of a long draft\n" for number in range(8_000))
    activity = segue.Activity(editor, TYPE, title="Draft", user_info={"text": text})
    receipts: list[segue.Receipt] = []
    activity.on_continuation_ended(receipts.append)
    activity.become_current()
    continuation: segue.Continuation | None = None
    cuts = 0
    while True:
        proxy = Proxy(20_000 + 5_000 * cuts)
        links = editor.link(proxy.sockets[0]), viewer.link(proxy.sockets[1])
        if continuation is None:
            run_until([editor, viewer], lambda: viewer.offers)
            continuation = viewer.continue_(viewer.offers[0])
        run_until([editor, viewer], over(continuation, links))
        if continuation.done:
            break
        proxy.join()
        cuts += 1
    assert cuts >= 3, "the proxy has cut the link, and more than once"
    assert continuation.wait(0).user_info["text"] == text
    run_until([editor, viewer], lambda: receipts)
    assert [receipt.outcome for receipt in receipts] == [segue.Outcome.RESTORED]
    # The proxy ends with the sockets of the apps.
    editor.close()
    viewer.close()
    proxy.join()


def test_a_stream_outlives_the_cuts_of_its_link(pair: Pair) -> None:
    """R7.4: megabytes both ways behind a proxy that cuts again and again: nothing is lost, nothing comes twice."""
    editor, viewer = pair
    activity = segue.Activity(editor, TYPE, title="Draft")
    activity.supports_continuation_streams = True
    came: list[segue.Stream] = []
    activity.on_did_receive_stream(came.append)
    activity.become_current()
    proxy = Proxy(200_000)
    links = editor.link(proxy.sockets[0]), viewer.link(proxy.sockets[1])
    continued = continued_by(viewer, editor)
    asked = continued.stream()
    run_until([editor, viewer], lambda: asked.done and came)
    mine, theirs = asked.wait(0), came.pop()
    there, back = (b"".join(b"%d of %s\n" % (number, name) for number in range(200_000)) for name in (b"one", b"two"))
    received: dict[str, bytes] = {}
    hear, tell = socket.socketpair()
    cuts = 0
    with mine.open() as near, theirs.open() as far, hear, tell:

        def write(stream: segue.Stream, connection: socket.socket, text: bytes) -> None:
            connection.sendall(text)
            stream.finish()

        def read(name: str, connection: socket.socket) -> None:
            received[name] = b"".join(iter(lambda: connection.recv(65_536), b""))
            if len(received) == 2:
                tell.close()

        threads = [
            threading.Thread(target=write, args=(mine, near, there)),
            threading.Thread(target=write, args=(theirs, far, back)),
            threading.Thread(target=read, args=("near", near)),
            threading.Thread(target=read, args=("far", far)),
        ]
        for thread in threads:
            thread.start()
        while True:
            ended = [link.ended for link in links]
            while len(received) < 2 and not all(one.done for one in ended):
                ready, _, _ = select.select([each.fileno() for each in (editor, viewer, hear)], [], [], PATIENCE)
                assert ready
                editor.dispatch(0)
                viewer.dispatch(0)
            if len(received) == 2:
                break
            proxy.join()
            cuts += 1
            proxy = Proxy(400_000)
            links = editor.link(proxy.sockets[0]), viewer.link(proxy.sockets[1])
        for thread in threads:
            thread.join()
        assert (received["far"], received["near"]) == (there, back)
        for stream in (mine, theirs):
            result = stream.result()
            run_until([editor, viewer], lambda: result.done)  # noqa: B023
            result.wait(0)
    assert cuts >= 3, "the proxy has cut the link, and more than once"
    editor.close()
    viewer.close()
    proxy.join()


def test_an_attachment_crosses_a_link_that_is_cut(pair: Pair, tmp_path: Any) -> None:
    """R7.6, R7.4: whole, and checked."""
    editor, viewer = pair
    data = os.urandom(3_000_000)
    activity = segue.Activity(editor, TYPE, title="Draft")
    activity.attach("picture", data)
    activity.become_current()
    proxy = Proxy(200_000)
    links = editor.link(proxy.sockets[0]), viewer.link(proxy.sockets[1])
    continued = continued_by(viewer, editor)
    target = tmp_path / "picture"
    fetching = continued.fetch_attachment("picture", target)
    cuts = 0
    while True:
        ended = [link.ended for link in links]
        run_until([editor, viewer], lambda: fetching.done or all(one.done for one in ended))  # noqa: B023
        if fetching.done:
            break
        proxy.join()
        cuts += 1
        proxy = Proxy(400_000)
        links = editor.link(proxy.sockets[0]), viewer.link(proxy.sockets[1])
    fetching.wait(0)
    assert target.read_bytes() == data
    assert cuts >= 3, "the proxy has cut the link, and more than once"
    editor.close()
    viewer.close()
    proxy.join()
