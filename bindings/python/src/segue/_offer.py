# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Offers: small descriptions of activities that other apps get."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from . import _native
from ._codec import date_of
from ._native import library
from ._unique import shown
from .values import Timestamp


class Offer(_native.Handle):
    """A small immutable description of an activity of another app (R2.1)."""

    def __init__(self) -> None:
        raise TypeError("offers come from App.offers and from events")

    @property
    def id(self) -> UUID:
        """The same for all offers of one activity by one device."""
        return _native.take_id(library.segue_offer_get_id, self._handle)

    @property
    def type(self) -> str:
        """The type of the activity."""
        return _native.take_text(library.segue_offer_get_type, self._handle) or ""

    @property
    def title(self) -> str | None:
        """The title of the activity."""
        return _native.take_text(library.segue_offer_get_title, self._handle)

    @property
    def device_name(self) -> str:
        """The name of the origin's device, for people."""
        return _native.take_text(library.segue_offer_get_device_name, self._handle) or ""

    @property
    def app_name(self) -> str:
        """The name of the origin, for people."""
        return _native.take_text(library.segue_offer_get_app_name, self._handle) or ""

    @property
    def bundle_identifier(self) -> str:
        """The bundle identifier of the origin."""
        return _native.take_text(library.segue_offer_get_bundle_identifier, self._handle) or ""

    @property
    def web_origin(self) -> str | None:
        """The origin of the activity's `webpage_url` (R12.1): scheme, host and port, as in `https://example.com`.

        None if the activity has no page.
        """
        return _native.take_text(library.segue_offer_get_web_origin, self._handle)

    @property
    def label(self) -> str | None:
        """The label of the origin (`App.label`): which window or terminal of its program offers the activity (R13.6).

        None if it has none.
        """
        return _native.take_text(library.segue_offer_get_label, self._handle)

    @property
    def public(self) -> bool:
        """Whether apps of other teams may continue the activity, too (R13.1), as its origin says."""
        return _native.take_bool(library.segue_offer_is_public, self._handle)

    @property
    def payload_version(self) -> int:
        """The origin's version of its user_info layout (R1.9)."""
        return _native.take_uint32(library.segue_offer_get_payload_version, self._handle)

    @property
    def size_hint(self) -> int:
        """The bytes of the current `user_info`, encoded."""
        return _native.take_uint64(library.segue_offer_get_size_hint, self._handle)

    @property
    def age(self) -> float:
        """Seconds since the activity became current or its app came to the foreground."""
        return _native.take_uint64(library.segue_offer_get_age_ms, self._handle) / 1000

    @property
    def expiration_date(self) -> datetime | Timestamp | None:
        """The date by this device's clock; None if the activity does not expire."""
        seconds = _native.take_double(library.segue_offer_get_expiration_date, self._handle)
        return None if seconds != seconds else date_of(seconds)

    @property
    def supports_continuation_streams(self) -> bool:
        """Whether receivers may ask for streams (R7.1)."""
        return _native.take_bool(library.segue_offer_get_supports_continuation_streams, self._handle)

    @property
    def _facts(self) -> tuple[object, ...]:
        return (
            self.id,
            self.type,
            self.title,
            self.device_name,
            self.app_name,
            self.bundle_identifier,
            self.web_origin,
            self.label,
            self.public,
            self.payload_version,
            self.size_hint,
            self.expiration_date,
            self.supports_continuation_streams,
        )

    def __eq__(self, other: object) -> bool:
        """Whether two offers have the same contents, apart from age and order."""
        return self is other or self._facts == other._facts if isinstance(other, Offer) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return shown(self, self._state)

    def _state(self) -> str:
        return f"{self.type!r} {self.title!r} from {self.app_name!r} on {self.device_name!r} {self.id}"


class OfferEventKind(enum.IntEnum):
    """The kind of an event of an offer (R2.7)."""

    APPEARED = 1
    CHANGED = 2
    """Title, version, order and so on."""
    GONE = 3


class OfferEvent(NamedTuple):
    """An offer appeared, changed or is gone."""

    kind: OfferEventKind
    offer: Offer
