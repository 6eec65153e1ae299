# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sockets that cannot be connected, and system calls that a sandbox refuses: the host is told why, nothing spins, and
closing returns."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from participants import Participant, participant
from programs import programs
from temporary_folders import temporary

CALLS = (
    *("accept4", "bind", "connect", "epoll_create1", "epoll_ctl", "eventfd2", "fchmod", "fchmodat", "flock"),
    *("getdents64", "getrandom", "getsockopt", "inotify_add_watch", "inotify_init1", "listen", "lseek"),
    *("memfd_create", "pipe2", "prlimit64", "recvmsg", "renameat", "sendto", "socket", "socketpair"),
    *("timerfd_create", "timerfd_settime", "unlinkat", "utimensat"),
)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_ones(pids: list[int], seconds: float = 1.0) -> set[int]:
    """Those that use the processor for more than a fifth of a time in which they have nothing to do."""
    before = {pid: cpu_seconds(pid) for pid in pids}
    time.sleep(seconds)  # what nothing happens in is what is measured
    return {pid for pid in pids if cpu_seconds(pid) - before[pid] > 0.2 * seconds}


DELIVERIES = {"host": (), "thread": ("--thread",)}


@pytest.fixture(scope="module")
def refused(built):
    """refused[call, delivery]: an app to which the system refuses a call, what it said of opening, and whether it is
    calm. Each has a folder of its own; they are watched all at once."""
    apps = {}
    with temporary("segue-run-") as folder, programs() as run:
        for number, (call, delivery) in enumerate((call, delivery) for call in CALLS for delivery in DELIVERIES):
            place = Path(folder, str(number))
            place.mkdir(mode=0o700)
            under, options = [built / "refuse", call], DELIVERIES[delivery]
            command = participant(built / "participant", "app", *options, under=under, SEGUE_RUNTIME_DIR=str(place))
            apps[call, delivery] = Participant(run("app", command))
        said = {key: app.hears("error .*segue_app_open.*|open")[0] for key, app in apps.items()}
        busy = busy_ones([app.pid for key, app in apps.items() if said[key].endswith(" open")])
        yield {key: (app, said[key], app.pid not in busy) for key, app in apps.items()}


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_refused_is_an_error_or_does_no_harm(refused, call, delivery):
    app, said, is_calm = refused[call, delivery]
    if not said.endswith(" open"):
        assert "SYSTEM" in said, said
        assert app.program.wait() == 3
        return
    assert is_calm, call
    state = app.ask("connection", r"is (\w+): (\w+) (.*)")
    if state[2] == "searching" and call != "timerfd_settime":
        assert state[3] != "OK" and state[4] != "-", state[0]
    began = time.monotonic()
    app.end()
    assert time.monotonic() - began < 2, call


