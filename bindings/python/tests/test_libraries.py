# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two libraries: that of apps, and the one for tests, which has the virtual fleet (R11.1)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment

import segue

APPS, TESTS = "libsegue.so.0", "libsegue-fleet.so.0"
FOLDER = Path(segue.library_path).parent
SOURCES = Path(__file__).parents[1] / "src"  # without a library in the package
SHOW = "import pathlib, segue; print(pathlib.Path(segue.library_path).name)"
USE = "import segue; app = segue.App('com.example.notes'); import segue.testing"


def run(*words: str, library: Path = FOLDER / APPS) -> subprocess.CompletedProcess[str]:
    named = {**environment("/nowhere"), "SEGUE_LIBRARY": str(library)}
    return subprocess.run([sys.executable, *words], env=named, capture_output=True, text=True)


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The library of apps in a folder that has no other one."""
    (tmp_path / APPS).symlink_to(FOLDER / APPS)
    return tmp_path / APPS


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (SHOW, APPS),
        (f"import segue.testing; {SHOW}", TESTS),
        (f"import segue; import segue.testing; {SHOW}", TESTS),
        (f"import pytest_segue; {SHOW}", TESTS),
        (f"import segue, pytest_segue; {SHOW}", TESTS),
        (f"import segue; segue.live_handles(); import pytest_segue; {SHOW}", APPS),
    ],
)
def test_apps_and_tests_have_a_library_each(program: str, name: str) -> None:
    assert run("-c", program).stdout == f"{name}\n"


def test_on_the_library_for_tests_all_works() -> None:
    program = """
import segue, segue.testing
with segue.testing.Fleet(7) as fleet:
    phone, laptop = (fleet.add_device(name).add_app("com.example.notes", types=["t"]) for name in ("phone", "laptop"))
    activity = segue.Activity(phone, "t", title="Draft", user_info={"line": 3})
    activity.become_current()
    fleet.run()
    print(laptop.continue_(laptop.offers[0]).wait().user_info["line"])
"""
    done = run("-c", program)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_the_library_of_apps_is_not_replaced_once_it_is_in_use() -> None:
    done = run("-c", USE)
    assert done.returncode == 1
    assert f"LibraryError: {FOLDER / APPS} is in use, which has no virtual fleet: import segue.testing before" in (
        done.stderr
    )


def test_what_needs_a_fleet_names_the_module_that_has_it() -> None:
    for program, error in (
        ("import segue; segue.Fleet(7)", "AttributeError"),
        ("from segue import Fleet", "ImportError"),
        ("from segue import App, Fleet", "ImportError"),
        ("import segue; assert not hasattr(segue, 'Fleet'); from segue import Fleet", "ImportError"),
    ):
        done = run("-c", program)
        assert f"{error}: segue.Fleet is segue.testing.Fleet: import segue.testing" in done.stderr, program
    done = run("-c", "import segue._native as native; native.library.segue_fleet_create")
    assert f"LibraryError: {FOLDER / APPS} has no segue_fleet_create: import segue.testing before" in done.stderr


def test_no_program_comes_from_the_current_folder(tmp_path: Path) -> None:
    """The loader finds the library by its name, as that of a package. It is at the path that the loader has found."""
    libraries, current = tmp_path / "libraries", tmp_path / "current"
    for each in (libraries, current):
        each.mkdir()
    shutil.copy(FOLDER / APPS, libraries)
    for name in ("segue-stdio", "segue-agent", "segue-desktop"):
        shutil.copy("/bin/true", current / name)
    named = {**environment("/nowhere"), "LD_LIBRARY_PATH": str(libraries), "PYTHONPATH": str(SOURCES)}
    named.pop("SEGUE_LIBRARY")
    show = "import segue; from segue._command import agent, desktop, stdio; "
    show += "print(segue.library_path, agent.found(), stdio.found(), desktop.found())"
    done = subprocess.run([sys.executable, "-c", show], env=named, cwd=current, capture_output=True, text=True)
    path, *programs = done.stdout.split()
    assert path == str(libraries / APPS), done
    assert len(programs) == 3 and not any(each.startswith(str(current)) for each in programs)


def test_without_the_library_for_tests_the_error_says_where_it_was_sought(alone: Path) -> None:
    done = run("-c", "import segue.testing", library=alone)
    assert f"LibraryError: cannot load {TESTS} (looked in the folder of SEGUE_LIBRARY): {alone.with_name(TESTS)}" in (
        done.stderr
    )


def test_the_plugin_does_not_need_the_library_for_tests(alone: Path) -> None:
    """A program whose tests use no fleet has pytest and the plugin, and perhaps not that library."""
    for modules in ("pytest_segue", "pytest_segue, segue", "segue, pytest_segue"):
        assert run("-c", f"import {modules}; {SHOW}", library=alone).stdout == f"{APPS}\n"


@pytest.mark.parametrize("modules", ["pytest_segue, segue", "segue, pytest_segue"])
def test_the_plugin_without_the_library_for_tests_says_so_to_tests_on_a_fleet(alone: Path, modules: str) -> None:
    """Although the other library is in use by then."""
    use = "segue.live_handles(); import segue.testing"
    done = run("-c", f"import {modules}; {use}", library=alone)
    assert f"LibraryError: cannot load {TESTS} (looked in the folder of SEGUE_LIBRARY): {alone.with_name(TESTS)}" in (
        done.stderr
    )


def test_a_library_for_tests_that_is_named_stays() -> None:
    assert run("-c", f"import segue.testing; {SHOW}", library=FOLDER / TESTS).stdout == f"{TESTS}\n"


def test_pytest_takes_the_library_for_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "test_mine.py"
    file.write_text("import segue\n\ndef test_mine(segue_fleet):\n    assert 'fleet' in segue.library_path\n")
    assert run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)).returncode == 0
    # A plugin of the command line comes before those that are installed, and the first test uses the library.
    (tmp_path / "named_plugin.py").write_text("import segue\n")
    file.write_text(f"import segue\n\ndef test_first():\n    segue.live_handles()\n\n{file.read_text()}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "named_plugin", str(file))
    assert done.returncode == 0, done.stdout
    file.write_text("import segue\n\ndef test_mine():\n    assert 'fleet' not in segue.library_path\n")
    assert run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:segue", str(file)).returncode == 0
