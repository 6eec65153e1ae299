# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stream between two apps of the device goes on whatever happens to the agent (docs/agent.md, R7.3)."""

from __future__ import annotations

import asyncio
import signal

import pytest
import segue

TYPE = "com.example.notes.editing"


@pytest.fixture
def apps(folder):
    def app(name: str) -> segue.App:
        return segue.App(f"com.example.{name}", team="T", types=[TYPE], runtime_folder=folder)

    return app("editor"), app("viewer")


@pytest.mark.parametrize("how", ["comes", "SIGTERM", "SIGKILL"])
def test_a_stream_goes_on(apps, agent, how):
    """Bytes pass in both directions after the hub has moved, and the end is a clean one."""
    if how != "comes":
        program = agent()

    def move() -> None:
        if how == "comes":
            agent()
        else:
            program.signal(getattr(signal, how))
            program.wait()

    async def story() -> tuple[bytes, bytes]:
        editor, viewer = apps
        heard = asyncio.get_running_loop().create_future()
        async with editor, viewer:
            activity = segue.Activity(editor, TYPE, title="Draft")
            activity.supports_continuation_streams = True

            @activity.on_did_receive_stream
            async def serve(stream):
                async with stream as (reader, writer):
                    first = await reader.readline()
                    writer.write(first)
                    heard.set_result(first + await reader.readline())
                    writer.write(b"last\n")

            activity.become_current()
            async for event in viewer.offer_events():
                async with viewer.continue_(event.offer) as continued, continued.streams() as (reader, writer):
                    writer.write(b"before\n")
                    echo = await reader.readline()
                    await asyncio.to_thread(move)
                    await viewer.ready()
                    writer.write(b"after\n")
                    echo += await reader.read()
                return echo, await heard
        raise AssertionError("no offer came")

    assert asyncio.run(asyncio.wait_for(story(), 60)) == (b"before\nlast\n", b"before\nafter\n")
