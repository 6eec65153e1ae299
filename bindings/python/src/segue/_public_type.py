# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The common part of the classes of `segue.public_types`: they check values by the table of public types (R13.3)."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from ._continuation import Continuation
from .errors import MalformedError
from .values import URL

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]*")
_INTEGERS = range(-(2**63), 2**63)

Self = TypeVar("Self", bound="PublicType")


class Key(NamedTuple):
    """A key of the table: its kind, and what bounds its values."""

    name: str
    kind: str
    least: float = -math.inf
    most: float = math.inf
    values: str = ""
    """The only ones of a string, with blanks between; all if it is empty. The same of schemes."""
    pattern: str = ""
    schemes: str = ""
    is_local: bool = False
    """A file URL without a host."""

    @property
    def attribute(self) -> str:
        """The name that it has in Python: open_urls for openURLs."""
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", self.name).lower()

    def taken(self, value: Any) -> Any:
        """Returns the value in the kind of the table. Raises: ValueError"""
        if self.kind == "urls":
            if not isinstance(value, (list, tuple)):
                raise ValueError("an array of URLs is needed")
            return [self._url(each) for each in value]
        return getattr(self, f"_{self.kind}")(value)

    def _bool(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError("a bool is needed")
        return value

    def _integer(self, value: Any) -> int:
        number = self._double(value)
        exact = value if isinstance(value, int) else int(number)
        if exact != value or exact not in _INTEGERS:
            raise ValueError("an integer is needed")
        return exact

    def _double(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError("a number is needed")
        if not -(2.0**64) < value < 2.0**64:
            raise ValueError("a finite number is needed")
        if not self.least <= value <= self.most:
            raise ValueError("out of range")
        return float(value)

    def _string(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("a string is needed")
        if self.values and value not in self.values.split():
            raise ValueError("another value is needed")
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise ValueError("has another form")
        return value

    def _url(self, value: Any) -> URL:
        text = str(value) if isinstance(value, (str, URL)) else ""
        if not _URL.fullmatch(text):
            raise ValueError("a URL is needed")
        scheme, _, rest = text.partition(":")
        host = re.split(r"[/?#]", rest[2:])[0] if rest.startswith("//") else ""
        if "@" in host:
            raise ValueError("a URL with a user is not handed over")
        if self.schemes and scheme.lower() not in self.schemes.split():
            raise ValueError("another scheme is needed")
        if self.is_local and (host or not rest.startswith("/")):
            raise ValueError("a file URL without host is needed")
        return URL(text)


VERSION = 1
"""The highest payload version of a public type that this package knows."""


def decline_newer(type: str, continuation: Continuation) -> None:
    """Declines a continuation whose payload version is higher than the table's: `app.on_will_continue(decline_newer)`.
    For an app that continues public types alone: a version counts for its type."""
    if continuation.offer.payload_version > VERSION:
        continuation.decline(f"the payload of {type} is of a newer version than this program knows")


class PublicType:
    """The state of an activity of a public type (R13.2). An attribute that is None is a key that is absent."""

    TYPE: ClassVar[str]
    """The type of the activity."""
    _REQUIRED: ClassVar[tuple[str, ...]]
    """Keys with blanks between; of each group one at least is needed."""
    _KEYS: ClassVar[tuple[Key, ...]]

    @classmethod
    def _sorted_out(cls, user_info: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the good values, and what is wrong, both by key."""
        good: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for key in cls._KEYS:
            if key.name not in user_info:
                continue
            try:
                good[key.name] = key.taken(user_info[key.name])
            except ValueError as error:
                wrong[key.name] = str(error)
        for group in map(str.split, cls._REQUIRED):
            if not any(name in good for name in group):
                wrong.setdefault(group[0], f"{' or '.join(group)} is required")
        return good, wrong

    @classmethod
    def _needed(cls, user_info: Mapping[Any, Any]) -> dict[str, Any]:
        """Returns the good values. Raises: MalformedError if a required key is missing or wrong"""
        good, wrong = cls._sorted_out(user_info)
        required = " ".join(cls._REQUIRED).split()
        for name, why in wrong.items():
            if name in required:
                raise MalformedError(f"{cls.TYPE}: {name}: {why}")
            logging.getLogger("segue").warning("%s: %s is left out: %s", cls.TYPE, name, why)
        return good

    @classmethod
    def problems(cls, user_info: Mapping[Any, Any]) -> dict[str, str]:
        """Returns what is wrong, by key. A required key that is missing is among them."""
        return cls._sorted_out(user_info)[1]

    @classmethod
    def read(cls: type[Self], user_info: Mapping[Any, Any]) -> Self:
        """Reads what has come, such as the `user_info` of an activity that is continued. An optional key that is wrong
        is left out, and the logger `segue` names it. Keys of other apps are not read.

        Raises: MalformedError if a required key is missing or wrong. If the callback or the `with` block raises it, the
        continuation fails.
        """
        good = cls._needed(user_info)
        return cls(**{key.attribute: good[key.name] for key in cls._KEYS if key.name in good})

    def to_user_info(self) -> dict[str, Any]:
        """Returns the keys that are not None, in the kinds of the table. An optional one that is wrong is left out, and
        the logger `segue` names it.

        Raises: MalformedError if a required key is missing or wrong. If `on_will_save` raises it, the save fails.
        """
        given = {key.name: getattr(self, key.attribute) for key in self._KEYS}
        return self._needed({name: value for name, value in given.items() if value is not None})
