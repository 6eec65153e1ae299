# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that continue from one real browser in another, at their place."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from desk import Desk, until
from pages import FIRST_IN_SIGHT, PAGES

WIDTHS = (1000, 700, 480)
"""Pixels of the receiving page; the origin has 1000."""
LEAST = 0.95
"""The share of pages that have to land at the paragraph that was in sight."""


def resize(browser: Any, tab: Any, width: int) -> None:
    if browser.word == "chromium":
        found = browser.send("Browser.getWindowForTarget", targetId=tab)
        browser.send("Browser.setWindowBounds", windowId=found["windowId"], bounds={"width": width, "height": 700})
    else:
        browser.send("WebDriver:SwitchToWindow", handle=tab, focus=False)
        browser.send("WebDriver:SetWindowRect", width=width, height=785)


def settled(browser: Any, tab: Any, n: int) -> None:
    """Waits until a page has its text and its images."""
    ready = f"document.readyState === 'complete' && document.querySelector('[data-n=\"{n}\"]') !== null"

    def look() -> bool:
        with contextlib.suppress(Exception):
            return browser.evaluate(tab, ready)
        return False

    until(look, 20)


def landed(desk: Desk, origin: Any, receiver: Any, name: str, n: int, width: int) -> tuple[int, int, float]:
    """The paragraph in sight at the origin, the one at the receiver, and the milliseconds until it was there."""
    url = desk.web.url(f"/made/{name}")
    resize(receiver, next(iter(receiver.tabs())), width)
    tab = origin.open(url)
    settled(origin, tab, n)
    origin.evaluate(tab, "document.documentElement.style.scrollBehavior = 'auto', scrollTo(0, 0), 1")
    top = f"document.querySelector('[data-n=\"{n}\"]').getBoundingClientRect().top"
    origin.evaluate(tab, f"scrollTo(0, {top} - 90), 1")
    wanted = origin.evaluate(tab, FIRST_IN_SIGHT)
    desk.offer(name, origin.bundle)
    began = time.monotonic()
    desk.launch(name, origin, receiver)
    there = until(lambda: receiver.with_url(url))[0]

    def look() -> bool:
        with contextlib.suppress(Exception):
            return receiver.evaluate(there, FIRST_IN_SIGHT) == wanted
        return False

    with contextlib.suppress(AssertionError):
        until(look, 6)
    took = time.monotonic() - began
    found = receiver.evaluate(there, FIRST_IN_SIGHT)
    assert len(receiver.with_url(url)) == 1, "one tab"
    receiver.close_tab(there)
    origin.close_tab(tab)
    return wanted, found, 1000 * took


@pytest.mark.parametrize("direction", ["chromium to firefox", "firefox to chromium"])
def test_twenty_pages_land_at_the_paragraph_that_was_in_sight(desk, chromium, firefox, direction):
    """(R12.5, R12.6) At three widths."""
    assert len(PAGES) == 20
    origin, receiver = (chromium, firefox) if direction.startswith("chromium") else (firefox, chromium)
    misses, took = [], []
    for number, name in enumerate(PAGES):
        width = WIDTHS[number % len(WIDTHS)]
        wanted, found, milliseconds = landed(desk, origin, receiver, name, 15 + 2 * number, width)
        took.append(milliseconds)
        if wanted != found:
            misses.append(f"{name} at {width}: {found} in place of {wanted}")
    hits = 1 - len(misses) / len(PAGES)
    print(f"web.position_hits {direction}: {hits:.2f}, median {sorted(took)[len(took) // 2]:.0f} ms; misses: {misses}")
    assert hits >= LEAST, misses
