# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime folder, and what the system refuses: an error that says what is wrong, and nothing is left behind."""

from __future__ import annotations

import os
import resource
import socket
import stat
import time
from pathlib import Path

import pytest
from wire import FakeHub


def refused(start, folder: Path | str, **environment: str) -> str:
    """Opens an app that is refused, and returns the error."""
    app = start("app", folder=folder, **environment)
    said = app.hears(r"error .*segue_app_open.* (?P<why>[A-Z_]+: .*)")["why"]
    assert app.program.wait() == 3
    return said


def test_a_folder_is_made_for_its_user_only(start, folder):
    place = folder / "new"
    start("app", folder=place).ready()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_without_segue_runtime_dir_it_is_in_that_of_xdg(start, folder):
    app = start("app", SEGUE_RUNTIME_DIR="", XDG_RUNTIME_DIR=str(folder)).ready()
    assert (folder / "segue" / "hub.1").is_socket()
    app.end()


# A /run of its own, with or without a folder of the user in it.
OWN_RUN = 'mount -t tmpfs tmpfs /run && mkdir -p /run/user && {} && shift && exec "$@"'


def with_run(prepare: str) -> list[str]:
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    return [*unshare, "sh", "-c", OWN_RUN.format(prepare), "sh", "-"]


def test_without_either_it_is_in_the_users_folder_of_run(start, folder):
    """Programs that cron or ssh starts have no XDG_RUNTIME_DIR, and meet those of the session all the same."""
    app = start(
        "app", SEGUE_RUNTIME_DIR="", XDG_RUNTIME_DIR="", TMPDIR=str(folder), under=with_run("mkdir -m 700 /run/user/0")
    ).ready()
    assert Path(f"/proc/{app.pid}/root/run/user/0/segue/hub.1").is_socket()
    app.end()


@pytest.mark.parametrize(
    "prepare",
    [
        "true",
        "mkdir -m 755 /run/user/0",
        "mkdir -m 700 /run/user/1 && ln -s 1 /run/user/0",
        pytest.param(
            "mkdir -m 700 /run/user/0 && chown 1 /run/user/0",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away"),
        ),
    ],
    ids=["missing", "open to others", "a link", "of another user"],
)
def test_without_that_it_is_in_the_temporary_folder(start, folder, prepare):
    app = start("app", SEGUE_RUNTIME_DIR="", XDG_RUNTIME_DIR="", TMPDIR=str(folder), under=with_run(prepare)).ready()
    place = folder / f"segue-{os.geteuid()}"
    assert (place / "hub.1").is_socket()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    app.end()


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o777])
def test_a_folder_that_is_open_to_others_is_refused(start, folder, mode):
    folder.chmod(0o755)
    place = folder / "open"
    place.mkdir()
    place.chmod(mode)
    said = refused(start, place)
    assert said.startswith("UNSAFE_FOLDER") and str(place) in said and "0700" in said


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o777])
def test_a_folder_in_a_private_one_is_closed_to_others(start, folder, mode):
    """No other user can have entered it, and no other process of the user can keep apps out by its mode."""
    place = folder / "open"
    place.mkdir()
    place.chmod(mode)
    start("app", folder=place).ready()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(start, folder):
    place = folder / "foreign"
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    said = refused(start, place)
    assert said.startswith("UNSAFE_FOLDER") and "another user" in said


def test_a_symbolic_link_is_refused(start, folder):
    (folder / "real").mkdir(mode=0o700)
    (folder / "link").symlink_to(folder / "real")
    said = refused(start, folder / "link")
    assert said.startswith("UNSAFE_FOLDER") and "symbolic link" in said


def test_a_file_is_refused(start, folder):
    (folder / "file").write_text("")
    assert refused(start, folder / "file").startswith("UNSAFE_FOLDER")


def test_a_relative_path_is_refused(start):
    assert refused(start, "relative/path").startswith("INVALID_ARGUMENT")


def test_a_folder_in_no_folder_is_refused(start, folder):
    said = refused(start, folder / "missing" / "folder")
    assert said.startswith("SYSTEM") and str(folder / "missing") in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
