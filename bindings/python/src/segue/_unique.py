# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that cannot be copied."""

from __future__ import annotations

from ._attributes import KnownAttributes
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn


class Unique(KnownAttributes):
    """An object that owns a resource of the library, which a copy would release, too."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: it stands for an object of this process")


def shown(thing: object, state: Callable[[], str], module: str = "segue") -> str:
    """Returns a representation for people. Never raises, not even after a fork or for a half-initialised object."""
    try:
        return f"<{module}.{type(thing).__name__} {state()}>"
    except (Error, AttributeError) as error:
        return f"<{module}.{type(thing).__name__}: {type(error).__name__}>"
