# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One agent per user: who has the place, who is refused, and how it changes hands (docs/agent.md)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from conftest import AGENT

IN_ORDER, FAILURE, USAGE, OCCUPIED = 0, 1, 2, 3


@pytest.fixture
def lock(control):
    """The file that the agent holds locked beside the runtime folder, where no sandbox can reach it."""
    control.parent.mkdir(mode=0o700)
    return control.parent / "lock"


def test_a_second_agent_says_who_has_the_place(agent, begin, lock):
    first = agent()
    second = begin()
    second.wait_for(rf"error: process {first.pid} \(segue-agent\) .*: it holds {lock}; --replace")
    assert second.wait() == OCCUPIED
    first.signal(signal.SIGTERM)
    assert first.wait() == IN_ORDER


@pytest.mark.parametrize("shared", ["runtime", "state"])
def test_one_folder_is_enough_to_be_the_same_user(agent, begin, tmp_path, shared):
    """Two agents with one inbox, or with the same apps, must not run, whatever their environments say."""
    first = agent()
    (other := tmp_path / "other").mkdir(mode=0o700)
    second = begin(**({"XDG_STATE_HOME": str(other)} if shared == "runtime" else {"SEGUE_RUNTIME_DIR": str(other)}))
    second.wait_for(rf"process {first.pid} ")
    assert second.wait() == OCCUPIED


def test_replace_asks_the_former_to_end(agent, start, lock):
    """An upgrade does this: the offers of apps stay, and the former has ended in order."""
    first = agent()
    editor, viewer = start("editor").ready(), start("viewer").ready()
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    second = agent("--replace")
    first.wait_for("ends: SIGTERM")
    assert first.wait() == IN_ORDER
    assert lock.read_text() == f"{second.pid}\n"
    for app in (editor, viewer):
        app.hears("connection ready")
    viewer.ask("list", "offers 1 one")
    assert not any("gone" in line for line in viewer.program.said)


def test_replace_without_a_former_just_starts(agent):
    agent("--replace")


def test_the_lock_of_an_agent_that_was_killed_is_free(agent):
    first = agent()
    first.signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    agent()


def test_replace_ends_nobody_whom_a_file_names(agent, begin, lock, state):
    """The number in the file is for people; the kernel says which process has the lock."""
    first = agent()
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        for file in (lock, state / "segue" / "lock"):
            file.write_text(f"{bystander.pid}\n")
        begin().wait_for(rf"error: process {first.pid} \(segue-agent\) .*: it holds {lock}")
        agent("--replace")
        first.wait_for("ends: SIGTERM")
        assert first.wait() == IN_ORDER
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("how", [os.link, os.rename])
@pytest.mark.parametrize("options", [[], ["--replace"]])
def test_a27_a_lock_in_the_runtime_folder_is_no_agents(agent, start, folder, how, options):
    """As a sandbox that shares the folder makes it of the lock of an app that carries the hub."""
    editor = start("editor").ready()
    (lock,) = folder.glob("hub.*.lock")
    how(lock, folder / "agent.lock")
    first = agent(*options)
    editor.ask("offer one", "offered")
    first.signal(signal.SIGTERM)
    assert first.wait() == IN_ORDER


def test_a27_a_process_with_half_of_the_lock_is_not_taken_for_the_agent(agent, begin, lock):
    """It took the record lock before the agent came."""
    script = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX)"
    script += "; print('locked', flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script, lock], stdin=pipe, stdout=pipe) as bystander:
        assert bystander.stdout.readline() == b"locked\n"
        first = agent()
        begin().wait_for(rf"error: process {first.pid} \(segue-agent\) .*: it holds {lock}")
        agent("--replace")
        assert first.wait() == IN_ORDER
        assert bystander.poll() is None


def test_replace_ends_an_agent_that_holds_the_first_lock_alone(agent, begin, state):
    """As one of e9be9f07 does of the state folder: the kernel's list of locks names it."""
    (state / "segue").mkdir(mode=0o700)
    lock = state / "segue" / "lock"
    script = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX)"
    script += "; print('locked', flush=True); sys.stdin.read()"
    arguments = [sys.executable, "-c", script, lock]
    former = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert former.stdout.readline() == b"locked\n"
        second = begin()
        second.wait_for(rf"error: process {former.pid} \(.*\) is the agent of this user: it holds {lock}")
        assert second.wait() == OCCUPIED
        agent("--replace")
        assert former.wait() == -signal.SIGTERM
    finally:
        former.kill()
        former.wait()
        former.stdin.close()
        former.stdout.close()


