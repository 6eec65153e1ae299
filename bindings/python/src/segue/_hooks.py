# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks as methods of a subclass, or as functions given to a decorator; sync or async."""

from __future__ import annotations

import asyncio
import concurrent.futures
import difflib
import enum
import functools
import inspect
import warnings
from typing import Any, Callable, Final, Union


class Answer(enum.Enum):
    """An answer of a handler that is no value."""

    LATER = "later"

    def __repr__(self) -> str:
        return f"segue.{self.name}"


LATER: Final = Answer.LATER
"""The result of `on_continue` if it answers later, on any thread: by `continuation.complete` or `continuation.fail`.
Other handlers return a `concurrent.futures.Future`, or are `async def`."""

NOT_LATER = "segue.LATER is an answer of on_continue: elsewhere return a Future, or use `async def`"
Handler = Callable[..., Any]
Later = Union["asyncio.Future[Any]", "concurrent.futures.Future[Any]"]


class _Hook:
    """A placeholder in a base class for a callback. Calling or assigning it registers a function."""

    def __init__(self, arguments: tuple[str, ...], doc: str):
        self.arguments = arguments
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        def register(handler: Handler) -> Handler:
            if not callable(handler):
                raise TypeError(f"@{self._name} decorates a function, not {handler!r}")
            self.check(handler, handler, self.arguments)
            instance._handlers[self._name] = handler
            instance._hooked()
            return handler

        return register

    def __set__(self, instance: Any, handler: Handler | None) -> None:
        if handler is None:
            instance._handlers.pop(self._name, None)
        else:
            self.__get__(instance, type(instance))(handler)

    def check(self, where: Any, handler: Handler, arguments: tuple[str, ...]) -> None:
        """Raises TypeError if a handler cannot be called with these arguments."""
        try:
            signature = inspect.signature(handler)
        except (TypeError, ValueError):  # it is not of Python
            return
        try:
            signature.bind(*arguments)
        except TypeError as error:
            name = getattr(where, "__qualname__", repr(where))
            wanted = ", ".join(self.arguments)
            raise TypeError(f"{name}: {self._name} is called with ({wanted}): {error}") from None


def hook(*arguments: str, doc: str) -> Any:
    """Declares a callback of a class: override it as a method, or decorate a function with it.

    arguments: the names of what it is called with
    """
    return _Hook(arguments, doc)


def hooks_of(kind: type) -> dict[str, _Hook]:
    """The callbacks that a class can have, by name."""
    return {name: value for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, _Hook)}


def is_hooked(kind: type) -> bool:
    """Whether a class has methods for some of its callbacks."""
    return any(not isinstance(getattr(kind, name), _Hook) for name in hooks_of(kind))


class Hooked:
    """An object with callbacks."""

    _handlers: dict[str, Handler]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hooks = hooks_of(cls)
        for name, value in list(vars(cls).items()):
            hook = hooks.get(name)
            if hook is None:
                _warn_of_unknown(cls, name, hooks)
            elif inspect.isfunction(value):
                hook.check(value, value, ("self", *hook.arguments))
                setattr(cls, name, _registering(hook, value))

    def _check_names(self) -> None:
        """Warns of attributes that are named like callbacks, but are none."""
        for name in vars(self):
            _warn_of_unknown(type(self), name, hooks_of(type(self)))

    def _hooked(self) -> None:
        """A handler was registered."""

    def _handler(self, name: str) -> Handler | None:
        handler = self._handlers.get(name)
        if handler is None and not isinstance(getattr(type(self), name), _Hook):
            handler = getattr(self, name)
        return handler


def _registering(hook: _Hook, method: Handler) -> Handler:
    """Returns a method that is still a decorator, as its callback is in the base class: called with one function, which
    is no argument of any callback, it registers that for its object."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if len(arguments) == 1 and not options and _is_function(arguments[0]):
            return hook.__get__(self, type(self))(arguments[0])
        return method(self, *arguments, **options)

    return call


def _is_function(value: Any) -> bool:
    return inspect.isroutine(value) or isinstance(value, (type, functools.partial))


def _warn_of_unknown(kind: type, name: str, hooks: dict[str, _Hook]) -> None:
    if name.startswith("on_") and name not in hooks:
        near = difflib.get_close_matches(name, hooks, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(hooks))}"
        warnings.warn(f"{kind.__name__} has no callback {name}{hint}", UserWarning, stacklevel=4)


def is_later(result: Any) -> bool:
    """Whether a handler's answer comes later. Raises: TypeError for a generator, of which nothing has run, and for
    `LATER`, which says nothing of how the answer comes."""
    if result is LATER:
        raise TypeError(NOT_LATER)
    if isinstance(result, concurrent.futures.Future) or inspect.isawaitable(result):
        return True
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError(f"{result.__qualname__} has a yield: it was not run; a handler is a function, or `async def`")
    return False


def answer_now(result: Any, what: str) -> Any:
    """Returns a handler's answer. Raises TypeError if it comes later, and then counts for nothing."""
    if is_later(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(f"{what} cannot be async: its answer counts at once")
    return result
