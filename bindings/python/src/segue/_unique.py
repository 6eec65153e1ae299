# SPDX-License-Identifier: Apache-2.0
"""Objects of which there is one."""

from __future__ import annotations

from typing import Any, NoReturn


class Unique:
    """It stands for something of the library: a copy would give back what belongs to the original."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: it stands for an object of this process")
