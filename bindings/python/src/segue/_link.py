# SPDX-License-Identifier: Apache-2.0
"""Links to other devices."""

from __future__ import annotations

import socket
import weakref

from . import _arguments, _native, _table
from ._host import Host
from ._native import library
from ._pending import Pending, expected
from .errors import InvalidArgumentError

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

    def __init__(self, app: Host):
        super().__init__(app)
        self.ended = Pending(app)

    def _failed(self, error: BaseException) -> None:
        self._app._failed(error)


def link(app: Host, connection: socket.socket, any_user: bool) -> Link:
    descriptor = _arguments.instance(connection, socket.socket, "connection").fileno()
    any_user = _arguments.truth(any_user, "any_user")
    if descriptor < 0:
        raise InvalidArgumentError("the connection is closed")
    made = Link(app)
    context = _native.new_context(weakref.ref(made))
    flags = _ANY_USER if any_user else 0
    with expected(made, made.ended):
        library.segue_app_link(app._handle, descriptor, flags, _linked, context, _native.destroy)
    connection.detach()  # the library's from now on
    return made


@_native.trampoline(_table.LINK)
def _linked(link: Link, _: int, name: int | None, length: int, error: int | None) -> None:
    app = link._app
    if error is None:
        link._end(_native.read_text(name, length))
        return
    app._answered(link)  # not before: the app alone may hold it
    app._answered(link.ended)
    link._end(None, _native.error_from(error))
    link.ended._end(_native.error_from(error))
