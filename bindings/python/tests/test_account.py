# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accounts and devices, as far as they need no agent: arguments, what answers become, and what the command says.
With agents: Tests/agent/test_account.py, Tests/devices/test_command.py."""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from conftest import PATIENCE, Opener

import segue
from segue import _arguments
from segue._account import account_of
from segue._agent import failure_of
from segue._command import device_checks, doctor, reach, session
from segue._command.checks import Finding, State
from segue._command.devices import changes, details, heard, named, only, row, show
from segue._command.output import CommandError, when
from segue._command.qr import drawn
from segue._command.session import beside

NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)
NASTY = "a\x1b[2J\u202eb"


def device(name: str, **more: Any) -> dict[str, Any]:
    return {
        "device": uuid4(),
        "name": name,
        "platform": "Linux",
        "this_device": False,
        "manager": False,
        "confirmed": True,
        "linked": False,
        "joined": NOW,
        "certificate_ends": datetime(2099, 1, 1, tzinfo=timezone.utc),
        **more,
    }


def account(*devices: dict[str, Any], **more: Any) -> segue.Account:
    answer = {"change": 1, "status": "member", "account_name": "Home", "port": 1, "devices": list(devices), **more}
    return account_of({"settings": {}, "joins": [], "notices": [], **answer})


JOIN = segue.Join(join=1, digits="12345678", account_name="Home", device_name="phone", platform="Linux")
BAD: list[tuple[type[segue.Error], Callable[[segue.App], Any]]] = [
    (segue.ArgumentTypeError, lambda app: app.account(after="1")),  # type: ignore[arg-type]
    (segue.InvalidArgumentError, lambda app: app.account(after=1 << 63)),
    (segue.InvalidArgumentError, lambda app: app.account(timeout=601)),
    (segue.ArgumentTypeError, lambda app: app.create_account(None)),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.invite(addresses="10.0.0.1")),
    (segue.ArgumentTypeError, lambda app: app.invite(automatic="yes")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.await_join(1)),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.answer_join(JOIN, "y")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.rename_device("a", "b")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.revoke_device("a")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.accept_roster("a", bytes(32))),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.accept_roster(uuid4(), "a" * 32)),  # type: ignore[arg-type]
    (segue.InvalidArgumentError, lambda app: app.accept_roster(uuid4(), bytes(31))),
    (segue.ArgumentTypeError, lambda app: app.add_address("a", "b")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.remove_address(uuid4(), b"a")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.avoid_path("a", "relay")),  # type: ignore[arg-type]
    (segue.ArgumentTypeError, lambda app: app.use_path(uuid4(), 7)),  # type: ignore[arg-type]
    (segue.LimitExceededError, lambda app: app.recover_account(b"a" * 8193, "b")),
    (segue.InvalidArgumentError, lambda app: app.set_devices(port=65536)),
    (segue.InvalidArgumentError, lambda app: app.set_devices(push="maybe")),
    (segue.ArgumentTypeError, lambda app: app.set_devices(private_types="a")),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_arguments_are_refused_by_name(opened: Opener, number: int) -> None:
    kind, call = BAD[number]
    with pytest.raises(kind):
        call(opened())


ASKS: dict[str, Callable[[segue.App], Any]] = {
    "account": lambda app: app.account(),
    "create_account": lambda app: app.create_account("Home"),
    "invite": lambda app: app.invite(),
    "cancel_invites": lambda app: app.cancel_invites(),
    "read_invite": lambda app: app.read_invite("segue:join?"),
    "join": lambda app: app.join("segue:join?"),
    "await_join": lambda app: app.await_join(JOIN, 1),
    "answer_join": lambda app: app.answer_join(JOIN, True),
    "rename_device": lambda app: app.rename_device("a"),
    "revoke_device": lambda app: app.revoke_device(uuid4()),
    "accept_roster": lambda app: app.accept_roster(uuid4(), bytes(32)),
    "leave_account": lambda app: app.leave_account(),
    "recovery_file": lambda app: app.recovery_file("a" * 12),
    "recover_account": lambda app: app.recover_account(b"a", "b"),
    "set_devices": lambda app: app.set_devices(port=0),
    "add_address": lambda app: app.add_address(uuid4(), "laptop.example"),
    "remove_address": lambda app: app.remove_address(uuid4(), "laptop.example"),
    "avoid_path": lambda app: app.avoid_path(uuid4(), "relay"),
    "use_path": lambda app: app.use_path(uuid4(), "relay"),
    "read_paths": lambda app: app.read_paths(),
    "pushes": lambda app: app.pushes(),
}


@pytest.mark.parametrize("name", ASKS)
def test_without_an_agent_it_says_so(opened: Opener, name: str) -> None:
    with pytest.raises(segue.ConnectionUnavailableError, match="no agent runs"):
        ASKS[name](opened())


WAITS: dict[str, Callable[[segue.App], Any]] = {
    "account": lambda app: app.account(after=1, timeout=600),
    "await_join": lambda app: app.await_join(JOIN),
    "inbox": lambda app: app.inbox(),
    "pushes": lambda app: app.pushes(after=1, timeout=600),
}


@pytest.mark.parametrize("name", WAITS)
def test_what_waits_for_the_agent_ends_when_the_app_is_closed(opened: Opener, folder: str, name: str) -> None:
    app, beside = opened(), Path(f"{folder}-agent")
    beside.mkdir(mode=0o700)
    ends: list[BaseException] = []

    def wait() -> None:
        try:
            WAITS[name](app)
        except BaseException as error:
            ends.append(error)

    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(beside / "control"))
        agent.listen()
        waiting = threading.Thread(target=wait)
        waiting.start()
        question, _ = agent.accept()
        with question:
            assert question.recv(1)  # so it is asked, and no answer will come
            app.close()
            waiting.join(PATIENCE)
    shutil.rmtree(beside)
    assert not waiting.is_alive()
    (end,) = ends
    assert isinstance(end, segue.CancelledError) and "closed" in str(end)


def test_no_time_at_all_is_not_the_default() -> None:
    assert [_arguments.wait(each, 1000) for each in (None, 0, 0.0004, 1)] == [0, 1, 1, 1000]


# ---- what answers become


def test_an_answer_of_a_newer_agent_is_read_as_far_as_it_is_known() -> None:
    read = account(
        device("laptop", colour="red"),
        joins=[{"join": 7, "asks": True, "digits": "1", "account_name": "", "device_name": "a", "platform": "b"}],
        notices=[{"date": NOW, "status": 16, "message": "declined"}, {"date": NOW, "status": 4711, "message": "new"}],
        settings={"port": 4711, "private_types": ["a", "b"], "colour": "red"},
        colour="red",
    )
    assert read.status == segue.Membership.MEMBER
    assert read.joins[0].asks
    assert [each.status for each in read.notices] == [segue.Status.DECLINED, 4711]
    assert read.settings == segue.DeviceSettings(port=4711, private_types=("a", "b"))
    assert hash(read) == hash(read)


def test_without_an_account_there_are_settings_all_the_same() -> None:
    read = account_of({"change": 3, "status": "none", "settings": {"push": "never"}, "joins": [], "notices": []})
    assert (read.status, read.devices, read.account) == (segue.Membership.NONE, (), None)
    assert read.settings.push == "never"


# ---- what the command says


def test_names_of_others_are_escaped() -> None:
    (shown,) = account(device(NASTY, platform=NASTY, linked=True, address=NASTY)).devices
    assert all(character.isprintable() for cell in row(shown) for character in cell)


def test_a_device_is_named_by_its_name_or_the_beginning_of_its_identifier() -> None:
    one, other, twin = device("laptop"), device("phone", fingerprint="ab12"), device("phone", fingerprint="cd34")
    home = account(one, other, twin)
    assert only(home, "laptop").device == one["device"]
    assert only(home, str(twin["device"])[:13]).device == twin["device"]
    with pytest.raises(CommandError, match="2 devices"):
        only(home, "phone")
    with pytest.raises(segue.NotFoundError, match="'tablet'"):
        only(home, "tablet")
    with pytest.raises(segue.NotFoundError):
        only(home, "")
    assert named(only(home, str(other["device"]))) == "phone (ab12)"


def test_a_name_that_is_also_an_identifier_means_neither() -> None:
    """A device chooses its name, and is not put out in the place of another one, nor spared."""
    victim = device("laptop")
    whole = str(victim["device"])
    for name in (whole, whole[:8], whole[:8].upper()):
        home = account(victim, device(name))
        with pytest.raises(CommandError) as refused:
            only(home, name)
        assert f"'{name}' is the name of {name} (" in str(refused.value)
        assert f"the identifier of laptop ({whole}) begins so" in str(refused.value)
        assert only(home, whole[:13]).device == victim["device"]
    # Its own is no other's.
    itself = uuid4()
    same = device(str(itself)[:8], device=itself)
    assert only(account(same, victim), str(itself)[:8]).device == itself
    assert only(account(same, victim), whole).device == victim["device"]


def test_a_name_can_be_typed_as_it_is_shown() -> None:
    nasty, long, twin = device(NASTY), device("日" * 40), device("phone", fingerprint="cd34")
    home = account(nasty, long, device("phone", fingerprint="ab12"), twin)
    for each in (nasty, long, twin):
        (known,) = (one for one in home.devices if one.device == each["device"])
        assert only(home, row(known)[1]).device == each["device"]
    # The text that shows one device may be the name of another.
    with pytest.raises(CommandError, match="2 devices"):
        only(account(nasty, device(row(home.devices[0])[1])), row(home.devices[0])[1])


def test_each_change_is_a_line() -> None:
    laptop, phone = device("laptop"), device("phone", linked=True, address="10.0.0.2:1")
    former = account(laptop, phone)
    now = account({**laptop, "name": "notebook", "linked": True, "address": "10.0.0.3:1"}, device("tablet"))
    assert changes(former, now) == [
        "renamed   laptop is notebook now",
        "linked    notebook at 10.0.0.3:1",
        "joined    tablet",
        "removed   phone has left, or was revoked",
    ]
    assert changes(now, now) == []
    heir = [{**laptop, "manager": True}, phone]
    assert changes(former, account(*heir)) == ["manager   laptop"]


def test_a_code_is_drawn_the_same_way_round_in_every_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    lines = (drawn("segue:join?v=1") or "").splitlines()
    assert len(lines) > 10
    assert all(line.startswith("\x1b[38;5;231;48;5;16m") and line.endswith("\x1b[0m") for line in lines)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert drawn("segue:join?v=1") is None


def problems(found: list[Finding]) -> list[str]:
    return [each.about for each in found if each.state != State.OK]


def test_the_doctor_knows_certificates_ports_and_firewalls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_checks, "refusal", lambda number: None)
    monkeypatch.setattr(device_checks, "firewalls", lambda: iter(["ufw"]))
    monkeypatch.setattr(device_checks, "interfaces", lambda: iter([device_checks.IFF_UP]))
    here = device("laptop", this_device=True)
    assert problems(device_checks.findings(account(here))) == []
    soon = {**here, "certificate_ends": NOW}
    assert problems(device_checks.findings(account(soon))) == ["certificate"]
    assert problems(device_checks.findings(account(here, port=0))) == ["port"]
    assert problems(device_checks.findings(account(here, message="the clock is wrong"))) == ["account"]
    away = device_checks.findings(account(here, device("phone")))
    assert problems(away) == ["devices", "network", "firewall"]
    assert "TCP port 1 and UDP port 47470" in (away[-1].advice or "")
    # Why it does not listen, and no other remedy.
    assert problems(device_checks.findings(account(here, port=0, message="the certificate has ended"))) == ["account"]
    unusable = account(status="unusable", message="of another machine")
    assert problems(device_checks.findings(unusable)) == ["account"]
    monkeypatch.setattr(device_checks, "interfaces", lambda: iter([]))
    assert problems(device_checks.findings(account(here))) == ["network"]


def test_r14_1_the_doctor_names_paths_that_have_failed_and_tailnets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """R14.1, R14.2"""
    monkeypatch.setattr(device_checks, "refusal", lambda number: None)
    monkeypatch.setattr(device_checks, "firewalls", lambda: iter([]))
    monkeypatch.setattr(device_checks, "INTERFACES", tmp_path)
    for name, flags in (("lo", 0x49), ("eth0", 0x1003), ("tailscale0", 0x1091)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "flags").write_text(f"{flags:#x}\n")
    here = device("laptop", this_device=True)
    failed = {"address": f"home.example{NASTY}", "state": "failed", "message": f"the name is not found{NASTY}"}
    away = device("phone", paths=[failed, {"address": "10.0.0.7:1", "state": "known", "cost": "tunnel"}])
    found = device_checks.findings(account(here, away))
    assert problems(found) == ["devices", "path", "tailnet"]
    path, tailnet = found[-2:]
    assert "phone at home.example" in path.message and "the name is not found" in path.message
    assert "\x1b" not in path.message
    assert "tailscale0 is up" in tailnet.message
    assert "`segue devices --add-address phone HOST`" in (tailnet.advice or "")
    # An option begins with a dash.
    dashed = device("-x")
    tailnet = device_checks.findings(account(here, dashed))[-1]
    assert f"`segue devices --add-address {str(dashed['device'])[:8]} HOST`" in (tailnet.advice or "")
    # Once its address there is set, or it is linked, there is nothing to say.
    assert "tailnet" not in problems(device_checks.findings(account(here, {**away, "addresses": ["phone.ts.net"]})))
    assert problems(device_checks.findings(account(here, {**away, "linked": True}))) == []


def test_r14_1_the_list_shows_addresses_and_paths() -> None:
    """R14.1, R14.2"""
    used = {"address": "10.0.0.7:1", "state": "used", "cost": "same network"}
    failed = {"address": "phone.ts.net", "state": "failed", "message": "the name is not found"}
    (phone,) = account(device("phone", addresses=["phone.ts.net"], paths=[used, failed])).devices
    assert details(phone, False) == ["phone: dialled at phone.ts.net"]
    assert details(phone, True)[1:] == [
        "phone: 10.0.0.7:1, same network, used",
        "phone: phone.ts.net, failed: the name is not found",
    ]


def test_r14_1_kinds_of_paths_that_are_not_used_are_shown_and_are_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_checks, "refusal", lambda number: None)
    monkeypatch.setattr(device_checks, "firewalls", lambda: iter([]))
    monkeypatch.setattr(device_checks, "interfaces", lambda: iter([device_checks.IFF_UP, device_checks.IFF_MULTICAST]))
    monkeypatch.setattr(device_checks, "tailnets", lambda missing: iter([]))
    here = device("laptop", this_device=True)
    known = {"address": "10.0.0.7:1", "state": "avoided", "cost": "same network"}
    away = device("my phone", paths=[known], avoided=["same network", "relay"])
    dashed = device("--help", avoided=["relay"])
    advice = [each.advice for each in device_checks.findings(account(here, dashed)) if each.about == "path"]
    assert advice == [f"`segue devices --use {str(dashed['device'])[:8]} relay`"]
    found = account(here, away)
    assert details(found.devices[1], True) == [
        "my phone: not by same-network, relay",
        "my phone: 10.0.0.7:1, same network, avoided",
    ]
    paths = [each for each in device_checks.findings(found) if each.about == "path"]
    assert [each.advice for each in paths] == [
        "`segue devices --use 'my phone' same-network`",
        "`segue devices --use 'my phone' relay`",
    ]
    (reason,) = reach.reasons(None, found)
    assert reason.message.endswith("; not used: same-network, relay")
    # While it is linked otherwise, nothing is wrong.
    assert problems(device_checks.findings(account(here, {**away, "linked": True}))) == []


UNLISTED = {
    "takeovers": [
        {"device": uuid4(), "fingerprint": "1f2e", "date": NOW, "term": 2, "digest": bytes(32), "name": f"xray{NASTY}"}
    ],
    "refused": [{"device": uuid4(), "fingerprint": "3d4c", "date": NOW}],
    "notices": [{"date": NOW, "status": 19, "message": "phone: is the manager now, by the recovery file"}],
}


def test_the_doctor_tells_of_a_take_over_refused_devices_and_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_checks, "refusal", lambda number: None)
    monkeypatch.setattr(device_checks, "interfaces", lambda: iter([device_checks.IFF_UP]))
    found = device_checks.findings(account(device("laptop", this_device=True), **UNLISTED))
    taken, refused, told = (each for each in found if each.state != State.OK)
    assert (taken.state, refused.state, told.state) == (State.PROBLEM, State.NOTE, State.NOTE)
    assert "(1f2e) has taken over with the recovery file" in taken.message and "\x1b" not in taken.message
    assert f"`segue account accept {str(UNLISTED['takeovers'][0]['device'])[:8]}`" in (taken.advice or "")
    assert "3d4c" in refused.message and "is refused" in refused.message
    assert f"`segue revoke {str(UNLISTED['refused'][0]['device'])[:8]}`" in (refused.advice or "")
    assert told.message.endswith("phone: is the manager now, by the recovery file")
    outside = account(status="none", notices=UNLISTED["notices"])
    assert problems(device_checks.findings(outside)) == ["account"]
    # Not twice what is said already.
    unusable = account(status="unusable", message="damaged", notices=[{"date": NOW, "status": 7, "message": "damaged"}])
    assert problems(device_checks.findings(unusable)) == ["account"]


def test_devices_tells_of_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    show(
        account(device("laptop", this_device=True), **UNLISTED),
        argparse.Namespace(json=False, watch=False, paths=False),
    )
    said = capsys.readouterr().err
    for each in ("has taken over with the recovery file", "is refused", "phone: is the manager now"):
        assert each in said


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Etc/GMT-14", "UTC"])
@pytest.mark.parametrize(
    "date", [datetime.min.replace(tzinfo=timezone.utc), datetime.max.replace(tzinfo=timezone.utc)], ids=["1", "9999"]
)
def test_a_date_of_others_is_shown_whatever_its_year(
    monkeypatch: pytest.MonkeyPatch, date: datetime, zone: str
) -> None:
    """The local calendar may end before that of Python: astimezone() raises there."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert re.fullmatch(r"(1-01-01|0001-01-01|9999-12-31) [0-9]{2}:[0-9]{2}( UTC)?", when(date))
        assert when(segue.Timestamp(1e300)) == ""
        failure = failure_of(
            {
                "bundle_identifier": "com.example.notes",
                "app_name": "Notes",
                "type": "a.b",
                "status": 20,
                "message": "why",
                "date": date,
            }
        )
        app: Any = SimpleNamespace(unheard_failures=lambda: [failure, replace(failure, date=segue.Timestamp(1e300))])
        dated, undated = doctor.failures(app)
        assert f"could not continue a.b at {when(date)}: why" in dated.message
        assert "could not continue a.b: why" in undated.message
        notice = account(notices=[{"date": date, "status": 19, "message": "a notice"}]).notices[0]
        assert heard(notice) == f"{when(date)} a notice"
        assert heard(replace(notice, date=segue.Timestamp(1e300))) == "a notice"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_port_at_which_nothing_listens_is_found() -> None:
    assert device_checks.refusal(1) is not None


