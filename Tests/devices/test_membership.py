# SPDX-License-Identifier: Apache-2.0
"""Who is in an account: what a former manager, a device with the recovery file, a wrong clock, a false word and a copy
do to agents on two machines."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from agents import AgentDevice

DAY = 86_400
PASSPHRASE = "correct horse battery"
STORED = Path(__file__).resolve().parents[1] / "TrustTests" / "Stored"


def known(device: AgentDevice, of: AgentDevice) -> None:
    """The device dials the other one, also where no beacon is heard."""
    host = "10.99.0.1" if of.machine is not device.machine else "127.0.0.1"
    device.ask("set-devices", addresses=[f"{host}:{of.account()['port']}"])


def clock(device: AgentDevice, preloaded, seconds: int) -> None:
    device.end()
    device.variables = {"LD_PRELOAD": str(preloaded("devices/clock.c")), "CLOCK_OFFSET": str(seconds)}
    device.begin()


@pytest.fixture
def three(cable, agents) -> tuple[AgentDevice, AgentDevice, AgentDevice]:
    """A manager, on a machine of its own, and two others, of which the last is in no account yet."""
    cable.address()
    desk, laptop, xray = (agents(name, cable.machines[name != "laptop"]) for name in ("desk", "laptop", "xray"))
    desk.begin().create().admit(laptop.begin())
    desk.linked("laptop")
    return desk, laptop, xray.begin()


def test_a24_what_a_former_manager_admits_is_refused_shown_and_revocable(three, agents):
    desk, laptop, xray = three
    file = desk.ask("recovery-file", passphrase=PASSPHRASE)["file"]
    desk.end()
    laptop.linked()
    laptop.ask("recover-account", file=file, passphrase=PASSPHRASE)
    laptop.ask("revoke-device", device=laptop.device("desk")["device"])
    # The former manager has not heard of that, and admits a device.
    laptop.end()
    desk.begin().admit(xray)
    xray.linked("desk")
    desk.end()
    laptop.begin()
    known(xray, laptop)
    state = laptop.awaits(lambda state: state.get("refused"), 60)
    refused = state["refused"][0]
    assert refused["device"] == xray.account()["device"] and not state["takeovers"]
    assert [device["name"] for device in state["devices"]] == ["laptop"] and laptop.linked()
    # It takes over in turn: that waits for the user.
    xray.ask("recover-account", file=file, passphrase=PASSPHRASE)
    known(laptop, xray)
    waiting = laptop.awaits(lambda state: state["takeovers"], 90)["takeovers"][0]
    assert waiting["device"] == refused["device"] and waiting["name"] == "xray" and len(waiting["digest"]) == 32
    assert laptop.account()["manager"] and laptop.linked()
    laptop.ask("revoke-device", device=refused["device"])
    assert not laptop.account()["refused"]
    # Positive control: a device that the manager admits.
    tablet = agents("tablet", desk.machine).begin()
    laptop.admit(tablet)
    laptop.linked("tablet")
    tablet.linked("laptop")


def test_a24_a_take_over_by_a_device_that_was_admitted_meanwhile_counts_once_it_is_accepted(three):
    desk, laptop, xray = three
    file = desk.ask("recovery-file", passphrase=PASSPHRASE)["file"]
    laptop.end()
    desk.linked()
    desk.admit(xray)
    xray.linked("desk")
    xray.ask("recover-account", file=file, passphrase=PASSPHRASE)
    desk.awaits(lambda state: not state["manager"])
    desk.end()
    laptop.begin()
    known(xray, laptop)
    waiting = laptop.awaits(lambda state: state.get("takeovers"), 60)["takeovers"][0]
    assert laptop.linked()
    laptop.ask("accept-roster", device=waiting["device"], digest=waiting["digest"])
    known(laptop, xray)
    laptop.linked("xray", patience=60)
    assert laptop.device("xray")["manager"] and not laptop.account()["takeovers"]


def test_a_restored_manager_links_with_a_device_that_it_has_forgotten(three):
    """The connection is provisional until the list that it brings is stored (A24, the control)."""
    desk, laptop, xray = three
    desk.end()
    backup = (desk.state_folder / "account").read_bytes()
    desk.begin().admit(xray)
    xray.linked("desk", "laptop", patience=60)
    desk.end()
    (desk.state_folder / "account").write_bytes(backup)
    laptop.end()
    desk.begin()
    known(xray, desk)
    desk.linked("xray", patience=60)
    state = desk.awaits(lambda state: any(each["name"] == "xray" and each["confirmed"] for each in state["devices"]))
    assert not state["refused"]


def test_a25_a_clock_that_jumps_brings_no_revoked_device_back(three, preloaded):
    desk, laptop, lost = three
    desk.admit(lost)
    lost.linked("desk", "laptop", patience=60)
    laptop.end()
    desk.ask("revoke-device", device=desk.device("xray")["device"])
    desk.linked()
    clock(desk, preloaded, 400 * DAY)  # It signs by itself as soon as it starts: its certificate has ended.
    desk.awaits(lambda state: "message" not in state and state.get("port"))
    clock(desk, preloaded, 0)
    desk.awaits(lambda state: "message" not in state and state.get("port"), 60)
    laptop.begin()
    known(laptop, desk)
    laptop.linked("desk", patience=60)  # The control: who has slept gets in.
    known(lost, desk)
    lost.awaits(lambda state: "removed from the account" in state.get("message", ""), 60)
    for device in (desk, laptop):
        assert [each["name"] for each in device.account()["devices"]] == ["desk", "laptop"]
    assert desk.linked("laptop") and laptop.linked("desk")


def test_all_are_told_of_a_manager_that_was_copied_and_the_advice_works(three, agents):
    desk, laptop, _ = three
    copy = agents("copy", laptop.machine)
    desk.end()
    shutil.copytree(desk.state_folder, copy.state_folder)
    desk.begin()
    desk.linked("laptop", patience=60)
    copy.begin()
    known(desk, copy)
    for device in (desk, copy):
        told = device.awaits(lambda state: "is this device, too" in state.get("message", ""), 60)["message"]
        assert "segue account leave --abandon" in told
    laptop.awaits(
        lambda state: any(
            each["message"].startswith("desk: ") and "segue account leave --abandon" in each["message"]
            for each in state["notices"]
        ),
        60,
    )
    copy.ask("leave-account", abandons=True)
    desk.admit(copy)
    assert "message" not in copy.linked("desk", "laptop", patience=60)


def test_a_stored_account_of_an_earlier_version_goes_on(cable, agents, preloaded):
    """State folders that were made when lists of devices were signed once."""
    cable.address()
    made = 1_795_392_000 + 11 * DAY  # ten days and one after the date of those accounts
    devices = [agents(name, cable.machines[name != "desk"]) for name in ("desk", "phone")]
    for device in devices:
        # The earlier version, too, has noted in the folder which machine it is of.
        device.begin().end()
        shutil.copy(STORED / device.name, device.state_folder / "account")
        (device.state_folder / "account").chmod(0o600)
        offset = int(made - time.time())
        device.variables = {"LD_PRELOAD": str(preloaded("devices/clock.c")), "CLOCK_OFFSET": str(offset)}
        device.begin()
    desk, phone = devices
    known(phone, desk)
    phone.linked("desk", patience=60)
    assert desk.account()["manager"] and not any("outdated" in each for each in desk.account()["devices"])
    file = (desk.state_folder / "account").read_bytes()
    assert b"segue account" in file and len(file) > len((STORED / "desk").read_bytes())
