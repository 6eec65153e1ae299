# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Segue: Handoff for any language.

    import segue

    async with segue.App("com.example.notes", types=["com.example.notes.editing"]) as app:
        async for event in app.offer_events():
            activity = await app.continue_(event.offer)
            print(activity.title, activity.user_info["line"])

An app states what its user is doing (`Activity`); any other app of the same team can continue it. `include/segue.h` is
the manual of the concepts; these docstrings describe what is particular to Python.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import _native, errors
from ._access import Access
from ._account import (
    Account,
    DevicePath,
    DeviceSettings,
    Invite,
    InviteContents,
    Join,
    KnownDevice,
    Membership,
    Notice,
    Pushed,
    Pushes,
    RefusedDevice,
    TakeOver,
)
from ._activity import (
    ACTIVITY_TYPE_BROWSING_WEB,
    ACTIVITY_TYPE_EDITING_TEXT,
    ACTIVITY_TYPE_PLAYING_MEDIA,
    ACTIVITY_TYPE_READING_DOCUMENT,
    ACTIVITY_TYPE_USING_TERMINAL,
    Activity,
    Origin,
    Problem,
)
from ._agent import Candidate, Failure, InboxEntry, KnownApp, Launch, Push, Route
from ._app import App
from ._connection import Connection
from ._continuation import Continuation, Restorable
from ._document import DOCUMENT_URL_KEY, Document, Observation
from ._hooks import LATER
from ._json import JSONMode
from ._limits import Limits, limits
from ._link import Link
from ._native import LibraryError, live_handles
from ._offer import Offer, OfferEvent, OfferEventKind
from ._pending import Pending
from ._reason import Reason
from ._receipt import Outcome, Receipt
from ._responder import Responder, ResponderMixin
from ._saved import SavedActivity
from ._stream import Stream, StreamReader, StreamWriter
from ._user_info import UserInfo
from ._values import decode_json, decode_value, describe_value, encode_json, encode_value
from .errors import (
    ArgumentTypeError,
    BusyError,
    CancelledError,
    ConnectionUnavailableError,
    DeclinedError,
    Error,
    ForkedError,
    HandoffFailedError,
    InvalidArgumentError,
    InvalidatedError,
    InvalidHandleError,
    InvalidStateError,
    InvalidURLError,
    LimitExceededError,
    MalformedError,
    NotAllowedError,
    NotFoundError,
    NotThereYetError,
    RemoteApplicationTimedOutError,
    Status,
    StreamAbortedError,
    StreamBrokenError,
    StreamError,
    SystemRefusedError,
    UnsafeFolderError,
    UnsupportedValueError,
    UnsupportedVersionError,
    UserCancelledError,
    UserInfoTooLargeError,
    WrongKindError,
)
from .values import URL, Map, Set, Timestamp

__version__ = "0.1.0"

if TYPE_CHECKING:
    library_version: str
    """The version of the library that was loaded."""
    library_path: str
    """The path of the library that was loaded."""
else:

    def __getattr__(name: str) -> Any:
        if name == "library_version":
            return _native.library_version()
        if name == "library_path":
            return _native.library.path
        if name in ("Fleet", "FleetDevice"):
            moved = f"segue.{name} is segue.testing.{name}: import segue.testing"
            # `from segue import …` drops an AttributeError, and its text with it.
            is_from = sys._getframe(1).f_code.co_name == "_handle_fromlist"
            raise ImportError(moved, name=__name__) if is_from else AttributeError(moved)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ACTIVITY_TYPE_BROWSING_WEB",
    "ACTIVITY_TYPE_EDITING_TEXT",
    "ACTIVITY_TYPE_PLAYING_MEDIA",
    "ACTIVITY_TYPE_READING_DOCUMENT",
    "ACTIVITY_TYPE_USING_TERMINAL",
    "DOCUMENT_URL_KEY",
    "LATER",
    "URL",
    "Access",
    "Account",
    "Activity",
    "App",
    "ArgumentTypeError",
    "BusyError",
    "CancelledError",
    "Candidate",
    "Connection",
    "ConnectionUnavailableError",
    "Continuation",
    "DeclinedError",
    "DevicePath",
    "DeviceSettings",
    "Document",
    "Error",
    "Failure",
    "ForkedError",
    "HandoffFailedError",
    "InboxEntry",
    "InvalidArgumentError",
    "InvalidHandleError",
    "InvalidStateError",
    "InvalidURLError",
    "InvalidatedError",
    "Invite",
    "InviteContents",
    "JSONMode",
    "Join",
    "KnownApp",
    "KnownDevice",
    "Launch",
    "LibraryError",
    "LimitExceededError",
    "Limits",
    "Link",
    "MalformedError",
    "Map",
    "Membership",
    "NotAllowedError",
    "NotFoundError",
    "NotThereYetError",
    "Notice",
    "Observation",
    "Offer",
    "OfferEvent",
    "OfferEventKind",
    "Origin",
    "Outcome",
    "Pending",
    "Problem",
    "Push",
    "Pushed",
    "Pushes",
    "Reason",
    "Receipt",
    "RefusedDevice",
    "RemoteApplicationTimedOutError",
    "Responder",
    "ResponderMixin",
    "Restorable",
    "Route",
    "SavedActivity",
    "Set",
    "Status",
    "Stream",
    "StreamAbortedError",
    "StreamBrokenError",
    "StreamError",
    "StreamReader",
    "StreamWriter",
    "SystemRefusedError",
    "TakeOver",
    "Timestamp",
    "UnsafeFolderError",
    "UnsupportedValueError",
    "UnsupportedVersionError",
    "UserCancelledError",
    "UserInfo",
    "UserInfoTooLargeError",
    "WrongKindError",
    "decode_json",
    "decode_value",
    "describe_value",
    "encode_json",
    "encode_value",
    "errors",
    "library_path",
    "library_version",
    "limits",
    "live_handles",
]
