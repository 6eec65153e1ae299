# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The offers that the app of each process sees (R1.11, R1.12, R2.6, R2.7, R2.8)."""

from __future__ import annotations

import pytest


def test_an_offer_appears_changes_and_goes(start):
    """R2.7, R2.6: told to the other app, never to its own."""
    editor, viewer = start("editor").ready(), start("viewer").ready()
    editor.tell("offer one")
    viewer.hears("appeared one")
    editor.tell("title two")
    viewer.hears("changed two")
    editor.tell("resign")
    viewer.hears("gone two")
    editor.tell("current")
    viewer.hears("appeared two")
    editor.tell("invalidate")
    viewer.hears("gone two")
    assert not any("two" in line for line in editor.events() if line.startswith(("appeared", "changed", "gone")))
    viewer.ask("list", "offers 0 ")
    editor.end()
    viewer.end()


def test_the_list_is_frontmost_first(start):
    """R1.12: the most recently made current, or brought to the foreground, comes first."""
    viewer = start("viewer").ready()
    editors = {name: start(name).ready() for name in ("a", "b", "c")}
    for name, editor in editors.items():
        editor.tell(f"offer {name}")
        viewer.hears(f"appeared {name}")
    viewer.ask("list", r"offers 3 c\|b\|a")
    editors["a"].tell("foreground y")
    viewer.hears("changed a")
    viewer.ask("list", r"offers 3 a\|c\|b")
    editors["b"].tell("current")
    viewer.hears("changed b")
    viewer.ask("list", r"offers 3 b\|a\|c")
    # Those who come later are told the same.
    start("late").ready().ask("list", r"offers 3 b\|a\|c")


def test_an_app_sees_what_it_could_continue_and_a_chooser_sees_all(start):
    """R2.6: team and type decide, for all but choosers."""
    chooser = start("dock", "--chooser", types=()).ready()
    stranger = start("stranger", team="OTHER").ready()
    uninterested = start("player", types=("com.example.playing",)).ready()
    viewer, editor = start("viewer").ready(), start("editor").ready()
    editor.tell("offer one")
    viewer.hears("appeared one")
    chooser.hears("appeared one")
    for app in (stranger, uninterested):
        app.ask("list", "offers 0 ")
        assert not any("one" in line for line in app.events())


def test_a_device_may_offer_its_frontmost_only(start):
    """R1.12, the setting."""
    viewer = start("viewer", "--frontmost").ready()
    a, b = start("a").ready(), start("b").ready()
    a.tell("offer a")
    viewer.hears("appeared a")
    b.tell("offer b")
    viewer.hears("appeared b")
    viewer.ask("list", "offers 1 b")
    b.tell("resign")
    viewer.hears("appeared a")
    viewer.ask("list", "offers 1 a")


@pytest.mark.parametrize("how", ["kill", "close"])
def test_the_offer_of_an_app_that_ends_goes_at_once(start, how):
    """R1.11: whether it leaves in order or is killed."""
    viewer, editor = start("viewer").ready(), start("editor").ready()
    editor.tell("offer one")
    viewer.hears("appeared one")
    if how == "kill":
        editor.kill()
    else:
        editor.end()
    viewer.hears("gone one", 5.0)


def test_an_expired_offer_vanishes(start):
    """R1.6"""
    viewer, editor = start("viewer").ready(), start("editor").ready()
    editor.tell("offer one", "expire 0.7")
    viewer.hears("appeared one")
    viewer.hears("gone one", 10.0)


def test_changes_are_told_at_most_each_100_ms_and_the_last_one_always(start):
    """R2.8"""
    viewer, editor = start("viewer").ready(), start("editor").ready()
    editor.tell("offer change 0")
    began = float(viewer.hears("appeared change 0")["at"])
    editor.tell("churn 20000")
    ended = float(viewer.hears("changed change 20000")["at"])
    told = [line for line in viewer.program.said if "changed" in line]
    assert 1 <= len(told) <= (ended - began) / 100 + 2
    assert not any("gone" in line for line in viewer.program.said)


def test_ten_processes_see_each_other(start):
    """R2.6, R2.7: nine offers each, none of them one's own, whoever opened first."""
    names = [f"app{number}" for number in range(10)]
    apps = {name: start(name) for name in names}
    for name, app in apps.items():
        app.ready().tell(f"offer {name}")
    for name, app in apps.items():
        for other in set(names) - {name}:
            seen = app.program.said
            if not any(line.endswith(f"appeared {other}") for line in seen):
                app.hears(f"appeared {other}")
    for name, app in apps.items():
        listed = app.ask("list", r"offers 9 (?P<all>.*)")["all"].split("|")
        assert sorted(listed) == sorted(set(names) - {name})
    apps.pop("app5").kill()
    for app in apps.values():
        app.hears("gone app5")
    for app in apps.values():
        assert not any("gone" in line and not line.endswith("app5") for line in app.program.said)
    for app in apps.values():
        app.tell("handles").hears(r"handles \d+")
