# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verb `setup` and what `make install` puts where browsers look for it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from commands import segue
from identity import IDENTITY
from messaging import HOST
from project import ROOT
from segue._command import setup

NAME = f"{IDENTITY['HOST_NAME']}.json"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("SEGUE_BROWSER_HOST", str(HOST))
    return tmp_path


def test_setup_writes_the_entry_of_the_host_for_each_browser_and_says_what_is_left(home, folder):
    (home / ".config/vivaldi").mkdir(parents=True)
    made = json.loads(segue(folder, "setup", "firefox", "chromium", "--json").out)
    assert [each["program"] for each in made] == ["firefox", "chromium"]
    firefox, chromium = (each["files"] for each in made)
    assert firefox == [str(home / f".{part}mozilla/native-messaging-hosts" / NAME) for part in ("", "config/")]
    profiles = ("chromium", "google-chrome", "vivaldi")
    assert chromium == [str(home / ".config" / each / "NativeMessagingHosts" / NAME) for each in profiles]
    for path in (*firefox, *chromium):
        entry = json.loads(Path(path).read_text())
        assert (entry["name"], entry["path"]) == (IDENTITY["HOST_NAME"], str(HOST))
    for each in made:
        assert any("button" in step for step in each["to_do"])
    assert any("not signed" in step or "all users" in step for step in made[0]["to_do"])
    said = segue(folder, "setup", "firefox", "chromium").out
    assert "done" not in said and "success" not in said and "1. " in said


def test_setup_writes_where_browsers_have_their_settings(home, folder, monkeypatch):
    settings = home / "settings"
    (settings / "vivaldi").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(settings))
    made = json.loads(segue(folder, "setup", "firefox", "chromium", "--json").out)
    firefox, chromium = (each["files"] for each in made)
    bases = (home / ".mozilla", settings / "mozilla")
    assert firefox == [str(base / "native-messaging-hosts" / NAME) for base in bases]
    profiles = ("chromium", "google-chrome", "vivaldi")
    assert chromium == [str(settings / each / "NativeMessagingHosts" / NAME) for each in profiles]
    json.loads(segue(folder, "setup", "firefox", "chromium", "--remove", "--json").out)
    assert not list(home.rglob(NAME))


@pytest.mark.parametrize(("browser", "program"), [("firefox", "firefox"), ("chromium", "chromium")])
def test_setup_says_of_a_snap_what_it_can_do(home, folder, monkeypatch, browser, program):
    programs = home / "bin"
    programs.mkdir()
    (programs / program).symlink_to("/usr/bin/snap")
    monkeypatch.setattr("shutil.which", lambda name: str(programs / name) if name == program else None)
    said = list(setup.to_do(browser))
    assert str(programs / program) in said[0] and "Snap" in said[0]
    assert ("version 157" in said[0]) == (browser == "firefox")
    assert ("not supported" in said[0]) == (browser == "chromium")


def test_setup_has_the_names_of_the_host_and_of_the_extension():
    assert (IDENTITY["HOST_NAME"], IDENTITY["FIREFOX_ID"]) == (setup.NAME, setup.ADD_ON)


@pytest.mark.parametrize("printed", ["{}", "[]", '{"name": "../../x"}', "hello"])
def test_setup_takes_the_entry_of_this_host_only(home, folder, printed):
    other = home / "other"
    other.write_text(f"#!/bin/sh\necho '{printed}'\n")
    other.chmod(0o755)
    said = segue(folder, "setup", "firefox", "--host", str(other), status=1)
    assert said.err.startswith("segue: ") and "Traceback" not in said.err
    assert not list(home.rglob("*.json"))


def test_setup_takes_its_entries_away_again(home, folder):
    segue(folder, "setup", "firefox")
    made = json.loads(segue(folder, "setup", "firefox", "--remove", "--json").out)
    assert len(made[0]["files"]) == 2 and not list(home.rglob(NAME))
    assert json.loads(segue(folder, "setup", "firefox", "--remove", "--json").out)[0]["files"] == []


@pytest.mark.parametrize(
    "words", [["netscape"], ["firefox", "--host", "/nowhere"], ["firefox", "--host", "/bin/false"]]
)
def test_setup_says_what_is_wrong(home, folder, words):
    said = segue(folder, "setup", *words, status=1)
    assert said.err.startswith("segue: ") and not list(home.rglob(NAME))


def test_the_host_is_installed_where_setup_finds_it(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path)}
    for prefix in ("/usr", "/opt/segue"):
        target = tmp_path / prefix.replace("/", "_")
        command = ["make", "-s", "-o", "lib", "install", f"DESTDIR={target}", f"PREFIX={prefix}"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        host = Path(f"{target}{prefix}/libexec/segue/segue-browser-host")
        printed = subprocess.run([host, "--manifest", "firefox"], env=environment, capture_output=True, check=True)
        assert json.loads(printed.stdout)["path"] == str(host)
        packages = Path(f"{target}{prefix}/share/segue/browser")
        assert (packages / "chromium" / "manifest.json").is_file() and (packages / "segue-firefox.xpi").is_file()
        scope = Path(f"{target}/usr/share/mozilla/extensions")
        assert [each.name for each in scope.rglob("*.xpi")] == (
            [f"{IDENTITY['FIREFOX_ID']}.xpi"] if prefix == "/usr" else []
        )
