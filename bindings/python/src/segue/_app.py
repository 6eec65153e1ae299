# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apps: one open of the library."""

from __future__ import annotations

import asyncio
import logging
import socket
import warnings
import weakref
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Literal, TypeVar
from uuid import UUID

from . import _arguments, _document, _native, _saved, _table
from ._activity import Activity, activity_of
from ._activity_delegate import make_delegate, takes_of
from ._agent import (
    Failure,
    InboxEntry,
    KnownApp,
    Launch,
    Push,
    RetainedOffer,
    Route,
    entry_of,
    failure_of,
    known_app_of,
    launch_of,
    push_of,
    retained_of,
    route_of,
)
from ._app_callbacks import AppCallbacks
from ._app_delegate import answers_of, make_app_delegate
from ._connection import Connection, state_of
from ._continuation import Continuation, continuation_of
from ._devices import DeviceCalls
from ._dispatch import Dispatcher
from ._hooks import LATER, is_later
from ._limits import limits
from ._link import Link, link
from ._log import follow_logger, logger
from ._loops import needed_loop
from ._native import library
from ._offer import Offer, OfferEvent
from ._offer_events import OfferEvents
from ._pending import Pending, Readiness
from ._responder import ResponderMixin, chain, set_main
from ._saved import SavedActivity
from ._unique import shown
from .errors import CancelledError, Error, InvalidArgumentError, InvalidStateError, UserCancelledError

if TYPE_CHECKING:
    from _typeshed import StrOrBytesPath

    from .testing import FleetDevice

_A = TypeVar("_A", bound="App")
_DELIVERIES = {"host": 0, "thread": 1}
_SAVE_POLICIES = {"when_pulled": 0, "when_needed": 1}
_REPLY_NO, _REPLY_YES, _REPLY_LATER = 0, 1, 2
_MOST_MILLISECONDS = 3_600_000
"""The most that segue_app_continue takes."""


_TOLD = ("on_was_continued", "on_continuation_ended", "on_will_resume_back", "on_did_resume_back")
"""Callbacks for its activities of which the library need not know whether there are some."""


def _none() -> None:
    """Refers to nothing, as a weak reference whose object is gone."""


