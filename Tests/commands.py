# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `segue` inside the process of a test: what starts and ends at once costs no process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from segue._command.program import run


class Said(NamedTuple):
    out: str
    err: str


def segue(folder: Path, *words: str, status: int = 0, answer: str = "") -> Said:
    """Runs the command with these words, and returns its output. Fails if its exit status is another one.

    folder: the runtime folder
    answer: its standard input
    """
    out, err = io.StringIO(), io.StringIO()
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as typed:
        typed.write(answer)
    with (
        os.fdopen(reading) as stdin,
        mock.patch.dict(os.environ, SEGUE_RUNTIME_DIR=str(folder)),
        mock.patch.multiple(sys, argv=["segue", *words], stdin=stdin),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        ended = run()
    said = Said(out.getvalue(), err.getvalue())
    assert ended == status, said
    return said
