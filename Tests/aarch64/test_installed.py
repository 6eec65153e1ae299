# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages and wheel for aarch64, packed on another machine: what is in them, and what they do on a bare Debian 12."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bare import FOREIGN, Bare
from handoff import HANDOFF
from machine import compiled
from project import ROOT

PATIENCE = 120.0  # seconds: the first lines of a program under qemu
EXAMPLES = ROOT / "bindings" / "c" / "examples"
LIBRARY = "/lib/aarch64-linux-gnu/libsegue.so.0"
OPEN = (
    '{"jsonrpc": "2.0", "id": 1, "method": "open",'
    ' "params": {"protocol": 1, "bundleIdentifier": "com.example.a", "name": "A"}}'
)


def output(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def pack(folder: Path, *processor: str) -> list[Path]:
    output("unshare", "--map-root-user", "--net", ROOT / "packaging/deb", folder, *processor)
    return sorted(folder.glob("*.deb"))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The packages for aarch64, made where there is no network. What makes them is there before."""
    output(ROOT / "packaging/cross", "builder", "aarch64")
    return pack(tmp_path_factory.mktemp("packages"), "aarch64")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    print(output(ROOT / "packaging/wheel", folder, "aarch64"))
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def files(packages: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that the packages for aarch64 install, in one folder."""
    folder = tmp_path_factory.mktemp("files")
    for package in packages:
        output("dpkg-deb", "--extract", package, folder)
    return folder


def machine_of(path: Path) -> str | None:
    """Returns the processor of an ELF file; None: it is none."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    found = re.search(r"Machine: +(.+)", output("readelf", "-h", path))
    assert found
    return found[1]


# Packing


def test_the_packages_are_those_of_this_machine(packages: list[Path], tmp_path: Path):
    """Those that are for all processors are the same, byte for byte."""
    this = output("dpkg", "--print-architecture").strip()
    theirs, ours = ({package.name: package for package in each} for each in (packages, pack(tmp_path)))
    assert {name.replace(f"_{FOREIGN}.", f"_{this}.") for name in theirs} == set(ours)
    common = set(theirs) & set(ours)
    assert len(common) > 5 and all(name.endswith("_all.deb") for name in common)
    assert [name for name in common if theirs[name].read_bytes() != ours[name].read_bytes()] == []
    for name, package in theirs.items():
        wanted = "all" if name in common else FOREIGN
        assert output("dpkg-deb", "--field", package, "Architecture").strip() == wanted


def test_the_same_files_give_the_same_packages(packages: list[Path], tmp_path: Path):
    again = pack(tmp_path, "aarch64")
    assert [(each.name, each.read_bytes()) for each in again] == [(each.name, each.read_bytes()) for each in packages]


def test_each_program_is_of_aarch64_and_hardened(files: Path):
    """Debug information has the head of its program."""
    found = {path.relative_to(files) for path in files.rglob("*") if path.is_file() and not path.is_symlink()}
    programs = {path for path in found if machine_of(files / path) is not None}
    assert {path.name for path in programs} >= {
        *("libsegue.so.0", "libsegue-fleet.so.0", "segue.so"),
        *(f"segue-{name}" for name in ("agent", "browser-host", "continue", "desktop", "search", "stdio")),
    }
    assert {machine_of(files / path) for path in programs} == {"AArch64"}
    for path in (path for path in programs if path.suffix != ".debug"):
        said = output("readelf", "--wide", "--dynamic", "--program-headers", files / path)
        assert "BIND_NOW" in said and "GNU_RELRO" in said and "RPATH" not in said and "RUNPATH" not in said, path
        (stack,) = re.findall(r"GNU_STACK.* (\S+) +\w+$", said, re.MULTILINE)
        assert stack == "RW", path


def test_the_packages_depend_on_those_of_this_machine(packages: list[Path]):
    """On the same packages with the same versions, as far as the C library has the same history there."""
    depends = {each.name.partition("_")[0]: output("dpkg-deb", "--field", each, "Depends").strip() for each in packages}
    assert re.search(r"\blibuv1 \(>= 1\.", depends["libsegue0"])
    assert "libsegue0 (>= 0.1)" in depends["segue-stdio"] and "libsegue0 (<< 0.2~)" in depends["segue-stdio"]
    assert "libsystemd0" in depends["segue-desktop"] and "libsqlite3-0" in depends["segue-agent"]


def test_lintian_has_nothing_to_say(packages: list[Path]):
    (changes,) = packages[0].parent.glob("*.changes")
    levels = ("--display-info", "--pedantic", "--tag-display-limit", "0", "--suppress-tags", "spelling-error-in-binary")
    assert [line for line in output("lintian", *levels, changes).splitlines() if not line.startswith("N:")] == []


def test_the_wheel_is_for_aarch64(wheel: Path):
    """The tag is that of this machine's wheel: relocations are packed, and arc4random_buf is used."""
    print(f"aarch64 wheel.bytes {wheel.stat().st_size}")
    assert re.fullmatch(r"segue-.*-py3-none-manylinux_2_36_aarch64\.whl", wheel.name)
    assert wheel.stat().st_size <= 3_500_000
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("libsegue.so.0", "libsegue-fleet.so.0", "segue-agent", "segue-continue"):
        assert f"segue/{name}" in names
    assert any(name.startswith("segue.libs/libuv") for name in names)


# On a machine


@pytest.fixture(scope="module")
def layer(packages: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer for machines that have all packages but those of developers and of bridges, which need more."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a machine's files")
    folder = tmp_path_factory.mktemp("installed")
    machine = Bare(folder, architecture=FOREIGN)
    names = {"libsegue0", "libsegue-fleet0", "python3-segue", "segue", "webext-segue"}
    names |= {f"segue-{each}" for each in ("agent", "desktop", "gedit", "mpv", "nvim", "stdio")}
    try:
        machine.install([each for each in packages if each.name.partition("_")[0] in names])
    finally:
        machine.close()
    return folder / "upper"


@pytest.fixture
def machine(layer: Path, tmp_path: Path) -> Iterator[Bare]:
    made = Bare(tmp_path, layer, architecture=FOREIGN)
    try:
        yield made
    finally:
        made.close()


def test_the_installed_command_works(machine: Bare):
    assert machine.say("uname", "-m") == "aarch64\n"
    assert machine.say("segue", "--version").split() == ["segue", "0.1.0,", "library", "0.1.0"]
    said = machine.say("sh", "-c", "segue doctor || true")
    assert f"{LIBRARY}, version 0.1.0, package 0.1.0" in said and "Traceback" not in said
    assert machine.say("segue", "stdio", "--path") == "/usr/libexec/segue/segue-stdio\n"


def test_each_installed_program_finds_its_libraries(machine: Bare):
    """Without a desktop, a browser and mpv they cannot do more. mpv has the functions that its plugin lacks."""
    programs = machine.run("sh", "-c", "ls /usr/libexec/segue/* /usr/bin/segue-agent /usr/lib/*/segue/mpv/*.so").split()
    assert len(programs) == 8
    for program in programs:
        if program.endswith("/segue-command"):
            continue
        said = machine.run("/lib/ld-linux-aarch64.so.1", "--list", program)
        assert "libc.so.6 => " in said and "not found" not in said, program


def test_an_activity_goes_on_from_c_to_python(machine: Bare, tmp_path_factory: pytest.TempPathFactory):
    """The agent carries the hub; the editor is the example in C, and the viewer that of the demo."""
    agent = machine.begin("segue", "agent")
    agent.wait_for("this process is the hub", PATIENCE)
    made = tmp_path_factory.mktemp("editor")
    program = compiled(EXAMPLES / "editor.c", made, EXAMPLES / "text.c", library="libsegue.so.0")
    files = [program, ROOT / "bindings/demo/viewer.py", ROOT / "bindings/demo/letter.txt"]
    inside, viewing, letter = machine.copy_in(files, "/opt/demo")
    editor = machine.begin(inside, letter)
    editor.wait_for(r"^1: ", PATIENCE)
    editor.tell("/the train at nine")
    editor.wait_for(r"^6: .*\[the train at nine\]", PATIENCE)
    viewer = machine.begin("python3", "-u", viewing)
    viewer.wait_for('^offered: "', PATIENCE)
    viewer.tell("continue")
    viewer.wait_for(r"^> 6: .*the train at nine", PATIENCE)
    viewer.wait_for("^restored after ", PATIENCE)
    editor.wait_for("^receipt: restored by ", PATIENCE)


def test_a_host_without_a_binding_opens(machine: Bare):
    host = machine.begin("segue", "stdio")
    host.tell(OPEN)
    host.wait_for('"protocol":1', PATIENCE)
    host.tell('{"jsonrpc": "2.0", "id": 2, "method": "close"}')
    host.wait_for('"id":2', PATIENCE)
    assert host.wait(PATIENCE) == 0


def test_the_wheel_works_in_an_environment(wheel: Path, tmp_path: Path):
    """On a machine without the packages, whose libuv is gone."""
    bare = Bare(tmp_path, architecture=FOREIGN)
    try:
        bare.run("sh", "-c", "rm /usr/lib/*/libuv.so.1*")
        (inside,) = bare.copy_in([wheel], "/packages")
        bare.say("python3", "-m", "venv", "--system-site-packages", "own")
        bare.say("own/bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", inside)
        assert bare.say("own/bin/segue", "--version").split() == ["segue", "0.1.0,", "library", "0.1.0"]
        line, path, processor = bare.say("own/bin/python", "-c", HANDOFF).split()
        assert (line, processor) == ("12", "aarch64")
        assert re.fullmatch(r"/home/ann/own/lib/python3\.\d+/site-packages/segue/libsegue\.so\.0", path)
        agent = bare.begin("own/bin/segue", "agent")
        agent.wait_for("this process is the hub", PATIENCE)
        assert bare.say("own/bin/python", "-c", HANDOFF).split()[0] == "12"
        fleet = "import segue.testing; segue.testing.Fleet(7).close(); print('played')"
        assert bare.say("own/bin/python", "-c", fleet) == "played\n"
    finally:
        bare.close()
