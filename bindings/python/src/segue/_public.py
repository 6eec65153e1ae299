# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of the package, from the modules that have them. The package loads this module when the first of them is
used: `segue continue --app` needs none of them, and starts in a fifth of the time without."""

from __future__ import annotations

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
from ._agent import Candidate, Failure, InboxEntry, KnownApp, Launch, Push, RetainedOffer, Route
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
    "RetainedOffer",
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
    "limits",
    "live_handles",
]
