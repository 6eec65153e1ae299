# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for the agent."""

from __future__ import annotations

from typing import Any

from . import _native
from ._values import taken


class Asking:
    """An app as far as it waits for answers of the agent."""

    _handle: int
    _is_simulated: bool

    def _asked(self, function: Any, *arguments: Any) -> Any:
        """Returns the value that a function gives as its last output. Ctrl-C works meanwhile."""
        return self._waited(lambda: taken(_native.created(function, *arguments)))

    def _told(self, function: Any, *arguments: Any) -> None:
        """Calls a function that gives nothing. Ctrl-C works meanwhile."""
        self._waited(lambda: function(*arguments))

    def _waited(self, call: Any) -> Any:
        if not self._is_simulated:
            return _native.interruptible(call)
        try:
            return call()
        finally:
            self._has_advanced_fleet()

    def _has_advanced_fleet(self) -> None:
        """A call has advanced the fleet of the app: callbacks may have run."""
        raise NotImplementedError
