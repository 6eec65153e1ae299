# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activities: what the user is doing in an app."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable
from uuid import UUID

from . import _access, _arguments, _attachment, _native, _request, _stream, _table
from ._access import Access
from ._activity_callbacks import ActivityCallbacks
from ._activity_delegate import make_delegate, takes_of
from ._activity_properties import ActivityProperties
from ._hooks import is_hooked, is_later
from ._native import library, release
from ._pending import Pending, expected
from ._reason import Reason
from ._stream import Stream
from ._unique import shown
from ._values import taken
from .errors import InvalidStateError, Status
from .values import URL

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from ._app import App


ACTIVITY_TYPE_BROWSING_WEB = "NSUserActivityTypeBrowsingWeb"
"""The type of an activity that is a web page, of any site: it has a `webpage_url`. On a device where an app is
associated with the site, that app continues it, otherwise the browser (R6.3, R6.4, R12.2): Apple's name."""

ACTIVITY_TYPE_EDITING_TEXT = "SegueActivityTypeEditingText"
ACTIVITY_TYPE_PLAYING_MEDIA = "SegueActivityTypePlayingMedia"
ACTIVITY_TYPE_READING_DOCUMENT = "SegueActivityTypeReadingDocument"
ACTIVITY_TYPE_USING_TERMINAL = "SegueActivityTypeUsingTerminal"
"""Types that programs of different makers share (R13.2): `docs/public-types.md` has their keys."""


@dataclass(frozen=True)
class Origin:
    """The device and the app that a continued activity came from (R3.12)."""

    continuation_id: UUID
    activity_id: UUID
    device_name: str
    app_name: str
    bundle_identifier: str
    stale: bool
    """An older snapshot was handed over, because the origin could not save, or not in time (R2.4)."""
    redelivered: bool
    """The agent delivers it once more: the app may have restored it already (R3.8)."""
    document: bool
    """The URL of its document came as that of a container that this app has (R3.5)."""
    stale_reason: str | None = None
    """Why it is stale, in one line; None if it is not, or that is unknown."""
    activation_token: str | None = None
    """By the click of the user on this device the window may come to the front: GTK takes it as a startup id, Qt as the
    environment variable XDG_ACTIVATION_TOKEN. None if there is none, or the program was started with it."""


@dataclass(frozen=True)
class Problem:
    """A problem of an activity (R1.14)."""

    path: str
    """As in "user_info/tags"."""
    status: Status
    message: str