def test_a_parent_that_cannot_be_written_to_is_refused(start, folder, built):
    """As a user who may not write there; the program must be theirs to run."""
    for place in (folder, built):
        place.chmod(0o755)
    (folder / "own").mkdir(mode=0o500)
    os.chown(folder / "own", 65534, 65534)
    app = start("app", folder=folder / "own" / "new", under=["setpriv", "--reuid=65534", "--clear-groups"])
    said = app.hears("error .*")[0]
    assert "SYSTEM" in said and str(folder / "own" / "new") in said and "Permission denied" in said
    assert app.program.wait() == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("mode", [0o700, 0o777, 0o1775])
def test_nothing_is_made_in_a_folder_of_another_user(start, folder, mode):
    """As with sudo -E: root has the environment of a user, who could not open apps again if root made the folder."""
    place = folder / "user"
    place.mkdir()
    place.chmod(mode)
    os.chown(place, 65534, 65534)
    for environment in ({"SEGUE_RUNTIME_DIR": str(place / "segue")}, {"XDG_RUNTIME_DIR": str(place)}):
        app = start("app", **{"SEGUE_RUNTIME_DIR": "", **environment})
        said = app.hears(r"error .*segue_app_open.* (?P<why>[A-Z_]+: .*)")["why"]
        assert said.startswith("UNSAFE_FOLDER") and f"because {place} belongs to another user (65534)" in said
        assert app.program.wait() == 3
    assert list(place.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_that_is_for_all_will_do(start, folder):
    """As /tmp is: everybody may write there, and may remove only what is theirs."""
    place = folder / "tmp"
    place.mkdir()
    place.chmod(0o1777)
    os.chown(place, 65534, 65534)
    app = start("app", folder=place / "segue").ready()
    assert stat.S_IMODE((place / "segue").stat().st_mode) == 0o700
    app.end()


def test_a_long_path_works(start, folder):
    """A socket's address has 108 bytes; a path may have more."""
    place = folder / ("long" * 30) / ("longer" * 30)
    place.mkdir(parents=True)
    place.chmod(0o700)
    editor, viewer = start("editor", folder=place).ready(), start("viewer", folder=place).ready()
    editor.tell("offer one")
    viewer.hears("appeared one")
    editor.end()
    viewer.end()


def test_what_is_left_of_a_dead_hub_is_tidied_up(start, folder):
    """Sockets and locks of hubs that were killed do not pile up."""
    for number in range(4):
        start(f"app{number}").ready().kill()
    survivor = start("survivor").ready()
    assert sorted(path.name for path in folder.iterdir()) == ["hub.5", "hub.5.lock"]
    survivor.end()
    assert list(folder.iterdir()) == []


def test_strange_names_in_the_folder_are_ignored(start, folder):
    for name in ("hub.", "hub.x", "hub.-1", "hub.1.2", "hub.99999999999999999999999", "other", "hub.7.lock.old"):
        (folder / name).write_text("")
    start("app").ready().end()


LAST = "hub.999999999999999999"


def dead_socket(path: Path) -> None:
    """A hub that was killed."""
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(path))


def full_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_text("")


OBSTACLES = {
    "file": lambda path: path.write_text("no socket"),
    "folder": Path.mkdir,
    "full folder": full_folder,
    "link": lambda path: path.symlink_to("missing"),
    "socket": dead_socket,
}


@pytest.mark.parametrize("name", ["hub.1", "hub.1.lock", "hub.3", LAST])
@pytest.mark.parametrize("kind", OBSTACLES)
def test_what_is_no_hub_and_no_lock_keeps_nobody_out(start, folder, kind, name):
    """Any process of the user may put anything into the folder, and end."""
    OBSTACLES[kind](folder / name)
    editor, viewer = start("editor").ready(), start("viewer").ready()
    editor.tell("offer one")
    viewer.hears("appeared one")
    dead = {"hub.1": 2, "hub.3": 4}.get(name, 1) if kind == "socket" else 1
    assert (folder / f"hub.{dead}").is_socket() and (folder / f"hub.{dead}.lock").is_file()