class App(DeviceCalls, Dispatcher, AppCallbacks):
    """One open of the library: identifier, team, the activity types that the app can continue.

        with segue.App("com.example.notes") as app:          # or: async with
            activity = segue.Activity(app, "com.example.notes.editing", title="Shopping list")
            activity.become_current()
            app.run()                                        # or dispatch(), or await something

    Callbacks are methods of a subclass, or functions given to a decorator (`@app.on_continue`):
        on_offer(kind, offer)                  an offer appeared, changed or is gone (R2.7)
        on_connection(connection)              the connection to the hub changed
        on_will_continue(type, continuation)   a continuation begins (R3.1): show progress
        on_continue(activity, continuation)    the activity has arrived (R3.4); False: not handled; segue.LATER: the
                                               answer is continuation.complete or continuation.fail, later
        on_did_fail(type, error, continuation) the continuation failed; no other callback follows (R3.2)
        on_open_document(url, activity, continuation)   returns the Document of what on_continue did not handle (R3.5)
        on_did_update(activity)                the last word in a save of an activity (R4.2)
    and, for every activity of the app that has no callback of that name itself, continued ones too (R3.12):
        on_will_save(activity)                   bring the activity up to date: a save is due (R2.2)
        on_was_continued(activity, receipt)      another app continued it and restored everything (R3.6)
        on_continuation_ended(activity, receipt) an attempt ended, whatever its outcome
        on_will_resume_back(activity, changed)   its state where it was continued may replace it (R3.10): True or
                                                 False; None: unless it has changed
        on_did_resume_back(activity, stale)      it was replaced by its state where it was continued (R3.10)
        on_did_receive_stream(activity, stream)  a receiver asks for a stream (R7.1)
        on_request(activity, data)               a receiver sends a request (R7.5)
    Callbacks run inside `dispatch`, which raises what they raise. Under asyncio the loop dispatches, and callbacks may
    be `async def`; their errors go to the logger `segue` and to the loop's exception handler.

    Assigning an attribute that the class does not have raises AttributeError, which names the nearest one, as for all
    objects of the package that stand for one of the library. Subclasses may have attributes of their own.
    """

    _delegate: int | None = None
    _answers: tuple[bool, ...] = ()
    """Whether the delegate has callbacks for on_did_update, on_open_document and on_continue."""
    _main_responder: weakref.ref[ResponderMixin] | None = None
    _label: str | None = None
    _activity_delegate: int | None = None
    _activities_take: tuple[bool, ...] = ()
    """The callbacks that the delegate has."""

    def __init__(
        self,
        bundle_identifier: str,
        *,
        name: str | None = None,
        team: str | None = None,
        label: str | None = None,
        types: Iterable[str] = (),
        document_types: Iterable[tuple[str, str, str]] = (),
        chooser: bool = False,
        delivery: Literal["host", "thread"] = "host",
        runtime_folder: StrOrBytesPath | None = None,
        offers_frontmost_only: bool = False,
        save_policy: Literal["when_pulled", "when_needed"] = "when_pulled",
        device: FleetDevice | None = None,
    ):
        """
        name: the name for people; by default the bundle identifier
        team: apps of one team can continue each other's activities (R6.2); by default the app is its own team
        label: tells apps of one bundle identifier apart, such as the name of a window (R13.6)
        types: the activity types that the app can continue
        document_types: (content type, "editor" or "viewer", activity type) of each kind of document; the activity types
            count as types, too (R5.1)
        chooser: whether the app sees the offers of all apps of the user (R2.6)
        delivery: "host": callbacks run inside dispatch; "thread": on a thread of the library
        runtime_folder: the folder of the hub's sockets, in place of the environment's: for tests
        offers_frontmost_only: if this app carries the hub, the device offers its frontmost activity only (R1.12)
        save_policy: "when_pulled": on_will_save runs each time that an activity is continued; "when_needed": only if
            needs_save is set, as Apple does (R2.9)
        device: a device of a virtual fleet, for tests; the app's callbacks then run when the fleet advances
        """
        if _arguments.text(delivery, "delivery").decode() not in _DELIVERIES:
            raise InvalidArgumentError(f"delivery is {delivery!r}, not 'host' or 'thread'")
        if _arguments.text(save_policy, "save_policy").decode() not in _SAVE_POLICIES:
            raise InvalidArgumentError(f"save_policy is {save_policy!r}, not 'when_pulled' or 'when_needed'")
        if getattr(device, "_noun", None) != "fleet_device" and device is not None:
            raise _arguments.wrong("device", device, "FleetDevice")
        types = _arguments.texts(types, "types")
        chooser = _arguments.truth(chooser, "chooser")
        offers_frontmost_only = _arguments.truth(offers_frontmost_only, "offers_frontmost_only")
        identifier = _arguments.text(bundle_identifier, "bundle_identifier")
        follow_logger()
        self._handlers = {}
        self._identifier = bundle_identifier
        self._device = device
        self._current: Activity | None = None
        self._delegated: weakref.WeakSet[Activity] = weakref.WeakSet()
        """Activities with their own delegate."""
        self._outliving: weakref.WeakSet[_native.Kept] = weakref.WeakSet()
        """Dropped activities whose attempts have not ended."""
        self._continuations: set[Continuation] = set()
        self._answered_later: weakref.WeakSet[Continuation] = weakref.WeakSet()
        """Those that the host has answered with LATER, and holds."""
        self._untaken: Callable[[], Continuation | None] = _none
        """The one whose result was here last, for its taker to answer."""
        self._expected: set[Pending[Any]] = set()
        self._restoring: list[Any] = []
        self._readinesses: weakref.WeakSet[Readiness] = weakref.WeakSet()
        self._offer_events = OfferEvents()
        super().__init__(
            _native.created(library.segue_app_create, identifier, len(identifier))
            if device is None
            else _native.created(library.segue_fleet_device_create_app, device._handle, identifier, len(identifier)),
            delivers_by_thread=delivery == "thread" and device is None,
            is_simulated=device is not None,
        )
        self._set_text(library.segue_app_set_name, "name", name)
        self._set_text(library.segue_app_set_team_identifier, "team", team)
        if label is not None:
            self.label = label
        if runtime_folder is not None:
            path = _arguments.path(runtime_folder, "runtime_folder")
            library.segue_app_set_runtime_folder(self._handle, path, len(path))
        for each in types:
            self._set_text(library.segue_app_add_activity_type, "types", each)
        _document.add_types(self, document_types)
        library.segue_app_set_chooser(self._handle, chooser)
        library.segue_app_set_delivery(self._handle, _DELIVERIES[delivery])
        library.segue_app_set_offers_frontmost_only(self._handle, offers_frontmost_only)
        library.segue_app_set_save_policy(self._handle, _SAVE_POLICIES[save_policy])
        self._set_delegate()
        self._hooked()

    # ---- its life ----

    def load_manifest(self, path: StrOrBytesPath) -> None:
        """Takes name, team, types and document types from a manifest, before the app opens: a property list, or a
        `.desktop` file with keys of Segue's. An agent does the same by itself for an app whose manifest is installed,
        from `ready()` on (R6.1).
        """
        name = _arguments.path(path, "path")
        library.segue_app_load_manifest(self._handle, name, len(name))

    def open(self) -> None:
        """Opens the app. Finds the device's hub, or becomes it, in the background; `ready()` waits for that."""
        self._check_names()
        library.segue_app_open(self._handle)
        self._begin()
        _native.close_at_exit(self)
        if self._device is not None:
            self._device.fleet._apps.append(self)

    def close(self) -> None:
        """Closes the app: saves and withdraws the current activity, ends continuations. A second call has no effect.

        Pending callbacks that end something run before it returns, none afterwards. It raises what they raise. Raises:
        BusyError inside a callback of the app, and inside a handler of the logger `segue`: that may run on a thread of
        the library, which would wait for itself.
        """
        self._end_now(lambda: library.segue_app_close(self._handle))
        if self._device is not None and self in self._device.fleet._apps:
            self._device.fleet._apps.remove(self)
        self._left()
        self._raise_failure()

    def __enter__(self: _A) -> _A:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self: _A) -> _A:
        needed_loop()
        self.open()
        self.attach()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await self._cancel_tasks()
        finally:
            try:
                self.close()
            finally:  # handlers that closing has called, such as an async on_will_save
                if self._tasks:
                    await asyncio.wait(self._tasks, timeout=limits.save_ms / 1000)
                await self._cancel_tasks()

    def set_foreground(self, foreground: bool) -> None:
        """Reports that the app came to the foreground or went to the background (R2.5)."""
        library.segue_app_set_foreground(self._handle, _arguments.truth(foreground, "foreground"))

    @property
    def label(self) -> str | None:
        """A short text for people that tells apps of one bundle identifier apart, such as the name of a window or a
        terminal (R13.6): at most 128 bytes. Lists of offers show it; it chooses no app. None: there is none."""
        return self._label

    @label.setter
    def label(self, label: str | None) -> None:
        data = None if label is None else _arguments.text(label, "label")
        library.segue_app_set_label(self._handle, data, 0 if data is None else len(data))
        self._label = label or None

    @property
    def device(self) -> FleetDevice | None:
        """The device of a virtual fleet that the app is on; None: it is a real one."""
        return self._device

    # ---- containers ----

    def add_container(self, identifier: str, folder: StrOrBytesPath) -> None:
        """Registers a folder that exists on all devices of the user under one identifier, such as a synchronised
        folder (R5.3). A `file:` URL inside of it, anywhere in `user_info`, arrives as the receiver's own URL.

        identifier: the same on all devices, reverse DNS by convention; one that is registered is replaced
        folder: an absolute path; the folder need not be there yet. Its real path is looked up now, or, until it is
            there, when a document is created or moved; register it again if a symbolic link in it changes
        """
        name, path = _arguments.text(identifier, "identifier"), _arguments.path(folder, "folder")
        library.segue_app_add_container(self._handle, name, len(name), path, len(path))

    def remove_container(self, identifier: str) -> None:
        """Removes a container; `NotFoundError` if there is none."""
        name = _arguments.text(identifier, "identifier")
        library.segue_app_remove_container(self._handle, name, len(name))

    # ---- offers ----

    @property
    def connection(self) -> Connection:
        """Whether the app is registered with a hub; if not, `connection_problem` may say why."""
        return state_of(self._handle)[0]

    @property
    def connection_problem(self) -> Error | None:
        """The last known cause for not being ready; None if there is none, or the app is ready. The app retries at
        once when something changes, otherwise every 16 s."""
        return state_of(self._handle)[1]

    def ready(self) -> Pending[None]:
        """Waits until the app is registered with a hub and knows its offers: `await app.ready()`, or `.wait(5)`."""
        readiness = Readiness(self)
        self._readinesses.add(readiness)
        if self.connection == Connection.READY:
            readiness._end(None)
        return readiness

    @property
    def offers(self) -> list[Offer]:
        """The offers that this app could continue (R2.6), frontmost first."""
        capacity = 16
        while True:
            handles = (_table.Handle * capacity)()
            count = _table.Size()
            library.segue_app_get_offers(self._handle, handles, capacity, byref(count))
            found = [_native.wrap(Offer, each, owned=True) for each in handles[: min(count.value, capacity)] if each]
            if count.value <= capacity:
                return found
            capacity = count.value + 16

    def offer_events(self) -> AsyncIterator[OfferEvent]:
        """Yields the current offers as appeared, frontmost first, and then every event, until the app closes."""
        return self._offer_events.since(lambda: self.offers, lambda: self._closed)

    def continue_(self, offer: Offer, timeout: float | None = None) -> Continuation:
        """Continues an offer in this app, and cancels its current continuation, unless that was answered (R3.3):
        `await app.continue_(offer)`.

        timeout: seconds for the whole continuation; None: the limit `continuation_ms`
        """
        asked = _arguments.instance(offer, Offer, "offer")._handle
        most = _arguments.wait(timeout, _MOST_MILLISECONDS)
        former = self._untaken()
        # Callbacks on other threads wait here until the continuation is known.
        with _native.known_lock:
            handle = _native.created(library.segue_app_continue, self._handle, asked, most)
            continuation = continuation_of(self, handle, owned=True)
            self._continuations.add(continuation)
        if former is not None:
            former._fail_untaken(UserCancelledError("another continuation of this app took its place"))
        return continuation

    # ---- apps that are not running ----

    def launch(
        self,
        offer: Offer,
        bundle_identifier: str | None = None,
        timeout: float | None = None,
        *,
        leaves_text: bool = False,
    ) -> Launch:
        """Continues an offer in another app of this device, which need not run: the agent keeps the activity, starts
        the app, and delivers it (R3.8). Blocks until that has ended; under asyncio: `await asyncio.to_thread(...)`.
        Raises: NotAllowedError (a program would open the file of a text that was changed and not saved; R13.7).

        bundle_identifier: of that app; None: whichever fits best (R6.2)
        timeout: seconds for all of it, launch included; None: the limit `continuation_ms`
        leaves_text: whether such changes may stay behind, as the user has agreed
        """
        asked = _arguments.instance(offer, Offer, "offer")._handle
        most = _arguments.wait(timeout, _MOST_MILLISECONDS)
        if leaves_text:
            wanted: dict[str, Any] = {"activity": offer.id}
            if bundle_identifier is not None:
                _arguments.text(bundle_identifier, "bundle_identifier")
                wanted["app"] = bundle_identifier
            return launch_of(self._ask("continue-without-text", wanted, most))
        app = None if bundle_identifier is None else _arguments.text(bundle_identifier, "bundle_identifier")
        return launch_of(self._asked(library.segue_app_launch, self._handle, asked, app, len(app or b""), most))

    def push(
        self,
        activity: Activity,
        bundle_identifier: str | None = None,
        timeout: float | None = None,
        *,
        device: UUID | None = None,
    ) -> Push:
        """Pushes the current activity of this app to another app of this device, or of another one, which need not run
        (R3.15): it is continued there as if the user had chosen that. Blocks until the app is chosen. Stay until the
        receipt comes (`on_continuation_ended`): an app that closes before gets none, and nothing may arrive. Raises:
        InvalidStateError (it is not current), NotFoundError (no app fits, and why), LimitExceededError (2 of this app
        are under way). With a device also: DeclinedError (its user has declined, or is not there to be asked),
        ConnectionUnavailableError (it is not linked, and neither is a mailbox, which would keep the push: R14.5,
        `Push.retained_at`), NotAllowedError (the activity is private).

        bundle_identifier: of that app; None: whichever fits best (R6.2)
        timeout: seconds for all of it, launch included; None: the limit `continuation_ms`. With a device: for its
            answer, which may be a user's; None: 60
        device: of the account, which decides whether it takes the activity: `KnownDevice.device`; None: this one
        """
        pushed = _arguments.instance(activity, Activity, "activity")._handle
        most = _arguments.wait(timeout, _MOST_MILLISECONDS)
        app = None if bundle_identifier is None else _arguments.text(bundle_identifier, "bundle_identifier")
        there = None if device is None else _arguments.identifier(device, "device")
        return push_of(self._asked(library.segue_activity_push, pushed, there, app, len(app or b""), most))

    def inbox(self) -> list[InboxEntry]:
        """Lists what waits at the agent for apps of this device, the oldest first. Blocks until the agent answers."""
        return [entry_of(each) for each in self._ask("inbox")["entries"]]

    def retained(self) -> list[RetainedOffer]:
        """Lists the offers and pushes that this device keeps for other devices of the account, the oldest first
        (R14.5). Blocks until the agent answers."""
        return [retained_of(each) for each in self._ask("retained")["retained"]]

    def unheard_failures(self) -> list[Failure]:
        """Lists the last 16 continuations that have failed in apps of this device whose program has nothing to be told
        by, the oldest first, since the agent has started (R3.13): in C neither a log nor `did_fail`, or, for what fails
        after `continue`, `opening_failed`. A cancel by the user is none. Blocks until the agent answers."""
        return [failure_of(each) for each in self._ask("failures")["failures"]]

    def drop(self, continuation_id: UUID) -> None:
        """Forgets an entry of the inbox. Blocks until the agent has."""
        self._ask("drop", {"continuation_id": _arguments.uuid(continuation_id, "continuation_id")})

    def retry(self, continuation_id: UUID) -> None:
        """Lets the app of an entry of the inbox get it again, after three crashes or a cancel of the user: when it
        opens next, unless it is open. No app is started."""
        self._ask("retry", {"continuation_id": _arguments.uuid(continuation_id, "continuation_id")})

    def withdraw(self, offer: Offer) -> None:
        """Withdraws, for the user, an offer that the agent keeps for an app that has ended (R2.5). Blocks until the
        agent has. Raises: NotFoundError."""
        self._ask("withdraw", {"activity": _arguments.instance(offer, Offer, "offer").id})

    # ---- which app continues what ----

    def apps(self) -> list[KnownApp]:
        """Lists the manifests of apps (R6.1), those of higher precedence first. Blocks until the agent answers."""
        return [known_app_of(each) for each in self._ask("apps")["apps"]]

    def route(self, what: Offer | Activity) -> Route:
        """Tells which app of this device would continue an offer or an activity, the first of them, and why no other
        would (R6.2, R6.5, R12.2): a dry run of `launch`. Blocks until the agent answers.
        """
        if isinstance(what, Activity):
            answer = self._asked(library.segue_activity_get_route, what._handle)
        else:
            answer = self._ask("route", {"activity": _arguments.instance(what, Offer, "what").id})
        return route_of(answer)

    def refresh_sites(self, host: str | None = None) -> int:
        """Has sites asked at once which apps they list, in place of once a day (R12.9). Blocks until that has begun.

        host: of one site that a manifest claims; None for all

        Returns how many sites are asked.
        """
        options = {} if host is None else {"site": _arguments.string(host, "host")}
        return int(self._ask("refresh", options)["count"])

    def choose(self, type: str, bundle_identifier: str | None) -> None:
        """Remembers the app that the user wants for a type (R6.2). Blocks until the agent has.

        bundle_identifier: of that app; None forgets the choice
        """
        options = {"type": _arguments.string(type, "type")}
        if bundle_identifier is not None:
            options["app"] = _arguments.string(bundle_identifier, "bundle_identifier")
        self._ask("choose", options)

    # ---- saved activities and search ----

    def delete_saved(self, persistent_identifiers: Iterable[str]) -> Pending[int]:
        """Deletes saved activities of this app (R8.2); results in how many there were: `await app.delete_saved(["a"])`.
        Activities that the app saves after this call stay."""
        return _saved.delete(self, self._handle, persistent_identifiers)

    def delete_all_saved(self) -> Pending[int]:
        """Deletes all saved activities of this app, of all its processes (R8.2); results in how many there were."""
        return _saved.delete(self, self._handle, None)

    def search(self, query: str = "", bundle_identifier: str | None = None, limit: int = 20) -> list[SavedActivity]:
        """Searches the activities that apps have saved (`Activity.eligible_for_search`), the newest first (R8.1).
        Blocks until the agent answers; under asyncio: `await asyncio.to_thread(app.search, "budget")`.

        query: words that must all occur in title or keywords; "bud*" finds what begins so; without words, all are found
        bundle_identifier: of the app whose activities are wanted; None: all
        limit: 1 to 1000 results
        """
        return _saved.search(self, query, bundle_identifier, limit)

    def open_saved(self, saved: SavedActivity, timeout: float | None = None) -> Launch:
        """Continues a saved activity in its app on this device, which need not run (R8.3). Blocks as `launch` does.
        Call it on another thread than the one that dispatches: this app gets nothing meanwhile, not even that activity.

        timeout: seconds for all of it, launch included; None: the limit `continuation_ms`
        """
        most = _arguments.wait(timeout, _MOST_MILLISECONDS)
        return _saved.open_saved(self, saved, most)

    def forget_saved(self, bundle_identifier: str | None) -> int:
        """Deletes the saved activities of an app on behalf of the user, and counts them (R8.2). Blocks until the agent
        has.

        bundle_identifier: of that app; None: of all apps
        """
        return _saved.forget(self, bundle_identifier)

    def link(self, connection: socket.socket, *, any_user: bool = False) -> Link:
        """Links this device with the one at the other end of a connected socket, which becomes the library's.

        any_user: the other end need not be a local process of this user. It sees all offers of this device and can
            continue them: encrypt what leaves the machine, for example with `ssh -L`
        """
        return link(self, connection, any_user)

    @property
    def current_activity(self) -> Activity | None:
        """The activity that the app offers."""
        if self._current is not None and self._current.is_current:
            return self._current
        for responder in chain(self.main_responder):
            activity = responder.user_activity
            if activity is not None:
                return activity if activity.is_current else None
        return None

    @property
    def main_responder(self) -> ResponderMixin | None:
        """The responder that the user works in: where the chain starts whose first activity is current (R4.3). Set it
        when the user turns to another window or view. Leave it when the app loses the focus: the user may be turning
        to the receiver. It is not kept alive."""
        return None if self._main_responder is None else self._main_responder()

    @main_responder.setter
    def main_responder(self, responder: ResponderMixin | None) -> None:
        set_main(self, responder)
        self._main_responder = None if responder is None else weakref.ref(responder)

    def describe(self) -> str:
        """Describes the app for people: identity, runtime folder, hub, offers, continuations, recent events."""
        return _native.take_text(library.segue_app_describe, self._handle) or ""

    # ---- its callbacks ----

    def _set_delegate(self) -> None:
        former, self._delegate = self._delegate, make_app_delegate(self)
        self._answers = answers_of(self)
        library.segue_app_set_delegate(self._handle, self._delegate)
        if former is not None:
            library.segue_release(former)

    def _hooked(self) -> None:
        """Sets a delegate for its activities once there is a handler; another one once there are more."""
        # Activities that wait for the app come once it has a handler for them (R3.8).
        accepts = self._handler("on_continue") is not None or self._handler("on_open_document") is not None
        library.segue_app_set_accepts_waiting(self._handle, accepts)
        if self._answers != answers_of(self):
            self._set_delegate()
        takes = takes_of(self)
        receipts = any(self._handler(name) for name in _TOLD)
        former = self._activity_delegate
        if not (receipts or any(takes)) or (former is not None and takes == self._activities_take):
            return
        self._activities_take = takes
        self._activity_delegate, _ = make_delegate(self, takes)
        library.segue_app_set_activity_delegate(self._handle, self._activity_delegate)
        if former is not None:
            library.segue_release(former)
        for activity in list(self._delegated):
            activity._hooked()

    def _activity(self, handle: int) -> Activity:
        return activity_of(self, handle, owned=False)

    def _notify(self, name: str, *arguments: Any) -> None:
        handler = self._handler(name)
        if handler is not None:
            self._finish_later(handler(*arguments))

    def _expect(self, answer: Pending[Any]) -> None:
        self._expected.add(answer)

    def _answered(self, answer: Pending[Any]) -> None:
        self._expected.discard(answer)

    def _keep(self, restoring: Any) -> None:
        self._restoring = [each for each in self._restoring if not each._is_over]
        self._restoring.append(restoring)

    def _has_advanced_fleet(self) -> None:
        if self._device is not None:
            self._device.fleet._moved()

    def _time(self) -> float:
        return super()._time() if self._device is None else self._device.fleet.time

    def _left(self, why: str = "the app was closed") -> None:
        """Ends everything that waits, after the app has closed."""
        self._leave_loop()
        self._current = None
        self._restoring = []
        for kept in self._outliving:
            kept.target = None
        expected, self._expected = self._expected, set()
        for answer in [*expected, *self._readinesses, *self._continuations, *self._answered_later]:
            answer._end(None, CancelledError(why))
        untaken = self._untaken()
        if untaken is not None:
            untaken._fail_untaken(CancelledError(why))
        self._offer_events.publish(None)

    def _died(self) -> None:
        """Its process in the fleet is gone, without a word."""
        self._closed = True
        self._left("the process of the app is gone")

    def _continued(self, activity: Activity, continuation: Continuation) -> int:
        handler = self._handler("on_continue")
        if handler is None:
            continuation._unanswered = continuation._is_takers = True  # the taker of the result answers
            self._untaken = weakref.ref(continuation)
            continuation._end(activity)
            return _REPLY_LATER
        continuation._later = activity  # a handler that answers later may do so at once
        try:
            result = handler(activity, continuation)
            if result is LATER:
                self._await_call(continuation)
                return _REPLY_LATER
            if is_later(result):
                cancel = self._answer_later(
                    result,
                    lambda answer, error: continuation._complete_with(activity, answer, error),
                    takes_later=True,
                )
                if continuation._later is not None:  # otherwise it has answered by a call, and runs on
                    continuation._cancel_handler = cancel
                return _REPLY_LATER
            continuation._later = None
        except BaseException as error:
            self._failed(error)
            if continuation._later is None:  # it has answered by a call, which counts
                return _REPLY_LATER
            continuation._later = None
            continuation._end(None, error)
            with suppress(Error):  # it has ended otherwise
                continuation._fail(error)
            return _REPLY_NO
        try:
            continuation.complete(result is not False)
        except InvalidStateError:  # the handler has answered
            pass
        except Error:  # too late: a callback brings the result
            return _REPLY_NO
        if not continuation._opens_document:  # else its opening brings the result (R3.5)
            continuation._end(activity)
        return _REPLY_YES

    def _await_call(self, continuation: Continuation) -> None:
        self._continuations.discard(continuation)
        if not continuation.done:
            self._answered_later.add(continuation)

    def _forget(self, continuation: Continuation) -> None:
        self._continuations.discard(continuation)
        self._answered_later.discard(continuation)

    def _open_document(self, url: str, activity: Activity, continuation: Continuation) -> int:
        return _document.open_document(self, url, activity, continuation)

    def _opening_failed(self, type: str, error: Error, continuation: Continuation) -> None:
        continuation._end_failed(error)
        self._log_failure(type, error, continuation)

    def _log_failure(self, type: str, error: Exception, continuation: Continuation) -> None:
        """R3.13, unless somebody gets the error."""
        if not continuation._is_told:
            level = logging.INFO if isinstance(error, UserCancelledError) else logging.ERROR
            logger.log(level, "continuing %s failed: %s", type, str(error))

    def _did_fail(self, type: str, error: Error, continuation: Continuation) -> None:
        continuation._end_failed(error)
        if self._handler("on_did_fail") is None:
            self._log_failure(type, error, continuation)
        self._notify("on_did_fail", type, error, continuation)

    def _offer_changed(self, event: OfferEvent) -> None:
        try:
            self._offer_events.publish(event)
        finally:
            self._notify("on_offer", event.kind, event.offer)

    def _connection_changed(self, connection: Connection) -> None:
        if connection == Connection.READY:
            for readiness in list(self._readinesses):
                readiness._end(None)
        self._notify("on_connection", connection)

    def _set_text(self, setter: Any, what: str, text: str | None) -> None:
        if text is not None:
            data = _arguments.text(text, what)
            setter(self._handle, data, len(data))

    def __repr__(self) -> str:
        return shown(self, self._state)

    def _state(self) -> str:
        state = "closed" if self._closed else "open" if self._opened else "not open"
        connection = f", {self.connection.name.lower()}" if state == "open" else ""
        return f"{self._identifier!r} {state}{connection}"

    def __del__(self, release: Callable[[int], None] = _native.release) -> None:
        if self._opened and not self._closed and not _native.is_leaving():
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)
        if self._delegate is not None:
            release(self._delegate)
        if self._activity_delegate is not None:
            release(self._activity_delegate)
        super().__del__(release)
