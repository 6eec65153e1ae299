# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Containers (R5.3, R5.4): files under one name at different places."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, TYPE, Opener
from pair import Pair

import segue
from segue import URL

NAME = "com.example.docs"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The folder of the origin, and that of the receiver; both have a.txt."""
    here, there = tmp_path / "My docs", tmp_path / "elsewhere"
    for folder in (here, there):
        folder.mkdir()
        (folder / "a.txt").write_text(folder.name)
    return here, there


@pytest.fixture
def pair(opened: Opener, folders: tuple[Path, Path]) -> Pair:
    pair = Pair(opened)
    pair.origin.add_container(NAME, folders[0])
    pair.receiver.add_container(NAME, os.fsencode(folders[1]))
    return pair


def test_a_url_arrives_as_the_receivers_own(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.3"""
    here, there = (folder.as_uri() for folder in folders)
    pair.activity.user_info = {
        "document": URL(f"{here}/a.txt#page=3"),
        "text": f"{here}/a.txt",
        URL(f"{here}/z"): frozenset({URL(f"{here}/b"), URL("file:///etc/hosts"), URL("https://example.com/")}),
    }
    got = pair.continue_().wait().user_info
    assert dict(got) == {
        "document": URL(f"{there}/a.txt#page=3"),
        "text": f"{here}/a.txt",
        URL(f"{there}/z"): {URL(f"{there}/b"), URL("file:///etc/hosts"), URL("https://example.com/")},
    }
    assert pair.activity.user_info["document"] == URL(f"{here}/a.txt#page=3")


