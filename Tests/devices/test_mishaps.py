# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mishaps without an attacker, and names that deceive: the user is told, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import signal
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import commands
import pytest
from agents import AGENT, AgentDevice, Refused, making
from network import can_make_networks, two_networks
from programs import programs

DAY = 86_400
INVALID_ARGUMENT, LIMIT_EXCEEDED = 1, 10


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AgentDevice, AgentDevice, AgentDevice]]:
    """The manager of an account, another device of it, and one that is in none."""
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        make = making(start, tmp_path_factory.mktemp("household"))
        one, two, guest = (make(name, cable.machines[name != "one"]).begin() for name in ("one", "two", "guest"))
        one.create().admit(two)
        one.linked("two")
        two.ask("set-devices", addresses=[f"10.99.0.1:{one.account()['port']}"])
        yield one, two, guest


@pytest.fixture
def pair(cable, agents) -> tuple[AgentDevice, AgentDevice]:
    """Two agents that do not run yet."""
    cable.address()
    return agents("one", cable.machines[0]), agents("two", cable.machines[1])


# ---- clocks and certificates ----


def set_clock(device: AgentDevice, preloaded, days: int) -> None:
    """Off by an hour more, so that what a machine takes for it changes no number of days."""
    device.end()
    device.variables = {
        "LD_PRELOAD": str(preloaded("devices/clock.c")),
        "CLOCK_OFFSET": str(days * DAY + 3_600 * bool(days)),
    }
    device.begin()


@pytest.mark.parametrize(
    ("days", "told"),
    [(-400, "the clock is wrong; set it"), (400, "if the clock is wrong, set it; else leave the account, and join")],
)
def test_a_clock_that_is_off_by_a_year_is_named(household, preloaded, days, told):
    """The device has the address of the other one, and no certificate by its clock."""
    _, two, _ = household
    set_clock(two, preloaded, days)
    assert told in two.awaits(lambda state: "message" in state)["message"]
    set_clock(two, preloaded, 0)
    assert "message" not in two.linked("one")


def test_clocks_that_differ_are_named_at_both_devices(household, preloaded):
    one, two, _ = household
    set_clock(two, preloaded, 100)
    for device in (one, two):
        device.awaits(lambda state: any("the clocks differ by 100 days" in n["message"] for n in state["notices"]))
    set_clock(two, preloaded, 0)
    two.linked("one")


def test_devices_whose_clocks_differ_by_hours_are_told(pair, preloaded):
    """By their beacons, which cause no connection. Devices that know each other's addresses link all the same."""
    one, two = pair
    one.begin().create().admit(two.begin())
    one.linked("two")
    two.linked("one")
    one.end()
    two.end()
    for device in pair:
        (device.state_folder / "devices").unlink()  # What they have told each other is in it.
    two.variables = {"LD_PRELOAD": str(preloaded("devices/clock.c")), "CLOCK_OFFSET": "7200"}
    for device in pair:
        device.begin()
    said = "a device of this account, or a recording of it, says that it is "
    for device in pair:
        state = device.awaits(lambda state: state.get("message", "").startswith(said), 40)
        assert [notice["message"] for notice in state["notices"]] == [state["message"]]
    assert said in commands.segue(one.folder, "doctor", status=1).out
    assert one.linked()["port"] and two.linked()["port"]
    assert not [line for device in pair for line in device.agent.said if "no link with" in line]


def test_a_device_whose_clock_is_off_by_a_year_does_not_join(household, preloaded):
    one, _, guest = household
    set_clock(guest, preloaded, 365)
    link = one.ask("invite")["link"]
    there = guest.ask("join", link=link)
    here = one.awaits(lambda state: state["joins"])["joins"][0]
    for join, sign in ((here, 1), (there, -1)):
        assert sign * (join["clock_there"] - join["clock_here"]).total_seconds() > 364 * DAY
    end = guest.asking("await-join", join=there["join"])
    one.ask("answer-join", join=here["join"], admits=True)
    with pytest.raises(Refused, match="if the clock is wrong, set it"):  # By its clock the certificate has ended.
        end.answer()
    one.awaits(lambda state: len(state["devices"]) == 2)
    link = one.ask("invite", automatic=True)["link"]
    with pytest.raises(Refused, match=r"the clocks differ by 365 days: .* set the clock that is wrong"):
        guest.asking("await-join", join=guest.ask("join", link=link)["join"]).answer()
    set_clock(guest, preloaded, 0)
    with pytest.raises(Refused, match="invite"):  # It was used, in vain.
        guest.ask("join", link=link)


