# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of handlers, for type checkers only."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

A = TypeVar("A", contravariant=True)
B = TypeVar("B", contravariant=True)
C = TypeVar("C", contravariant=True)


# A callback can be a method of a subclass, which is called with what the first overload says, or a function that is
# given to a decorator, as in the second. A type checker compares such a method with both. The second is compatible
# with it nevertheless: a handler is an Any, too, and behind it stands (*args: Any, **kwargs: Any). If nothing stands
# before that, a decorated function is only checked when it runs.
class Handler1(Protocol[A], Any):  # type: ignore[misc]
    def __call__(self, a: A, /) -> Any: ...


class Handler2(Protocol[A, B], Any):  # type: ignore[misc]
    def __call__(self, a: A, b: B, /) -> Any: ...


class Handler3(Protocol[A, B, C], Any):  # type: ignore[misc]
    def __call__(self, a: A, b: B, c: C, /) -> Any: ...
