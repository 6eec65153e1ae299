#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures pages that continue between two real browsers. bench/run calls it.

    bench/web.py ROUNDS PAGES PARTICIPANT WARM

Prints "name value" lines. Exit status 77: the browsers are not installed (make deps-web). PAGES: of forty, each at
three widths. PARTICIPANT and WARM: the paths of bench/participant.c and warm.c, compiled.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("bench", "Tests/browser", "Tests")]
from desk import Desk, prepared_desk, until  # noqa: E402
from drivers import Browser, BrowserError, name_of  # noqa: E402
from measure import SKIPPED, private_bytes  # noqa: E402
from messaging import HOST  # noqa: E402
from places import (  # noqa: E402
    WIDTHS,
    Landing,
    landings,
    plain_receiver,
    share_by_fraction,
    share_of_hits,
    user,
    with_extension,
    with_stored_pages,
)
from programs import programs  # noqa: E402
from visits import page, reader  # noqa: E402

LOADED = """(() => {
  const [navigation] = performance.getEntriesByType("navigation");
  return navigation?.loadEventEnd > 0 ? performance.timeOrigin + navigation.loadEventEnd : 0;
})()"""
"""The moment of the page's load event, in milliseconds since 1970."""
IN_FRONT = 1.5
"""Seconds after the load event; a page is offered after one in front."""
COMMANDS = {
    "chromium": "chromium --headless=new --no-sandbox --disable-gpu --no-first-run --user-data-dir={home}/profile",
    "firefox": "firefox-esr --headless --no-remote --profile {home}/profile",
}
PROGRAMS = {"chromium": "chromium", "firefox": "firefox-esr"}
DIRECTIONS = (("chromium", "firefox"), ("firefox", "chromium"))


def command(folder: Path) -> Path:
    """Writes the command as Debian's package has it, with the programs that are built here."""
    script = (ROOT / "packaging/debian/segue.sh").read_text()
    python = Path(sys.executable).with_name("segue")
    for installed, built in (("segue-command", python), ("segue-continue", ROOT / "lib/segue-continue")):
        script = script.replace(f"/usr/libexec/segue/{installed}", str(built))
    made = folder / "segue"
    made.write_text(script)
    made.chmod(0o755)
    return made


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


