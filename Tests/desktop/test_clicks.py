# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clicks that ask the user about text, or fail, or consent to a push; locked screens; and an agent that is busy."""

from __future__ import annotations

import queue
import signal
import time
from pathlib import Path

import pytest
from agents import AgentDevice
from desk import CAPABILITIES, Desk, Notes, Server, answers, begin, offers
from participants import Participant


def asked_about_text(desk: Desk, server: Server, notes: Notes, title: str) -> int:
    offers(notes, title)
    server.says("ActionInvoked", server.shows()["id"], "default")
    said = [server.next(), server.next()]  # the click closes its notification
    notice = next(each["notify"] for each in said if "notify" in each)
    assert notice["summary"] == f"'{title}' has text that is not saved"
    id: int = notice["id"]
    return id


def test_a_click_beside_the_button_is_no_consent(desk: Desk, server: Server, notes: Notes, refusals: Path) -> None:
    """R13.7"""
    (refusals / "unsaved").touch()
    begin(desk, server)
    assert desk.program is not None
    id = asked_about_text(desk, server, notes, "budget.md")
    for action in ("default", "", "accept"):
        server.says("ActionInvoked", id, action)
    server.stays_quiet()
    assert "request continue-without-text" not in desk.heard
    server.says("ActionInvoked", id, "without-text")
    desk.program.wait_for("^request continue-without-text")


def test_questions_that_nobody_answers_make_room(desk: Desk, server: Server, notes: Notes, refusals: Path) -> None:
    """A server may not say that they have vanished."""
    (refusals / "unsaved").touch()
    begin(desk, server)
    asked = [asked_about_text(desk, server, notes, f"draft {number}") for number in range(4)]
    offers(notes, "letter")
    server.says("ActionInvoked", server.shows()["id"], "default")
    said = [server.next() for _ in range(3)]
    assert {"close": asked[0]} in said
    assert any("has text that is not saved" in str(each) for each in said)


def test_a_question_that_vanishes_before_the_answer_makes_room(
    desk: Desk, server: Server, notes: Notes, refusals: Path
) -> None:
    (refusals / "unsaved").touch()
    begin(desk, server)
    assert desk.program is not None
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.order(hangs=True)
    server.says("ActionInvoked", id, "default")
    said = [server.next(), server.next()]
    question = next(each["notify"]["id"] for each in said if "notify" in each)
    server.says("NotificationClosed", question, 2)
    answers(server)
    server.is_asked_nothing()
    server.says("ActionInvoked", question, "without-text")
    server.stays_quiet()
    assert "request continue-without-text" not in desk.heard


def test_a_question_does_not_stay_on_a_locked_screen(desk: Desk, server: Server, notes: Notes, refusals: Path) -> None:
    """R13.7: nobody is there to agree."""
    (refusals / "unsaved").touch()
    begin(desk, server)
    assert desk.program is not None
    id = asked_about_text(desk, server, notes, "budget.md")
    desk.session(LockedHint=True)
    assert server.closes_at_once() == id
    server.says("ActionInvoked", id, "without-text")
    server.stays_quiet()
    assert "request continue-without-text" not in desk.heard


def test_a_question_that_comes_late_does_not_stay_on_a_locked_screen(
    desk: Desk, server: Server, notes: Notes, refusals: Path
) -> None:
    (refusals / "unsaved").touch()
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.order(hangs=True)
    server.says("ActionInvoked", id, "default")
    said = [server.next(), server.next()]
    question = next(each["notify"]["id"] for each in said if "notify" in each)
    desk.session(LockedHint=True)
    answers(server)
    assert server.closes_at_once() == question


@pytest.mark.parametrize("refusal", ["unsaved", "lost"])
def test_a_click_that_the_agent_answers_on_a_locked_screen_shows_nothing(
    desk: Desk, server: Server, notes: Notes, refusals: Path, refusal: str
) -> None:
    """Neither the question about text nor the failure, which have titles."""
    (refusals / refusal).touch()
    begin(desk, server)
    assert desk.program is not None
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.is_asked_nothing()
    (refusals / "slow").touch()
    server.says("ActionInvoked", id, "default")
    desk.program.wait_for("^launch$")
    assert server.closes() == id
    desk.session(LockedHint=True)
    (refusals / "slow").unlink()
    desk.program.wait_for("a click continued nothing: ")
    server.is_asked_nothing()
    desk.session(LockedHint=False)
    assert server.shows()["summary"] == "Continue 'budget.md'"


@pytest.mark.parametrize("change", ["lock", "end"])
def test_the_failure_of_a_click_stays_neither_on_a_locked_screen_nor_after_the_end(
    desk: Desk, server: Server, notes: Notes, refusals: Path, change: str
) -> None:
    (refusals / "lost").touch()
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.says("ActionInvoked", id, "default")
    said = [server.next(), server.next()]
    assert {"close": id} in said
    failure = next(each["notify"] for each in said if "notify" in each)
    assert failure["summary"] == "'budget.md' is not continued"
    server.is_asked_nothing()
    if change == "lock":
        desk.session(LockedHint=True)
        assert server.closes_at_once() == failure["id"]
    else:
        assert desk.program is not None
        desk.program.signal(signal.SIGTERM)
        assert server.closes() == failure["id"]


