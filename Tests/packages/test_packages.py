# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Debian packages: how they are built, and what they do on a bare Debian 12."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from bare import HOME, USER, Bare, output
from conftest import Installation, build
from handoff import HANDOFF
from programs import Program
from project import ROOT

PROGRAMS = {
    "segue-agent",
    "segue-desktop",
    "segue-stdio",
    "segue-mpris",
    "segue-mpv",
    "segue-nvim",
    "segue-gedit",
    "segue-readers",
    "webext-segue",
}
LIBRARY = f"/lib/{os.uname().machine}-linux-gnu/libsegue.so.0"
SECONDS = 5.0  # for the installation of a user's packages, with what they depend on there already
NAMES = {"libsegue-dev", "libsegue-fleet0", "libsegue0", "lua-segue", "python3-segue", "segue"} | PROGRAMS
SYMBOLS = {
    "libsegue-fleet0-dbgsym": "libsegue-fleet.so.0.debug",
    "libsegue0-dbgsym": "libsegue.so.0.debug",
    "segue-agent-dbgsym": "segue-agent.debug",
    "segue-stdio-dbgsym": "segue-stdio.debug",
    "segue-desktop-dbgsym": "segue-desktop.debug",
    "segue-mpv-dbgsym": "segue-mpv.so.debug",
    "webext-segue-dbgsym": "segue-browser-host.debug",
}


# Building


def test_the_packages_are_all_there(packages: list[Path]):
    built = {package.name.partition("_")[0] for package in packages}
    assert built - SYMBOLS.keys() == NAMES
    # The libraries bring their debug information along; that of the agent is there after `make agent`.
    have = {name for name, file in SYMBOLS.items() if (ROOT / "lib" / file).exists()}
    assert built & SYMBOLS.keys() == have


def test_the_same_files_give_the_same_packages(packages: list[Path], tmp_path: Path):
    """Both are built without a network, in folders of different names."""
    again = build(tmp_path)
    assert [package.name for package in again] == [package.name for package in packages]
    for first, second in zip(packages, again, strict=True):
        if first.read_bytes() != second.read_bytes():
            done = subprocess.run(["diffoscope", first, second], capture_output=True, text=True)
            pytest.fail(done.stdout[:4000])
    assert materials(again).read_bytes() == materials(packages).read_bytes()


