# SPDX-License-Identifier: Apache-2.0
"""Objects of which there is one."""

from __future__ import annotations

from typing import Any, Callable, NoReturn

from .errors import Error


class Unique:
    """It stands for something of the library: a copy would give back what belongs to the original."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: it stands for an object of this process")


def shown(thing: object, state: Callable[[], str]) -> str:
    """How something is shown to people, which never raises: not after a fork either, or half made."""
    try:
        return f"<segue.{type(thing).__name__} {state()}>"
    except (Error, AttributeError) as error:
        return f"<segue.{type(thing).__name__}: {type(error).__name__}>"
