# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package after a fork: as segue.h says (WHAT THE LIBRARY DOES TO YOUR PROCESS), it depends on an opened app."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import PATIENCE, Opener, environment

import segue

PARENT = """
import gc, os, sys, time, segue
{before}
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
{child}
"""
CHILD = """
handles = segue.live_handles()
activity = segue.Activity(None, "com.example.notes.editing")
del activity
gc.collect()
assert segue.live_handles() == handles
app = segue.App("com.example.notes")
app.open()
app.ready().wait(20)
delivered = 1
while delivered:
    began = time.monotonic()
    delivered = app.dispatch(0.2)
assert time.monotonic() - began >= 0.2
app.wake()
assert app.dispatch(20) == 0
activity = segue.Activity(app, "com.example.notes.editing")
activity.on_will_save(lambda: print("saved", flush=True))
activity.become_current()
sys.exit()  # the app is closed, which saves
"""


def ran(folder: str, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE * 2,
    )
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize(
    "before", ["", "app = segue.App('com.example.other')", "kept = segue.Activity(None, 'com.example.notes.editing')"]
)
def test_the_child_of_a_process_that_has_opened_no_app_can_have_one(folder: str, before: str) -> None:
    assert ran(folder, PARENT.format(before=before, child=CHILD)) == "saved\n"


def test_a_fork_of_such_a_child_that_has_one_is_told_so(folder: str) -> None:
    child = "app = segue.App('com.example.notes'); app.open(); app.ready().wait(20)\n"
    grandchild = "try:\n    app.dispatch(20)\nexcept segue.ForkedError:\n    print('told')"
    assert ran(folder, PARENT.format(before="", child=child + PARENT.format(before="", child=grandchild))) == "told\n"


def test_a_forked_child_neither_spins_nor_waits(opened: Opener) -> None:
    """Each call that would wait is refused, also while another thread of the parent had the turn."""
    app = opened()
    pending: segue.Pending[None] = segue.Pending(app)
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (app.dispatch, app.run, pending.wait, lambda: app.dispatch(0), app.close):
            try:
                call()
            except segue.ForkedError:
                refused += 1
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
