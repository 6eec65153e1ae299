# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue-browser-host, spoken to as the extension speaks: offers, state and openings."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import segue
from desk import Peer, until
from identity import TYPE
from messaging import PATIENCE, Host

URL = "https://example.com/a?b=c#d"
POSITION = {"text": "It was the best of times", "before": "Chapter 1", "after": "it was the worst", "fraction": 0.25}


def taken(peer: Peer, host: Host, tab: int, title: str, answer: dict[str, Any] | None) -> segue.Activity:
    """Continues an offer of a host, whose extension answers the save (None: it does not)."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(peer.take, peer.offer(title))
        asked = host.receive()
        assert asked is not None and (asked["t"], asked["tab"]) == ("save", tab)
        if answer is not None:
            host.send(t="state", id=asked["id"], **answer)
        return running.result(PATIENCE)


def test_a_tab_is_offered_with_its_title_and_url_and_pulled_at_its_place(host, peer):
    """(R12.4, R12.5, R12.6)"""
    browser = host("firefox")
    browser.offer(7, URL, "Two cities")
    activity = taken(peer, browser, 7, "Two cities", {"position": POSITION})
    assert (activity.type, activity.webpage_url, activity.title) == (TYPE, URL, "Two cities")
    assert activity.user_info == {"SegueBrowserState": POSITION}
    told = browser.receive()
    assert (told["t"], told["tab"], told["app"]) == ("continued", 7, "com.example.reader")


def test_without_an_answer_the_url_travels_alone(host, peer):
    """(R12.5) The extension hangs, or its script may not enter the page."""
    browser = host()
    browser.offer(1, URL, "Slow")
    activity = taken(peer, browser, 1, "Slow", None)
    assert activity.webpage_url == URL and not activity.user_info


def test_no_page_is_asked_for_its_state_before_somebody_continues_it(host, peer):
    """(R12.5) Offers come and change, and a tab takes the place of another."""
    browser = host()
    browser.offer(1, URL, "One")
    peer.offer("One")
    browser.offer(2, URL, "Two")
    peer.offer("Two")
    browser.offer(2, URL + "/more", "Three")
    peer.offer("Three")
    with pytest.raises(AssertionError, match="no message"):
        browser.receive(3)  # the silence itself: longer than the delay of a save that is not pulled (R2.2)


def test_the_tab_that_is_gone_takes_its_offer_along(host, peer):
    """(R12.4)"""
    browser = host()
    browser.offer(1, URL, "One")
    first = peer.offer("One")
    browser.send(t="gone", tab=2)
    browser.offer(1, URL, "Still")
    assert peer.offer("Still").id == first.id
    browser.send(t="gone", tab=1)
    until(lambda: not peer.titles())


def test_one_tab_is_offered_at_a_time(host, peer):
    """(R12.4)"""
    browser = host()
    for tab in range(1, 6):
        browser.offer(tab, URL, f"Tab {tab}")
    peer.offer("Tab 5")
    until(lambda: peer.titles() == ["Tab 5"])


def test_the_profile_that_gets_the_focus_is_the_frontmost(host, peer):
    """(R12.4) Its extension offers the same page again."""
    profiles = [host(), host()]
    for number, profile in enumerate(profiles):
        profile.offer(1, URL, f"Profile {number}")
        peer.offer(f"Profile {number}")
    until(lambda: peer.titles() == ["Profile 1", "Profile 0"])
    profiles[0].offer(1, URL, "Profile 0")
    until(lambda: peer.titles() == ["Profile 0", "Profile 1"])


def test_a_page_that_asks_not_to_be_handed_over_fails_its_save(host, peer):
    """(R12.4)"""
    browser = host()
    browser.offer(1, URL, "Private")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(peer.take, peer.offer("Private"))
        browser.send(t="state", id=browser.receive()["id"], refused=True)
        with pytest.raises(segue.Error, match="asks not to be handed over"):
            running.result(PATIENCE)


@pytest.mark.parametrize("end", ["input", "killed"])
def test_the_host_needs_no_clean_up(host, peer, end):
    """(R12.4, W19) A browser that ends, or kills its host, leaves no offer behind."""
    browser = host()
    browser.offer(1, URL, "One")
    peer.offer("One")
    if end == "input":
        assert browser.end() == 0
    else:
        browser.process.kill()
    until(lambda: not peer.titles())


# ---- Openings


def launched(folder: Path, offer: segue.Offer, bundle: str) -> segue._agent.Launch:
    with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
        found = until(lambda: next((each for each in chooser.offers if each.id == offer.id), None))
        return chooser.launch(found, bundle, 10)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"t": "opened"}, segue.Outcome.RESTORED),
        ({"t": "deferred"}, segue.Outcome.DECLINED),
        ({"t": "failed", "reason": "no window"}, segue.Outcome.UNKNOWN),
    ],
    ids=lambda value: value["t"] if isinstance(value, dict) else "",
)
def test_a_page_is_opened_by_the_extension_which_says_how_it_ended(agent, folder, host, peer, answer, outcome):
    """(R12.3) Chromium's page continues in Firefox, at its place; a failed one stays in the inbox (R3.8)."""
    chromium, firefox = host("chromium"), host("firefox")
    chromium.offer(1, URL, "Page")
    offer = peer.offer("Page")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(launched, folder, offer, "org.mozilla.firefox")
        chromium.send(t="state", id=chromium.receive()["id"], position=POSITION)
        opened = firefox.receive()
        assert (opened["t"], opened["url"], opened["position"]) == ("open", URL, POSITION)
        assert len(bytes.fromhex(opened["continuation"])) == 16
        firefox.send(id=opened["id"], **answer)
        result = running.result(2 * PATIENCE)
    assert (result.outcome, result.bundle_identifier) == (outcome, "org.mozilla.firefox")


