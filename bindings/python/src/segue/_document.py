# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documents: files that the user has open, each a responder (R5)."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Literal, Protocol

from . import _arguments, _native, _table
from ._activity import Activity, activity_of
from ._attributes import KnownAttributes
from ._continuation import Continuation, kind_of
from ._hooks import answer_now, is_later
from ._native import library
from ._responder import Attachment, ResponderMixin
from ._unique import Unique
from .errors import Error, InvalidArgumentError, InvalidatedError, RemoteApplicationTimedOutError
from .values import URL

if TYPE_CHECKING:
    from ._app import App

DOCUMENT_URL_KEY = "NSUserActivityDocumentURLKey"
"""The key of `user_info` under which the URL of the activity's document stands (R5.2): Apple's name."""
Role = Literal["editor", "viewer"]
Changed = Callable[["Activity | None", "Activity | None"], Any]
"""Called with the old and the new activity of a document."""
_ROLES = {"editor": 1, "viewer": 2}
_REPLY_NO, _REPLY_YES, _REPLY_LATER = 0, 1, 2


class Document(KnownAttributes, ResponderMixin):
    """A file, or a folder, that the user has open (R5): a responder. Keep it as long as it is open.

        app = segue.App("com.example.notes", document_types=[("text/plain", "editor", "com.example.notes.editing")])
        app.add_container("com.example.notes.files", "/media/sync")
        document = segue.Document(app, "/media/sync/letter.txt", "text/plain")
        window.next_user_activity_responder = document

    If the app has a document type for it, and the file is inside a container, it has an activity by itself, with the
    URL of the file in `user_info` under `DOCUMENT_URL_KEY`; its title is the name of the file, unless you set one.
    Otherwise `user_activity` is None, and the log says why (`SEGUE_LOG=info`). Subclasses may have the methods of
    `ResponderMixin`, and `user_activity_changed`; documents are asked before other responders.

    url: a `file:` URL, or a path, which has to be absolute if it is a str
    content_type: as in the document types of the app, compared byte by byte
    """

    def __init__(self, app: App, url: URL | str | os.PathLike[str], content_type: str, role: Role = "editor"):
        if getattr(app, "_noun", "") != "app":
            raise _arguments.wrong("app", app, "App")
        self._attachment = _Opened(app, self, _file_url(url), content_type, role_of(role))

    def user_activity_changed(self, old: Activity | None, new: Activity | None) -> Any:
        """Override it to be told that the document has another activity: it has left its container, has returned, or
        was open already and is opened for one that was continued. A document that `on_open_document` creates has the
        continued one from the start; it is told if it gets one of its own, because it is not the one returned. Others
        are told by `observe_user_activity`."""

    def observe_user_activity(self, handler: Changed) -> Observation:
        """Calls a function with the old and the new activity whenever the document has another one, from now on (R5.2);
        it may be `async def`. Any number of functions can observe a document.

        Returns: the observation, which `end()`, or the end of the document, ends
        """
        return self._opened.observe(_arguments.function(handler, "handler"))

    def set_url(self, url: URL | str | os.PathLike[str]) -> None:
        """Tells where the file is now, after it was renamed or moved. A document that leaves all containers lets go of
        its activity; one that returns gets a new one, as do responders that shared the old one (R5.2)."""
        data = _file_url(url)
        library.segue_document_set_url(self._opened.document, data, len(data))

    def close(self) -> None:
        """Closes the document: its activity is invalidated, also if other responders have it. A second call has no
        effect."""
        opened = self._opened
        library.segue_document_close(opened.document)
        opened.activity = None

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _opened(self) -> _Opened:
        if not isinstance(self._attachment, _Opened):
            raise InvalidatedError("a document needs Document.__init__")
        return self._attachment

    def _attached_to(self, app: App) -> Attachment:
        return self._opened

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) not in (getattr(ResponderMixin, name, None), getattr(Document, name))


class _Opened(Attachment):
    """A document as an app knows it."""

    def __init__(self, app: App, host: Document, url: bytes, content_type: str, role: int):
        type = _arguments.text(content_type, "content_type")
        opens = (url, len(url), type, len(type), role)
        restore = _restore_state if host._overrides("restore_user_activity_state") else _table.RESTORE_STATE()

        def create(update: Any, context: int) -> int:
            create_document = library.segue_document_create
            self.document = _native.created(
                create_document, app._handle, *opens, update, restore, context, _native.destroy
            )
            return _native.created(library.segue_document_get_responder, self.document)

        super().__init__(app, host, create)
        self._observations: set[Observation] = set()
        if host._overrides("user_activity_changed"):
            self.observe(_overridden(self.host))

    def observe(self, handler: Changed) -> Observation:
        made = Observation(self, handler)
        self._observations.add(made)
        return made

    def __del__(self, release: Any = _native.release) -> None:
        super().__del__(release)
        document = self.__dict__.get("document")
        if document is not None:
            release(document)


