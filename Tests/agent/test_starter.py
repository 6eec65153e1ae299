# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue-continue: `segue continue --app` and `--launch` without Python, and the same words for what comes of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import segue
from conftest import CARRIES
from programs import Program, programs
from project import ROOT

STARTER = ROOT / "lib" / "segue-continue"
TYPE = "com.example.editing"
COMMAND = [sys.executable, "-m", "segue"]
VIEWER = ["continue", "--app", "com.example.viewer"]
RECORDER = 'printf "%s|" "$SEGUE_CONTINUED" "$@"'
"""A command that says with which words it was started, and after what."""


@pytest.fixture
def variables(folder: Path, state: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a test's user."""
    own = {"SEGUE_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(state), "XDG_DATA_HOME": str(tmp_path)}
    yield {name: value for name, value in os.environ.items() if name not in ("SEGUE_LOG", "SEGUE_LIBRARY")} | own
    shutil.rmtree(f"{folder}-agent", ignore_errors=True)


def ended(words: list[Any], variables: dict[str, str], **more: Any) -> tuple[int, str, str]:
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=60, **more)
    return done.returncode, done.stdout, done.stderr


def recorded(words: list[str], variables: dict[str, str], **more: Any) -> list[str]:
    """Starts it with a command that records. Returns what was done, and the words."""
    _, said, _ = ended([STARTER, "sh", "-c", RECORDER, "sh", "--", *words], variables, **more)
    return said.split("|")[:-1]


def test_an_app_continues_and_python_is_not_started(begin, start, variables):
    begin().wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    viewer = start("viewer").ready()
    for words in (VIEWER, ["continue", "--app=com.example.viewer"], ["continue", "--launch"]):
        status, said, told = ended([STARTER, "false", "--", *words], variables)
        assert (status, said) == (0, "com.example.viewer: restored\n")
        assert told.startswith(f"continuing {TYPE} from com.example.editor on ")
        viewer.hears("continue .*")


@pytest.mark.parametrize(
    "words",
    [
        ["continue"],
        ["continue", "--launch", "--json"],
        ["continue", "--app", ""],
        ["continue", "--app", "--launch"],
        ["continue", "--app", "com.example.viewer", "--wait", "0"],
        ["list"],
        [],
    ],
)
def test_other_words_are_left_to_the_command(variables, words):
    assert recorded(words, variables) == ["", *words]


@pytest.mark.parametrize("name", ["SEGUE_LOG", "SEGUE_LIBRARY"])
def test_a_log_and_another_library_are_left_to_the_command(begin, start, variables, name):
    begin().wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    viewer = start("viewer").ready()
    assert recorded(VIEWER, {**variables, name: "error"}) == ["", *VIEWER]
    assert recorded(VIEWER, variables, preexec_fn=lambda: os.close(0)) == ["", *VIEWER]
    # All that is offered is of this device.
    assert recorded(["continue", "--frontmost"], variables) == ["", "continue", "--frontmost"]
    assert not [each for each in viewer.events() if each.startswith("continue")]


def test_what_it_has_no_words_for_is_left_to_the_command_but_not_done_twice(begin, start, variables):
    begin().wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    nobody = ["continue", "--app", "com.example.nobody"]
    done, *words = recorded(nobody, variables)
    assert words == nobody and json.loads(done)["status"] == segue.errors.Status.NOT_FOUND
    viewer = start("viewer", "--later").ready()
    with programs() as run:
        recording = [STARTER, "sh", "-c", f"{RECORDER}; echo", "sh", "--", *VIEWER]
        environment = [f"{name}={value}" for name, value in variables.items()]
        asking = run("asking", ["env", "-i", *environment, *recording])
        viewer.hears("continue .*")
        viewer.tell("complete no")
        done, *words, _ = asking.wait_for(r"^\{.*").string.split("|")
        assert words == VIEWER and json.loads(done)["result"]["outcome"] == segue.Outcome.DECLINED
        assert asking.wait() == 0
    assert not [each for each in viewer.events() if each.startswith("continue")]


@contextlib.contextmanager
def offered_by(name: str, folder: Path) -> Iterator[None]:
    app = segue.App("com.example.odd", name=name, team="T", types=[TYPE], runtime_folder=folder, delivery="thread")
    with app:
        activity = segue.Activity(app, TYPE, title="odd")
        activity.become_current()
        yield


@pytest.mark.parametrize("name", ["Büro", "back\\slash", "a\u202eb", "long" * 20, "汉字" * 20])
def test_names_that_the_command_shows_in_its_own_way_are_left_to_it(begin, start, variables, folder, name):
    begin().wait_for(CARRIES)
    viewer = start("viewer").ready()
    with offered_by(name, folder):
        viewer.hears("appeared odd")
        assert recorded(VIEWER, variables) == ["", *VIEWER]
        first, second = (ended([*COMMAND, *VIEWER], {**variables, **more}) for more in ({}, {"SEGUE_CONTINUED": ""}))
        assert first == second and first[0] == 0, first


@pytest.mark.parametrize("case", ["restored", "declined", "nobody", "no agent"])
def test_the_command_says_the_same_with_and_without_it(begin, start, variables, case):
    if case != "no agent":
        begin().wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    viewer = start("viewer", *["--later"] * (case == "declined")).ready()
    words = ["continue", "--app", "com.example.nobody"] if case == "nobody" else VIEWER
    endings = []
    for more in ({}, {"SEGUE_CONTINUED": ""}):
        process = subprocess.Popen(
            [*COMMAND, *words], env={**variables, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if case == "declined":
            viewer.hears("continue .*")
            viewer.tell("complete no")
        said, told = process.communicate(timeout=60)
        endings.append((process.returncode, said, told.splitlines()[-1]))
    assert endings[0] == endings[1]
    assert endings[0][0] == (0 if case == "restored" else 1)
    assert told.startswith(f"continuing {TYPE} from com.example.editor on ") or case == "no agent"


def test_it_tells_of_an_agent_that_is_stopped(begin, start, variables):
    agent: Program = begin()
    agent.wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    viewer = start("viewer", "--later").ready()
    with programs() as run:
        words = [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in variables.items()),
            STARTER,
            "false",
            "--",
            *VIEWER,
        ]
        asking = run("asking", words)
        viewer.hears("continue .*")
        agent.stop()
        asking.wait_for(rf"^the agent, process {agent.pid}, is stopped .* kill -CONT {agent.pid}$")
        agent.signal(signal.SIGCONT)
        viewer.tell("complete yes")
        asking.wait_for("^com.example.viewer: restored$")
        assert asking.wait() == 0
