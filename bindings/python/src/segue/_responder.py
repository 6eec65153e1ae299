# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Responders: windows and views, each with an activity (R4)."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

from . import _arguments, _native, _table
from ._activity import Activity, activity_of
from ._activity_delegate import answer_save
from ._attributes import KnownAttributes
from ._native import library
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._app import App

UpdateState = Callable[[Activity], Any]
_REPLY_YES = 1


class Attachment(_native.Handle):
    """A host object as an app knows it. The object holds this, and nothing here holds the object.

    create: called with update_state and a context; returns the handle
    """

    __setattr__ = object.__setattr__

    def __init__(self, app: App, host: ResponderMixin, create: Callable[[Any, int], int]):
        self.app = app
        self.host = weakref.ref(host)
        self.activity: Activity | None = None
        """Its activity when it was last seen: held, because the callbacks that are set on it are Python's."""
        context = _native.new_context(weakref.ref(self))
        update = _update_state if host._overrides("update_user_activity_state") else _table.WILL_SAVE()
        super().__init__(create(update, context))

    def _failed(self, error: BaseException) -> None:
        self.app._failed(error)


def _attach(app: App, host: ResponderMixin) -> Attachment:
    def create(update: Any, context: int) -> int:
        no_restore = _table.RESTORE_STATE()  # Continuation.restore calls the object itself
        return _native.created(
            library.segue_responder_create, app._handle, update, no_restore, context, _native.destroy
        )

    return Attachment(app, host, create)


def _nowhere() -> None:
    """The chain ends here."""


def _unset() -> None:
    """No next responder was set."""


def _is_widget(host: object) -> bool:
    gtk = sys.modules.get("gi.repository.Gtk")
    return gtk is not None and isinstance(host, gtk.Widget)


def _ancestor(host: Any) -> ResponderMixin | None:
    """The nearest ancestor of a GTK widget that is a responder; None for other objects."""
    parent = host.get_parent() if _is_widget(host) else None
    while parent is not None and not isinstance(parent, ResponderMixin):
        parent = parent.get_parent()
    return parent


