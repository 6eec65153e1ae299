# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An app of the library, by its C interface."""

from __future__ import annotations

import ctypes
import time
import uuid
from collections.abc import Callable
from typing import Any

import cbor2
from project import LIBRARY

TEAM = "TEAM000001"
PATIENCE = 10  # seconds for what takes milliseconds


def load() -> ctypes.CDLL:
    library = ctypes.CDLL(str(LIBRARY))
    library.segue_free.argtypes = [ctypes.c_void_p]
    library.segue_free.restype = None
    return library


def ask_agent(
    library: ctypes.CDLL, app: ctypes.c_void_p, request: str, options: Any = None, timeout: int = 0
) -> tuple[int, Any]:
    """Asks the agent by name (segue.h, sections 14 and 15). Returns the status, and the answer or the message."""
    nul, value, answer = ctypes.c_size_t(-1), ctypes.c_void_p(), ctypes.c_void_p()
    if options is not None:
        made = cbor2.dumps(options)
        assert library.segue_value_decode(made, ctypes.c_size_t(len(made)), ctypes.byref(value)) == 0
    status = library.segue_app_ask_agent(
        app, request.encode(), nul, value, ctypes.c_uint32(timeout), ctypes.byref(answer)
    )
    if status != 0:
        message = ctypes.create_string_buffer(512)
        library.segue_last_error(message, ctypes.c_size_t(512))
        found = message.value.decode()
    else:
        encoded, length = ctypes.c_void_p(), ctypes.c_size_t()
        assert library.segue_value_encode(answer, ctypes.byref(encoded), ctypes.byref(length)) == 0
        found = cbor2.loads(ctypes.string_at(encoded, length.value))
        library.segue_free(encoded)
        assert library.segue_release(answer) == 0
    assert library.segue_release(value) == 0
    return status, found


