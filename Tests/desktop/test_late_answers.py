# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notification servers that answer late, or never, or are replaced meanwhile; and clicks that cross what is closed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from agents import AgentDevice
from desk import CAPABILITIES, Desk, Notes, Server, answers, begin, offers, until

ANSWER = 5.5  # seconds after which a server has not answered for a while


def dismissed(desk: Desk) -> Path:
    return desk.state / "segue-desktop" / "dismissed"


@pytest.fixture
def replacing(desk: Desk, server: Server, notes: Notes) -> int:
    """A notification of a budget, which the server is asked to replace by one of a letter; it has not answered yet."""
    begin(desk, server)
    offers(notes, "budget.md")
    id: int = server.shows()["id"]
    server.order(hangs=True)
    offers(notes, "letter")
    assert server.shows()["replaces"] == id
    return id


def test_a_click_before_the_answer_is_for_what_was_seen(server: Server, notes: Notes, replacing: int) -> None:
    server.says("ActionInvoked", replacing, "default")
    assert server.shows()["summary"] == "'budget.md' is not continued"
    answers(server)
    server.stays_quiet()  # what has taken its place is not closed by the click
    server.says("ActionInvoked", replacing, "default")
    notes[0].hears(r"continue \w+ \d+ letter")


def test_what_is_closed_before_the_answer_is_what_was_seen(
    desk: Desk, server: Server, notes: Notes, replacing: int
) -> None:
    server.says("NotificationClosed", replacing, 2)
    until(dismissed(desk).exists)
    answers(server)
    server.is_asked_nothing()  # the letter was not dismissed
    server.says("ActionInvoked", replacing, "default")
    notes[0].hears(r"continue \w+ \d+ letter")


def test_what_expires_before_the_answer_leaves_what_comes(server: Server, notes: Notes, replacing: int) -> None:
    server.says("NotificationClosed", replacing, 1)
    answers(server)
    server.is_asked_nothing()
    server.says("ActionInvoked", replacing, "default")
    notes[0].hears(r"continue \w+ \d+ letter")


def test_what_cannot_be_replaced_is_closed(server: Server, notes: Notes, replacing: int) -> None:
    """It says what is no longer so. What the server has refused is shown a second later."""
    answers(server, False)
    assert server.closes_at_once() == replacing
    notice = server.shows()
    assert (notice["replaces"], notice["summary"]) == (0, "Continue 'letter'")


@pytest.fixture
def first(desk: Desk, server: Server, notes: Notes) -> int:
    """A notification for which the server has not answered yet."""
    begin(desk, server)
    server.order(hangs=True, last=200)  # a server that takes its place uses none of its numbers
    offers(notes, "budget.md")
    id: int = server.shows()["id"]
    return id


def test_one_that_is_answered_for_late_is_closed_with_its_offer(server: Server, notes: Notes, first: int) -> None:
    time.sleep(ANSWER)
    answers(server)
    notes[1].tell("invalidate")
    assert server.closes() == first


def test_one_that_is_answered_for_late_is_clicked(server: Server, notes: Notes, first: int) -> None:
    time.sleep(ANSWER)
    answers(server)
    server.says("ActionInvoked", first, "default")
    notes[0].hears(r"continue \w+ \d+ budget.md")


def given_up(desk: Desk, server: Server, notes: Notes) -> tuple[int, int]:
    """Returns the numbers of a notification that has no answer at the next arrival, and of the one shown then."""
    desk.begin()
    server.program.wait_for("^asked")
    offers(notes, "budget.md")
    server.order(hangs=True)
    desk.arrive()
    former: int = server.shows()["id"]
    time.sleep(ANSWER)
    desk.arrive()
    id: int = server.shows()["id"]
    return former, id


