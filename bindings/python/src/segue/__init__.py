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

# The names of `__all__` are those of _public.py, which a test compares.
# ruff: noqa: F405

from __future__ import annotations

import sys

from . import _native, errors

__version__ = "0.1.0"

TYPE_CHECKING = False
"""Type checkers take it as true. To load `typing` takes longer than all that is loaded here."""
if TYPE_CHECKING:
    from typing import Any

    from ._public import *  # noqa: F403

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
        if name in __all__ or name == "values":
            from . import _public

            globals().update((each, getattr(_public, each)) for each in _public.__all__)
            return globals()[name]
        if name in ("Fleet", "FleetDevice"):
            moved = f"segue.{name} is segue.testing.{name}: import segue.testing"
            # `from segue import …` drops an AttributeError, and its text with it.
            is_from = sys._getframe(1).f_code.co_name == "_handle_fromlist"
            raise ImportError(moved, name=__name__) if is_from else AttributeError(moved)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


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
    "errors",
    "library_path",
    "library_version",
    "limits",
    "live_handles",
]
