# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines of one user with the agent that ships, and what the user types there. bindings/demo/devices tells the
whole story; here is what else may happen."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import commands
import pytest
from agents import PATIENCE, AgentDevice
from commands import Said
from programs import Program, programs
from project import ROOT
from terminal import terminals

PASSPHRASE = "correct horse battery"
DIGITS = r"^ +(\d{4} \d{4})$"
ADDRESS = "10.99.0.1"
LINK = r"^(segue:join\?\S+)$"


class Machine:
    """A machine with an agent, and what its user types there."""

    def __init__(self, device: AgentDevice, start: Callable[..., Program]):
        self.device, self._start = device.begin(), start

    def types(self, *words: str) -> Program:
        device = self.device
        variables = [f"SEGUE_RUNTIME_DIR={device.folder}", f"SEGUE_STATE_DIR={device.state_folder}"]
        command = [*device.machine.under, "env", *variables, sys.executable, "-m", "segue", *words]
        return self._start(f"{device.name}: segue {words[0]}", command)

    def runs(self, program: str) -> Program:
        """A program in Python, in which `app` is open."""
        device = self.device
        program = f"import segue\napp = segue.App('com.example.settings')\napp.open()\n{program}"
        variables = [f"SEGUE_RUNTIME_DIR={device.folder}", "PYTHONUNBUFFERED=1"]
        return self._start(device.name, [*device.machine.under, "env", *variables, sys.executable, "-c", program])

    def awaits(self, condition: Callable[[dict[str, Any]], bool]) -> None:
        self.device.awaits(condition)

    @property
    def place(self) -> tuple[list[str], Path]:
        """The words before a command that start it on this machine, and the runtime folder."""
        return self.device.machine.under, self.device.folder

    def does(self, *words: str, status: int = 0, answer: str = "") -> Said:
        return commands.segue(self.device.folder, *words, status=status, answer=answer)

    def json(self, *words: str, status: int = 0) -> Any:
        return json.loads(self.does(*words, "--json", status=status).out)


@pytest.fixture
def machines(cable, agents) -> Iterator[tuple[Machine, Machine]]:
    """A desktop and a laptop, in no account yet."""
    cable.address()
    with programs() as start:
        desktop, laptop = (agents(*each) for each in zip(("desktop", "laptop"), cable.machines, strict=True))
        yield Machine(desktop, start), Machine(laptop, start)


def invited(desktop: Machine) -> tuple[Program, str]:
    inviting = desktop.types("invite")
    return inviting, inviting.wait_for(LINK)[1]


def join(desktop: Machine, laptop: Machine, answer: str = "y") -> tuple[Program, Program]:
    inviting, link = invited(desktop)
    joining = laptop.types("join", link, "--yes", "--device", "laptop")
    assert inviting.wait_for(DIGITS)[1] == joining.wait_for(DIGITS)[1]
    inviting.tell(answer)
    return inviting, joining


@pytest.fixture
def home(machines: tuple[Machine, Machine]) -> tuple[Machine, Machine]:
    """The same, in one account."""
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    inviting, joining = join(desktop, laptop)
    inviting.wait_for("joined: laptop ")
    joining.wait_for("^joined: this device is in the account 'Home'$")
    assert (inviting.wait(), joining.wait()) == (0, 0)
    return machines


def test_a_device_that_is_declined_is_told_and_the_invite_is_void(machines):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    inviting, link = invited(desktop)
    joining = laptop.types("join", link, "--yes")
    joining.wait_for(DIGITS)
    inviting.wait_for(DIGITS)
    inviting.tell("n")
    inviting.wait_for("declined; that invite is void")
    joining.wait_for("DECLINED")
    assert (inviting.wait(), joining.wait()) == (1, 1)
    assert "ask for a new one" in laptop.does("join", link, "--yes", status=1).err
    assert laptop.json("account", status=1)["status"] == "none"