class Observation(Unique):
    """A function that is told which activity a document has."""

    def __init__(self, opened: _Opened, handler: Changed):
        self._opened = weakref.ref(opened)
        self._app = opened.app
        self._handler = handler
        context = _native.new_context(weakref.ref(self))
        self._observer: int | None = _native.created(
            library.segue_document_observe, opened.document, _activity_changed, context, _native.destroy
        )

    def end(self) -> None:
        """Ends it: the function is called no more. A second call has no effect."""
        observer, self._observer = self._observer, None
        if observer is not None:
            library.segue_release(observer)
        opened = self._opened()
        if opened is not None:
            opened._observations.discard(self)

    def _changed(self, old: int | None, new: int | None) -> None:
        former, now = (None if each is None else activity_of(self._app, each, owned=False) for each in (old, new))
        opened = self._opened()
        if opened is not None:
            opened.activity = now
        self._app._finish_later(self._handler(former, now))

    def _failed(self, error: BaseException) -> None:
        self._app._failed(error)

    def __del__(self, release: Any = _native.release) -> None:
        observer = self.__dict__.get("_observer")
        if observer is not None:
            release(observer)


def _overridden(host: weakref.ref[Any]) -> Changed:
    """Calls the method of a document, which stays free to go."""

    def changed(old: Activity | None, new: Activity | None) -> Any:
        document = host()
        return None if document is None else document.user_activity_changed(old, new)

    return changed


def role_of(role: str) -> int:
    if _arguments.text(role, "role").decode() not in _ROLES:
        raise InvalidArgumentError(f"role is {role!r}, not 'editor' or 'viewer'")
    return _ROLES[role]


def _file_url(url: URL | str | os.PathLike[str]) -> bytes:
    if isinstance(url, os.PathLike) or (isinstance(url, str) and url.startswith("/")):
        url = Path(url).absolute().as_uri()
    return _arguments.text(str(url) if isinstance(url, URL) else url, "url")


# ---- for apps ----


class Opener(Protocol):
    """An app, as far as its documents concern it."""

    _handle: int
    _stopped: bool

    def _handler(self, name: str) -> Any: ...

    def _answer_later(self, result: Any, answer: Any) -> Callable[[], object]: ...


def add_types(app: Opener, types: Iterable[tuple[str, str, str]]) -> None:
    """Names the activity types of an app's documents."""
    for each in types:
        if not isinstance(each, tuple) or len(each) != 3:
            raise _arguments.wrong("one of document_types", each, "(content type, role, activity type)")
        content, activity = (_arguments.text(text, "one of document_types") for text in (each[0], each[2]))
        role = role_of(each[1])
        library.segue_app_add_document_type(app._handle, content, len(content), role, activity, len(activity))


def open_document(app: Opener, url: str, activity: Activity, continuation: Continuation) -> int:
    """Asks an app for the document; returns the reply to the library."""
    handler = app._handler("on_open_document")
    if handler is None or continuation.done:
        return _REPLY_NO

    def answered(document: Any, error: BaseException | None) -> BaseException | None:
        try:
            _answer(app, continuation, activity, document, error)
        except Exception as wrong:
            return wrong
        return None

    try:
        result = handler(URL(url), activity, continuation)
        if is_later(result):
            continuation._cancel_opening = app._answer_later(result, answered)
            return _REPLY_LATER
    except BaseException as error:
        _answer(app, continuation, activity, None, error)
        raise
    _answer(app, continuation, activity, result, None)
    return _REPLY_YES


def _answer(
    app: Opener,
    continuation: Continuation,
    activity: Activity,
    document: Document | None,
    error: BaseException | None,
) -> None:
    continuation._cancel_opening = None
    if continuation.done:  # too late: the document goes when its last reference does
        return
    if document is None:
        if error is not None:
            continuation._end(None, error)
        reason = b"the document cannot be opened" if error is None else kind_of(error)
        with suppress(Error):  # it has ended otherwise
            library.segue_continuation_complete_opening(continuation._handle, None, reason, len(reason))
        return
    try:
        opened = _arguments.instance(document, Document, "the document of on_open_document")._opened
        library.segue_continuation_complete_opening(continuation._handle, opened.document, None, 0)
    except RemoteApplicationTimedOutError:
        return  # it has ended, and on_did_fail, which comes, says how
    except BaseException as failure:
        if app._stopped and isinstance(failure, InvalidatedError):
            return  # the app closes meanwhile in another thread, which ends the continuation
        _answer(app, continuation, activity, None, failure)
        raise
    opened.activity = activity
    continuation._end(activity)


@_native.trampoline(_table.RESTORE_STATE, default=False)
def _restore_state(attached: _Opened, told: int) -> bool:
    host = attached.host()
    if host is None:
        return False
    restored = host.restore_user_activity_state(attached.app._activity(told))
    return answer_now(restored, "restore_user_activity_state") is not False


@_native.trampoline(_table.ACTIVITY_CHANGED)
def _activity_changed(observation: Observation, _: int, old: int | None, new: int | None) -> None:
    observation._changed(old, new)