def test_one_that_is_never_answered_for_is_shown_again_at_an_arrival(desk: Desk, server: Server, notes: Notes) -> None:
    """The late answer for the former one closes it."""
    former, id = given_up(desk, server, notes)
    assert id != former
    server.says("ActionInvoked", former, "other")  # a click beside what can be clicked
    answers(server)
    assert server.closes_at_once() == former
    server.is_asked_nothing()
    server.says("ActionInvoked", id, "default")
    notes[0].hears(r"continue \w+ \d+ budget.md")


def test_one_that_was_given_up_is_clicked(desk: Desk, server: Server, notes: Notes) -> None:
    """The server has shown it, and answers after the arrival that has given it up."""
    former, _ = given_up(desk, server, notes)
    server.says("ActionInvoked", former, "default")
    answers(server)
    assert server.closes() == former
    notes[0].hears(r"continue \w+ \d+ budget.md")


def test_the_end_of_the_program_closes_what_the_server_has_not_answered_for(
    desk: Desk, server: Server, first: int
) -> None:
    assert desk.program is not None
    desk.program.stop()
    answers(server)
    server.order(reaches=True)  # the answer waits for the program, as does the signal
    assert server.next() == {"reached": True}
    desk.program.signal(signal.SIGTERM)
    desk.program.signal(signal.SIGCONT)
    assert server.closes() == first
    assert desk.program.wait() == 0


def test_the_end_of_the_program_closes_what_is_shown(desk: Desk, server: Server, notes: Notes) -> None:
    begin(desk, server)
    assert desk.program is not None
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.is_asked_nothing()
    desk.program.signal(signal.SIGTERM)
    assert server.closes() == id
    assert desk.program.wait() == 0


def test_a_server_that_hangs_delays_the_end_of_the_program_for_half_a_second(desk: Desk, first: int) -> None:
    assert desk.program is not None
    began = time.monotonic()
    desk.program.signal(signal.SIGTERM)
    assert desk.program.wait() == 0
    assert 0.5 <= time.monotonic() - began < 5


def test_one_dismissed_before_the_answer_never_comes_again(desk: Desk, server: Server, first: int) -> None:
    server.says("NotificationClosed", first, 2)
    answers(server)
    until(dismissed(desk).exists)
    desk.arrive()
    server.stays_quiet()


def test_one_clicked_before_the_answer_is_continued(server: Server, notes: Notes, first: int) -> None:
    server.says("ActivationToken", first, "token-1")
    server.says("ActionInvoked", first, "default")
    server.is_asked_nothing()
    answers(server)
    notes[0].hears(r"continue \w+ \d+ budget.md")
    notes[0].hears("token token-1")
    assert server.closes() == first


def test_a_locked_screen_keeps_none_that_comes_late(desk: Desk, server: Server, notes: Notes, first: int) -> None:
    """It is closed with the answer, and not with the next look, which may be a second away."""
    for number in range(5):
        notes[1].tell(f"title draft {number}")
    notes[0].hears("changed draft 4")
    desk.session(LockedHint=True)
    answers(server)
    assert server.closes_at_once() == first


def test_one_that_is_replaced_does_not_stay_on_a_locked_screen(desk: Desk, server: Server, replacing: int) -> None:
    desk.session(LockedHint=True)
    assert server.closes() == replacing
    answers(server)
    assert server.closes_at_once() == replacing
    server.is_asked_nothing()


def test_one_dismissed_before_a_lock_and_before_the_answer_never_comes_again(
    desk: Desk, server: Server, first: int
) -> None:
    server.says("NotificationClosed", first, 2)
    desk.session(LockedHint=True)
    answers(server)
    assert server.closes_at_once() == first
    until(dismissed(desk).exists)
    desk.session(LockedHint=False)
    server.stays_quiet()


def test_one_that_is_replaced_during_a_lock_comes_when_it_is_unlocked(
    desk: Desk, server: Server, notes: Notes, replacing: int
) -> None:
    """It had the number of the one that was closed already."""
    desk.session(LockedHint=True)
    assert server.closes() == replacing
    desk.session(LockedHint=False)
    answers(server)
    assert server.closes() == replacing
    notice = server.shows()
    assert (notice["replaces"], notice["summary"]) == (0, "Continue 'letter'")
    server.says("ActionInvoked", notice["id"], "default")
    notes[0].hears(r"continue \w+ \d+ letter")


