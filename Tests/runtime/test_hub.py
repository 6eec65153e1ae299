# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hub is killed, stopped, forked (R2.8, R3.2, R3.14; docs/decisions/numbered-generations.md)."""

from __future__ import annotations

import fcntl
import os
import random
import re
import signal
import threading
import time

import pytest

KILLS = int(os.environ.get("SEGUE_HUB_KILLS", "50"))
SEED = int(os.environ.get("SEGUE_SEED", "20250101"))


def milliseconds() -> float:
    return time.monotonic() * 1000


@pytest.fixture
def trio(start):
    """A hub's process, an editor that offers "one", a viewer that sees it."""
    hub = start("hub").ready()
    editor = start("editor", "--limit", "10", "0").ready()
    viewer = start("viewer").ready()
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    return hub, editor, viewer


def flickers(app, title: str) -> list[str]:
    return [line for line in app.program.said if re.search(rf"(gone|appeared) {title}$", line)]


def test_another_takes_over_within_a_second(trio):
    """R2.8: and the offer never goes."""
    hub, editor, viewer = trio
    killed = milliseconds()
    hub.kill()
    for app in (editor, viewer):
        app.hears("connection searching")
        assert float(app.hears("connection ready")["at"]) - killed < 1000
    editor.tell("title two")
    viewer.hears("changed two")
    viewer.events()
    assert len(flickers(viewer, "one")) == 1
    viewer.ask("continue two", "will_continue .*")
    viewer.hears("continue .* two")
    editor.hears("ended .* restored .*")
    editor.end()
    viewer.end()


def test_an_offer_whose_app_dies_with_the_hub_goes(start):
    """R2.8: kept while the next hub waits for apps to come back, and no longer."""
    hub = start("hub").ready()
    viewer, other = start("viewer").ready(), start("other").ready()
    hub.tell("offer one")
    viewer.hears("appeared one")
    other.tell("offer two")
    viewer.hears("appeared two")
    hub.kill()
    viewer.hears("gone one", 5.0)
    viewer.ask("list", "offers 1 two")