class ResponderMixin:
    """Makes a window, a view or any other object a responder (R4): give it an activity, and the library makes that
    current, saves and invalidates it. It needs no `__init__`.

        class NoteWindow(segue.ResponderMixin, Gtk.Window):
            def update_user_activity_state(self, activity):
                activity.user_info["line"] = self.line

            def restore_user_activity_state(self, activity):
                self.line = activity.user_info["line"]

        window.user_activity = segue.Activity(app, "com.example.notes.editing")
        app.main_responder = window           # the user turns to it

    The library holds no reference to the object: a responder that is collected leaves its activity.
    """

    def update_user_activity_state(self, activity: Activity) -> Any:
        """Override it to add what the object shows to `activity.user_info`, which is empty when a save begins (R4.2).
        Only responders that have the activity (`user_activity`) are asked: give it to a view, too, whose state it is to
        contain. The main responder comes last, and wins a shared key. If it raises, the save has failed, and
        `user_info` is as before. May be `async def` under asyncio."""

    def restore_user_activity_state(self, activity: Activity) -> Any:
        """Override it to restore the object from a continued activity; False: not restored. `Continuation.restore`
        takes responders that have it."""

    @property
    def user_activity(self) -> Activity | None:
        """The activity, which several responders may have; None: none, or it was invalidated. One that no responder
        has any longer is invalidated when callbacks run next (R4.4)."""
        attached = self._attachment
        if attached is None:
            return None
        found = _native.take_handle(library.segue_responder_get_activity, attached._handle)
        attached.activity = None if found is None else activity_of(attached.app, found, owned=True)
        return attached.activity

    @user_activity.setter
    def user_activity(self, activity: Activity | None) -> None:
        if activity is None:
            attached = self._attachment
            if attached is not None:
                library.segue_responder_set_activity(attached._handle, None)
                attached.activity = None
            return
        app = _arguments.instance(activity, Activity, "user_activity").app
        if app is None:
            raise _arguments.wrong("user_activity", activity, "an activity of an app")
        attached = self._attached_to(app)
        library.segue_responder_set_activity(attached._handle, activity._handle)
        attached.activity = activity

    @property
    def next_user_activity_responder(self) -> ResponderMixin | None:
        """The next responder in the chain, usually the object around this one (R4.3). It is not kept alive. Unless it
        is set, that of a GTK widget is the nearest ancestor widget that is a responder: the one that it is whenever
        `App.main_responder` is set."""
        return _ancestor(self) if self._next is _unset else self._next()

    @next_user_activity_responder.setter
    def next_user_activity_responder(self, responder: ResponderMixin | None) -> None:
        attached = self._attachment
        if responder is None:
            if attached is not None:
                library.segue_responder_set_next(attached._handle, None)
            self._next = _nowhere
            return
        other = _arguments.instance(responder, ResponderMixin, "next_user_activity_responder")
        if any(each is self for each in chain(other)):
            raise InvalidArgumentError("next_user_activity_responder: that would be a loop")
        known = attached or other._attachment
        if known is not None:
            next_handle = other._attached_to(known.app)._handle
            library.segue_responder_set_next(self._attached_to(known.app)._handle, next_handle)
        self._next = weakref.ref(other)

    # ---- what the object has, without an __init__ ----

    _attachment: Attachment | None = None
    _next: Callable[[], ResponderMixin | None] = staticmethod(_unset)

    def _attached_to(self, app: App) -> Attachment:
        """This object in an app: at the first need, with the chain behind it."""
        attached = self._attachment
        if attached is None or (attached.app is not app and attached.app._closed):
            attached = self._attachment = _attach(app, self)
            following = self.next_user_activity_responder
            if following is not None:
                library.segue_responder_set_next(attached._handle, following._attached_to(app)._handle)
        return attached

    def _overrides(self, name: str) -> bool:
        """Whether it has a method of its own."""
        return getattr(type(self), name) is not getattr(ResponderMixin, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses a copy, and pickling: two objects would be one responder, and each would give up the activity of the
        other."""
        if self._attachment is not None:
            raise TypeError(f"{type(self).__name__} is a responder of an app, and cannot be copied or pickled")
        return super().__reduce_ex__(protocol)


class Responder(KnownAttributes, ResponderMixin):
    """A responder by itself, for objects that cannot have a mixin: keep it as long as the object that it stands for.

    update: called with the activity, to add what the object shows; see `ResponderMixin.update_user_activity_state`
    restore: called with a continued activity; False: not restored
    """

    def __init__(self, app: App, update: UpdateState | None = None, restore: UpdateState | None = None):
        if getattr(app, "_noun", "") != "app":
            raise _arguments.wrong("app", app, "App")
        self._update = None if update is None else _arguments.function(update, "update")
        self._restore = None if restore is None else _arguments.function(restore, "restore")
        self._attached_to(app)

    def update_user_activity_state(self, activity: Activity) -> Any:
        return None if self._update is None else self._update(activity)

    def restore_user_activity_state(self, activity: Activity) -> Any:
        return None if self._restore is None else self._restore(activity)

    def _overrides(self, name: str) -> bool:
        own = {"update_user_activity_state": self._update, "restore_user_activity_state": self._restore}[name]
        return own is not None or getattr(type(self), name) is not getattr(Responder, name)


def chain(responder: ResponderMixin | None) -> Iterator[ResponderMixin]:
    """Yields a responder and those behind it. Raises: InvalidArgumentError for a loop, which widgets can make."""
    seen: set[int] = set()
    while responder is not None:
        if id(responder) in seen:
            raise InvalidArgumentError("next_user_activity_responder: the chain is a loop")
        seen.add(id(responder))
        yield responder
        responder = responder.next_user_activity_responder


def set_main(app: App, responder: ResponderMixin | None) -> None:
    """The chain of an app starts there."""
    if responder is None:
        library.segue_app_set_main_responder(app._handle, None)
        return
    responders = list(chain(_arguments.instance(responder, ResponderMixin, "main_responder")))
    for here in reversed(responders):  # the last first: each finds the next one attached
        here._attached_to(app)
    for here, following in zip(responders, [*responders[1:], None]):
        if here._next is _unset and _is_widget(here):
            handle = None if following is None else following._attached_to(app)._handle
            library.segue_responder_set_next(here._attached_to(app)._handle, handle)
    wanted = responder._attached_to(app)
    library.segue_app_set_main_responder(app._handle, wanted._handle)


@_native.trampoline(_table.WILL_SAVE, default=_REPLY_YES)
def _update_state(attached: Attachment, told: int, save: int) -> int:
    host = attached.host()
    if host is None:
        return _REPLY_YES
    activity = attached.app._activity(told)
    return answer_save(attached.app, save, lambda: host.update_user_activity_state(activity))
