# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The events of the offers that an app sees, for programs that iterate over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Callable

from ._loops import needed_loop, running_loop, soon
from ._offer import Offer, OfferEvent, OfferEventKind


class OfferEvents:
    """Publishes each event to all that listen; None at the end."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[OfferEvent | None], None]] = []

    def publish(self, event: OfferEvent | None) -> None:
        for listen in list(self._listeners):
            listen(event)

    async def since(
        self, current: Callable[[], list[Offer]], is_closed: Callable[[], bool]
    ) -> AsyncIterator[OfferEvent]:
        """Yields the current offers as appeared, and then every event."""
        loop = needed_loop()
        queue: asyncio.Queue[OfferEvent | None] = asyncio.Queue()

        def listen(event: OfferEvent | None) -> None:
            if running_loop() is loop:
                queue.put_nowait(event)
            elif not soon(loop, queue.put_nowait, event):
                self._forget(listen)  # its loop is closed, and nothing of the iteration will run

        self._listeners.append(listen)
        try:
            told = {}
            for offer in current():
                told[offer.id] = offer
                yield OfferEvent(OfferEventKind.APPEARED, offer)
            while not is_closed() or not queue.empty():
                event = await queue.get()
                if event is None:
                    return
                # The list may have been ahead of the events.
                id = event.offer.id
                if event.kind == OfferEventKind.GONE:
                    if told.pop(id, None) is None:
                        continue
                elif told.get(id) == event.offer:
                    continue
                elif event.kind == OfferEventKind.APPEARED and id in told:
                    event = OfferEvent(OfferEventKind.CHANGED, event.offer)
                if event.kind != OfferEventKind.GONE:
                    told[id] = event.offer
                yield event
        finally:
            self._forget(listen)

    def _forget(self, listen: Callable[[OfferEvent | None], None]) -> None:
        with suppress(ValueError):
            self._listeners.remove(listen)