def test_a_lock_closes_the_failures_that_later_ones_have_displaced(
    desk: Desk, server: Server, notes: Notes, refusals: Path
) -> None:
    """Four are remembered: the fifth closes the first."""
    (refusals / "lost").touch()
    begin(desk, server)
    failures = []
    for number in range(5):
        offers(notes, f"draft {number}")
        id = server.shows()["id"]
        server.is_asked_nothing()
        server.says("ActionInvoked", id, "default")
        said = [server.next() for _ in range(3 if number == 4 else 2)]
        assert {"close": id} in said and (number < 4 or {"close": failures[0]} in said)
        failures.append(next(each["notify"]["id"] for each in said if "notify" in each))
    desk.session(LockedHint=True)
    assert {server.closes() for _ in range(4)} == set(failures[1:])


def test_a_locked_screen_keeps_none_while_the_agent_is_asked_about_the_next(
    desk: Desk, server: Server, notes: Notes, laptop: AgentDevice, refusals: Path
) -> None:
    begin(desk, server)
    assert desk.program is not None
    offers(notes, "budget.md")
    id = server.shows()["id"]
    (refusals / "slow").touch()
    desk.app(laptop, "others").tell("offer film").hears("offered")
    desk.program.wait_for("^request route")  # that about the budget
    desk.program.wait_for("^request route")
    desk.session(LockedHint=True)
    assert server.closes() == id
    (refusals / "slow").unlink()


def test_an_agent_that_is_busy_for_one_offer_does_not_delay_the_next_one(
    desk: Desk, server: Server, notes: Notes, refusals: Path
) -> None:
    """It is asked again after pauses that grow, here one of 16 s."""
    (refusals / "busy").touch()
    begin(desk, server)
    assert desk.program is not None
    offers(notes, "budget.md")
    for _ in range(5):
        desk.program.wait_for("^request route")
    (refusals / "busy").unlink()
    offers(notes, "letter")
    assert server.shows(12)["summary"] == "Continue 'letter'"


def test_what_has_vanished_does_not_come_again_by_switching(
    desk: Desk, server: Server, notes: Notes, laptop: AgentDevice
) -> None:
    """One that has vanished by itself comes at the next arrival, not when the user there goes between two windows."""
    other = desk.app(laptop, "notes")
    begin(desk, server)
    offers(notes, "budget.md")
    server.says("NotificationClosed", server.shows()["id"], 1)
    other.tell("offer letter").hears("offered")
    server.says("NotificationClosed", server.shows()["id"], 1)
    for _ in range(2):
        for window in (notes[1], other):
            window.tell("current")
            server.stays_quiet()
    desk.arrive()
    server.shows()


def test_what_has_vanished_does_not_come_again_when_its_offer_does(desk: Desk, server: Server, notes: Notes) -> None:
    """The user there goes to a window that offers nothing, and back."""
    here, there = notes
    begin(desk, server)
    offers(notes, "budget.md")
    server.says("NotificationClosed", server.shows()["id"], 1)
    for _ in range(2):
        there.tell("resign")
        here.hears("gone budget.md")
        server.stays_quiet()
        there.tell("current")
        here.hears("appeared budget.md")
        server.stays_quiet()
    desk.arrive()
    server.shows()


def pushed(desk: Desk, server: Server, there: Participant) -> int:
    """Pushes what the laptop offers until somebody is there to be asked, and returns the notification that asks."""
    while True:
        there.tell(f"push_to_device {desk.device.device('desk')['device'].hex}")
        try:
            id: int = server.shows(10)["id"]
        except queue.Empty:
            there.hears("push_to_device DECLINED.*")
        else:
            return id


def test_a_server_that_dies_of_a_push_gets_it_again_after_pauses_that_grow(
    desk: Desk, server: Server, notes: Notes
) -> None:
    """It was asked again as soon as it had been started again."""
    here, there = notes
    desk.begin()
    there.tell("offer letter").hears("offered")
    here.hears("appeared letter")
    pushed(desk, server, there)
    for pause in (0, 1, 2):
        began = time.monotonic()
        server.program.kill()
        server = Server(desk, "--mute", *CAPABILITIES)
        assert "letter" in server.shows()["summary"]
        assert time.monotonic() - began >= pause


def test_a_number_of_a_former_server_is_no_consent_to_a_push(desk: Desk, server: Server, notes: Notes) -> None:
    """R3.15: the new server's notification of that number is of another program."""
    here, there = notes
    desk.begin()
    there.tell("offer letter").hears("offered")
    here.hears("appeared letter")
    id = pushed(desk, server, there)
    again = Server(desk, "body")
    again.program.wait_for("^asked")
    assert server.closes() == id
    again.is_asked_nothing()
    again.says("ActionInvoked", id, "accept")
    again.is_asked_nothing()  # an answer would close it
