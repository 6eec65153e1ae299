# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders of manifests (R6.1): a file that is broken, in whatever way, is named, and hides no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PROBE

BROKEN = Path(__file__).parent / "broken"
# The errors of the files in that folder, without the paths before them.
SAID = {
    "no-identifier.plist": "CFBundleIdentifier: is missing; expected a string",
    "identifier-is-a-number.plist": "CFBundleIdentifier: expected a string, found an integer",
    "identifier-is-empty.plist": "CFBundleIdentifier: must not be empty",
    "identifier-with-a-newline.plist": "CFBundleIdentifier: has a control character",
    "types-are-a-string.plist": "NSUserActivityTypes: expected an array, found a string",
    "a-type-is-a-dictionary.plist": "NSUserActivityTypes[1]: expected a string, found a dictionary",
    "a-type-is-empty.plist": "NSUserActivityTypes[0]: must not be empty",
    "a-document-type-is-a-string.plist": "CFBundleDocumentTypes[0]: expected a dictionary, found a string",
    "a-role-is-unknown.plist": "CFBundleDocumentTypes[0].CFBundleTypeRole: expected Editor, Viewer, Shell, QLGenerator"
    " or None, found Owner",
    "content-types-are-wrong.plist": "CFBundleDocumentTypes[1].LSItemContentTypes[0]: expected a string,"
    " found a boolean",
    "versions-are-negative.plist": "SeguePayloadVersions[1]: expected an integer from 0 to 4294967295, found -1",
    "a-version-is-text.plist": "SeguePayloadVersions[0]: expected an integer, found a string",
    "background-is-text.plist": "LSBackgroundOnly: expected a boolean, found a string",
    "team-is-an-array.plist": "com.apple.developer.team-identifier: expected a string, found an array",
    "a-key-twice.plist": "line 4: the key CFBundleIdentifier is there twice",
    "an-array.plist": "the property list: expected a dictionary, found an array",
    "an-entity.plist": "line 2: the document type declares something of its own, which is refused",
    "empty.plist": "line 1: no element found; expected a property list, XML or binary",
    "cut-short.plist": "a binary property list that is cut short, or of another version than 00",
    "picture.plist": "line 1: not well-formed (invalid token); expected a property list, XML or binary",
    "depth-bomb.plist": "line 1: more than 32 levels of nesting",
    "shared-objects.plist": "more than 10000 values",
    "contains-itself.plist": "more than 32 levels of nesting",
    "notes.txt": "expected a name that ends with .plist",
    "no-identifier.desktop": "X-Segue-BundleIdentifier: is missing, and there are other keys of Segue's",
    "no-group.desktop": "line 1: expected a group before the first key",
    "no-entry.desktop": "there is no group [Desktop Entry]",
    "a-key-twice.desktop": "line 4: the key Exec is there twice",
    "no-equals-sign.desktop": "line 3: expected KEY=VALUE",
    "latin-1.desktop": "line 2: the value of X-Segue-BundleIdentifier is not UTF-8",
    "undeclared-entity.plist": "line 3: the entity &dot; is not declared",
    "a-bad-key.desktop": "line 2: the key X-Segue-Bundle Identifier has other characters than A-Z, a-z, 0-9 and -",
    "a-bad-document-type.desktop": "X-Segue-DocumentTypes[0]: expected CONTENT-TYPE:ROLE:ACTIVITY-TYPE with the role"
    " Editor, Viewer, Shell, QLGenerator or None, found text/plain:Editor",
    "a-bad-version.desktop": "X-Segue-PayloadVersions[1]: expected an integer, found two",
    "a-bad-escape.desktop": "X-Segue-BundleIdentifier: a backslash is followed by none of s, n, t, r, \\ and ;",
    "a-bad-boolean.desktop": "X-Segue-BackgroundOnly: expected true or false, found yes",
}
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
    for path in BROKEN.iterdir():
        shutil.copy(path, home.applications if path.suffix == ".desktop" else home.apps)
    assert home.broken() == SAID
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
