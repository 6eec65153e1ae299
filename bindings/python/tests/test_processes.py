# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two real processes, and the command line."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Callable

import pytest
from conftest import PATIENCE, TYPE, environment

import segue

EDITOR = """
import asyncio, sys, segue

async def main():
    async with segue.App("com.example.notes", name="Notes") as app:
        activity = segue.Activity(app, "com.example.notes.editing", title="Shopping list", user_info={"line": 12})
        @activity.on_will_save
        def save():
            activity.user_info["line"] = 13
        ended = asyncio.Event()
        @activity.on_continuation_ended
        def receipt(receipt):
            print(receipt.outcome.name, receipt.app_name, receipt.reason, flush=True)
            ended.set()
        activity.become_current()
        await app.ready()
        print("offering", activity.id, flush=True)
        await ended.wait()

asyncio.run(main())
"""

VIEWER = """
import segue

class Viewer(segue.App):
    def on_continue(self, activity, continuation):
        print(activity.title, activity.user_info["line"], activity.continued_from.app_name, flush=True)
        self.stop()

with Viewer("com.example.viewer", name="Viewer", team="com.example.notes", types=["com.example.notes.editing"]) as app:
    @app.on_offer
    def offered(kind, offer):
        if kind == segue.OfferEventKind.APPEARED:
            app.continue_(offer)
    app.run()
"""

Program = subprocess.Popen[str]
Start = Callable[..., Program]


@pytest.fixture
def start(folder: str) -> Iterator[Start]:
    """Starts Python with some arguments; at the end of the test it is gone."""
    with ExitStack() as stack:

        def start(*arguments: str) -> Program:
            pipe = subprocess.PIPE
            command = [sys.executable, "-W", "error", *arguments]
            program = subprocess.Popen(
                command, env=environment(folder), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
            )
            late = threading.Timer(PATIENCE, program.kill)
            late.start()
            stack.callback(late.join)
            stack.callback(late.cancel)
            stack.enter_context(program)
            stack.callback(program.kill)
            return program

        yield start


def line(program: Program) -> str:
    """The next line that a program prints."""
    assert program.stdout is not None
    return program.stdout.readline().rstrip("\n")


def finished(program: Program) -> tuple[int, str, str]:
    """Its exit status, and what else it prints: little enough for a pipe."""
    assert program.stdout is not None
    assert program.stderr is not None
    output, errors = program.stdout.read(), program.stderr.read()
    return program.wait(), output, errors


def test_one_process_continues_what_another_does(start: Start) -> None:
    editor = start("-c", EDITOR)
    assert line(editor).startswith("offering ")
    assert finished(start("-c", VIEWER)) == (0, "Shopping list 13 Notes\n", "")
    assert finished(editor) == (0, "RESTORED Viewer \n", "")


def test_a_process_that_ends_withdraws_what_it_offers(start: Start) -> None:
    """R1.11; the interpreter's end closes apps that are open."""
    editor = start(
        "-c",
        f"""
import segue, sys
app = segue.App("com.example.notes")
app.open()
activity = segue.Activity(app, {TYPE!r})
activity.on_will_save(lambda: print("saved", flush=True))
activity.become_current()
app.ready().wait()
print("offering", flush=True)
input()
""",
    )
    assert line(editor) == "offering"
    returncode, output, errors = finished(editor)
    assert output == "saved\n"
    assert "EOFError" in errors
    assert returncode == 1


def test_the_interpreter_ends_well_whatever_is_open(start: Start) -> None:
    """No callback of a library thread reaches an interpreter that is being taken down."""
    code = f"""
import atexit, segue, threading
apps = [segue.App("com.example.notes", types=[{TYPE!r}], delivery=delivery) for delivery in ("host", "thread") * 4]
for app in apps:
    app.open()
    activity = segue.Activity(app, {TYPE!r})
    activity.on_will_save(lambda: None)
    activity.become_current()
for app in apps:
    app.ready().wait()
holder = [apps, activity, apps[0].offers]
holder.append(holder)
"""
    assert finished(start("-c", code)) == (0, "", "")


