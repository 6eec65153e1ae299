# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two machines that reach each other by a command alone, as a rule `ssh` (R14.4)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agents import AGENT, AgentDevice
from network import Cable
from programs import programs
from project import ROOT
from ssh_server import SERVER, SSHServer
from test_command import Machine
from test_two_machines import change_both, offer_both_ways

AT_ONCE, ALWAYS, LATE = 10, 30, 60  # seconds


class Pair:
    """A desktop with a server of ssh and a laptop, in one account; no address of the other is dialled."""

    def __init__(self, desktop: Machine, laptop: Machine, ssh: SSHServer, folder: Path):
        self.desktop, self.laptop, self.ssh = desktop, laptop, ssh
        self.paths = folder / "segue" / "paths"

    @property
    def there(self) -> str:
        """A command that gets to the desktop's agent without ssh: both machines have the same files."""
        return shlex.join(["env", f"SEGUE_RUNTIME_DIR={self.desktop.device.folder}", str(AGENT), "--stdio"])

    def add(self, command: str) -> str:
        return self.laptop.does("devices", "--add-path", "desktop", command).out

    def linked(self, patience: float = AT_ONCE) -> None:
        self.laptop.device.linked("desktop", patience=patience)
        self.desktop.device.linked("laptop", patience=patience)

    def remove(self) -> None:
        self.laptop.does("devices", "--remove-path", "desktop")
        self.parted()

    def parted(self) -> None:
        self.laptop.device.linked(patience=AT_ONCE)

    def fails(self, command: str, *texts: str, patience: float = ALWAYS) -> str:
        """Adds a command, and waits until its path has failed with these texts."""
        self.add(command)
        return self.failed(*texts, patience=patience)

    def failed(self, *texts: str, patience: float = ALWAYS) -> str:
        deadline = time.monotonic() + patience
        while True:
            paths = self.laptop.device.device("desktop").get("paths", [])
            said = [path["message"] for path in paths if path["address"] == "command" and path["state"] == "failed"]
            if any(all(text in each for text in texts) for each in said):
                break
            assert time.monotonic() < deadline, (paths, self.laptop.device.agent.said[-20:])
            time.sleep(0.05)  # No event tells that an attempt has failed.
        return self.laptop.does("devices", "--paths").out


@pytest.fixture
def pair(
    cable: Cable, agents: Callable[..., AgentDevice], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pair]:
    if not SERVER.exists():
        pytest.skip("openssh-server is not installed")
    for machine in cable.machines:
        machine.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/cable/disable_ipv6")
        machine.run("ip", "link", "set", "cable", "multicast", "off")
    cable.address()
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    with programs() as start:
        made = [agents(*each) for each in (("desktop", cable.machines[0]), ("laptop", cable.machines[1]))]
        made[1].variables["XDG_CONFIG_HOME"] = str(folder)
        desktop, laptop = (Machine(each, start) for each in made)
        for each in made:
            each.ask("set-devices", discovery=False)
        desktop.device.create().admit(laptop.device)
        laptop.device.linked("desktop")
        # The address of the invite is no longer known to the next agent.
        laptop.device.end()
        laptop.device.begin()
        desktop.device.linked()
        ssh = SSHServer(cable.machines[0], "10.99.0.1", tmp_path / "ssh", start)
        yield Pair(desktop, laptop, ssh, folder)


def children(name: str) -> list[int]:
    """The processes of that name now."""
    found = []
    for each in Path("/proc").glob("[0-9]*/comm"):
        try:
            if each.read_text() == f"{name}\n":
                found.append(int(each.parent.name))
        except OSError:
            continue  # it has just ended
    return found


def of(device: AgentDevice, name: str) -> list[int]:
    """Those that the agent's launcher has started, and what these have."""
    below, all_of_them = {device.agent.pid}, []
    for _ in range(6):
        words = ["ps", "-e", "-o", "pid=,ppid=,comm="]
        for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
            number, parent, what = line.split(maxsplit=2)
            if int(parent) in below and int(number) not in below:
                below.add(int(number))
                if what == name:
                    all_of_them.append(int(number))
    return all_of_them


