# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C: once, and several times at once."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PATIENCE, environment

WAITING = ("watch", "offer com.example.notes.editing", "receive --wait 60", "continue --wait 60", "link --listen")


CODE = "import sys; from segue_command import main; print('begun', flush=True); sys.exit(main())"


def started(folder: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        env={**environment(folder), "SEGUE_LOG": "info"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def waits(process: subprocess.Popen[bytes]) -> None:
    """Waits until the library logs that the app of the command has met a hub."""
    assert process.stderr is not None
    for line in process.stderr:
        if b"hub" in line:
            return
    raise AssertionError("it has ended")


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """The status, and what it has said since, without the library's log."""
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    said = [line for line in errors.splitlines() if not line.startswith(b"segue[")]
    return process.returncode, b"\n".join(said)


@pytest.mark.parametrize("gap", [0, 0.003, 0.01, 0.03], ids=lambda gap: f"{gap * 1000:g} ms")
@pytest.mark.parametrize("verb", WAITING)
def test_two_interrupts_end_it_by_the_signal_and_silently(folder: str, tmp_path: Path, verb: str, gap: float) -> None:
    words = verb.split()
    process = started(folder, *words, *([str(tmp_path / "socket")] if words[0] == "link" else []))
    waits(process)
    process.send_signal(signal.SIGINT)
    time.sleep(gap)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    status, said = ended(process)
    assert status == -signal.SIGINT
    assert b"Traceback" not in said and b"xception" not in said and b"ignored" not in said


def test_interrupts_before_it_waits_end_it_silently(folder: str) -> None:
    for delay in (0.05, 0.1, 0.2, 0.3):
        process = started(folder, "watch")
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        status, said = ended(process)
        assert status == -signal.SIGINT
        assert b"Traceback" not in said


def test_an_ignored_interrupt_stays_ignored(folder: str) -> None:
    """As in a background job of a shell."""
    shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    words = [sys.executable, "-c", "from segue_command import main; main()", "continue", "--wait", "1"]
    process = subprocess.Popen([*shell, *words], env=environment(folder), stderr=subprocess.PIPE)
    ignored = 1 << (signal.SIGINT - 1)
    while not int(re.findall(r"SigIgn:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text())[0], 16) & ignored:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert b"nothing came in time" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_socket_that_was_listened_at_is_removed(folder: str, tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "socket"
    process = started(folder, "link", "--listen", str(path))
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)][1].startswith(b"waiting")
    assert path.is_socket()
    process.send_signal(number)
    assert ended(process)[0] == -number
    assert not path.exists()


QUESTIONS = {
    "search": "app.search('word')",
    "inbox": "app.inbox()",
    "apps": "app.apps()",
    "account": "app.account(after=1, timeout=20)",
    "choose": "app.choose('com.example', None)",
    "set_devices": "app.set_devices(push='never')",
    "forget_saved": "app.forget_saved(None)",
}
ASKING = """
import sys, segue
with segue.App("com.example.notes") as app:
    print("asking", flush=True)
    try:
        {}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
print("closed", flush=True)
"""


@pytest.fixture
def silent_agent(folder: str) -> Iterator[socket.socket]:
    """The socket of an agent that never answers."""
    place = Path(folder + "-agent")
    place.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place / "control"))
        listening.listen()
        listening.settimeout(PATIENCE)
        yield listening
    shutil.rmtree(place)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_ends_a_call_that_waits_for_the_agent(
    folder: str, silent_agent: socket.socket, question: str
) -> None:
    """At once: the call itself may take half a minute."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", ASKING.format(QUESTIONS[question])],
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "asking\n"
            connection, _ = silent_agent.accept()
            with connection:
                connection.settimeout(PATIENCE)
                assert connection.recv(65536)  # the question
                asked = time.monotonic()
                process.send_signal(signal.SIGINT)
                assert process.stdout.readline() == "interrupted\n"
                assert process.stdout.readline() == "closed\n"
                assert process.wait(PATIENCE) == 0
                assert time.monotonic() - asked < 7
        finally:
            process.kill()


LEAVING = """
import os, signal, sys, segue

class Notes(segue.App):
    def on_will_save(self, activity):
        print("saves", self._identifier, flush=True)
        if self._identifier.endswith("1"):
            {}

apps = []
for number in range(3):
    app = Notes(f"com.example.notes{{number}}")
    app.open()
    activity = segue.Activity(app, "com.example.notes.editing")
    activity.become_current()
    apps.append((app, activity))
"""


@pytest.mark.parametrize("ends", ["sys.exit(3)", "raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGINT)"])
def test_what_one_app_raises_at_the_end_keeps_no_other_from_saving(folder: str, ends: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING.format(ends)],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.split("\n")[:-1] == [f"saves com.example.notes{number}" for number in range(3)]
