# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The account of one device, by the command and by the package, with the agent that ships. Two devices:
Tests/devices/test_command.py."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cbor2
import commands
import pytest
import segue
from commands import Said
from conftest import CARRIES
from programs import programs
from terminal import terminals

PASSPHRASE = "correct horse battery"


@pytest.fixture
def run(folder: Path, control: Path, agent: Callable[..., Any]) -> Callable[..., Said]:
    """run("account", "create", "Home", status=0, answer="y\n"): the command, with an agent."""
    agent()
    return partial(commands.segue, folder)


@pytest.fixture
def app(folder: Path, run: Callable[..., Any]) -> Any:
    with segue.App("com.example.settings", runtime_folder=folder) as opened:
        yield opened


def test_a_call_without_a_timeout_has_the_limit_of_the_process(app, monkeypatch):
    """Also one that is longer than what the agent takes."""
    app.create_account("Home", "desktop")
    known = app.account().change
    monkeypatch.setattr(segue.limits, "continuation_ms", 300)
    begun = time.monotonic()
    assert app.account(after=known).change == known
    assert 0.25 < time.monotonic() - begun < 10
    monkeypatch.setattr(segue.limits, "continuation_ms", 3_600_000)
    assert app.account(after=known + 1).change == known


def test_a_user_makes_an_account_and_leaves_it(run, tmp_path):
    assert run("account", status=1).out.startswith("this device is in no account")
    assert "created" in run("account", "create", "Home", "--device", "desktop").out
    shown = json.loads(run("account", "--json").out)
    assert (shown["status"], shown["account_name"], shown["manager"]) == ("member", "Home", True)
    assert shown["port"] > 0
    (device,) = json.loads(run("devices", "--json").out)["devices"]
    assert (device["name"], device["this_device"], device["confirmed"]) == ("desktop", True, True)
    assert "INVALID_STATE" in run("account", "create", "Other", status=1).err
    run("rename", "workshop")
    assert "workshop" in run("devices").out
    findings = json.loads(run("doctor", "--json").out)
    assert {each["about"]: each["state"] for each in findings}["port"] == "ok"
    key = tmp_path / "key.pem"
    assert "12 characters" in run("account", "recovery", str(key), status=1, answer="short\n").err
    assert not key.exists()
    run("account", "recovery", str(key), answer=f"{PASSPHRASE}\n")
    assert key.read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert key.stat().st_mode & 0o777 == 0o600
    assert "is there already" in run("account", "recovery", str(key), status=1, answer=f"{PASSPHRASE}\n").err
    assert "NOT_ALLOWED" in run("account", "recover", str(key), status=1, answer="another passphrase\n").err
    assert "not left" in run("account", "leave", status=1, answer="no\n").err
    assert "take this device out of its account 'Home'? [y/N]" in run("account", "leave", answer="y\n").err
    for words in (["account"], ["devices"], ["revoke", "workshop", "--yes"]):
        said = run(*words, status=1)
        assert "in no account" in said.out + said.err


def test_an_invite_in_a_pipe_is_a_link_alone(run):
    run("account", "create", "Home")
    link = run("invite", "--no-wait", "--address", "192.0.2.1").out
    assert link.startswith("segue:join?v=1&") and link.count("\n") == 1
    assert json.loads(run("account", "--json").out)["invites"] == 1
    assert "leave it first" in run("join", "-", status=1, answer=f"{link}y\n").err
    run("invite", "--cancel")
    assert json.loads(run("account", "--json").out)["invites"] == 0


def test_an_invite_in_a_terminal_is_drawn_and_can_be_left(run, folder, tmp_path):
    run("account", "create", "Home")
    with terminals(tmp_path, {"SEGUE_RUNTIME_DIR": str(folder)}) as opened:
        shell = opened("shell")
        shell.type(f"{sys.executable} -m segue invite")
        shell.shows("█▀▀▀▀▀█|▄▄▄▄▄")
        shell.shows("^on the other device: `segue join 'LINK'`, until ")
        assert json.loads(run("account", "--json").out)["invites"] == 1
        shell.press("C-c")
        shell.shows("the invite is void now")
        shell.shows("^ready> *$")
        shell.runs("(exit $?)", status=130)
    assert json.loads(run("account", "--json").out)["invites"] == 0


