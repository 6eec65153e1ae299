# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signal handlers at each place at which Python runs them: where a function begins, and behind each call of C."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Callable

import segue

PACKAGE = str(Path(segue.__file__).parent)


def interrupt() -> None:
    raise KeyboardInterrupt


def handled_everywhere(call: Callable[[], Any], handler: Callable[[], Any] = interrupt) -> Iterator[int]:
    """Makes a call again and again, each time with the handler one place later inside of the package; yields behind
    each of these calls."""
    number = 0
    while True:
        number += 1
        places = 0

        def profile(frame: FrameType, event: str, argument: Any, wanted: int = number) -> None:
            nonlocal places
            if event in ("call", "c_return") and frame.f_code.co_filename.startswith(PACKAGE):
                places += 1
                if places == wanted:
                    handler()

        sys.setprofile(profile)
        try:
            call()
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        if places < number:
            return
        yield number
