# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read-only values from inside user_info, since changes to them would be lost."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NoReturn

from .values import Map

_ADVICE = (
    "what is read from user_info cannot be changed: assign it anew, or write "
    "`with activity.user_info.editing() as entries:` and change it there"
)


def _refuse(self: Any, *arguments: Any, **options: Any) -> NoReturn:
    raise TypeError(_ADVICE)


class ReadOnlyList(list[Any]):
    """Equal to a list, and copied as one."""

    __slots__ = ()

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __imul__ = _refuse

    def __iadd__(self, other: Iterable[Any]) -> list[Any]:  # type: ignore[misc, override]
        """For `user_info["tags"] += ["new"]`, which assigns the sum."""
        return [*self, *other]

    def __copy__(self) -> list[Any]:
        return list(self)

    copy = __copy__

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(each, memo) for each in self]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (list, (list(self),))


class ReadOnlyDict(dict[Any, Any]):
    """Equal to a dict, and copied as one."""

    __slots__ = ()

    pop = popitem = clear = update = setdefault = _refuse
    __setitem__ = __delitem__ = _refuse

    def __ior__(self, other: Any) -> dict[Any, Any]:  # type: ignore[misc, override]
        """For `user_info["page"] |= {"line": 3}`, which assigns the union."""
        return {**self, **dict(other)}

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    copy = __copy__

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return {copy.deepcopy(key, memo): copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (dict, (dict(self),))


def read_only(value: Any) -> Any:
    """Returns a read-only version of a value. Its depth is bounded, since it comes from the library."""
    if type(value) is list:
        return ReadOnlyList(map(read_only, value))
    if type(value) is dict:
        return ReadOnlyDict((key, read_only(element)) for key, element in value.items())
    if type(value) is set:
        return frozenset(value)
    if type(value) is Map:
        return Map((key, read_only(element)) for key, element in value.pairs)
    return value
