# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The properties of an activity: each is read from the library, and written to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ctypes import byref
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from . import _arguments, _native, _table
from ._codec import date_of
from ._json import JSONMode
from ._native import library
from ._plain import seconds_of
from ._user_info import UserInfo, set_user_info
from ._values import taken, text_of, value_of
from .values import URL, Timestamp

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_HANDOFF, _SEARCH, _PUBLIC_INDEXING, _PREDICTION = 1, 2, 3, 4


class ActivityProperties(_native.Handle):
    """The properties of an activity."""

    @property
    def id(self) -> UUID:
        """The identifier under which the activity is offered."""
        return _native.take_id(library.segue_activity_get_id, self._handle)

    @property
    def type(self) -> str:
        """The activity type, as declared by the apps that can continue it (R1.1)."""
        return _native.take_text(library.segue_activity_get_type, self._handle) or ""

    @property
    def title(self) -> str | None:
        """The title for people, up to 1 KiB."""
        return _native.take_text(library.segue_activity_get_title, self._handle)

    @title.setter
    def title(self, title: str | None) -> None:
        self._set_text(library.segue_activity_set_title, "title", title)

    @property
    def user_info(self) -> UserInfo:
        """The app's state: a mapping that reads from and writes to the activity; empty if absent. Assigning a dict
        replaces everything, None clears it."""
        return UserInfo(self)

    @user_info.setter
    def user_info(self, entries: Mapping[Any, Any] | None) -> None:
        set_user_info(self._handle, entries)

    def add_user_info_entries(self, entries: Mapping[Any, Any]) -> None:
        """Merges entries; for the same key the new value wins (R1.10)."""
        self.user_info._add(entries)

    def user_info_json(self, mode: JSONMode) -> str | None:
        """Returns the app's state as JSON text; None if absent. Raises: as `segue.encode_json`."""
        number = _arguments.instance(mode, JSONMode, "mode").value
        return _native.take_text(library.segue_activity_get_user_info_json, self._handle, number)

    def set_user_info_json(self, text: str | ReadableBuffer | None, mode: JSONMode) -> None:
        """Replaces the app's state by what JSON text says, an object; None clears it. Raises: as `segue.decode_json`,
        WrongKindError, UserInfoTooLargeError; the old state then stays."""
        number = _arguments.instance(mode, JSONMode, "mode").value
        data = None if text is None else text_of(text)
        library.segue_activity_set_user_info_json(self._handle, data, 0 if data is None else len(data), number)

    @property
    def webpage_url(self) -> str | None:
        """An absolute http or https URL, kept byte for byte (R1.5)."""
        return _native.take_text(library.segue_activity_get_webpage_url, self._handle)

    @webpage_url.setter
    def webpage_url(self, url: str | URL | None) -> None:
        self._set_text(library.segue_activity_set_webpage_url, "webpage_url", url)

    @property
    def referrer_url(self) -> str | None:
        """An absolute http or https URL, kept byte for byte (R1.5)."""
        return _native.take_text(library.segue_activity_get_referrer_url, self._handle)

    @referrer_url.setter
    def referrer_url(self, url: str | URL | None) -> None:
        self._set_text(library.segue_activity_set_referrer_url, "referrer_url", url)

    @property
    def target_content_identifier(self) -> str | None:
        """An identifier of the content. Setting it does not set needs_save (R1.7)."""
        return _native.take_text(library.segue_activity_get_target_content_identifier, self._handle)

    @target_content_identifier.setter
    def target_content_identifier(self, identifier: str | None) -> None:
        self._set_text(library.segue_activity_set_target_content_identifier, "target_content_identifier", identifier)

    @property
    def persistent_identifier(self) -> str | None:
        """The name of the activity among those saved for search; up to 255 bytes."""
        return _native.take_text(library.segue_activity_get_persistent_identifier, self._handle)

    @persistent_identifier.setter
    def persistent_identifier(self, identifier: str | None) -> None:
        self._set_text(library.segue_activity_set_persistent_identifier, "persistent_identifier", identifier)

    @property
    def required_user_info_keys(self) -> frozenset[str] | None:
        """The keys kept at least when the activity is saved for search; None: all keys (R1.3)."""
        keys = taken(_native.take_handle(library.segue_activity_get_required_user_info_keys, self._handle))
        return None if keys is None else frozenset(keys)

    @required_user_info_keys.setter
    def required_user_info_keys(self, keys: Iterable[str] | None) -> None:
        self._set_strings(library.segue_activity_set_required_user_info_keys, "required_user_info_keys", keys)

    @property
    def keywords(self) -> frozenset[str]:
        """Words by which search finds the activity."""
        return frozenset(taken(_native.take_handle(library.segue_activity_get_keywords, self._handle)) or ())

    @keywords.setter
    def keywords(self, keywords: Iterable[str] | None) -> None:
        self._set_strings(library.segue_activity_set_keywords, "keywords", keywords)

    @property
    def needs_save(self) -> bool:
        """Whether on_will_save runs before the next snapshot (R2.3)."""
        return _native.take_bool(library.segue_activity_get_needs_save, self._handle)

    @needs_save.setter
    def needs_save(self, needs_save: bool) -> None:
        library.segue_activity_set_needs_save(self._handle, _arguments.truth(needs_save, "needs_save"))

    @property
    def expiration_date(self) -> datetime | Timestamp | None:
        """Past this date the activity is neither offered nor found (R1.6). Set a date with a time zone."""
        seconds = _native.take_double(library.segue_activity_get_expiration_date, self._handle)
        return None if seconds != seconds else date_of(seconds)

    @expiration_date.setter
    def expiration_date(self, date: datetime | Timestamp | None) -> None:
        seconds = float("nan") if date is None else seconds_of(date, "expiration_date")
        library.segue_activity_set_expiration_date(self._handle, seconds)

    @property
    def supports_continuation_streams(self) -> bool:
        """Whether receivers may ask for streams (R7.1)."""
        return _native.take_bool(library.segue_activity_get_supports_continuation_streams, self._handle)

    @supports_continuation_streams.setter
    def supports_continuation_streams(self, supports: bool) -> None:
        library.segue_activity_set_supports_continuation_streams(
            self._handle, _arguments.truth(supports, "supports_continuation_streams")
        )

    @property
    def private(self) -> bool:
        """Whether the activity stays on this device (R10.2): no other one is told of it, and none continues it. It is
        not saved for search, and what was saved of it before is deleted. At first it is not private. Types, apps and
        the device are private by `App.set_devices`."""
        return _native.take_bool(library.segue_activity_get_private, self._handle)

    @private.setter
    def private(self, private: bool) -> None:
        library.segue_activity_set_private(self._handle, _arguments.truth(private, "private"))

    @property
    def public(self) -> bool:
        """Whether apps of other teams may continue the activity, too, if they declare its type (R13.1). At first True
        for the types that programs share (`ACTIVITY_TYPE_EDITING_TEXT` and those beside it), and False for others. It
        is about programs of the same user, never about other users."""
        return _native.take_bool(library.segue_activity_get_public, self._handle)

    @public.setter
    def public(self, public: bool) -> None:
        library.segue_activity_set_public(self._handle, _arguments.truth(public, "public"))

    @property
    def keeps_offering(self) -> bool:
        """Whether the activity stays offered when its app has ended (R2.5): the app leaves its last snapshot with the
        agent when it goes to the background, closes, or drops the current activity. False at first. Its
        attachments are kept with it, at most 64 MiB; the log names those that are not, and receivers get
        `NotFoundError` for them. They get no streams and requests. Without an agent the log says so."""
        return _native.take_bool(library.segue_activity_get_keeps_offering, self._handle)

    @keeps_offering.setter
    def keeps_offering(self, keeps_offering: bool) -> None:
        library.segue_activity_set_keeps_offering(self._handle, _arguments.truth(keeps_offering, "keeps_offering"))

    @property
    def payload_version(self) -> int:
        """The app's own version of its user_info layout; the offer carries it (R1.9)."""
        return _native.take_uint32(library.segue_activity_get_payload_version, self._handle)

    @payload_version.setter
    def payload_version(self, version: int) -> None:
        number = _arguments.integer(version, 0, 0xFFFF_FFFF, "payload_version")
        library.segue_activity_set_payload_version(self._handle, number)

    @property
    def eligible_for_handoff(self) -> bool:
        """Whether the activity may be offered; True by default (R1.8)."""
        return self._eligible(_HANDOFF)

    @eligible_for_handoff.setter
    def eligible_for_handoff(self, eligible: bool) -> None:
        self._set_eligible(_HANDOFF, eligible, "eligible_for_handoff")

    @property
    def eligible_for_search(self) -> bool:
        """Whether the activity may be saved for search (R1.8). What was saved before stays: `App.delete_saved`, or
        `private`, deletes it."""
        return self._eligible(_SEARCH)

    @eligible_for_search.setter
    def eligible_for_search(self, eligible: bool) -> None:
        self._set_eligible(_SEARCH, eligible, "eligible_for_search")

    @property
    def eligible_for_public_indexing(self) -> bool:
        """Whether the activity may be indexed publicly (R1.8)."""
        return self._eligible(_PUBLIC_INDEXING)

    @eligible_for_public_indexing.setter
    def eligible_for_public_indexing(self, eligible: bool) -> None:
        self._set_eligible(_PUBLIC_INDEXING, eligible, "eligible_for_public_indexing")

    @property
    def eligible_for_prediction(self) -> bool:
        """Whether the activity may be suggested to the user (R1.8)."""
        return self._eligible(_PREDICTION)

    @eligible_for_prediction.setter
    def eligible_for_prediction(self, eligible: bool) -> None:
        self._set_eligible(_PREDICTION, eligible, "eligible_for_prediction")

    def _set_text(self, setter: Any, what: str, text: str | URL | None) -> None:
        if text is None:
            setter(self._handle, None, 0)
        else:
            data = _arguments.text(str(text) if isinstance(text, URL) else text, what)
            setter(self._handle, data, len(data))

    def _set_strings(self, setter: Any, what: str, strings: Iterable[str] | None) -> None:
        if strings is None:
            setter(self._handle, None)
        else:
            with value_of(frozenset(_arguments.texts(strings, what))) as value:
                setter(self._handle, value)

    def _set_eligible(self, what: int, eligible: bool, name: str) -> None:
        library.segue_activity_set_eligible(self._handle, what, _arguments.truth(eligible, name))

    def _eligible(self, what: int) -> bool:
        result = _table.Bool()
        library.segue_activity_get_eligible(self._handle, what, byref(result))
        return result.value
