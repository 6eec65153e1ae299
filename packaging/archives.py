# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Archives of programs' extensions: the same files give the same bytes."""

from __future__ import annotations

import zipfile
from pathlib import Path

DATE = (2026, 1, 1, 0, 0, 0)  # of every file


def write(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(entry, data)
