# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notifications: when they come, what they say, and what a click does (R2.6, R3.8, R6.5)."""

from __future__ import annotations

import shlex
import signal
import time
from pathlib import Path

import pytest
from agents import AgentDevice
from commands import segue
from desk import Desk, Server, until
from participants import Participant, participant

Notes = tuple[Participant, Participant]


def test_it_comes_when_the_user_arrives(desk: Desk, server: Server, notes: Notes) -> None:
    """R2.6: the frontmost offer of another device, which something here can continue."""
    _, there = notes
    there.tell("offer budget.md").hears("offered")
    desk.begin()
    server.stays_quiet()
    desk.arrive()
    notice = server.shows()
    assert notice["summary"] == "Continue 'budget.md'"
    assert "laptop" in notice["body"]
    assert notice["actions"] == ["default", "Continue"]
    hints = notice["hints"]
    assert (hints["urgency"], hints["transient"], hints["suppress-sound"]) == (0, True, True)
    server.stays_quiet()


def shown_at_arrival(desk: Desk, server: Server, notes: Notes) -> int:
    """Returns the number of the notification for what the other device offers."""
    notes[1].tell("offer budget.md").hears("offered")
    desk.begin()
    desk.arrive()
    id: int = server.shows()["id"]
    return id


def test_a_click_continues_it_with_the_token(desk: Desk, server: Server, notes: Notes) -> None:
    here, there = notes
    id = shown_at_arrival(desk, server, notes)
    server.says("ActivationToken", id, "token-1")
    server.says("ActionInvoked", id, "default")
    here.hears(r"continue \w+ \d+ budget.md")
    here.hears("token token-1")  # by which its window comes to the front
    there.hears(r"ended \w+ restored OK.*")
    assert server.closes() == id
    server.stays_quiet()
    # Without a click there is no token, not even the last one.
    segue(desk.device.folder, "continue", "--frontmost")
    here.hears(r"continue \w+ \d+ budget.md")
    there.hears(r"ended \w+ restored OK.*")
    assert not [each for each in here.events() if each.startswith("token")]


def test_what_the_server_closes_at_a_click_is_not_closed_again(desk: Desk, server: Server, notes: Notes) -> None:
    """Its number may be another notification's by then."""
    here, there = notes
    id = shown_at_arrival(desk, server, notes)
    server.says("ActionInvoked", id, "default")
    server.says("NotificationClosed", id, 3)
    here.hears(r"continue \w+ \d+ budget.md")
    there.hears(r"ended \w+ restored OK.*")
    server.stays_quiet()


def test_an_app_that_does_not_run_is_started_with_the_token(
    desk: Desk, server: Server, laptop: AgentDevice, app_program: Path, tmp_path: Path
) -> None:
    """R3.8: the token that may precede the click is in its environment, and no token of a click before."""
    report, data = tmp_path / "report", Path(desk.device.variables["XDG_DATA_HOME"])
    script = tmp_path / "viewer"
    command = participant(app_program, "viewer", SEGUE_RUNTIME_DIR=str(desk.device.folder))
    lines = [
        "#!/bin/sh",
        f'echo "$XDG_ACTIVATION_TOKEN,$DESKTOP_STARTUP_ID" >>{report}',
        f"sleep 3 | {shlex.join(map(str, command))}",
    ]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    (data / "applications").mkdir(parents=True, exist_ok=True)
    entry = [
        "[Desktop Entry]",
        "Type=Application",
        "Name=viewer",
        f"Exec={script}",
        "X-Segue-ActivityTypes=com.example.editing;",
    ]
    entry += ["X-Segue-BundleIdentifier=com.example.viewer", "X-Segue-TeamIdentifier=T"]
    (data / "applications" / "viewer.desktop").write_text("\n".join(entry) + "\n")
    there = desk.app(laptop, "viewer")
    there.tell("offer film").hears("offered")
    desk.begin()
    until(lambda: desk.device.ask("apps")["apps"])
    for number, token in enumerate(("token-1", "")):
        desk.arrive()
        id = server.shows()["id"]
        if token:
            server.says("ActivationToken", id, token)
        server.says("ActivationToken", id + 1000, "of-another")
        server.says("ActionInvoked", id, "default")
        assert server.closes() == id
        until(lambda lines=number + 1: report.exists() and len(report.read_text().splitlines()) == lines)
        there.hears(r"ended \w+ restored OK.*", 30)
        until(lambda: not any(each["running"] for each in desk.device.ask("apps")["apps"]))
    assert report.read_text() == "token-1,token-1\n,\n"
    (data / "applications" / "viewer.desktop").unlink()


