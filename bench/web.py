#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures pages that continue between two real browsers. bench/run calls it.

    bench/web.py ROUNDS PAGES PARTICIPANT

Prints "name value" lines. Exit status 77: the browsers are not installed (make deps-web). PARTICIPANT: the path of
bench/participant.c, compiled.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("bench", "Tests/browser", "Tests")]
from desk import Desk, prepared_desk, until  # noqa: E402
from drivers import Browser, BrowserError, name_of  # noqa: E402
from measure import SKIPPED, private_bytes  # noqa: E402
from messaging import HOST  # noqa: E402
from pages import PAGES  # noqa: E402
from programs import programs  # noqa: E402
from test_positions import WIDTHS, landed  # noqa: E402

LOADED = """(() => {
  const [navigation] = performance.getEntriesByType("navigation");
  return navigation?.loadEventEnd > 0 ? performance.timeOrigin + navigation.loadEventEnd : 0;
})()"""
"""The moment of the page's load event, in milliseconds since 1970."""


def say(name: str, value: float) -> None:
    print(name, f"{value:.9g}", flush=True)


def loaded(browser: Browser, url: str, began: float) -> float:
    """Waits for the only tab with a page. Returns the milliseconds from a moment to its load event; closes the tab."""

    def look() -> float:
        try:
            return float(browser.evaluate(browser.with_url(url)[0], LOADED))
        except (BrowserError, IndexError, TypeError):
            return 0

    moment = until(look, 20)
    browser.close_tab(browser.with_url(url)[0])
    return moment - 1000 * began


def times(desk: Desk, origin: Browser, receiver: Browser, rounds: int) -> tuple[float, float]:
    """The medians of `segue continue`, and of the same page opened by the browser's remote control, in turns."""
    url = desk.web.url("/made/plain")
    tab = origin.open(url)
    desk.offer("plain", origin.bundle)
    command = [Path(sys.executable).with_name("segue"), "continue", "--app", receiver.bundle]
    ours, direct = [], []
    for _ in range(rounds):
        began = time.time()
        done = subprocess.run(command, env={"SEGUE_RUNTIME_DIR": str(desk.run)}, capture_output=True, text=True)
        if done.returncode != 0:
            raise BrowserError(done.stderr)
        ours.append(loaded(receiver, url, began))
        began = time.time()
        receiver.open(url)
        direct.append(loaded(receiver, url, began))
    origin.close_tab(tab)
    return statistics.median(ours), statistics.median(direct)


def private(desk: Desk, host: int, participant: str) -> tuple[float, float]:
    """KiB of a host and of an idle app in C, which both have an offer."""
    with programs({"PATH": "/usr/bin", "SEGUE_RUNTIME_DIR": str(desk.run)}) as start:
        app = start("app", [participant, "com.example.bench.idle", "--offer", "--declare"])
        app.wait_for("saved")
        return private_bytes(host) / 1024, private_bytes(app.pid) / 1024


def main() -> int:
    rounds, pages, participant = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if not all(shutil.which(name) for name in ("chromium", "firefox-esr")) or not HOST.exists():
        print("chromium, firefox-esr or lib/segue-browser-host is missing (make deps-web browser)", file=sys.stderr)
        return SKIPPED
    with prepared_desk() as desk:
        chromium, firefox = desk.start("chromium"), desk.start("firefox")
        until(lambda: chromium.hosts() and firefox.hosts(), 30)
        host = next(pid for pid in chromium.hosts() if name_of(pid) == "segue-browser-h")
        for origin, receiver in ((chromium, firefox), (firefox, chromium)):
            ours, direct = times(desk, origin, receiver, rounds)
            say(f"{receiver.word}_continue_ms", ours)
            say(f"{receiver.word}_direct_ms", direct)
        host_kib, app_kib = private(desk, host, participant)
        say("host_kib", host_kib)
        say("app_kib", app_kib)
        hits, tried = 0, 0
        for number, name in enumerate(list(PAGES)[:pages]):
            for origin, receiver in ((chromium, firefox), (firefox, chromium)):
                width = WIDTHS[number % len(WIDTHS)]
                wanted, found, _ = landed(desk, origin, receiver, name, 15 + 2 * number, width)
                hits, tried = hits + (wanted == found), tried + 1
        say("hits", hits)
        say("tried", tried)
    return 0


if __name__ == "__main__":
    sys.exit(main())
