# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers of agents of other versions, and calls of the agent inside the log callback."""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from typing import Any
from uuid import uuid4

import pytest
from conftest import Opener

import segue
from segue import _log, _native
from segue._agent import failure_of, launch_of, push_of


def test_an_older_agent_does_not_say_whether_an_entry_is_shared() -> None:
    """R3.8: the launch has happened, so its result is told."""
    chosen: dict[str, Any] = {
        "continuation_id": uuid4(),
        "bundle_identifier": "com.example.notes",
        "app_name": "Notes",
    }
    report = {**chosen, "outcome": int(segue.Outcome.RESTORED), "status": 0, "message": ""}
    assert launch_of(report).shared is False
    assert launch_of({**report, "shared": True}).shared is True
    assert launch_of(report).stale is False and launch_of(report).stale_reason is None
    older = launch_of({**report, "stale": True, "stale_reason": "disk full"})
    assert older.stale is True and older.stale_reason == "disk full"
    assert push_of(chosen).shared is False
    assert push_of({**chosen, "shared": True}).shared is True


def log_a_line(handler: logging.Handler) -> None:
    """As the library does, to a handler of its logger."""
    line, logger = ctypes.create_string_buffer(b"a line"), logging.getLogger("segue")
    logger.addHandler(handler)
    try:
        _log._log(0, _log._ERROR, ctypes.addressof(line), 6)
    finally:
        logger.removeHandler(handler)


def test_a_call_inside_the_log_callback_stays_on_its_thread() -> None:
    """Its thread defers what is released there; another one would not."""
    made_on: list[int] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            made_on.append(_native.interruptible(threading.get_ident))

    log_a_line(Handler())
    assert made_on == [threading.get_ident()]
    assert _native.interruptible(threading.get_ident) != threading.get_ident()


def test_what_is_dropped_inside_the_log_callback_is_released_later(opened: Opener) -> None:
    """No function of the library may be called there. The activity has a delegate, which is left to it."""
    app = opened()
    app.dispatch(0)
    handles, contexts = _native.live_handles(), _native.live_contexts()
    held = [segue.Activity(app, "com.example.notes.editing")]
    held[0].on_will_save(lambda: None)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            held.clear()

    log_a_line(Handler())
    assert (_native.live_handles(), _native.live_contexts()) == (handles + 2, contexts + 1)
    app.dispatch(0)
    assert (_native.live_handles(), _native.live_contexts()) == (handles, contexts)


def test_no_app_is_closed_inside_the_log_callback(opened: Opener) -> None:
    """The thread of the library, which may be in it, would wait for itself, and the process never end."""
    app = opened()
    errors: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with pytest.raises(segue.BusyError, match="inside a handler of the logger 'segue'"):
                app.close()
            errors.append("BUSY")

    log_a_line(Handler())
    assert errors == ["BUSY"] and app.dispatch(0) >= 0
    app.close()


@pytest.mark.parametrize(
    "delivery, wait",
    [
        ("host", lambda app: app.dispatch(20)),
        ("host", lambda app: app.dispatch()),
        ("host", lambda app: app.run()),
        ("host", lambda app: segue.Pending(app).wait(20)),
        ("host", lambda app: segue.Pending(app).wait()),
        ("thread", lambda app: segue.Pending(app).wait(20)),
    ],
)
def test_nothing_is_waited_for_inside_the_log_callback(opened: Opener, delivery: Any, wait: Any) -> None:
    """The thread of the library, which may be in it, would be held up as long."""
    app = opened(delivery=delivery)
    app.ready().wait(20)
    said: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            began = time.monotonic()
            with pytest.raises(segue.BusyError, match="inside a handler of the logger 'segue'"):
                wait(app)
            assert app.ready().wait(20) is None  # it has its result
            with pytest.raises(TimeoutError):
                segue.Pending(app).wait(0)
            if delivery == "host":
                assert app.dispatch(0) >= 0
            said.append("soon" if time.monotonic() - began < 5 else "late")

    log_a_line(Handler())
    assert said == ["soon"]


def test_a_status_of_a_later_agent_is_its_number() -> None:
    failure = {"bundle_identifier": "a", "app_name": "b", "type": "c", "status": 99, "message": "d", "date": None}
    assert failure_of(failure).status == 99
    known = failure_of({**failure, "status": int(segue.Status.NOT_FOUND)}).status
    assert known is segue.Status.NOT_FOUND
