# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs Segue into a temporary prefix, builds the examples with make and with CMake, and lets them work together:
they are built and run by someone who has nothing but the installed prefix."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import Program, programs
from project import ROOT, run

EXAMPLES = Path(__file__).resolve().parent / "examples"
SHOPPING = "Shopping list\n\n- bread\n- milk\n- apples\n- a newspaper\n"

Start = Callable[..., Program]


@pytest.fixture(scope="module")
def prefix() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="segue-c-") as folder:
        run("make", "-C", ROOT, "install", f"PREFIX={folder}")
        yield Path(folder)


def make(folder: Path, prefix: Path) -> None:
    shutil.copytree(EXAMPLES, folder)
    run("make", "-C", folder, "CFLAGS=-Werror", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")


def cmake(folder: Path, prefix: Path) -> None:
    run("cmake", "-S", EXAMPLES, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_FLAGS=-Werror")
    run("cmake", "--build", folder)


@pytest.fixture(scope="module")
def built(prefix: Path) -> Iterator[Callable[..., Path]]:
    """built(make): a folder with the examples, built once."""
    with tempfile.TemporaryDirectory(prefix="segue-c-") as folder:

        def examples(build: Callable[[Path, Path], None] = make) -> Path:
            place = Path(folder, build.__name__)
            if not place.exists():
                build(place, prefix)
            return place

        yield examples


@pytest.fixture
def runtime() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="segue-run-") as folder:
        yield Path(folder)


@pytest.fixture
def note(runtime: Path) -> Path:
    path = runtime / "shopping list, 50% off.txt"
    path.write_text(SHOPPING)
    return path


@pytest.fixture
def start(runtime: Path) -> Iterator[Start]:
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(runtime)}) as run:
        yield run


@pytest.fixture
def editor(built, start, note) -> Callable[..., Program]:
    """Starts the editor with its note."""
    return lambda *options, build=make: start("editor", [built(build) / "editor", note, *options])


@pytest.fixture
def viewer(built, start) -> Callable[..., Program]:
    return lambda build=make: start("viewer", [built(build) / "viewer"])


@pytest.mark.parametrize("build", [make, cmake])
def test_a_consumer_hands_a_note_from_editor_to_viewer(editor, viewer, note, build):
    edits = editor(build=build)
    edits.wait_for(r"^editing .*, 6 lines$")
    edits.tell("/milk")
    edits.wait_for(r"^4: - \[milk\]$")
    edits.tell("= - oat milk")
    edits.wait_for(r"^4: \|- oat milk$")
    views = viewer(build)
    views.wait_for(r'^offered: "shopping list, 50% off.txt" by Notes Editor on ')
    views.wait_for(r"^continuing com\.example\.notes\.editing$")
    views.wait_for(r"^> 4: - oat milk$")
    assert views.wait() == 0
    edits.wait_for(r"^receipt: restored by Notes Viewer on ")
    edits.tell("+ - flour")
    edits.wait_for(r"^5: \|- flour$")
    assert edits.wait() == 0
    assert note.read_text() == SHOPPING.replace("- milk\n", "- oat milk\n- flour\n")


def test_a_viewer_that_is_there_first_waits_for_an_offer(editor, viewer):
    """The hub is in the viewer then."""
    views, edits = viewer(), editor()
    views.wait_for(r"^> 1: Shopping list$")
    assert views.wait() == 0
    edits.wait_for(r"^receipt: restored by Notes Viewer on ")
    # The hub went with the viewer; another one takes over, and the next viewer finds the editor again.
    edits.tell("3")
    views = viewer()
    views.wait_for(r"^> 3: - bread$")
    assert views.wait() == 0
    edits.wait_for(r"^receipt: restored by Notes Viewer on ")


def test_the_viewer_declines_a_payload_version_that_it_cannot_read(editor, viewer):
    """R1.9, R3.7"""
    edits, views = editor("--payload-version", "2"), viewer()
    views.wait_for(r"DECLINED: .*payload version 2, this viewer reads up to 1")
    assert views.wait() == 1
    edits.wait_for(r"^receipt: declined by Notes Viewer on .* \(DECLINED\) payload version 2")
    assert edits.wait() == 0


def test_a_note_that_the_viewer_cannot_read_is_not_restored(editor, viewer, note):
    """R3.6: restored only if every restorable object says so."""
    edits = editor()
    edits.wait_for(r"^1: ")
    note.write_bytes(b"no text\0\n")
    views = viewer()
    views.wait_for(r"^viewer: .*50% off\.txt: ")
    assert views.wait() == 1
    edits.wait_for(r"^receipt: (declined|failed) by Notes Viewer on ")


