# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frontmost offer of another device, as bars of desktops show it: `watch --format waybar`."""

from __future__ import annotations

import asyncio
import html
import json

from .._account import Account
from .._app import App
from .._offer import Offer
from .._terminal import shown
from . import reach
from .session import chooser, connected

NOTHING = {"text": "", "alt": "none", "tooltip": "", "class": "none"}
PAUSE = 0.25
"""Seconds between two lines, so that a device which offers without end costs a bar little."""


class Elsewhere:
    """Tells offers of other devices from those of this one."""

    def __init__(self) -> None:
        self.account: Account | None = None
        self.names: set[str] = set()

    async def frontmost(self, app: App) -> Offer | None:
        """Returns the frontmost offer of another device. The account is asked for when a device has a new name."""
        offers = app.offers
        if not {offer.device_name for offer in offers} <= self.names:
            self.account = await reach.account_of(app)
            self.names = {offer.device_name for offer in offers}
        return next((offer for offer in offers if not reach.has_own_name(offer, self.account)), None)


async def watched() -> int:
    elsewhere, last = Elsewhere(), ""
    async with chooser() as app:
        changed = asyncio.Event()
        listening = asyncio.ensure_future(listen(app, changed))
        try:
            await connected(app, None)
            while not listening.done():
                changed.clear()
                line = json.dumps(module(await elsewhere.frontmost(app)), ensure_ascii=False)
                if line != last:
                    print(line, flush=True)
                    last = line
                    await asyncio.sleep(PAUSE)
                await changed.wait()
        finally:
            listening.cancel()
    return 0


async def listen(app: App, changed: asyncio.Event) -> None:
    async for _ in app.offer_events():
        changed.set()
    changed.set()


def module(offer: Offer | None) -> dict[str, str]:
    """Returns what Waybar takes of a custom module. It reads markup in it."""
    if offer is None:
        return NOTHING
    title, app, device = (safe(text) for text in (offer.title or offer.app_name, offer.app_name, offer.device_name))
    return {
        "text": title,
        "alt": "offer",
        "tooltip": f"Continue '{title}': {app}, on {device}",
        "class": "offer",
    }


def safe(text: str) -> str:
    return html.escape(shown(text), quote=False)
