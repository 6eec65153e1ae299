# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Push to another device (R3.15): at once, after its user was asked, or never; with the agents that ship."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from uuid import UUID, uuid4

import commands
import pytest
from agents import Refused
from programs import programs

EDITING = "SegueActivityTypeEditingText"
INVALID_ARGUMENT, NOT_FOUND, DECLINED, NOT_ALLOWED, UNAVAILABLE = 1, 8, 16, 19, 21


@pytest.fixture
def home(cable, agents):
    """Two machines, in one account, and linked."""
    cable.address()
    one, two = (agents(name, machine).begin() for name, machine in zip(("one", "two"), cable.machines, strict=True))
    one.create().admit(two)
    one.linked("two")
    two.linked("one")
    return one, two


@pytest.fixture
def notes(home, app):
    """An app on each, of one team; the first one offers a letter, which the second one sees."""
    mine, yours = (app(device, "notes") for device in home)
    mine.tell("offer letter", "payload 200000")
    yours.hears("appeared letter")
    return mine, yours


def push(device, app) -> None:
    app.tell(f"push_to_device {device['device'].hex}")


def offers(device):
    """All offers that a device has, named as the account names devices."""
    return json.loads(commands.segue(device.folder, "list", "--json").out)


class User:
    """Somebody at a device who can be asked, from the first moment on."""

    def __init__(self, device):
        self._device = device
        # Any other state than the one of that number: it counts as being there from that answer on.
        self.state = device.ask("pushes", after=1, timeout=20_000)
        self._await()

    def _await(self) -> None:
        self._next = self._device.asking("pushes", after=self.state["change"], timeout=20_000)

    def hears(self):
        """Returns the pushes of other devices, after the next change."""
        self.state = self._next.answer()
        self._await()
        return self.state["pushes"]

    def answers(self, push, accepts: bool) -> None:
        self._device.ask("answer-push", push=push["push"], accepts=accepts)

    def goes(self) -> None:
        self._next.abandon()


@contextmanager
def user(device):
    one = User(device)
    try:
        yield one
    finally:
        one.goes()


def test_what_is_pushed_goes_on_at_once_where_the_user_has_set_that(home, notes):
    """The receipt comes back, and what waits says where it came from."""
    one, two = home
    mine, yours = notes
    two.ask("set-devices", push="at-once")
    push(one.device("two"), mine)
    mine.hears("push_to_device OK")
    name = yours.hears(r"continue (\w+) \d+ letter( redelivered)?")[2]
    mine.hears(rf"ended {name} restored OK fresh.*")
    # An app that takes nothing now finds it later: what waits says where it came from.
    yours.tell("accept no")
    mine.ask(f"push_to_device {one.device('two')['device'].hex}", "push_to_device OK")
    while not (entries := two.ask("inbox")["entries"]):
        pass
    assert [(entry["device_name"], entry["type"]) for entry in entries] == [("one", "com.example.editing")]
    yours.tell("accept yes")
    yours.hears(r"continue \w+ \d+ letter( redelivered)?")


