# SPDX-License-Identifier: Apache-2.0
"""What a program leaves behind, and where it reads and writes, watched by valgrind."""

from __future__ import annotations

import shutil

import pytest

# Undefined values are not looked for: optimised Swift copies the unused bits of enumerations, and tests words that
# hold some.
VALGRIND = (
    *("valgrind", "--quiet", "--undef-value-errors=no", "--fair-sched=yes", "--error-exitcode=9", "--leak-check=full"),
    *("--show-leak-kinds=definite,indirect", "--errors-for-leak-kinds=definite,indirect"),
)
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