def test_a_browser_that_ends_while_it_opens_a_page_gets_it_again_under_the_same_name(agent, folder, host, peer):
    """(R12.3, R3.8, W19)"""
    chromium, firefox = host("chromium"), host("firefox")
    chromium.offer(1, URL, "Page")
    offer = peer.offer("Page")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(launched, folder, offer, "org.mozilla.firefox")
        chromium.send(t="state", id=chromium.receive()["id"], position=POSITION)
        first = firefox.receive()
        firefox.process.kill()
        again = host("firefox")
        second = again.receive()
        assert second["continuation"] == first["continuation"]
        again.send(t="opened", id=second["id"])
        assert running.result(2 * PATIENCE).outcome == segue.Outcome.RESTORED
    third = host("firefox", greets=False)
    again.end()
    third.greet()
    with pytest.raises(AssertionError, match="no message"):
        third.receive(1)  # the silence itself: an answered page comes to nobody


def offered(peer: Peer, url: str | None, info: dict[str, Any] | None) -> segue.Activity:
    activity = segue.Activity(peer.app, TYPE)
    activity.webpage_url, activity.title, activity.user_info = url, "Bad", info
    activity.become_current()
    return activity


BAD_URLS = ["https://user:secret@example.com/", "http://user@example.com/", "https:///path"]


@pytest.mark.parametrize("url", [None, *BAD_URLS])
def test_what_another_app_offers_is_opened_only_if_it_is_a_page(agent, folder, host, peer, url):
    """(W2, W10) Whatever the origin says, the browser gets a page's URL or nothing."""
    firefox = host("firefox")
    try:
        activity = offered(peer, url, None)
    except segue.InvalidURLError:
        return  # refused by the library, before it can be offered
    with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
        offer = until(lambda: next((each for each in chooser.offers if each.title == "Bad"), None))
        with contextlib.suppress(segue.HandoffFailedError):
            assert chooser.launch(offer, "org.mozilla.firefox", 5).outcome != segue.Outcome.RESTORED
    with pytest.raises(AssertionError, match="no message"):
        firefox.receive(0.5)  # the silence itself
    activity.invalidate()


def test_a_position_of_another_app_is_plain_text_and_cut(agent, folder, host, peer):
    """(W20) Selectors and scripts are text; marks of direction and controls are not there; each text is cut."""
    firefox = host("firefox")
    activity = offered(
        peer,
        URL,
        {
            "SegueBrowserState": {
                "text": "\u202e<script>alert(1)</script>\n\u0000\u200b" + "x" * 5000,
                "before": ["no text"],
                "after": "ü" * 100,
                "id": "a'] , *{}",
                "fraction": 7.5,
                "other": {"deep": [1]},
            },
            "secret": "of the app",
        },
    )
    with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
        offer = until(lambda: next((each for each in chooser.offers if each.title == "Bad"), None))
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(chooser.launch, offer, "org.mozilla.firefox", 10)
            opened = firefox.receive()
            firefox.send(t="opened", id=opened["id"])
            assert running.result(PATIENCE).outcome == segue.Outcome.RESTORED
    text = "<script>alert(1)</script>"
    assert opened["position"] == {"text": text + "x" * (80 - len(text)), "after": "ü" * 32, "id": "a'] , *{}"}
    assert set(opened) == {"t", "id", "continuation", "url", "position"}
    activity.invalidate()