def test_who_gives_up_joining_is_not_waited_for(machines):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    inviting, link = invited(desktop)
    joining = laptop.types("join", link, "--yes")
    joining.wait_for(DIGITS)
    inviting.wait_for(DIGITS)
    joining.signal(signal.SIGINT)
    inviting.wait_for("no answer is needed any longer")
    inviting.wait_for("that invite is void")
    assert inviting.wait() == 1
    assert [each["name"] for each in desktop.json("devices")["devices"]] == ["desktop"]


def test_who_gives_up_inviting_is_not_waited_for(machines):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    inviting, link = invited(desktop)
    joining = laptop.types("join", link, "--yes")
    joining.wait_for(DIGITS)
    inviting.wait_for(DIGITS)
    assert "asks to join, with the digits" in desktop.does("account").out
    inviting.signal(signal.SIGINT)
    joining.wait_for("DECLINED: join: the inviting device refused: the user declined")
    assert (inviting.wait(), joining.wait()) == (-signal.SIGINT, 1)


def test_what_came_before_the_digits_is_no_answer(machines):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    inviting, link = invited(desktop)
    inviting.tell("y\ny")
    joining = laptop.types("join", link, "--yes")
    joining.wait_for(DIGITS)
    inviting.wait_for(DIGITS)
    inviting.tell("n")
    inviting.wait_for("declined; that invite is void")
    assert (inviting.wait(), joining.wait()) == (1, 1)
    assert [each["name"] for each in desktop.json("devices")["devices"]] == ["desktop"]


def test_what_was_typed_before_the_digits_is_no_answer(machines, tmp_path):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    under, folder = desktop.place
    with terminals(tmp_path, {"SEGUE_RUNTIME_DIR": str(folder)}) as opened:
        shell = opened("shell")
        shell.type(f"{shlex.join(map(str, under))} {sys.executable} -m segue invite; echo status=$?")
        link = shell.shows(r"^(segue:join\?\S+&c=[0-9a-f]{8})")[1]
        shell.shows("Ctrl-C voids it")
        shell.keys("y")
        shell.press("Enter")
        joining = laptop.types("join", link, "--yes")
        joining.wait_for(DIGITS)
        shell.shows(r"is it yours\? \(at most 5 min left\) \[y/N\] *$")
        shell.keys("n")
        shell.press("Enter")
        shell.shows("^status=1")
        assert joining.wait() == 1


def test_two_invites_ask_for_one_device_and_one_answer_counts(machines):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    inviting, link = invited(desktop)
    second, _ = invited(desktop)
    joining = laptop.types("join", link, "--yes", "--device", "laptop")
    for each in (inviting, second, joining):
        each.wait_for(DIGITS)
    inviting.tell("y")
    for each in (inviting, second):
        each.wait_for("joined: laptop ")
    assert (inviting.wait(), second.wait(), joining.wait()) == (0, 0, 0)
    assert desktop.json("account")["invites"] == 0, "nobody would be asked about the device of the other one"