def test_a_program_that_opens_files_starts_only_once_the_user_agrees(cable, agents, tmp_path):
    """R13.7: "at once" is about what apps continue, and a program opens whatever the other device names."""
    openers = tmp_path / "data/segue/openers"
    openers.mkdir(parents=True)
    opened, program = tmp_path / "opened", tmp_path / "edit"
    os.mkfifo(opened)
    program.write_text(f'#!/bin/sh\necho "$1" >{opened}\n')
    program.chmod(0o755)
    lines = ("Type=Application", "Name=Edit", f"X-Segue-ActivityTypes={EDITING};", f"X-Segue-Open={program};%{{path}};")
    (openers / "edit.desktop").write_text("\n".join(["[Desktop Entry]", *lines]) + "\n")
    cable.address()
    one, two = (agents(name, machine) for name, machine in zip(("one", "two"), cable.machines, strict=True))
    two.variables = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_DATA_DIRS": "/nonexistent", "DISPLAY": ":77"}
    one.begin()
    two.begin()
    one.create().admit(two)
    one.linked("two")
    there = one.device("two")["device"]
    two.ask("set-devices", push="at-once")
    with programs() as run:
        words = ("offer", EDITING, "--title", "a text", "--user-info", json.dumps({"url": program.as_uri()}))
        command = ["env", f"SEGUE_RUNTIME_DIR={one.folder}", sys.executable, "-m", "segue"]
        run("offer", [*command, *words]).wait_for("^offering")
        while not any(offer["title"] == "a text" for offer in offers(two)):
            pass
        activity = UUID(offers(one)[0]["id"])
        with pytest.raises(Refused) as refused:
            one.ask("push", activity=activity, device=there)
        assert refused.value.status == DECLINED
        with user(two) as asked:
            pushing = one.asking("push", activity=activity, device=there)
            (question,) = asked.hears()
            assert question["bundle_identifier"] == "opener:edit"
            asked.answers(question, True)
            pushing.answer()
            assert opened.read_text() == f"{program}\n"


def test_the_user_of_the_other_device_is_asked(home, notes):
    one, two = home
    mine, yours = notes
    there = one.device("two")
    # Nobody is there who could be asked.
    push(there, mine)
    mine.hears("push_to_device DECLINED")
    with user(two) as asked:
        push(there, mine)
        (question,) = asked.hears()
        assert (question["device_name"], question["title"]) == ("one", "letter")
        assert question["bundle_identifier"] == "com.example.notes"
        asked.answers(question, False)
        mine.hears("push_to_device DECLINED")
        assert asked.hears() == []
        push(there, mine)
        (question,) = asked.hears()
        asked.answers(question, True)
        mine.hears("push_to_device OK")
        name = yours.hears(r"continue (\w+) \d+ letter( redelivered)?")[2]
        mine.hears(rf"ended {name} restored OK fresh .*")
        assert asked.hears() == []
        with pytest.raises(Refused) as refused:
            asked.answers(question, True)
        assert refused.value.status == NOT_FOUND
        # An asker that goes is not waited for.
        (activity,) = (UUID(offer["id"]) for offer in offers(one))
        assert question["activity_id"] != activity, "it is called so at home alone"
        pushing = one.asking("push", activity=activity, device=there["device"])
        assert len(asked.hears()) == 1
        pushing.abandon()
        assert asked.hears() == []


def test_a_question_ends_with_what_it_is_about(home, notes):
    one, two = home
    mine, yours = notes
    there = one.device("two")
    (letter,) = (UUID(offer["id"]) for offer in offers(one))
    with user(two) as asked:
        # Its origin has ended it: the one who pushes it is told, too.
        pushing = one.asking("push", activity=letter, device=there["device"])
        (question,) = asked.hears()
        mine.tell("resign")
        assert asked.hears() == []
        with pytest.raises(Refused, match=r"^8: two: push: the activity is no longer offered"):
            pushing.answer()
        with pytest.raises(Refused) as refused:
            asked.answers(question, True)
        assert refused.value.status == NOT_FOUND
        # The app that offers it is gone.
        mine.tell("current")
        yours.hears("gone letter")
        yours.hears("appeared letter")
        pushing = one.asking("push", activity=letter, device=there["device"])
        assert len(asked.hears()) == 1
        mine.kill()
        assert asked.hears() == []
        with pytest.raises(Refused, match=r"^8: two: "):
            pushing.answer()


@pytest.mark.parametrize("dying", ["one", "two"])
def test_a_question_ends_with_the_link(home, notes, dying):
    """If the other agent is gone, the app that pushes is told at once, and a user who was asked is asked no longer."""
    one, two = home
    mine, _ = notes
    with user(two) as asked:
        push(one.device("two"), mine)
        assert len(asked.hears()) == 1
        if dying == "one":
            one.kill()
            assert asked.hears() == []
            two.linked()
        else:
            two.kill()
            mine.hears("push_to_device CONNECTION_UNAVAILABLE")
            one.linked()


