# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Browsers in `segue doctor`: programs, entries of the host, extensions in profiles, Snaps and the proxy (R12.4)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import segue
from identity import IDENTITY
from messaging import HOST, Host
from segue._command import browser_checks, setup

NAME = f"{IDENTITY['HOST_NAME']}.json"
PROCESSES = browser_checks.processes
Findings = list[dict[str, Any]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with both browsers, which are programs that do nothing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("firefox-esr", "chromium"):
        (programs / name).symlink_to("/bin/true")
    which = shutil.which
    monkeypatch.setattr(
        "shutil.which", lambda name: str(programs / name) if (programs / name).is_symlink() else
        None if any(name in kind.programs for kind in setup.KINDS.values()) else which(name),
    )  # fmt: skip
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("SEGUE_BROWSER_HOST", str(HOST))
    # Browsers of other tests run beside this one.
    monkeypatch.setattr(browser_checks, "processes", lambda browser: [])
    monkeypatch.setattr(browser_checks, "SYSTEM_FOLDERS", dict.fromkeys(setup.KINDS, ()))
    return tmp_path


@pytest.fixture
def found(home: Path, folder: Path) -> Callable[..., Findings]:
    """The findings about a kind of browser. status: of the command"""

    def look(browser: str, status: int = 0) -> Findings:
        said = json.loads(segue(folder, "doctor", "--json", status=status).out)
        return [each for each in said if each["about"] == browser]

    return look


def with_state(findings: Findings, state: str) -> str:
    return "\n".join(f"{each['message']} -> {each['advice']}" for each in findings if each["state"] == state)


@pytest.mark.parametrize("browser", ["firefox", "chromium"])
def test_a_browser_without_entry_and_extension_is_no_problem_and_says_what_to_do(home, found, browser):
    notes = with_state(found(browser), "note")
    assert f"`segue setup {browser}`" in notes and "the extension is in no profile" in notes
    assert ("about:debugging" if browser == "firefox" else "chrome://extensions") in notes


@pytest.mark.parametrize("browser", ["firefox", "chromium"])
def test_an_entry_is_fine_until_its_program_is_gone(home, folder, found, browser):
    program = home / "program"
    shutil.copy(HOST, program)
    paths = setup.write(browser, HOST)
    good = [each for each in found(browser) if "the entry of" in each["message"]]
    assert [each["state"] for each in good] == ["ok"] * len(paths)
    for path in paths:
        path.write_text(path.read_text().replace(str(HOST.resolve()), str(program)))
    assert not with_state(found(browser), "problem")
    program.unlink()
    problems = with_state(found(browser, status=1), "problem")
    assert problems.count(f"it names {program}, which is no program -> `segue setup {browser}`") == len(paths)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "this is no entry"),
        ('{"name": "other", "path": "/bin/true"}', "this is no entry"),
        ('{"name": "%s", "path": 7}', "this is no entry"),
        ('{"name": "%s", "path": "true"}', "which is no program"),
        ('{"name": "%s", "path": "/bin/true", "allowed_extensions": ["x@y", 7]}', "does not allow the extension"),
        (None, "No such file or directory"),
    ],
)
def test_a_broken_entry_is_named(home, found, text, why):
    path = setup.write("firefox", HOST)[0]
    path.unlink()
    if text is None:
        path.symlink_to("/nowhere")
    else:
        path.write_text(text.replace("%s", IDENTITY["HOST_NAME"]))
    problem = with_state(found("firefox", status=1), "problem")
    assert problem.startswith(f"{path}: ") and why in problem