def test_one_of_several_invites_is_voided(run, app):
    app.create_account("Home")
    first, second = (app.invite(addresses=["192.0.2.1"]).link for _ in range(2))
    app.cancel_invites(first)
    assert app.account().invites == 1
    app.cancel_invites(first)
    assert app.account().invites == 1
    with pytest.raises(segue.InvalidURLError):
        app.cancel_invites(second[:-1])
    app.cancel_invites()
    assert app.account().invites == 0


def test_what_an_invite_says_is_shown_before_anything_is_dialled(run, app):
    link = f"segue:join?v=1&a={'0' * 32}&f={'1' * 64}&t={'2' * 64}&p=4711&h=192.0.2.1&n=a%1B%5B2Jb%E2%80%AE"
    link = f"{link}&c={hashlib.sha256(link.encode()).hexdigest()[:8]}"
    contents = app.read_invite(link)
    assert contents.account.int == 0
    assert contents.addresses == ("192.0.2.1:4711",)
    refused = run("join", link, status=1, answer="n\n")
    assert "nothing was dialled" in refused.err
    assert all(each.isprintable() for each in refused.err.replace("\n", ""))
    for bad in ("segue:join?v=9", "https://example.com", link.replace("192.0.2.1", "example.com")):
        with pytest.raises(segue.Error, match="invite"):
            app.read_invite(bad)


def test_settings_are_kept_and_named(run, app):
    assert app.account().settings == segue.DeviceSettings()
    assert "push: never" in run("account", "set", "--push", "never", "--private-type", "com.example.diary").out
    app.set_devices(addresses=["192.0.2.7:4711"])
    settings = app.account().settings
    assert (settings.push, settings.private_types) == ("never", ("com.example.diary",))
    assert settings.addresses == ("192.0.2.7:4711",)
    run("account", "set", "--private-type", "")
    assert app.account().settings.private_types == ()
    with pytest.raises(segue.InvalidArgumentError, match=r"example\.com"):
        app.set_devices(addresses=["example.com"])
    assert app.account().settings.addresses == ("192.0.2.7:4711",)


def at_once(*calls: Callable[[], object]) -> None:
    """Makes calls at the same moment, each in a thread."""
    barrier = threading.Barrier(len(calls))
    failed: list[BaseException] = []

    def make(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make, args=(each,)) for each in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_of_two_settings_at_once_none_is_lost(folder, app):
    with segue.App("com.example.other", runtime_folder=folder) as other:
        for _ in range(10):
            app.set_devices(private=False, private_types=[])
            at_once(
                partial(app.set_devices, private=True), partial(other.set_devices, private_types=["com.example.diary"])
            )
            settings = app.account().settings
            assert settings.private and settings.private_types == ("com.example.diary",)


def test_what_is_set_while_an_account_is_made_is_stored(folder, state, agent, command):
    running = agent()
    with segue.App("com.example.settings", runtime_folder=folder) as app:
        with segue.App("com.example.other", runtime_folder=folder) as other:
            at_once(partial(app.create_account, "Home"), partial(other.set_devices, private=True))
        port = app.account().port
        assert app.account().settings.private
        running.signal(15)
        assert running.wait() == 0
        agent()
        now = app.account()
        while not now.port:
            now = app.account(after=now.change, timeout=30)
        assert now.settings.private and now.port == port


def test_a_port_that_is_in_use_is_named_and_taken_once_it_is_free(run, app):
    app.create_account("Home")
    former = app.account().port
    app.invite(addresses=["192.0.2.1"])
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as taken:
        port = taken.getsockname()[1]
        said = run("account", "set", "--port", str(port), status=1)
        assert f"port: {port}" in said.out and "in use" in said.err
        now = app.account()
        # The device goes on listening where it did, so the invite and links of others stay.
        assert (now.port, now.invites) == (former, 1)
    run("account", "set", "--port", str(port))
    now = app.account()
    assert (now.port, now.message) == (port, None)
    # The address in the link is no longer there, and that is said.
    assert now.invites == 0 and any("void" in each.message for each in now.notices)


