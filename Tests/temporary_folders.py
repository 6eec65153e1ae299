# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary folders of tests."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 10.0
"""Seconds in which the programs of a test end, which may write into its folder until then."""


@contextlib.contextmanager
def temporary(prefix: str) -> Iterator[Path]:
    """A folder for one test. It is removed at the end, with what ending programs still write there."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield path
    finally:
        remove(path)


def remove(path: Path) -> None:
    """Removes a folder and its contents. A file that appears meanwhile is removed as well.

    Raises OSError if something still writes there after PATIENCE seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while path.exists():
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or time.monotonic() > deadline:
                raise
