# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of the user that the command changes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

NEW_MODE = 0o600
"""The mode of a file that was not there: others need not read what the user has set."""


def replace_file(file: Path, content: bytes, *, mode: int = NEW_MODE) -> None:
    """Writes a file, whole or not at all, also one behind a symbolic link. One that is there keeps its mode. Its folder
    is made. Raises OSError; then the file is as it was.

    mode: of a file that was not there
    """
    place = file.resolve()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if place.exists():
        mode = place.stat().st_mode & 0o7777
    descriptor, new = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as made:
            made.write(content)
            made.flush()
            os.fchmod(made.fileno(), mode)
            os.fsync(made.fileno())
        os.replace(new, place)
    except BaseException:
        os.unlink(new)
        raise
