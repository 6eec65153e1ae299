# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue-browser-host and the activities that pages have of their own (R12.7), spoken to as the extension speaks."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import segue
from desk import Peer, until
from identity import TEAM, TYPE
from messaging import PATIENCE, Host
from test_host import POSITION, URL

OWN = "com.example.draft.editing"


@pytest.fixture
def drafts(folder: Path) -> Any:
    """An app of the browsers' team that continues such activities."""
    made = Peer(folder)
    made.app.close()
    made.app = segue.App("com.example.drafts", team=TEAM, types=[OWN, TYPE], runtime_folder=folder, delivery="thread")
    made.app.open()
    yield made
    made.app.close()


def taken(peer: Peer, host: Host, title: str, **answer: Any) -> segue.Activity:
    """Continues an offer of a host, whose extension answers the save."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(peer.take, peer.offer(title))
        asked = host.receive()
        assert asked is not None and asked["t"] == "save"
        host.send(t="state", id=asked["id"], **answer)
        activity = running.result(PATIENCE)
    told = host.receive()
    assert told is not None and told["t"] == "continued"
    return activity


def test_a_page_s_own_activity_is_offered_under_its_type_and_pulled_with_its_state(host, drafts):
    """(R12.7) The place goes beside the state, under the key of browsers."""
    browser = host()
    browser.send(t="current", tab=1, url=URL, title="Draft", activity=OWN)
    assert drafts.offer("Draft").type == OWN
    state = {"text": 'a"<b>\\', "cursor": 3, "list": [1.5, None, True, {"$date": 7}]}
    activity = taken(drafts, browser, "Draft", userInfo=json.dumps(state), position=POSITION)
    assert (activity.type, activity.webpage_url) == (OWN, URL)
    info = dict(activity.user_info)
    assert info.pop("SegueBrowserState") == POSITION
    assert info["text"] == state["text"] and info["cursor"] == 3 and info["list"][:3] == [1.5, None, True]
    assert info["list"][3].timestamp() == 7


def test_a_page_may_have_another_address_by_then_but_of_no_other_origin(host, drafts):
    """(R12.7, R12.1, W2)"""
    browser = host()
    browser.send(t="current", tab=1, url=URL, title="Draft", activity=OWN)
    later = "https://example.com/later"
    assert taken(drafts, browser, "Draft", userInfo="{}", url=later).webpage_url == later
    for url in ("javascript:alert(1)", "https://u:p@example.com/", 7, "https://example.com/ "):
        browser.send(t="current", tab=1, url=URL, title="Draft", activity=OWN)
        assert taken(drafts, browser, "Draft", userInfo="{}", url=url).webpage_url in (URL, later)
    with pytest.raises(segue.Error, match=r"evil\.test"):
        taken(drafts, browser, "Draft", userInfo="{}", url="https://evil.test/")


def test_a_tab_may_change_between_a_page_and_an_activity_of_its_own(host, drafts):
    """(R12.7) Another type is another offer; the former one goes."""
    browser = host()
    for kind in (None, OWN, "com.example.other", None):
        browser.send(t="current", tab=1, url=URL, title="Page", **({"activity": kind} if kind else {}))
        if kind == "com.example.other":
            until(lambda: not drafts.titles())  # nobody here continues that type
        else:
            until(lambda kind=kind: [each.type for each in drafts.app.offers] == [kind or TYPE])


@pytest.mark.parametrize(
    "kind", ["", TYPE, "x" * 256, "com.example.\u202egnitide", "com example", "a\n", "ü", 7, None, ["a"]], ids=repr
)
def test_what_is_no_type_makes_no_activity_of_its_own(host, drafts, kind):
    """(R12.7, W20) The tab is offered as a page; its state is that of no activity."""
    browser = host()
    browser.send(t="current", tab=1, url=URL, title="Page", activity=kind)
    assert drafts.offer("Page").type == TYPE
    assert not taken(drafts, browser, "Page", userInfo='{"a": 1}').user_info


BAD = {
    "no JSON": "hello",
    "no dictionary": "[1]",
    "a date": '{"$date": 1}',
    "deep": '{"a":' * 20000 + "1" + "}" * 20000,
    "an unknown tag": '{"$bad": 1}',
    "too large": json.dumps({"a": "x" * 65536}),
    "no text": {"a": 1},
    "a key twice": '{"a":1,"a":2}',
    "half a character": '{"a":"\\ud800"}',
}


@pytest.mark.parametrize("name", BAD)
def test_a_state_that_is_none_is_left_out_and_ends_no_host(host, drafts, name):
    """(R12.7, W5, W9) The URL travels without it."""
    browser = host()
    browser.send(t="current", tab=1, url=URL, title="Draft", activity=OWN)
    activity = taken(drafts, browser, "Draft", userInfo=BAD[name])
    assert (activity.webpage_url, dict(activity.user_info or {})) == (URL, {})
    # The control: a good one of the largest size.
    browser.send(t="current", tab=1, url=URL, title="Again", activity=OWN)
    largest = json.dumps({"a": "x" * (65536 - 9)})
    assert len(taken(drafts, browser, "Again", userInfo=largest).user_info["a"]) == 65536 - 9


def opened(folder: Path, host: Host, kind: str, info: Any, bundle: str = "com.brave.Browser") -> dict[str, Any]:
    """The message `open` for an activity of another browser, as its native host offers it."""
    with segue.App(bundle, team=TEAM, types=[TYPE], runtime_folder=folder, delivery="thread") as app:
        activity = segue.Activity(app, kind, title="Sent")
        activity.webpage_url, activity.user_info = URL, info
        activity.become_current()
        with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
            offer = until(lambda: next((each for each in chooser.offers if each.title == "Sent"), None))
            with ThreadPoolExecutor(1) as pool:
                running = pool.submit(chooser.launch, offer, "org.mozilla.firefox", 10)
                message = host.receive()
                assert message is not None
                host.send(t="opened", id=message["id"])
                running.result(PATIENCE)
    assert message["url"] == URL
    return message


def test_the_page_gets_what_another_browser_s_page_had_named_and_bounded(agent, folder, host):
    """(R12.7, W5, W20) Integers that JavaScript would round are written as values.md says."""
    firefox = host("firefox")
    came = opened(folder, firefox, OWN, {"text": "<script>\u202e", "n": 2**60, "SegueBrowserState": POSITION})
    assert (came["activity"], came["position"]) == (OWN, POSITION)
    assert json.loads(came["userInfo"]) == {"text": "<script>\u202e", "n": {"$int": str(2**60)}}
    for kind, info in (("a b", {"a": 1}), ("com.example.\u202e", {"a": 1}), (OWN, {"a": "x" * 65536})):
        came = opened(folder, firefox, kind, info)
        assert not {"activity", "userInfo"} & set(came)


@pytest.mark.parametrize("bundle", ["com.brave.Browser", "com.example.reader"])
def test_a_page_of_the_web_brings_no_activity_along(agent, folder, host, bundle):
    """(R12.7, W1) No app can have a page take what that app has made, by the key of the agent."""
    forged = {"SeguePageActivity": {"type": OWN, "userInfo": {"a": 1}}, "SegueBrowserState": POSITION}
    came = opened(folder, host("firefox"), TYPE, forged, bundle)
    assert came["position"] == POSITION and not {"activity", "userInfo"} & set(came)


def test_an_app_that_is_not_associated_with_the_site_reaches_no_page(agent, folder, host):
    """(R12.7, W3) The browser opens the page, without the app's state."""
    came = opened(folder, host("firefox"), OWN, {"a": 1}, "com.example.reader")
    assert not {"activity", "userInfo", "position"} & set(came)
