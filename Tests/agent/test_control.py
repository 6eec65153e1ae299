# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The agent's second socket: where it is, who may connect, and what it answers (docs/agent.md, "The second socket")."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cbor2
import pytest
import wire
from inbox import output
from native import Native, ask_agent, load
from programs import ProgramError


def connect(control, patience: float = 30):
    """A connection, as soon as an agent listens."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return wire.Connection.to(control)
        except (FileNotFoundError, ConnectionRefusedError):
            assert time.monotonic() < deadline, "no agent listens"


def test_it_is_in_a_folder_of_its_own(agent, control, folder):
    """Whoever is given the runtime folder has not got this one."""
    agent()
    assert control.is_socket() and control.stat().st_mode & 0o777 == 0o600
    assert control.parent.stat().st_mode & 0o777 == 0o700
    assert folder not in control.parents


def test_a_process_of_the_user_is_answered(agent, control):
    agent()
    peer = wire.Connection.to(control)
    peer.send_message("ping", 7)
    assert peer.next_message() == ("pong", [7])
    peer.send_message("ping", 8)
    assert peer.next_message() == ("pong", [8])


def test_what_is_asked_while_an_agent_starts_is_answered_once_it_has(begin, control, state):
    """It listens before it has read manifests, inbox and account: what is stored is not known yet."""
    begin()
    peer = connect(control)
    asked = [{"ask": "create-account", "name": "Home"}, {"ask": "continue", "activity": uuid.uuid4()}, {"ask": "inbox"}]
    for number, ask in enumerate(asked):
        peer.send_message("ask", number, cbor2.dumps(ask))
    answers = {}
    while len(answers) < len(asked):
        _, (number, status, message, *_) = peer.next_message()
        answers[number] = (status, message)
    assert answers[0][0] == 0 and answers[2][0] == 0, answers
    assert answers[1][1] == "continue: the activity is not offered"


def test_the_next_agent_listens_in_the_same_place(agent, control):
    agent()
    agent("--replace")
    peer = wire.Connection.to(control)
    peer.send_message("ping", 1)
    assert peer.next_message() == ("pong", [1])


BAD = {
    "hello": (lambda: wire.hello(), wire.UNSUPPORTED_VERSION, "does not know this message"),
    "channel": (lambda: wire.frame("data", b"x", 2), 7, ""),
    "nonsense": (lambda: b"\xff" * 64, 7, ""),
    "text": (lambda: wire.frame("message", b"\x61x"), 7, ""),
}


@pytest.mark.parametrize("case", BAD)
def test_what_it_does_not_know_is_refused(agent, control, case):
    bytes_of, status, text = BAD[case]
    agent()
    peer = wire.Connection.to(control)
    peer.send(bytes_of())
    name, (got, message, *_) = peer.next_message()
    assert (name, got) == ("goodbye", status) and text in message
    with pytest.raises((EOFError, ConnectionResetError)):
        peer.next_message()
    again = wire.Connection.to(control)
    again.send_message("ping", 1)
    assert again.next_message() == ("pong", [1])


def test_who_says_nothing_is_dismissed_and_makes_room(agent, control):
    """Sixteen at a time; each has 5 s. A connection that is one too many hears why."""
    agent()
    silent = [wire.Connection.of_another_process(control) for _ in range(16)]
    for peer in silent:
        peer.send(wire.message("ping", 1)[:5])
    check_refused(control, "16 connections are there")
    for peer in silent:
        name, (_, message, *_) = peer.next_message()
        assert name == "goodbye" and "no message within 5 s" in message
    peer = wire.Connection.to(control)
    peer.send_message("ping", 2)
    assert peer.next_message() == ("pong", [2])


def check_refused(control, why: str) -> None:
    refused = wire.Connection.to(control)
    name, (status, message, *_) = refused.next_message()
    assert (name, status) == ("goodbye", wire.LIMIT_EXCEEDED) and why in message
    with pytest.raises((EOFError, ConnectionResetError)):
        refused.next_message()


def test_a_process_has_a_quarter_of_the_connections(agent, control, folder):
    """Others are served, and this one hears why it is not."""
    agent()
    greedy = [wire.Connection.to(control) for _ in range(4)]
    check_refused(control, "4 connections of this process are there")
    with ThreadPoolExecutor() as beside:
        listing = beside.submit(output, folder, "inbox")
        for number, peer in enumerate(greedy):
            peer.send_message("ping", number)
            assert peer.next_message() == ("pong", [number])
        assert listing.result() == ["nothing waits"]
    greedy.pop().socket.close()
    deadline = time.monotonic() + 30
    while True:
        peer = wire.Connection.to(control)
        peer.send_message("ping", 9)
        if peer.next_message() == ("pong", [9]):
            break
        assert time.monotonic() < deadline, "a place that is left is free"


@pytest.mark.parametrize("threads", [3, 4])
def test_connections_that_were_closed_do_not_count(agent, folder, threads):
    """Each thread has one call at a time, so that there are never more than the four that a process may have."""
    agent()
    library = load()
    app = Native(library, str(folder))
    statuses: list[int] = []

    def call() -> None:
        for _ in range(500):
            statuses.append(ask_agent(library, app.app, "account")[0])

    calls = [threading.Thread(target=call) for _ in range(threads)]
    for each in calls:
        each.start()
    for each in calls:
        each.join()
    app.close()
    assert statuses == [0] * (500 * threads)


def test_the_log_does_not_grow_with_what_is_refused(agent, control):
    """64 lines at once, then one a second; and it says how many were left out."""
    program = agent()
    kept = [wire.Connection.to(control) for _ in range(4)]
    for peer in kept:  # each waits for a change that does not come
        ask(peer, 1, "account")
        change = cbor2.loads(peer.next_message()[1][3])["change"]
        ask(peer, 2, "account", after=change, timeout=600_000)
    began = time.monotonic()
    for _ in range(400):
        wire.Connection.to(control).receive_kind("goodbye")
    for _ in range(10):
        with contextlib.suppress(ProgramError):
            program.wait_for(r"\d+ lines were left out here", patience=0.5)
            break
        wire.Connection.to(control).receive_kind("goodbye")
    assert any("lines were left out here" in line for line in program.said)
    lines = [line for line in program.said if "control: refused process" in line]
    assert len(lines) <= 64 + 2 + (time.monotonic() - began)
    for peer in kept:
        peer.close()


def ask(peer: wire.Connection, number: int, what: str, **entries: object) -> None:
    peer.send_message("ask", number, cbor2.dumps({"ask": what, **entries}))


def connected(control) -> wire.Connection:
    """A connection that is served: a process has four, and those that it has closed make room in their turn."""
    deadline = time.monotonic() + 30
    while True:
        peer = connect(control)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, EOFError):
            peer.send_message("ping", 1)
            if peer.next_message() == ("pong", [1]):
                return peer
        assert time.monotonic() < deadline, "no place becomes free"


def test_passphrases_are_tried_one_at_a_time_whatever_becomes_of_the_askers(agent, control):
    """Each takes half a second of the account's thread. Others who ask about the account do not wait for a queue of
    them, and neither does the end of the agent."""
    begun = agent()
    user = wire.Connection.to(control)
    ask(user, 1, "create-account", name="Home", device_name="desk")
    assert user.next_message()[1][:2] == [1, 0]
    for _ in range(30):
        peer = connected(control)
        for number in range(8):
            ask(peer, number, "recovery-file", passphrase="correct horse battery")
        peer.socket.close()
    kept = connected(control)
    for number in range(8):
        ask(kept, number, "recovery-file", passphrase="correct horse battery")
    answers = [kept.next_message()[1] for _ in range(8)]
    assert any(status != 0 and "another passphrase is in use" in message for _, status, message, *_ in answers), answers
    began = time.monotonic()
    ask(user, 2, "rename-device", name="desktop")
    assert user.next_message()[1][:2] == [2, 0]
    assert time.monotonic() - began < 5
    begun.signal(signal.SIGTERM)
    assert begun.wait(10) == 0


QUESTIONS = {
    "ping": wire.message("ping", 1),
    "apps": wire.message("ask", 1, cbor2.dumps({"ask": "apps"})),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_who_does_not_read_is_not_read(agent, control, question):
    """Its answers take bounded memory, others wait for nothing, and none of the answers is lost."""
    agent()
    # Once it answers it has read what is stored.
    first = wire.Connection.to(control)
    ask(first, 1, "apps")
    assert first.next_message()[0] == "answer"
    peer = wire.Connection.to(control)
    peer.socket.setblocking(False)
    one, sent, limit = QUESTIONS[question], 0, 4 << 20
    pings = one * 4096
    while sent < limit:
        try:
            sent += peer.socket.send(pings[sent % len(one) :])
        except BlockingIOError:
            # The agent reads on within this time, if it reads at all.
            if not select.select([], [peer.socket], [], 0.5)[1]:
                break
    assert sent < limit
    other = wire.Connection.to(control)
    other.send_message("ping", 2)
    assert other.next_message() == ("pong", [2])
    peer.socket.settimeout(10)
    for _ in range(sent // len(one)):
        assert peer.next_message()[0] == ("pong" if question == "ping" else "answer")


@pytest.mark.parametrize("level", ["error", "info", "debug"])
def test_it_is_there_until_a_signal_whatever_is_logged(begin, start, control, level):
    """A line that is not written must not be what the agent waits by."""
    program = begin(SEGUE_LOG=level)
    peer = connect(control)
    peer.send_message("ping", 1)
    assert peer.next_message() == ("pong", [1])
    start("editor").ready()
    peer.send_message("ping", 2)
    assert peer.next_message() == ("pong", [2])
    program.signal(signal.SIGTERM)
    assert program.wait() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_refused_even_with_the_folder_open(agent, control):
    """The mode of the folder is one lock, the kernel's word who connects another."""
    program = agent()
    os.chmod(control.parent, 0o711)
    os.chmod(control, 0o666)
    code = f"import os, socket; s = socket.socket(socket.AF_UNIX); os.setuid(65534); s.connect({str(control)!r}); "
    code += "s.settimeout(20); print('refused' if s.recv(1) == b'' else 'served')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "refused\n", done.stderr
    program.wait_for(r"control: refused process \d+, which is another user's")


def test_a_folder_that_others_may_enter_is_refused(begin, control):
    control.parent.mkdir()
    control.parent.chmod(0o755)
    program = begin()
    program.wait_for(r"error: .*is open to other users \(mode must be 0700\)")
    assert program.wait() == 1


def _link_of(descriptor):
    """The target of the descriptor; None if it was closed meanwhile."""
    try:
        return os.readlink(descriptor)
    except FileNotFoundError:
        return None


def test_a_descriptor_that_comes_is_closed(agent, control):
    """Nothing here takes one, and none may stay open."""
    program = agent()
    peer = wire.Connection.to(control)
    descriptors = Path(f"/proc/{program.pid}/fd")
    # The agent opens and closes files of its own at any time, so the test looks for the descriptor itself.
    with socket.socket(socket.AF_UNIX) as other:
        name = os.readlink(f"/proc/self/fd/{other.fileno()}")
        socket.send_fds(peer.socket, [wire.message("ping", 2)], [other.fileno()])
        assert peer.next_message() == ("pong", [2])
    # A thread closes it.
    deadline = time.monotonic() + wire.PATIENCE
    while name in {_link_of(descriptor) for descriptor in descriptors.iterdir()}:
        assert time.monotonic() < deadline
