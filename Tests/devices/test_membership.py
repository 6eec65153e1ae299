# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Membership of an account: what a former manager, a device with the recovery file, a wrong clock, a false word and a
copy do to agents on two machines."""

from __future__ import annotations

import ctypes
import shutil
import signal
import time
import uuid
from pathlib import Path
from typing import Any

import commands
import pytest
import segue
from agents import AgentDevice
from hostile import HostileHub
from intruder import Keys, secured
from native import ask_agent, load

DAY = 86_400
INVALID_ARGUMENT, NOT_FOUND = 1, 8
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
    # By the command: the beginning of its identifier.
    assert refused["fingerprint"] in commands.segue(laptop.folder, "account").out
    commands.segue(laptop.folder, "revoke", str(refused["device"])[:8], "--yes")
    assert not laptop.account()["refused"]
    # Positive control: a device that the manager admits.
    tablet = agents("tablet", desk.machine).begin()
    laptop.admit(tablet)
    laptop.linked("tablet")
    tablet.linked("laptop")


class InC:
    """A settings window in C: the statuses of calls."""

    def __init__(self, folder: Path) -> None:
        self.library, self.app = load(), ctypes.c_void_p()
        nul = ctypes.c_size_t(-1)
        assert self.library.segue_app_create(b"com.example.settings", nul, ctypes.byref(self.app)) == 0
        assert self.library.segue_app_set_runtime_folder(self.app, str(folder).encode(), nul) == 0
        assert self.library.segue_app_open(self.app) == 0

    def account(self) -> dict[str, Any]:
        status, found = ask_agent(self.library, self.app, "account")
        assert status == 0, found
        return found

    def accept(self, **options: uuid.UUID | bytes) -> int:
        return ask_agent(self.library, self.app, "accept-roster", options)[0]

    def close(self) -> None:
        assert self.library.segue_release(self.app) == 0


def accept_in_c(folder: Path) -> None:
    """The device and the digest that were shown, and no others."""
    window = InC(folder)
    waiting = window.account()["takeovers"][0]
    device, digest = waiting["device"], waiting["digest"]
    other = bytes([digest[0] ^ 1]) + digest[1:]
    assert window.accept(device=device, digest=other) == NOT_FOUND
    assert window.accept(device=uuid.uuid4(), digest=digest) == NOT_FOUND
    assert window.accept(digest=digest) == window.accept(device=device) == INVALID_ARGUMENT
    assert window.accept(device=device, digest=digest[1:]) == INVALID_ARGUMENT
    assert window.accept(device=device, digest=digest) == 0
    assert window.accept(device=device, digest=digest) == NOT_FOUND
    window.close()


def accept_in_python(folder: Path) -> None:
    with segue.App("com.example.settings", runtime_folder=folder) as app:
        waiting = app.account().takeovers[0]
        assert waiting.name == "xray" and waiting.term > 0
        with pytest.raises(segue.NotFoundError):
            app.accept_roster(waiting.device, bytes(32))
        with pytest.raises(segue.InvalidArgumentError, match="digest"):
            app.accept_roster(waiting.device, waiting.digest[:31])
        app.accept_roster(waiting.device, waiting.digest)
        assert not app.account().takeovers


def accept_by_command(folder: Path) -> None:
    """It shows the name and the fingerprint, and asks."""
    with segue.App("com.example.settings", runtime_folder=folder) as app:
        waiting = app.account().takeovers[0]
    start = str(waiting.device)[:8]
    assert f"segue account accept {start}" in commands.segue(folder, "account").out
    none = commands.segue(folder, "account", "accept", "zz", status=1)
    assert "0 of 1 devices that wait have an identifier that begins so" in none.err
    for answer in ("n\n", "\n", ""):
        asked = commands.segue(folder, "account", "accept", start, status=1, answer=answer)
        assert "xray" in asked.err and waiting.fingerprint in asked.err and "not accepted" in asked.err
    assert "is the manager now" in commands.segue(folder, "account", "accept", start, answer="y\n").out
    assert "0 of 0" in commands.segue(folder, "account", "accept", start, "--yes", status=1).err


ACCEPTING = {"c": accept_in_c, "python": accept_in_python, "command": accept_by_command}


@pytest.mark.parametrize("way", ACCEPTING)
def test_a24_a_take_over_by_a_device_that_was_admitted_meanwhile_counts_once_it_is_accepted(three, way):
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
    laptop.awaits(lambda state: state.get("takeovers"), 60)
    assert laptop.linked()
    ACCEPTING[way](laptop.folder)
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


def test_a_members_false_word_of_a_removal_does_not_count(three, sockets):
    """Not at the manager, which alone removes devices, nor while another device of the list is linked."""
    desk, laptop, xray = three
    desk.admit(xray)
    xray.linked("desk", "laptop", patience=60)
    laptop.end()
    keys = Keys.of(laptop.state_folder)

    def linked(device: AgentDevice) -> HostileHub:
        connection = sockets[0].connect("10.99.0.2", device.account()["port"])
        keys.knock(connection)
        return HostileHub(secured(connection, keys))

    def says_removed(hub: HostileHub, device: AgentDevice) -> bool:
        """Whether its user is told so."""
        hub.says_of_account(11)
        hub.is_heard()
        return "says that this device was removed" in device.problems()

    manager, member = linked(desk), linked(xray)
    desk.linked("laptop", "xray")
    xray.linked("laptop", "desk")
    assert not says_removed(manager, desk) and not says_removed(member, xray)
    xray.end()
    desk.linked("laptop")
    assert not says_removed(manager, desk), "at the manager no other device has to be linked"
    member.close()
    xray.begin()
    xray.linked("desk", patience=60)
    member = linked(xray)
    xray.linked("laptop", "desk")
    desk.end()
    xray.linked("laptop")
    # The control: no other device is linked. Its user is told until one is.
    assert says_removed(member, xray)
    assert "laptop: says that this device was removed" in xray.account()["message"]
    desk.begin()
    xray.linked("laptop", "desk", patience=60)
    assert "message" not in xray.account()


def test_a13_a_member_that_claims_the_hub_of_another_keeps_no_devices_apart(three, sockets):
    """A hub tells each linked device its identifier. The member links first, under the identifier of the laptop's."""
    desk, laptop, xray = three
    desk.admit(xray)
    xray.linked("desk", "laptop", patience=60)
    xray.end()
    keys = Keys.of(xray.state_folder)

    def linked(device: AgentDevice, host: str, claimed: uuid.UUID | None = None) -> HostileHub:
        connection = sockets[0].connect(host, device.account()["port"])
        keys.knock(connection)
        return HostileHub(secured(connection, keys), claimed)

    member = linked(laptop, "10.99.0.1")
    claimed = member.other
    member.close()
    desk.linked("laptop")
    laptop.agent.stop()
    try:
        desk.end()
        desk.begin()
        member = linked(desk, "10.99.0.2", claimed)
        desk.linked("xray")
    finally:
        laptop.agent.signal(signal.SIGCONT)
    desk.linked("laptop", "xray", patience=60)
    laptop.linked("desk")
    # The request to the manager comes by a session of the hubs.
    laptop.ask("rename-device", name="attic")
    desk.linked("attic", "xray")
    member.is_heard()
    assert member.id == claimed == linked(laptop, "10.99.0.1").other, "it is the same hub of the laptop"


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