def test_a_manager_renews_a_certificate_that_has_expired_and_another_device_joins_again(pair, preloaded):
    one, two = pair
    one.begin().create().admit(two.begin())
    one.linked("two")
    for device in (one, two):
        set_clock(device, preloaded, 400)
    one.awaits(lambda state: "message" not in state and state.get("port"))
    assert "join again with an invite" in two.awaits(lambda state: "message" in state)["message"]
    assert one.linked() and two.linked()
    two.ask("leave-account")
    one.ask("revoke-device", device=one.device("two")["device"])
    one.admit(two)
    one.linked("two")


# ---- disks ----


@pytest.mark.parametrize("full", ["one", "two"])
def test_a_disk_that_is_full_while_a_device_joins(pair, preloaded, tmp_path, full):
    """At the manager, or at the device that joins: both are told, and neither has half of it."""
    marker = tmp_path / "full"
    for device in pair:
        if device.name == full:
            disk = preloaded("StoreTests/disk.c")
            device.variables = {
                "LD_PRELOAD": str(disk),
                "DISK_ROOT": str(device.state_folder),
                "DISK_FULL": str(marker),
            }
        device.begin()
    one, two = pair
    one.create()
    there = two.ask("join", link=one.ask("invite")["link"], device_name="two")
    here = one.awaits(lambda state: state["joins"])["joins"][0]
    end = two.asking("await-join", join=there["join"])
    marker.touch()
    one.ask("answer-join", join=here["join"], admits=True)
    for asking in (one.asking("await-join", join=here["join"]), end):
        with pytest.raises(Refused, match=r"No space left|could not store|cannot store"):
            asking.answer()
    one.awaits(lambda state: [device["name"] for device in state["devices"]] == ["one"])
    assert two.account()["status"] == "none" and not (two.state_folder / "account").exists()
    marker.unlink()
    one.admit(two)
    one.linked("two")


# ---- copies ----


def test_a_join_ends_soon_after_the_cable_was_pulled(pair, cable):
    """Neither end hears of it: nothing is sent while the users compare the digits."""
    one, two = pair
    one.begin().create()
    two.begin()
    there = two.ask("join", link=one.ask("invite")["link"], device_name="two")
    end = two.asking("await-join", join=there["join"])
    one.awaits(lambda state: state["joins"])
    cable.pull()
    with pytest.raises(Refused, match="join: "):
        end.answer(patience=60)
    one.awaits(lambda state: not state["joins"], patience=60)
    assert two.account()["status"] == "none"


def test_a_state_folder_that_was_copied_is_named_everywhere(pair, agents):
    """Two machines that are one device: they do not take each other's link for ever."""
    one, two = pair
    one.begin().create().admit(two.begin())
    one.linked("two")
    # Each finds the manager again when it has lost it.
    two.ask("set-devices", addresses=[f"10.99.0.1:{one.account()['port']}"])
    two.end()
    one.linked()
    copy = agents("copy", two.machine)
    shutil.copytree(two.state_folder, copy.state_folder)
    for device in (two, copy):
        device.begin()
    for device in (two, copy):
        device.awaits(lambda state: "is this device, too: its state folder was copied" in state.get("message", ""))
    one.awaits(
        lambda state: any(
            notice["message"].startswith("two: links from two machines by turns")
            and "its state folder was copied" in notice["message"]
            for notice in state["notices"]
        )
    )
    # One of them stays linked.
    seen = one.linked("two")["devices"][1]["last_seen"]
    one.agent.wait_for("no link with .*: the other device's link changes hands again and again", 30)
    assert one.device("two")["last_seen"] == seen and one.device("two")["linked"]
    # It heals as it says: both leave, of which the manager hears from the one that is linked, and join again.
    for device in (copy, two):
        device.ask("leave-account")
    one.awaits(lambda state: len(state["devices"]) == 1)
    one.admit(copy)
    assert "message" not in copy.linked("one")


# ---- names ----


