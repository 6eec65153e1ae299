# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The other side of a stream in a process of its own, and how a stream is read to its end."""

from __future__ import annotations

import socket
import subprocess
import sys

from conftest import PATIENCE, environment, run_until

import segue

COMMON = """
import os, signal, socket, sys, segue

left_open = []

def serve(app, stream):
    connection = stream.open()
    lines = connection.makefile("r", newline="\\n")
    word, *code = lines.readline().split()
    if word.isdigit():
        connection.sendall(word.encode() + b"\\n")
        stream.finish()
        connection.close()
        lines.close()
        return
    connection.sendall(b"hello\\n")
    if word == "echo":
        for line in lines:
            connection.sendall(line.encode())
    if word in ("finish", "echo"):
        stream.finish()
        connection.close()
    elif word == "close":
        connection.close()
    elif word == "abort":
        stream.abort(int(code[0]))
        connection.close()
    elif word == "shutdown":
        connection.shutdown(socket.SHUT_WR)
        left_open.append(connection)
    elif word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    lines.close()
    print("served", word, flush=True)
"""

ORIGIN = (
    COMMON
    + """
with segue.App("com.example.notes", types=["com.example.notes.editing"]) as app:
    activity = segue.Activity(app, "com.example.notes.editing", title="Draft")
    activity.supports_continuation_streams = sys.argv[1] != "unsupported"
    if sys.argv[1] != "deaf":
        activity.on_did_receive_stream(lambda stream: serve(app, stream))
    activity.become_current()
    app.ready().wait(10)
    print("offering", flush=True)
    app.run()
"""
)

# The hub of another device, linked with that of this one; it outlives the origin.
OTHER_HUB = """
import socket, sys, segue

with segue.App("com.example.other", types=["com.example.other"]) as app:
    app.ready().wait(10)
    print("ready", flush=True)
    app.link(socket.socket(fileno=int(sys.argv[1])))
    app.run()
"""

ENDINGS = ["finish", "shutdown", "close", "abort 7", "kill"]


class Program(subprocess.Popen[str]):
    """A Python program that says that it is there."""

    def __init__(self, source: str, *arguments: str, folder: str, fds: tuple[int, ...] = ()):
        super().__init__(
            [sys.executable, "-W", "error", "-c", source, *arguments],
            env=environment(folder),
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=fds,
        )
        assert self.stdout is not None
        assert self.stdout.readline().strip() in ("offering", "ready")

    def __exit__(self, *_: object) -> None:
        self.kill()
        super().__exit__(None, None, None)


def continued(app: segue.App) -> segue.Activity:
    run_until([app], lambda: app.offers)
    return app.continue_(app.offers[0]).wait(PATIENCE)


def ended(stream: segue.Stream) -> str:
    """Returns how the other side has ended."""
    try:
        stream.result().wait(1)
    except segue.StreamAbortedError as error:
        return f"abort {error.abort_code}"
    except segue.StreamBrokenError:
        return "broken"
    return "ended"


def verdict(ending: str) -> str:
    return {"finish": "ended", "shutdown": "ended", "close": "abort 0", "abort 7": "abort 7", "kill": "broken"}[ending]


def read_all(connection: socket.socket) -> bytes:
    """Up to the end, which may be told as an error."""
    read = b""
    try:
        while data := connection.recv(65536):
            read += data
    except ConnectionResetError:
        pass
    return read
