# SPDX-License-Identifier: Apache-2.0
"""The agent's second socket: where it is, who may connect, and what it answers (docs/agent.md, "The second socket")."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import wire


@pytest.fixture
def control(folder):
    """The path of the socket, in the folder beside the runtime folder."""
    beside = Path(f"{folder}-agent")
    yield beside / "control"
    shutil.rmtree(beside, ignore_errors=True)


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
    """Sixteen at a time; each has 5 s."""
    agent()
    silent = [wire.Connection.to(control) for _ in range(16)]
    for peer in silent:
        peer.send(wire.message("ping", 1)[:5])
    refused = wire.Connection.to(control)
    with pytest.raises((EOFError, ConnectionResetError)):
        refused.next_message()
    for peer in silent:
        name, (_, message, *_) = peer.next_message()
        assert name == "goodbye" and "no message within 5 s" in message
    peer = wire.Connection.to(control)
    peer.send_message("ping", 2)
    assert peer.next_message() == ("pong", [2])


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
    """What the descriptor refers to; nothing if it was closed meanwhile."""
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
    assert name not in {_link_of(descriptor) for descriptor in descriptors.iterdir()}
