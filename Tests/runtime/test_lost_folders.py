# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime folder, or what is in it, is deleted while apps are open: all of them meet again, and new ones too."""

from __future__ import annotations

import errno
import shutil
import signal
import time
from pathlib import Path

import pytest


@pytest.fixture
def place(folder: Path) -> Path:
    return folder / "segue"


@pytest.fixture
def trio(start, place):
    """A hub's process, an editor that offers "one", a viewer that sees it."""
    hub, editor, viewer = (start(name, folder=place).ready() for name in ("hub", "editor", "viewer"))
    editor.ask("offer one", "offered")
    viewer.hears("appeared one")
    return hub, editor, viewer


def remove(place: Path) -> None:
    """As cleaners do; what comes back while it does so does not keep it."""
    while True:
        for path in place.iterdir():
            path.unlink(missing_ok=True)
        try:
            return place.rmdir()
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise


LOSSES = {
    "removed": remove,
    "removed and made again": lambda place: (remove(place), place.mkdir(mode=0o700, exist_ok=True)),
    "emptied": lambda place: [path.unlink() for path in place.iterdir()],
    "moved away": lambda place: place.rename(place.with_name("elsewhere")),
    "its socket deleted": lambda place: (place / "hub.1").unlink(),
}


def meet(*apps, patience: float = 5.0) -> None:
    """Each sees what each other offers."""
    for number, app in enumerate(apps):
        app.ask(f"offer met {number}", "offered")
    for number in range(len(apps)):
        for app in apps[:number] + apps[number + 1 :]:
            if not any(line.endswith(f" met {number}") for line in app.program.said):
                app.hears(f"(appeared|changed) met {number}", patience)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_old_and_new_apps_and_the_hubs_own_meet_again(start, place, trio, loss):
    loss(place)
    newcomer = start("newcomer", folder=place).ready()
    meet(*trio, newcomer)
    for app in (newcomer, *trio):
        app.end()


def test_without_a_newcomer_they_meet_too(place, trio):
    remove(place)
    for app in trio:
        app.hears("connection searching", 3.0)
        app.hears("connection ready", 3.0)
    # The number tells new apps that the others may still come.
    assert (place / "hub.2").is_socket()
    meet(*trio)


def test_while_there_is_no_place_for_a_folder_the_hub_goes_on(start, folder, place, trio):
    """As at a logout; apps that stay meet those that come after the next login."""
    hub, editor, viewer = trio
    elsewhere = folder.with_name(folder.name + "-gone")
    folder.rename(elsewhere)
    try:
        shutil.rmtree(elsewhere / "segue")
        editor.ask("offer two", "offered")
        viewer.hears("appeared two")
    finally:
        elsewhere.rename(folder)
    newcomer = start("newcomer", folder=place).ready()
    meet(hub, editor, viewer, newcomer)


def test_it_happens_again_and_again(start, place, trio):
    for _ in range(5):
        remove(place)
        trio[2].hears("connection searching", 3.0)
        for app in trio:
            app.hears("connection ready", 3.0)
    meet(*trio)


def test_a_hub_that_is_stopped_meanwhile_comes_along(start, place, trio):
    hub, editor, viewer = trio
    hub.program.stop()
    remove(place)
    newcomer = start("newcomer", folder=place).ready()
    meet(editor, viewer, newcomer)
    hub.program.signal(signal.SIGCONT)
    meet(hub, newcomer)


def test_time_stands_for_nothing_in_it(start, place, trio):
    """The age of the hub's last heartbeat is counted in uptime: it survives steps of the wall clock."""
    trio[1].ask("offer two", "offered")
    trio[2].hears("appeared two")
    beat = (place / "hub.1.lock").stat().st_mtime
    assert 0 <= time.clock_gettime(time.CLOCK_BOOTTIME) - beat < 10


def test_deadlines_count_the_time_in_which_the_system_sleeps(trio):
    """CLOCK_BOOTTIME is 7."""
    for app in trio:
        infos = [path.read_text() for path in Path(f"/proc/{app.pid}/fdinfo").iterdir()]
        clocks = [line.split()[1] for info in infos for line in info.splitlines() if line.startswith("clockid:")]
        assert clocks and set(clocks) == {"7"}, clocks


# Without inotify: a user usually has 128 instances.

NO_INOTIFY = (
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"',
    "sh",
)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_without_inotify_they_meet_too(start, place, loss):
    """Nothing tells them: they look, more and more rarely, but every 5 s."""
    hub, editor, viewer = (start(name, folder=place, under=NO_INOTIFY).ready() for name in ("hub", "editor", "viewer"))
    loss(place)
    newcomer = start("newcomer", folder=place, under=NO_INOTIFY).ready()
    # Every 5 s they look.
    meet(hub, editor, viewer, newcomer, patience=12.0)


def test_without_inotify_an_app_hardly_wakes_up(start, place):
    """Seven looks in the first 13 s, one every 5 s then."""
    app = start("app", folder=place, under=NO_INOTIFY).ready()

    def switches() -> int:
        tasks = Path(f"/proc/{app.pid}/task").iterdir()
        return sum(
            int(line.split()[1])
            for task in tasks
            for line in (task / "status").read_text().splitlines()
            if "ctxt_switches" in line
        )

    before = switches()
    time.sleep(4)  # what is counted is what comes in a time
    assert switches() - before <= 12