def times(desk: Desk, origin: Browser, receiver: Browser, rounds: int, warm: str) -> tuple[float, float, float]:
    """The medians of `segue continue`, of the same page opened by the browser's remote control, and of the same offer
    continued in an app in C that is open, in turns."""
    url = desk.web.url("/made/plain")
    tab = origin.open(url)
    desk.offer("plain", origin.bundle)
    words = [command(desk.home), "continue", "--app", receiver.bundle]
    variables = {**os.environ, "SEGUE_RUNTIME_DIR": str(desk.run)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    app = subprocess.Popen([warm, origin.bundle], env=variables, **pipes)
    assert app.stdin and app.stdout and app.stdout.readline() == "ready\n"
    ours, direct, handoff = [], [], []
    for _ in range(rounds):
        began = time.time()
        done = subprocess.run(words, env=variables, capture_output=True, text=True)
        if done.returncode != 0:
            raise BrowserError(done.stderr)
        ours.append(loaded(receiver, url, began))
        began = time.time()
        receiver.open(url)
        direct.append(loaded(receiver, url, began))
        app.stdin.write("again\n")
        handoff.append(float(app.stdout.readline()))
    app.stdin.close()
    app.wait(30)
    origin.close_tab(tab)
    return statistics.median(ours), statistics.median(direct), statistics.median(handoff)


def private(desk: Desk, host: int, participant: str) -> tuple[float, float]:
    """KiB of a host and of an idle app in C, which both have an offer."""
    with programs({"PATH": "/usr/bin", "SEGUE_RUNTIME_DIR": str(desk.run)}) as start:
        app = start("app", [participant, "com.example.bench.idle", "--offer", "--declare"])
        app.wait_for("saved")
        return private_bytes(host) / 1024, private_bytes(app.pid) / 1024


# ---- A browser that does not run


def cold_times(word: str, rounds: int) -> tuple[float, float]:
    """The medians of `segue continue` until the page says that it is loaded, and of the same browser started with the
    URL by hand, in turns. A page of a browser that nobody drives says so by a request."""
    with tempfile.TemporaryDirectory(prefix="segue-cold-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        variables = user(home, PROGRAMS[word])
        script = home / PROGRAMS[word]
        script.write_text(f'#!/bin/sh\necho $$ >{home}/pid\nexec {COMMANDS[word].format(home=home)} "$1"\n')
        (home / "profile").mkdir()
        with prepared_desk(**variables) as desk:
            script_of_page = "<script>addEventListener('load', () => fetch('/loaded'))</script>"
            desk.web.added |= {"/cold": page("Cold", script_of_page), "/loaded": "", "/favicon.ico": ""}
            url = desk.web.url("/cold")
            words = [command(home), "continue", "--launch"]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

            def loaded_after(start: list[Path | str], environment: dict[str, str]) -> float:
                desk.web.asked.clear()
                (home / "pid").unlink(missing_ok=True)
                began = time.monotonic()
                running = subprocess.Popen(start, env=environment, **quiet)
                until(lambda: "/loaded" in desk.web.asked, 60)
                took = 1000 * (time.monotonic() - began)
                end_of(int((home / "pid").read_text()))
                running.wait(30)
                return took

            with reader(desk, "Cold", url, {}):
                ours, by_hand = [], []
                for _ in range(rounds + 1):
                    ours.append(loaded_after(words, {"SEGUE_RUNTIME_DIR": str(desk.run)}))
                    by_hand.append(loaded_after([script, url], {**os.environ, **variables}))
            # The first time a profile is made.
            return statistics.median(ours[1:] or ours), statistics.median(by_hand[1:] or by_hand)


def end_of(pid: int) -> None:
    """Ends a browser, and waits until it has gone: the next one takes its profile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)

    def is_gone() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    until(is_gone, 30)


# ---- A page without a continuation


def script_times(rounds: int) -> tuple[float, float, int]:
    """The medians of Chromium's milliseconds of script for a page that is loaded and in front, with the extension and
    without; and the requests that the extension adds."""
    taken: dict[str | None, list[float]] = {"sites": [], None: []}
    asked: dict[str | None, int] = {}
    with prepared_desk() as desk:
        for level, times_of_script in taken.items():
            browser = desk.start("chromium", level)
            if level:
                until(browser.hosts, 30)
            desk.web.asked.clear()
            for _ in range(rounds):
                tab = browser.open(desk.web.url("/made/plain"))
                browser.send("Performance.enable", browser.session(tab))
                loaded_once(browser, tab)
                if level:
                    desk.offer("plain", browser.bundle)
                time.sleep(IN_FRONT)  # the page is in front, and nobody continues it
                metrics = browser.send("Performance.getMetrics", browser.session(tab))["metrics"]
                times_of_script.append(1000 * next(m["value"] for m in metrics if m["name"] == "ScriptDuration"))
                browser.close_tab(tab)
            asked[level] = len(desk.web.asked)
            browser.end()
            desk.browsers.remove(browser)
    return statistics.median(taken["sites"]), statistics.median(taken[None]), asked["sites"] - asked[None]


def loaded_once(browser: Browser, tab: str) -> None:
    def look() -> bool:
        with contextlib.suppress(BrowserError):
            return bool(browser.evaluate(tab, LOADED))
        return False

    until(look, 20)


# ---- Places


def places(count: int) -> Iterator[Landing]:
    """The places where pages land in a browser with the extension."""
    with prepared_desk() as desk:
        browsers = {word: desk.start(word) for word in ("chromium", "firefox")}
        until(lambda: all(each.hosts() for each in browsers.values()), 30)
        pages = with_stored_pages(desk)
        for origin, receiver in DIRECTIONS:
            launch = with_extension(desk, browsers[receiver])
            for number in range(count):
                page = pages[number * len(pages) // count]
                yield from landings(desk, browsers[origin], browsers[receiver], page, WIDTHS, launch, False)


def plain_places(count: int) -> Iterator[Landing]:
    """The places where they land without the extension at the receiver."""
    for origin, receiver in DIRECTIONS:
        with (
            tempfile.TemporaryDirectory(prefix="segue-plain-", ignore_cleanup_errors=True) as home,
            plain_receiver(origin, receiver, Path(home)) as (desk, first, second, launch),
        ):
            pages = with_stored_pages(desk)
            for number in range(count):
                yield from landings(desk, first, second, pages[number * len(pages) // count], WIDTHS, launch, True)


def main() -> int:
    rounds, pages, participant, warm = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    if not all(shutil.which(name) for name in ("chromium", "firefox-esr")) or not HOST.exists():
        print("chromium, firefox-esr or lib/segue-browser-host is missing (make deps-web browser)", file=sys.stderr)
        return SKIPPED
    with prepared_desk() as desk:
        # The host that ships: no program between it and its browser.
        chromium, firefox = (desk.start(word, is_recorded=False) for word in ("chromium", "firefox"))
        until(lambda: chromium.hosts() and firefox.hosts(), 30)
        host = next(pid for pid in chromium.hosts() if name_of(pid) == "segue-browser-h")
        for origin, receiver in ((chromium, firefox), (firefox, chromium)):
            ours, direct, handoff = times(desk, origin, receiver, rounds, warm)
            say(f"{receiver.word}_continue_ms", ours)
            say(f"{receiver.word}_direct_ms", direct)
            say(f"{receiver.word}_handoff_ms", handoff)
        host_kib, app_kib = private(desk, host, participant)
        say("host_kib", host_kib)
        say("app_kib", app_kib)
    for word in COMMANDS:
        ours, by_hand = cold_times(word, (rounds + 1) // 2)
        say(f"{word}_cold_ms", ours)
        say(f"{word}_by_hand_ms", by_hand)
    with_script, without_script, requests = script_times(rounds)
    say("script_ms", with_script - without_script)
    say("page_script_ms", without_script)
    say("requests", requests)
    for name, found in (("hits", list(places(pages))), ("plain_hits", list(plain_places(pages)))):
        say(name, share_of_hits(found))
        say(f"{name}_by_fraction", share_by_fraction(found))
        say(f"{name}_tried", len(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
