# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A proxy between two devices, which does to their bytes what a bad network does: it delays them, lets them trickle,
stands still, cuts connections, and turns bits over. The slower one of two proxies is overtaken."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable

from network import Sockets

READ = 256 * 1024
HELD = 1024 * 1024  # bytes that wait in one direction, at most
TRICKLE = 512  # bytes at a time
LISTENER, WAKER = "listener", "waker"


class Way:
    """One direction of a connection."""

    def __init__(self, source: socket.socket, sink: socket.socket, is_from_dialler: bool):
        self.source, self.sink, self.is_from_dialler = source, sink, is_from_dialler
        self.waiting: deque[tuple[float, bytearray]] = deque()  # when each piece is due
        self.held = 0
        self.moved = 0  # bytes read so far
        self.last_due = 0.0
        self.has_ended = False


class Proxy:
    """Listens on a machine, and passes each connection on to an address there. One thread moves the bytes."""

    def __init__(self, sockets: Sockets, target: tuple[str, int], address: str, *, delay: float = 0.0, most: int = 0):
        """
        target: an address and a port
        address: to listen at
        most: connections that are passed on, if not 0; others are closed
        """
        self._sockets, self._target, self._most = sockets, target, most
        self._listener = sockets.listen(address)
        self._listener.setblocking(False)
        self.address = "{}:{}".format(*self._listener.getsockname())
        self.delay = delay
        """Seconds that each byte takes, without effect on how many pass in a second."""
        self.pause = 0.0
        """If not 0, no more than a few bytes pass, and then none for so many seconds."""
        self.stands_still = False
        self.flip: tuple[bool, int | None, int] | None = None
        """Whether from the dialler, which byte (None: the next), and the bits of it that are turned over, once."""
        self.accepted = 0
        self.moved = [0, 0]
        """Bytes of all connections: to the dialler, and from it."""
        self._ways: list[Way] = []
        self._ended = threading.Semaphore(0)
        self._selector = selectors.DefaultSelector()
        self._orders: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._waker, self._woken = socket.socketpair()
        self._selector.register(self._listener, selectors.EVENT_READ, LISTENER)
        self._selector.register(self._woken, selectors.EVENT_READ, WAKER)
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    # ---- what a test tells it ----

    def set(self, **what: object) -> None:
        """Changes what it does, from the next byte on."""
        self._do(lambda: self.__dict__.update(what))

    def cut(self) -> None:
        """Ends all connections, as a router does that has forgotten them."""
        self._do(self._cut)

    def ended(self) -> None:
        """Waits for the end of one more connection."""
        assert self._ended.acquire(timeout=20), "no connection has ended"

    def close(self) -> None:
        self._do(self._end)
        self._thread.join()

    def _do(self, order: Callable[[], None]) -> None:
        done = threading.Event()
        self._orders.append((order, done))
        self._waker.send(b"!")
        assert done.wait(10), "the proxy stands still"

    # ---- its thread ----

    def _run(self) -> None:
        while not self._is_over:
            for key, events in self._selector.select(self._next_due()):
                if key.data == WAKER:
                    self._woken.recv(4096)
                elif key.data == LISTENER:
                    self._accept()
                elif events & selectors.EVENT_READ:
                    self._read(key.data)
            while self._orders:
                order, done = self._orders.popleft()
                order()
                done.set()
            for way in list(self._ways):
                self._write(way)

    def _next_due(self) -> float | None:
        due = [way.waiting[0][0] for way in self._ways if way.waiting]
        return None if not due or self.stands_still else max(0.0, min(due) - time.monotonic())

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        self.accepted += 1
        try:
            if self._most and self.accepted > self._most:
                raise OSError
            onward = self._sockets.connect(*self._target)
        except OSError:
            accepted.close()
            return
        for one in (accepted, onward):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there, back = Way(accepted, onward, True), Way(onward, accepted, False)
        self._ways += [there, back]
        for way in (there, back):
            self._selector.register(way.source, selectors.EVENT_READ, way)

    def _read(self, way: Way) -> None:
        if way not in self._ways:
            return
        try:
            data = bytearray(way.source.recv(TRICKLE if self.pause else READ))
        except BlockingIOError:
            return
        except OSError:
            return self._drop(way)
        if not data:
            way.has_ended = True
            self._selector.unregister(way.source)
            return
        if self.flip and self.flip[0] == way.is_from_dialler:
            place = 0 if self.flip[1] is None else self.flip[1] - way.moved
            if 0 <= place < len(data):
                data[place] ^= self.flip[2]
                self.flip = None
        way.moved += len(data)
        self.moved[way.is_from_dialler] += len(data)
        way.last_due = max(time.monotonic() + self.delay, way.last_due + self.pause)
        way.waiting.append((way.last_due, data))
        way.held += len(data)
        if way.held > HELD:
            self._selector.unregister(way.source)

    def _write(self, way: Way) -> None:
        if self.stands_still or way not in self._ways:
            return
        now = time.monotonic()
        was_full = way.held > HELD
        while way.waiting and way.waiting[0][0] <= now:
            data = way.waiting[0][1]
            try:
                count = way.sink.send(data)
            except BlockingIOError:
                # The other end does not read: it is tried again soon.
                way.waiting[0] = (now + 0.002, data)
                break
            except OSError:
                return self._drop(way)
            del data[:count]
            way.held -= count
            if not data:
                way.waiting.popleft()
        if was_full and way.held <= HELD and not way.has_ended:
            self._selector.register(way.source, selectors.EVENT_READ, way)
        if way.has_ended and not way.waiting:
            self._drop(way)

    def _drop(self, way: Way) -> None:
        """Ends a connection in both directions."""
        for each in [each for each in self._ways if {each.source, each.sink} == {way.source, way.sink}]:
            self._ways.remove(each)
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(each.source)
        way.source.close()
        way.sink.close()
        self._ended.release()

    def _cut(self) -> None:
        for way in self._ways[::2]:
            for one in (way.source, way.sink):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._drop(way)

    def _end(self) -> None:
        self._cut()
        for one in [self._listener, self._waker, self._woken]:
            one.close()
        self._selector.close()
        self._is_over = True
