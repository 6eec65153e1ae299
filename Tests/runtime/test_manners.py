# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The effects of the library on a process: threads and descriptors as promised, none on signals and output."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest


def run(built: Path, folder: Path, program: str, *arguments: str, under: tuple[str, ...] = ()) -> str:
    """A program that checks itself: what it says, which is nothing but its own words."""
    done = subprocess.run(
        [*under, built / program, *arguments],
        env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder), "SEGUE_LOG": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_signals_environment_and_output_are_the_hosts(built, folder):
    """Dispositions, masks, environment and locale before and after; no output; threads with all signals blocked."""
    assert run(built, folder, "manners", "quiet") == ""


def test_a_broken_connection_raises_no_sigpipe(built, folder):
    """The default of SIGPIPE is death; the hub closes on the app's words, over and over."""
    assert run(built, folder, "manners", "pipe") == "alive\n"


@pytest.mark.parametrize(("delivery", "times"), [("host", "1000"), ("thread", "200")])
def test_opening_and_closing_over_and_over_leaves_nothing(built, folder, delivery, times):
    """No descriptor, thread or handle; a few milliseconds each, which is what the kernel takes to end an inotify."""
    assert run(built, folder, "manners", "reopen", delivery, times) == times + "\n"


def test_the_log_has_nothing_of_a_state_and_the_folder_nothing_at_all(start, folder):
    """SECURITY.md, "What it leaves behind": of everything that a life with failures makes the library log."""
    hub, viewer = start("hub", SEGUE_LOG="debug").ready(), start("viewer", SEGUE_LOG="debug").ready()
    hub.tell("offer SECRET-title", "payload 5000", "keep SECRET-kept")
    viewer.hears(".*SECRET-title")
    for answer in ("yes", "no"):
        viewer.tell(f"on_continue {answer}", "continue SECRET-title")
        hub.hears("ended .*")
    hub.tell("invalidate", "title SECRET-late")
    viewer.hears("gone SECRET-title")
    files = list(folder.iterdir())
    assert sorted(path.name for path in files) == ["hub.1", "hub.1.lock"]
    assert all(path.is_socket() or path.stat().st_size == 0 for path in files)
    hub.kill()
    viewer.hears("connection ready")
    logged = [line for app in (hub, viewer) for line in app.program.said if line.startswith("segue: ")]
    assert any("debug" in line for line in logged)
    assert not [line for line in logged if "SECRET" in line]
    viewer.end()
    assert list(folder.iterdir()) == []


def switches(pid: int) -> int:
    """Context switches of all threads of a process so far."""
    count = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        count += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", (task / "status").read_text())))
    return count


def test_an_idle_device_sleeps(start):
    """Hub, two apps and three offers: once all has settled, ten seconds without a single context switch."""
    apps = [start(name, *options).ready() for name, options in (("hub", ()), ("a", ()), ("b", ("--thread",)))]
    for number, app in enumerate(apps):
        app.tell(f"offer {number}")
    for number, app in enumerate(apps):
        for other in {0, 1, 2} - {number}:
            if not any(line.endswith(f"appeared {other}") for line in app.program.said):
                app.hears(f"appeared {other}")
        app.hears("will_save")  # the last that a clock brings about: 2 s after the change
    settled = [switches(app.pid) for app in apps]
    deadline = time.monotonic() + 30
    while True:  # what the saving brought about is over when nobody has moved for a while, also on a busy machine
        time.sleep(3)
        now = [switches(app.pid) for app in apps]
        if now == settled:
            break
        settled = now
        assert time.monotonic() < deadline, "it does not settle"
    time.sleep(10)  # the silence is what is tried
    assert [switches(app.pid) for app in apps] == settled
