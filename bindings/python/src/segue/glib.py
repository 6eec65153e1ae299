# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs an app's callbacks in a GLib main loop, and follows the focus of GTK 4. Needs PyGObject (Debian: python3-gi)."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

from ._app import App
from ._glib_loop import GLibLoop
from ._limits import limits
from ._responder import ResponderMixin
from .errors import InvalidStateError


def attach(app: App, context: Any = None) -> Callable[[], None]:
    """Lets a GLib main loop dispatch an open app from now on. Errors of callbacks go to the logger `segue`. Handlers
    may be `async def`: a loop of asyncio that turns inside the main loop runs them, so they can await results of this
    package, and `asyncio.sleep`.

    context: a GLib.MainContext; None: the default one
    Returns a function that detaches; closing the app detaches too.
    """
    from gi.repository import GLib

    if app._loop is not None and app._loop.is_closed():
        app._leave_loop()
    if app._loop is not None or app._detach is not None:
        raise InvalidStateError("the app is attached to a loop already")

    def readable(*_: Any) -> bool:
        app._dispatch_reporting()
        return True  # GLib.SOURCE_CONTINUE

    source = GLib.unix_fd_source_new(app.fileno(), GLib.IOCondition.IN)
    source.set_callback(readable)
    source.attach(context)

    def detach() -> None:
        source.destroy()
        if app._detach is detach:
            app._detach, app._make_loop = None, None
            loop, app._loop = app._loop, None
            if loop is not None:
                _end(loop, app._tasks, context)

    app._detach = detach
    app._make_loop = lambda: GLibLoop(context)
    return detach


def _end(loop: asyncio.AbstractEventLoop, tasks: set[asyncio.Future[Any]], context: Any) -> None:
    """Cancels the handlers that a loop still runs, and closes it."""
    from gi.repository import GLib

    def close(*_: Any) -> bool:
        if loop.is_running():
            return True  # GLib.SOURCE_CONTINUE: a handler iterates the main loop
        loop.run_until_complete(asyncio.sleep(0))  # those begin that closing has called
        left = list(tasks)
        for each in left:
            each.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=limits.save_ms / 1000))
        loop.close()
        return False  # GLib.SOURCE_REMOVE

    if loop.is_running():  # the handler that detaches ends first
        later = GLib.idle_source_new()
        later.set_callback(close)
        later.attach(context)
    else:
        close()


def follow_focus(app: App, window: Any) -> None:
    """Keeps `app.main_responder` where the user works in a window of GTK 4: it becomes the widget with the focus, or
    the nearest ancestor of that which is a responder, each time that the window is the active one. When the window
    loses the focus, nothing changes: the user may be turning to the receiver (R4.3)."""

    def turned(*_: Any) -> None:
        widget = window.get_focus() or window
        while widget is not None and not isinstance(widget, ResponderMixin):
            widget = widget.get_parent()
        if window.is_active() and widget is not None:
            app.main_responder = widget

    window.connect("notify::is-active", turned)
    window.connect("notify::focus-widget", turned)
    turned()
