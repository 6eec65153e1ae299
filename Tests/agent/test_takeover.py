# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The agent takes over the hub, leaves it in order or not, and takes its place again (docs/agent.md, R2.8, R3.14)."""

from __future__ import annotations

import re
import signal
import time
import uuid

import pytest
import wire
from conftest import CARRIES

LEAVES = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "SIGKILL": signal.SIGKILL}


def milliseconds() -> float:
    return time.monotonic() * 1000


@pytest.fixture
def pair(start):
    """An editor that offers "one", which also carries the hub, and a viewer that sees it."""
    editor = start("editor", "--limit", "10", "0").ready()
    viewer = start("viewer").ready()
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    return editor, viewer


def back(apps, since: float) -> None:
    """All apps are at another hub within a second (docs/agent.md)."""
    for app in apps:
        app.hears("connection searching")
        assert float(app.hears("connection ready")["at"]) - since < 1000


def check_no_flicker(viewer, title: str) -> None:
    """R2.8: the viewer has seen the offer once, and it has never gone."""
    viewer.events()
    told = [line for line in viewer.program.said if re.search(rf"(gone|appeared) {title}$", line)]
    assert len(told) == 1, told


def check_works(editor, viewer, title: str) -> None:
    editor.tell(f"title {title}")
    viewer.hears(f"changed {title}")
    name = viewer.ask(f"continue {title}", "continuation (.*)")[2]
    viewer.hears(rf"continue {name} \d+ {title}")
    editor.hears(f"ended {name} restored .*")


def test_it_takes_over_from_an_app(pair, agent, folder):
    """R2.8: the apps follow within a second, no offer flickers, and each app knows that an agent carries the hub."""
    editor, viewer = pair
    began = milliseconds()
    agent()
    back(pair, began)
    assert [path.name for path in folder.glob("hub.?")] == ["hub.2"]
    viewer.tell("describe").program.wait_for(r"hub: generation 2, agent \d+\.\d+\.\d+$")
    check_works(editor, viewer, "two")
    check_no_flicker(viewer, "one")


@pytest.mark.parametrize("how", LEAVES)
def test_the_next_app_is_the_hub_within_a_second(start, agent, how):
    """R2.8: and hands back when an agent returns."""
    first = agent()
    editor, viewer = start("editor", "--limit", "10", "0").ready(), start("viewer").ready()
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    left = milliseconds()
    first.signal(LEAVES[how])
    back((editor, viewer), left)
    assert first.wait() == (-signal.SIGKILL if how == "SIGKILL" else 0)
    check_works(editor, viewer, "two")
    returned = milliseconds()
    agent()
    back((editor, viewer), returned)
    check_works(editor, viewer, "three")
    check_no_flicker(viewer, "one")
    editor.end()
    viewer.end()


@pytest.mark.parametrize("how", ["comes", *LEAVES])
@pytest.mark.parametrize("stage", ["will_save", "continue"])
def test_a_continuation_goes_on(pair, agent, how, stage):
    """R3.14: when the agent takes over, leaves or dies."""
    editor, viewer = pair
    if how != "comes":
        program = agent()
        back(pair, milliseconds())
    if stage == "will_save":
        editor.ask("on_save later", "on_save later")
    else:
        viewer.tell("on_continue later")
    name = viewer.ask("continue one", "continuation (.*)")[2]
    if stage == "will_save":
        editor.hears("will_save")
    else:
        viewer.hears(rf"continue {name} \d+ one")
    moved = milliseconds()
    if how == "comes":
        agent()
    else:
        program.signal(LEAVES[how])
    back(pair, moved)
    if stage == "will_save":
        editor.tell("saved")
        viewer.hears(rf"continue {name} \d+ one")
    else:
        viewer.tell("complete yes")
    editor.hears(f"ended {name} restored .*")
    viewer.events()
    told = [line.split(" ")[1] for line in viewer.program.said if f" {name}" in line]
    assert (told.count("will_continue"), told.count("continue"), told.count("did_fail")) == (1, 1, 0), told


def test_a_stopped_agent_takes_its_place_again(pair, agent, start):
    """It is passed over while it does not answer, takes its place again when it goes on, and says who took it."""
    editor, viewer = pair
    program = agent()
    back(pair, milliseconds())
    program.stop()
    stopped = milliseconds()
    newcomer = start("newcomer")
    newcomer.hears("appeared one")
    assert float(newcomer.hears("connection ready")["at"]) - stopped < 3000
    for app in pair:
        app.hears("connection searching")
        app.hears("connection ready")
    program.signal(signal.SIGCONT)
    # Mostly the newcomer: an app of the pair may have noticed the silence just before it.
    said = program.wait_for(r"process (\d+) \(participant\) has taken the place of this agent as generation 3")
    assert "error" in said.string and int(said[1]) in [app.pid for app in (*pair, newcomer)]
    assert int(program.wait_for(CARRIES)[1]) == 4
    for app in (*pair, newcomer):
        app.hears("connection searching")
        app.hears("connection ready")
    check_works(editor, viewer, "two")
    check_no_flicker(viewer, "one")


def test_an_app_without_a_common_version_is_told_so(agent, folder):
    """The welcome names the agent; older apps get a clear error instead, and the agent stays what it is."""
    agent()
    old = wire.Connection.to(folder / "hub.1")
    about = ["com.example.old", "Old", "T", [wire.TYPE], False]
    old.send_message("hello", 1, 1, uuid.uuid4(), *about)
    name, (status, text, *_) = old.next_message()
    assert (name, status) == ("goodbye", wire.UNSUPPORTED_VERSION)
    assert text == "the hub speaks protocol 2…2, the app 1…1"
    newer = wire.Connection.to(folder / "hub.1")
    newer.send_message("hello", 9, 1, uuid.uuid4(), *about)
    name, elements = newer.next_message()
    assert (name, *elements[:2]) == ("welcome", wire.PROTOCOL, 1)
    version, capabilities, *_ = elements[3]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version) and capabilities == 0


def test_an_agent_whose_folder_is_removed_ends(agent, folder, start):
    """It may write in no other; apps meet in the new one."""
    program = agent()
    viewer = start("viewer").ready()
    moved = folder.with_name(folder.name + "-moved")
    folder.rename(moved)
    try:
        program.wait_for("ends: the runtime folder was removed")
        assert program.wait() == 1
        viewer.hears("connection searching")
        viewer.hears("connection ready")
    finally:
        for path in moved.iterdir():
            path.unlink()
        moved.rmdir()
