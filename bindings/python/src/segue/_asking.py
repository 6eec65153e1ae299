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
        # A virtual fleet has no agent: its app refuses at once, and only its own thread may be inside of it.
        return call() if self._is_simulated else _native.interruptible(call)
