# SPDX-License-Identifier: Apache-2.0
"""The process of the command: its streams, its errors, its exit status."""

from __future__ import annotations

import asyncio
import errno
import inspect
import logging
import signal
import sys
from pathlib import Path
from typing import Any

from .._log import logger
from .._native import LibraryError
from .._terminal import shown, shown_lines
from ..errors import Error, RemoteApplicationTimedOutError
from .arguments import arguments
from .output import MESSAGE, CommandError, UsageError, said
from .streams import die_of, discard_output, prepare_streams

FAILED, WRONG_USAGE, TIMED_OUT = 1, 2, 3
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Of standard output: other files are written by the library, or have their own words."""


class Escaping(logging.Formatter):
    """Escapes log lines, which name types and errors of others, too."""

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record), MESSAGE)


def main() -> int:
    """Runs the command of this process. Returns its exit status; dies of SIGINT and SIGPIPE as other programs do."""
    try:
        prepare_streams()
        handler = logging.StreamHandler()
        handler.setFormatter(Escaping())
        logger.addHandler(handler)
        try:
            return run()
        finally:
            sys.stdout.flush()
    except CommandError as error:
        return fail(str(error))
    except KeyboardInterrupt:
        return die_of(signal.SIGINT)
    except BrokenPipeError:
        return die_of(signal.SIGPIPE)
    except OSError as error:
        discard_output()
        return fail(f"standard output: {said(error)}")


def run() -> int:
    name = "python -m segue" if Path(sys.argv[0]).name == "__main__.py" else "segue"
    try:
        options = arguments(name).parse_args()
        result: Any = options.run(options)
        return int(asyncio.run(result) if inspect.iscoroutine(result) else result)
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


def fail(message: str, status: int = FAILED) -> int:
    print(f"segue: {message}", file=sys.stderr)
    return status