@pytest.mark.parametrize("leaver", ["one", "two"])
def test_a_question_ends_with_the_membership_of_either_device(home, notes, leaver):
    one, two = home
    mine, _ = notes
    with user(two) as asked:
        push(one.device("two"), mine)
        assert len(asked.hears()) == 1
        if leaver == "two":
            two.ask("leave-account")
        else:
            key = one.ask("recovery-file", passphrase="correct horse battery")["file"]
            two.ask("recover-account", file=key, passphrase="correct horse battery")
            two.ask("revoke-device", device=two.device("one")["device"])
        assert asked.hears() == []
        mine.hears("push_to_device CONNECTION_UNAVAILABLE")


def test_who_looks_once_is_not_there_to_be_asked(home, notes):
    one, two = home
    mine, _ = notes
    there = one.device("two")
    state = two.ask("pushes")
    with pytest.raises(Refused, match=r"^16: two: no one is there to be asked"):
        one.ask("push", activity=UUID(offers(one)[0]["id"]), device=there["device"])
    push(there, mine)
    mine.hears("push_to_device DECLINED")
    # A client that waits is there, and counts as there for a moment after that.
    assert two.ask("pushes", after=state["change"], timeout=1)["pushes"] == []
    pushing = one.asking("push", activity=UUID(offers(one)[0]["id"]), device=there["device"])
    while not two.ask("pushes")["pushes"]:
        pass
    pushing.abandon()


def test_what_cannot_be_pushed(home, notes):
    one, two = home
    mine, yours = notes
    there, here = one.device("two")["device"], one.device("one")["device"]
    two.ask("set-devices", push="never")
    push({"device": there}, mine)
    mine.hears("push_to_device DECLINED")
    two.ask("set-devices", push="at-once")
    for device, status in ((here, INVALID_ARGUMENT), (uuid4(), NOT_FOUND)):
        with pytest.raises(Refused) as refused:
            one.ask("push", activity=uuid4(), device=device)
        assert refused.value.status == status
    # Nobody offers it; the other device does, which is not what is pushed.
    with pytest.raises(Refused, match="is not offered"):
        one.ask("push", activity=uuid4(), device=there)
    yours.tell("offer answer")
    mine.hears("appeared answer")
    (answer,) = (offer for offer in offers(one) if offer["title"] == "answer")
    assert answer["device_name"] == "two"
    with pytest.raises(Refused) as refused:
        one.ask("push", activity=UUID(answer["id"]), device=there)
    assert refused.value.status == NOT_ALLOWED
    # R10.2, at the app and at the agent: as the app has marked it, and as the user has set.
    (letter,) = (UUID(offer["id"]) for offer in offers(one) if offer["title"] == "letter")
    mine.ask("private yes", "is private")
    for device in (there, uuid4()):  # The app does not even ask its agent whether there is such a device.
        push({"device": device}, mine)
        mine.hears("push_to_device NOT_ALLOWED")
    yours.hears("gone letter")
    with pytest.raises(Refused, match="the activity is private") as refused:
        one.ask("push", activity=letter, device=there)
    assert refused.value.status == NOT_ALLOWED
    mine.ask("private no", "is private")
    yours.hears("appeared letter")
    one.ask("set-devices", private_apps=["com.example.notes"])
    push({"device": there}, mine)
    mine.hears("push_to_device NOT_ALLOWED")
    one.ask("set-devices", private_apps=[])
    yours.hears("appeared letter")
    # No app there takes it.
    yours.end()
    push({"device": there}, mine)
    mine.hears("push_to_device NOT_FOUND")
    two.kill()
    one.linked()
    push({"device": there}, mine)
    mine.hears("push_to_device CONNECTION_UNAVAILABLE")
