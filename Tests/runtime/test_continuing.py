# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Continuations between processes (R2.2 to R2.4, R3)."""

from __future__ import annotations

import pytest

ID = "(?P<id>[0-9a-f]{32})"


def offering(start, *options: str):
    """An editor that offers "one", and a viewer that sees it; the hub is neither's."""
    start("hub").ready()
    editor = start("editor", "--limit", "10", "0", *options).ready()
    viewer = start("viewer").ready()
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    return editor, viewer


@pytest.fixture
def pair(start):
    """The editor has the usual 5 s to save: only a test of that time waits for it."""
    return offering(start)


@pytest.fixture
def hurried(start):
    """The same, and the editor has 300 ms to save."""
    return offering(start, "--limit", "8", "300")


def begin(viewer, text: str = "one") -> str:
    """R3.1, R3.2: will_continue comes first, under the name that was given. Returns that name."""
    viewer.tell(f"continue {text}")
    name = viewer.hears(f"continuation {ID}")["id"]
    viewer.hears(f"will_continue {name}")
    return name


def ended_once(viewer, name: str) -> bool:
    """R3.2: exactly one of continue and did_fail."""
    viewer.events()
    words = [line.split(" ")[1] for line in viewer.program.said if f" {name}" in line]
    return words.count("continue") + words.count("did_fail") == 1 and words.count("will_continue") == 1


def test_state_is_pulled_and_saved_and_the_origin_gets_its_receipt(pair):
    """R2.2, R2.9, R3.2, R3.6"""
    editor, viewer = pair
    editor.ask("payload 1000", "payload set")
    name = begin(viewer)
    editor.hears("will_save")
    viewer.hears(rf"continue {name} 10\d\d one")
    editor.hears(f"was_continued {name} restored OK fresh ")
    editor.hears(f"ended {name} restored OK fresh ")
    # R2.9: saved once for each pull.
    name = begin(viewer)
    editor.hears(f"ended {name} restored OK fresh ")
    assert sum("will_save" in line for line in editor.program.said) == 2
    assert ended_once(viewer, name)
    editor.end()
    viewer.end()


def test_an_app_that_declines_moves_no_payload(pair):
    """R3.7: the origin sees the reason, and is not asked to save."""
    editor, viewer = pair
    viewer.tell("decline the state is too new")
    name = begin(viewer)
    viewer.hears(f"did_fail {name} DECLINED the state is too new")
    editor.hears(f"ended {name} declined DECLINED fresh the state is too new")
    assert not any("will_save" in line for line in editor.program.said)
    assert ended_once(viewer, name)


def test_not_handled_is_declined(pair):
    """R3.4, R3.6: was_continued does not come."""
    editor, viewer = pair
    viewer.tell("on_continue no")
    name = begin(viewer)
    viewer.hears(f"continue {name} .*")
    editor.hears(f"ended {name} declined DECLINED fresh .*")
    assert not any("was_continued" in line for line in editor.program.said)


@pytest.mark.parametrize(("refusing", "outcome"), [(0, "restored OK"), (2, "failed HANDOFF_FAILED")])
def test_every_object_is_restored_before_the_origin_hears_of_it(pair, refusing, outcome):
    """R3.4, R3.6: two objects refuse, and it counts as failed."""
    editor, viewer = pair
    viewer.tell(f"restoring 3 {refusing}")
    name = begin(viewer)
    viewer.hears(f"continue {name} .*")
    for number in range(3):
        viewer.hears(f"restore {number}")
    editor.hears(f"ended {name} {outcome} fresh .*")
    assert any("was_continued" in line for line in editor.program.said) == (refusing == 0)


def test_continue_may_be_answered_later(pair):
    """R3.4: with objects to restore at that time."""
    editor, viewer = pair
    viewer.tell("on_continue later")
    name = begin(viewer)
    viewer.hears(f"continue {name} .*")
    editor.events()
    assert not any("ended" in line for line in editor.program.said)
    viewer.tell("restoring 2 0", "complete yes")
    viewer.hears("restore 1")
    editor.hears(f"ended {name} restored OK fresh ")
    viewer.ask("complete yes", "error .* INVALID_STATE: .*")


