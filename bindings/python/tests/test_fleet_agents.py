# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Agents on a virtual fleet: what waits for apps, what apps leave, search, accounts, pushes."""

from __future__ import annotations

import gc
import multiprocessing
import plistlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import segue
from segue.testing import Fleet, FleetDevice

pytestmark = pytest.mark.fleet

NOTE = "com.example.notes.editing"


class Notes(segue.App):
    """An app that keeps what it has continued."""

    def __init__(self, identifier: str = "com.example.notes", **options: Any) -> None:
        super().__init__(identifier, types=[NOTE], team="TEAM", **options)
        self.texts: list[str] = []

    def offer(self, title: str, text: str, **properties: Any) -> segue.Activity:
        note = segue.Activity(self, NOTE, title=title)
        for name, value in properties.items():
            setattr(note, name, value)
        note.user_info = {"text": text}
        note.become_current()
        return note

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
        self.texts.append(activity.user_info["text"])


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The manifest of an app, as a file."""
    path = tmp_path / "mail.plist"
    fields = {
        "CFBundleIdentifier": "com.example.mail",
        "CFBundleName": "Mail",
        "NSUserActivityTypes": [NOTE],
        "com.apple.developer.team-identifier": "TEAM",
    }
    path.write_bytes(plistlib.dumps(fields))
    return path


class Device:
    """A device with an agent, an app that runs, and one that does not."""

    def __init__(self, fleet: Fleet, name: str, manifest: Path) -> None:
        self.device = fleet.add_device(name)
        self.device.start_agent()
        self.launched: list[Notes] = []
        self.device.install(manifest, self._launch)
        self.notes = self.device.add_app("com.example.notes", Notes)

    def _launch(self) -> None:
        self.launched.append(self.device.add_app("com.example.mail", Notes))


@pytest.fixture
def devices(segue_fleet: Fleet, manifest: Path) -> list[Device]:
    """Two devices that no link connects."""
    segue_fleet.set_linking(False)
    return [Device(segue_fleet, name, manifest) for name in ("phone", "laptop")]


def join(fleet: Fleet, manager: Device, guest: Device) -> None:
    """The guest joins the account of the manager; somebody compares the digits."""
    mine, theirs = manager.notes, guest.notes
    if mine.account().status is segue.Membership.NONE:
        mine.create_account("Home", "phone")
    asked = theirs.join(mine.invite().link, "laptop")
    fleet.run()
    (asks,) = [each for each in mine.account().joins if each.asks]
    assert asks.digits == asked.digits
    mine.answer_join(asks, True)
    theirs.await_join(asked)
    fleet.advance(5)


def test_a_cold_start(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R3.8: an app that does not run is started, and gets what waits."""
    phone = devices[0]
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(1)
    mine = phone.device.add_app("com.example.chooser", segue.App, chooser=True)
    segue_fleet.advance(1)
    launch = mine.launch(mine.offers[0], "com.example.mail")
    assert launch.outcome is segue.Outcome.RESTORED
    assert [app.texts for app in phone.launched] == [["milk"]]
    assert mine.inbox() == []


def test_an_app_that_never_opens(segue_fleet: Fleet, devices: list[Device], manifest: Path) -> None:
    """R3.9: the asker hears it, and the entry waits until the app opens, after a restart of the agent, too."""
    phone = devices[0]
    phone.device.install(manifest, lambda: None)
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(1)
    mine = phone.device.add_app("com.example.chooser", segue.App, chooser=True)
    segue_fleet.advance(1)
    launch = mine.launch(mine.offers[0], "com.example.mail", timeout=30)
    assert launch.outcome is segue.Outcome.UNKNOWN
    (entry,) = mine.inbox()
    assert (entry.bundle_identifier, entry.title, entry.delivered) == ("com.example.mail", "Shopping list", False)
    phone.device.end_agent(kill=True)
    with pytest.raises(segue.ConnectionUnavailableError):
        mine.inbox()
    phone.device.start_agent()
    segue_fleet.advance(5)
    assert [each.continuation_id for each in mine.inbox()] == [entry.continuation_id]
    mail = phone.device.add_app("com.example.mail", Notes)
    segue_fleet.advance(5)
    assert mail.texts == ["milk"] and mine.inbox() == []


