# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One exception class for each status of the library."""

from __future__ import annotations

import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Status(enum.IntEnum):
    """The result of a call: `SEGUE_ERROR_...` of segue.h."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_HANDLE = 2
    INVALID_URL = 3
    INVALID_STATE = 4
    INVALIDATED = 5
    UNSUPPORTED_VALUE = 6
    MALFORMED = 7
    NOT_FOUND = 8
    WRONG_KIND = 9
    LIMIT_EXCEEDED = 10
    BUSY = 11
    FORKED = 12
    SYSTEM = 13
    UNSAFE_FOLDER = 14
    CANCELLED = 15
    DECLINED = 16
    UNSUPPORTED_VERSION = 17
    NOT_THERE_YET = 18
    NOT_ALLOWED = 19
    HANDOFF_FAILED = 20
    CONNECTION_UNAVAILABLE = 21
    REMOTE_APPLICATION_TIMED_OUT = 22
    USER_INFO_TOO_LARGE = 23
    USER_CANCELLED = 24

    @property
    def foundation_code(self) -> int:
        """The number of Apple's Foundation (NSCocoaErrorDomain), 0 where there is none."""
        return _FOUNDATION_CODES.get(self, 0)


# R3.11; tests/test_errors.py compares it with segue_status_foundation_code.
_FOUNDATION_CODES = {
    Status.HANDOFF_FAILED: 4608,
    Status.CONNECTION_UNAVAILABLE: 4609,
    Status.REMOTE_APPLICATION_TIMED_OUT: 4610,
    Status.USER_INFO_TOO_LARGE: 4611,
    Status.USER_CANCELLED: 3072,
}


def status_of(number: int) -> int:
    """The status with this number; the number itself if a later version gave it."""
    try:
        return Status(number)
    except ValueError:
        return number


class Error(Exception):
    """The library refused something, or a continuation failed."""

    status: int
    """The status, a `Status` where this version knows it."""
    message: str
    """One line that names what was wrong with which argument."""

    default_status: ClassVar[Status] = Status.SYSTEM

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.message = message
        self.status = self.default_status if status is None else status

    @property
    def code(self) -> str:
        """The name of the status, as in "INVALID_HANDLE"."""
        try:
            return Status(self.status).name
        except ValueError:
            return "UNKNOWN"

    @property
    def foundation_code(self) -> int:
        """The number of Apple's Foundation (NSCocoaErrorDomain), 0 where there is none."""
        return self.status.foundation_code if isinstance(self.status, Status) else 0

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by its constructor, which may ask for other arguments than those that it was given.
        return (_restored, (type(self), self.args, dict(self.__dict__)))


def _restored(kind: type[Error], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> Error:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(attributes)
    return error


class InvalidArgumentError(Error, ValueError):
    """An argument is out of range, too long, not UTF-8 or not allowed here."""

    default_status = Status.INVALID_ARGUMENT


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument is of a wrong type; the message names it."""


class InvalidHandleError(Error, RuntimeError):
    """The library's object behind this Python object is gone."""

    default_status = Status.INVALID_HANDLE


class InvalidURLError(Error, ValueError):
    """Not an absolute RFC 3986 URL, or its scheme is not allowed here."""

    default_status = Status.INVALID_URL


class InvalidStateError(Error, RuntimeError):
    """The call does not fit the state of the object: twice, too early, too late."""

    default_status = Status.INVALID_STATE


class InvalidatedError(Error, RuntimeError):
    """The activity was invalidated, or the app closed."""

    default_status = Status.INVALIDATED


class UnsupportedValueError(Error, TypeError):
    """user_info cannot hold this (R1.2)."""

    default_status = Status.UNSUPPORTED_VALUE


class MalformedError(Error, ValueError):
    """The bytes are malformed."""

    default_status = Status.MALFORMED


class NotFoundError(Error, LookupError):
    """No such entry."""

    default_status = Status.NOT_FOUND


class WrongKindError(Error, TypeError):
    """The value is of another kind."""

    default_status = Status.WRONG_KIND


class LimitExceededError(Error, ValueError):
    """A published limit is exceeded: nesting, length of a text, count."""

    default_status = Status.LIMIT_EXCEEDED


class BusyError(Error, RuntimeError):
    """The call is not allowed inside a callback, or another thread is in the same call."""

    default_status = Status.BUSY


class ForkedError(Error, RuntimeError):
    """This process is a fork of one that has opened an app: use the library there, or after an exec."""

    default_status = Status.FORKED


class SystemRefusedError(Error, OSError):
    """The operating system refused something; the message says what and why."""

    default_status = Status.SYSTEM


class UnsafeFolderError(Error, PermissionError):
    """The runtime folder cannot be trusted: owned by another user, open to others, or a symbolic link."""

    default_status = Status.UNSAFE_FOLDER


class CancelledError(Error):
    """The app was closed before this ended."""

    default_status = Status.CANCELLED


class DeclinedError(Error):
    """The receiver declined; the message is its reason."""

    default_status = Status.DECLINED


class UnsupportedVersionError(Error):
    """The other side speaks another protocol version."""

    default_status = Status.UNSUPPORTED_VERSION


class NotThereYetError(Error, FileNotFoundError):
    """The file of a container is not there yet; synchronisation may bring it: try again later (R5.4)."""

    default_status = Status.NOT_THERE_YET


class NotAllowedError(Error, PermissionError):
    """The file is outside of the containers, is neither a file nor a folder, or the system forbids it (R5.4)."""

    default_status = Status.NOT_ALLOWED


class HandoffFailedError(Error):
    """The continuation failed on the other side."""

    default_status = Status.HANDOFF_FAILED


class ConnectionUnavailableError(Error, ConnectionError):
    """The origin or the hub cannot be reached."""

    default_status = Status.CONNECTION_UNAVAILABLE


class RemoteApplicationTimedOutError(Error, TimeoutError):
    """The origin did not answer in time."""

    default_status = Status.REMOTE_APPLICATION_TIMED_OUT


class UserInfoTooLargeError(Error, ValueError):
    """user_info is larger than its limit; the message names the largest entries."""

    default_status = Status.USER_INFO_TOO_LARGE


class UserCancelledError(Error):
    """The user, or a newer continuation of the same app, cancelled."""

    default_status = Status.USER_CANCELLED


_CLASSES: dict[int, type[Error]] = {kind.default_status: kind for kind in Error.__subclasses__()}


def error_of(status: int, message: str) -> Error:
    """The exception for a status."""
    kind = _CLASSES.get(status)
    return Error(message, status) if kind is None else kind(message, Status(status))


class StreamError(Error):
    """A stream ended before the other side had written all of its data (R7.3)."""

    default_status = Status.HANDOFF_FAILED


class StreamAbortedError(StreamError, HandoffFailedError, ConnectionAbortedError):
    """The other side aborted the stream, or closed it without stating how it ended (code 0)."""

    abort_code: int

    def __init__(self, abort_code: int):
        super().__init__(f"the other side aborted the stream with code {abort_code}")
        self.abort_code = abort_code


class StreamBrokenError(StreamError, ConnectionUnavailableError, ConnectionResetError):
    """The process of the other side, or the connection to it, is gone."""

    default_status = Status.CONNECTION_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__("the other side of the stream, or the way to it, is gone")
