# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An origin whose payload has a version."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from programs import Program, programs
from project import ROOT

SCRIPT = """
import asyncio
import json
import sys

import segue


async def main(type, version, info):
    async with segue.App("com.example.origin", team="T") as app:
        info = json.loads(info)
        activity = segue.Activity(app, type, title="Versioned", user_info={**info, "url": segue.URL(info["url"])})
        activity.payload_version = int(version)
        activity.on_continuation_ended(lambda receipt: print("ended", receipt.outcome.name, flush=True))
        activity.become_current()
        await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
"""


@contextlib.contextmanager
def versioned(folder: Path, type: str, version: int, **info: object) -> Iterator[Program]:
    """The program says "ended" and the outcome of each continuation. The title is Versioned."""
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        yield run("origin", [ROOT / ".venv/bin/python", "-c", SCRIPT, type, str(version), json.dumps(info)])
