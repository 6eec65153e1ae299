# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installations that do not fit together, and systems that lack something: nothing is lost, and words say what is
missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bare import Bare
from handoff import HANDOFF
from programs import Program
from test_packages import LIBRARY, agents, upgraded, waiting

# An app of the older packages, which stays open while packages are replaced beneath it. It tells of the hub.
OPEN = """
import asyncio, segue, sys

async def main():
    async with segue.App("com.example.open", team="EXAMPLE", types=["com.example.writing"]) as app:
        print("is open", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        async for event in app.offer_events():
            print("continued", (await app.continue_(event.offer)).title, flush=True)
            return

asyncio.run(asyncio.wait_for(main(), 120))
"""


def only(packages: list[Path], name: str) -> Path:
    (found,) = [package for package in packages if package.name.startswith(f"{name}_")]
    return found


@pytest.mark.parametrize("newer", ["segue-agent", "libsegue0"])
def test_an_agent_and_a_library_of_different_versions_work_together(machine: Bare, agent, wanted, tmp_path, newer):
    """A newer agent with the library of before, and the reverse. An app of before stays open all the time."""
    app = machine.begin("python3", "-c", OPEN)
    app.wait_for("is open")
    machine.install([upgraded(only(wanted, newer), tmp_path)])
    versions = {
        name: machine.run("dpkg-query", "-W", "-f", "${Version}", name) for name in ("segue-agent", "libsegue0")
    }
    assert versions == {name: f"0.1.0-0segue{2 if name == newer else 1}" for name in versions}
    if newer == "segue-agent":
        replaced = machine.begin("segue", "agent", "--replace")
        replaced.wait_for("this process is the hub")
        assert agent.wait() == 0
    assert waiting(machine) == ["Shopping list"]
    origin = machine.begin("segue", "offer", "com.example.writing", "--team", "EXAMPLE", "--title", "Tea", "--once")
    origin.wait_for("offering")
    app.tell("go on")
    app.wait_for("^continued Tea$")
    origin.wait_for("^restored")
    assert (origin.wait(), app.wait()) == (0, 0)
    assert machine.say("python3", "-c", HANDOFF).split()[0] == "12"


def test_a_removed_library_is_named_by_what_needs_it(machine: Bare, agent: Program):
    """An agent that runs goes on, and its entry is there when the library is back."""
    before = agents(machine)
    machine.run("dpkg", "--remove", "--force-depends", "libsegue0")
    words = machine.fails("segue", "list")
    assert "libsegue.so.0" in words and "Traceback" not in words
    assert agents(machine) == before
    machine.run("sh", "-c", "dpkg --install /packages/libsegue0_*.deb")
    assert waiting(machine) == ["Shopping list"]


def test_a_system_without_systemd_and_dbus(machine: Bare):
    """Apps need neither; the agent is started by hand, or by the autostart file of desktops."""
    for name in ("systemd", "systemctl", "dbus-daemon"):
        assert machine.run("sh", "-c", f"command -v {name} || true") == "", "the bare machine has none"
    assert not (machine.root / "run/systemd/system").exists()
    assert machine.say("python3", "-c", HANDOFF).split()[:2] == ["12", LIBRARY]
    agent = machine.begin("segue", "agent")
    agent.wait_for("this process is the hub")
    assert agent.said == [line for line in agent.said if "systemd" not in line and "D-Bus" not in line]
    assert waiting(machine) == []
    assert "segue-agent" in machine.run("cat", "/etc/xdg/autostart/segue-agent.desktop")


def test_a_wheel_prefers_the_agent_of_the_packages(machine: Bare, wheel: Path):
    """One agent a user, however often Segue is installed."""
    (inside,) = machine.copy_in([wheel], "/packages")
    machine.run("python3", "-m", "zipfile", "-e", inside, "/opt/wheel")
    machine.run("chmod", "755", "/opt/wheel/segue/segue-agent")
    own = ("env", "PYTHONPATH=/opt/wheel", "python3", "-m", "segue")
    agent = machine.begin(*own, "agent")
    agent.wait_for("this process is the hub")
    processes = agents(machine)
    programs = {machine.run("readlink", f"{process}/exe").strip() for process in processes}
    assert programs == {"/usr/bin/segue-agent"}
    another = machine.begin("env", "SEGUE_AGENT=/opt/wheel/segue/segue-agent", *own[1:], "agent")
    another.wait_for(r"is the agent of this user: .*; --replace takes its place")
    assert another.wait() != 0
    assert agents(machine) == processes


def test_a_wheel_on_a_system_without_openssl_names_it_when_it_is_needed(wanted, wheel: Path, installation, tmp_path):
    """Not when it is imported, nor when the agent starts."""
    bare = Bare(tmp_path)
    try:
        bare.run("apt-get", "install", "-qy", "--no-install-recommends", "python3-cbor2", "libsqlite3-0")
        (inside,) = bare.copy_in([wheel], "/packages")
        bare.run("python3", "-m", "zipfile", "-e", inside, "/opt/wheel")
        bare.run("chmod", "755", "/opt/wheel/segue/segue-agent")
        bare.run("sh", "-c", "rm -f /usr/lib/*/libssl.so.3 /usr/lib/*/libcrypto.so.3")
        own = ("env", "PYTHONPATH=/opt/wheel")
        assert bare.say(*own, "python3", "-c", HANDOFF).split()[0] == "12"
        agent = bare.begin(*own, "python3", "-m", "segue", "agent")
        agent.wait_for("this process is the hub")
        words = bare.fails(*own, "python3", "-m", "segue", "account", "create", "Ann")
        assert "libssl.so.3" in words and "Traceback" not in words
        assert json.loads(bare.say(*own, "python3", "-m", "segue", "inbox", "--json")) == []
    finally:
        bare.close()


def test_an_agent_whose_account_needs_openssl_names_it_when_it_starts(machine: Bare, wheel: Path):
    """The account was made while OpenSSL was there. What needs no device goes on."""
    (inside,) = machine.copy_in([wheel], "/packages")
    machine.run("python3", "-m", "zipfile", "-e", inside, "/opt/wheel")
    machine.run("chmod", "755", "/opt/wheel/segue/segue-agent")
    own = ("env", "PYTHONPATH=/opt/wheel", "SEGUE_AGENT=/opt/wheel/segue/segue-agent", "python3", "-m", "segue")
    agent = machine.begin(*own, "agent")
    agent.wait_for("this process is the hub")
    machine.say(*own, "account", "create", "Ann")
    machine.run("sh", "-c", "rm -f /usr/lib/*/libssl.so.3 /usr/lib/*/libcrypto.so.3")
    another = machine.begin(*own, "agent", "--replace")
    another.wait_for(r"libssl\.so\.3")
    assert agent.wait() == 0
    words = machine.fails(*own, "devices")
    assert "libssl.so.3" in words and "Traceback" not in words
    assert json.loads(machine.say(*own, "inbox", "--json")) == []