def test_waking_up_is_an_arrival(desk: Desk, server: Server, notes: Notes) -> None:
    notes[1].tell("offer budget.md").hears("offered")
    desk.begin()
    desk.session(sleep=True)
    desk.session(sleep=False)
    assert server.shows()["summary"] == "Continue 'budget.md'"


def test_a_session_that_wakes_up_locked_is_arrived_at_when_it_is_unlocked(
    desk: Desk, server: Server, notes: Notes
) -> None:
    notes[1].tell("offer budget.md").hears("offered")
    desk.begin()
    desk.session(LockedHint=True)
    desk.session(sleep=True)
    desk.session(sleep=False)
    server.stays_quiet()
    desk.session(LockedHint=False)
    server.shows()


def test_input_is_an_arrival_after_two_minutes_without(desk: Desk, server: Server, notes: Notes) -> None:
    notes[1].tell("offer budget.md").hears("offered")
    desk.begin()
    desk.session(IdleHint=True, IdleSinceHintMonotonic=uptime_usec() - 60_000_000)
    desk.session(IdleHint=False)
    server.stays_quiet()
    desk.session(IdleHint=True, IdleSinceHintMonotonic=uptime_usec() - 121_000_000)
    desk.session(IdleHint=False)
    server.shows()


def uptime_usec() -> int:
    return time.monotonic_ns() // 1000


def test_what_comes_just_after_the_arrival_is_notified(desk: Desk, server: Server, notes: Notes) -> None:
    """After a sleep the link to the other device needs a moment."""
    desk.begin()
    desk.arrive()
    server.stays_quiet()
    notes[1].tell("offer budget.md").hears("offered")
    server.shows()


def test_nothing_comes_if_nothing_here_can_continue_it(desk: Desk, server: Server, laptop: AgentDevice) -> None:
    """R6.5"""
    desk.app(laptop, "notes").tell("offer budget.md").hears("offered")
    desk.begin()
    desk.arrive()
    server.stays_quiet()


def test_offers_of_this_device_are_not_notified(desk: Desk, server: Server) -> None:
    desk.app(desk.device, "notes")
    desk.app(desk.device, "others").tell("offer budget.md").hears("offered")
    desk.begin()
    desk.arrive()
    server.stays_quiet()


def test_the_notification_of_a_device_is_replaced_and_closed_with_its_offer(
    desk: Desk, server: Server, notes: Notes
) -> None:
    there = notes[1]
    there.tell("offer budget.md").hears("offered")
    desk.begin()
    desk.arrive()
    first = server.shows()
    there.tell("offer letter").hears("offered")
    second = server.shows()
    assert (second["replaces"], second["summary"]) == (first["id"], "Continue 'letter'")
    there.tell("invalidate")
    assert server.closes() == first["id"]


def test_one_that_was_dismissed_never_comes_again(desk: Desk, server: Server, notes: Notes) -> None:
    there = notes[1]
    there.tell("offer budget.md").hears("offered")
    program = desk.begin()
    desk.arrive()
    server.says("NotificationClosed", server.shows()["id"], 2)
    until((desk.state / "segue-desktop" / "dismissed").exists)
    desk.arrive()
    server.stays_quiet()
    program.signal(signal.SIGTERM)
    assert program.wait() == 0
    desk.begin()
    desk.arrive()
    server.stays_quiet()
    there.tell("offer letter").hears("offered")
    assert server.shows()["summary"] == "Continue 'letter'"


def test_one_that_has_expired_comes_again_at_the_next_arrival(desk: Desk, server: Server, notes: Notes) -> None:
    notes[1].tell("offer budget.md").hears("offered")
    desk.begin()
    desk.arrive()
    server.says("NotificationClosed", server.shows()["id"], 1)
    server.stays_quiet()
    desk.arrive()
    server.shows()


