# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams between the two sides of a continuation (R7)."""

from __future__ import annotations

import asyncio
import socket
import sys
import warnings
import weakref
from collections.abc import Generator
from contextlib import suppress
from types import TracebackType
from typing import Any, Callable

from . import _arguments, _native, _table
from ._hooks import is_later
from ._host import Host
from ._loops import needed_loop, soon
from ._native import library
from ._pending import Pending, expected
from ._unique import Unique, shown
from .errors import Error, StreamAbortedError, StreamBrokenError, UserCancelledError

_ENDED, _ABORTED = 1, 2


class Stream(_native.Handle):
    """A stream to the other side of a continuation, not open yet: what one side writes the other reads, both ways.

        with stream as connection: ...                  # a connected, blocking socket
        async with stream as (reader, writer): ...      # asyncio

    The end of the block states that all is written; a block that raises aborts the stream. Dropping a stream, opened or
    not, aborts it, unless its end was stated before.
    """

    _app: Host
    _is_open = False
    _said = False
    """The program has stated how this side ends."""
    _connection: socket.socket | None = None
    _writer: weakref.ref[StreamWriter] | None = None

    def __init__(self) -> None:
        raise TypeError("streams come from Activity.stream and from on_stream")

    def open(self) -> socket.socket:
        """Opens the stream as a connected, blocking socket that you own. Call `finish` or `abort` before you close it
        (closing alone is an abort), or use `with stream as connection`, which does that."""
        connection = socket.socket(fileno=_native.created_fd(library.segue_stream_open, self._handle))
        self._is_open = True
        return connection

    async def open_streams(self) -> tuple[StreamReader, StreamWriter]:
        """Opens the two directions for asyncio. The reader raises `StreamAbortedError` or `StreamBrokenError` if the
        other side did not end cleanly. Closing the writer ends this side cleanly, unless an exception is being raised
        (`finally: writer.close()`). `writer.abort(code)` aborts, and so does dropping the last reference to the writer;
        the reader is then aborted, too."""
        loop = needed_loop()
        reader = StreamReader(self, loop)
        protocol = _Protocol(reader)
        connection = self.open()
        try:
            connection.setblocking(False)
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
        except BaseException:
            self._give_up()
            connection.close()
            raise
        writer = StreamWriter(self, transport, protocol, reader, loop)
        self._writer = weakref.ref(writer)
        return reader, writer

    def __repr__(self) -> str:
        return shown(self, self._state)

    def _state(self) -> str:
        return "whose end was said" if self._said else "open" if self._is_open else "not open"

    def __enter__(self) -> socket.socket:
        self._connection = self.open()
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        connection, self._connection = self._connection, None
        try:
            if error is not None:
                self._give_up()
            elif not self._said:
                self.finish()
        finally:
            if connection is not None:
                connection.close()

    async def __aenter__(self) -> tuple[StreamReader, StreamWriter]:
        streams = await self.open_streams()
        self._opened = streams  # kept until the end of the block
        return streams

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _, writer = self._opened
        del self._opened
        if error is not None:
            self._give_up()
        else:
            writer.close()
            await writer.wait_closed()

    def _give_up(self) -> None:
        """Aborts after a failure, unless the end was stated."""
        writer = None if self._writer is None else self._writer()
        if writer is not None:
            writer._give_up()
        elif not self._said:
            with suppress(Error):
                self.abort()

    def finish(self) -> None:
        """States that all is written, and shuts the socket down for writing. You can still read."""
        library.segue_stream_finish(self._handle)
        self._said = True

    def abort(self, code: int = 0) -> None:
        """Aborts the stream, open or not: the other side reads its end, and gets the code."""
        library.segue_stream_abort(self._handle, _arguments.integer(code, 0, 0xFFFF_FFFF, "code"))
        self._said = True

    def result(self) -> Pending[None]:
        """Tells how the other side ended, after you have read its end: within a second. Raises `StreamAbortedError` or
        `StreamBrokenError` unless the other side had written all (R7.3)."""
        answer: Pending[None] = Pending(self._app)
        context = _native.new_context(weakref.ref(answer))
        with expected(answer):
            library.segue_stream_ask_result(self._handle, _ended, context, _native.destroy)
        return answer


class StreamReader(Unique, asyncio.StreamReader):
    """Reads what the other side writes."""

    def __init__(self, stream: Stream, loop: asyncio.AbstractEventLoop):
        super().__init__(loop=loop)
        self._stream = stream
        self._verdict: asyncio.Task[None] | None = None

    def _end(self) -> None:
        """Asks for the status after the end, or an error, was read."""
        if self._verdict is None:
            self._verdict = asyncio.get_running_loop().create_task(self._judge())
            self._verdict.add_done_callback(self._cancelled)

    def _cancelled(self, verdict: asyncio.Task[None]) -> None:
        """Ends the reading, although how the other side has ended is not known."""
        if verdict.cancelled():
            self.set_exception(StreamBrokenError())

    async def _judge(self) -> None:
        try:
            await self._stream.result()
        except Exception as error:
            self.set_exception(error)
        else:
            super().feed_eof()

    def feed_eof(self) -> None:
        """Handles the end: asks how the other side ended, and then raises or reports it."""
        self._end()


