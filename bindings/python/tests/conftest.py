# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fixtures of every test: a runtime folder of its own, and a check that it leaves nothing behind."""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import segue
from segue import _native

ROOT = Path(__file__).resolve().parents[3]
TYPE = "com.example.notes.editing"
PATIENCE = 20.0
"""Seconds after which something that is awaited will not come."""

Opener = Callable[..., segue.App]
Log = list[tuple[int, str]]
Pair = tuple[segue.App, segue.App]


failed = pytest.StashKey[bool]()

# Tests on a fleet need the library for tests, which the plugin of pytest loads. Tests/run runs them apart from the
# others, which have the library that apps have: `pytest -m fleet`, and `pytest -p no:segue -m "not fleet"`.
collect_ignore_glob = [] if "pytest_segue" in sys.modules else ["test_fleet*.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "segue_fleet" in getattr(item, "fixturenames", ()):
            item.add_marker("fleet")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[failed] = report.failed
    return report


@pytest.fixture(scope="session", autouse=True)
def older_objects_are_not_collected() -> None:
    """The collections of `nothing_is_left` need not look at modules and pytest's own objects: most of their time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Handles and callbacks are all given back. The traceback of a test that failed holds some, for a while."""
    gc.collect()
    handles, contexts = segue.live_handles(), _native.live_contexts()
    yield
    request.node.funcargs.clear()
    gc.collect()
    if not request.node.stash[failed]:
        assert segue.live_handles() <= handles
        assert _native.live_contexts() <= contexts


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A runtime folder for this test; its path is short, as sockets want it."""
    made = tempfile.mkdtemp(prefix="segue-")
    monkeypatch.setenv("SEGUE_RUNTIME_DIR", made)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def opened(folder: str) -> Iterator[Opener]:
    """Opens apps that the end of the test closes."""
    with ExitStack() as stack:

        def open_app(
            identifier: str = "com.example.notes", kind: type[segue.App] = segue.App, **options: Any
        ) -> segue.App:
            options.setdefault("types", [TYPE])
            return stack.enter_context(kind(identifier, runtime_folder=folder, **options))

        yield open_app


@pytest.fixture
def log() -> Iterator[Log]:
    """The level and text of each record of the logger `segue`. A record itself would keep alive what raised."""
    lines: Log = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.levelno, self.format(record)))

    handler = Lines()
    logger = logging.getLogger("segue")
    logger.addHandler(handler)
    yield lines
    logger.removeHandler(handler)


def run_until(apps: list[segue.App], condition: Callable[[], Any]) -> None:
    """Dispatches to apps of this process until something is so. Each waits in its turn, on the descriptors of all."""
    import select
    import time

    poll = select.poll()
    for app in apps:
        poll.register(app.fileno(), select.POLLIN)
    end = time.monotonic() + PATIENCE
    while not condition():
        left = end - time.monotonic()
        assert left > 0, f"{condition} did not come true\n" + "\n".join(app.describe() for app in apps)
        poll.poll(left * 1000)
        for app in apps:
            app.dispatch(0)


def becomes(condition: Callable[[], bool]) -> bool:
    """Whether something comes true in time that no event tells: the library closes the descriptors that others have
    passed on threads for which no caller waits."""
    import time

    end = time.monotonic() + PATIENCE
    while not (result := condition()) and time.monotonic() < end:
        os.sched_yield()
    return result


def environment(folder: str) -> dict[str, str]:
    """For child processes: this package and the runtime folder of the test."""
    package = str(Path(segue.__file__).resolve().parents[1])
    path = os.pathsep.join(part for part in (package, os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, "SEGUE_RUNTIME_DIR": folder, "SEGUE_LIBRARY": segue.library_path, "PYTHONPATH": path}


def stop(program: subprocess.Popen[str]) -> None:
    """Stops a child, and waits until all of its threads stand still: the one that gets the signal may have to wait."""
    program.send_signal(signal.SIGSTOP)
    state = os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert state is not None and state.si_code == os.CLD_STOPPED


def continued_by(viewer: segue.App, *others: segue.App) -> segue.Activity:
    """The first offer that an app of this process sees, continued; `others` take part in it."""
    apps = [viewer, *others]
    run_until(apps, lambda: viewer.offers)
    continuation = viewer.continue_(viewer.offers[0])
    run_until(apps, lambda: continuation.done)
    return continuation.wait(0)


def both_ends(editor: segue.App, viewer: segue.App) -> tuple[segue.Stream, segue.Stream]:
    """A stream of an activity that an app of this process has continued: the viewer's end, and the editor's."""
    activity = segue.Activity(editor, TYPE)
    activity.supports_continuation_streams = True
    came: list[segue.Stream] = []
    activity.on_did_receive_stream(came.append)
    activity.become_current()
    asked = continued_by(viewer, editor).stream()
    run_until([editor, viewer], lambda: asked.done and came)
    return asked.wait(0), came.pop()


# ---- for links ----


@pytest.fixture
def folders() -> Iterator[tuple[str, str]]:
    """The runtime folders of two devices."""
    made = tempfile.mkdtemp(prefix="segue-"), tempfile.mkdtemp(prefix="segue-")
    yield made
    for folder in made:
        shutil.rmtree(folder)


@pytest.fixture
def pair(folders: tuple[str, str]) -> Iterator[Pair]:
    """An app on each of two devices that are not linked."""
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(segue.App("com.example.notes", runtime_folder=folder, types=[TYPE]))
            for folder in folders
        )
        run_until([first, second], lambda: first.ready().done and second.ready().done)
        yield first, second


# ---- for attachments ----

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(folder: str) -> Iterator[Start]:
    """Starts a program; given something to say, waits until it has said so."""
    with ExitStack() as stack:

        def run(program: str, *arguments: object, says: str = "") -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
                env=environment(folder),
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            if says:
                assert process.stdout is not None
                assert process.stdout.readline() == says + "\n"
            return process

        yield run


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """64 MiB, which surely are under way for a while; no two pieces are the same."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        for number in range(64):
            file.write(hashlib.sha256(b"%d" % number).digest() * (1 << 15))
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The path that something is fetched to, in a folder of its own, in which nothing else may be left."""
    (tmp_path / "target").mkdir()
    return tmp_path / "target" / "file"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody is waited for for long."""
    before = segue.limits.transfer_resume_ms
    segue.limits.transfer_resume_ms = 300
    yield
    segue.limits.transfer_resume_ms = before