@pytest.mark.parametrize(
    "line",
    ["notify never", "off app com.example.notes", "off type com.example.editing", "off device laptop", "notfy always"],
)
def test_the_user_switches_it_off(desk: Desk, server: Server, notes: Notes, line: str) -> None:
    """A line that is not understood may be one that switches something off: then nothing is notified."""
    notes[1].tell("offer budget.md").hears("offered")
    desk.settings(line)
    desk.begin()
    desk.arrive()
    server.stays_quiet()
    desk.settings("off app com.example.other", "off type com.example.note", "off device tablet")
    desk.arrive()
    server.shows()


def test_titles_can_be_hidden(desk: Desk, server: Server, notes: Notes) -> None:
    notes[1].tell("offer budget.md").hears("offered")
    desk.settings("titles hidden")
    desk.begin()
    desk.arrive()
    notice = server.shows()
    assert "budget" not in notice["summary"] + notice["body"]
    assert "com.example.notes" in notice["summary"]


def test_without_logind_it_is_off_unless_the_user_wants_all(desk: Desk, server: Server, notes: Notes) -> None:
    assert desk.logind is not None
    desk.logind.kill()
    desk.logind = None
    program = desk.begin()
    program.wait_for("no session of logind")
    there = notes[1]
    there.tell("offer budget.md").hears("offered")
    server.stays_quiet()
    desk.settings("notify always")
    there.tell("offer letter").hears("offered")
    server.shows()


def test_an_offer_that_has_gone_is_told_at_the_click(desk: Desk, server: Server, notes: Notes) -> None:
    """R3.8: the agent says so, and the user is told."""
    here, there = notes
    there.tell("offer budget.md").hears("offered")
    program = desk.begin()
    desk.arrive()
    id = server.shows()["id"]
    program.stop()
    there.tell("invalidate")
    here.hears("gone budget.md")
    server.says("ActionInvoked", id, "default")
    program.signal(signal.SIGCONT)
    until(lambda: "is not continued" in str(server.next()))


def test_a_push_is_accepted_or_declined(desk: Desk, server: Server, notes: Notes) -> None:
    """R3.15"""
    here, there = notes
    desk.begin()
    there.tell("offer letter").hears("offered")
    here.hears("appeared letter")
    device = there_is_desk(desk)
    server.stays_quiet()
    there.tell(f"push_to_device {device}")
    notice = server.shows()
    assert notice["summary"] == "Continue 'letter' here?"
    assert notice["actions"][::2] == ["accept", "decline"]
    server.says("ActionInvoked", notice["id"], "decline")
    there.hears("push_to_device DECLINED.*")
    assert server.closes() == notice["id"]
    there.tell(f"push_to_device {device}")
    server.says("ActionInvoked", server.shows()["id"], "accept")
    here.hears(r"continue \w+ \d+ letter")
    there.hears("push_to_device OK.*")


def there_is_desk(desk: Desk) -> str:
    found: str = desk.device.device("desk")["device"].hex
    return found


def test_nobody_is_asked_about_a_push_while_the_session_is_locked(desk: Desk, server: Server, notes: Notes) -> None:
    """R3.15: nobody there to ask."""
    here, there = notes
    desk.begin()
    desk.session(LockedHint=True)
    there.tell("offer letter").hears("offered")
    here.hears("appeared letter")
    time.sleep(5.5)  # somebody counts as there for 5 s after an answer
    there.tell(f"push_to_device {there_is_desk(desk)}")
    there.hears("push_to_device DECLINED.*")
    server.stays_quiet()


def test_what_nothing_can_continue_any_longer_is_closed(desk: Desk, server: Server, notes: Notes) -> None:
    """R6.5: one of a kind that could be continued is shown while the agent is asked again."""
    here, there = notes
    desk.settings("notify always")
    desk.begin()
    there.tell("offer budget.md").hears("offered")
    id = server.shows()["id"]
    here.end()
    there.tell("offer letter").hears("offered")
    said = server.next()
    assert said.get("close") == id or server.closes() == id
    server.stays_quiet()