def test_the_same_files_give_the_same_wheel(wheel: Path, tmp_path: Path):
    subprocess.run([ROOT / "packaging/wheel", tmp_path], check=True, capture_output=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def materials(packages: list[Path]) -> Path:
    (found,) = packages[0].parent.glob("*.spdx.json")
    return found


def test_the_bill_of_materials_names_each_package_and_its_checksum(packages: list[Path]):
    bill = json.loads(materials(packages).read_text())
    sums = {
        each["packageFileName"]: each["checksums"][0]["checksumValue"]
        for each in bill["packages"]
        if "packageFileName" in each
    }
    assert sums == {package.name: hashlib.sha256(package.read_bytes()).hexdigest() for package in packages}
    names = {each["name"] for each in bill["packages"]}
    assert names >= {"Segue", "Swift-standard-library", "libuv", "SQLite", "expat", "OpenSSL", "cbor2"}


def test_lintian_has_nothing_to_say(packages: list[Path]):
    """Two tags are overridden, by name: Swift calls no function that fortify replaces, and an extension has pages.

    Words that are found in machine code are none.
    """
    (changes,) = packages[0].parent.glob("*.changes")
    levels = ("--display-info", "--pedantic", "--show-overrides", "--tag-display-limit", "0")
    levels += ("--suppress-tags", "spelling-error-in-binary")
    done = subprocess.run(["lintian", *levels, changes], capture_output=True, text=True)
    said = [line.split() for line in done.stdout.splitlines() if not line.startswith("N:")]
    overridden = {"hardening-no-fortify-functions", "package-contains-documentation-outside-usr-share-doc"}
    assert {tuple(words[:1] + words[2:3]) for words in said} == {("O:", tag) for tag in overridden}, done.stdout


def test_each_exported_function_is_in_the_symbols_file(packages: list[Path]):
    (library,) = [package for package in packages if package.name.startswith("libsegue0_")]
    listed = output(["dpkg-deb", "--info", str(library), "symbols"]).splitlines()
    exported = (ROOT / "Tests/header/symbols.txt").read_text().split()
    assert listed[0] == "libsegue.so.0 libsegue0 #MINVER#, libsegue0 (<< 0.2~)"
    assert [line.split("@")[0].strip() for line in listed[2:]] == sorted(exported)


def test_a_version_that_differs_from_the_header_is_refused(tmp_path: Path):
    for name in ("packaging", "lib", "include", "Makefile"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "packaging").unlink()
    subprocess.run(["cp", "-R", ROOT / "packaging", tmp_path], check=True)
    changelog = tmp_path / "packaging/debian/changelog"
    changelog.write_text(changelog.read_text().replace("0.1.0", "0.0.9"))
    done = subprocess.run([tmp_path / "packaging/deb", tmp_path / "made"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "packaging/deb: packaging/debian/changelog has 0.0.9, include/segue.h has 0.1.0\n"


# On a machine


def test_the_packages_are_installed_in_seconds(installation: Installation):
    """The time in which it has a processor is what counts while others keep all of them busy."""
    busy = os.getloadavg()[1] > (os.cpu_count() or 1)
    said = f"{installation.seconds:.1f} s, {installation.computed:.1f} s of them computing{', while others do' * busy}"
    print(f"deb.install_s {said}: Segue's packages, with what they depend on there already")
    assert (installation.computed if busy else installation.seconds) <= SECONDS


def test_the_lines_of_the_pages_install_segue(packages: list[Path], tmp_path: Path):
    """As they stand there, as root on a machine without anything. What the packages recommend comes along."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    lines = {line for page in pages for line in re.findall(r"^sudo (apt .*)$", page.read_text(), re.MULTILINE)}
    (line,) = (each for each in lines if "./dist/deb/" in each)
    bare = Bare(tmp_path)
    try:
        bare.copy_in(packages, f"{HOME}/dist/deb")
        bare.run("bash", "-c", f"cd {HOME} && {line.replace('apt install', 'apt install --yes')}")
        assert bare.say("segue", "--version").split() == ["segue", "0.1.0,", "library", "0.1.0"]
        assert "bash" in bare.say("segue", "setup")
        assert "Debian: webext-segue" in bare.fails("segue", "setup", "firefox")
        assert bare.say("segue", "stdio", "--path") == "/usr/libexec/segue/segue-stdio\n"
        bare.say("python3", "-c", "import rich, segno")
        assert "no agent runs; start one" in bare.fails("segue", "account", "create", "Home")
        bare.begin("segue", "agent").wait_for("this process is the hub")
        bare.say("segue", "account", "create", "Home")
        # Without a network others could not come.
        assert "has no address" in bare.fails("segue", "invite")
    finally:
        bare.close()


def test_installed_packages_work(machine: Bare):
    assert machine.say("segue", "--version").split() == ["segue", "0.1.0,", "library", "0.1.0"]
    assert machine.say("python3", "-c", HANDOFF).split()[:2] == ["12", LIBRARY]


def test_no_program_comes_from_the_current_folder(machine: Bare):
    """The library is found by its name alone, and the programs beside it would be those of the current folder."""
    for name in ("segue-stdio", "segue-agent", "segue-desktop"):
        machine.say("cp", "/bin/true", name)
    assert machine.say("segue", "stdio", "--path") == "/usr/libexec/segue/segue-stdio\n"
    assert LIBRARY in machine.say("sh", "-c", "segue doctor || true")
    machine.run("apt-get", "remove", "-qy", "segue-stdio", "segue-agent", "segue-desktop")
    for name in ("stdio", "agent"):
        words = machine.fails("segue", name)
        assert f"there is no segue-{name}: install it (Debian: segue-{name}; from source: `make install`)" in words


def test_each_user_switches_plugins_on(machine: Bare):
    """And is told of a package that is missing."""
    home = machine.root / HOME.lstrip("/")
    machine.say("segue", "setup", "nvim", "mpv")
    link = home / ".local/share/nvim/site/pack/segue/start/segue"
    assert str(link.readlink()) == "/usr/share/segue/integrations/nvim"
    machine.run("test", "-s", "/usr/share/segue/integrations/nvim/plugin/segue.lua")
    plugin = f"/usr{LIBRARY.rpartition('/')[0]}/segue/mpv/segue.so"
    assert f"script=%{len(plugin)}%{plugin}\n" in (home / ".config/mpv/mpv.conf").read_text()
    # The loader finds the library of the system; mpv itself has the other functions.
    found = machine.run("sh", "-c", f"ldd {plugin} 2>&1")
    assert f"libsegue.so.0 => {LIBRARY} (" in found and "not found" not in found
    machine.say("segue", "setup", "nvim", "mpv", "--remove")
    machine.run("apt-get", "remove", "-qy", "segue-mpv", "segue-nvim")
    for name in ("mpv", "nvim"):
        assert f"Debian: segue-{name}" in machine.fails("segue", "setup", name)


def test_installed_programs_for_others_work(machine: Bare):
    assert machine.say("segue", "stdio", "--path") == "/usr/libexec/segue/segue-stdio\n"
    words = ("continue", "--launch")
    assert machine.say("/usr/libexec/segue/segue-continue", "echo", "--", *words) == "continue --launch\n"
    host = machine.begin("segue", "stdio")
    host.tell(
        '{"jsonrpc": "2.0", "id": 1, "method": "open",'
        ' "params": {"protocol": 1, "bundleIdentifier": "com.example.a", "name": "A"}}'
    )
    host.wait_for('"protocol":1')
    host.tell('{"jsonrpc": "2.0", "id": 2, "method": "close"}')
    host.wait_for('"id":2')
    assert host.wait() == 0
    machine.say("python3", "-c", "import gi, segue.glib")
    machine.run("test", "-x", "/usr/share/segue/integrations/mpris/segue-mpris")
    extensions = "/usr/share/mozilla/extensions"
    (link,) = machine.run("find", extensions, "-name", "*.xpi").split()
    machine.run("test", "-s", link)
    machine.run("test", "-x", "/usr/libexec/segue/segue-browser-host")


def test_the_socket_of_the_agent_is_enabled_for_all_users(machine: Bare):
    link = "/etc/systemd/user/sockets.target.wants/segue-agent.socket"
    assert machine.run("readlink", link).strip().endswith("/lib/systemd/user/segue-agent.socket")
    unit = machine.run("cat", "/usr/lib/systemd/user/segue-agent.service")
    assert "ExecStart=/usr/bin/segue-agent\n" in unit


def waiting(machine: Bare) -> list[str]:
    return [entry["title"] for entry in json.loads(machine.say("segue", "inbox", "--json"))]


def upgraded(package: Path, folder: Path) -> Path:
    """Returns the package with the next revision."""
    tree = folder / package.stem
    output(["dpkg-deb", "--raw-extract", str(package), str(tree)])
    control = tree / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("-0segue1", "-0segue2"))
    made = folder / package.name.replace("-0segue1", "-0segue2")
    output(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(made)])
    return made


def test_an_upgrade_ends_no_agent_and_loses_no_entry(machine: Bare, agent: Program, wanted, tmp_path_factory):
    """The agent of the old package goes on, under the new library, until it is replaced."""
    assert waiting(machine) == ["Shopping list"]
    before = agents(machine)
    folder = tmp_path_factory.mktemp("upgraded")
    machine.install([upgraded(package, folder) for package in wanted])
    assert machine.run("dpkg-query", "-W", "-f", "${Version}", "segue-agent") == "0.1.0-0segue2"
    assert agents(machine) == before
    assert waiting(machine) == ["Shopping list"]
    replaced = machine.begin("segue", "agent", "--replace")
    replaced.wait_for("this process is the hub")
    assert agent.wait() == 0
    assert waiting(machine) == ["Shopping list"]


# A receiver that answers only once a line has been read from its standard input.
SLOW = """
import asyncio, segue, sys

async def main():
    async with segue.App("com.example.slow", team="EXAMPLE", types=["com.example.slow"]) as app:
        async for event in app.offer_events():
            async with app.continue_(event.offer, timeout=200) as activity:
                print("continues line", activity.user_info["line"], flush=True)
                await asyncio.to_thread(sys.stdin.readline)
            return

asyncio.run(main())
"""


def test_a_continuation_goes_on_through_an_upgrade(machine: Bare, agent: Program, wanted, tmp_path_factory):
    offer = ("offer", "com.example.slow", "--team", "EXAMPLE", "--user-info", '{"line": 12}', "--once")
    origin = machine.begin("segue", *offer)
    origin.wait_for("offering")
    receiver = machine.begin("python3", "-c", SLOW)
    receiver.wait_for("continues line 12")
    folder = tmp_path_factory.mktemp("upgraded")
    machine.install([upgraded(package, folder) for package in wanted])
    receiver.tell("go on")
    origin.wait_for("^restored")
    assert (origin.wait(), receiver.wait()) == (0, 0)
    assert waiting(machine) == ["Shopping list"]


def test_a_wheel_and_the_packages_work_together(machine: Bare, wheel: Path):
    """Each has its own library; the apps of both meet at the hub of the agent in the wheel."""
    (inside,) = machine.copy_in([wheel], "/packages")
    machine.run("python3", "-m", "zipfile", "-e", inside, "/opt/wheel")
    machine.run("chmod", "755", "/opt/wheel/segue/segue-agent")
    own = ("env", "PYTHONPATH=/opt/wheel")
    assert machine.say(*own, "python3", "-c", HANDOFF).split()[:2] == ["12", "/opt/wheel/segue/libsegue.so.0"]
    agent = machine.begin(*own, "SEGUE_AGENT=/opt/wheel/segue/segue-agent", "python3", "-m", "segue", "agent")
    agent.wait_for("this process is the hub")
    origin = machine.begin("segue", "offer", "com.example.writing", "--title", "Shopping list", "--once")
    origin.wait_for("offering")
    assert '"title": "Shopping list"' in machine.say(*own, "python3", "-m", "segue", "continue", "--json")
    origin.wait_for("restored")


def agents(machine: Bare) -> set[str]:
    """The processes of agents."""
    script = 'for each in /proc/[0-9]*; do case $(readlink "$each/exe") in */segue-agent*) echo "$each";; esac; done'
    return set(machine.run("sh", "-c", script).split())


def test_removal_ends_the_agent_and_keeps_what_is_the_users(machine: Bare, agent: Program, wanted):
    machine.run("apt-get", "remove", "-qy", "segue-agent", "libsegue0")
    assert agent.wait() == 0
    assert agents(machine) == set()
    machine.install(wanted)
    again = machine.begin("segue", "agent")
    again.wait_for("this process is the hub")
    assert waiting(machine) == ["Shopping list"]


def test_purging_leaves_nothing_of_segue_and_all_of_the_user(machine: Bare, agent: Program, installation: Installation):
    kept = set((machine.root / HOME.lstrip("/")).rglob("*"))
    assert any(path.name == "inbox.db" for path in kept)
    names = [line for line in machine.run("dpkg-query", "-W", "-f", "${Package}\\n").split() if "segue" in line]
    machine.run("apt-get", "purge", "-qy", *names)
    assert agent.wait() == 0
    left = machine.files() - installation.before - {"/usr/share/applications", "/usr/share/applications/reader.desktop"}
    assert {path for path in left if not path.endswith(".pyc")} == set()
    assert machine.run("find", "/var/lib/dpkg", "/etc", "/usr", "/var/lib/systemd", "-name", "*segue*") == ""
    home = machine.root / HOME.lstrip("/")
    assert {path for path in home.rglob("*") if path.name == "inbox.db"} == {p for p in kept if p.name == "inbox.db"}
    assert (home / ".local/state/segue").stat().st_uid == USER


def test_the_agent_works_without_python_and_openssl(wanted, tmp_path: Path, installation: Installation):
    bare = Bare(tmp_path)
    try:
        # The package brings segue-continue along, which is an app and needs the library.
        bare.install([each for each in wanted if each.name.startswith(("segue-agent_", "libsegue0_"))])
        assert bare.run("sh", "-c", "ls /usr/lib/*/libssl.so.3 /usr/bin/python3 2>/dev/null || true") == ""
        agent = bare.begin("segue-agent")
        agent.wait_for("this process is the hub")
    finally:
        bare.close()
