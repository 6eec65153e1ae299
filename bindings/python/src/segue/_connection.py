# SPDX-License-Identifier: Apache-2.0
"""The connection of an app to the hub of its device."""

from __future__ import annotations

import enum


class Connection(enum.IntEnum):
    """The state of an app's connection to the device's hub."""

    SEARCHING = 0
    """Looking for a hub, or becoming it."""
    READY = 1
    """Registered, and all offers that the hub knew at that time have arrived."""