def test_what_the_server_refuses_is_shown_again_after_pauses_that_grow(
    desk: Desk, server: Server, notes: Notes
) -> None:
    begin(desk, server)
    server.order(refuses=True)
    began = time.monotonic()
    offers(notes, "budget.md")
    for _ in range(3):
        server.shows()
    assert time.monotonic() - began >= 3  # 1 s, and 2 s
    server.order(refuses=False)
    server.says("ActionInvoked", server.shows()["id"], "default")
    notes[0].hears(r"continue \w+ \d+ budget.md")


def test_what_the_server_refuses_of_one_device_waits_longer_whatever_others_show(
    desk: Desk, server: Server, notes: Notes, laptop: AgentDevice, refusals: Path
) -> None:
    """One device that shows something new each second would have it shown again each second, for ever."""
    (refusals / "phone").touch()
    other = desk.app(laptop, "notes")
    begin(desk, server)
    server.order(refuses="phone")
    began, tries = time.monotonic(), 0
    offers(notes, "phone letter")
    other.tell("offer draft").hears("offered")
    while time.monotonic() - began < 6:
        said = server.shows()["summary"]
        tries += "phone" in said
        if "draft" in said:
            other.tell(f"title draft {time.monotonic()}")
    assert tries <= 3  # at once, after 1 s, and after 2 s more


def test_a_click_from_before_a_notification_is_none_on_it(
    desk: Desk, server: Server, notes: Notes, laptop: AgentDevice, refusals: Path
) -> None:
    """The server gives the number of another program's notification again, while one of before has no answer."""
    (refusals / "phone").touch()
    other = desk.app(laptop, "notes")
    begin(desk, server)
    server.order(hangs=True)
    offers(notes, "budget.md")
    server.shows()
    server.order(hangs=False)
    server.says("ActionInvoked", 150, "default")
    server.is_asked_nothing()
    server.order(last=149)
    other.tell("offer phone letter")
    assert server.shows()["id"] == 150
    server.stays_quiet()
    assert "launch" not in desk.heard
    server.says("ActionInvoked", 150, "default")
    notes[0].hears(r"continue \w+ \d+ phone letter")


def test_a_server_that_dies_of_a_notification_gets_it_again_after_pauses_that_grow(
    desk: Desk, server: Server, first: int
) -> None:
    for pause in (1, 2):
        began = time.monotonic()
        server.program.kill()
        server = Server(desk, "--mute", *CAPABILITIES)
        server.shows()
        assert time.monotonic() - began >= pause


def test_the_end_of_an_offer_right_after_its_notification_closes_it_at_once(
    desk: Desk, server: Server, notes: Notes
) -> None:
    """Otherwise it would be closed a second later, with the next look. One of five times is enough: the machine may be
    slow."""
    begin(desk, server)
    for _ in range(5):
        time.sleep(2.5)  # no look of before counts
        offers(notes, "budget.md")
        id = server.shows()["id"]
        began = time.monotonic()
        server.is_asked_nothing()  # its answer has come
        notes[1].tell("invalidate")
        assert server.closes() == id
        if time.monotonic() - began < 0.7:
            return
        notes[0].hears("gone budget.md")
    raise AssertionError("it was closed late each time")


def test_a_click_that_crosses_the_end_of_its_offer_is_told(desk: Desk, server: Server, notes: Notes) -> None:
    """R3.8: until the server says that it has closed it, which may take it a while."""
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.order(hangs=True)  # it does not close yet
    notes[1].tell("invalidate")
    assert server.closes() == id
    time.sleep(1.2)
    server.says("ActionInvoked", id, "default")
    assert server.shows()["summary"] == "'budget.md' is not continued"
    server.says("ActionInvoked", id, "default")
    server.stays_quiet()


