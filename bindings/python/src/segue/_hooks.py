# SPDX-License-Identifier: Apache-2.0
"""Callbacks as methods of a subclass, or as functions given to a decorator; sync or async."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from typing import Any, Callable, Union

Handler = Callable[..., Any]
Later = Union["asyncio.Future[Any]", "concurrent.futures.Future[Any]"]


class _Hook:
    """Stands in a base class for a callback that has no method: calling it registers a function."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        def register(handler: Handler) -> Handler:
            if not callable(handler):
                raise TypeError(f"@{self._name} decorates a function, not {handler!r}")
            instance._handlers[self._name] = handler
            instance._hooked()
            return handler

        return register


def hook() -> Any:
    """A callback of a class: override it as a method, or decorate a function with it."""
    return _Hook()


def is_hooked(kind: type) -> bool:
    """Whether a class has methods for some of its callbacks."""
    bases = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, _Hook)}
    return any(not isinstance(getattr(kind, name), _Hook) for name in bases)


class Hooked:
    """An object with callbacks."""

    _handlers: dict[str, Handler]

    def _hooked(self) -> None:
        """A handler was registered."""

    def _handler(self, name: str) -> Handler | None:
        handler = self._handlers.get(name)
        if handler is None and not isinstance(getattr(type(self), name), _Hook):
            handler = getattr(self, name)
        return handler


def is_later(result: Any) -> bool:
    """Whether a handler's answer comes later."""
    return isinstance(result, concurrent.futures.Future) or inspect.isawaitable(result)
