# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.5: bash takes part with printf and read, and the command finds the program."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from host import PROGRAM, Host
from programs import programs
from project import ROOT
from test_session import NOTE, continued, offer

Start = Callable[..., Host]
SEGUE = [ROOT / ".venv" / "bin" / "python", "-m", "segue"]
OFFER = r"""
coproc host { "$STDIO"; }
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1" >&"${host[1]}"; }
hear() { while read -r line <&"${host[0]}"; do case $line in *"$1"*) return 0 ;; esac; done; return 1; }
say '"id":1,"method":"open","params":{"protocol":1,"bundleIdentifier":"com.example.sh","name":"sh","team":"T"}'
hear '"agent":'
say '"id":2,"method":"activity/set","params":{"activity":"a","type":"com.example.note","title":"Shopping"}'
say '"id":3,"method":"activity/current","params":{"activity":"a"}'
hear '"activity/save"'
[[ $line =~ \"id\":([0-9]+) ]]
say '"id":'"${BASH_REMATCH[1]}"',"result":{"userInfo":{"line":7}}'
hear '"activity/ended"'
[[ $line =~ \"outcome\":\"([a-z]+)\" ]] && echo "${BASH_REMATCH[1]}"
say '"id":4,"method":"close"'
hear '"id":4'
wait
"""


def test_bash_hands_over(start: Start, folder: Path) -> None:
    receiver = start()
    receiver.open("receiver", NOTE)
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder), "STDIO": str(PROGRAM)}) as run:
        script = run("script", ["bash", "-c", OFFER])
        receiver.call("offers/continue", offer=receiver.offer_of("Shopping")["offer"])
        request = receiver.hear_message("continuation/continue")
        assert request["params"]["userInfo"] == {"line": 7}
        receiver.respond(request, {"handled": True})
        script.wait_for("^restored$")
        assert script.wait() == 0


def test_the_command_names_and_becomes_the_program(folder: Path) -> None:
    environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder), "SEGUE_STDIO": str(PROGRAM)}
    named = subprocess.run([*SEGUE, "stdio", "--path"], env=environment, capture_output=True, text=True, check=True)
    assert named.stdout == f"{PROGRAM}\n"
    line = '{"jsonrpc": "2.0", "id": 1, "method": "close"}\n'
    done = subprocess.run([*SEGUE, "stdio"], env=environment, input=line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_file_can_be_the_host(folder: Path, tmp_path: Path) -> None:
    """R13.5.10: at the end of the input what was said has been done."""
    path = tmp_path / "lines"
    message = {"jsonrpc": "2.0", "id": 1, "method": "open"}
    params = {"protocol": 1, "bundleIdentifier": "com.example.file", "name": "file"}
    path.write_text(json.dumps({**message, "params": params}) + "\n")
    with path.open() as lines:
        done = subprocess.run(
            [PROGRAM],
            env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
            stdin=lines,
            capture_output=True,
            text=True,
            check=True,
        )
    assert json.loads(done.stdout.splitlines()[0])["result"]["protocol"] == 1


def test_no_flag_of_a_descriptor_is_changed(folder: Path) -> None:
    """The host may share its ends with other processes."""
    reading, writing = os.pipe()
    answers, out = os.pipe()
    before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (reading, writing, answers, out)]
    program = subprocess.Popen(
        [PROGRAM], stdin=reading, stdout=out, env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}
    )
    try:
        os.write(writing, b"no JSON\n")
        assert os.read(answers, 4096)
        assert [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (reading, writing, answers, out)] == before
    finally:
        for fd in (reading, writing, out):
            os.close(fd)
        status = program.wait(20)
        os.close(answers)
    assert status == 0


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_descriptor_becomes_none_of_the_library(folder: Path, closed: int) -> None:
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        program = run("program", ["bash", "-c", f'exec {closed}>&-; exec "$0"', PROGRAM])
        if closed != 0:
            # The log names the first, and the second gets an answer.
            program.tell('{"jsonrpc": "2.0", "method": "no/method"}')
            program.tell("no JSON")
            program.wait_for("no/method|-32700")
            assert Path(f"/proc/{program.pid}/fd/{closed}").readlink() == Path("/dev/null")
        assert program.wait() == 0


def test_two_offers_of_one_host_are_told_apart(start: Start) -> None:
    origin, receiver = start(), start()
    origin.open("origin", save=False)
    receiver.open("receiver", NOTE)
    offer(origin, title="One", userInfo={"n": 1})
    origin.call("activity/set", activity="b", type=NOTE, title="Two", userInfo={"n": 2})
    assert continued(origin, receiver, "One")["params"]["userInfo"] == {"n": 1}
    origin.call("activity/current", activity="b")
    assert continued(origin, receiver, "Two")["params"]["userInfo"] == {"n": 2}
