# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions of the command to its user about the account: none about what could not be done, and in words that say
what to do next. With the agent that ships; without one: bindings/python/tests/test_questions.py."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import commands
import pytest
from commands import Said
from inbox import NO_AGENT
from programs import programs
from terminal import Terminal, terminals

NO_ACCOUNT = "this device is in no account: `segue account create NAME`, or `segue join LINK`"
SEGUE = f"{sys.executable} -m segue"
LINK = r"^(segue:join\?\S+)$"


@pytest.fixture
def run(folder: Path, control: Path, agent: Callable[..., Any]) -> Callable[..., Said]:
    """run("account", "create", "Home", status=0, answer="y\n"): the command, with an agent."""
    agent()
    return partial(commands.segue, folder)


@pytest.fixture
def shell(folder: Path, run: Callable[..., Said], tmp_path: Path) -> Iterator[Terminal]:
    with terminals(tmp_path, {"SEGUE_RUNTIME_DIR": str(folder)}) as opened:
        yield opened("shell")


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    path.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
    return path


def test_without_an_account_each_verb_says_what_makes_one(run, shell, tmp_path, pem):
    """And none asks before."""
    new = str(tmp_path / "new.pem")
    asking = (["invite"], ["revoke", "laptop"], ["rename", "a"], ["account", "recovery", new])
    for words in (*asking, ["account", "recover", str(pem)], ["offer", "a.b", "--to", "laptop"], ["devices"]):
        said = shell.runs(f"{SEGUE} {' '.join(words)} 2>&1", status=1)
        assert NO_ACCOUNT in said
        assert "passphrase" not in said and "[y/N]" not in said
    assert NO_ACCOUNT in shell.runs(f"{SEGUE} account", status=1)


def test_who_has_left_is_told_what_remains_and_leaves_again_in_vain(run):
    run("account", "create", "Home")
    run("account", "set", "--push", "never")
    said = run("account", "leave", "--yes")
    assert said.out == "left\n"
    assert "what was continued here stays" in said.err and NO_ACCOUNT in said.err
    assert json.loads(run("account", "--json", status=1).out)["settings"]["push"] == "never", "as it says"
    again = run("account", "leave")  # and no answer: nothing is asked
    assert (again.out, again.err) == (f"nothing to leave: {NO_ACCOUNT}\n", "")
    assert json.loads(run("account", "leave", "--json").out) == {"aside": None}


def test_what_cannot_be_done_is_not_asked_about(run, shell, tmp_path):
    link = "segue:join?v=1"
    run("account", "create", "Home", "--device", "desktop")
    assert "[y/N]" not in (said := shell.runs(f"{SEGUE} revoke desktop", status=1))
    assert "desktop is this device: `segue account leave` takes it out" in said
    said = shell.runs(f"{SEGUE} join -", status=1)
    assert "this device is in an account 'Home'; leave it first" in said and "paste" not in said
    said = shell.runs(f"{SEGUE} join '{link}'", status=1)
    assert "leave it first" in said
    (tmp_path / "letter").touch()
    said = shell.runs(f"{SEGUE} account recover {tmp_path}/letter", status=1)
    assert "is no file that `segue account recovery` has made" in said and "passphrase" not in said
    said = shell.runs(f"{SEGUE} account recovery {tmp_path}/none/key", status=1)
    assert "is no folder" in said and "passphrase" not in said


def test_what_is_pushed_to_this_device_is_refused_before_anything_is_read(run, shell):
    run("account", "create", "Home", "--device", "desktop")
    for words in ("send", "offer com.example.editing", "offer com.example.editing --user-info -"):
        said = shell.runs(f"{SEGUE} {words} --to desktop", status=1)
        assert "desktop is this device: --to names another one" in said
        assert "pushing" not in said and "reading" not in said


