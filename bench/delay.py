#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A proxy that delays all bytes, as a long cable would.

    bench/delay.py PORT TARGET_PORT SECONDS

The target is on this machine; it is connected that much later, too. Says "accepted US" for each connection, with the
time by the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time


async def carry(reader: asyncio.StreamReader, writer: asyncio.Future[asyncio.StreamWriter], delay: float) -> None:
    """Each piece arrives that much later than it came; pieces do not wait for each other."""
    pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        with contextlib.suppress(ConnectionError):
            target = await writer
            piece = b"-"
            while piece:
                due, piece = await pieces.get()
                await asyncio.sleep(due - time.monotonic())
                target.write(piece)
            target.close()

    delivering = asyncio.create_task(deliver())
    piece = b"-"
    while piece:
        try:
            piece = await reader.read(65536)
        except ConnectionError:
            piece = b""
        pieces.put_nowait((time.monotonic() + delay, piece))
    await delivering


def unhindered(writer: asyncio.StreamWriter) -> asyncio.StreamWriter:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return writer


async def main() -> None:
    port, target, delay = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        print(f"accepted {time.monotonic() * 1e6:.0f}", flush=True)
        here, there = (asyncio.get_running_loop().create_future() for _ in range(2))
        here.set_result(unhindered(writer))
        carrying = asyncio.create_task(carry(reader, there, delay))
        await asyncio.sleep(delay)
        try:
            back, beyond = await asyncio.open_connection("127.0.0.1", target)
        except ConnectionError as error:
            there.set_exception(error)
            writer.close()
        else:
            there.set_result(unhindered(beyond))
            await carry(back, here, delay)
        await carrying

    server = await asyncio.start_server(accepted, "0.0.0.0", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
