# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links to other devices."""

from __future__ import annotations

import socket
import weakref
from ctypes import byref, c_void_p

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

    _requested: _Requested | None = None

    def __init__(self, app: Host):
        super().__init__(app)
        self._ended_later = _Ending(self)

    @property
    def ended(self) -> Pending[Exception]:
        """Done when the link has ended; the result is the error that says why. Giving up waiting for it ends
        nothing."""
        return self._ended_later

    def cancel(self) -> None:
        """Ends the link, or the attempt to make it: all who wait get a `UserCancelledError`, and so does `ended`.

        After the end this has no effect. The link is also ended when the last task that awaits it is cancelled.
        """
        super().cancel()
        if self._requested is not None:
            library.segue_link_cancel(self._requested._handle)

    def _failed(self, error: BaseException) -> None:
        self._app._failed(error)


class _Requested(_native.Handle):
    """A link that the library has, or tries to make."""


class _Ending(Pending[Exception]):
    """Waits for the end of a link."""

    def __init__(self, link: Link):
        super().__init__(link._app)
        self._link = weakref.ref(link)

    def cancel(self) -> None:
        """Ends the link."""
        link = self._link()
        if link is not None:
            link.cancel()

    def _abandoned(self) -> None:
        """A waiter has stopped waiting; the link stays."""


def link(app: Host, connection: socket.socket, any_user: bool) -> Link:
    descriptor = _arguments.instance(connection, socket.socket, "connection").fileno()
    any_user = _arguments.truth(any_user, "any_user")
    if descriptor < 0:
        raise InvalidArgumentError("the connection is closed")
    made = Link(app)
    context = _native.new_context(weakref.ref(made))
    flags = _ANY_USER if any_user else 0
    requested = c_void_p()
    with expected(made, made.ended):
        library.segue_app_link(app._handle, descriptor, flags, _linked, context, _native.destroy, byref(requested))
    connection.detach()  # the library's from now on
    made._requested = _native.wrap(_Requested, requested.value or 0, owned=True)
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
