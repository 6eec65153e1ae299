# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stream between apps on two machines that goes on for as long as a test wants: one end sends numbered blocks, the
other one sends them back, and both hash all that they read and write."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from programs import Program
    from test_command import Machine

BLOCK, PAUSE = 1024, 0.005  # bytes, and seconds from one block to the next
COMMON = f"""
import hashlib, socket, sys, threading, time
app.close()
app = segue.App("com.example.streams", team="T", types=["com.example.streaming"])
app.open()
def block(number):
    return b"%08d" % number * ({BLOCK} // 8)
LAST = b"-" * {BLOCK}
"""
ECHO = f"""{COMMON}
activity = segue.Activity(app, "com.example.streaming", title="echo")
activity.supports_continuation_streams = True
@activity.on_did_receive_stream
def serve(stream):
    threading.Thread(target=answer, args=(stream,), daemon=True).start()
def answer(stream):
    read, written, end = hashlib.sha256(), hashlib.sha256(), b""
    with stream as connection:
        while end != LAST:
            data = connection.recv(65536)
            assert data, "the stream has ended"
            read.update(data)
            end = (end + data)[-len(LAST):]
            connection.sendall(data)
            written.update(data)
    print("there", read.hexdigest(), written.hexdigest(), flush=True)
activity.become_current()
print("serves", flush=True)
app.run()
"""
TALK = f"""{COMMON}
stopping, sent, got = threading.Event(), hashlib.sha256(), hashlib.sha256()
received, last, gap = 0, time.monotonic(), 0.0
def send(connection):
    number = 0
    while not stopping.wait({PAUSE}):
        connection.sendall(block(number))
        sent.update(block(number))
        number += 1
    connection.sendall(LAST)
    sent.update(LAST)
def listen():
    global gap
    for line in sys.stdin:
        if line == "gap\\n":
            print("gap", int(max(gap, time.monotonic() - last) * 1000), received, flush=True)
            gap = 0.0
        else:
            stopping.set()
while not app.offers:
    time.sleep(0.05)
with app.continue_(app.offers[0]).wait(20).stream().wait(20) as connection:
    connection.settimeout(60)
    sender = threading.Thread(target=send, args=(connection,))
    for thread in (sender, threading.Thread(target=listen, daemon=True)):
        thread.start()
    last, end = time.monotonic(), b""
    print("talks", flush=True)
    # The other end closes the stream once it has sent the last block back.
    while end != LAST:
        data = connection.recv(65536)
        assert data, "the stream has ended"
        gap, last = max(gap, time.monotonic() - last), time.monotonic()
        got.update(data)
        received += len(data)
        end = (end + data)[-len(LAST):]
    sender.join()
print("here", sent.hexdigest(), got.hexdigest(), flush=True)
time.sleep(60)
"""


class RunningStream:
    """From an app on one machine to one on another, and back."""

    def __init__(self, here: Machine, there: Machine):
        self._there: Program = there.runs(textwrap.dedent(ECHO))
        self._there.wait_for("^serves$")
        self._here: Program = here.runs(textwrap.dedent(TALK))
        self._here.wait_for("^talks$")

    def gap(self) -> tuple[int, int]:
        """The longest time in milliseconds without a byte since it was asked last, and the bytes that have come."""
        self._here.tell("gap")
        found = self._here.wait_for(r"^gap (\d+) (\d+)$")
        return int(found[1]), int(found[2])

    def end(self) -> None:
        """All that either end has written, the other one has read: each byte once, and in order."""
        self._here.tell("stop")
        here, there = (
            program.wait_for(rf"^{name} (\w{{64}}) (\w{{64}})$", 60)
            for name, program in (("here", self._here), ("there", self._there))
        )
        assert len({here[1], here[2], there[1], there[2]}) == 1
        for program in (self._here, self._there):
            program.kill()