def window() -> str:
    """The program of docs/devices.md, as it stands there."""
    page = (ROOT / "docs" / "devices.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    asks = "def ask_user(text):\n    print(text)\n    return input() == 'y'\ntell_user = print\n"
    return asks + program


def test_the_settings_window_of_the_page_admits_devices(machines):
    desktop, laptop = machines
    desktop.does("account", "create", "Home", "--device", "desktop")
    settings = desktop.runs(window())
    for _ in range(2):
        link = desktop.does("invite", "--no-wait", "--address", ADDRESS).out.strip()
        joining = laptop.types("join", link, "--yes", "--device", "laptop")
        joining.wait_for(DIGITS)
        settings.wait_for(r"^laptop: does it show \d{4} \d{4}\?$")
        joining.signal(signal.SIGINT)
        assert joining.wait() == -signal.SIGINT
        desktop.awaits(lambda state: not state["joins"])
        settings.tell("y")
        settings.wait_for("^laptop: .*ended")
    link = desktop.does("invite", "--no-wait", "--address", ADDRESS).out.strip()
    joining = laptop.types("join", link, "--yes", "--device", "laptop")
    settings.wait_for(r"^laptop: does it show")
    settings.tell("y")
    joining.wait_for("^joined: ")
    assert joining.wait() == 0
    # It still runs, and hears what follows.
    laptop.does("account", "leave", "--yes")
    link = desktop.does("invite", "--no-wait", "--address", ADDRESS).out.strip()
    joining = laptop.types("join", link, "--yes", "--device", "laptop")
    settings.wait_for(r"^laptop: does it show")
    settings.kill()


def test_the_manager_is_lost_and_another_device_takes_its_place(home, tmp_path):
    desktop, laptop = home
    key = tmp_path / "key.pem"
    desktop.does("account", "recovery", str(key), answer=f"{PASSPHRASE}\n")
    names = {each["name"]: each for each in laptop.json("devices")["devices"]}
    assert names["desktop"]["manager"] and names["laptop"]["this_device"]
    assert (
        "NOT_ALLOWED: only the manager of the account, desktop, can revoke"
        in laptop.does("revoke", "desktop", status=1).err
    ), "and nothing is asked"
    assert "NOT_ALLOWED" in laptop.does("account", "recovery", str(tmp_path / "none"), status=1).err
    laptop.does("account", "recover", str(key), answer=f"{PASSPHRASE}\n")
    laptop.does("revoke", "desktop", "--yes")
    assert [each["name"] for each in laptop.json("devices")["devices"]] == ["laptop"]


def test_an_activity_is_pushed_to_another_device_by_its_name(machines, app):
    """The user there is asked; receipts and offers name devices as the account does."""
    desktop, laptop = machines
    desktop.device.create().admit(laptop.device)
    desktop.device.linked("laptop")
    laptop.device.linked("desktop")
    app(laptop.device, "notes")
    offering = ("offer", "com.example.editing", "--team", "T", "--title", "letter", "--to", "laptop")
    assert "DECLINED" in desktop.does(*offering, status=1).err
    watching = laptop.types("inbox", "--watch")
    watching.wait_for("what other devices push is asked about here")
    for answer, outcome in (("n", "DECLINED"), ("y", "^restored by com.example.notes on laptop$")):
        pushing = desktop.types(*offering)
        watching.wait_for("segue command line on 'desktop' pushes 'letter'")
        watching.tell(answer)
        watching.wait_for(r"continue it in com.example.notes\? \(5\d s left\) \[y/N\]")
        pushing.wait_for(outcome)
        assert pushing.wait() == (answer == "n")
    pushing = desktop.types(*offering)
    watching.wait_for("pushes 'letter'")
    (question,) = laptop.json("inbox")
    pushing.signal(signal.SIGINT)
    watching.wait_for("it is not asked for any longer")
    assert question["device_name"] == "desktop" and laptop.json("inbox") == []
    # One that waits for nobody in particular is answered in passing.
    pushing = desktop.types(*offering)
    watching.wait_for("pushes 'letter'")
    laptop.does("inbox", "--accept", laptop.json("inbox")[0]["push"][:8])
    pushing.wait_for("^restored by com.example.notes on laptop$")
    assert pushing.wait() == 0


def test_an_app_hears_which_devices_do_not_get_what_it_offers(home, app):
    """R6.5, of several devices; in C and Python alike."""
    desktop, laptop = home
    laptop.device.linked("desktop")
    desktop.device.linked("laptop")
    app(desktop.device, "notes")
    asking = desktop.runs("""
activity = segue.Activity(app, 'com.example.editing')
activity.become_current()
app.ready().wait(20)
while input():
    print([(each.reason, each.app, each.device) for each in activity.explain().wait()])
""")

    def reasons() -> str:
        asking.tell("explain")
        return asking.wait_for(r"^\[.*\]$")[0]

    assert reasons() == "[('no web page', None, None), ('team differs', 'com.example.notes', None)]"
    desktop.does("account", "set", "--private-type", "com.example.editing")
    assert reasons().startswith("[('private', None, None), ")
    desktop.does("account", "set", "--private-type", "")
    laptop.device.end()
    desktop.device.linked()
    assert "('not linked', None, 'laptop'), ('team differs', 'com.example.notes', None)" in reasons()
    desktop.does("revoke", "laptop", "--yes")
    assert reasons() == "[('no web page', None, None), ('team differs', 'com.example.notes', None)]"
    asking.kill()


def shows(pattern: str, ask: Callable[[], str]) -> None:
    """Asks until it is said: commands leave out what the agent does not answer within two seconds."""
    deadline = time.monotonic() + PATIENCE
    while not re.search(pattern, said := ask(), re.M):
        assert time.monotonic() < deadline, said


def explained(machine: Machine, *words: str) -> dict[str, Any]:
    """The same, as JSON: asks until there are reasons."""
    deadline = time.monotonic() + PATIENCE
    while not (answer := machine.json("explain", *words, status=1))["reasons"]:
        assert time.monotonic() < deadline, answer
    return answer


def test_the_command_says_which_devices_are_not_linked_and_what_stays_here(home):
    """R6.5: at the device that misses an offer, and at the one that makes it."""
    desktop, laptop = home
    laptop.device.linked("desktop")
    desktop.device.linked("laptop")
    offering = desktop.types("offer", "com.example.editing", "--team", "T", "--title", "letter")
    offering.wait_for("^offering")
    linked = "^laptop: is linked, and is offered it unless its app has made it private$"
    shows(linked, lambda: desktop.does("explain", status=1).out)
    assert desktop.json("explain", status=1)["reasons"] == []
    settings = ("type", "com.example.editing"), ("app", desktop.json("list")[0]["bundle_identifier"])
    for what, name in settings:
        desktop.does("account", "set", f"--private-{what}", name)
        kept = f"private: it stays on this device: its {what} is kept here"
        shows(kept, lambda: desktop.does("explain", status=1).out)
        (reason,) = explained(desktop)["reasons"]
        assert (reason["reason"], reason["device"]) == ("private", None)
        desktop.does("account", "set", f"--private-{what}", "")
    laptop.device.end()
    desktop.device.linked()
    missed = r"^laptop: is not linked, seen \d+ s ago: it is not offered there$"
    shows(missed, lambda: desktop.does("explain", status=1).out)
    (reason,) = explained(desktop)["reasons"]
    assert (reason["reason"], reason["device"]) == ("not linked", "laptop")
    offering.signal(signal.SIGINT)
    assert offering.wait() == -signal.SIGINT
    away = r"^laptop: is not linked, seen \d+ s ago: what it offers is not here$"
    shows(away, lambda: desktop.does("list").err)
    assert desktop.json("list") == []
    shows(away, lambda: desktop.does("explain", "--wait", "0", status=1).out)
    answer = explained(desktop, "--wait", "0")
    assert (answer["reason"]["reason"], answer["reasons"][0]["device"]) == ("not offered", "laptop")
    laptop.device.begin()
    laptop.device.linked("desktop")
    desktop.device.linked("laptop")
    assert desktop.does("list").err == "nothing is offered\n"


def test_who_watches_in_a_terminal_asks_and_ends_by_ctrl_c(machines, app, tmp_path):
    """From its first moment on; a push that was asked about before is asked about, too."""
    desktop, laptop = machines
    desktop.device.create().admit(laptop.device)
    desktop.device.linked("laptop")
    laptop.device.linked("desktop")
    app(laptop.device, "notes")
    offering = ("offer", "com.example.editing", "--team", "T", "--title", "letter", "--to", "laptop")
    state = laptop.device.ask("pushes", after=1, timeout=20_000)  # somebody is there from now on
    waiting = laptop.device.asking("pushes", after=state["change"], timeout=20_000)
    pushing = desktop.types(*offering)
    assert len(waiting.answer()["pushes"]) == 1
    under, folder = laptop.place
    with terminals(tmp_path, {"SEGUE_RUNTIME_DIR": str(folder)}) as opened:
        shell = opened("shell")
        shell.type(f"{shlex.join(map(str, under))} {sys.executable} -m segue inbox --watch")
        shell.shows(r"continue it in com.example.notes\? \(\d\d s left\) \[y/N\] *$")
        shell.keys("y")
        shell.press("Enter")
        pushing.wait_for("^restored by com.example.notes on laptop$")
        assert pushing.wait() == 0
        pushing = desktop.types(*offering)
        shell.shows(r"(?s)goes to com.example.notes.*\[y/N\] *$")
        shell.press("C-c")
        shell.shows("^ready> *$")
        assert "Traceback" not in shell.screen()
        shell.runs("(exit $?)", status=130)
        pushing.signal(signal.SIGINT)


def test_who_sends_to_one_device_hears_of_the_others_too(machines, app):
    """All devices are offered it meanwhile: what they do is said as it comes, and who has it in the end."""
    desktop, laptop = machines
    desktop.device.create().admit(laptop.device)
    desktop.device.linked("laptop")
    laptop.device.linked("desktop")
    app(laptop.device, "notes")
    watching = laptop.types("inbox", "--watch")
    watching.wait_for("what other devices push is asked about here")
    pushing = desktop.types("offer", "com.example.editing", "--team", "T", "--title", "letter", "--to", "laptop")
    pushing.wait_for("^pushing to laptop; its user may be asked$")
    watching.wait_for("pushes 'letter'")
    desktop.does("continue", "--type", "com.example.editing")
    pushing.wait_for("^restored by segue command line on desktop$")
    watching.tell("y")
    pushing.wait_for("^com.example.notes continues it$")
    pushing.wait_for("^restored by com.example.notes on laptop$")
    assert pushing.wait() == 0


def test_pushes_stay_for_others_where_nobody_can_answer(machines, app):
    desktop, laptop = machines
    desktop.device.create().admit(laptop.device)
    desktop.device.linked("laptop")
    laptop.device.linked("desktop")
    app(laptop.device, "notes")
    under, folder = laptop.place
    words = ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-m", "segue", "inbox", "--watch"]
    with programs() as start:
        watching = start("laptop", ["sh", "-c", 'exec "$@" </dev/null', "sh", *under, *words])
        watching.wait_for("what other devices push is asked about here")
        offering = ("offer", "com.example.editing", "--team", "T", "--title", "letter", "--to", "laptop")
        for _ in range(2):
            pushing = desktop.types(*offering)
            prefix = watching.wait_for(r"`segue inbox --accept (\w{8})`, or --decline, answers it")[1]
            laptop.does("inbox", "--accept", prefix)
            pushing.wait_for("^restored by com.example.notes on laptop$")
            assert pushing.wait() == 0


def test_who_was_revoked_is_told_so_when_leaving(home):
    desktop, laptop = home
    desktop.does("revoke", "laptop", "--yes")
    laptop.awaits(lambda state: "was removed from" in state.get("message", ""))
    said = laptop.does("account", "leave", answer="y\n")
    assert "this device was removed from" in said.err
    assert "forget the account 'Home' here, too? [y/N]" in said.err
    assert "it lists this device until" not in said.err
    assert said.out == "left\n"
    assert laptop.json("account", status=1)["status"] == "none"
    assert "nothing to leave" in laptop.does("account", "leave").out


def test_a_device_that_is_not_linked_gets_no_push(home):
    desktop, laptop = home
    laptop.device.kill()
    desktop.device.linked()
    said = desktop.does("offer", "com.example.editing", "--to", "laptop", status=1)
    assert said.err == ("segue: CONNECTION_UNAVAILABLE: laptop: is not linked now, so nothing can be pushed to it\n")