def awaits(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + AT_ONCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_r14_4_devices_are_linked_by_ssh_which_ends_with_the_link(pair, app):
    pair.ssh.begin(SEGUE_RUNTIME_DIR=str(pair.desktop.device.folder))
    command = pair.ssh.command(AGENT, "--stdio")
    pair.add(command)
    pair.linked()
    assert json.loads(pair.paths.read_text()).popitem()[1] == shlex.split(command)
    assert pair.paths.stat().st_mode & 0o777 == 0o600
    said = pair.laptop.does("devices", "--paths").out
    assert f"desktop: `{command}`, command, used" in said
    assert "linked, command" in said
    assert "laptop: command there, command, used" in pair.desktop.does("devices", "--paths").out
    apps = offer_both_ways(app, pair.desktop.device, pair.laptop.device)
    change_both(apps, "by ssh")
    receiver = apps[1]
    apps[0].tell("offer paper", "payload 200000")
    receiver.hears("appeared paper")
    receiver.ask("continue paper", r"continue \w+ 2000\d\d paper")
    # A link that is cut comes back by itself, and so do the offers.
    (ssh,) = of(pair.laptop.device, "ssh")
    os.kill(ssh, signal.SIGKILL)
    awaits(lambda: of(pair.laptop.device, "ssh") not in ([], [ssh]), "no other ssh was started")
    pair.linked(ALWAYS)
    for here, there in (apps, apps[::-1]):
        here.tell("title again")
        there.hears("(?:changed|appeared) again")
    # Without the path there is neither a link nor a process.
    pair.remove()
    awaits(lambda: not of(pair.laptop.device, "ssh"), "ssh goes on")
    awaits(lambda: not of(pair.laptop.device, "segue-path"), "the process that has run it goes on")
    said = pair.laptop.does("devices", "--remove-path", "desktop", status=1)
    assert "no command" in said.err


def test_r14_4_another_command_ends_the_link_of_the_former_one(pair, tmp_path):
    """Also one that leads nowhere: the former may no longer be wanted. The same one again changes nothing."""
    pair.add(pair.there)
    pair.linked()
    (running,) = of(pair.laptop.device, "segue-agent")
    pair.add(pair.there)
    assert of(pair.laptop.device, "segue-agent") == [running]
    pair.laptop.device.linked("desktop", patience=1)
    pair.fails("false", "ended with status 1")
    assert not pair.laptop.device.device("desktop")["linked"]
    awaits(lambda: not of(pair.laptop.device, "segue-agent"), "the former command goes on")
    pair.add(f"env LANG=C {pair.there}")
    pair.linked()


def test_r14_4_a_banner_is_no_harm_and_stands_in_the_log(pair, tmp_path):
    banner = tmp_path / "banner"
    banner.write_text("Only for members of the household\n")
    pair.ssh.begin(f"Banner {banner}", SEGUE_RUNTIME_DIR=str(pair.desktop.device.folder))
    pair.add(pair.ssh.command(AGENT, "--stdio"))
    pair.linked()
    pair.laptop.device.agent.wait_for("desktop: Only for members of the household")


def test_r14_4_an_ssh_that_cannot_get_in_says_why(pair):
    pair.ssh.begin(SEGUE_RUNTIME_DIR=str(pair.desktop.device.folder))
    command = pair.ssh.command(AGENT, "--stdio")
    pair.ssh.knows("other")
    assert "Host key verification failed." in pair.fails(command, "Host key verification failed.")
    # All that it says is in the log, behind the name of the device.
    pair.laptop.device.agent.wait_for("desktop: .*REMOTE HOST IDENTIFICATION HAS CHANGED")
    pair.ssh.knows("host")
    # No terminal, and no window, where it could ask for a password.
    (pair.ssh.folder / "authorized").write_text("")
    pair.fails(command, "Permission denied (publickey")
    assert "must need no password" in pair.laptop.does("doctor", status=1).out
    pair.fails(pair.ssh.command(AGENT, "--stdio").replace("home", "nowhere.invalid", 1), "Could not resolve hostname")
    (pair.ssh.folder / "authorized").write_bytes((pair.ssh.folder / "client.pub").read_bytes())
    pair.add(command)
    pair.linked()


def test_r14_4_commands_that_lead_nowhere_say_why_and_do_no_harm(pair, tmp_path):
    pair.fails("no-such-program --stdio", "no-such-program: No such file or directory", "status 127")
    profile = tmp_path / "profile"
    profile.write_text(f"#!/bin/sh\necho 'Welcome home'\nexec {pair.there}\n")
    profile.chmod(0o700)
    pair.fails(str(profile), "something writes 'Welcome home")
    pair.fails("echo 'This account is not available.'", "something writes 'This account is not")
    pair.fails(str(tmp_path / "missing"), "missing: No such file or directory")
    text = tmp_path / "text"
    text.write_text("echo no shell gets this\n")
    text.chmod(0o700)
    pair.fails(str(text), "text: is no program")
    pair.fails("sh -c 'printf \"a\\033[2Jb\\n\" >&2; exit 3'", "a [2Jb (the command ended with status 3)")
    pair.fails(
        f"env SEGUE_RUNTIME_DIR={tmp_path}/nobody {AGENT} --stdio", "no agent runs; start segue-agent", "status 1"
    )
    pair.fails(
        f"env SEGUE_RUNTIME_DIR={pair.laptop.device.folder} {AGENT} --stdio", "the connection leads back to this device"
    )
    # One that floods its standard error for ever, and takes no signal: it is killed once it is not wanted.
    flood = tmp_path / "flood"
    flood.write_text("#!/bin/sh\ntrap '' TERM HUP\nwhile :; do echo much much much >&2; done\n")
    flood.chmod(0o700)
    pair.add(str(flood))
    pair.laptop.device.agent.wait_for("desktop: much")
    pair.laptop.does("account")
    pair.add(pair.there)
    pair.linked()
    awaits(lambda: not of(pair.laptop.device, "flood"), "the flood goes on")
    assert sum("much" in line for line in pair.laptop.device.agent.said) < 6_000
    # The command gets little of the agent's environment.
    seen = tmp_path / "seen"
    pair.remove()
    pair.add(f"sh -c 'env >{seen}.new; mv {seen}.new {seen}; exec {pair.there}'")
    pair.linked()
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()} - {"PWD", "_", "SHLVL", "OLDPWD"}
    allowed = {"HOME", "PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "SHELL", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"}
    assert "PATH" in names and names <= allowed | {"KRB5CCNAME", "SSH_ASKPASS_REQUIRE"}