def test_a_link_with_more_behind_its_end_is_not_called_too_short(run):
    link = f"segue:join?v=1&a={'0' * 32}&n=Home&c=1f09a3c2"
    said = run("join", f"{link}x", "--yes", status=1).err
    assert said == "segue: there is more behind the end of the link: 'x'; copy the link only\n"


def test_a_folder_of_another_machine_is_this_ones_once_the_user_has_left(run, folder, state, begin, agent):
    """R10.8: a home that was restored on a new machine."""
    run("account", "create", "Home")
    run("inbox")
    begin("--replace").wait_for("this process is the hub of generation")
    place = state / "segue"
    (place / "machine").write_text("0" * 64 + "\n")
    begin("--replace").wait_for("this process is the hub of generation")
    assert "segue account leave" in run("account", status=1).out
    assert "another machine" in run("inbox", status=1).err
    found = {each["about"]: each for each in json.loads(run("doctor", "--json", status=1).out)}
    assert "`segue account leave`" in found["inbox"]["message"] and found["inbox"]["advice"] is None
    assert found["account"]["advice"] is None
    # Joining is refused before anything is dialled, and an invite used.
    link = f"segue:join?v=1&a={'0' * 32}&f={'1' * 64}&t={'2' * 64}&p=9&h=127.0.0.1&n=Home"
    link = f"{link}&c={hashlib.sha256(link.encode()).hexdigest()[:8]}"
    assert "leave it first" in run("join", link, "--yes", status=1).err
    assert "account.foreign-1, inbox.db.foreign-1" in run("account", "leave", "--yes").out
    assert "nothing waits" in run("inbox").err
    run("account", "create", "Home")
    run("invite", "--no-wait", "--address", "192.0.2.1")
    assert {"account.foreign-1", "inbox.db.foreign-1", "account", "inbox.db"} <= {each.name for each in place.iterdir()}


def test_the_doctor_mends_an_account_that_others_can_read(run, state, begin):
    """Leaving gives it up; the keys need not have been read."""
    run("account", "create", "Home")
    file = state / "segue" / "account"
    file.chmod(0o644)
    begin("--replace").wait_for("this process is the hub of generation")
    (found,) = [each for each in json.loads(run("doctor", "--json", status=1).out) if each["about"] == "account"]
    advice = found["advice"]
    assert advice.startswith(f"if no one else has read it: chmod 600 '{file}', and `segue agent --replace`; else ")
    assert "gives up the account" in advice
    file.chmod(0o600)
    begin("--replace").wait_for("this process is the hub of generation")
    assert "this device is its manager" in run("account").out


def test_a_change_ends_the_wait_for_it(app):
    now = app.account()
    app.create_account("Home", "desktop")
    later = app.account(after=now.change, timeout=30)
    assert (later.status, later.account_name) == (segue.Membership.MEMBER, "Home")
    assert app.account(after=later.change, timeout=0.05).change == later.change
    # No time at all is not the default, either.
    began = time.monotonic()
    assert app.account(after=later.change, timeout=0).change == later.change
    assert time.monotonic() - began < 10


