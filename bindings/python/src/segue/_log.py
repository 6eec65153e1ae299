# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's log lines as records of the logger `segue`."""

from __future__ import annotations

import logging

from . import _native, _table

logger = logging.getLogger("segue")

_ERROR, _INFO, _DEBUG = 1, 2, 3
_LEVELS = {_ERROR: logging.ERROR, _INFO: logging.INFO, _DEBUG: logging.DEBUG}
_state = {"most": 0}


def _log(context: int, level: int, message: int, length: int) -> None:
    # Runs on any thread, the library's too. Finalizers that run meanwhile must not call the library.
    inside = _native._State.logging
    inside.inside = True
    try:
        logger.log(_LEVELS.get(level, logging.ERROR), "%s", _native.read_text(message, length))
    finally:
        inside.inside = False


_callback = _table.LOG(_log)


def follow_logger() -> None:
    """Sets the library's log level to that of the logger, so that unread lines cost nothing."""
    level = logger.getEffectiveLevel()
    most = _DEBUG if level <= logging.DEBUG else _INFO if level <= logging.INFO else _ERROR
    if most != _state["most"]:
        _native.library.segue_log_set(most, _callback, None, _table.DESTROY())
        _state["most"] = most
