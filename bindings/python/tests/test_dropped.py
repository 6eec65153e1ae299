# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An app that is dropped while something of it is under way is collected, and thereby closed: it offers no more."""

from __future__ import annotations

import concurrent.futures
import gc
import io
import socket
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from conftest import TYPE, Opener, continued_by, run_until

import segue

Start = Callable[[segue.App, segue.Activity], Any]


def explain(app: segue.App, activity: segue.Activity) -> object:
    return activity.explain()


def explain_in_vain(app: segue.App, activity: segue.Activity) -> object:
    with pytest.raises(TimeoutError):
        activity.explain().wait(0)
    return None


def ready(app: segue.App, activity: segue.Activity) -> object:
    return app.ready()


def link(app: segue.App, activity: segue.Activity) -> object:
    near, far = socket.socketpair()
    with far:
        return app.link(near).ended


def become_current(app: segue.App, activity: segue.Activity) -> None:
    activity.become_current()


OF_ORIGINS: list[Start] = [explain, explain_in_vain, ready, link, become_current]


def ask(app: segue.App, activity: segue.Activity) -> object:
    return activity.request(b"what?")


def stream(app: segue.App, activity: segue.Activity) -> object:
    return activity.stream()


def fetch(app: segue.App, activity: segue.Activity) -> object:
    return activity.fetch_attachment("name", io.BytesIO())


def continue_(app: segue.App, activity: segue.Activity) -> object:
    return app.continue_(app.offers[0])


OF_RECEIVERS: list[Start] = [ask, stream, fetch, continue_]


def drop(app: segue.App, start: Start, activity: segue.Activity) -> None:
    """Starts something of an app, and leaves the app to the caller's `del`."""
    start(app, activity)


@pytest.mark.parametrize("start", OF_ORIGINS)
def test_an_origin_that_is_dropped_offers_nothing_more(opened: Opener, folder: str, start: Start) -> None:
    viewer = opened()
    viewer.ready().wait(20)
    app = segue.App("com.example.notes", types=[TYPE], runtime_folder=folder)
    app.open()
    activity = segue.Activity(app, TYPE, title="ghost")
    activity.become_current()
    run_until([viewer, app], lambda: viewer.offers)
    drop(app, start, activity)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del app, activity
        gc.collect()
    run_until([viewer], lambda: not viewer.offers)


@pytest.mark.parametrize("start", OF_RECEIVERS)
def test_a_receiver_that_is_dropped_is_closed(opened: Opener, folder: str, start: Start) -> None:
    origin = opened()
    offered = segue.Activity(origin, TYPE, title="kept")
    offered.supports_continuation_streams = True
    offered.attach("name", bytes(100))
    offered.on_request(lambda data: data)
    offered.become_current()
    handles = segue.live_handles()
    app = segue.App("com.example.notes", types=[TYPE], runtime_folder=folder)
    app.open()
    activity = continued_by(app, origin)
    drop(app, start, activity)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del app, activity
        gc.collect()
    assert segue.live_handles() <= handles


def continue_first(app: segue.App, origin: segue.App, until: Callable[[], object]) -> None:
    run_until([app, origin], lambda: app.offers)
    app.continue_(app.offers[0])
    run_until([app, origin], until)


def test_what_is_to_be_restored_does_not_keep_the_app(opened: Opener, folder: str) -> None:
    """The window that restores itself knows its app, and its answer has not come yet."""
    origin = opened()
    offered = segue.Activity(origin, TYPE, title="kept")
    offered.become_current()
    handles = segue.live_handles()
    app = segue.App("com.example.notes", types=[TYPE], runtime_folder=folder)
    restored: list[str] = []

    class Window:
        def __init__(self, app: segue.App | None):
            self.app = app

        def restore_state(self, activity: segue.Activity) -> None:
            restored.append(activity.title or "")

    held: list[segue.Continuation] = []

    @app.on_continue
    def later(activity: segue.Activity, continuation: segue.Continuation) -> object:
        continuation.restore([Window(weak())])
        held.append(continuation)
        return concurrent.futures.Future()

    weak = weakref.ref(app)
    app.open()
    continue_first(app, origin, lambda: held)
    held.clear()
    del later
    with pytest.warns(ResourceWarning, match="was not closed"):
        del app
        gc.collect()
    assert segue.live_handles() <= handles and not restored


def test_a_restorable_lives_until_it_has_restored(opened: Opener) -> None:
    """Nothing but the library and its app holds it."""
    origin, app = opened(), opened()
    segue.Activity(origin, TYPE, title="kept").become_current()
    restored: list[str] = []

    @app.on_continue
    def restore(activity: segue.Activity, continuation: segue.Continuation) -> None:
        continuation.restore([lambda given: restored.append(given.title or "")])
        gc.collect()

    for count in range(1, 4):
        continue_first(app, origin, lambda count=count: len(restored) == count)  # type: ignore[misc]
    assert restored == ["kept"] * 3
    assert len(app._restoring) <= 2