def test_a_staged_install_says_the_final_prefix(tmp_path):
    run("make", "-C", ROOT, "install", "PREFIX=/opt/segue", f"DESTDIR={tmp_path}")
    for name in ("segue", "segue-fleet"):
        flags = run("pkg-config", "--cflags", "--libs", name, PKG_CONFIG_PATH=f"{tmp_path}/opt/segue/lib/pkgconfig")
        assert flags.split() == ["-I/opt/segue/include", "-L/opt/segue/lib", f"-l{name}"]
        assert (tmp_path / f"opt/segue/lib/lib{name}.so.0").exists()
        assert (tmp_path / f"opt/segue/lib/lib{name}.so").resolve().name == f"lib{name}.so.0"
    assert (tmp_path / "opt/segue/share/man/man1/segue.1").exists()
    assert (tmp_path / "opt/segue/share/bash-completion/completions/segue").exists()


ON_A_FLEET = """
#include <segue.h>

int main(void) {
    segue_fleet *fleet;
    return segue_fleet_create(7, &fleet) != SEGUE_OK || segue_release(fleet) != SEGUE_OK;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.16)
project(on_a_fleet C)
find_package(Segue 0.1 REQUIRED)
add_executable(on_a_fleet on_a_fleet.c)
target_link_libraries(on_a_fleet PRIVATE Segue::fleet)
"""


@pytest.fixture
def on_a_fleet(tmp_path: Path) -> Path:
    """A program that is a test on a virtual fleet."""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    source = tmp_path / "on_a_fleet.c"
    source.write_text(ON_A_FLEET)
    return source


def test_a_test_on_a_fleet_is_linked_with_the_library_for_tests(on_a_fleet, prefix):
    program, found = on_a_fleet.with_suffix(""), {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = run("pkg-config", "--cflags", "--libs", "segue-fleet", **found).split()
    run("cc", on_a_fleet, *flags, "-o", program)
    run(program, LD_LIBRARY_PATH=f"{prefix}/lib")
    built = on_a_fleet.with_name("built")
    run("cmake", "-S", on_a_fleet.parent, "-B", built, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", built)
    run(built / "on_a_fleet")


def test_the_library_of_apps_has_no_fleet(on_a_fleet, prefix):
    found = {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = run("pkg-config", "--cflags", "--libs", "segue", **found).split()
    linked = subprocess.run(
        ["cc", on_a_fleet, *flags, "-o", on_a_fleet.with_suffix("")], capture_output=True, text=True
    )
    assert linked.returncode != 0 and "undefined reference to `segue_fleet_create'" in linked.stderr


def test_pkg_config_header_and_cmake_agree_on_the_version(prefix):
    version = run("pkg-config", "--modversion", "segue", PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig").strip()
    major, minor, patch = (int(part) for part in version.split("."))
    header = (prefix / "include/segue.h").read_text()
    assert f"#define SEGUE_VERSION 0x{major << 16 | minor << 8 | patch:06x}\n" in header
    config = (prefix / "lib/cmake/Segue/SegueConfigVersion.cmake").read_text()
    assert f"set(PACKAGE_VERSION {version})" in config


def test_the_tabs_of_a_program_go_on_by_themselves(built, start):
    """R4.3, R6.2: four types, of which a small app has one."""
    tabs = built(make) / "tabs"
    big, sums = start("big", [tabs, "com.example.office"]), start("sums", [tabs, "com.example.sums", "sums"])
    big.wait_for("^shows letter: ")
    sums.wait_for("^shows sums: ")
    big.tell("sums")
    big.tell("= caf\udce9")
    big.tell("sums")
    big.wait_for("^shows sums: caf\udce9$")
    sums.wait_for("^offered: sums$")
    sums.tell("continue")
    big.wait_for("^sums is not UTF-8$")
    sums.wait_for("could not save: its text is not UTF-8")
    big.tell("= 6 * 7")
    big.tell("sums")
    big.wait_for(r"^shows sums: 6 \* 7$")
    sums.tell("continue")
    sums.wait_for(r"^restored sums: 6 \* 7$")
    big.wait_for("^offered: sums$")
    sums.tell("= 42")
    big.tell("plan")
    sums.wait_for("^gone: sums$")
    assert not any("plan" in line for line in sums.said)
    big.tell("continue")
    big.wait_for("^restored sums: 42$")
    for program in (big, sums):
        program.tell("quit")
        assert program.wait() == 0
