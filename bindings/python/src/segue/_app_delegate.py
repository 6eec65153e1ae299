# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's callbacks for an app."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Protocol

from . import _native, _table
from ._connection import Connection
from ._continuation import Continuation, continuation_of
from ._host import Host
from ._native import library
from ._offer import Offer, OfferEvent, OfferEventKind
from .errors import Error

_REPLY_NO = 0


class Owner(Host, Protocol):
    """An app, as far as its callbacks concern it."""

    def _handler(self, name: str) -> Callable[..., Any] | None: ...

    def _offer_changed(self, event: OfferEvent) -> None: ...

    def _connection_changed(self, connection: Connection) -> None: ...

    def _continued(self, activity: Any, continuation: Continuation) -> int:
        """Returns the reply to the library."""

    def _open_document(self, url: str, activity: Any, continuation: Continuation) -> int:
        """Returns the reply to the library."""

    def _opening_failed(self, type: str, error: Error, continuation: Continuation) -> None: ...

    def _did_fail(self, type: str, error: Error, continuation: Continuation) -> None: ...


def answers_of(app: Owner) -> tuple[bool, ...]:
    """Whether there are handlers for those callbacks whose presence makes a difference (R2.9, R3.5)."""
    return tuple(app._handler(name) is not None for name in ("on_did_update", "on_open_document", "on_continue"))


def make_app_delegate(app: Owner) -> int:
    """Creates a delegate that calls the handlers of an app."""
    context = _native.new_context(weakref.ref(app))
    delegate = _native.created(library.segue_app_delegate_create, context, _native.destroy)
    library.segue_app_delegate_on_offer(delegate, _on_offer)
    library.segue_app_delegate_on_connection(delegate, _on_connection)
    library.segue_app_delegate_on_will_continue(delegate, _on_will_continue)
    library.segue_app_delegate_on_did_fail(delegate, _on_did_fail)
    library.segue_app_delegate_on_opening_failed(delegate, _on_opening_failed)
    hears_updates, opens_documents, continues = answers_of(app)
    if continues or not opens_documents:  # without a handler the taker of the result answers
        library.segue_app_delegate_on_continue(delegate, _on_continue)
    if hears_updates:
        library.segue_app_delegate_on_did_update(delegate, _on_did_update)
    if opens_documents:
        library.segue_app_delegate_on_open_document(delegate, _on_open_document)
    return delegate


@_native.trampoline(_table.OFFER)
def _on_offer(app: Owner, _: int, kind: int, offer: int) -> None:
    app._offer_changed(OfferEvent(OfferEventKind(kind), _native.wrap(Offer, offer, owned=False)))


@_native.trampoline(_table.CONNECTION)
def _on_connection(app: Owner, _: int, connection: int) -> None:
    app._connection_changed(Connection(connection))


@_native.trampoline(_table.WILL_CONTINUE)
def _on_will_continue(app: Owner, _: int, type: int, length: int, continuation: int) -> None:
    handler = app._handler("on_will_continue")
    if handler is not None:
        attempt = continuation_of(app, continuation, owned=False)
        app._finish_later(handler(_native.read_text(type, length), attempt))


@_native.trampoline(_table.CONTINUE, default=_REPLY_NO)
def _on_continue(app: Owner, _: int, activity: int, continuation: int) -> int:
    return app._continued(app._activity(activity), continuation_of(app, continuation, owned=False))


@_native.trampoline(_table.DID_FAIL)
def _on_did_fail(app: Owner, _: int, type: int, length: int, error: int, continuation: int) -> None:
    attempt = continuation_of(app, continuation, owned=False)
    app._did_fail(_native.read_text(type, length), _native.error_from(error), attempt)


@_native.trampoline(_table.OPEN_DOCUMENT, default=_REPLY_NO)
def _on_open_document(app: Owner, _: int, url: int, length: int, activity: int, continuation: int) -> int:
    attempt = continuation_of(app, continuation, owned=False)
    return app._open_document(_native.read_text(url, length), app._activity(activity), attempt)


@_native.trampoline(_table.DID_FAIL)
def _on_opening_failed(app: Owner, _: int, type: int, length: int, error: int, continuation: int) -> None:
    attempt = continuation_of(app, continuation, owned=False)
    app._opening_failed(_native.read_text(type, length), _native.error_from(error), attempt)


@_native.trampoline(_table.DID_UPDATE)
def _on_did_update(app: Owner, _: int, activity: int) -> None:
    handler = app._handler("on_did_update")
    if handler is not None:
        app._finish_later(handler(app._activity(activity)))
