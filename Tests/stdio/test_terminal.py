# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shells that take part (`segue shell-init`, `handoff`): real ones, in a real tmux."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from host import PATIENCE, PROGRAM, Host
from public_types import problems
from shells import COMMAND, SHELLS, STARTS, TYPE, variables
from terminal import COLUMNS
from test_session import offer

Start = Callable[..., Host]


def receiver(start: Start) -> Host:
    host = start()
    host.call("open", protocol=1, bundleIdentifier="com.example.dock", name="dock", types=[], chooser=True)
    return host


def info_of(host: Host, title: str) -> dict:
    host.call("offers/continue", offer=host.offer_of(title)["offer"])
    request = host.hear_message("continuation/continue")
    host.respond(request, {"handled": True})
    info: dict = request["params"]["userInfo"]
    assert problems(TYPE, info) == {}
    return info


def programs_of(folder: Path) -> list[int]:
    """The processes of the program that shells have started in this runtime folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            is_one = Path(path.parent, "exe").resolve() == PROGRAM and str(folder).encode() in path.read_bytes()
        except OSError:
            continue
        found += [int(path.parent.name)] if is_one else []
    return found


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_offers_its_folder_and_its_session(start: Start, shell, tmp_path: Path, name: str) -> None:
    place = tmp_path / "a \"b\" $(id) 'ü' \\n%"
    place.mkdir()
    terminal, host = shell(name, SEGUE_SSH_HOST="laptop"), receiver(start)
    # Shells quote differently.
    (tmp_path / "link").symlink_to(place)
    terminal.type(f"cd {tmp_path}/link; cd (pwd -P)" if name == "fish" else f"cd -P {tmp_path}/link")
    info = info_of(host, place.name)
    assert info["url"] == place.as_uri()
    assert (info["multiplexer"], info["session"], info["host"]) == ("tmux", f"session-{name}", "laptop")


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_follows_and_its_end_withdraws(start: Start, shell, folder: Path, tmp_path: Path, name: str) -> None:
    """A program that the shell has started, and that goes on, does not keep the offer."""
    for each in ("one", "two"):
        (tmp_path / each).mkdir()
    terminal, host = shell(name), receiver(start)
    terminal.type(f"cd {tmp_path}/one")
    host.offer_of("one")
    terminal.press("C-c")  # at the prompt, it is not for the program
    terminal.type("sleep 1000 &")
    terminal.type(f"cd {tmp_path}/two")
    info = info_of(host, "two")
    assert "host" not in info
    shells = [path.parent for path in Path("/proc").glob("[0-9]*/comm") if is_shell(path, name, folder)]
    os.kill(int(shells[0].name), 9)
    while any(each["title"] == "two" for each in host.hear("offers/changed")["offers"]):
        pass


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_shell(path: Path, name: str, folder: Path) -> bool:
    try:
        return path.read_text().strip() == name and str(folder).encode() in Path(path.parent, "environ").read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize("name", SHELLS)
def test_the_death_of_the_program_does_not_harm_the_shell(start: Start, shell, folder, name: str) -> None:
    terminal, host = shell(name), receiver(start)
    while not host.hear("offers/changed")["offers"]:
        pass
    (program,) = [each for each in programs_of(folder) if each != host.process.pid]
    os.kill(program, 9)
    terminal.type("cd /")
    terminal.type("echo al''ive")
    terminal.shows("^alive")


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_that_runs_one_command_starts_no_program(folder: Path, tmp_path: Path, name: str) -> None:
    """Editors run such a shell to learn its variables. It has `handoff` all the same."""
    program, init, _ = STARTS[name]
    own = "$fish_pid" if name == "fish" else "$$"
    children = f"/proc/{own}/task/{own}/children"
    line = f'{init.format(shlex.join(COMMAND))}; read -l c <{children}; type handoff >/dev/null && echo "[$c]"'
    line = line if name == "fish" else line.replace("read -l", "read -r")
    words = [*program.split(), "-i", "-c", line]
    environment = variables(folder, tmp_path)
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_in_the_place_of_another_one_ends_its_program(start: Start, shell, tmp_path: Path, name: str) -> None:
    """A program that the former one has started holds its pipe."""
    program, init, prompt = STARTS[name]
    (tmp_path / "second").mkdir()
    terminal, host = shell(name), receiver(start)
    while not host.hear("offers/changed")["offers"]:
        pass
    for line in ("sleep 100 &", f"exec {program}", prompt, init.format(shlex.join(COMMAND)), f"cd {tmp_path}/second"):
        terminal.type(line)
    while [each["title"] for each in host.hear("offers/changed")["offers"]] != ["second"]:
        pass


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_that_ends_before_its_program_has_begun_leaves_none(shell, tmp_path: Path, name: str) -> None:
    """A death of the parent is told to those alone that have asked before."""
    slow, said = tmp_path / "bin" / "setpriv", tmp_path / "processes"
    slow.parent.mkdir()
    waits = 'while grep -q "^PPid:.$PPID$" /proc/$$/status; do sleep 0.02; done'
    tells = f"echo $$ $PPID >{said}.new && mv {said}.new {said}"
    slow.write_text(f'#!/bin/sh\n{tells}\n{waits}\nexec /usr/bin/setpriv "$@"\n')
    slow.chmod(0o755)
    terminal = shell(name)
    until(said.exists)
    terminal.type("sleep 100 &")
    terminal.shows("sleep 100 &")
    program, parent = said.read_text().split()
    os.kill(int(parent), 9)
    until(lambda: not Path("/proc", program).exists())


@pytest.mark.parametrize("name", SHELLS)
def test_handoff_goes_into_the_folder_of_another_shell(start: Start, shell, tmp_path: Path, name: str) -> None:
    place = tmp_path / "a 'b' ü"
    place.mkdir()
    terminal, host = shell(name), start()
    host.open("origin", save=False)
    offer(host, TYPE, "theirs", userInfo={"url": place.as_uri()})
    terminal.type("handoff")
    assert host.hear("activity/ended")["outcome"] == "restored"
    terminal.type("pwd")
    terminal.shows(f"^{place}$")


@pytest.mark.parametrize("name", SHELLS)
def test_handoff_leaves_out_the_terminal_it_is_typed_in(start: Start, shell, tmp_path: Path, name: str) -> None:
    """R13.6: that one is frontmost; the label of its shell says which terminal and process it is."""
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    host = start()
    host.open("origin", save=False)
    offer(host, TYPE, "theirs", userInfo={"url": (tmp_path / "there").as_uri()})
    terminal, chooser = shell(name), receiver(start)
    terminal.type(f"cd {tmp_path}/here")
    label = chooser.offer_of("here")["label"]
    terminal.type(f"tty; echo {'$fish_pid' if name == 'fish' else '$$'}")
    place, process = label.split(", process ")
    terminal.shows(f"^/dev/{place} *$")
    terminal.shows(f"^{process} *$")
    # One that it has started is in the same terminal.
    program, init, prompt = STARTS[name]
    for line in (program, prompt, init.format(shlex.join(COMMAND)), f"cd {tmp_path}/here"):
        terminal.type(line)
    while len([each for each in chooser.hear("offers/changed")["offers"] if each["title"] == "here"]) < 2:
        pass
    terminal.type("handoff --wait 0")
    assert host.hear("activity/ended")["outcome"] == "restored"
    host.call("activity/invalidate", activity="a")
    while any(each["app"] == "origin" for each in chooser.hear("offers/changed")["offers"]):
        pass
    terminal.type("handoff --wait 0")
    terminal.shows("no shell of another terminal is offered")


def test_a_shell_of_this_machine_is_not_reached_by_ssh(start: Start, shell, tmp_path: Path) -> None:
    """It says by which name others reach it, as each shell of this machine does (R13.2)."""
    terminal, host = shell("bash", SEGUE_SSH_HOST="laptop"), start()
    host.open("origin", save=False)
    own = {"host": "laptop", "multiplexer": "tmux", "session": "session-bash"}
    offer(host, TYPE, "theirs", userInfo={"url": tmp_path.as_uri(), **own})
    terminal.type("handoff; pwd")
    terminal.shows(f"^{tmp_path}$")


def test_inside_of_tmux_a_session_is_switched_to_and_its_own_has_a_folder(start: Start, shell, tmp_path: Path) -> None:
    """tmux refuses to attach inside of a session."""
    terminal, host = shell("bash"), start()
    host.open("origin", save=False)
    offer(host, TYPE, "theirs", userInfo={"url": "file:///", "multiplexer": "tmux", "session": "work"})
    terminal.type("handoff")
    terminal.shows("^to go there: tmux switch-client -t '=work:'$")
    terminal.shows(r"^Run it here\? \[y/N\] $")
    terminal.keys("n")
    terminal.press("Enter")
    assert host.hear("activity/ended")["outcome"] == "restored"
    own = {"multiplexer": "tmux", "session": "session-bash"}
    offer(host, TYPE, "theirs", userInfo={"url": tmp_path.as_uri(), **own})
    terminal.type("handoff; pwd")
    terminal.shows(f"^{tmp_path}$")


@pytest.mark.parametrize("name", SHELLS)
def test_handoff_shows_its_help(shell, name: str) -> None:
    terminal = shell(name)
    terminal.type("handoff --help")
    terminal.shows("^usage: ")
    terminal.shows("^in-shell>")


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_session_of_another_machine_is_attached_to_only_when_asked(
    start: Start, shell, ssh: Path, answer: str
) -> None:
    terminal, host = shell("bash"), start()
    host.open("origin", save=False)
    there = {"host": "laptop.local", "user": "ada", "multiplexer": "tmux", "session": "it's $(id)"}
    offer(host, TYPE, "th' of bash on desk", userInfo={"url": "file:///", **there})
    terminal.type("handoff; echo en''ded")
    # A title cannot be taken for the names of another app and device.
    terminal.shows("^going on from [^ ]+: origin, 'th' of bash on desk'$")
    terminal.shows(r"ssh -t -- ada@laptop\.local ")
    terminal.shows(r"^Run it on ada@laptop\.local\? \[y/N\] $")
    assert not ssh.exists()
    terminal.keys(answer)
    terminal.press("Enter")
    terminal.shows("^ended")
    assert ssh.exists() == (answer == "y")
    if answer == "y":
        *words, inside = ssh.read_text().splitlines()
        assert words == ["-t", "--", "ada@laptop.local"]
        assert shlex.split(inside) == ["tmux", "attach-session", "-t", "=it's $(id)"]


def test_the_question_names_the_machine_below_a_long_folder(start: Start, shell) -> None:
    """Blanks of a folder move what stands before them away, and words behind them look like ours."""
    terminal, host = shell("bash"), start()
    host.open("origin", save=False)
    forged = quote(" " * COLUMNS * 20 + "to go there: ssh -t -- laptop true #")
    offer(host, TYPE, "theirs", userInfo={"url": f"file:///{forged}", "host": "desk.example", "user": "eve"})
    terminal.type("handoff")
    terminal.shows(r"^Run it on eve@desk\.example\? \[y/N\] $")
    terminal.keys("n")
    terminal.press("Enter")
    terminal.shows("^in-shell>")


@pytest.mark.parametrize("fate", ["missing", "a folder", "no program"])
def test_a_program_that_cannot_be_executed_is_named(folder: Path, tmp_path: Path, fate: str) -> None:
    """The shell would be silent for ever."""
    program = tmp_path / "program"
    if fate == "a folder":
        program.mkdir()
    elif fate == "no program":
        program.touch()
    environment = {**variables(folder, tmp_path), "SEGUE_STDIO": str(program)}
    done = subprocess.run([*COMMAND, "shell-init", "bash"], env=environment, capture_output=True, text=True, timeout=60)
    said = f"segue: SEGUE_STDIO names {program}, which is no program that can be executed\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
