# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The callbacks of activities, and what each is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._hooks import Hooked, hook

if TYPE_CHECKING:
    from typing import overload

    from ._handlers import Handler1
    from ._receipt import Receipt
    from ._stream import Stream


class ActivityCallbacks(Hooked):
    """The callbacks of an activity."""

    if TYPE_CHECKING:

        @overload
        def on_will_save(self) -> Any: ...
        @overload
        def on_will_save(self, *args: Any, **kwargs: Any) -> Any: ...
        def on_will_save(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_was_continued(self, receipt: Receipt, /) -> Any: ...
        @overload
        def on_was_continued(self, handler: Handler1[Receipt], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_was_continued(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_continuation_ended(self, receipt: Receipt, /) -> Any: ...
        @overload
        def on_continuation_ended(self, handler: Handler1[Receipt], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_continuation_ended(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_will_resume_back(self, changed: bool, /) -> Any: ...
        @overload
        def on_will_resume_back(self, handler: Handler1[bool], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_will_resume_back(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_did_resume_back(self, stale: bool, /) -> Any: ...
        @overload
        def on_did_resume_back(self, handler: Handler1[bool], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_did_resume_back(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_did_receive_stream(self, stream: Stream, /) -> Any: ...
        @overload
        def on_did_receive_stream(self, handler: Handler1[Stream], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_did_receive_stream(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_request(self, data: bytes, /) -> Any: ...
        @overload
        def on_request(self, handler: Handler1[bytes], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_request(self, *args: Any, **kwargs: Any) -> Any: ...
    else:
        on_will_save = hook(
            doc="Brings the activity up to date: a save is due (R2.2). If it raises, the save has failed, "
            "and receivers that wait for it read the text of the error."
        )
        on_was_continued = hook(
            "receipt",
            doc="Another app continued it and restored everything (R3.6). May invalidate the activity, to move it.",
        )
        on_continuation_ended = hook("receipt", doc="An attempt ended, whatever its outcome.")
        on_will_resume_back = hook(
            "changed",
            doc="Its state where it was continued has come, to replace this one (R3.10): True or False, or a Future of "
            "that; may be async def. Changed: this one has changed since. With None, or without an answer within 5 s, "
            "changes stay, and what is unchanged is replaced.",
        )
        on_did_resume_back = hook(
            "stale",
            doc="It was replaced by the state in the app that had continued it (R3.10): show it. Stale: an older one.",
        )
        on_did_receive_stream = hook("stream", doc="A receiver asks for a stream (R7.1).")
        on_request = hook(
            "data",
            doc="A receiver sends a request (R7.5). Returns the answer, or raises a DeclinedError.",
        )