STAGES = {
    # The callback for which the continuation waits when the hub dies.
    "will_save": (
        lambda editor, viewer: editor.ask("on_save later", "on_save later"),
        lambda editor, viewer: editor.hears("will_save"),
    ),
    "continue": (
        lambda editor, viewer: viewer.tell("on_continue later"),
        lambda editor, viewer: viewer.hears("continue .* one"),
    ),
    "nothing": (lambda editor, viewer: None, lambda editor, viewer: editor.hears("ended .*")),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_continuation_outlives_its_hub(trio, stage):
    """R3.14: it goes on under the same name through the next hub."""
    hub, editor, viewer = trio
    prepare, reach = STAGES[stage]
    prepare(editor, viewer)
    name = viewer.ask("continue one", "continuation (.*)")[2]
    reach(editor, viewer)
    hub.kill()
    for app in (editor, viewer):
        app.hears("connection searching")
        app.hears("connection ready")
    if stage == "will_save":
        editor.tell("saved")
        viewer.hears(f"continue {name} .*")
    elif stage == "continue":
        viewer.tell("complete yes")
    if stage != "nothing":
        editor.hears(f"ended {name} restored .*")
    check_told_once(viewer, name)
    assert sum("ended" in line for line in editor.program.said) == 1


def check_told_once(viewer, name: str) -> None:
    """R3.2"""
    viewer.events()
    told = [line.split(" ")[1] for line in viewer.program.said if f" {name}" in line]
    assert told.count("will_continue") == 1, told
    assert told.count("continue") + told.count("did_fail") == 1, told


def test_without_a_hub_it_fails_within_two_seconds(start, folder):
    """R3.14: nobody can become the hub, since the locks of the next generations are never given up."""
    locks = [os.open(folder / f"hub.{number}.lock", os.O_RDWR | os.O_CREAT, 0o600) for number in range(2, 20)]
    for lock in locks:
        fcntl.flock(lock, fcntl.LOCK_EX)
    hub = start("hub").ready()
    editor = start("editor").ready()
    viewer = start("viewer").ready()
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    editor.ask("on_save later", "on_save later")
    name = viewer.ask("continue one", "continuation (.*)")[2]
    editor.hears("will_save")
    killed = milliseconds()
    hub.kill()
    failed = float(viewer.hears(f"did_fail {name} CONNECTION_UNAVAILABLE .*")["at"])
    assert 1900 < failed - killed < 5000  # the next deadline is that of the continuation, after 20 s
    for lock in locks:
        os.close(lock)


def test_kills_at_any_moment(start, tmp_path):
    """R2.8, R3.2, R3.14: at moments drawn from the seed, from before the offer is asked for until after the receipt."""
    chance = random.Random(SEED)
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir(mode=0o700)
        hub, editor, viewer = (start(name, folder=folder).ready() for name in ("hub", "editor", "viewer"))
        editor.ask("offer one", "offered")
        viewer.hears("appeared one")
        moment = chance.uniform(0, 0.002)
        where = f"seed {SEED}, kill {number} after {moment * 1000:.2f} ms"
        asked = milliseconds()
        threading.Timer(moment, hub.program.signal, [signal.SIGKILL]).start()
        name = viewer.ask("continue one", "continuation (.*)")[2]
        ended = viewer.hears(f"(continue|did_fail) {name} (.*)", 5.0)
        assert ended[2] == "continue" or ended[3].startswith("CONNECTION_UNAVAILABLE"), f"{where}: {ended[0]}"
        assert float(ended["at"]) - asked < 2500, where
        receipt = editor.hears(f"ended {name} (.*)", 5.0)
        assert receipt[2].startswith("restored" if ended[2] == "continue" else "failed"), f"{where}: {receipt[0]}"
        check_told_once(viewer, name)
        for app in (editor, viewer):
            app.ask("describe", r"described .*")
        editor.tell("title two")
        viewer.hears("changed two", 3.0)
        assert len(flickers(viewer, "one")) == 1, where
        editor.end()
        viewer.end()


# Stopped, and asleep for longer than anyone waits.


@pytest.fixture
def stopped(trio):
    """The trio, whose hub has been stopped; it is woken in the end."""
    hub, editor, viewer = trio
    hub.program.stop()
    yield hub, editor, viewer, milliseconds()
    hub.program.signal(signal.SIGCONT)


def test_a_newcomer_replaces_a_stopped_hub(start, stopped, folder):
    """Within its 500 ms of waiting; the others follow, and the old hub steps down when it wakes."""
    hub, editor, viewer, since = stopped
    newcomer = start("newcomer")
    newcomer.hears("appeared one")
    assert float(newcomer.hears("connection ready")["at"]) - since < 3000
    for app in (editor, viewer):
        app.hears("connection searching", 2.0)
        app.hears("connection ready", 2.0)
    assert (folder / "hub.2").exists()
    newcomer.tell("offer new")
    viewer.hears("appeared new", 2.0)
    hub.program.signal(signal.SIGCONT)
    # The app of the old hub comes along, and sees and is seen.
    hub.hears("appeared new", 2.0)
    hub.hears("connection ready", 2.0)
    hub.tell("offer old")
    for app in (newcomer, viewer, editor):
        app.hears("appeared old", 2.0)
        assert len(flickers(app, "one")) <= 1
    assert not (folder / "hub.1").exists()


def test_what_becomes_current_while_the_hub_is_stopped_is_seen(stopped):
    """Nobody comes anew: the app that has something to say notices that nobody listens."""
    _, editor, viewer, since = stopped
    editor.ask("offer two", "offered")
    assert float(viewer.hears("appeared two", 4.0)["at"]) - since < 2500
    # Its withdrawal may have come through before the hub stood still.
    if not any(line.endswith("gone one") for line in viewer.program.said):
        viewer.hears("gone one", 4.0)


def test_a_continuation_outlives_a_stopped_hub(stopped):
    """R3.14"""
    hub, editor, viewer, since = stopped
    name = viewer.ask("continue one", "continuation (.*)")[2]
    ended = viewer.hears(f"(continue|did_fail) {name} .*", 4.0)
    assert float(ended["at"]) - since < 2500
    hub.program.signal(signal.SIGCONT)
    hub.hears("connection ready", 3.0)
    check_told_once(viewer, name)
    editor.hears(f"ended {name} .*")


# Forked: the child must not keep anything of the hub alive.


def links(pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    return [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)]


def test_a_fork_of_the_hub_keeps_nothing_alive(start, folder):
    """The child holds no lock, socket or connection, every call in it says FORKED, and the next hub takes over."""
    hub = start("hub").ready()
    editor, viewer = start("editor").ready(), start("viewer").ready()
    editor.ask("offer one", "offered")
    hub.ask("offer hub's", "offered")
    viewer.hears("appeared hub's")
    hub.tell("fork")
    # Parent and child speak in no order.
    said = [hub.hears(r"child (\d+)|in the child:( FORKED){6}|the child has freed") for _ in range(3)]
    child = next(int(line[2]) for line in said if line[2])
    try:
        kept = links(child)
        assert not [link for link in kept if link.startswith("socket:") or str(folder) in link], kept
        assert any(link.startswith("socket:") for link in links(hub.pid))
        os.kill(hub.pid, signal.SIGKILL)
        killed = milliseconds()
        assert float(viewer.hears("connection ready", 3.0)["at"]) - killed < 1000
        viewer.hears("gone hub's", 5.0)
        viewer.ask("list", "offers 1 one")
    finally:
        os.kill(child, signal.SIGKILL)


def test_twenty_openings_at_once_make_one_device(start):
    """Whoever loses the race for a generation finds the winner: all see all."""
    apps = [start(f"app{number}") for number in range(20)]
    for number, app in enumerate(apps):
        app.tell(f"offer {number}")
    for number, app in enumerate(apps):
        for other in range(len(apps)):
            if other != number and not any(line.endswith(f"appeared {other}") for line in app.program.said):
                app.hears(f"appeared {other}", 10.0)
