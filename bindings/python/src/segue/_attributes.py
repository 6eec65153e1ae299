# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses attributes that a class of this package does not have."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PACKAGE = __name__.partition(".")[0]


class KnownAttributes:
    """An object whose attributes are those of its class: an assignment that is misspelt would do nothing. Instances of
    subclasses outside of this package may have attributes of their own."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would take any name then

        def __setattr__(self, name: str, value: Any) -> None:
            if not (hasattr(type(self), name) or name.startswith("_")) and is_closed(type(self)):
                raise AttributeError(_refusal(type(self), name))
            super().__setattr__(name, value)


def is_closed(kind: type) -> bool:
    """Whether it is a class of this package."""
    return kind.__module__.partition(".")[0] == _PACKAGE


def _refusal(kind: type, name: str) -> str:
    import difflib  # takes longer to load than all that a program does which assigns nothing wrong

    public = [each for each in dir(kind) if not each.startswith("_")]
    settable = [each for each in public if getattr(getattr(kind, each), "__set__", None) and _can_be_set(kind, each)]
    near = difflib.get_close_matches(name, settable, 1) or difflib.get_close_matches(name, public, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{kind.__name__} has no attribute {name!r}{hint}"


def _can_be_set(kind: type, name: str) -> bool:
    found = getattr(kind, name)
    return not isinstance(found, property) or found.fset is not None