def test_firefox_has_the_extension_in_a_profile(home, found):
    """One that is switched off is named, too; another program's file is nothing."""
    addons = [{"id": "other@example.com", "active": True}, {"id": setup.ADD_ON, "active": False}, 7]
    for name, text in (("a", json.dumps({"addons": addons})), ("b", "{"), ("c", '{"addons": 7}')):
        profile = home / ".mozilla/firefox" / name
        profile.mkdir(parents=True)
        (profile / "extensions.json").write_text(text)
    notes = with_state(found("firefox"), "note")
    assert f"switched off in {home}/.mozilla/firefox/a -> allow it in about:addons" in notes
    addons[1]["active"] = True
    (home / ".mozilla/firefox/a/extensions.json").write_text(json.dumps({"addons": addons}))
    assert f"the extension is in {home}/.mozilla/firefox/a" in with_state(found("firefox"), "ok")


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"location": 4}, "ok"),
        ({"disable_reasons": []}, "ok"),
        ({"disable_reasons": [1]}, "note"),
        ({"state": 0}, "note"),
    ],
)
def test_chromium_has_the_extension_in_a_profile(home, found, entry, state):
    profile = home / ".config/chromium/Default"
    profile.mkdir(parents=True)
    settings = {"extensions": {"settings": {IDENTITY["CHROMIUM_ID"]: entry}}}
    (profile / "Secure Preferences").write_text(json.dumps(settings))
    (profile / "Preferences").write_text("7")
    assert str(profile) in with_state(found("chromium"), state)


def test_the_host_of_a_connected_extension_is_named(home, folder, found, monkeypatch):
    """A host is its browser's, by the arguments with which that has started it."""
    monkeypatch.setattr(browser_checks, "processes", PROCESSES)
    hosts = {browser: Host(folder, browser) for browser in setup.KINDS}
    for browser, host in hosts.items():
        said = with_state(found(browser), "ok")
        assert f"{host.process.pid}" in said
        assert not any(f"{other.process.pid}" in said for other in hosts.values() if other is not host)
    for host in hosts.values():
        host.kill()


@pytest.fixture
def bus(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A session bus, which can start the proxy or not."""
    services = home / "data/dbus-1/services"
    services.mkdir(parents=True)
    started: list[subprocess.Popen[str]] = []

    def start(service: str) -> None:
        (services / f"{service}.service").write_text(f"[D-BUS Service]\nName={service}\nExec=/bin/false\n")
        command = ["dbus-daemon", "--session", "--nofork", "--print-address", f"--address=unix:path={folder}/bus"]
        environment = {**os.environ, "XDG_DATA_HOME": str(home / "data")}
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", started[0].stdout.readline().strip())

    yield start
    for each in started:
        each.kill()
        each.wait()
        each.stdout.close()


@pytest.mark.parametrize("tool", ["busctl", "dbus-send"])
@pytest.mark.parametrize(
    ("service", "state", "words"),
    [
        (browser_checks.PROXY, "ok", "is on the session bus"),
        (f"{browser_checks.PROXY}.Other", "note", "is not on the session bus"),
        (None, "note", "the session bus does not answer"),
    ],
)
def test_a_firefox_in_a_snap_needs_the_proxy(home, found, bus, monkeypatch, service, state, words, tool):
    """(R12.4) Whether the proxy can be started by the bus, by each of two programs that ask it."""
    (home / "bin" / "firefox-esr").unlink()
    (home / "bin" / "firefox").symlink_to("/usr/bin/snap")
    run = subprocess.run
    monkeypatch.setattr(
        subprocess, "run",
        lambda command, **options: run([each if each == tool else "/nowhere" for each in command[:1]]
                                       + list(command[1:]), **options),
    )  # fmt: skip
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={home}/nowhere")
    if service is not None:
        bus(service)
    said = with_state(found("firefox"), state)
    assert str(home / "bin" / "firefox") in said and words in said


def test_a_chromium_in_a_snap_is_not_supported(home, found):
    """(R12.4)"""
    (home / "bin" / "chromium").unlink()
    (home / "bin" / "chromium").symlink_to("/usr/bin/snap")
    assert "it is not supported" in with_state(found("chromium"), "note")


def test_the_doctor_has_the_identifiers_of_the_extension():
    assert (setup.ADD_ON, *browser_checks.CHROMIUM_IDS) == (IDENTITY["FIREFOX_ID"], IDENTITY["CHROMIUM_ID"])