def test_a_lock_of_a_process_that_the_system_does_not_name_is_not_called_an_agents(begin, lock):
    """As flock(1) takes one for the shell that has called it: the process that took it has ended."""
    script = f"exec 9>'{lock}'; flock 9; echo locked; exec cat"
    holder = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"locked\n"
        second = begin("--replace")
        second.wait_for(rf"error: {lock}: is locked, and the system does not say by which process", patience=30)
        assert second.wait() == OCCUPIED and holder.poll() is None
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("which", ["state", "second socket"])
def test_nothing_is_made_in_a_folder_of_another_user(begin, tmp_path, which):
    """As with sudo -E: the user's own agent could not start again."""
    (home := tmp_path / "home").mkdir(mode=0o700)
    (runtime := home / "segue").mkdir(mode=0o700)
    os.chown(home, 65534, 65534)
    variables = {"XDG_STATE_HOME": str(home / "state")} if which == "state" else {"SEGUE_RUNTIME_DIR": str(runtime)}
    program = begin(**variables)
    what = "state folder" if which == "state" else "the agent's folder"
    program.wait_for(rf"error: {what} {home}/.*: is not made, because {home} belongs to another user \(65534\)")
    assert program.wait() == FAILURE
    assert [path.name for path in home.iterdir()] == ["segue"]


def test_a_stale_number_in_the_lock_names_nobody(begin, agent, lock):
    """The file outlives its agent; only the lock counts."""
    lock.write_text(f"{os.getpid()}\n")
    agent()
    assert int(lock.read_text()) != os.getpid()


@pytest.mark.parametrize("what", ["folder", "full folder", "link", "pipe"])
@pytest.mark.parametrize("where", ["second socket", "state"])
def test_what_is_in_the_way_of_a_lock_keeps_no_agent_out(agent, lock, state, where, what):
    if where == "state":
        (state / "segue").mkdir(mode=0o700)
        lock = state / "segue" / "lock"
    if what == "link":
        lock.symlink_to("missing")
    elif what == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    if what == "full folder":
        (lock / "kept").touch()
    agent()
    assert lock.is_file() and not lock.is_symlink()
    assert len(list(lock.parent.glob("lock.*/kept"))) == (1 if what == "full folder" else 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_what_another_user_has_put_in_the_way_is_named(begin, lock):
    lock.mkdir()
    os.chown(lock, 65534, 65534)
    program = begin()
    program.wait_for(rf"error: .*{lock}: Is a directory")
    assert program.wait() == FAILURE


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_state_folder_that_is_open_to_others_is_refused(begin, state, mode):
    state.chmod(0o755)
    (state / "segue").mkdir(mode=mode)
    (state / "segue").chmod(mode)
    program = begin()
    program.wait_for(rf"error: .*state folder {state}/segue: is open to other users \(mode must be 0700\)")
    assert program.wait() == FAILURE


def test_the_state_folder_is_made_with_its_parents(agent, state):
    agent(XDG_STATE_HOME=str(state / "new" / "home"))
    assert (state / "new" / "home" / "segue").stat().st_mode & 0o777 == 0o700


def test_without_a_home_there_is_no_state_folder(folder):
    done = subprocess.run([AGENT], env={"SEGUE_RUNTIME_DIR": str(folder)}, capture_output=True, text=True, timeout=30)
    assert done.returncode == FAILURE
    assert "state folder: neither SEGUE_STATE_DIR, XDG_STATE_HOME nor HOME says where it is" in done.stderr


def test_arguments():
    def say(*arguments: str):
        done = subprocess.run([AGENT, *arguments], capture_output=True, text=True, timeout=30)
        return done.returncode, done.stdout, done.stderr

    status, text, _ = say("--help")
    assert status == IN_ORDER and "3 another agent of this user runs" in text
    status, text, _ = say("--version")
    assert status == IN_ORDER and text.startswith("segue-agent ")
    status, _, problem = say("--replace", "--nonsense")
    assert status == USAGE and "--nonsense: no such option" in problem


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_output_that_cannot_be_written_is_a_failure(option):
    with open("/dev/full", "w") as full:
        done = subprocess.run([AGENT, option], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == FAILURE
    assert done.stderr == "segue-agent: standard output: No space left on device\n"