def test_who_waits_for_a_stopped_agent_is_told(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, and the answer still counts."""
    looked = threading.Event()

    def stopped(folder: str, name: str) -> int:
        assert folder and name == "segue-agent"
        looked.set()
        return 4711

    monkeypatch.setattr(session, "SILENCE", 0.01)
    monkeypatch.setattr(session, "stopped_agent", stopped)

    async def ask() -> bool:
        async with session.chooser() as app:
            return await session.asked(app, looked.wait, PATIENCE)

    assert asyncio.run(ask())
    said = capsys.readouterr().err
    assert said == "the agent, process 4711, is stopped (Ctrl-Z, a debugger), and does not answer: kill -CONT 4711\n"


def test_who_asks_in_a_thread_of_its_own_can_leave() -> None:
    """Ctrl-C does not wait for an agent that does not answer."""
    answers = threading.Event()

    async def leave() -> None:
        asked = asyncio.ensure_future(beside(answers.wait))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await beside(sum, [1, 2]) == 3
        with pytest.raises(ZeroDivisionError):
            await beside(divmod, 1, 0)

    asyncio.run(leave())  # ends although the first is still asked
    answers.set()


def test_a_status_that_this_version_does_not_know_is_an_error_of_segue() -> None:
    with pytest.raises(segue.MalformedError, match="'account' with the status 'suspended'"):
        account_of({"change": 3, "status": "suspended", "settings": {}, "joins": [], "notices": []})
