# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verbs `setup desktop` and `desktop`, `doctor`, and the bar: `watch --format waybar`, `continue --frontmost`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from agents import AgentDevice
from commands import segue
from desk import Desk
from participants import Participant
from project import ROOT
from searching import APP_ID, NAME
from searching import installed as installed_file
from segue._command import desktop
from segue._command.checks import State

Notes = tuple[Participant, Participant]
WANTS = "systemd/user/graphical-session.target.wants/segue-desktop.service"
ENTRY = "autostart/local.segue.Segue.desktop"
SEARCHES = (f"applications/{NAME}.desktop", f"krunner/dbusplugins/{NAME}.desktop")
SERVICE = f"dbus-1/services/{NAME}.service"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of settings; the program is not installed, and there is no systemd."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("SEGUE_DESKTOP", str(tmp_path / "nothing"))
    monkeypatch.setattr(desktop, "systemd", lambda *words: False)
    return tmp_path / "config"


@pytest.fixture
def installed(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prefix under which `make install` has put its files."""
    prefix = tmp_path / "prefix"
    done = subprocess.run(["make", "-n", "install", f"PREFIX={prefix}"], cwd=ROOT, capture_output=True, text=True)
    assert f"{prefix}/libexec/segue/segue-desktop" in done.stdout, done
    for template, file in (
        ("service", "lib/systemd/user/segue-desktop.service"),
        ("desktop", f"share/segue/desktop/{desktop.APP_ID}.desktop"),
    ):
        text = (ROOT / f"packaging/segue-desktop.{template}.in").read_text()
        (prefix / file).parent.mkdir(parents=True)
        (prefix / file).write_text(text.replace("@LIBEXECDIR@", f"{prefix}/libexec"))
    for name, file in (
        ("application.desktop", f"segue/desktop/{NAME}.desktop"),
        ("krunner.desktop", f"segue/desktop/{APP_ID}.krunner.desktop"),
        ("dbus.service", f"dbus-1/services/{NAME}.service"),
        ("search-provider.ini", f"gnome-shell/search-providers/{APP_ID}.search-provider.ini"),
    ):
        assert f"{name}:{file}" in done.stdout
        (prefix / "share" / file).parent.mkdir(parents=True, exist_ok=True)
        (prefix / "share" / file).write_text(installed_file(name, prefix / "libexec" / "segue" / "segue-search"))
    program = prefix / "libexec" / "segue" / "segue-desktop"
    program.parent.mkdir(parents=True)
    program.symlink_to(ROOT / "lib" / "segue-desktop")
    monkeypatch.setattr(desktop, "found", lambda: program)
    return prefix


def test_setup_enables_it_for_one_user_and_takes_that_back(config, installed, folder, monkeypatch):
    data = config.parent / "data"
    monkeypatch.setenv("XDG_DATA_DIRS", f"/usr/share:{installed}/share")
    for _ in range(2):  # twice is as once
        (made,) = json.loads(segue(folder, "setup", "desktop", "--json").out)
        files = [config / WANTS, config / ENTRY, *(data / each for each in SEARCHES)]
        assert made["files"] == list(map(str, files))
        (left,) = made["to_do"]
        assert "Log out" in left
    for each in SEARCHES:
        assert "segue-search" in (data / each).read_text() or f"DBusRunner-Service={NAME}" in (data / each).read_text()
    assert os.readlink(config / WANTS) == str(installed / "lib/systemd/user/segue-desktop.service")
    assert "segue-desktop" in (config / ENTRY).read_text()
    assert [each.state for each in desktop.findings()] == [State.OK]
    for _ in range(2):
        segue(folder, "setup", "desktop", "--remove")
        assert not (config / WANTS).is_symlink() and not (config / ENTRY).exists()
        assert not any(file.is_file() for file in data.rglob("*"))
    assert [each.advice for each in desktop.findings()] == ["`segue setup desktop`"]


def test_setup_says_what_an_administrator_has_to_do(config, installed, folder, monkeypatch):
    """GNOME reads providers in the system's folders alone; the bus reads services in the user's folder, too."""
    monkeypatch.setenv("XDG_DATA_DIRS", "/usr/share")
    (made,) = json.loads(segue(folder, "setup", "desktop", "--json").out)
    assert f"{installed}/share/gnome-shell/search-providers/{APP_ID}.search-provider.ini" in made["to_do"][1]
    assert (config.parent / "data" / SERVICE).read_text().startswith("[D-BUS Service]")
    segue(folder, "setup", "desktop", "--remove")
    assert not (config.parent / "data" / SERVICE).exists()


def test_setup_of_before_there_were_searches_is_done_again(config, installed, folder, monkeypatch):
    monkeypatch.setenv("XDG_DATA_DIRS", f"{installed}/share")
    segue(folder, "setup", "desktop")
    for each in SEARCHES:
        (config.parent / "data" / each).unlink()
    assert [(each.state, each.advice) for each in desktop.findings()][1] == (State.NOTE, "`segue setup desktop`")


@pytest.mark.skipif(shutil.which("desktop-file-validate") is None, reason="desktop-file-utils is missing")
def test_the_entries_are_valid(installed):
    entry = installed / "share" / "segue" / "desktop" / f"{NAME}.desktop"
    done = subprocess.run(["desktop-file-validate", entry], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "", done


def test_setup_says_what_is_not_installed(config, folder):
    assert "install it" in segue(folder, "setup", "desktop", status=1).err
    assert list(desktop.findings()) == []
    (config / ENTRY).parent.mkdir(parents=True)
    (config / ENTRY).touch()
    (finding,) = desktop.findings()
    assert (finding.state, finding.advice) == (State.PROBLEM, "install it again, or `segue setup desktop --remove`")


def test_the_units_are_those_of_a_graphical_session(installed):
    unit = (installed / "lib/systemd/user/segue-desktop.service").read_text()
    for key in ("PartOf", "After", "WantedBy"):
        assert f"{key}=graphical-session.target" in unit
    command = ["systemd-analyze", "--user", "verify", installed / "lib/systemd/user/segue-desktop.service"]
    if Path("/usr/bin/systemd-analyze").exists():
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "XDG_RUNTIME_DIR": str(installed)}
        )
        assert not re.search("segue-desktop.service:", done.stderr), done.stderr


def test_the_identifier_is_the_one_of_the_project():
    said = (ROOT / "libexec/common/app_id.h").read_text()
    assert f'#define APP_ID "{desktop.APP_ID}"' in said


def test_settings_are_shown_and_changed(config, folder):
    assert segue(folder, "desktop").out.splitlines() == ["notify arrival", "titles shown", "idle 120"]
    segue(folder, "desktop", "--notify", "always", "--titles", "hidden", "--idle", "60", "--off", "app", "org.a")
    segue(folder, "desktop", "--off", "device", "my laptop", "--off", "app", "org.a")
    found = json.loads(segue(folder, "desktop", "--json").out)
    assert (found["notify"], found["titles"], found["idle"]) == ("always", "hidden", 60)
    assert [(each["kind"], each["name"]) for each in found["off"]] == [("device", "my laptop"), ("app", "org.a")]
    segue(folder, "desktop", "--on", "app", "org.a")
    assert "org.a" not in (config / "segue" / "desktop").read_text()


@pytest.mark.parametrize("words", [["--off", "apps", "x"], ["--off", "app", ""], ["--off", "app", "a\nnotify never"]])
def test_settings_that_make_no_sense_are_refused(config, folder, words):
    segue(folder, "desktop", *words, status=2)
    assert not (config / "segue" / "desktop").exists()


def test_a_wrong_line_is_named(config, folder):
    (config / "segue").mkdir(parents=True)
    (config / "segue" / "desktop").write_text("notfy never\n")
    assert "'notfy never' is not understood" in segue(folder, "desktop", status=1).err
    assert [each.state for each in desktop.findings()] == [State.PROBLEM]


def test_a_bar_has_one_line_a_change_without_markup(desk: Desk, notes: Notes, laptop: AgentDevice) -> None:
    here, there = notes
    command = [ROOT / ".venv" / "bin" / "python", "-m", "segue", "watch", "--format", "waybar"]
    bar = desk.start("bar", command)
    assert json.loads(bar.wait_for("^{.*}$")[0]) == {"text": "", "alt": "none", "tooltip": "", "class": "none"}
    desk.app(desk.device, "mine").tell("offer mine").hears("offered")  # of this device: no line
    there.tell("offer <i>R&D</i>").hears("offered")
    said = json.loads(bar.wait_for("^{.*}$")[0])
    assert said["text"] == "&lt;i&gt;R&amp;D&lt;/i&gt;"
    assert said["tooltip"] == f"Continue '{said['text']}': com.example.notes, on laptop"
    here.hears("appeared <i>R&D</i>")
    said = segue(desk.device.folder, "continue", "--frontmost").out
    assert "restored" in said
    there.hears(r"ended \w+ restored OK.*")
    # The same without Python, which is what a click on the bar starts.
    words = [ROOT / "lib" / "segue-continue", "false", "--", "continue", "--frontmost"]
    environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(desk.device.folder)}
    environment.pop("SEGUE_LIBRARY", None)  # with which it leaves all to Python
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (0, said), done
    assert done.stderr.endswith(" from com.example.notes on laptop\n")
    there.hears(r"ended \w+ restored OK.*")
    there.tell("invalidate")
    assert json.loads(bar.wait_for('^{"text": "".*}$')[0])["class"] == "none"
    assert "no other device" in segue(desk.device.folder, "continue", "--frontmost", status=1).err


def test_the_frontmost_needs_no_other_choice(folder):
    assert "--frontmost" in segue(folder, "continue", "--frontmost", "--type", "x", status=2).err