@pytest.mark.parametrize(
    "name", ["invoice\u202egnp.exe", "a\x1b[2J\x07b", "a\u200b\u2066b", "a\nb\r\tc", "n" * 200], ids=ascii
)
def test_a_name_that_is_made_to_deceive_is_shown_as_what_it_is(household, name):
    one, _, guest = household
    there = guest.ask("join", link=one.ask("invite")["link"], device_name=name)
    asks = one.awaits(lambda state: state["joins"])["joins"][0]
    shown = asks["device_name"]
    assert 0 < len(shown) <= 64
    assert not [each for each in shown if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp")]
    end = guest.asking("await-join", join=there["join"])
    one.ask("answer-join", join=asks["join"], admits=False)
    with pytest.raises(Refused):
        end.answer()
    one.awaits(lambda state: not state["joins"])


def test_a_name_of_10_kilobytes_is_refused(household):
    one, _, guest = household
    with pytest.raises(Refused, match="device_name: 10240 bytes, at most 255") as refused:
        guest.ask("join", link=one.ask("invite")["link"], device_name="n" * 10_240)
    assert refused.value.status == LIMIT_EXCEEDED


def test_a_name_that_looks_like_another_is_shown_with_a_fingerprint(household):
    one, two, _ = household
    two.linked("one")
    assert "fingerprint" not in one.device("two")
    two.ask("rename-device", name="\u043ene")  # A Cyrillic o.
    devices = one.awaits(lambda state: state["devices"][1]["name"] != "two")["devices"]
    assert all("fingerprint" in device for device in devices)


def test_a_name_that_the_manager_cannot_be_told_is_refused(household):
    one, two, _ = household
    two.linked("one")
    one.end()
    two.linked()
    with pytest.raises(Refused, match="one: is not linked now, and only it, the manager of the account, renames"):
        two.ask("rename-device", name="attic")
    one.begin()
    two.linked("one")
    two.ask("rename-device", name="attic")
    one.awaits(lambda state: state["devices"][1]["name"] == "attic")


def test_names_that_are_given_one_after_the_other_are_taken_in_turn(household):
    one, two, _ = household
    two.linked("one")
    notices = two.account()["notices"]
    for name in ("loft", "cellar", "shed"):
        two.ask("rename-device", name=name)
    one.awaits(lambda state: state["devices"][1]["name"] == "shed")
    two.awaits(lambda state: state["devices"][1]["name"] == "shed")
    assert two.account()["notices"] == notices


@pytest.mark.parametrize("blank", ["", " \t", "\u200b\u2800"])
def test_a_blank_name_is_refused(agents, blank):
    device = agents("one").begin()

    def refused(what, **keys):
        with pytest.raises(Refused, match=r"name: (is blank|must not be empty)") as refused:
            device.ask(what, **keys)
        assert refused.value.status == INVALID_ARGUMENT

    refused("create-account", name=blank, device_name="one")
    refused("create-account", name="Home", device_name=blank)
    device.create()
    refused("rename-device", name=blank)
    link = device.ask("invite", addresses=["127.0.0.1"])["link"]
    # Before anything is dialled, and before it matters that this device is in an account.
    refused("join", link=link, device_name=blank)


# ---- memory ----


def test_keys_are_in_no_core_dump(agents, tmp_path):
    """Checks this only on a system that dumps an agent without an account."""

    def is_dumped(device: AgentDevice) -> bool:
        device.agent.signal(signal.SIGABRT)
        return os.waitid(os.P_PID, device.agent.pid, os.WEXITED | os.WNOWAIT).si_code == os.CLD_DUMPED

    def begin(name: str, start) -> AgentDevice:
        device = agents(name)
        device.state_folder.mkdir(mode=0o700)
        where = ["env", "-C", device.state_folder, "prlimit", "--core=unlimited"]
        variables = [f"SEGUE_RUNTIME_DIR={device.folder}", f"XDG_STATE_HOME={device.state_folder.parent}"]
        device.agent = start(name, [*where, "env", *variables, "SEGUE_LOG=info", AGENT])
        device.agent.wait_for("this process is the hub")
        return device

    with programs() as start:
        without, with_keys = begin("without", start), begin("with", start)
        with_keys.create()
        if is_dumped(without):
            assert not is_dumped(with_keys)
        assert not list(Path(with_keys.state_folder).glob("core*"))