class StreamWriter(Unique, asyncio.StreamWriter):
    """Writes what the other side reads. Closing it, or `write_eof`, states that all is written. Closing it while an
    exception is being raised, or dropping it, aborts the stream."""

    def __init__(
        self,
        stream: Stream,
        transport: asyncio.Transport,
        protocol: asyncio.StreamReaderProtocol,
        reader: StreamReader,
        loop: asyncio.AbstractEventLoop,
    ):
        super().__init__(transport, protocol, reader, loop)
        self._stream = stream
        self._ending: asyncio.Task[None] | None = None
        self._own_loop = loop
        self._handled = sys.exc_info()[1]
        """An exception that is none of this stream's: it was opened while that was handled."""

    def write_eof(self) -> None:
        """States that no more follows, once all pending bytes are written. The other direction stays open."""
        self._finish(closing=False)

    def close(self) -> None:
        """Closes once all pending bytes are written, and states that all is written; on an exception, aborts."""
        error = sys.exc_info()[1]
        if error is None or error is self._handled or self._ending is not None:
            self._finish(closing=True)
        else:
            self._give_up()

    async def wait_closed(self) -> None:
        """Returns when all is written and the end was stated."""
        if self._ending is not None:
            await self._ending
        await super().wait_closed()

    def abort(self, code: int = 0) -> None:
        """Aborts both directions at once: the other side's reader raises `StreamAbortedError` with the code."""
        self._stream.abort(code)
        self.transport.abort()

    def _give_up(self) -> None:
        if self._ending is not None:  # all is written, or has failed
            self.close()
        elif not self._stream._said:
            with suppress(Error):
                self._stream.abort()
            self.transport.abort()

    def __del__(self) -> None:
        stream = self.__dict__.get("_stream")
        if stream is None or stream._said or self._ending is not None or _native.is_leaving():
            return
        with suppress(Error):
            stream.abort()
        soon(self._own_loop, self.transport.abort)
        warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def _finish(self, closing: bool) -> None:
        former = self._ending
        self._ending = asyncio.get_running_loop().create_task(self._finished(former, closing))
        # Cancelled before its first turn, the task runs none of its code.
        self._ending.add_done_callback(self._cancelled)

    def _cancelled(self, ending: asyncio.Task[None]) -> None:
        """Aborts what will not be written any further, and closes the descriptors."""
        if ending.cancelled():
            if not self._stream._said:
                with suppress(Error):
                    self._stream.abort()
            self.transport.abort()

    async def _finished(self, former: asyncio.Task[None] | None, closing: bool) -> None:
        if former is not None:
            await former
        elif not self.transport.is_closing():
            # Nothing may be lost that was said to be all.
            self.transport.set_write_buffer_limits(0)
            try:
                await self.drain()
            except (ConnectionError, StreamAbortedError, StreamBrokenError):
                self.abort()
            except BaseException:
                self.abort()
                raise
            else:
                self._stream.finish()
        if closing:
            super().close()


class _Protocol(asyncio.StreamReaderProtocol):
    """Lets the reader handle the end."""

    _own: StreamReader

    def __init__(self, reader: StreamReader):
        super().__init__(reader)
        self._own = reader

    def eof_received(self) -> bool:
        self._own._end()
        return True

    def connection_lost(self, exc: BaseException | None) -> None:
        # An error of the socket says no more than its end does.
        super().connection_lost(None)


class Streams:
    """The result of `activity.streams()`: `reader, writer = await activity.streams()`; or a block, whose end states
    that all is written unless it raises: `async with activity.streams() as (reader, writer)`."""

    def __init__(self, ask: Callable[[], Pending[Stream]]):
        self._ask = ask

    def __await__(self) -> Generator[Any, None, tuple[StreamReader, StreamWriter]]:
        return self._open().__await__()

    async def _open(self) -> tuple[StreamReader, StreamWriter]:
        return await (await self._ask()).open_streams()

    async def __aenter__(self) -> tuple[StreamReader, StreamWriter]:
        self._stream = await self._ask()
        return await self._stream.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stream.__aexit__(kind, error, traceback)


class _Arrival(Pending[Stream]):
    """Waits for a stream. It is aborted if nobody takes it: who waited may be cancelled as it comes."""

    _is_taken = False

    def _taken(self) -> Stream:
        self._is_taken = True
        return super()._taken()

    def _abandoned(self) -> None:
        super()._abandoned()
        stream: Stream | None = self._result
        if stream is not None and not self._is_taken:
            self._result, self._error = None, UserCancelledError("it was given up")
            stream._give_up()


def ask(activity: int, app: Host, timeout: float | None) -> Pending[Stream]:
    milliseconds = _arguments.wait(timeout, 3_600_000)
    answer = _Arrival(app)
    context = _native.new_context(weakref.ref(answer))
    with expected(answer):
        library.segue_activity_ask_stream(activity, milliseconds, _answered, context, _native.destroy)
    return answer


def stream_of(app: Host, handle: int) -> Stream:
    """The stream that a callback borrows."""
    return _native.wrap(Stream, handle, owned=False, _app=app)


def serve(app: Host, handler: Any, handle: int) -> None:
    """Passes the stream that a callback borrows to a handler. A handler that fails leaves no clean end."""
    stream = stream_of(app, handle)

    def served(value: Any, error: BaseException | None) -> None:
        if error is not None:
            stream._give_up()

    try:
        result = handler(stream)
        if is_later(result):
            app._run_later(result, served)
    except BaseException:
        stream._give_up()
        raise


@_native.trampoline(_table.STREAM)
def _answered(answer: Pending[Stream], _: int, stream: int | None, error: int | None) -> None:
    answer._app._answered(answer)
    if stream is not None:
        return answer._end(stream_of(answer._app, stream))
    answer._end(None, _native.error_from(error))


@_native.trampoline(_table.STREAM_RESULT)
def _ended(answer: Pending[None], _: int, result: int, code: int) -> None:
    answer._app._answered(answer)
    if result == _ENDED:
        answer._end(None)
    elif result == _ABORTED:
        answer._end(None, StreamAbortedError(code))
    else:
        answer._end(None, StreamBrokenError())
