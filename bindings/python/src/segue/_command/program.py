# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process of the command: its streams, its errors, its exit status."""

from __future__ import annotations

import asyncio
import errno
import inspect
import logging
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

from .._log import logger
from .._native import LibraryError
from .._terminal import shown, shown_lines
from ..errors import Error, RemoteApplicationTimedOutError
from .arguments import arguments
from .output import MESSAGE, CommandError, UsageError, said
from .receiver import report_ending
from .streams import die_of, discard_output, prepare_streams

FAILED, WRONG_USAGE, TIMED_OUT = 1, 2, 3
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that end programs. All of these let a verb tidy up: an invite is void, and a terminal shows again what is
typed."""
TOGETHER = 0.02
"""Seconds within which several SIGINTs count as one: Ctrl-C reaches a command more than once through `make`, `sudo` or
`timeout`, and what it does first, such as voiding an invite, should not be cut off by that."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""The errors of a full standard output. Other files are written by the library, or their errors have other words."""


class Escaping(logging.Formatter):
    """Escapes log lines, which name types and errors of others, too."""

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record), MESSAGE)


def main(done: str | None = None) -> int:
    """Runs the command of this process. Returns its exit status; dies of signals and SIGPIPE as other programs do.

    done: how a continuation has ended that the starter has made, as JSON; "{}": it has only said what is continued;
        None: nothing was done
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # outside of a loop there is nothing to tidy up
    try:
        prepare_streams()
        handler = logging.StreamHandler()
        handler.setFormatter(Escaping())
        logger.addHandler(handler)
        try:
            return run(done)
        finally:
            sys.stdout.flush()
    except CommandError as error:
        return fail(str(error))
    except Ended as ended:
        return die_of(ended.signal)
    except BrokenPipeError:
        return die_of(signal.SIGPIPE)
    except OSError as error:
        discard_output()
        return fail(f"standard output: {said(error)}")


def run(done: str | None = None) -> int:
    name = "python -m segue" if Path(sys.argv[0]).name == "__main__.py" else "segue"
    try:
        if done not in (None, "{}"):
            return report_ending(done)
        options = arguments(name).parse_args()
        options.is_announced = done is not None
        result: Any = options.run(options)
        return int(looped(result) if inspect.iscoroutine(result) else result)
    except SystemExit as leaving:  # of argparse
        return leaving.code if isinstance(leaving.code, int) else 0
    except BrokenPipeError:
        raise
    except CommandError as error:
        return fail(shown_lines(str(error)), WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except RemoteApplicationTimedOutError as error:
        return fail(said(error), TIMED_OUT)
    except Error as error:
        return fail(said(error))
    except (asyncio.TimeoutError, TimeoutError) as error:
        return fail(str(error) or "nothing came in time; SEGUE_LOG=debug shows what happens", TIMED_OUT)
    except (LibraryError, OSError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise
        return fail(said(error))


class Ended(BaseException):
    """A signal has ended the verb."""

    def __init__(self, number: signal.Signals):
        super().__init__(number)
        self.signal = number


def looped(work: Coroutine[Any, Any, int]) -> int:
    """Runs a verb in a loop. Raises: Ended after a signal, which cancels the verb, so that it tidies up."""
    came: list[signal.Signals] = []

    async def cancellable() -> int:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end(number: signal.Signals) -> None:
            came.append(number)
            loop.call_soon_threadsafe(task.cancel)

        with ended_by_signals(end):
            return await work

    try:
        return asyncio.run(cancellable())
    except (Exception, asyncio.CancelledError):
        if came:
            raise Ended(came[0]) from None
        raise


@contextmanager
def ended_by_signals(end: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Calls `end` at the first signal that ends programs. The next one ends the process at once, except for SIGHUP,
    which comes once more from a shell that leaves. An ignored one stays ignored."""
    if threading.current_thread() != threading.main_thread():
        yield
        return
    came: list[int] = []
    former: dict[signal.Signals, Any] = {}

    def handle(number: int, frame: object) -> None:
        if came:
            return
        came.append(number)
        end(signal.Signals(number))
        time.sleep(TOGETHER)
        sys.unraisablehook = lambda _: None  # Python says of one that comes just now that it has no handler
        for each in former:
            signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)

    for each in ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:
            former[each] = signal.signal(each, handle)
    try:
        yield
    finally:
        if not came:
            for each, action in former.items():
                signal.signal(each, action)


def fail(message: str, status: int = FAILED) -> int:
    print(f"segue: {message}", file=sys.stderr)
    return status