def test_a_link_is_asked_for_in_a_terminal_alone(run, shell):
    shell.type(f"{SEGUE} join -; echo status=$?")
    shell.shows("^paste the link that `segue invite` shows, and press Enter: *$")
    shell.keys("segue:nothing")
    shell.press("Enter")
    shell.shows("INVALID_URL")
    shell.shows("^status=1")
    shell.type(f"{SEGUE} join -")
    shell.shows("^paste the link")
    shell.press("C-c")
    shell.shows("^ready> *$")
    shell.runs("(exit $?)", status=130)
    assert "paste" not in run("join", "-", status=1, answer="segue:nothing\n").err
    assert "standard input has no link" in run("join", "-", status=1).err


def test_ctrl_c_at_the_passphrase_of_the_key_saves_nothing(run, shell, tmp_path):
    run("account", "create", "Home")
    shell.type(f"{SEGUE} account recovery {tmp_path}/key.pem")
    shell.shows("^passphrase: ")
    shell.keys("correct horse battery")
    shell.press("Enter")
    shell.shows("^once more: ")
    shell.press("C-c")
    shell.shows("^ready> *$")
    said = shell.screen()
    assert "Traceback" not in said and "horse" not in said
    shell.runs("(exit $?)", status=130)
    assert "shown again" in shell.runs("echo shown again")
    assert not (tmp_path / "key.pem").exists()


def test_an_invite_that_is_cancelled_ends_who_waits_for_its_device(run, folder):
    run("account", "create", "Home")
    with programs() as start:
        words = [
            "env",
            f"SEGUE_RUNTIME_DIR={folder}",
            sys.executable,
            "-m",
            "segue",
            "invite",
            "--address",
            "192.0.2.1",
        ]
        for what, said in (
            (["invite", "--cancel"], "the invite is void: it was cancelled, or its join has ended; make another one"),
            (["account", "leave", "--yes"], "this device is no longer in the account: that invite is void"),
        ):
            inviting = start("invite", words)
            inviting.wait_for(LINK)
            run(*what)
            inviting.wait_for(said)
            assert inviting.wait() == 1


def test_an_automatic_invite_says_that_nobody_is_asked(run):
    run("account", "create", "Home")
    said = run("invite", "--automatic", "--no-wait", "--address", "192.0.2.1")
    assert "admitted without asking: there are no digits to compare here" in said.err
    assert said.out.startswith("segue:join?") and said.out.count("\n") == 1
    assert "digits" not in run("invite", "--no-wait", "--address", "192.0.2.1").err


def test_without_an_agent_each_verb_says_how_to_start_one(folder, tmp_path, pem):
    (tmp_path / "file").touch()
    for words in (
        ["account"],
        ["account", "leave", "--yes"],
        ["account", "recover", str(pem)],
        ["account", "recovery", str(tmp_path / "key")],
        ["apps"],
        ["choose", "a.b"],
        ["devices"],
        ["inbox"],
        ["inbox", "--watch"],
        ["invite"],
        ["join", "segue:join?"],
        ["offer", "a.b", "--keep"],
        ["offer", "a.b", "--to", "laptop"],
        ["rename", "a"],
        ["revoke", "a"],
        ["search", "a"],
        ["send", str(tmp_path / "file"), "--to", "laptop"],
        ["withdraw", "aa"],
    ):
        assert commands.segue(folder, *words, status=1).err == f"segue: CONNECTION_UNAVAILABLE: {NO_AGENT}\n", words


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_at_the_passphrase_leaves_a_terminal_that_shows_what_is_typed(run, shell, tmp_path, number):
    run("account", "create", "Home")
    # A shell that does not mend the terminal itself.
    asking, around = tmp_path / "asking", tmp_path / "around"
    asking.write_text(f"echo process=$$; exec {SEGUE} account recovery {tmp_path}/key.pem\n")
    around.write_text(f"sh {asking}; echo status=$?; stty -a\n")
    shell.type(f"sh {around}")
    process = int(shell.shows(r"^process=(\d+)$")[1])
    shell.shows("^passphrase: ")
    os.kill(process, number)
    assert int(shell.shows(r"^status=(\d+)$")[1]) == 128 + number
    assert shell.shows(r"(?s)iexten\s+(-?echo)\s")[1] == "echo"
    assert not (tmp_path / "key.pem").exists()
