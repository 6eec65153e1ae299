# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A virtual screen, and the notification server dunst in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from desk import Desk, until
from programs import Program


def begin_screen(start: Callable[..., Program], size: str = "800x600x24") -> str:
    """Starts a virtual screen, and returns its name."""
    reading, writing = os.pipe()
    # Else it begins anew when its last client goes, and refuses those that come meanwhile.
    words = ["Xvfb", "-displayfd", str(writing), "-screen", "0", size, "-nolisten", "tcp", "-noreset"]
    start("Xvfb", words, pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as number:
        return f":{number.readline().strip()}"


class Screen:
    """A screen and a bus for programs with windows; no agent need run."""

    def __init__(self, folder: Path, start: Callable[..., Program], desk: Desk | None = None):
        """
        desk: has a screen and a bus already
        """
        self.folder, self.start_program = folder, start
        self.variables = {"GDK_BACKEND": "x11"}
        if desk is not None:
            self.variables |= {name: desk.variables[name] for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS")}
            return
        self.variables["DISPLAY"] = begin_screen(start)
        words = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"]
        bus = start("bus", [*words, f"--address=unix:path={folder}/screen-bus"])
        self.variables["DBUS_SESSION_BUS_ADDRESS"] = bus.wait_for("^unix:.*$")[0]

    def start(
        self, name: str, command: list[str | Path], listener: Callable[[str], None] | None = None, **environment: str
    ) -> Program:
        changed = [f"{name}={value}" for name, value in {**self.variables, **environment}.items()]
        return self.start_program(name, ["env", "-u", "WAYLAND_DISPLAY", *changed, *command], listener=listener)

    def run(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, **self.variables, **environment}
        return subprocess.run(words, env=variables, capture_output=True, text=True, timeout=20)

    def xdotool(self, *words: str) -> str:
        return self.run("xdotool", *words).stdout.strip()


class Dunst:
    """dunst in a virtual screen, asked by dunstctl."""

    def __init__(self, desk: Desk, size: str = "800x600x24"):
        self.desk = desk
        desk.variables["DISPLAY"] = begin_screen(desk.start, size)
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
