# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command that runs a program under valgrind, which reports leaks and accesses outside of the program's memory."""

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
