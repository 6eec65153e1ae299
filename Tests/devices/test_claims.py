# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device of the account that says that it has an app or an activity of another one (A13)."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from agents import AgentDevice
from hostile import HostileHub
from intruder import Keys, secured
from test_membership import three  # noqa: F401

DESK, LAPTOP = "10.99.0.2", "10.99.0.1"


@pytest.fixture
def member(three, sockets) -> Callable[[AgentDevice, str], HostileHub]:  # noqa: F811
    """member(desk, DESK): the third device, linked by hand."""
    desk, _, xray = three
    desk.admit(xray)
    xray.linked("desk", "laptop", patience=60)
    xray.end()
    keys = Keys.of(xray.state_folder)

    def linked(device: AgentDevice, host: str) -> HostileHub:
        connection = sockets[0].connect(host, device.account()["port"])
        keys.knock(connection)
        return HostileHub(secured(connection, keys))

    return linked


def heard(hub: HostileHub, title: str) -> tuple[uuid.UUID, uuid.UUID]:
    """The activity of that title, and the app that offers it, as each device hears of them."""
    while True:
        _, *offer = hub.peer.receive_kind("offer")
        if offer[2] == title:
            return offer[0], offer[8]


def test_a13_a_member_that_claims_an_activity_hides_none(three, member, app):  # noqa: F811
    desk, laptop, _ = three
    editor, viewer = app(desk, "editor"), app(laptop, "viewer")
    editor.ask("offer one", "offered")
    viewer.hears("appeared one", 60)
    at_desk, at_laptop = member(desk, DESK), member(laptop, LAPTOP)
    activity, origin = heard(at_desk, "one")
    at_desk.close()
    # The desk's agent is restarted, as for an upgrade; the app lives on.
    desk.end()
    viewer.hears("gone one", 60)
    at_laptop.app = origin
    at_laptop.offers("claim", activity=activity)
    viewer.hears("appeared claim")
    desk.begin()
    viewer.hears("appeared one", 60)
    name = viewer.ask("continue one", r"continue (\w+) \d+ one")[2]
    editor.hears(rf"ended {name} restored .*")
    at_laptop.is_heard()
    assert not any("gone claim" in line for line in viewer.program.said)


def test_a13_a_member_that_claims_an_app_gets_no_state_back(three, member, app):  # noqa: F811
    desk, laptop, _ = three
    editor, viewer = app(desk, "editor"), app(laptop, "viewer")
    editor.ask("offer one", "offered")
    viewer.hears("appeared one", 60)
    at_laptop, at_desk = member(laptop, LAPTOP), member(desk, DESK)
    # An offer that the viewer has made once tells its identifier.
    viewer.ask("offer mine", "offered")
    _, at_desk.app = heard(at_laptop, "mine")
    viewer.tell("invalidate")
    editor.hears("gone mine")
    name = viewer.ask("continue one", r"continue (\w+) \d+ one")[2]
    editor.hears(rf"ended {name} restored .*")
    viewer.ask("write changed there", "written")
    at_desk.offers("claim")
    editor.hears("appeared claim")
    editor.tell("resume_back")
    editor.hears("did_resume_back fresh changed there")
    editor.hears("resumed_back OK")
    assert "fetch" not in at_desk.is_heard()
