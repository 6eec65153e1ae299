# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Browsers that are killed, copied or left alone: a page has one tab, and no host outlives its browser."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import segue
from desk import Desk, until
from drivers import name_of
from identity import IDENTITY
from visits import BOTH, page, reader, shown, taken


@BOTH
def test_a_host_that_is_killed_around_the_opening_leaves_one_tab(own_desk, word):
    """(W19, R12.3, R3.8) The entry comes again to the next host; the tab that is there comes to the front."""
    browser = own_desk.start(word)
    for number, delay in enumerate((0.0, 0.05, 0.2, 0.6)):
        path = f"/once-{number}"
        own_desk.web.added[path] = page(f"Once {number}")
        url = own_desk.web.url(path)
        until(lambda: browser.hosts() or nudge(browser), 30)
        seen = browser.received().count('"open"')
        with reader(own_desk, f"Once {number}", url, {}) as offer, ThreadPoolExecutor(1) as pool:
            running = pool.submit(own_desk.continue_in, browser, offer)
            until(lambda seen=seen: browser.received().count('"open"') > seen)
            time.sleep(delay)  # at different moments of the opening
            kill_host(browser)
            until(lambda: is_delivered(browser, own_desk), 30)
            running.result(30)
        assert len(browser.with_url(url)) == 1
        for tab in browser.with_url(url):
            browser.close_tab(tab)


@BOTH
def test_a_tab_that_is_closed_before_it_shows_its_page_declines_it(own_desk, word):
    """(R12.3) The page does not come again."""
    browser = own_desk.start(word)
    stop = threading.Event()
    own_desk.web.added["/hanging"] = lambda handler: stop.wait(60)
    until(browser.hosts, 30)
    before = set(browser.tabs())
    with reader(own_desk, "Hanging", own_desk.web.url("/hanging"), {}) as offer, ThreadPoolExecutor(1) as pool:
        running = pool.submit(own_desk.continue_in, browser, offer)
        until(lambda: "/hanging" in own_desk.web.asked, 20)
        until(lambda: set(browser.tabs()) - before)
        browser.close_tab((set(browser.tabs()) - before).pop())
        assert running.result(30).outcome == segue.Outcome.DECLINED
    until(lambda: not own_desk.chooser.inbox())
    stop.set()


@BOTH
def test_a_page_that_never_shows_holds_up_the_next_one_for_a_bounded_time(own_desk, word):
    """(R12.3) Its tab is there, so no other host gets it."""
    browser = own_desk.start(word)
    stop = threading.Event()
    own_desk.web.added |= {"/hanging": lambda handler: stop.wait(60), "/next": page("Next")}
    until(browser.hosts, 30)
    with ThreadPoolExecutor(1) as pool:
        with reader(own_desk, "Hanging", own_desk.web.url("/hanging"), {}) as offer:
            running = pool.submit(own_desk.continue_in, browser, offer)
            until(lambda: "/hanging" in own_desk.web.asked, 20)
            assert running.result(40).outcome in (segue.Outcome.DECLINED, segue.Outcome.UNKNOWN)
        with reader(own_desk, "Next", own_desk.web.url("/next"), {}) as offer:
            assert own_desk.continue_in(browser, offer).outcome == segue.Outcome.RESTORED
    until(lambda: not own_desk.chooser.inbox())
    stop.set()


def is_delivered(browser: Any, desk: Desk) -> bool:
    """An event of a tab has the extension start its host again, but not one that has just ended within 5 s."""
    if not desk.chooser.inbox():
        return True
    nudge(browser)
    return False


def nudge(browser: Any) -> None:
    """Makes events of a tab."""
    browser.close_tab(browser.open("about:blank"))


def kill_host(browser: Any) -> None:
    for pid in browser.hosts():
        if name_of(pid) == "segue-browser-h":
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: pid not in browser.hosts())


@BOTH
def test_a_browser_that_is_killed_while_it_opens_a_page_has_one_tab_later(own_desk, word):
    """(W19)"""
    home = own_desk.home / "profile"
    browser = own_desk.start(word, home=home)
    own_desk.web.added["/killed"] = page("Killed")
    url = own_desk.web.url("/killed")
    until(browser.hosts, 30)
    with reader(own_desk, "Killed", url, {}) as offer, ThreadPoolExecutor(1) as pool:
        running = pool.submit(own_desk.continue_in, browser, offer)
        until(lambda: '"open"' in browser.received())
        browser.kill()
        own_desk.browsers.remove(browser)
        again = own_desk.start(word, home=home)
        until(lambda: not own_desk.chooser.inbox(), 40)
        running.result(40)
    assert len(again.with_url(url)) <= 1


@BOTH
def test_the_host_ends_when_the_extension_is_removed(own_desk, word):
    """(W19)"""
    browser = own_desk.start(word)
    own_desk.web.added["/gone"] = page("Gone")
    shown(browser, own_desk.web.url("/gone"))
    own_desk.offer("Gone", browser.bundle)
    assert browser.hosts()
    if word == "chromium":
        browser.send("Extensions.uninstall", id=IDENTITY["CHROMIUM_ID"])
    else:
        browser.send("Addon:Uninstall", id=IDENTITY["FIREFOX_ID"])
    until(lambda: not browser.hosts(), 20)
    until(lambda: not own_desk.chooser.offers)


@BOTH
def test_two_profiles_one_copied_from_the_other_open_one_tab(own_desk, word):
    """(R12.3) They are one browser for Segue, with a host each."""
    first = own_desk.start(word, home=own_desk.home / "first")
    until(first.hosts, 30)
    first.end()
    own_desk.browsers.remove(first)
    shutil.copytree(own_desk.home / "first", own_desk.home / "second", symlinks=True, ignore_dangling_symlinks=True)
    browsers = [own_desk.start(word, home=own_desk.home / name) for name in ("first", "second")]
    for browser in browsers:
        until(browser.hosts, 30)
    own_desk.web.added["/one-of-two"] = page("One of two")
    url = own_desk.web.url("/one-of-two")
    with reader(own_desk, "One of two", url, {}) as offer:
        assert own_desk.continue_in(browsers[0], offer).outcome == segue.Outcome.RESTORED
    assert sum(len(browser.with_url(url)) for browser in browsers) == 1


def test_ports_that_are_idle_stay_open(own_desk):
    """(R12.4) Longer than browsers keep an idle background script. SEGUE_IDLE_SECONDS: an hour in make soak."""
    browsers = [own_desk.start(word) for word in ("chromium", "firefox")]
    offers, hosts = {}, {}
    for browser in browsers:
        own_desk.web.added[f"/{browser.word}"] = page(browser.word)
        shown(browser, own_desk.web.url(f"/{browser.word}"))
        offers[browser.word] = own_desk.offer(browser.word, browser.bundle).id
        hosts[browser.word] = browser.hosts()
    time.sleep(float(os.environ.get("SEGUE_IDLE_SECONDS", 45)))  # the idleness itself
    assert {browser.word: browser.hosts() for browser in browsers} == hosts
    assert {each.title: each.id for each in own_desk.chooser.offers} == offers
    for browser in browsers:
        state = taken(own_desk, browser.word, browser.bundle)["info"]["SegueBrowserState"]
        assert state["text"].startswith("Paragraph 0")
