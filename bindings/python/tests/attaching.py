# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for tests of attachments: programs at both ends, two apps of this process, ways to see what is left."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import PATIENCE, TYPE, Opener, continued_by, run_until

import segue

ORIGIN = """
import os, sys, segue

with segue.App("com.example.notes", types=["com.example.notes.editing"]) as app:
    activity = segue.Activity(app, "com.example.notes.editing", title="Draft")
    for name in sys.argv[1:]:
        activity.attach(os.path.basename(name), name)
    activity.become_current()
    print("offering", flush=True)
    app.run()
"""

RECEIVER = """
import os, resource, sys, segue

with segue.App("com.example.viewer", team="com.example.notes", types=["com.example.notes.editing"]) as app:
    while not app.offers:
        app.dispatch()
    activity = app.continue_(app.offers[0]).wait()
    {before}
    try:
        activity.fetch_attachment("large", sys.argv[1], progress={progress}).wait()
    except segue.Error as error:
        print(type(error).__name__, error, flush=True)
"""

LARGE = 64 << 20
"""Bytes that surely are under way for a while."""


def left(target: Path) -> list[str]:
    return os.listdir(target.parent)


def continued(app: segue.App) -> segue.Activity:
    run_until([app], lambda: app.offers)
    return app.continue_(app.offers[0]).wait(PATIENCE)


class Both:
    """Two apps of this process, one of which has continued what the other offers."""

    def __init__(self, opened: Opener, attach: Callable[[segue.Activity], None]):
        self.editor = opened()
        self.viewer = opened("com.example.viewer", team="com.example.notes")
        self.apps = [self.editor, self.viewer]
        self.activity = segue.Activity(self.editor, TYPE)
        attach(self.activity)
        self.activity.become_current()
        self.continued = continued_by(self.viewer, self.editor)

    def fetch(self, name: str, to: Any, **options: Any) -> Any:
        return self.continued.fetch_attachment(name, to, **options)

    def result(self, fetching: Any) -> None:
        run_until(self.apps, lambda: fetching.done)
        fetching.wait(0)


def sockets() -> dict[str, int]:
    """The sockets that this process has open, each with a descriptor of it: one that was handed over has two for a
    moment."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if (it := os.readlink(f"/proc/self/fd/{name}")).startswith("socket:"):
                found[it] = int(name)
    return found


def cut(before: set[str]) -> int:
    """Ends the streams that have been made since, at both ends, as a link that breaks would."""
    number = 0
    for fd in (fd for it, fd in sockets().items() if it not in before):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as one:
            one.shutdown(socket.SHUT_RDWR)
            number += 1
    return number
