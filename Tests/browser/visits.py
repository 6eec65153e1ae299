# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that tests visit in a browser, and what other programs make of them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import segue
from desk import Desk, until
from drivers import Browser, BrowserError
from identity import TEAM, TYPE

BOTH = pytest.mark.parametrize("word", ["chromium", "firefox"])


def shown(browser: Browser, url: str) -> Any:
    """Opens a page, and waits until it is whole."""
    tab = browser.open(url)
    # The empty page before it is complete, too.
    ready = "document.readyState === 'complete' && location.href !== 'about:blank'"
    until(lambda: attempt(lambda: browser.evaluate(tab, ready)), 20)
    return tab


def attempt(look: Any) -> Any:
    with contextlib.suppress(BrowserError):
        return look()
    return None


@contextlib.contextmanager
def reader(desk: Desk, title: str, url: str, info: dict[str, Any]) -> Any:
    """Another program that offers a page, with state of its own making."""
    with segue.App("com.example.reader", team=TEAM, types=[TYPE], runtime_folder=desk.run, delivery="thread") as app:
        activity = segue.Activity(app, TYPE)
        activity.title, activity.webpage_url, activity.user_info = title, url, info
        activity.become_current()
        yield until(lambda: next((each for each in desk.chooser.offers if each.title == title), None))


def taken(desk: Desk, title: str, bundle: str) -> dict[str, Any]:
    """Continues a page in a program that keeps what came."""
    with segue.App("com.example.taker", team=TEAM, types=[TYPE], runtime_folder=desk.run, delivery="thread") as app:
        offer = until(lambda: next((o for o in app.offers if (o.title, o.bundle_identifier) == (title, bundle)), None))
        with app.continue_(offer, 10) as activity:
            info = {key: dict(value) for key, value in (activity.user_info or {}).items()}
            return {"url": activity.webpage_url, "info": info}


def page(title: str, body: str = "") -> str:
    filler = "".join(f"<p data-n={n}>Paragraph {n} of {title} is here for the length of it.</p>" for n in range(60))
    return f"<!doctype html><meta charset=utf-8><title>{title}</title><body>{body}{filler}"