def test_a_number_means_nothing_any_longer_once_the_server_has_closed_it(
    desk: Desk, server: Server, notes: Notes
) -> None:
    """It may be that of another program's notification."""
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    notes[1].tell("invalidate")
    assert server.closes() == id
    server.is_asked_nothing()
    server.says("ActionInvoked", id, "default")
    server.stays_quiet()


def test_a_click_on_a_locked_screen_continues_nothing(desk: Desk, server: Server, notes: Notes, refusals: Path) -> None:
    begin(desk, server)
    assert desk.program is not None
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.order(hangs=True)  # it does not close yet
    desk.session(LockedHint=True)
    assert server.closes() == id
    server.says("ActionInvoked", id, "default")
    server.stays_quiet()
    assert "launch" not in desk.heard


def test_one_that_the_user_closes_while_it_is_closed_here_is_dismissed(
    desk: Desk, server: Server, notes: Notes
) -> None:
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    server.order(hangs=True)
    desk.session(LockedHint=True)
    assert server.closes() == id
    server.says("NotificationClosed", id, 2)
    until(dismissed(desk).exists)
    answers(server)
    desk.session(LockedHint=False)
    server.stays_quiet()


def test_one_that_was_closed_here_is_not_dismissed(desk: Desk, server: Server, notes: Notes) -> None:
    """The server says so itself, with another reason."""
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    desk.session(LockedHint=True)
    assert server.closes() == id
    desk.session(LockedHint=False)
    assert server.shows()["summary"] == "Continue 'budget.md'"
    assert not dismissed(desk).exists()


# A server that another one replaces.


@pytest.mark.parametrize("is_good", [True, False])
def test_late_answers_of_a_former_server_are_not_believed(
    desk: Desk, server: Server, notes: Notes, first: int, is_good: bool
) -> None:
    again = Server(desk, *CAPABILITIES)
    id = again.shows()["id"]
    assert id != first
    answers(server, is_good)
    if is_good:
        assert server.closes_at_once() == first  # by itself: its name is another server's
    server.is_asked_nothing()
    again.is_asked_nothing()
    notes[1].tell("invalidate")
    assert again.closes() == id
    server.is_asked_nothing()


def test_what_a_former_server_shows_is_closed_there(desk: Desk, server: Server, notes: Notes) -> None:
    """It lives, and would keep it."""
    begin(desk, server)
    offers(notes, "budget.md")
    id = server.shows()["id"]
    again = Server(desk, *CAPABILITIES)
    assert server.closes() == id
    again.program.wait_for("^asked")
    again.is_asked_nothing()  # it closes nothing of another program, and the activity was notified


def test_what_a_former_server_can_do_does_not_count(desk: Desk, server: Server, notes: Notes) -> None:
    server.order(hangs=True)
    begin(desk, server)
    again = Server(desk, *CAPABILITIES)
    again.program.wait_for("^asked")
    offers(notes, "budget.md")
    id = again.shows()["id"]
    answers(server)
    server.is_asked_nothing()
    again.is_asked_nothing()
    again.says("ActionInvoked", id, "default")
    notes[0].hears(r"continue \w+ \d+ budget.md")


def test_a_server_that_says_late_what_it_can_do_is_used(desk: Desk, server: Server, notes: Notes) -> None:
    server.order(hangs=True)
    begin(desk, server)
    offers(notes, "budget.md")
    time.sleep(ANSWER)
    answers(server)
    assert server.shows()["actions"]


def test_a_server_that_refuses_to_say_what_it_can_do_is_asked_again(desk: Desk, server: Server, notes: Notes) -> None:
    server.order(refuses=True)
    begin(desk, server)
    server.program.wait_for("^asked")
    offers(notes, "budget.md")
    server.order(refuses=False)
    server.shows()