def test_who_is_not_there_is_not_found(app):
    app.create_account("Home")
    with pytest.raises(segue.NotFoundError):
        app.revoke_device(app.account().account)
    with pytest.raises(segue.InvalidArgumentError):
        app.revoke_device(app.account().device)
    with pytest.raises(segue.NotFoundError):
        app.accept_roster(app.account().device, bytes(32))
    joins = segue.Join(join=4711, digits="", account_name="", device_name="", platform="")
    with pytest.raises(segue.NotFoundError):
        app.answer_join(joins, True)
    with pytest.raises(segue.NotFoundError):
        app.await_join(joins, 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
@pytest.mark.parametrize("options", [[], ["--automatic"]])
def test_an_invite_is_void_when_a_signal_has_ended_the_command(run, folder, number, options):
    run("account", "create", "Home")
    with programs() as start:
        words = ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-m", "segue", "invite", *options]
        inviting = start("invite", words)
        inviting.wait_for("^segue:join")
        assert json.loads(run("account", "--json").out)["invites"] == 1
        inviting.signal(number)
        assert inviting.wait() == -number
    assert json.loads(run("account", "--json").out)["invites"] == 0


def test_an_invite_that_is_made_while_a_signal_ends_the_command_is_void(run, folder):
    """The agent answers after the signal."""
    run("account", "create", "Home")
    with programs() as start:
        words = ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-c", SLOW, "invite", "--automatic"]
        inviting = start("invite", words)
        inviting.wait_for("^asked")
        assert json.loads(run("account", "--json").out)["invites"] == 1
        inviting.signal(signal.SIGTERM)
        assert inviting.wait() == -signal.SIGTERM
    assert json.loads(run("account", "--json").out)["invites"] == 0


SLOW = """
import sys, threading
import segue
from segue_command import main

asks, ended = segue.App.invite, threading.Event()
voids = segue.App.cancel_invites

def invite(*arguments):
    made = asks(*arguments)
    print("asked", flush=True)
    ended.wait(1)  # the answer is under way when the signal comes
    return made

segue.App.invite = invite
sys.exit(main())
"""


def test_keys_that_may_be_swapped_out_are_one_line_and_no_reason_to_refuse(command, ask, control):
    """As where RLIMIT_MEMLOCK is small. Root ignores that limit by a capability."""
    *before, program = command()
    without = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] if os.geteuid() == 0 else []
    with programs() as run:
        agent = run("agent", [*before, "prlimit", "--memlock=0:0", *without, program])
        agent.wait_for(CARRIES)
        assert ask("create-account", name="Home", device_name="desk") == {}
        agent.wait_for(r"info: account: the system locks no memory \(RLIMIT_MEMLOCK\)")
        assert ask("account")["status"] == "member"
        agent.signal(signal.SIGTERM)
        assert agent.wait() == 0
    assert sum("locks no memory" in line for line in agent.said) == 1


def mappings(process: int) -> list[tuple[int, int, list[str], str]]:
    """Start, end, flags and name of each part of a process's memory that can be read."""
    found: list[tuple[int, int, list[str], str]] = []
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and words[0][0] in "0123456789abcdef" and len(words) >= 5:
            start, end = (int(number, 16) for number in words[0].split("-"))
            found.append((start, end, [], words[5] if len(words) > 5 else ""))
        elif words[0] == "VmFlags:":
            found[-1][2].extend(words[1:])
    return [mapping for mapping in found if "rd" in mapping[2] and mapping[3] not in ("[vvar]", "[vsyscall]")]


def places(process: int, secret: bytes) -> list[list[str]]:
    """The flags of the parts that have these bytes, once for each time."""
    found = []
    with open(f"/proc/{process}/mem", "rb", 0) as memory:
        for start, end, flags, _ in mappings(process):
            try:
                memory.seek(start)
                content = memory.read(end - start)
            except OSError:
                continue
            found += [flags] * content.count(secret)
    return found


def test_private_keys_are_in_locked_memory_and_that_of_the_account_in_none(agent, folder, control, state, tmp_path):
    """Nothing of them is left behind by reading, signing, writing and the recovery file."""
    if os.geteuid() != 0:
        pytest.skip("only root can read the memory of a process that forbids it")
    program = agent()
    run = partial(commands.segue, folder)
    run("account", "create", "Home", "--device", "desk")
    run("rename", "table")
    run("account", "recovery", str(tmp_path / "key"), answer=f"{PASSPHRASE}\n")
    run("rename", "desk")
    file = (state / "segue" / "account").read_bytes()
    fields = cbor2.loads(file[len(b"segue account\n") + 32 :])
    device, account = fields[1], fields[4]
    assert len(device) == len(account) == 48
    # Its seed: the rest is the same in all keys.
    assert places(program.pid, account[16:]) == []
    kept = places(program.pid, device[16:])
    assert kept and all("lo" in flags for flags in kept), kept
    # The search finds something else: the name of the account is no secret.
    assert places(program.pid, b"Home")
