# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The callbacks of apps, and what each is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._hooks import Hooked, hook

if TYPE_CHECKING:
    from typing import overload

    from ._activity import Activity
    from ._connection import Connection
    from ._continuation import Continuation
    from ._handlers import Handler1, Handler2, Handler3
    from ._offer import Offer, OfferEventKind
    from ._receipt import Receipt
    from ._stream import Stream
    from .errors import Error
    from .values import URL


class AppCallbacks(Hooked):
    """The callbacks of an app, and those for all of its activities (R3.12)."""

    if TYPE_CHECKING:

        @overload
        def on_offer(self, kind: OfferEventKind, offer: Offer, /) -> Any: ...
        @overload
        def on_offer(self, handler: Handler2[OfferEventKind, Offer], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_offer(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_connection(self, connection: Connection, /) -> Any: ...
        @overload
        def on_connection(self, handler: Handler1[Connection], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_connection(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_will_continue(self, type: str, continuation: Continuation, /) -> Any: ...
        @overload
        def on_will_continue(self, handler: Handler2[str, Continuation], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_will_continue(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_continue(self, activity: Activity, continuation: Continuation, /) -> Any: ...
        @overload
        def on_continue(self, handler: Handler2[Activity, Continuation], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_continue(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_did_fail(self, type: str, error: Error, continuation: Continuation, /) -> Any: ...
        @overload
        def on_did_fail(self, handler: Handler3[str, Error, Continuation], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_did_fail(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_did_update(self, activity: Activity, /) -> Any: ...
        @overload
        def on_did_update(self, handler: Handler1[Activity], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_did_update(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_open_document(self, url: URL, activity: Activity, continuation: Continuation, /) -> Any: ...
        @overload
        def on_open_document(
            self, handler: Handler3[URL, Activity, Continuation], /, *args: Any, **kwargs: Any
        ) -> Any: ...
        def on_open_document(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_will_save(self, activity: Activity, /) -> Any: ...
        @overload
        def on_will_save(self, handler: Handler1[Activity], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_will_save(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_was_continued(self, activity: Activity, receipt: Receipt, /) -> Any: ...
        @overload
        def on_was_continued(self, handler: Handler2[Activity, Receipt], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_was_continued(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_continuation_ended(self, activity: Activity, receipt: Receipt, /) -> Any: ...
        @overload
        def on_continuation_ended(self, handler: Handler2[Activity, Receipt], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_continuation_ended(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_will_resume_back(self, activity: Activity, changed: bool, /) -> Any: ...
        @overload
        def on_will_resume_back(self, handler: Handler2[Activity, bool], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_will_resume_back(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_did_resume_back(self, activity: Activity, stale: bool, /) -> Any: ...
        @overload
        def on_did_resume_back(self, handler: Handler2[Activity, bool], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_did_resume_back(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_did_receive_stream(self, activity: Activity, stream: Stream, /) -> Any: ...
        @overload
        def on_did_receive_stream(self, handler: Handler2[Activity, Stream], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_did_receive_stream(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def on_request(self, activity: Activity, data: bytes, /) -> Any: ...
        @overload
        def on_request(self, handler: Handler2[Activity, bytes], /, *args: Any, **kwargs: Any) -> Any: ...
        def on_request(self, *args: Any, **kwargs: Any) -> Any: ...
    else:
        on_offer = hook("kind", "offer", doc="An offer appeared, changed or is gone (R2.7).")
        on_connection = hook("connection", doc="The connection to the hub changed.")
        on_will_continue = hook(
            "type",
            "continuation",
            doc="A continuation begins (R3.1): show progress. Only this callback may decline, at once.",
        )
        on_continue = hook(
            "activity",
            "continuation",
            doc="The activity has arrived (R3.4). False: not handled. `segue.LATER`, of this handler only: it is "
            "answered later, by a call; keep the continuation, since a dropped one is declined. A Future: by its "
            "result; may be async def. If the attempt ends without an "
            "answer (its deadline, a cancel, the next continuation), the coroutine or Future is cancelled, the "
            "continuation raises the error, and the log has it unless somebody awaits it.",
        )
        on_did_fail = hook(
            "type",
            "error",
            "continuation",
            doc="A continuation failed before on_continue; no other callback follows (R3.2).",
        )
        on_did_update = hook(
            "activity",
            doc="The last word in a save of an activity, after its on_will_save and its responders (R4.2).",
        )
        on_open_document = hook(
            "url",
            "activity",
            "continuation",
            doc="Returns the Document of an activity that on_continue did not handle, or there is none (R3.5), or a "
            "Future of it; may be async def, and is cancelled as that of on_continue. None, or an error: it cannot be "
            "opened. The document gets the activity.",
        )
        on_will_save = hook(
            "activity",
            doc="Brings the activity up to date: a save is due (R2.2). If it raises, the save has failed, "
            "and receivers that wait for it read the text of the error.",
        )
        on_was_continued = hook(
            "activity",
            "receipt",
            doc="Another app continued it and restored everything (R3.6). May invalidate the activity, to move it.",
        )
        on_continuation_ended = hook("activity", "receipt", doc="An attempt ended, whatever its outcome.")
        on_will_resume_back = hook(
            "activity",
            "changed",
            doc="Its state where it was continued has come, to replace this one (R3.10): True or False, or a Future of "
            "that; may be async def. Changed: this one has changed since. With None, or without an answer within 5 s, "
            "changes stay, and what is unchanged is replaced.",
        )
        on_did_resume_back = hook(
            "activity",
            "stale",
            doc="It was replaced by the state in the app that had continued it (R3.10): show it. Stale: an older one.",
        )
        on_did_receive_stream = hook("activity", "stream", doc="A receiver asks for a stream (R7.1).")
        on_request = hook(
            "activity",
            "data",
            doc="A receiver sends a request (R7.5). Returns the answer, or raises a DeclinedError.",
        )