class Native:
    """An app of the library. `seen` holds what its callbacks have noted, in their order."""

    def __init__(self, library: ctypes.CDLL, folder: str, types: tuple[str, ...] = ()):
        self.library, self.seen = library, []
        self.kept: list[Any] = []  # callbacks that the library may call
        self.app = ctypes.c_void_p()
        self.activity = ctypes.c_void_p()  # the last that it continued
        self.call("segue_app_create", b"com.example.native", len(b"com.example.native"), ctypes.byref(self.app))
        self.set_text("segue_app_set_team_identifier", TEAM)
        self.set_text("segue_app_set_runtime_folder", folder)
        for type in types:
            self.set_text("segue_app_add_activity_type", type)
        delegate = ctypes.c_void_p()
        self.call("segue_app_delegate_create", None, None, ctypes.byref(delegate))
        self.on("segue_app_delegate_on_offer", delegate, self.offer, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p])
        self.on("segue_app_delegate_on_connection", delegate, self.connection, [ctypes.c_void_p, ctypes.c_int32])
        self.on(
            "segue_app_delegate_on_will_continue",
            delegate,
            lambda *_: self.note("will_continue"),
            [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p],
        )
        self.on("segue_app_delegate_on_continue", delegate, self.continued, [ctypes.c_void_p] * 3, ctypes.c_int32)
        pointers = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self.on("segue_app_delegate_on_did_fail", delegate, self.failed, pointers)
        self.call("segue_app_set_delegate", self.app, delegate)
        self.delegate = delegate
        self.call("segue_app_open", self.app)

    def call(self, name: str, *arguments: Any) -> None:
        function = getattr(self.library, name)
        status = function(*[ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments])
        if status != 0:
            message = ctypes.create_string_buffer(512)
            self.library.segue_last_error(message, ctypes.c_size_t(512))
            raise AssertionError(f"{name}: {message.value.decode()}")

    def set_text(self, name: str, text: str, handle: ctypes.c_void_p | None = None) -> None:
        self.call(name, handle or self.app, text.encode(), len(text.encode()))

    def on(
        self, name: str, delegate: ctypes.c_void_p, function: Callable[..., Any], types: list[Any], result: Any = None
    ) -> None:
        callback = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *types)(lambda _, *arguments: function(*arguments))
        self.kept.append(callback)
        self.call(name, delegate, callback)

    def note(self, what: Any) -> bool:
        self.seen.append(what)
        return True

    def offer(self, _: int, event: int, offer: int) -> None:
        title, length = ctypes.c_void_p(), ctypes.c_size_t()
        self.call("segue_offer_get_title", ctypes.c_void_p(offer), ctypes.byref(title), ctypes.byref(length))
        self.note((("appeared", "changed", "gone")[event - 1], ctypes.string_at(title, length.value).decode()))
        self.library.segue_free(title)

    def connection(self, _: int, connection: int) -> None:
        self.note("ready" if connection == 1 else "searching")

    def continued(self, _: int, activity: int, __: int) -> int:
        document, length = ctypes.c_void_p(), ctypes.c_size_t()
        self.call("segue_activity_encode", ctypes.c_void_p(activity), ctypes.byref(document), ctypes.byref(length))
        self.call("segue_retain", ctypes.c_void_p(activity))
        self.call("segue_release", self.activity)
        self.activity = ctypes.c_void_p(activity)
        self.note(ctypes.string_at(document, length.value))
        self.library.segue_free(document)
        return 1

    def failed(self, _: int, __: int, ___: int, error: int, ____: int) -> None:
        status = ctypes.c_int32()
        self.call("segue_error_get_status", ctypes.c_void_p(error), ctypes.byref(status))
        self.note(("failed", status.value))

    def offer_document(self, document: bytes) -> tuple[ctypes.c_void_p, uuid.UUID]:
        """Makes the activity in a document current."""
        activity, id = ctypes.c_void_p(), ctypes.create_string_buffer(16)
        self.call("segue_activity_decode", self.app, document, len(document), ctypes.byref(activity))
        self.call("segue_activity_get_id", activity, id)
        delegate = ctypes.c_void_p()
        self.call("segue_activity_delegate_create", None, None, ctypes.byref(delegate))
        self.on("segue_activity_delegate_on_continuation_ended", delegate, self.receipt, [ctypes.c_void_p] * 2)
        self.call("segue_activity_set_delegate", activity, delegate)
        self.call("segue_activity_become_current", activity)
        return activity, uuid.UUID(bytes=id.raw)

    def receipt(self, _: int, receipt: int) -> None:
        outcome = ctypes.c_int32()
        self.call("segue_receipt_get_outcome", ctypes.c_void_p(receipt), ctypes.byref(outcome))
        self.note(("outcome", outcome.value))

    def resume_back(self, activity: ctypes.c_void_p) -> None:
        """Takes the state of its own activity back (R3.10); the status comes to `seen`, after the new document."""

        def ended(_: int, its: int, __: bool, error: int | None) -> None:
            status = ctypes.c_int32(0)
            if error is None:
                document, length = ctypes.c_void_p(), ctypes.c_size_t()
                self.call("segue_activity_encode", ctypes.c_void_p(its), ctypes.byref(document), ctypes.byref(length))
                self.note(ctypes.string_at(document, length.value))
                self.library.segue_free(document)
            else:
                self.call("segue_error_get_status", ctypes.c_void_p(error), ctypes.byref(status))
            self.note(("resumed back", status.value))

        pointers = [ctypes.c_void_p] * 2
        callback = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_bool, ctypes.c_void_p)(ended)
        self.kept.append(callback)
        self.call("segue_activity_resume_back", activity, 0, callback, None, None, None)

    def fetch(self, name: str, path: str) -> None:
        """Fetches an attachment of what it has continued; the status comes to `seen`."""

        def fetched(_: int, __: int, error: int | None) -> None:
            status = ctypes.c_int32(0)
            if error is not None:
                self.call("segue_error_get_status", ctypes.c_void_p(error), ctypes.byref(status))
            self.note(("fetched", status.value))

        def progressed(_: int, __: int, received: int, total: int) -> None:
            self.note(("progress", received, total))

        numbers = [ctypes.c_uint64] * 2
        progress = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *numbers)(progressed)
        callback = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(fetched)
        self.kept += [progress, callback]
        texts = [name.encode(), len(name.encode()), path.encode(), len(path.encode())]
        self.call("segue_activity_fetch_attachment", self.activity, *texts, progress, callback, None, None, None)

    def continue_first_offer(self) -> None:
        offer, count = ctypes.c_void_p(), ctypes.c_size_t()
        self.call("segue_app_get_offers", self.app, ctypes.byref(offer), 1, ctypes.byref(count))
        self.call("segue_app_continue", self.app, offer, 0, None)

    def until(self, what: Any) -> None:
        """Dispatches until the callbacks have seen it."""
        end = time.monotonic() + PATIENCE
        while what not in self.seen:
            if time.monotonic() > end:
                raise AssertionError(f"{what} was expected in {self.seen}")
            delivered = ctypes.c_size_t()
            status = self.library.segue_app_dispatch(self.app, ctypes.c_int32(200), ctypes.byref(delivered))
            assert status == 0, status

    def close(self) -> None:
        self.call("segue_release", self.activity)
        self.call("segue_app_close", self.app)
        self.call("segue_release", self.app)
        self.call("segue_release", self.delegate)