def test_a17_a_host_in_between_that_changes_or_repeats_bytes_gets_no_link(pair, tmp_path):
    """R14.4: with each change there is a reason and no link, and without one there is a link."""
    host = f"{sys.executable} {ROOT / 'Tests' / 'devices' / 'tampering.py'}"
    record = tmp_path / "record"
    pair.add(f"{host} record {record} {pair.there}")
    pair.linked()
    for place in (3, 20, 60, 300):  # of the challenge, of the proof, of TLS
        pair.remove()
        pair.fails(f"{host} flip {place} {pair.there}", "")
        assert not pair.laptop.device.device("desktop")["linked"]
    pair.remove()
    pair.fails(f"{host} replay {record}", "")
    assert not pair.desktop.device.device("laptop")["linked"]
    pair.add(f"{host} flip -1 {pair.there}")
    pair.linked()


def test_a17_a_host_in_between_that_loses_or_swaps_bytes_gets_no_link(pair):
    """R14.4: nor does one that stalls or says things twice."""
    host = f"{sys.executable} {ROOT / 'Tests' / 'devices' / 'tampering.py'}"
    for what in ("drop", "twice", "swap", "stall"):
        pair.fails(f"{host} {what} 300 {pair.there}", "", patience=LATE)
        assert not pair.laptop.device.device("desktop")["linked"]
        pair.remove()
    pair.add(f"{host} flip -1 {pair.there}")
    pair.linked()


def test_r14_4_a_file_of_paths_that_cannot_be_used_says_so(pair):
    pair.add(pair.there)
    pair.linked()
    good = pair.paths.read_bytes()
    device = pair.laptop.device

    def problem(text: str) -> None:
        with pytest.raises(Exception, match=text):
            device.ask("read-paths")
        assert text.replace("\\", "") in device.account()["message"]
        device.linked(patience=AT_ONCE)  # What is no longer set is no longer used.
        pair.paths.write_bytes(good)
        pair.paths.chmod(0o600)
        device.ask("read-paths")
        pair.linked(ALWAYS)

    pair.paths.write_text("{")
    problem("paths: ")
    pair.paths.write_text(" " * 70_000)
    problem("more than 65536 bytes")
    pair.paths.chmod(0o622)
    problem("others may write it")
    pair.paths.write_text("{}")
    device.ask("read-paths")
    pair.parted()


def stdio(**variables: str) -> subprocess.CompletedProcess[bytes]:
    words = ["env", *(f"{name}={value}" for name, value in variables.items()), AGENT, "--stdio"]
    return subprocess.run(words, input=b"", capture_output=True, timeout=20)


def test_r14_4_the_far_end_refuses_where_nobody_can_be_linked(agents, tmp_path):
    made = stdio(SEGUE_RUNTIME_DIR=str(tmp_path / "nobody"))
    assert (made.returncode, made.stdout) == (1, b"")
    assert made.stderr == b"segue-agent: no agent runs; start segue-agent\n"
    device = agents("alone").begin()
    made = stdio(SEGUE_RUNTIME_DIR=str(device.folder))
    assert (made.returncode, made.stdout) == (1, b"")
    assert b"this device is in no account" in made.stderr
    device.create()
    # It is challenged, says nothing, and ends with its input.
    made = stdio(SEGUE_RUNTIME_DIR=str(device.folder))
    assert (made.returncode, len(made.stdout), made.stderr) == (0, 16, b"")
    os.kill(device.agent.pid, signal.SIGKILL)
    device.agent.wait()
    made = stdio(SEGUE_RUNTIME_DIR=str(device.folder))
    assert made.returncode == 1 and b"no agent runs" in made.stderr