def test_an_app_that_never_answers_is_answered_for_by_the_deadline(pair):
    """R3.9, A20"""
    editor, viewer = pair
    viewer.tell("on_continue later")
    name = begin(viewer, "one/2000")
    viewer.hears(f"continue {name} .*")
    editor.hears(f"ended {name} failed REMOTE_APPLICATION_TIMED_OUT fresh .*", 10.0)
    assert ended_once(viewer, name)
    # Both ends get the same result of an answer that comes too late, and of the next one.
    for _ in range(2):
        viewer.ask("complete yes", "error .* REMOTE_APPLICATION_TIMED_OUT: .*deadline.*")


def test_a_second_continuation_cancels_the_first(pair):
    """R3.3"""
    editor, viewer = pair
    editor.ask("on_save later", "on_save later")
    first = begin(viewer)
    editor.hears("will_save")
    second = begin(viewer)
    assert any(f"did_fail {first} USER_CANCELLED" in line for line in viewer.program.said)
    editor.tell("saved")
    viewer.hears(f"continue {second} .*")
    editor.hears(f"ended {second} restored .*")
    assert any(f"ended {first} failed USER_CANCELLED" in line for line in editor.program.said)
    assert ended_once(viewer, first)
    assert ended_once(viewer, second)


def test_cancelling_ends_it(pair):
    """R3.9; and once it has ended, it is of no effect."""
    editor, viewer = pair
    editor.ask("on_save later", "on_save later")
    name = begin(viewer)
    editor.hears("will_save")
    viewer.tell("cancel", "cancel")
    viewer.hears(f"did_fail {name} USER_CANCELLED .*")
    editor.hears(f"ended {name} failed USER_CANCELLED .*")
    editor.tell("saved")
    viewer.tell("cancel")
    assert ended_once(viewer, name)


@pytest.mark.parametrize("answer", ["saved", "saved_by_thread"])
def test_will_save_may_be_answered_later(pair, answer):
    """R2.2: by whatever thread; a second answer is an error."""
    editor, viewer = pair
    editor.ask("on_save later", "on_save later")
    name = begin(viewer)
    editor.hears("will_save")
    editor.tell(answer)
    viewer.hears(f"continue {name} .*")
    editor.hears(f"ended {name} restored OK fresh ")
    editor.ask("saved", "error .* INVALID_STATE: .*")


def test_an_origin_that_never_saved_times_out(hurried):
    """R2.4: there is no older snapshot. The limit is lowered to 300 ms."""
    editor, viewer = hurried
    editor.ask("on_save later", "on_save later")
    name = begin(viewer)
    viewer.hears(f"did_fail {name} REMOTE_APPLICATION_TIMED_OUT .*", 10.0)
    editor.hears(f"ended {name} failed REMOTE_APPLICATION_TIMED_OUT .*")
    editor.tell("saved")  # too late: fine, and of no effect
    assert ended_once(viewer, name)
    assert not any("error" in line for line in editor.events())


def test_the_last_snapshot_stands_in_and_is_called_stale(hurried):
    """R2.4"""
    editor, viewer = hurried
    name = begin(viewer)
    editor.hears(f"ended {name} restored OK fresh ")
    editor.tell("on_save later").ask("dirty", "dirty")
    name = begin(viewer)
    viewer.hears(f"continue {name} .*", 10.0)
    editor.hears(f"ended {name} restored OK stale the origin did not save in time")


def test_it_has_one_deadline(hurried):
    """R3.9, A20: 20 s by default; here 200 ms, which is before the origin's 300."""
    editor, viewer = hurried
    editor.ask("on_save later", "on_save later")
    name = begin(viewer, "one/200")
    viewer.hears(f"did_fail {name} REMOTE_APPLICATION_TIMED_OUT .*", 10.0)
    editor.hears(f"ended {name} failed .*")