def test_what_names_this_device_only_is_reported(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.3, R13.4: a file: URL outside every container, and one of a container that the receiver, which is on the same
    device, lacks."""
    pair.receiver.remove_container(NAME)
    with pytest.raises(segue.NotFoundError):
        pair.receiver.remove_container(NAME)
    pair.activity.user_info = {"mine": URL(f"{folders[0].as_uri()}/a.txt"), "hosts": URL("file:///etc/hosts")}
    assert [(each.path, each.status) for each in pair.activity.validate()] == [
        ('user_info/"hosts"', segue.Status.INVALID_URL)
    ]
    continued = pair.continue_().wait()
    assert continued.user_info["mine"] == pair.activity.user_info["mine"]
    assert {(each.path, each.status) for each in continued.validate()} == {
        ('user_info/"hosts"', segue.Status.INVALID_URL),
        ('user_info/"mine"', segue.Status.INVALID_URL),
    }
    with pytest.raises(segue.NotAllowedError):
        continued.access(continued.user_info["mine"])
    stored = segue.Activity.decode(pair.receiver, pair.activity.encode())
    assert stored.user_info["mine"] == URL(f"segue-container:{NAME}/a.txt")
    with pytest.raises(segue.NotFoundError, match=NAME):
        stored.access(stored.user_info["mine"])
    # The origin takes it back as it was.
    pair.until(lambda: pair.receipts)
    back = pair.activity.resume_back()
    pair.until(lambda: back.done)
    back.wait()
    assert pair.activity.user_info["mine"] == URL(f"{folders[0].as_uri()}/a.txt")


@pytest.mark.parametrize("name", ["test?file", "C#.txt"])
def test_a_query_or_a_fragment_is_reported_and_opens_no_file(pair: Pair, folders: tuple[Path, Path], name: str) -> None:
    """R5.3, R5.4: never the file `test`, or `C`."""
    for folder in folders:
        for file in ("test", "C"):
            (folder / file).write_text("another file")
    pair.activity.user_info = {"document": URL(f"{folders[0].as_uri()}/{name}")}
    assert [(each.path, each.status) for each in pair.activity.validate()] == [
        ('user_info/"document"', segue.Status.INVALID_URL)
    ]
    continued = pair.continue_().wait()
    assert [each.status for each in continued.validate()] == [segue.Status.INVALID_URL]
    with pytest.raises(segue.InvalidURLError, match="%3F"):
        continued.access(continued.user_info["document"])


def test_names_with_such_characters_travel_and_open(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.3, R5.4: encoded; and a doubled slash is one."""
    for name in ("?.txt", "C#.txt"):
        (folders[1] / name).write_text(name)
        pair.activity.user_info = {"document": URL(f"{folders[0].as_uri()}//{(Path('/') / name).as_uri()[8:]}")}
        assert pair.activity.validate() == []
        continued = pair.continue_().wait()
        assert continued.user_info["document"] == URL((folders[1] / name).as_uri())
        with continued.access(continued.user_info["document"]) as file:
            assert file.read() == name.encode()


def test_a_url_that_becomes_too_long_fails_at_continue(pair: Pair, tmp_path: Path) -> None:
    """R5.3: 8 KiB, in the receiver's own form."""
    here = Path("/h")
    pair.origin.add_container(NAME, here)
    pair.receiver.add_container(NAME, tmp_path / ("l" * 200))
    url = f"{here.as_uri()}/" + "a" * (segue.limits.url - 20)
    pair.activity.user_info = {"document": URL(url)}
    continuation = pair.continue_()
    with pytest.raises(segue.HandoffFailedError, match=f"{NAME}.*8192"):
        continuation.wait()


def test_two_names_of_one_file_cannot_travel(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.3: a key that collides after rewriting."""
    uri = folders[0].as_uri()
    pair.activity.user_info = {URL(f"{uri}/a"): 1, URL(f"{uri.replace('file://', 'file:')}/a"): 2}
    assert [each.status for each in pair.activity.validate()] == [segue.Status.INVALID_ARGUMENT]
    continuation = pair.continue_()
    with pytest.raises(segue.Error, match="user_info"):
        continuation.wait()


def test_a_container_can_be_moved_while_the_app_is_open(pair: Pair, folders: tuple[Path, Path]) -> None:
    other = folders[1].parent / "other"
    pair.receiver.add_container(NAME, other)
    pair.activity.user_info = {"document": URL(f"{folders[0].as_uri()}/a.txt")}
    continued = pair.continue_().wait()
    url = continued.user_info["document"]
    assert url == URL(f"{other.as_uri()}/a.txt")
    with pytest.raises(segue.NotThereYetError):
        continued.access(url)
    folders[1].rename(other)
    with continued.access(url) as file:
        assert file.read() == b"elsewhere"


@pytest.mark.parametrize("wrong", ["relative", "/", "/a/../b", "/a\0b", "", __file__])
def test_a_folder_that_is_none(pair: Pair, wrong: str) -> None:
    with pytest.raises(segue.InvalidArgumentError):
        pair.origin.add_container("other", wrong)


def test_documents_hold_the_travelling_form(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.3: what is stored is not tied to this device."""
    pair.activity.user_info = {"document": URL(f"{folders[0].as_uri()}/a.txt")}
    document = pair.activity.encode()
    assert b"My%20docs" not in document and NAME.encode() in document
    decoded = segue.Activity.decode(pair.receiver, document)
    assert decoded.user_info["document"] == URL(f"{folders[1].as_uri()}/a.txt")
    assert segue.Activity.decode(None, document).user_info["document"] == URL(f"segue-container:{NAME}/a.txt")


def test_access_reads_writes_and_ends(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.4"""
    url = URL(f"{folders[0].as_uri()}/a.txt")
    with pair.activity.access(url) as file:
        assert file.read() == b"My docs"
        with pytest.raises(OSError):
            file.write(b"x")
    access = pair.activity.access(str(url), write=True)
    with access as file:
        assert os.get_blocking(access.fd) and not os.get_inheritable(access.fd)
        file.seek(0, os.SEEK_END)
        file.write(b", written")
    assert file.closed
    assert (folders[0] / "a.txt").read_text() == "My docs, written"
    with pytest.raises(segue.InvalidStateError):
        access.fileno()
    access.end()


def test_access_gives_folders_as_descriptors(pair: Pair, folders: tuple[Path, Path]) -> None:
    url = URL(f"{folders[0].as_uri()}/")
    access = pair.activity.access(url)
    assert os.listdir(access.fd) == ["a.txt"]
    with pytest.raises(IsADirectoryError), access:
        pass
    with pytest.raises(segue.NotAllowedError):
        pair.activity.access(url, write=True)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("missing.txt", segue.NotThereYetError),
        ("../elsewhere/a.txt", segue.NotAllowedError),
        ("a.txt/", segue.NotAllowedError),
        ("a b", segue.InvalidURLError),
        ("n" * 300, segue.NotAllowedError),
    ],
)
def test_access_says_why_not(pair: Pair, folders: tuple[Path, Path], name: str, error: type[segue.Error]) -> None:
    """R5.4"""
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(error):
        pair.activity.access(f"{folders[0].as_uri()}/{name}")
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_proc_a_file_that_is_there_is_not_awaited(folders: tuple[Path, Path]) -> None:
    """R5.4: no synchronisation brings what the system lacks."""
    code = """
import sys
from pathlib import Path
import segue
app = segue.App("com.example.notes")
app.add_container("docs", sys.argv[1])
activity = segue.Activity(app, "com.example.notes.editing")
for name in ("a.txt", "missing.txt"):
    try:
        activity.access(f"{Path(sys.argv[1]).as_uri()}/{name}")
    except segue.Error as error:
        print(type(error).__name__, "/proc" in str(error))
"""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    hidden = ["unshare", "--mount", *user, "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "-"]
    command = [*hidden, sys.executable, "-c", code, str(folders[0])]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert result.stdout.splitlines() == ["SystemRefusedError True", "NotThereYetError False"]


def test_access_is_known_by_python_names() -> None:
    assert issubclass(segue.NotThereYetError, FileNotFoundError)
    assert issubclass(segue.NotAllowedError, PermissionError)


def test_access_needs_an_app(tmp_path: Path) -> None:
    with pytest.raises(segue.InvalidStateError):
        segue.Activity(None, TYPE).access(tmp_path.as_uri())


def test_accesses_leave_nothing_open(pair: Pair, folders: tuple[Path, Path]) -> None:
    """R5.4: ended, forgotten, or refused."""
    uri = folders[0].as_uri()
    before, handles = len(os.listdir("/proc/self/fd")), segue.live_handles()
    for _ in range(250):
        with pair.activity.access(f"{uri}/a.txt"):
            pass
        pair.activity.access(f"{uri}/a.txt")
        for name in ("missing", "../a"):
            with pytest.raises(segue.Error):
                pair.activity.access(f"{uri}/{name}")
    gc.collect()
    assert (len(os.listdir("/proc/self/fd")), segue.live_handles()) == (before, handles)
