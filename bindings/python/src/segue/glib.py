# SPDX-License-Identifier: Apache-2.0
"""Runs an app's callbacks in a GLib main loop. Needs PyGObject (Debian: python3-gi)."""

from __future__ import annotations

from typing import Any, Callable

from ._app import App
from .errors import InvalidStateError


def attach(app: App, context: Any = None) -> Callable[[], None]:
    """Lets a GLib main loop dispatch an open app from now on. Errors of callbacks go to the logger `segue`.

    context: a GLib.MainContext; None: the default one
    Returns a function that detaches; closing the app detaches too.
    """
    from gi.repository import GLib

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
            app._detach = None

    app._detach = detach
    return detach
