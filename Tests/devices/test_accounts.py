# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accounts between two agents on two machines: joining, links, revocation, leaving, restarts (R10)."""

from __future__ import annotations

import hashlib
import socket
import time

import cbor2
import pytest
from agents import Refused
from middleman import Middleman

INVALID_STATE, NOT_FOUND, BUSY, DECLINED, NOT_ALLOWED, UNAVAILABLE = 4, 8, 11, 16, 19, 21


@pytest.fixture
def pair(cable, agents):
    """Two machines with agents that are in no account."""
    cable.address()
    return agents("one", cable.machines[0]).begin(), agents("two", cable.machines[1]).begin()


@pytest.fixture
def account(pair):
    """The two are in one account, and linked."""
    one, two = pair
    one.create().admit(two)
    one.linked("two")
    two.linked("one")
    return pair


def carry(origin, receiver, title: str) -> None:
    origin.tell(f"offer {title}", "payload 200000")
    receiver.hears(f"appeared {title}")
    receiver.ask(f"continue {title}", rf"continue \w+ 2000\d\d {title}")


def test_a_device_joins_and_activities_continue_both_ways(pair, app):
    one, two = pair
    assert one.account()["status"] == two.account()["status"] == "none"
    assert not one.has_loaded("libssl")
    with pytest.raises(Refused) as refused:
        one.ask("invite")
    assert refused.value.status == NOT_FOUND
    one.create("Home")
    assert one.has_loaded("libssl") and not two.has_loaded("libssl")
    here, there = one.admit(two)
    # R10.5: both screens show the same; the user compares.
    assert here["digits"] == there["digits"] and len(here["digits"].replace(" ", "")) == 8
    assert (here["device_name"], there["device_name"], there["account_name"]) == ("two", "one", "Home")
    one.linked("two")
    two.linked("one")
    state = two.awaits(lambda state: all(device["confirmed"] for device in state["devices"]))
    assert [(device["name"], device["manager"]) for device in state["devices"]] == [("one", True), ("two", False)]
    mine, yours = app(one, "notes"), app(two, "notes")
    carry(mine, yours, "letter")
    carry(yours, mine, "answer")
    # A device in an account joins no other before it has left.
    with pytest.raises(Refused) as refused:
        two.ask("join", link=one.ask("invite")["link"])
    assert refused.value.status == INVALID_STATE


