# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why an activity does not get somewhere (R6.5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why an activity is not offered somewhere (R6.5)."""

    reason: str
    """As in "not current"."""
    message: str
    app: str | None = None
    """The app that it concerns; None where it concerns all, or a device."""
    device: str | None = None
    """The name of the other device that it concerns; None where it concerns none, or all."""
