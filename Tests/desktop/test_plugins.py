# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`segue setup` for plugins, bridges and shells: what it writes for one user, and that programs find it there."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from commands import segue
from project import ROOT
from segue._command import desktop, installed, parts
from segue._command.checks import State
from terminal import terminals

NAMES = ("gedit", "mpris", "nvim", "zathura", "okular", "bash", "zsh", "fish")
OWN = b"alias ll='ls -l'\n\xff\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder. Settings of GNOME are in a file of it."""
    for name, folder in (("HOME", ""), ("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("GSETTINGS_BACKEND", "keyfile")
    monkeypatch.setenv("SEGUE_STDIO", str(ROOT / "lib" / "segue-stdio"))
    monkeypatch.delenv("ZDOTDIR", raising=False)
    monkeypatch.setattr(desktop, "systemd", lambda *words: False)
    monkeypatch.setattr(installed, "beside_library", lambda: ROOT / "lib")
    return tmp_path


def files_of(home: Path) -> dict[Path, str]:
    found = {path: os.readlink(path) if path.is_symlink() else path.read_text(errors="replace")
             for path in home.rglob("*") if path.is_symlink() or path.is_file()}  # fmt: skip
    return {path: text for path, text in found.items() if "dconf" not in str(path)}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_switched_on_twice_is_on_once_and_goes_twice(home: Path, folder: Path, name: str) -> None:
    before = files_of(home)
    (made,) = json.loads(segue(folder, "setup", name, "--json").out)
    assert made["program"] == name and made["files"] and made["to_do"]
    once = files_of(home)
    segue(folder, "setup", name)
    assert files_of(home) == once
    assert all(str(home) in file for file in made["files"])
    assert "nothing" not in segue(folder, "setup", name, "--remove").out
    assert "nothing" in segue(folder, "setup", name, "--remove").out
    left = {path: text for path, text in files_of(home).items() if text and path.name != "keyfile"}
    assert left == before


def test_lines_of_the_user_stay_as_they_are(home: Path, folder: Path) -> None:
    """Dotfiles are links in some homes; their modes are the user's."""
    real = home / "dotfiles" / "bashrc"
    real.parent.mkdir()
    real.write_bytes(OWN)
    real.chmod(0o600)
    (home / ".bashrc").symlink_to(real)
    segue(folder, "setup", "bash")
    assert real.read_bytes().startswith(OWN + b"# ")
    assert (home / ".bashrc").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    segue(folder, "setup", "bash", "--remove")
    assert real.read_bytes() == OWN


def test_a_line_without_an_end_is_not_made_longer(home: Path, folder: Path) -> None:
    (home / ".zshrc").write_text("export A=1")
    segue(folder, "setup", "zsh")
    assert (home / ".zshrc").read_text().splitlines()[0] == "export A=1"
    assert 'shell-init zsh)"' in (home / ".zshrc").read_text()


def test_a_folder_of_the_user_is_not_replaced(home: Path, folder: Path) -> None:
    own = home / "data/nvim/site/pack/segue/start/segue"
    own.mkdir(parents=True)
    assert "not of Segue" in segue(folder, "setup", "nvim", status=1).err
    assert own.is_dir() and not own.is_symlink()


@pytest.mark.parametrize("target", ["/no/such/plugin", "elsewhere"])
def test_a_link_of_the_user_is_no_plugin_of_segue(home: Path, folder: Path, target: str) -> None:
    """It is neither on, nor taken away, nor replaced."""
    (home / "elsewhere").mkdir()
    link = home / "data/nvim/site/pack/segue/start/segue"
    link.parent.mkdir(parents=True)
    link.symlink_to(home / target)
    assert "not of Segue" in segue(folder, "setup", "nvim", status=1).err
    segue(folder, "setup", "nvim", "--remove")
    assert os.readlink(link) == str(home / target)
    assert [each.about for each in parts.plugins() if each.about == "nvim"] == []


def test_without_names_it_shows_and_changes_nothing(home: Path, folder: Path) -> None:
    said = segue(folder, "setup").out
    assert "off  bash       folders of bash" in said
    segue(folder, "setup", "bash")
    before = files_of(home)
    listed = {each["program"]: each for each in json.loads(segue(folder, "setup", "--json").out)}
    assert listed["bash"]["on"] is True and listed["bash"]["path"] == shutil.which("bash")
    assert all(each["path"] or each["on"] for each in listed.values())
    assert files_of(home) == before


def test_in_a_terminal_it_asks_about_each(home: Path, folder: Path) -> None:
    environment = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SEGUE_STDIO")}
    environment["SEGUE_DESKTOP"] = "/nonexistent"
    programs = home / "bin"
    programs.mkdir()
    for name in ("bash", "zsh", "tmux", "sh", "cat", "env"):
        if path := shutil.which(name):
            (programs / name).symlink_to(path)
    command = f"PATH={programs} SEGUE_RUNTIME_DIR={folder} {sys.executable} -m segue setup"
    with terminals(folder, {**os.environ, **environment}) as opened:
        terminal = opened("user")
        terminal.type(command)
        terminal.shows(r"Switch bash on: folders of bash\? \[y/N\]")
        terminal.type("y")
        terminal.shows(r"Switch zsh on: folders of zsh\? \[y/N\]")
        terminal.type("n")
        terminal.shows(r"^bash: switched on by .*\.bashrc$")
        assert not (home / ".zshrc").exists()
        terminal.type(f"{command} --remove")
        terminal.shows(r"Switch bash off: folders of bash\?")
        terminal.type("y")
        terminal.shows("^bash: taken away ")
    assert (home / ".bashrc").read_text() == ""


def test_a_name_that_is_unknown_is_refused(folder: Path) -> None:
    assert "it is firefox, chromium, desktop, nvim" in segue(folder, "setup", "emacs", status=1).err


def test_one_that_fails_does_not_hold_up_the_others(home: Path, folder: Path) -> None:
    (home / "data/nvim/site/pack/segue/start/segue").mkdir(parents=True)
    said = segue(folder, "setup", "nvim", "bash", status=1)
    assert "bash: switched on by" in said.out and "not of Segue" in said.err


def test_doctor_names_what_setup_would_do(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    off = next(each for each in parts.plugins() if each.about == "setup")
    assert "bash" in off.message and off.advice == "`segue setup` asks about each"
    segue(folder, "setup", "nvim")
    monkeypatch.setattr(shutil, "which", lambda name, *_: None)
    (found,) = parts.plugins()
    assert (found.about, found.state) == ("nvim", State.NOTE)
    link = home / "data/nvim/site/pack/segue/start/segue"
    link.unlink()
    link.symlink_to("/no/such/integrations/nvim")
    (found,) = parts.plugins()
    assert (found.state, "installed any longer" in found.message) == (State.PROBLEM, True)


@pytest.mark.skipif(not shutil.which("nvim"), reason="Neovim is not installed")
def test_neovim_finds_what_setup_has_linked(home: Path, folder: Path) -> None:
    segue(folder, "setup", "nvim")
    words = ["--headless", "-i", "NONE", "+lua io.stdout:write(tostring(vim.fn.exists(':Handoff')))", "+qall!"]
    environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}
    done = subprocess.run(["nvim", *words], env=environment, capture_output=True, text=True, timeout=20)
    assert done.stdout == "2", done


@pytest.mark.skipif(not shutil.which("mpv") or not (ROOT / "lib/segue-mpv.so").exists(), reason="mpv is missing")
def test_mpv_loads_what_setup_has_written(home: Path, folder: Path) -> None:
    """The line stands before the profiles, of which it would be one otherwise."""
    file = home / "config" / "mpv" / "mpv.conf"
    file.parent.mkdir(parents=True)
    file.write_text("[slow]\nspeed=0.5\n")
    segue(folder, "setup", "mpv")
    words = ["--no-terminal", "--vo=null", "--ao=null", "--log-file=" + str(home / "log"), "--idle=once", "/none"]
    environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}
    subprocess.run(["mpv", *words], env=environment, timeout=20)
    assert "segue-mpv.so" in (home / "log").read_text()
    segue(folder, "setup", "mpv", "--remove")
    assert file.read_text() == "[slow]\nspeed=0.5\n"


def test_a_shell_runs_the_line_that_setup_has_written(home: Path, folder: Path) -> None:
    segue(folder, "setup", "bash")
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder), "PATH": path}
    done = subprocess.run(["bash", "-i", "-c", "type -t handoff"], env=environment, capture_output=True, text=True)
    assert "function" in done.stdout, done


def test_vs_code_adds_the_extension_itself(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for it: the real one cannot be had from Debian."""
    program, vsix = home / "bin" / "codium", home / "segue.vsix"
    program.parent.mkdir()
    vsix.touch()
    folder_of = home / ".vscode-oss/extensions/segue.segue-0.0.0"
    script = (
        f'#!/bin/sh\necho "$@" >>{home}/said\ncase $1 in --i*) mkdir -p {folder_of};; *) rmdir {folder_of};; esac\n'
    )
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(parts, "integration", lambda *_: vsix)
    assert str(folder_of) in segue(folder, "setup", "vscode").out
    segue(folder, "setup", "vscode", "--remove")
    expected = [f"--install-extension {vsix} --force", "--uninstall-extension segue.segue"]
    assert (home / "said").read_text().splitlines() == expected
    program.write_text("#!/bin/sh\necho no >&2; exit 1\n")
    assert "no" in segue(folder, "setup", "vscode", status=1).err