def test_the_commands_show_what_is_offered(start: Start) -> None:
    editor = start("-c", EDITOR)
    id = line(editor).split()[1]

    status, output, errors = finished(start("-m", "segue", "list"))
    assert (status, errors) == (0, "")
    head, row = output.splitlines()
    assert head.split() == ["ID", "TYPE", "TITLE", "APP", "DEVICE", "AGE"]
    assert row.startswith(f"{id[:8]}  {TYPE}  'Shopping list'  Notes")

    status, output, _ = finished(start("-m", "segue", "describe"))
    assert status == 0
    assert TYPE in output
    assert segue.library_version in output

    watching = start("-m", "segue", "watch")
    appeared = line(watching)
    assert "appeared" in appeared
    assert TYPE in appeared

    status, output, errors = finished(start("-m", "segue", "continue", "--type", TYPE, "--id", id[:8], "--document"))
    assert status == 0, errors
    assert output.splitlines()[:3] == [f"type: {TYPE}", "title: Shopping list", 'user_info: {"line": 13}']
    assert "document: " in output
    assert finished(editor) == (0, "RESTORED segue command line \n", "")

    told = line(watching)
    while "changed" in told:
        told = line(watching)
    assert "gone" in told
    watching.send_signal(signal.SIGINT)
    assert finished(watching)[0] == -signal.SIGINT


def test_the_commands_say_what_is_wrong(start: Start, folder: str) -> None:
    status, output, errors = finished(start("-m", "segue", "continue", "--wait", "0.1"))
    assert (status, output) == (3, "")
    assert "nothing came in time" in errors
    status, _, errors = finished(start("-m", "segue", "list"))
    assert (status, errors) == (0, "nothing is offered\n")
    assert finished(start("-m", "segue"))[0] == 2
    status, output, _ = finished(start("-m", "segue", "--version"))
    assert (status, output) == (0, f"segue {segue.__version__}, library {segue.library_version}\n")


def test_the_library_is_found_or_the_error_says_where_it_was_sought(start: Start, folder: str) -> None:
    program = "import os; os.environ['SEGUE_LIBRARY'] = '/nowhere/libsegue.so.0'; import segue"
    status, _, errors = finished(start("-c", program))
    assert status == 1
    assert "LibraryError: cannot load libsegue.so.0 (looked in SEGUE_LIBRARY)" in errors
    program = "import os; os.environ['SEGUE_LIBRARY'] = 'libc.so.6'; import segue"
    status, _, errors = finished(start("-c", program))
    assert "LibraryError: cannot load libsegue.so.0 (looked in SEGUE_LIBRARY): libc.so.6 has no segue_version" in errors


def test_the_command_line_says_in_one_line_that_the_library_cannot_be_loaded(folder: str) -> None:
    named = {**environment(folder), "SEGUE_LIBRARY": "/nowhere/libsegue.so.0"}
    said = subprocess.run([sys.executable, "-m", "segue", "doctor"], env=named, capture_output=True, text=True)
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (1, "", 1)
    assert "cannot load libsegue.so.0 (looked in SEGUE_LIBRARY): /nowhere/libsegue.so.0: cannot open" in said.stderr
    assert "unset SEGUE_LIBRARY, or set it to a path of libsegue.so.0" in said.stderr


def test_log_lines_become_records(start: Start) -> None:
    """At the level that the logger has when an app is made."""
    program = """
import logging, segue
logging.basicConfig(level=logging.DEBUG, format="%(name)s %(levelname)s")
with segue.App("com.example.notes") as app:
    app.ready().wait()
"""
    status, _, errors = finished(start("-c", program))
    assert status == 0
    assert "segue " in errors


def test_an_idle_app_costs_nothing(start: Start, folder: str) -> None:
    """No polling: the process time of a second of waiting is that of one call."""
    with segue.App("com.example.notes", runtime_folder=folder) as app:
        app.ready().wait(PATIENCE)
        while app.dispatch(0.05):
            pass
        before = time.process_time()
        app.dispatch(1)
        assert time.process_time() - before < 0.05
