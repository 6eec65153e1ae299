# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that wait for the agent."""

from __future__ import annotations

from typing import Any

from . import _native
from ._native import library
from ._values import taken, value_of


class Asking:
    """An app as far as it waits for answers of the agent."""

    _handle: int
    _is_simulated: bool

    def _ask(self, request: str, options: dict[str, Any] | None = None, timeout_ms: int = 0) -> dict[str, Any]:
        """Makes a request by its name (segue.h, sections 14 and 15), and returns the answer. Ctrl-C works meanwhile."""
        # Without this object: whoever was interrupted can let go of the app, which ends the call.
        app, name = self._handle, request.encode()

        def ask() -> Any:
            with value_of(options or {}) as value:
                arguments = (app, name, len(name), value, timeout_ms)
                return taken(_native.created(library.segue_app_ask_agent, *arguments))

        answer: dict[str, Any] = self._waited(ask)
        return answer

    def _asked(self, function: Any, *arguments: Any) -> Any:
        """Returns the value that a function gives as its last output. Ctrl-C works meanwhile."""
        return self._waited(lambda: taken(_native.created(function, *arguments)))

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
