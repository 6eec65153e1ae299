# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of public types (R13.2), and a checker: `problems` says what is wrong with the user_info of an activity."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("public-types.toml")
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]*")
FORMS = {
    "digest": r"sha-256:[0-9a-f]{64}",
    "mime": r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+",
    "line": r"[^\x00-\x1f\x7f-][^\x00-\x1f\x7f]*",
}
INTEGERS = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Key:
    name: str
    kind: str
    about: str
    least: float | None = None
    most: float | None = None
    values: tuple[str, ...] = ()
    form: str = ""
    first: str = ""
    rest: str = ""
    schemes: tuple[str, ...] = ()
    local: bool = False

    @property
    def pattern(self) -> str | None:
        """The regular expression of the whole value."""
        return f"[{self.first}][{self.rest}]*" if self.form == "name" else FORMS.get(self.form)

    def problem(self, value: Any) -> str | None:
        """Returns what is wrong with a value, by JSON's kinds; None if nothing is."""
        match self.kind:
            case "bool":
                return None if isinstance(value, bool) else "a bool is needed"
            case "integer" | "double":
                return self._problem_of_number(value)
            case "string":
                return self._problem_of_text(value)
            case "url":
                return self._problem_of_url(value)
            case _:
                if not isinstance(value, list):
                    return "an array of URLs is needed"
                return next(filter(None, map(self._problem_of_url, value)), None)

    def _problem_of_number(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{'an' if self.kind == 'integer' else 'a'} {self.kind} is needed"
        if not math.isfinite(value):
            return "a finite number is needed"
        if self.kind == "integer" and (value != int(value) or int(value) not in INTEGERS):
            return "an integer is needed"
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            return "out of range"
        return None

    def _problem_of_text(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return "a string is needed"
        if self.values and value not in self.values:
            return "another value is needed"
        if self.pattern and not re.fullmatch(self.pattern, value):
            return "has another form"
        return None

    def _problem_of_url(self, value: Any) -> str | None:
        if not isinstance(value, str) or not URL.fullmatch(value):
            return "a URL is needed"
        scheme, _, rest = value.partition(":")
        authority = re.split(r"[/?#]", rest[2:])[0] if rest.startswith("//") else ""
        if "@" in authority:
            return "a URL with a user is not handed over"
        if self.schemes and scheme.lower() not in self.schemes:
            return "another scheme is needed"
        if self.local and not rest.startswith(("///", "/")):
            return "a file URL without host is needed"
        if self.local and rest.startswith("//") and not rest.startswith("///"):
            return "a file URL without host is needed"
        return None


@dataclass(frozen=True)
class Type:
    name: str
    about: str
    required: tuple[tuple[str, ...], ...]
    keys: dict[str, Key]


def table() -> dict[str, Type]:
    found = {}
    for each in tomllib.loads(TABLE.read_text())["type"]:
        keys = {
            key["name"]: Key(
                **{name: tuple(value) if isinstance(value, list) else value for name, value in key.items()}
            )
            for key in each["key"]
        }
        found[each["name"]] = Type(each["name"], each["about"], tuple(map(tuple, each["required"])), keys)
    return found


TYPES = table()


def problems(name: str, user_info: dict[str, Any]) -> dict[str, str]:
    """Returns what is wrong, by key; a required group that has no key stands under its first one."""
    type = TYPES[name]
    found = {
        key: why for key, value in user_info.items() if key in type.keys and (why := type.keys[key].problem(value))
    }
    for group in type.required:
        if not any(key in user_info for key in group):
            found[group[0]] = f"{' or '.join(group)} is required"
    return found
