# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors whose close waits, for as long as who passes them likes, if it is the last one of its file."""

from __future__ import annotations

import array
import contextlib
import socket
import struct
from collections.abc import Callable, Iterator

SECONDS = 300
"""A close waits for longer than any test."""


@contextlib.contextmanager
def lingering() -> Iterator[Callable[[], socket.socket]]:
    """A function that makes connected TCP sockets that linger, with bytes that nobody reads. When the block is left all
    of them end, and so does every close that waits."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))

        def make() -> socket.socket:
            far = socket.create_connection(server.getsockname())
            stack.enter_context(server.accept()[0])
            far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, SECONDS))
            far.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    far.send(bytes(65536))
            return far

        yield make


def send(connection: socket.socket, data: bytes, *descriptors: socket.socket, flags: int = 0) -> None:
    """Sends bytes with descriptors, which are closed here. The other end must not take them meanwhile: its close has to
    be the last."""
    fds = array.array("i", [each.fileno() for each in descriptors])
    connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)], flags)
    for each in descriptors:
        each.close()


def inside(*descriptors: socket.socket) -> socket.socket:
    """A Unix socket in whose queue these wait. They are closed here."""
    near, far = socket.socketpair()
    with far:
        send(far, b"1", *descriptors)
    return near