class Activity(ActivityProperties, ActivityCallbacks):
    """Describes what the user is doing: type, title, state, web page.

    While it is current, its app keeps it; otherwise it is invalidated when you drop the last reference (R1.15).

    Callbacks are methods of a subclass, or functions given to a decorator (`@activity.on_will_save`):
        on_will_save()                 bring the activity up to date: a save is due (R2.2)
        on_was_continued(receipt)      another app continued it and restored everything (R3.6)
        on_continuation_ended(receipt) an attempt ended, whatever its outcome
        on_will_resume_back(changed)   its state where it was continued may replace this one (R3.10): True or False;
                                       None: unless it has changed
        on_did_resume_back(stale)      it was replaced by the state that it has where it was continued (R3.10)
        on_did_receive_stream(stream)  a receiver asks for a stream (R7.1)
        on_request(data)               a receiver sends a request (R7.5): returns the bytes of the answer; an exception
                                       reaches the receiver as DeclinedError
    Each may be `async def` under asyncio, or return a future: the library then waits for it. If the activity has no
    callback of a name, the app's runs, with the activity as the first argument (`@app.on_will_save`).

    `activity.titel = "…"` raises AttributeError: only subclasses may have attributes of their own.
    """

    _app: App | None = None
    _delegate: int | None = None
    _context = 0
    """The context of the delegate."""
    _takes: tuple[bool, ...] = ()
    """For each optional callback, whether the delegate has it (`takes_of`)."""
    _is_left = False
    """The last reference was dropped. The library has its delegate until each attempt to continue it has ended."""

    def __init__(
        self,
        app: App | None,
        type: str | None = None,
        *,
        title: str | None = None,
        user_info: Mapping[Any, Any] | None = None,
        webpage_url: str | URL | None = None,
    ):
        """
        app: may be None: then it can be read, written and encoded, but never become current
        type: reverse DNS by convention; None: the first type of the app, else of its manifest
        """
        name = None if type is None else _arguments.text(type, "type")
        owner = _owner(app)
        handle = _native.created(library.segue_activity_create, owner, name, 0 if name is None else len(name))
        self._handlers = {}
        self._app = app
        super().__init__(handle)
        if is_hooked(self.__class__):
            self._hooked()
        if title is not None:
            self.title = title
        if user_info is not None:
            self.user_info = user_info
        if webpage_url is not None:
            self.webpage_url = webpage_url

    @classmethod
    def decode(cls, app: App | None, document: ReadableBuffer) -> Activity:
        """Decodes an activity from the bytes of `encode`: every property, a new identifier, clean."""
        data = _arguments.data(document, "document")
        owner = _owner(app)
        return activity_of(app, _native.created(library.segue_activity_decode, owner, data, len(data)), owned=True)

    def encode(self) -> bytes:
        """Encodes the activity document: self-describing deterministic CBOR. Runs no callback."""
        return _native.take_bytes(library.segue_activity_encode, self._handle) or b""

    def describe(self) -> str:
        """Describes the activity document in CBOR diagnostic notation, for people."""
        return _native.take_text(library.segue_activity_describe, self._handle) or ""

    def validate(self) -> list[Problem]:
        """Lists all problems of the activity at once; empty if there are none."""
        found = taken(_native.take_handle(library.segue_activity_validate, self._handle))
        return [Problem(each["path"], Status(each["status"]), each["message"]) for each in found]

    # ---- its life ----

    def become_current(self) -> None:
        """Offers the activity from now on, in place of the app's former current activity (R1.11)."""
        self._check_names()
        library.segue_activity_become_current(self._handle)
        if self._app is not None:
            self._app._current = self

    def resign_current(self) -> None:
        """Saves the activity and stops offering it; it may become current again."""
        library.segue_activity_resign_current(self._handle)
        self._let_go()

    def invalidate(self) -> None:
        """Withdraws every offer of the activity, for ever."""
        library.segue_activity_invalidate(self._handle)
        self._let_go()

    def _let_go(self) -> None:
        if self._app is not None and self._app._current is self:
            self._app._current = None

    @property
    def is_current(self) -> bool:
        """Whether this is its app's current activity."""
        return _native.take_bool(library.segue_activity_get_current, self._handle)

    @property
    def is_valid(self) -> bool:
        """Whether the activity has not been invalidated."""
        return _native.take_bool(library.segue_activity_get_valid, self._handle)

    def explain(self) -> Pending[list[Reason]]:
        """Answers "why is it not offered there?" (R6.5), most fundamental first, and what concerns its page (R12.2);
        empty: every app of this device gets the offer, and every device of the account."""
        if self._app is None:
            raise InvalidStateError("the activity has no app")
        answer: Pending[list[Reason]] = Pending(self._app)
        context = _native.new_context(weakref.ref(answer))
        with expected(answer):
            library.segue_activity_explain(self._handle, _explained, context, _native.destroy)
        return answer

    def stream(self, timeout: float | None = None) -> Pending[Stream]:
        """Asks the origin of this continued activity for a stream (R7.1). Each call asks for another one."""
        if self._app is None:
            raise InvalidStateError("the activity has no app")
        return _stream.ask(self._handle, self._app, timeout)

    def streams(self, timeout: float | None = None) -> _stream.Streams:
        """Asks for a stream and opens it, as a reader and a writer. Await it, or use it in a block, whose end states
        that all is written unless it raises: `async with activity.streams() as (reader, writer)`."""
        return _stream.Streams(lambda: self.stream(timeout))

    def request(self, data: ReadableBuffer = b"", timeout: float | None = None) -> Pending[bytes]:
        """Sends a request to the origin of this activity (R7.5). The result is the answer of its `on_request`,
        within `timeout` seconds (20 by default). Up to 128 can be in progress. Cancelling the await cancels it.

        Raises: DeclinedError if the other side refused or raised, with its reason.
        """
        if self._app is None:
            raise InvalidStateError("the activity has no app")
        return _request.ask(self._handle, self._app, data, timeout)

    def resume_back(self, timeout: float | None = None) -> Pending[bool]:
        """Takes the state of this activity back from the app that last continued it, as it is there now (R3.10),
        within `timeout` seconds (20 by default). `on_will_resume_back` is asked first; without it, changes that were
        made here since then stay. Everything but the type, the attachments and the URL of its document is replaced.
        Then `on_did_resume_back` runs. It has to update responders, which are not restored. Cancelling the await
        cancels it.

        Returns: whether an older state came, because the other app could not save (R2.4).
        Raises: DeclinedError if the state here stays, NotFoundError if no app has continued it, HandoffFailedError if
            that app no longer keeps it, ConnectionUnavailableError if that app is gone.
        """
        if self._app is None:
            raise InvalidStateError("the activity has no app")
        return _request.resume_back(self._handle, self._app, timeout)

    # ---- attachments ----

    def attach(self, name: str, content: _attachment.Content) -> None:
        """Attaches a file or bytes of any size (R7.6), in place of an attachment of the same name.

        name: valid as a file name
        content: a path (str or Path), an open file, a descriptor, a BytesIO, or bytes. A file is read when a
            receiver fetches it; if it is changed before that, it is not sent: attach it again
        """
        _attachment.attach(self._handle, name, content)

    def remove_attachment(self, name: str) -> None:
        """Removes an attachment. Transfers in progress still complete."""
        _attachment.remove(self._handle, name)

    @property
    def attachments(self) -> dict[str, int]:
        """The names of the attachments, and the bytes of each."""
        sizes: dict[str, int] = taken(_native.take_handle(library.segue_activity_get_attachments, self._handle))
        return sizes

    def fetch_attachment(
        self, name: str, to: _attachment.Target, *, progress: _attachment.Progress | None = None
    ) -> Pending[None]:
        """Fetches an attachment from the origin of this continued activity (R7.6). Cancelling the await cancels it.

        to: a path, where the file appears once it is complete, unless something else than a file is there, such as a
            symbolic link (InvalidArgumentError); or an open file or descriptor; or a BytesIO, which gets all bytes at
            once, at its current position
        progress: called with the bytes received and in total, at most ten times per second
        """
        if self._app is None:
            raise InvalidStateError("the activity has no app")
        return _attachment.fetch(self._handle, self._app, name, to, progress)

    # ---- files in containers ----

    def access(self, url: URL | str, *, write: bool = False) -> Access:
        """Opens the file of a `file:` URL inside a container of the app (R5.4): `with activity.access(url) as file:`
        gives a binary file. For a folder use the `Access` that this returns, which has a descriptor.

        Nothing outside of the container is ever opened, whatever symbolic links there are. Raises `NotThereYetError`
        (a FileNotFoundError) if synchronisation has not brought the file yet, `NotAllowedError` (a PermissionError) if
        it is outside, neither a file nor a folder, or forbidden.

        write: whether the file can be written, too; it is neither created nor truncated
        """
        return _access.begin(self._handle, url, write)

    # ---- its properties ----

    @property
    def app(self) -> App | None:
        """The app that the activity belongs to; None: it can never be offered."""
        return self._app

    @property
    def continued_from(self) -> Origin | None:
        """The device and the app that a continued activity came from; None for other activities (R3.12)."""
        origin = taken(_native.take_handle(library.segue_activity_get_continued_from, self._handle))
        return None if origin is None else Origin(**{name: origin.get(name) for name in Origin.__dataclass_fields__})

    def __repr__(self) -> str:
        return shown(self, self._state)

    def _state(self) -> str:
        state = "current" if self.is_current else "valid" if self.is_valid else "invalidated"
        return f"{self.type!r} {self.title!r} {state} {self.id}"

    # ---- its callbacks ----

    def _handler(self, name: str) -> Callable[..., Any] | None:
        handler = super()._handler(name)
        if handler is None and self._app is not None:
            shared = self._app._handler(name)
            handler = None if shared is None else functools.partial(shared, self)
        return handler

    def _hooked(self) -> None:
        """Creates a delegate once there is a handler; another one once there are more."""
        takes = takes_of(self)
        former = self._delegate
        if former is not None and takes == self._takes:
            return
        self._takes = takes
        self._delegate, self._context = make_delegate(self, takes)
        library.segue_activity_set_delegate(self._handle, self._delegate)
        if former is not None:
            library.segue_release(former)
        if self._app is not None:
            self._app._delegated.add(self)

    def _failed(self, error: BaseException) -> None:
        if self._app is not None:
            self._app._failed(error)

    def _notify(self, name: str, *arguments: Any) -> None:
        handler = self._handler(name)
        if handler is None or self._app is None:
            return
        result = handler(*arguments)
        if not self._is_left or not is_later(result):
            return self._app._finish_later(result)
        # The handle that it borrows lasts as long as the callback.
        handle = self._handle
        library.segue_retain(handle)
        try:
            self._app._run_later(result, lambda value, error: release(handle))
        except BaseException:
            release(handle)
            raise

    def _activity(self, handle: int) -> Activity:
        """The activity that a callback of its delegate is about."""
        if self._is_left:
            self._handle = handle
        return self

    def __del__(self, release: Callable[..., None] = release) -> None:
        delegate, self._delegate = self._delegate, None
        if delegate is None or _native.is_over():
            return super().__del__(release)
        # Its handlers are called for each attempt that is under way (R3.6): until then the context holds this object.
        # Its finalizer does not run again.
        self._is_left = True
        kept = _native.keep_context(self._context, self)
        if self._app is not None:
            self._app._outliving.add(kept)
        super().__del__(release)
        release(delegate, leaves=True)


def _owner(app: App | None) -> int | None:
    """The handle of an activity's app."""
    if app is None:
        return None
    if getattr(app, "_noun", "") != "app":
        raise _arguments.wrong("app", app, "App")
    return app._handle


def activity_of(app: App | None, handle: int, owned: bool) -> Activity:
    """The activity of a handle."""
    return _native.wrap(Activity, handle, owned, _app=app, _handlers={})


@_native.trampoline(_table.EXPLAIN)
def _explained(answer: Pending[list[Reason]], _: int, reasons: int) -> None:
    _native.library.segue_retain(reasons)
    found = [Reason(each["reason"], each["message"], each.get("app"), each.get("device")) for each in taken(reasons)]
    answer._app._answered(answer)
    answer._end(found)