@pytest.mark.parametrize("kind", ["folder", "full folder"])
def test_a_living_hub_is_not_left_for_what_is_no_hub(start, folder, kind):
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    OBSTACLES[kind](folder / LAST)
    start("viewer").hears("appeared one")
    assert (folder / "hub.1").is_socket() and (folder / LAST).is_dir()


@pytest.mark.parametrize("kind", OBSTACLES)
def test_the_name_for_binding_is_freed(start, folder, kind):
    first, second = start("first").ready(), start("second").ready()
    OBSTACLES[kind](folder / f"hub.2.{second.pid}")
    first.kill()
    second.hears("connection searching")
    second.hears("connection ready")
    assert (folder / "hub.2").is_socket()


def test_a_folder_with_many_files_that_changes_all_the_time_costs_little(start, folder):
    for number in range(20_000):
        (folder / f"file{number}").touch()
    app = start("app").ready()
    before, began = processor_time(app.pid), time.monotonic()
    while time.monotonic() < began + 2:
        (folder / "file").touch()
        (folder / "file").unlink()
        time.sleep(0.002)
    share = (processor_time(app.pid) - before) / (time.monotonic() - began)
    # It takes a third without a pause.
    assert share < 0.2, share
    # It notices all the same: another hub, and that one's end.
    hub = FakeHub(folder, 2)
    app.hears("connection searching")
    hub.close()
    app.hears("connection ready")


def processor_time(pid: int) -> float:
    """Seconds of a processor that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_after_the_last_number_they_begin_anew(start, folder):
    """Whoever takes the highest number, and is dead, does not keep others from being the hub."""
    dead_socket(folder / LAST)
    app = start("app").ready()
    assert sorted(path.name for path in folder.iterdir()) == ["hub.1", "hub.1.lock"]
    app.end()


def test_a_silent_hub_of_the_last_number_is_replaced(start, folder):
    silent = FakeHub(folder, int(LAST.removeprefix("hub.")))
    apps = [start(f"app{number}").ready() for number in range(3)]
    apps[0].ask("offer one", "offered")
    for app in apps[1:]:
        app.hears("appeared one")
    assert not (folder / LAST).exists() and (folder / "hub.1").is_socket()
    silent.close()


def test_a_hub_of_the_last_number_but_one_is_followed_by_others(start, folder):
    """The last number is used, and so is the first after it."""
    dead_socket(folder / "hub.999999999999999998")
    first, second = start("first").ready(), start("second").ready()
    assert (folder / LAST).is_socket()
    first.kill()
    second.hears("connection searching")
    second.hears("connection ready")
    assert (folder / "hub.1").is_socket() and not (folder / LAST).exists()
    newcomer = start("newcomer").ready()
    newcomer.ask("offer one", "offered")
    second.hears("appeared one")


def test_a_process_without_descriptors_says_so_and_goes_on_when_there_are_some(start):
    """EMFILE at each step of opening, and of connecting after that: the first descriptor is refused, the second ..."""
    refused = later = 0
    for limit in range(4, 40):
        app = start("app", under=["prlimit", f"--nofile={limit}:1024", "--"])
        line = app.hears("error .*|open")[0]
        if line.endswith(" open"):
            later += 1
            resource.prlimit(app.pid, resource.RLIMIT_NOFILE, (1024, 1024))
            app.ready().end()
            if later > 8:
                break
        else:
            refused += 1
            assert "SYSTEM" in line and "Too many open files" in line, line
            assert app.program.wait() == 3
    assert refused > 8 and later > 8


def test_a_hub_without_descriptors_gives_way(start, folder):
    """It can take nobody in: another becomes the hub, and its own app comes along."""
    hub = start("hub").ready()
    used = len(os.listdir(f"/proc/{hub.pid}/fd"))
    resource.prlimit(hub.pid, resource.RLIMIT_NOFILE, (used, used))
    editor = start("editor").ready()
    editor.tell("offer one")
    hub.hears("appeared one", 5.0)
    assert (folder / "hub.2").is_socket()
    editor.end()
    hub.end()
