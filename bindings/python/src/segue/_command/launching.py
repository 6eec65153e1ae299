# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`segue continue --app BUNDLE` and `--launch` at once: with the library, and without what else the command loads. The
user waits for a window or a page, and loading the rest takes longer than a browser takes to show one.

What cannot be done at once, and all errors, are left to `receiver`, which knows the words for them."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from time import monotonic

from .. import _native, _table
from .._connection import Connection, state_of
from .._native import library, take_bytes, take_text
from .._terminal import shown, shown_lines
from ..errors import Error, NotAllowedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

IDENTIFIER, NAME = "segue.command", "segue command line"
"""The app that the command is."""
PATIENCE_MS = 2000
"""Milliseconds to find the hub."""
TAGGED = 2
"""SEGUE_JSON_TAGGED"""
UUID_PARTS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))


def launched(words: list[str]) -> Callable[[], int] | None:
    """Continues the frontmost offer in another app. Returns what says how it ended, and returns the exit status; None:
    nothing was done."""
    wanted = choice(words)
    if wanted is None or "SEGUE_LOG" in os.environ or not are_open(0, 1, 2):
        return None
    bundle = wanted or None
    app = None
    try:
        app = _native.created(library.segue_app_create, IDENTIFIER.encode(), len(IDENTIFIER))
        offer = frontmost(app) if is_ready(app) else None
        if offer is None or not fits(app, offer, bundle):
            close(app)
            return None
        texts = (library.segue_offer_get_type, library.segue_offer_get_app_name, library.segue_offer_get_device_name)
        names = (shown(take_text(each, offer) or "") for each in texts)
        print(shown_lines("continuing {} from {} on {}".format(*names)), file=sys.stderr, flush=True)
    except (Error, OSError):
        close(app)
        return None
    error, result = None, None
    telling = Telling(app)
    try:
        name = (bundle or "").encode()
        result = _native.created(library.segue_app_launch, app, offer, name if bundle else None, len(name), 0)
    except NotAllowedError:  # `receiver` may ask its user (R13.7), and tries once more
        telling.end()
        close(app)
        return None
    except Error as problem:
        error = problem
    telling.end()
    close(app)

    def report() -> int:
        from .receiver import report_launch

        return report_launch(result, error)

    return report


def choice(words: list[str]) -> str | None:
    """The app that is named, "" if it is that which fits; None: there are other words."""
    if words[:1] != ["continue"]:
        return None
    if words[1:] == ["--launch"]:
        return ""
    named = words[2:] if words[1:2] == ["--app"] else [words[1][6:]] if words[1:2] and words[1][:6] == "--app=" else []
    return named[0] if len(named) == 1 and len(words) <= 3 and named[0] and named[0][0] != "-" else None


def are_open(*descriptors: int) -> bool:
    try:
        return all(os.fstat(each) for each in descriptors)
    except OSError:
        return False


_on_connection = _table.CONNECTION(lambda *_: None)
"""Lets `segue_app_dispatch` return."""


def is_ready(app: int) -> bool:
    """Opens the app, and waits until it knows what is offered."""
    library.segue_app_set_name(app, NAME.encode(), len(NAME))
    library.segue_app_set_chooser(app, True)
    delegate = _native.created(library.segue_app_delegate_create, None, _table.DESTROY())
    library.segue_app_delegate_on_connection(delegate, _on_connection)
    library.segue_app_set_delegate(app, delegate)
    library.segue_app_open(app)  # keeps the count of the delegate: this process ends soon
    end = monotonic() + PATIENCE_MS / 1000
    while state_of(app)[0] != Connection.READY:
        left = int(1000 * (end - monotonic()))
        if left <= 0:
            return False
        library.segue_app_dispatch(app, left, ctypes.byref(_table.Size()))
    return True


def frontmost(app: int) -> int | None:
    offers = (_table.Handle * 1)()
    library.segue_app_get_offers(app, offers, 1, ctypes.byref(_table.Size()))
    found: int | None = offers[0]
    return found


def fits(app: int, offer: int, bundle: str | None) -> bool:
    """Whether the offer is surely not that of the app which is to continue it."""
    if bundle is not None:
        return take_text(library.segue_offer_get_bundle_identifier, offer) != bundle
    named = with_length(f'{{"activity":{identifier(offer)}}}')
    options = _native.created(library.segue_value_decode_json, *named, TAGGED)
    route = _native.created(library.segue_app_ask_agent, app, *with_length("route"), options, 0)
    against, count = ctypes.c_void_p(), _table.Size(1)
    library.segue_value_find_value(route, *with_length("candidates/0/against"), ctypes.byref(against))
    library.segue_value_get_count(against, ctypes.byref(count))
    role = take_text(library.segue_value_find_string, route, *with_length("candidates/0/role"))
    for each in (options, route, against.value or 0):
        _native.release(each)
    # A program that opens any file is a candidate for what this device itself offers, too (R13.7).
    return count.value == 0 and role not in (None, "opener", "default application")


def identifier(offer: int) -> str:
    """The identifier of an offer as JSON has it."""
    data = ctypes.create_string_buffer(_table.ID_SIZE)
    library.segue_offer_get_id(offer, data)
    digits = data.raw.hex()
    return f'{{"$uuid":"{"-".join(digits[begin:end] for begin, end in UUID_PARTS)}"}}'


def with_length(text: str) -> tuple[bytes, int]:
    data = text.encode()
    return data, len(data)


def close(app: int | None) -> None:
    """Lets go of the app and its offers: the process ends, or begins anew."""
    if app is not None:
        library.segue_app_close(app)


class Telling:
    """Tells people if the agent is stopped: its answer may come once it goes on."""

    def __init__(self, app: int):
        self._app = app
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        is_told = False
        while not is_told and not self._ended.wait(PATIENCE_MS / 1000):
            from .session import tells_of_stopped_agent

            is_told = tells_of_stopped_agent((take_bytes(library.segue_app_describe, self._app) or b"").decode())

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
