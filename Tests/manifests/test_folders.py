# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders of manifests (R6.1): a file that is broken, in whatever way, is named, and hides no other."""

from __future__ import annotations

import os
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from conftest import PROBE

BROKEN = tomllib.loads((Path(__file__).parent / "broken.toml").read_text())["file"]
GOOD = """<?xml version="1.0"?><plist version="1.0"><dict><key>CFBundleIdentifier</key><string>org.example.good</string>
<key>NSUserActivityTypes</key><array><string>org.example.note</string></array></dict></plist>"""


class Home:
    """A data folder of a user."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.apps, self.applications = path / "segue" / "apps", path / "applications"
        self.apps.mkdir(parents=True)
        self.applications.mkdir()

    def read(self) -> list[list[str]]:
        environment = {"XDG_DATA_HOME": str(self.path), "XDG_DATA_DIRS": "/nonexistent", "PATH": os.environ["PATH"]}
        done = subprocess.run([PROBE, "read"], env=environment, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def broken(self) -> dict[str, str]:
        """The errors of the broken files by their names, without the paths before them."""
        found = {}
        for kind, path, *rest in self.read():
            if kind == "broken":
                before, after = rest[1].split(": ", 1)
                assert before == path
                found[Path(path).name] = after
        return found

    @property
    def declared(self) -> list[str]:
        return [line[2] for line in self.read() if line[0] == "declared"]


@pytest.fixture
def home(tmp_path) -> Home:
    home = Home(tmp_path)
    (home.apps / "zz-good.plist").write_text(GOOD)
    return home


def test_each_broken_manifest_is_named_with_what_was_expected_and_hides_no_other(home):
    for file in BROKEN:
        text = file.get("text", "") + file.get("repeated", "") * file.get("times", 0)
        folder = home.applications if file["name"].endswith(".desktop") else home.apps
        (folder / file["name"]).write_bytes(bytes.fromhex(file["hex"]) if "hex" in file else text.encode())
    assert home.broken() == {file["name"]: file["says"] for file in BROKEN}
    assert home.declared == ["org.example.good"]


def test_what_is_no_small_file_is_refused_at_once(home):
    """A device that never ends, a pipe that nobody writes, a folder, 100 MB, a link to nowhere, and no permission."""
    (home.apps / "zero.plist").symlink_to("/dev/zero")
    os.mkfifo(home.apps / "fifo.plist")
    (home.apps / "folder.plist").mkdir()
    with open(home.apps / "large.plist", "wb") as file:
        file.truncate(100_000_000)
    (home.apps / "nowhere.plist").symlink_to("/nowhere")
    (home.apps / "loop.plist").symlink_to("loop.plist")
    (home.apps / "linked.plist").symlink_to("zz-good.plist")
    # A desktop file counts only if it has keys of Segue's: these are not read, and no error names them.
    os.mkfifo(home.applications / "fifo.desktop")
    (home.applications / "zero.desktop").symlink_to("/dev/zero")
    began = time.monotonic()
    assert home.broken() == {
        "zero.plist": "is no regular file, nor a link to one",
        "fifo.plist": "is no regular file, nor a link to one",
        "folder.plist": "is no regular file, nor a link to one",
        "large.plist": "100000000 bytes, at most 262144 are allowed",
        "nowhere.plist": "cannot be read: No such file or directory",
        "loop.plist": "cannot be read: Too many levels of symbolic links",
    }
    assert time.monotonic() - began < 5
    assert home.declared == ["org.example.good"]
    assert [line[0] for line in home.read() if line[1].endswith("zz-good.plist")] == ["shadowed"]


def test_folders_that_are_linked_in_a_circle_end(home):
    (home.applications / "again").symlink_to(home.applications)
    (home.applications / "a.desktop").write_text("[Desktop Entry]\nX-Segue-BundleIdentifier=a\n")
    assert home.declared[0] == "org.example.good"
    assert set(home.declared[1:]) == {"a"}


def test_too_many_files_are_refused_and_hide_no_others(home):
    for number in range(20_001):
        (home.applications / f"{number}.desktop").touch()
    said = home.broken()
    assert said == {"applications": "more than 20000 names, none of which is read"}
    assert home.declared == ["org.example.good"]


def test_relative_and_repeated_folders_are_ignored(home):
    environment = {"XDG_DATA_HOME": "relative", "HOME": "/nonexistent", "XDG_DATA_DIRS": f":{home.path}/:.:{home.path}"}
    done = subprocess.run([PROBE, "read"], env=environment, capture_output=True, text=True, cwd=home.path.parent)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["declared"]
