# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Push (R3.15): an app has its own activity continued by another app of the device, which need not run."""

from __future__ import annotations

import functools

import inbox
import pytest
from inbox import NAME


@pytest.fixture
def entries(folder):
    return functools.partial(inbox.waiting, folder)


def test_an_app_pushes_to_one_that_runs(agent, start):
    """It goes on while it is asked, so that will_save runs; the receipt says the end."""
    agent()
    editor, viewer = start("editor").ready(), start("viewer").ready()
    editor.tell("offer one")
    editor.ask("push com.example.viewer", "push OK")
    name = viewer.hears(rf"continue ({NAME}) \d+ one")[2]
    editor.hears(rf"ended {name} restored OK fresh ")


def test_an_app_that_does_not_run_gets_it_when_it_opens(begin, start, entries):
    """A push goes through the inbox, as a continuation by an app there does; the app that pushes may end."""
    first = begin()
    first.wait_for("this process is the hub")
    editor = start("editor").ready()
    viewer = start("viewer", "--unready").ready()
    editor.tell("offer one")
    editor.ask("push com.example.viewer", "push OK")
    while not entries():
        pass
    editor.kill()
    viewer.kill()
    first.kill()
    begin().wait_for("this process is the hub")
    start("viewer").hears(rf"continue {NAME} \d+ one( redelivered)?")
    while entries():
        pass


def test_what_cannot_be_pushed(agent, start):
    agent()
    editor = start("editor").ready()
    editor.tell("offer one")
    editor.ask("push com.example.viewer", "push NOT_FOUND")
    editor.tell("resign")
    editor.ask("push com.example.viewer", "push INVALID_STATE")


def test_without_an_agent_there_is_no_push(start):
    editor = start("editor").ready()
    editor.tell("offer one")
    editor.ask("push com.example.viewer", "push CONNECTION_UNAVAILABLE")