def test_a_retained_offer(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R2.5: what an app leaves is offered after it has closed, and can be continued."""
    phone = devices[0]
    phone.notes.offer("Shopping list", "milk", keeps_offering=True)
    segue_fleet.advance(1)
    phone.notes.close()
    segue_fleet.advance(2)
    reader = phone.device.add_app("com.example.mail", Notes)
    segue_fleet.advance(2)
    assert [offer.title for offer in reader.offers] == ["Shopping list"]
    reader.continue_(reader.offers[0]).wait()
    assert reader.texts == ["milk"]


def test_search_after_the_power_was_gone(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R8.1: what is eligible for search is found when its app does not run, and opens it (R8.3)."""
    phone = devices[0]
    mail = phone.device.add_app("com.example.mail", Notes)
    mail.offer("Shopping list", "milk", eligible_for_search=True, persistent_identifier="list")
    segue_fleet.advance(3)
    phone.device.crash()
    phone.device.restart()
    phone.device.start_agent()
    chooser = phone.device.add_app("com.example.chooser", segue.App)
    segue_fleet.advance(1)
    (found,) = chooser.search("shopping")
    assert (found.title, found.bundle_identifier) == ("Shopping list", "com.example.mail")
    assert chooser.open_saved(found).outcome is segue.Outcome.RESTORED
    assert [app.texts for app in phone.launched] == [["milk"]]
    assert chooser.forget_saved(None) == 1 and chooser.search("shopping") == []


def test_joining_with_digits_links_devices(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R10.1: only devices of one account see what each other offers."""
    phone, laptop = devices
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(5)
    assert laptop.notes.offers == []
    join(segue_fleet, phone, laptop)
    assert [(offer.title, offer.device_name) for offer in laptop.notes.offers] == [("Shopping list", "phone")]
    laptop.notes.continue_(laptop.notes.offers[0]).wait()
    assert laptop.notes.texts == ["milk"]
    assert [device.name for device in laptop.notes.account().devices] == ["phone", "laptop"]


def test_digits_that_differ_are_declined(segue_fleet: Fleet, devices: list[Device]) -> None:
    phone, laptop = devices
    phone.notes.create_account("Home", "phone")
    asked = laptop.notes.join(phone.notes.invite().link, "laptop")
    segue_fleet.run()
    (asks,) = phone.notes.account().joins
    phone.notes.answer_join(asks, False)
    with pytest.raises(segue.DeclinedError):
        laptop.notes.await_join(asked)
    assert laptop.notes.account().status is segue.Membership.NONE


def test_a_lost_device_is_revoked(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R10.5: nothing comes to it, and nothing comes from it, whether it is there or not."""
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(2)
    assert len(laptop.notes.offers) == 1
    segue_fleet.partition(phone.device, laptop.device)
    (lost,) = [device for device in phone.notes.account().devices if device.name == "laptop"]
    phone.notes.revoke_device(lost.device)
    segue_fleet.advance(40)
    segue_fleet.heal()
    segue_fleet.advance(60)
    assert laptop.notes.offers == []
    laptop.notes.offer("Thief's list", "gold")
    segue_fleet.advance(10)
    assert phone.notes.offers == []
    assert [device.name for device in phone.notes.account().devices] == ["phone"]


def test_a_push_to_another_device(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R3.15: the app there is started, and the origin gets its receipt."""
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    laptop.notes.set_devices(push="at-once")
    note = phone.notes.offer("Shopping list", "milk")
    ended: list[segue.Receipt] = []
    note.on_continuation_ended(ended.append)
    segue_fleet.advance(2)
    (there,) = [device for device in phone.notes.account().devices if device.name == "laptop"]
    push = phone.notes.push(note, "com.example.mail", device=there.device)
    segue_fleet.advance(5)
    assert [app.texts for app in laptop.launched] == [["milk"]]
    assert [receipt.outcome for receipt in ended] == [segue.Outcome.RESTORED]
    assert push.bundle_identifier == "com.example.mail"
    laptop.notes.set_devices(push="never")
    with pytest.raises(segue.DeclinedError):
        phone.notes.push(note, "com.example.mail", device=there.device)


def test_a_device_that_is_cut_off_comes_back(segue_fleet: Fleet, devices: list[Device]) -> None:
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(2)
    segue_fleet.partition(phone.device, laptop.device)
    segue_fleet.advance(60)
    assert laptop.notes.offers == []
    segue_fleet.heal()
    segue_fleet.advance(60)
    assert [offer.title for offer in laptop.notes.offers] == ["Shopping list"]


def test_an_account_outlives_a_crash(segue_fleet: Fleet, devices: list[Device]) -> None:
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    phone.notes.offer("Shopping list", "milk")
    laptop.device.crash()
    segue_fleet.advance(40)
    laptop.device.restart()
    laptop.device.start_agent()
    reader = laptop.device.add_app("com.example.notes", Notes)
    segue_fleet.advance(60)
    assert [offer.title for offer in reader.offers] == ["Shopping list"]


TOO_LONG: dict[str, Callable[[segue.App], Any]] = {
    "name": lambda app: app.create_account("a" * 256),
    "device_name": lambda app: app.create_account("a", "b" * 256),
    "name of a device": lambda app: app.rename_device("a" * 256),
    "link": lambda app: app.read_invite("segue:join?" + "a" * 2048),
    "link to join": lambda app: app.join("segue:join?" + "a" * 2048),
    "link to cancel": lambda app: app.cancel_invites("segue:join?" + "a" * 2048),
    "passphrase": lambda app: app.recovery_file("a" * 1025),
    "passphrase of a file": lambda app: app.recover_account(b"a", "a" * 1025),
    "type": lambda app: app.choose("a" * 256, None),
    "app": lambda app: app.choose("a", "b" * 256),
    "query": lambda app: app.search("a" * 1025),
    "bundle_identifier": lambda app: app.search("", "a" * 256),
    "bundle_identifier to forget": lambda app: app.forget_saved("a" * 256),
}


@pytest.mark.parametrize("text", TOO_LONG)
def test_a_text_that_is_too_long_is_refused_by_name(devices: list[Device], text: str) -> None:
    with pytest.raises(segue.LimitExceededError, match=f": {text.split()[0]}: "):
        TOO_LONG[text](devices[0].notes)


REQUESTS = [
    "account",
    "accept-roster",
    "add-address",
    "answer-join",
    "answer-push",
    "apps",
    "avoid-path",
    "await-join",
    "cancel-invites",
    "choose",
    "create-account",
    "drop",
    "failures",
    "forget",
    "inbox",
    "invite",
    "join",
    "leave-account",
    "open",
    "pushes",
    "read-invite",
    "read-paths",
    "recover-account",
    "recovery-file",
    "remove-address",
    "rename-device",
    "retained",
    "retry",
    "revoke-device",
    "route",
    "search",
    "set-devices",
    "use-path",
    "withdraw",
]


def test_a_misspelled_option_is_refused_and_does_nothing(devices: list[Device]) -> None:
    """It would count as absent: `forget` without an app deletes what all apps have saved."""
    app = devices[0].notes
    note = app.offer("Shopping list", "milk", eligible_for_search=True)
    app.create_account("Home", "phone")
    invites = app.invite(["192.0.2.1"]) and app.account().invites
    for request in REQUESTS:
        with pytest.raises(segue.InvalidArgumentError, match="appp") as raised:
            app._ask(request, {"appp": "com.example.notes"})
        if request != "set-devices":
            assert f"'{request}'" in str(raised.value)
    with pytest.raises(segue.InvalidArgumentError, match="keys must be strings"):
        app._ask("forget", {7: "com.example.notes"})  # type: ignore[dict-item]
    for request in ("forget", "cancel-invites"):
        for none in ({}, {"all": False}, {"all": 1}, {"all": True, "bundle_identifier": "x", "link": "x"}):
            with pytest.raises(segue.InvalidArgumentError):
                app._ask(request, none)
    assert [each.title for each in app.search()] == ["Shopping list"]
    account = app.account()
    assert account.invites == invites == 1 and account.account_name == "Home"
    for option in ("ask", "timeout"):
        with pytest.raises(segue.InvalidArgumentError, match=f"'{option}' is none"):
            app._ask("inbox", {option: 1})
    with pytest.raises(segue.InvalidArgumentError, match="there is no 'after' of 'inbox'"):
        app._ask("inbox", {"after": 1})
    for request in ("invite", "inbox", "failures"):
        with pytest.raises(segue.InvalidArgumentError, match=f"timeout_ms: must be 0: '{request}'"):
            app._ask(request, timeout_ms=1)
    for request in ("continue", "push"):
        with pytest.raises(segue.InvalidArgumentError, match="is segue_app_launch or segue_activity_push"):
            app._ask(request)
    with pytest.raises(segue.UnsupportedVersionError, match="does not know 'no-such'"):
        app._ask("no-such", {"appp": 1})
    with pytest.raises(segue.LimitExceededError, match="options"):
        app._ask("search", {"query": "x" * 61_440})
    note.invalidate()


def test_an_error_of_a_launch_is_raised_by_what_advances_the_fleet(
    segue_fleet: Fleet, devices: list[Device], manifest: Path
) -> None:
    phone = devices[0]

    def broken() -> None:
        raise RuntimeError("no display")

    phone.device.install(manifest, broken)
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(1)
    chooser = phone.device.add_app("com.example.chooser", segue.App, chooser=True)
    segue_fleet.advance(1)
    with pytest.raises(RuntimeError, match="no display"):
        chooser.launch(chooser.offers[0], "com.example.mail", timeout=5)


def test_misuse(devices: list[Device], manifest: Path, tmp_path: Path) -> None:
    phone = devices[0].device
    with pytest.raises(segue.InvalidStateError, match="has an agent"):
        phone.start_agent()
    phone.end_agent()
    with pytest.raises(segue.InvalidStateError, match="has no agent"):
        phone.end_agent()
    with pytest.raises(segue.NotFoundError, match=r"com\.example\.draw is not installed on phone"):
        phone.uninstall("com.example.draw")
    phone.uninstall("com.example.mail")
    broken = tmp_path / "broken.plist"
    broken.write_text("<plist><dict><key>CFBundleIdentifier</key><integer>1</integer></dict></plist>")
    with pytest.raises(segue.MalformedError, match="CFBundleIdentifier"):
        phone.install(broken)
    with pytest.raises(segue.Error):
        phone.install(tmp_path / "none.plist")
    with pytest.raises(TypeError):
        bad: Any = "mail"
        phone.install(manifest, bad)
    phone.crash()
    with pytest.raises(segue.InvalidStateError, match="is down"):
        phone.start_agent()


def test_the_same_seed_gives_the_same_trace(manifest: Path) -> None:
    def trace() -> int:
        with Fleet(7) as fleet:
            fleet.set_linking(False)
            devices = [Device(fleet, name, manifest) for name in ("phone", "laptop")]
            join(fleet, *devices)
            devices[0].notes.offer("Shopping list", "milk")
            fleet.advance(30)
            return fleet.trace_hash

    assert trace() == trace()


def test_what_is_private_is_no_violation(segue_fleet: Fleet, devices: list[Device]) -> None:
    """R10.2, by the activity, and by the settings of its device; on plain links of a fleet, too."""
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    note = phone.notes.offer("Diary", "alone", private=True)
    segue_fleet.advance(5)
    assert laptop.notes.offers == []
    note.private = False
    segue_fleet.advance(5)
    assert len(laptop.notes.offers) == 1
    for setting in ({"private": True}, {"private_types": [NOTE]}, {"private_apps": ["com.example.notes"]}):
        phone.notes.set_devices(**setting)
        segue_fleet.advance(5)
        note.title = f"Diary, {setting}"
        segue_fleet.advance(5)
        assert laptop.notes.offers == []
        phone.notes.set_devices(private=False, private_types=[], private_apps=[])
        segue_fleet.advance(5)
        assert [offer.title for offer in laptop.notes.offers] == [note.title]


def test_devices_announce_only_their_own_offers(segue_fleet: Fleet, devices: list[Device], manifest: Path) -> None:
    """Two of three devices do not reach each other, and nobody passes offers on."""
    phone, laptop = devices
    tablet = Device(segue_fleet, "tablet", manifest)
    join(segue_fleet, phone, laptop)
    join(segue_fleet, phone, tablet)
    segue_fleet.advance(5)
    segue_fleet.partition(laptop.device, tablet.device)
    segue_fleet.advance(60)
    laptop.notes.offer("Shopping list", "milk")
    segue_fleet.advance(60)
    assert [len(device.notes.offers) for device in (phone, tablet)] == [1, 0]


@pytest.mark.parametrize("ends", ["kill", "crash"])
def test_nothing_is_left_of_an_agent_that_died_last(manifest: Path, ends: str) -> None:
    with Fleet(7) as fleet:
        phone = Device(fleet, "phone", manifest)
        fleet.advance(1)
        mine = folders()
        assert mine
        if ends == "kill":
            phone.device.end_agent(kill=True)
        else:
            phone.device.crash()
        del phone
    del fleet
    gc.collect()
    assert not any(path.exists() for path in mine)


FOLDERS = """
import os, re
found = set()
for number in os.listdir("/proc/self/fd"):
    try:
        found |= set(re.findall("^/dev/shm/segue-fleet-[^/ ]+", os.readlink(f"/proc/self/fd/{number}")))
    except OSError:
        pass
"""


def folders() -> set[Path]:
    """The folders of fleets that this process has open: other tests may have some at the same time."""
    names: dict[str, Any] = {}
    exec(FOLDERS, names)
    return {Path(path) for path in names["found"]}


def test_nothing_is_left_of_an_agent_that_dies_while_it_is_asked(manifest: Path) -> None:
    """The request waited until it was known what is stored, and kept the agent that had ended."""

    mine: set[Path] = set()

    def ending(phone: FleetDevice) -> Callable[[segue.OfferEventKind, segue.Offer], None]:
        def end(kind: segue.OfferEventKind, offer: segue.Offer) -> None:
            mine.update(folders())
            phone.end_agent(kill=True)

        return end

    for seed in range(5):
        with Fleet(seed) as fleet:
            phone = fleet.add_device("phone")
            asker = phone.add_app("com.example.notes", Notes)
            asker.on_offer(ending(phone))
            other = phone.add_app("com.example.mail", Notes)
            fleet.run()
            phone.start_agent()
            other.offer("Shopping list", "milk")
            with pytest.raises(segue.ConnectionUnavailableError):
                asker.inbox()
        del fleet, phone, asker, other
        gc.collect()
    assert mine and not any(path.exists() for path in mine)


def test_a_process_that_ends_without_releasing_its_fleet_is_swept_after(manifest: Path) -> None:
    program = (
        "import segue.testing; fleet = segue.testing.Fleet(); phone = fleet.add_device('phone');"
        f"phone.start_agent(); fleet.run()\n{FOLDERS}\nprint(*found, flush=True); os._exit(0)"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    left = {Path(path) for path in said.split()}
    assert left and all(path.exists() for path in left)
    with Fleet(7) as fleet:
        Device(fleet, "phone", manifest)
        fleet.advance(1)
        assert not any(path.exists() for path in left)


def test_a_child_leaves_the_folder_of_its_parent(segue_fleet: Fleet, devices: list[Device]) -> None:
    user = devices[0].notes
    user.search("")
    program = multiprocessing.get_context("fork").Process(target=gc.collect)
    program.start()
    program.join()
    assert user.search("") == []


def test_stepping_goes_on_until_devices_have_found_each_other(segue_fleet: Fleet, devices: list[Device]) -> None:
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    phone.notes.offer("Shopping list", "milk")
    segue_fleet.partition(phone.device, laptop.device)
    segue_fleet.advance(120)
    segue_fleet.heal()
    while segue_fleet.step():
        pass
    assert len(laptop.notes.offers) == 1


def test_an_app_that_closes_ends_its_call(segue_fleet: Fleet, devices: list[Device], manifest: Path) -> None:
    phone = devices[0]
    phone.notes.offer("Shopping list", "milk")
    chooser = phone.device.add_app("com.example.chooser", segue.App, chooser=True)
    segue_fleet.advance(1)
    phone.device.install(manifest, chooser.close)
    began = segue_fleet.time
    with pytest.raises(segue.CancelledError):
        chooser.launch(chooser.offers[0], "com.example.mail")
    assert segue_fleet.time - began < 1


def test_a_device_that_has_lost_its_power_starts_nothing(segue_fleet: Fleet, devices: list[Device]) -> None:
    phone, laptop = devices
    join(segue_fleet, phone, laptop)
    laptop.notes.set_devices(push="at-once")
    note = phone.notes.offer("Shopping list", "milk")
    segue_fleet.advance(2)
    (there,) = [device for device in phone.notes.account().devices if device.name == "laptop"]
    phone.notes.push(note, "com.example.mail", device=there.device)
    while "launches" not in segue_fleet.trace:
        segue_fleet.step()
    laptop.device.crash()
    laptop.device.restart()
    segue_fleet.advance(5)
    assert laptop.launched == []


def test_a_thread_asks_while_another_one_advances(segue_fleet: Fleet, devices: list[Device]) -> None:
    """The time of a call begins when it has the fleet."""
    answers: list[Any] = []

    def ask() -> None:
        for _ in range(20):
            try:
                answers.append(devices[0].notes.search(""))
            except segue.BusyError:
                answers.append([])  # A callback runs.

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        try:
            segue_fleet.advance(3600)
        except segue.BusyError:
            time.sleep(0)
    thread.join()
    assert answers == [[]] * 20