def test_what_stays_offered_has_its_attachments_on_the_other_device(account, app, tmp_path):
    """R2.5, R7.6: its app has ended, and the agent serves them over the link."""
    one, two = account
    size = 3_000_000
    mine, yours = app(one, "notes"), app(two, "notes")
    mine.ask("offer letter", "offered")
    mine.ask("keep_offering yes", "keeps offering")
    mine.ask(f"attach photo {size}", "attached")
    yours.hears("appeared letter")
    mine.ask("close", "closed")
    yours.hears("gone letter")
    yours.hears("appeared letter")
    yours.ask("continue letter", r"continue \w+ \d+ letter")
    yours.ask(f"fetch photo {tmp_path}/photo", "fetched photo OK")
    assert (tmp_path / "photo").read_bytes() == (bytes(7 * n & 255 for n in range(256)) * (size // 256 + 1))[:size]


def test_a_revoked_device_is_cut_off_within_a_second_and_stays_out(account, app):
    one, two = account
    two.ask("set-devices", addresses=[f"10.99.0.1:{one.account()['port']}"])
    mine, yours = app(one, "notes"), app(two, "notes")
    carry(mine, yours, "letter")
    carry(yours, mine, "answer")
    began = time.monotonic()
    one.ask("revoke-device", device=one.device("two")["device"])
    yours.hears("gone letter", 5)
    mine.hears("gone answer", 5)
    assert time.monotonic() - began < 1
    state = one.account()
    assert [device["name"] for device in state["devices"]] == ["one"]
    two.awaits(lambda state: state.get("message", "").startswith("one: says that this device was removed"))
    # It dials again at once, with a certificate that no longer counts, and after a restart, too.
    one.agent.wait_for("no link with .*revoked", 10)
    two.kill()
    two.begin()
    # It is told, and does nothing by itself: it gets no list that would say so.
    state = two.awaits(lambda state: "message" in state)
    assert state["status"] == "member" and state["message"].startswith("one: says that this device was removed")
    # It may leave, and be invited again.
    two.ask("leave-account")
    one.admit(two)
    one.linked("two")


def test_a_device_that_was_off_when_it_was_revoked_is_told(account):
    """It knows former epochs alone, so it dials none of the others: they dial it, and refuse its certificate."""
    one, two = account
    two.kill()
    one.ask("revoke-device", device=one.device("two")["device"])
    two.begin()
    two.awaits(lambda state: "says that this device was removed" in state.get("message", ""))
    # A device that is linked knows better than one that shows no certificate.
    two.ask("leave-account")
    one.admit(two)
    one.linked("two")
    assert "message" not in two.account()


def test_leaving_an_account(account, app):
    one, two = account
    mine, yours = app(one, "notes"), app(two, "notes")
    carry(mine, yours, "letter")
    with pytest.raises(Refused) as refused:
        one.ask("leave-account")
    assert refused.value.status == INVALID_STATE
    two.ask("leave-account")
    # R10.3: what others offer is gone.
    yours.hears("gone letter", 5)
    assert two.account()["status"] == "none" and not (two.state_folder / "account").exists()
    # The manager was told, and has revoked it.
    state = one.awaits(lambda state: len(state["devices"]) == 1)
    assert state["devices"][0]["name"] == "one"
    one.ask("leave-account")
    assert one.account()["status"] == "none"


@pytest.mark.parametrize("death", ["end", "kill"])
def test_agents_that_start_again_link_by_themselves(account, app, death):
    one, two = account
    port = one.account()["port"]
    for device in account:
        getattr(device, death)()
    for device in account:
        device.begin()
    one.linked("two")
    two.linked("one")
    assert one.account()["port"] == port  # The port was free, so it is kept.
    carry(app(two, "notes"), app(one, "notes"), "letter")


def test_a_user_who_sees_other_digits_declines(pair):
    one, two = pair
    one.create()
    link = one.ask("invite")["link"]
    there = two.ask("join", link=link)
    here = one.awaits(lambda state: state["joins"])["joins"][0]
    end = two.asking("await-join", join=there["join"])
    with pytest.raises(Refused) as refused:
        two.ask("answer-join", join=there["join"], admits=True)  # Only the other user may answer.
    assert refused.value.status == INVALID_STATE
    one.ask("answer-join", join=here["join"], admits=False)
    with pytest.raises(Refused) as refused:
        end.answer()
    assert refused.value.status == DECLINED
    assert two.account()["status"] == "none" and not (two.state_folder / "account").exists()
    # R10.5: an invite is used once.
    with pytest.raises(Refused) as refused:
        two.ask("join", link=link)
    assert refused.value.status == NOT_ALLOWED
    with pytest.raises(Refused) as refused:
        one.ask("await-join", join=here["join"])
    assert refused.value.status == DECLINED


def test_a11_who_stands_in_between_with_a_leaked_invite_shows_other_digits(pair, sockets):
    """Both users are asked, and see that it is not the same; the digits of the next invite are, if nobody is there."""
    one, two = pair
    one.create()
    link = one.ask("invite")["link"]
    port = one.account()["port"]
    with sockets[1].listen("10.99.0.2") as listener:
        middleman = Middleman(listener, sockets[1].connect("10.99.0.1", port), link)
        leads = link.rpartition("&c=")[0].replace("10.99.0.1", "10.99.0.2")
        leads = leads.replace(f"p={port}", f"p={listener.getsockname()[1]}")
        leads += f"&c={hashlib.sha256(leads.encode()).hexdigest()[:8]}"
        there = two.ask("join", link=leads, device_name="two")
        here = one.awaits(lambda state: state["joins"])["joins"][0]
        assert middleman.passed > 200 and here["device_name"] == "two" and there["device_name"] == "one"
        assert here["digits"] != there["digits"]
        end = two.asking("await-join", join=there["join"])
        one.ask("answer-join", join=here["join"], admits=False)
        with pytest.raises(Refused) as refused:
            end.answer()
        assert refused.value.status == DECLINED
        middleman.wait()
    with pytest.raises(Refused) as refused:
        two.ask("join", link=link)
    assert refused.value.status == NOT_ALLOWED
    here, there = one.admit(two)
    assert here["digits"] == there["digits"]


def test_an_answer_counts_once(pair):
    one, two = pair
    one.create()
    there = two.ask("join", link=one.ask("invite")["link"], device_name="two")
    end = two.asking("await-join", join=there["join"])
    here = one.awaits(lambda state: state["joins"])["joins"][0]
    assert here["asks"]
    two.agent.stop()  # It cannot confirm: the join goes on.
    one.ask("answer-join", join=here["join"], admits=True)
    assert [each["asks"] for each in one.account()["joins"]] == [False]
    for admits in (True, False):
        with pytest.raises(Refused, match="answered before") as refused:
            one.ask("answer-join", join=here["join"], admits=admits)
        assert refused.value.status == INVALID_STATE
    two.agent.signal(18)
    end.answer()
    one.linked("two")


def test_who_waits_for_digits_and_goes_does_not_join(pair):
    one, two = pair
    one.create()
    link = one.ask("invite")["link"]
    nowhere = one.ask("invite", addresses=["10.99.0.9"])["link"]
    waiting = two.asking("join", link=nowhere)
    with pytest.raises(Refused) as refused:
        two.ask("join", link=link)
    assert refused.value.status == BUSY
    waiting.abandon()
    deadline = time.monotonic() + 5
    while refused.value.status == BUSY and time.monotonic() < deadline:
        with pytest.raises(Refused) as refused:
            two.ask("join", link=nowhere, timeout=100)
    assert refused.value.status == UNAVAILABLE
    one.admit(two)


def test_a_device_joins_where_nobody_is_asked(pair):
    one, two = pair
    one.create()
    with pytest.raises(Refused, match="there is no 'adresses'"):
        one.ask("invite", automatic=True, adresses=["10.99.0.1"])
    link = one.ask("invite", automatic=True, addresses=["10.99.0.77", "10.99.0.1"])["link"]
    assert two.ask("read-invite", link=link)["addresses"] == [
        f"10.99.0.77:{one.account()['port']}",
        f"10.99.0.1:{one.account()['port']}",
    ]
    there = two.ask("join", link=link, device_name="two")
    two.ask("await-join", join=there["join"])
    one.linked("two")


def test_the_recovery_file_makes_another_device_the_manager(account):
    one, two = account
    passphrase = "correct horse battery"
    file = one.ask("recovery-file", passphrase=passphrase)["file"]
    assert file.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
    two.ask("recover-account", file=file, passphrase=passphrase)
    assert two.account()["manager"]
    one.awaits(lambda state: not state["manager"])
    two.ask("rename-device", device=two.device("one")["device"], name="old")
    one.awaits(lambda state: "old" in [device["name"] for device in state["devices"]])
    one.ask("rename-device", name="attic")
    two.awaits(lambda state: "attic" in [device["name"] for device in state["devices"]])


def test_settings_are_kept(pair):
    one, two = pair
    for wrong in ({"port": 65536}, {"push": "later"}, {"addresses": ["host:1"]}, {"nonsense": True}):
        with pytest.raises(Refused, match=next(iter(wrong)) if "addresses" not in wrong else "host:1"):
            one.ask("set-devices", **wrong)
    one.create()
    one.ask("set-devices", port=4711, discovery=False, push="never")
    assert one.account()["port"] == 4711
    assert (one.state_folder / "devices").stat().st_mode & 0o777 == 0o600
    one.kill()
    one.begin()
    state = one.awaits(lambda state: state.get("port"))
    assert state["port"] == 4711 and state["settings"]["push"] == "never" and not state["settings"]["discovery"]
    # Without discovery an address does: the invite's.
    two.ask("set-devices", discovery=False)
    one.admit(two)
    one.linked("two")
    # An agent that starts again has the address that its user has set.
    two.ask("set-devices", addresses=["10.99.0.1:4711"])
    two.kill()
    # A damaged file may have said what is private. So all is, until the user sets it anew.
    (two.state_folder / "devices").write_bytes(b"damaged")
    for _ in range(2):
        two.begin()
        state = two.awaits(lambda state: state.get("port"))
        assert state["settings"]["private"] and "set anew" in state["message"]
        two.kill()
    two.begin()
    two.ask("set-devices", addresses=["10.99.0.1:4711"], private=False)
    assert "message" not in two.linked("one")
    assert (two.state_folder / "devices.damaged-1").read_bytes() == b"damaged"


def test_r2_8_offers_stay_while_discovery_and_port_are_switched(account, app):
    one, two = account
    mine, yours = app(one, "notes"), app(two, "notes")
    carry(mine, yours, "letter")
    for setting in ({"discovery": False}, {"discovery": True}, {"port": 4712}, {"port": 0}):
        two.ask("set-devices", **setting)
        one.ask("set-devices", **setting)
        assert one.account()["port"] == one.linked("two")["port"]
    assert one.account()["port"] == 4712, "it stays where it was"
    mine.tell("title answer")
    yours.hears("changed answer")
    assert not [line for line in yours.program.said if "gone" in line]


def test_settings_that_cannot_be_used_are_kept_and_take_nothing_else_with_them(cable, agents):
    one = agents("one", cable.machines[0])
    one.state_folder.mkdir(mode=0o700)
    kept, link = one.folder.parent / "settings", one.state_folder / "devices"
    addresses = ["[fe80::9%x0]:4711", "10.4.0.7:4711"]
    settings = {"addresses": addresses, "push": "never", "discovery": False, "private_types": ["com.example.diary"]}
    kept.write_bytes(cbor2.dumps({**settings, "later": [1]}, canonical=True))
    link.symlink_to(kept)
    one.begin()
    for _ in range(2):
        one.create() if one.account()["status"] == "none" else None
        state = one.awaits(lambda state: state.get("port"))
        assert settings.items() <= state["settings"].items()
        assert "[fe80::9%x0]:4711: waits for its network interface" in state["message"]
        assert "later" not in state["message"]
        one.ask("set-devices", push="ask")
        one.ask("set-devices", push="never", addresses=addresses)
        one.kill()
        one.begin()
    assert link.is_symlink() and cbor2.loads(kept.read_bytes())["later"] == [1]
    # The interface comes.
    one.machine.run("sh", "-c", "ip link add x0 type veth peer name x1; ip link set x0 up; ip link set x1 up")
    one.awaits(lambda state: "waits for its" not in state.get("message", ""))


def test_an_invite_where_there_are_only_link_local_addresses(cable, agents):
    """The joiner, whose interfaces have other names, tries each of them."""
    one, two = agents("one", cable.machines[0]), agents("two", cable.machines[1])
    two.machine.run("sh", "-c", "ip link add x0 type veth peer name x1; ip link set x0 up; ip link set x1 up")
    cable.address(ipv4=False)
    one.begin().create()
    link = one.ask("invite")["link"]
    assert "h=fe80::" in link and "%" not in link.partition("&n=")[0]
    one.admit(two.begin())
    one.linked("two")


@pytest.mark.parametrize("ipv4", [True, False], ids=["IPv4", "IPv6"])
def test_a_device_that_joins_dials_again_when_it_gets_an_address(cable, agents, ipv4):
    """It has no way to the other one when it begins: its interface comes up later."""
    one, two = agents("one", cable.machines[0]), agents("two", cable.machines[1])
    two.machine.run("sh", "-c", "ip link add x0 type veth peer name x1; ip link set x0 up; ip link set x1 up")
    cable.address(ipv4=ipv4)
    one.begin().create()
    host = one.ask("invite")["link"].partition("&h=")[2].partition("&")[0].split(",")[0]
    link = one.ask("invite", **({"addresses": ["10.99.0.1"]} if ipv4 else {"addresses": [host]}))["link"]
    two.begin()
    for command in (["addr", "flush", "dev", "cable"], ["link", "set", "cable", "down"]):
        two.machine.run("ip", *command)
    for other in ("x0", "x1"):
        two.machine.run("ip", "link", "set", other, "down")
    there = two.asking("join", link=link, device_name="two")
    two.agent.wait_for("join: this device has no way to the other one yet")
    two.machine.run("ip", "link", "set", "cable", "up")
    if ipv4:
        two.machine.run("ip", "addr", "add", "10.99.0.2/24", "dev", "cable")
    end = two.asking("await-join", join=there.answer()["join"])
    one.ask("answer-join", join=one.awaits(lambda state: state["joins"])["joins"][0]["join"], admits=True)
    end.answer()
    one.linked("two")


def test_what_is_private_is_kept_off_other_devices(account, app):
    """R10.2, by the device, by type and by app; at once, and after a restart."""
    one, two = account
    mine, yours = app(one, "notes"), app(two, "notes")
    carry(mine, yours, "letter")
    settings = [{"private": True}, {"private_types": ["com.example.editing"]}, {"private_apps": ["com.example.notes"]}]
    for setting in settings:
        one.ask("set-devices", **setting)
        yours.hears("gone letter", 5)
        one.ask("set-devices", private=False, private_types=[], private_apps=[])
        yours.hears("appeared letter", 5)
    one.ask("set-devices", private=True, addresses=[f"10.99.0.2:{two.account()['port']}"])
    yours.hears("gone letter", 5)
    one.end()
    one.begin()
    one.linked("two")
    two.linked("one")
    there = app(one, "other")
    mine.tell("title answer")
    there.hears("changed answer")
    carry(yours, there, "back")  # The devices are linked: what the other one offers comes here.
    assert not [event for event in yours.events() if "answer" in event or event.startswith("appeared letter")]


def test_a_prober_learns_nothing_while_an_invite_is_open(pair):
    """A21: the same bytes as without one: a nonce, and silence."""
    one, _ = pair
    one.create()
    one.ask("invite")
    port = one.account()["port"]
    said = [one.machine.call(probe, "10.99.0.1", port) for _ in range(2)]
    assert all(len(nonce) == 16 for nonce in said) and said[0] != said[1]


def probe(address: str, port: int) -> bytes:
    with socket.create_connection((address, port), 5) as connection:
        connection.sendall(bytes(48))
        said = b""
        while more := connection.recv(1024):
            said += more
        return said
