# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the questions of the command in a terminal and in pipes, and its wait for the device of an invite. With agents:
Tests/agent/test_questions.py, Tests/devices/test_command.py."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from conftest import PATIENCE, TYPE, environment
from test_account import account, device

import segue
from segue._account import Invite, Pushed, Pushes
from segue._command import answers, pushes
from segue._command import invite as inviting
from segue._command.output import CommandError, left

NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
COMMAND = [sys.executable, "-W", "error", "-m", "segue"]


# ---- in a terminal


class Asked:
    """A program whose terminal is the test."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int, theirs: int):
        self.process, self._terminal, self._theirs = process, terminal, theirs
        self.said = ""

    def shows(self, text: str) -> None:
        while text not in self.said:
            assert select.select([self._terminal], [], [], PATIENCE)[0], self.said
            try:
                data = os.read(self._terminal, 1 << 10)
            except OSError:  # it has ended
                data = b""
            assert data, self.said
            self.said += data.decode()

    def types(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def reads(self) -> None:
        """Waits until it has read what was typed. Nothing tells of that, so it is looked at again and again."""
        deadline, left_over = time.monotonic() + PATIENCE, bytearray(4)
        while fcntl.ioctl(self._theirs, termios.FIONREAD, left_over) == 0 and any(left_over):
            assert time.monotonic() < deadline, self.said
            time.sleep(0.01)

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._terminal)[3] & termios.ECHO)


@contextmanager
def terminal(folder: str, *words: str) -> Iterator[Asked]:
    ours, theirs = pty.openpty()
    # The last of its end, so that what it has said can be read after its end, and its settings.
    with subprocess.Popen(
        words,
        env={**environment(folder), "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # its controlling terminal
    ) as process:
        try:
            yield Asked(process, ours, theirs)
        finally:
            process.kill()
            os.close(theirs)
            os.close(ours)


PASSPHRASE = """
from segue._command.account import passphrase
from segue._command import program
program.run = lambda verb: print(repr(program.looped(passphrase(new=True))))
program.main()
"""


def test_ctrl_c_at_a_passphrase_ends_the_command_and_letters_are_shown_again(folder: str) -> None:
    for typed in (b"", b"correct horse\n"):
        with terminal(folder, sys.executable, "-c", PASSPHRASE) as asked:
            asked.shows("passphrase: ")
            assert not asked.echoes
            if typed:
                asked.types(typed)
                asked.shows("once more: ")
                assert not asked.echoes
            asked.types(b"\x03")
            assert asked.process.wait(PATIENCE) == -signal.SIGINT
            assert asked.echoes
            assert "Traceback" not in asked.said and "horse" not in asked.said


def test_a_passphrase_is_asked_for_twice_and_its_length_before(folder: str) -> None:
    with terminal(folder, sys.executable, "-c", PASSPHRASE) as asked:
        asked.shows("passphrase: ")
        asked.types("grüner Käfer im Gras\n".encode())
        asked.shows("once more: ")
        asked.types("grüner Käfer im Gras\n".encode())
        asked.shows("'grüner Käfer im Gras'")
    for typed, why in ((b"short\n", "fewer than 12 characters"), (b"\x04", "there is no passphrase")):
        with terminal(folder, sys.executable, "-c", PASSPHRASE) as asked:
            asked.shows("passphrase: ")
            asked.types(typed)
            asked.shows(why)
            assert "once more" not in asked.said and "Traceback" not in asked.said
            asked.process.wait(PATIENCE)
            assert asked.echoes


@pytest.mark.parametrize(
    ("words", "shows"),
    [(["send"], "Ctrl-D ends it"), (["offer", TYPE, "--user-info", "-"], ""), (["inspect", "-"], "")],
    ids=lambda each: str(each[0]) if isinstance(each, list) else "",
)
def test_ctrl_c_while_standard_input_is_read(folder: str, words: list[str], shows: str) -> None:
    with terminal(folder, *COMMAND, *words) as asked:
        if shows:
            asked.shows(shows)
        else:
            asked.types(b"something\n")
            asked.shows("something")  # echoed
            asked.reads()
        asked.types(b"\x03")
        assert asked.process.wait(PATIENCE) == -signal.SIGINT
        assert "Traceback" not in asked.said


# ---- answers


def agreed(monkeypatch: pytest.MonkeyPatch, text: bytes, **more: Any) -> bool | None:
    """The answer to a question, from a pipe that ends."""
    reading, writing = os.pipe()
    os.write(writing, text)
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        return asyncio.run(answers.agreed("really?", **more))


def test_the_end_of_a_pipe_is_a_no_unless_somebody_else_may_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agreed(monkeypatch, b"y\n") is True
    assert agreed(monkeypatch, b"y") is True
    assert agreed(monkeypatch, b"\n", optional=True) is False
    assert agreed(monkeypatch, b"") is False
    capsys.readouterr()
    with pytest.raises(answers.NoAnswer):
        agreed(monkeypatch, b"", optional=True, left=left(59.9))
    assert capsys.readouterr().err == "really? (59 s left) [y/N] \n"


@pytest.mark.parametrize(("seconds", "said"), [(-1, "0 s"), (119.9, "119 s"), (120, "2 min"), (300, "5 min")])
def test_the_time_that_is_left_is_never_more_than_there_is(seconds: float, said: str) -> None:
    assert left(seconds) == said


# ---- invites


class Agent:
    """Answers with one state of the account after the other; the last one stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, *states: Any):
        self.states, self.questions = list(states), set[str]()
        monkeypatch.setattr(module, "asked", self.asked)

    async def asked(self, app: Any, question: str, *arguments: Any) -> Any:
        self.questions.add(question)
        if len(self.states) > 1:
            return self.states.pop(0)
        await asyncio.sleep(min(arguments[1], 0.01) if len(arguments) > 1 else 0)
        return self.states[0]


