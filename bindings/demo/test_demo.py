# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the demo as it is meant and broken in each way: the last line and the exit status have to say how it ended."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parent / "run"
CONTINUED = r"demo: from C \(pid \d+\) to Python \(pid \d+\): "
OTHERS = (
    "; back in C: restored; in an app that did not run, though all were killed: restored; in C, from an app that had"
    " ended: restored; in a folder that lies elsewhere: the same line"
)


def ends(breaking: str, status: int, outcome: str) -> float:
    """Checks how it ends; returns the milliseconds it took until then."""
    done = subprocess.run(
        [DEMO], env={**os.environ, "DEMO_BREAK": breaking}, capture_output=True, text=True, timeout=120
    )
    last = done.stdout.rstrip("\n").rpartition("\n")[2]
    others = "" if breaking else OTHERS
    ended = re.fullmatch(rf"{CONTINUED}{outcome} in ([\d.]+) ms{others}", last)
    assert ended, done.stdout + done.stderr
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stderr == ""
    if not breaking:
        check_waiting(done.stdout)
        assert re.search(r"laptop +\| /.*/sync/letter\.txt, line 6: .*the train at nine", done.stdout)
    return float(ended[1])


def check_waiting(said: str) -> None:
    """R3.8, R2.5: started, killed, shown once more; and what the reader left was continued when it had ended."""
    started, again = re.findall(r"^  reader in Python \| process (\d+)$", said, re.MULTILINE)
    assert started != again
    assert f"  kill -9 {started}\n" in said
    shown = said.partition("| shall I show once more")[2]
    assert "> 6: About your visit: the train at nine" in shown
    assert "| nothing waits\n" in shown
    assert "viewer in C      | > 6: About your visit: the train at nine" in shown.partition("| closed\n")[2]


def test_all_is_well():
    ends("", 0, "restored")


def test_the_origin_is_killed_and_the_receiver_knows_within_two_seconds():
    """R3.2, R3.14"""
    assert ends("kill", 1, r"failed \(CONNECTION_UNAVAILABLE\)") < 2000


def test_the_receiver_declines_with_a_reason():
    """R3.7"""
    ends("decline", 1, r"declined \(no window is free\)")


def test_the_payload_is_too_new_for_the_receiver():
    """R1.9, R3.7"""
    ends("old-version", 1, r"declined \(payload version 2, this viewer reads up to 1\)")


def test_two_machines_of_one_account():
    """R10.4, R10.5, R10.6: joined by digits, linked, continued across, and one of them revoked."""
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be made here")
    done = subprocess.run([DEMO.with_name("devices")], capture_output=True, text=True, timeout=120)
    last = done.stdout.rstrip("\n").rpartition("\n")[2]
    ended = r"demo: joined by eight digits, continued on the laptop in \d+ ms, and put it out in \d+ ms"
    assert re.fullmatch(ended, last), done.stdout + done.stderr
    assert (done.returncode, done.stderr) == (0, "")


def test_two_machines_without_a_route_to_each_other():
    """R14.3, R14.4, R14.5: a third machine passes bytes on, by its agent and by ssh, and keeps an offer."""
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be made here")
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("openssh-server is not installed")
    done = subprocess.run([DEMO.with_name("reach")], capture_output=True, text=True, timeout=120)
    last = done.stdout.rstrip("\n").rpartition("\n")[2]
    ended = r"demo: continued through relay in \d+ ms, ssh in \d+ ms, after \d+ ms of sleep from the mailbox"
    assert re.fullmatch(ended, last), done.stdout + done.stderr
    assert (done.returncode, done.stderr) == (0, "")
