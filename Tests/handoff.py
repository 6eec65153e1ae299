# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The smallest use of all, for machines on which Segue is new."""

# Both apps are Python's; what is continued goes through the library and the hub. Prints 12, the path of the library and
# the name of the processor.
HANDOFF = """
import asyncio, platform, segue

async def main():
    origin, receiver = segue.App("com.example.a", team="T"), segue.App("com.example.b", team="T", types=["t"])
    async with origin, receiver:
        activity = segue.Activity(origin, "t", title="Shopping list", user_info={"line": 12})
        activity.become_current()
        async for event in receiver.offer_events():
            line = (await receiver.continue_(event.offer)).user_info["line"]
            print(line, segue.library_path, platform.machine())
            return

asyncio.run(asyncio.wait_for(main(), 120))
"""