def test_an_origin_that_dies_meanwhile_ends_it(pair):
    """R3.2"""
    editor, viewer = pair
    editor.ask("on_save later", "on_save later")
    name = begin(viewer)
    editor.hears("will_save")
    editor.kill()
    viewer.hears(f"did_fail {name} CONNECTION_UNAVAILABLE .*", 10.0)
    assert ended_once(viewer, name)


def test_a_receiver_that_dies_meanwhile_is_an_outcome_too(pair):
    """R3.6: nobody knows whether it was restored."""
    editor, viewer = pair
    viewer.tell("on_continue later")
    name = begin(viewer)
    viewer.hears(f"continue {name} .*")
    viewer.kill()
    editor.hears(f"ended {name} unknown .*", 2.0)


def test_closing_an_app_ends_its_continuation_before_it_returns(pair):
    """R3.14"""
    editor, viewer = pair
    editor.ask("on_save later", "on_save later")
    name = begin(viewer)
    editor.hears("will_save")
    viewer.ask("close", "closed")
    assert any(f"did_fail {name} CANCELLED" in line for line in viewer.program.said)
    editor.hears(f"ended {name} failed CANCELLED .*")
    viewer.end()


def test_the_origin_that_closes_ends_it(pair):
    editor, viewer = pair
    editor.ask("on_save later", "on_save later")
    name = begin(viewer)
    editor.hears("will_save")
    editor.ask("close", "closed")
    assert any(f"ended {name} " in line for line in editor.program.said)
    viewer.hears(f"did_fail {name} .*", 2.0)
    editor.end()


def test_what_was_continued_is_the_receivers_own(pair):
    """R3.12: it becomes current, is offered, and goes back."""
    editor, viewer = pair
    name = begin(viewer)
    editor.hears(f"ended {name} restored .*")
    editor.tell("resign")
    viewer.ask("keep two", "offered")
    editor.hears("appeared two")
    name = begin(editor, "two")
    editor.hears(f"continue {name} .* two")
    viewer.hears(f"was_continued {name} restored OK fresh ")
    editor.end()
    viewer.end()


def test_the_state_comes_back(pair):
    """R3.10: as it is where it was continued, saved there; then that app dies."""
    editor, viewer = pair
    editor.ask("resume_back", "resume_back NOT_FOUND")
    name = begin(viewer)
    editor.hears(f"ended {name} restored .*")
    viewer.ask("write two", "written")
    editor.tell("resume_back")
    viewer.hears("will_save")
    editor.hears("did_resume_back fresh two")
    editor.hears("resumed_back OK")
    viewer.hears("was_continued .* restored OK fresh ")
    viewer.hears("changed two")
    # Its user writes on, and the origin wants that, too; but it cannot save any more.
    viewer.ask("on_save later", "on_save later")
    editor.tell("resume_back")
    viewer.hears("will_save")
    viewer.kill()
    editor.hears("resumed_back CONNECTION_UNAVAILABLE")
    editor.tell("resume_back")
    editor.hears("resumed_back CONNECTION_UNAVAILABLE")
    editor.end()


def test_a_payload_of_16_mib_arrives(start):
    """Section 9: user_info at its hard limit; the hub is in a third process, and holds none of it."""
    start("hub").ready()
    editor = start("editor", "--limit", "2", str(16 * 1024 * 1024), "--limit", "10", "0").ready()
    viewer = start("viewer").ready()
    editor.tell("offer one")
    viewer.hears("appeared one")
    editor.ask(f"payload {16 * 1024 * 1024 - 11}", "payload set")  # and what the dictionary around it takes
    name = begin(viewer)
    viewer.hears(f"continue {name} {16 * 1024 * 1024} one")
    editor.hears(f"ended {name} restored OK fresh ")


def test_a_payload_over_the_limit_is_the_senders_error(pair):
    """Section 9: at the setter, naming the largest entries; what was offered before still is."""
    editor, viewer = pair
    editor.ask("payload 300000", r"error .* USER_INFO_TOO_LARGE: .*data.*")
    name = begin(viewer)
    viewer.hears(f"continue {name} .*")