class Asking:
    """The questions of an app, which only stand for themselves."""

    def __getattr__(self, name: str) -> str:
        return name


HOME = {"manager": True, "status": "member"}
DESKTOP = device("desktop", this_device=True, manager=True)


def notice(message: str) -> dict[str, Any]:
    return {"date": NOW, "status": 19, "message": message}


def admit(
    monkeypatch: pytest.MonkeyPatch, *states: segue.Account, seconds: float = 600, before: segue.Account | None = None
) -> int:
    monkeypatch.setattr(inviting, "TO_SHOW", 0.05)
    Agent(monkeypatch, inviting, *states)
    made = Invite("segue:join?", datetime.now(timezone.utc) + timedelta(seconds=seconds))
    app: Any = Asking()
    before = account(DESKTOP, **HOME) if before is None else before
    return asyncio.run(asyncio.wait_for(inviting.admit(app, made, before, argparse.Namespace(json=False)), PATIENCE))


def open_invites(number: int, *notices: str, **more: Any) -> segue.Account:
    devices = more.pop("devices", [DESKTOP])
    return account(*devices, **{**HOME, "invites": number, "notices": list(map(notice, notices)), **more})


def test_an_invite_that_is_voided_elsewhere_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="the invite is void"):
        admit(monkeypatch, open_invites(1), open_invites(0))
    moved = "invite: this device listens at another port now, so 1 open are void; make new ones"
    with pytest.raises(CommandError, match="another port"):
        admit(monkeypatch, open_invites(1), open_invites(0, moved))


def test_an_invite_that_has_expired_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TimeoutError, match="expired"):
        admit(monkeypatch, open_invites(1), seconds=0.2)
    with pytest.raises(TimeoutError, match="expired"):
        admit(monkeypatch, open_invites(0), seconds=0.02)


def test_an_account_that_has_gone_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="no longer in the account"):
        admit(monkeypatch, open_invites(1), account(status="none"))
    with pytest.raises(CommandError, match="has become the manager"):
        admit(monkeypatch, open_invites(1), open_invites(0, manager=False))


def test_what_others_do_does_not_end_the_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither another invite, nor a device that is in the account, nor what was said before."""
    elsewhere, others, old = "join: the connection closed", "desktop: its clock differs", "join: of yesterday"
    before = open_invites(1, old)
    laptop = device("laptop")
    states = (
        open_invites(2, old),
        open_invites(1, old, elsewhere),  # the other invite was used, in vain
        open_invites(1, old, elsewhere, others),
        open_invites(1, old, elsewhere, others, devices=[DESKTOP, laptop]),
    )
    assert admit(monkeypatch, *states, before=before) == 0
    said = capsys.readouterr()
    assert said.out.startswith("joined: laptop ")
    assert said.err == f"{elsewhere}\n"


def test_the_digits_of_a_device_come_after_its_first_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first word of the device voids the invite. The digits come a moment later."""
    join = {"join": 7, "asks": False, "digits": "1", "account_name": "", "device_name": "a", "platform": "b"}
    pending = device("laptop", confirmed=False)
    states = (
        open_invites(1),
        open_invites(0),
        open_invites(0, joins=[join]),
        open_invites(0, devices=[DESKTOP, pending]),
        open_invites(0, devices=[DESKTOP, {**pending, "confirmed": True}]),
    )
    assert admit(monkeypatch, *states) == 0


# ---- pushes


def pushed(**more: Any) -> Pushed:
    received = datetime.now(timezone.utc)
    entries = {
        "push": uuid4(),
        "device": uuid4(),
        "device_name": "desktop",
        "activity_id": uuid4(),
        "type": TYPE,
        "app_name": "Notes",
        "bundle_identifier": "com.example.notes",
        "receiver_name": "Editor",
        "received": received,
        "expires": received + timedelta(seconds=60),
        "title": "letter",
    }
    return Pushed(**{**entries, **more})


def test_without_anybody_who_answers_pushes_are_shown_and_not_declined(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = pushed(), pushed(title="picture")
    agent = Agent(monkeypatch, pushes, Pushes(1, (first,)), Pushes(2, (first,)), Pushes(3, (first, second)))
    app: Any = Asking()

    async def watch() -> None:
        watching = asyncio.ensure_future(pushes.watch(app, argparse.Namespace(json=False)))
        deadline = time.monotonic() + PATIENCE
        while f"--accept {str(second.push)[:8]}" not in (said := capsys.readouterr().err):
            heard.append(said)
            assert time.monotonic() < deadline, "".join(heard)
            await asyncio.sleep(0.01)
        heard.append(said)
        watching.cancel()

    heard: list[str] = []
    with open(os.devnull) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        asyncio.run(watch())
    text = "".join(heard)
    assert "continue it in Editor? (59 s left) [y/N]" in text
    assert text.count("[y/N]") == 1 and text.count("standard input has ended") == 1
    assert f"--accept {str(first.push)[:8]}" in text
    assert agent.questions == {"pushes"}
