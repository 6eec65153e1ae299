# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A virtual screen, and the notification server dunst in it."""

from __future__ import annotations

import json
import os
import subprocess

from desk import Desk, until


def show(desk: Desk, size: str = "800x600x24") -> None:
    """Gives the desk a screen, which the programs that start from then on use."""
    reading, writing = os.pipe()
    words = ["Xvfb", "-displayfd", str(writing), "-screen", "0", size, "-nolisten", "tcp"]
    desk.start("Xvfb", words, pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as number:
        desk.variables["DISPLAY"] = f":{number.readline().strip()}"


class Dunst:
    """dunst in a virtual screen, asked by dunstctl."""

    def __init__(self, desk: Desk):
        self.desk = desk
        show(desk)
        file = desk.folder / "dunstrc"
        file.write_text("[global]\nnotification_limit = 0\nenable_recursive_icon_lookup = false\n")
        self.program = desk.start("dunst", ["dunst", "-conf", file])
        until(lambda: self.tried("is-paused").returncode == 0)

    def tried(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self.desk.variables}
        return subprocess.run(["dunstctl", *words], env=environment, capture_output=True, text=True, timeout=20)

    def ctl(self, *words: str) -> str:
        done = self.tried(*words)
        assert done.returncode == 0, done
        return done.stdout

    def shown(self) -> int:
        """Counts the notifications on the screen."""
        return int(self.ctl("count", "displayed"))

    def history(self) -> list[dict]:
        entries = json.loads(self.ctl("history"))["data"][0]
        return [{key: value["data"] for key, value in entry.items()} for entry in entries]
