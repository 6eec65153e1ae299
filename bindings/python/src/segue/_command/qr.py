# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws a QR code in a terminal, if `segno` is installed."""

from __future__ import annotations

import io
import sys

WHITE_ON_BLACK, PLAIN = "\x1b[38;5;231;48;5;16m", "\x1b[0m"
"""The light parts of a code have to be light in every terminal: not all cameras read the reverse."""


def drawn(text: str) -> str | None:
    """Returns lines that show the code of a text; None without `segno`, or if the terminal cannot show its blocks."""
    try:
        import segno
    except ImportError:
        return None
    drawing = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(drawing, compact=True)
    try:
        drawing.getvalue().encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return None
    return "\n".join(f"{WHITE_ON_BLACK}{line}{PLAIN}" for line in drawing.getvalue().splitlines())
