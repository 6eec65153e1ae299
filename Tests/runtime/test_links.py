# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linked hubs that are not what they say: made up by hand, over real sockets."""

from __future__ import annotations

import socket
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import segue
import wire

MEMORY = 16 << 20  # bytes for 300 links that hold little; without bounds they took 48 MiB


@pytest.fixture
def app() -> Iterator[segue.App]:
    """An app that carries the hub of its device, and offers something."""
    with segue.App("com.example.notes", types=[wire.TYPE], runtime_folder=tempfile.mkdtemp()) as opened:
        opened.ready().wait(wire.PATIENCE)
        segue.Activity(opened, wire.TYPE, title="Draft").become_current()
        yield opened


class MadeUp:
    """A hub that does what it likes once the two have met; its identifier is the higher, so that the other decides."""

    def __init__(self, app: segue.App, hub: uuid.UUID, *sessions: object):
        near, far = socket.socketpair()
        near.settimeout(wire.PATIENCE)
        self.link = app.link(far)
        self.connection = wire.Connection(near)
        self.secret = uuid.uuid4()
        self.connection.send_message("link", wire.PROTOCOL, wire.PROTOCOL, hub, "made up")
        self.connection.expect("link")
        self.connection.send_message("resume", self.secret, list(sessions))
        self.their_secret, self.sessions = self.connection.expect("resume")


def higher() -> uuid.UUID:
    return uuid.UUID(int=uuid.uuid4().int | 0xFFFFFFFF << 96)


def resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def test_links_that_are_cut_by_the_hundred_cost_little(app: segue.App) -> None:
    before = resident()
    for _ in range(300):
        made = MadeUp(app, higher())
        assert made.connection.expect("proceed") == [None, 0]
        made.connection.expect("route")
        made.connection.close()
        app.dispatch(0)
    assert resident() - before < MEMORY


def test_a_name_takes_no_link_over_and_a_secret_does_once_the_other_has_lost_it(app: segue.App) -> None:
    hub = higher()
    true = MadeUp(app, hub)
    true.connection.expect("proceed")
    true.connection.expect("route")
    liar = MadeUp(app, hub, uuid.uuid4(), False)
    assert liar.connection.expect("proceed") == [None, 0]
    keeper = MadeUp(app, hub, true.their_secret, True)
    assert keeper.connection.expect("goodbye")[0] == 4
    true.connection.send_message("ping", 7)
    while (came := true.connection.next_message())[0] != "pong":
        pass  # it is still told of an offer
    assert came[1] == [7]
    again = MadeUp(app, hub, true.their_secret, False)
    assert again.connection.expect("proceed")[0] == true.secret
    assert true.connection.is_closed_within(wire.PATIENCE)


def test_an_app_has_64_links(app: segue.App) -> None:
    made = [MadeUp(app, higher()) for _ in range(64)]
    near, far = socket.socketpair()
    link = app.link(far)
    with pytest.raises(segue.LimitExceededError):
        link.wait(wire.PATIENCE)
    near.close()
    assert len(made) == 64
