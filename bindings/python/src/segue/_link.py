# SPDX-License-Identifier: Apache-2.0
"""Links to other devices."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from . import _arguments, _native, _table
from ._native import library
from ._pending import Pending
from .errors import InvalidArgumentError, error_of

if TYPE_CHECKING:
    from ._app import App

_ANY_USER = 1


class Link(Pending[str]):
    """A link of this device with another, made by `app.link(socket)`: `await link` returns the other device's name as
    soon as the link is established, or raises the error that prevented it.

        link = app.link(connection)
        print("linked with", await link)
        print("ended:", await link.ended)
    """

    ended: Pending[Exception]
    """Done when the link has ended; the result is the error that says why."""

    def __init__(self, app: App):
        super().__init__(app)
        self.ended = Pending(app)

    def _failed(self, error: BaseException) -> None:
        self._app._failed(error)


def link(app: App, connection: socket.socket, any_user: bool) -> Link:
    descriptor = _arguments.instance(connection, socket.socket, "connection").fileno()
    any_user = _arguments.truth(any_user, "any_user")
    if descriptor < 0:
        raise InvalidArgumentError("the connection is closed")
    made = Link(app)
    context = _native.new_context(lambda: made)
    flags = _ANY_USER if any_user else 0
    app._expect(made)
    app._expect(made.ended)
    try:
        library.segue_app_link(app._handle, descriptor, flags, _linked, context, _native.destroy)
    except BaseException:
        app._answered(made)
        app._answered(made.ended)
        raise
    connection.detach()  # the library's from now on
    return made


@_native.trampoline(_table.LINK)
def _linked(link: Link, _: int, name: int | None, length: int, error: int | None) -> None:
    app = link._app
    app._answered(link)
    if error is None:
        link._end(_native.read_text(name, length))
        return
    status = _native.take_int32(library.segue_error_get_status, error)
    message = _native.take_text(library.segue_error_get_message, error) or ""
    app._answered(link.ended)
    link._end(None, error_of(status, message))
    link.ended._end(error_of(status, message))