@pytest.mark.parametrize("threads", ["this", "all", "before"])
@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("call", ["write", "read"])
def test_a_sandbox_neither_ends_a_process_nor_keeps_an_app_from_closing(built, folder, call, delivery, threads):
    """One that refuses a call by which the library's threads wake each other; set up before the app opens, or later."""
    began = time.monotonic()
    done = subprocess.run(
        [built / "sandbox", call, delivery, threads],
        env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 5
    assert list(folder.iterdir()) == []


def test_what_cannot_be_connected_to_is_no_reason_to_be_the_hub(start, built, folder):
    """An app in a sandbox does not disturb the others."""
    hub, viewer = start("hub").ready(), start("viewer").ready()
    app = start("app", under=[built / "refuse", "connect"])
    app.hears("open")
    assert not busy_ones([app.pid])
    said = app.ask("connection", "is searching: SYSTEM .*")[0]
    assert "hub.1" in said and "Operation not permitted" in said
    assert viewer.ask("connection", "is ready: OK -")
    assert not any("searching" in line for line in viewer.program.said + hub.program.said)
    assert sorted(path.name for path in folder.iterdir()) == ["hub.1", "hub.1.lock"]
    app.end()


def test_a_sandbox_with_the_folder_read_only_is_an_app_and_never_the_hub(start, folder):
    """It connects, and makes nothing in the folder, whoever else is there."""
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    read_only = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    app = start("app", under=[*unshare, "sh", "-c", read_only, folder])
    app.hears("open")
    assert app.ask("connection", "is searching: .*")
    assert not list(folder.iterdir())
    hub = start("hub").ready()
    app.ready()
    hub.ask("offer one", "offered")
    app.hears("appeared one")
    hub.kill()
    app.hears("connection searching")
    assert not busy_ones([app.pid])
    start("next").ready()
    app.ready()
    app.end()


@pytest.mark.parametrize("call", ["getdents64", "lseek"])
def test_who_cannot_list_the_folder_is_not_the_hub(start, built, folder, call):
    """A hub that it cannot see may be there: it would take the place of that one, again and again."""
    blind = start("blind", under=[built / "refuse", call])
    blind.hears("open")
    assert not busy_ones([blind.pid])
    said = blind.ask("connection", "is searching: SYSTEM .*")[0]
    assert "listing" in said and "Operation not permitted" in said
    assert not list(folder.iterdir())
    hub = start("hub").ready()
    assert blind.ask("connection", "is searching: SYSTEM .*")
    assert sorted(path.name for path in folder.iterdir()) == ["hub.1", "hub.1.lock"]
    assert not any("searching" in line for line in hub.program.said)
    blind.end()


def test_who_does_not_know_its_limit_of_descriptors_has_the_usual_one(start, built):
    """One of none would shut everybody out."""
    hub = start("hub", under=[built / "refuse", "prlimit64"]).ready()
    viewer = start("viewer").ready()
    hub.ask("offer one", "offered")
    viewer.hears("appeared one")


def as_user(folder: Path, built: Path, umask: str) -> list[str | Path]:
    """Root may connect to anything."""
    shell = ["sh", "-c", f'umask {umask} && exec "$@"', "sh"]
    if os.geteuid() != 0:
        return shell
    built.chmod(0o755)
    os.chown(folder, 65534, 65534)
    return ["setpriv", "--reuid=65534", "--clear-groups", *shell]


@pytest.mark.parametrize("umask", ["0222", "0277", "0777", "0177"])
def test_whatever_the_umask_what_is_made_can_be_used(start, folder, built, umask):
    under = as_user(folder, built, umask)
    hub = start("hub", folder=folder / "new", under=under).ready()
    usual = as_user(folder, built, "022")
    viewer, again = (start(name, folder=folder / "new", under=usual).ready() for name in ("viewer", "again"))
    hub.ask("offer one", "offered")
    viewer.hears("appeared one")
    hub.kill()
    for app in (viewer, again):
        app.hears("connection searching")
        app.hears("connection ready")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
def test_a_socket_of_a_strange_mode_is_mended(start, folder, built):
    """Such as one that an older version made under such a umask."""
    usual = as_user(folder, built, "022")
    hub = start("hub", folder=folder, under=usual).ready()
    (folder / "hub.1").chmod(0)
    viewer = start("viewer", folder=folder, under=usual).ready()
    hub.ask("offer one", "offered")
    viewer.hears("appeared one")
    assert not (folder / "hub.2").exists()


def test_why_there_is_no_hub_is_told(start, folder):
    """And no more once there is one."""
    place = folder / "segue"
    app = start("app", folder=place).ready()
    app.ask("connection", "is ready: OK -")
    elsewhere = folder.with_name(folder.name + "-gone")
    folder.rename(elsewhere)
    try:
        (elsewhere / "segue" / "hub.1").unlink()
        newcomer = start("newcomer", folder=place)
        newcomer.hears("error .*segue_app_open.* SYSTEM: .*does not exist")
    finally:
        elsewhere.rename(folder)
    app.hears("connection searching")
    app.hears("connection ready")
    app.ask("connection", "is ready: OK -")
    app.end()
