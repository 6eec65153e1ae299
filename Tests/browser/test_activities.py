# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activities that pages have of their own (R12.7), in two real browsers, and the attacks of SECURITY.md on them. Each
attack has a control: the same page without it."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import socket
import time
from typing import Any

import pytest
import segue
from desk import Desk, until
from identity import TEAM, TYPE
from pages import LIBRARY, OWN, Web, with_activity
from project import ROOT
from test_levels import PRESS, STATE, pressed
from visits import BOTH, attempt, page, shown, taken

SEEN = "JSON.stringify(globalThis.seen ?? null)"


def kind_of(desk: Desk, title: str, bundle: str, kind: str) -> segue.Offer:
    """The offer of a page, once it has that type."""
    return until(
        lambda: next(
            (o for o in desk.chooser.offers if (o.title, o.bundle_identifier, o.type) == (title, bundle, kind)), None
        ),
        20,
    )


def own(desk: Desk, title: str, bundle: str, kind: str = OWN) -> dict[str, Any]:
    """Continues a page's own activity in a program of the browsers' team, which keeps what comes."""
    kind_of(desk, title, bundle, kind)
    with segue.App("com.example.taker", team=TEAM, types=[kind], runtime_folder=desk.run, delivery="thread") as app:
        offer = until(lambda: next((each for each in app.offers if each.title == title), None))
        with app.continue_(offer, 10) as activity:
            info = dict(activity.user_info or {})
            info.pop("SegueBrowserState", None)
            return {"url": activity.webpage_url, "info": info}


def seen(browser: Any, tab: Any) -> Any:
    return json.loads(attempt(lambda: browser.evaluate(tab, SEEN)) or "null")


@contextlib.contextmanager
def sent_page(desk: Desk, title: str, url: str, state: dict[str, Any], kind: str = OWN) -> Any:
    """A page's own activity, offered as the native host of another browser does."""
    with segue.App("com.brave.Browser", team=TEAM, types=[TYPE], runtime_folder=desk.run, delivery="thread") as app:
        activity = segue.Activity(app, kind, title=title)
        activity.webpage_url, activity.user_info = url, state
        activity.become_current()
        yield until(lambda: next((each for each in desk.chooser.offers if each.title == title), None))


@pytest.mark.parametrize(("word", "other"), [("chromium", "firefox"), ("firefox", "chromium")])
def test_a_page_hands_its_activity_to_the_same_page_in_another_browser(desk, word, other, request):
    """(R12.7) Its state is pulled when somebody continues it, and both pages are told."""
    browser, receiver = request.getfixturevalue(word), request.getfixturevalue(other)
    desk.web.added["/draft"] = with_activity(f"Draft of {word}")
    url = desk.web.url("/draft")
    tab = shown(browser, url)
    kind_of(desk, f"Draft of {word}", browser.bundle, OWN)
    assert "cursor" not in browser.sent(), "the state is not read before"
    state = {"cursor": 42, "text": 'a "quoted" <b>text</b> \u202e \U0001f600', "list": [1.5, None, {"deep": True}]}
    browser.evaluate(tab, f"(window.state = {json.dumps(state)}, 1)")
    result = desk.launch(f"Draft of {word}", browser, receiver)
    assert result.outcome == segue.Outcome.RESTORED
    there = until(lambda: receiver.with_url(url))
    assert len(there) == 1
    until(lambda: seen(receiver, there[0]) == [state])
    until(lambda: seen(browser, tab) == ["wascontinued"])
    browser.close_tab(tab), receiver.close_tab(there[0])


@BOTH
def test_a_page_offers_its_activity_as_it_becomes_current_and_resigns(desk, browser, word):
    """(R12.7) Its title and address, too; without a change of the tab itself."""
    desk.web.added["/life"] = with_activity("Life", "activity.resignCurrent();")
    tab = shown(browser, desk.web.url("/life"))
    kind_of(desk, "Life", browser.bundle, TYPE)
    browser.evaluate(tab, "(activity.becomeCurrent(), 1)")
    kind_of(desk, "Life", browser.bundle, OWN)
    browser.evaluate(tab, "(activity.title = 'Chapter 2', activity.webpageURL = '/life?chapter=2', 1)")
    assert own(desk, "Chapter 2", browser.bundle) == {
        "url": desk.web.url("/life?chapter=2"),
        "info": {"cursor": 7},
    }
    browser.evaluate(tab, "(activity.invalidate(), activity.becomeCurrent(), 1)")
    kind_of(desk, "Life", browser.bundle, TYPE)
    browser.close_tab(tab)


@BOTH
def test_a_meta_element_is_enough_for_a_type(desk, browser, word):
    """(R12.7) The static form, without a script: the activity has an empty state."""
    desk.web.added["/static"] = page("Static", "<meta name=Segue-Activity content='com.example.static'>")
    tab = shown(browser, desk.web.url("/static"))
    came = own(desk, "Static", browser.bundle, "com.example.static")
    assert came == {"url": desk.web.url("/static"), "info": {}}
    browser.close_tab(tab)


@BOTH
def test_a_state_may_wait_for_a_promise_but_not_for_long(desk, browser, word):
    """(R12.7, R12.5) After a second the URL travels without it."""
    waits = (
        "activity.addEventListener('save', (event) => event.waitUntil(new Promise((r) => setTimeout(() => {%s}, %d))))"
    )
    for title, delay, info in (("Soon", 200, {"late": 1}), ("Never", 60_000, {})):
        desk.web.added["/waits"] = with_activity(title, waits % ("activity.userInfo = {late: 1}; r()", delay))
        tab = shown(browser, desk.web.url("/waits"))
        assert own(desk, title, browser.bundle)["info"] == info
        browser.close_tab(tab)


# ---- Attacks


@BOTH
def test_a_frame_and_a_lie_make_no_activity_of_another_origin(desk, browser, word):
    """(W1) Neither a frame of another origin nor what a page says of itself changes whose activity it is."""
    desk.web.added["/inner"] = with_activity("Inner", "setInterval(() => activity.becomeCurrent(), 50);")
    frame = f"<iframe src='{desk.web.url('/inner', 'localhost')}'></iframe><iframe src='/inner'></iframe>"
    desk.web.added["/outer"] = page("Outer", frame)
    tab = shown(browser, desk.web.url("/outer"))
    kind_of(desk, "Outer", browser.bundle, TYPE)
    time.sleep(2)  # the silence itself
    assert kind_of(desk, "Outer", browser.bundle, TYPE) and OWN not in browser.sent().rpartition("/outer")[2]
    browser.close_tab(tab)
    lie = """document.addEventListener("segue-extension", (event) => {
        const { id } = JSON.parse(event.detail);
        const url = "https://bank.test/";
        const more = { url, origin: url, sender: { url }, tab: 1, t: "current" };
        const detail = JSON.stringify({ id, type: "com.example.lie", ...more });
        document.dispatchEvent(new CustomEvent("segue-page", { detail }));
        event.stopImmediatePropagation();
      });"""
    desk.web.added["/lie"] = page("Lie", f"<meta name=segue-activity content=com.example.truth><script>{lie}</script>")
    tab = shown(browser, desk.web.url("/lie"))
    offer = kind_of(desk, "Lie", browser.bundle, "com.example.lie")  # a type is its own to choose
    assert offer.web_origin == desk.web.url("/lie").removesuffix("/lie")
    assert own(desk, "Lie", browser.bundle, "com.example.lie")["url"] == desk.web.url("/lie")
    assert "bank.test" not in browser.sent()
    browser.close_tab(tab)


@BOTH
def test_a_page_that_others_can_change_on_its_way_has_no_activity(desk, browser, word):
    """(W1, R12.7) One that comes by http from another machine: here from an address that is not the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no other address")
        web = Web(probe.getsockname()[0])
    web.added["/open"] = with_activity("Open", "", LISTENS)
    tab = shown(browser, web.url("/open", web.address))
    kind_of(desk, "Open", browser.bundle, TYPE)
    until(lambda: seen(browser, tab) is not None)
    heard = browser.evaluate(tab, "heard")
    assert "cursor" not in taken(desk, "Open", browser.bundle)["info"]
    assert browser.evaluate(tab, "heard") == heard
    browser.close_tab(tab)
    web.close()
    desk.web.added["/open"] = with_activity("Open here", "", LISTENS)
    tab = shown(browser, desk.web.url("/open"))
    assert own(desk, "Open here", browser.bundle)["info"] == {"cursor": 7}
    browser.close_tab(tab)


ADDRESSES = {
    "another origin": "'https://bank.test/'",
    "another port": "`http://${location.hostname}:1/`",
    "another scheme": "`https://${location.host}/`",
    "a script": "'javascript:alert(1)'",
    "a file": "'file:///etc/passwd'",
    "a user": "`http://u:p@${location.host}/`",
    "a user alone": "`http://bank.test@${location.host}/`",
    "no address": "'http://'",
}


@BOTH
def test_an_address_of_another_origin_makes_no_activity(desk, browser, word):
    """(W2) The page is offered as a page, by the address that the tab shows."""
    desk.web.added["/address"] = with_activity("Address")
    tab = shown(browser, desk.web.url("/address"))
    for name, address in ADDRESSES.items():
        kind_of(desk, "Address", browser.bundle, OWN)
        browser.evaluate(tab, f"(activity.webpageURL = {address}, 1)")
        assert kind_of(desk, "Address", browser.bundle, TYPE), name
        browser.evaluate(tab, "(activity.webpageURL = undefined, 1)")
    for text in ("bank.test", "javascript", "passwd", "u:p"):
        assert text not in browser.sent()
    browser.evaluate(tab, "(activity.webpageURL = location.origin + '/address?own', 1)")
    assert own(desk, "Address", browser.bundle)["url"] == desk.web.url("/address?own")
    browser.close_tab(tab)


def led(target: str) -> Any:
    def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return redirect


@BOTH
def test_a_page_of_another_origin_gets_nothing_whatever_leads_to_it(desk, browser, word):
    """(W4, R12.7) A redirect, a script, and a way there and back. A login on the same origin gets the state later."""
    end = desk.web.url("/end", "localhost")
    desk.web.added |= {
        "/end": with_activity("End"),
        "/by-answer": led(end),
        "/by-script": f"<script>location.replace('{end}')</script>",
        "/login": "<title>Login</title><script>setTimeout(() => location.replace('/end'), 700)</script>",
    }
    for path, host, gets in (("/by-answer", "localhost", False), ("/by-script", "localhost", False),
                             ("/login", "127.0.0.1", True), ("/end", "127.0.0.1", True)):  # fmt: skip
        with sent_page(desk, f"Led {path}", desk.web.url(path), {"secret": path}) as offer:
            assert desk.continue_in(browser, offer).outcome == segue.Outcome.RESTORED
        tab = until(lambda host=host: browser.with_url(desk.web.url("/end", host)), 20)[0]
        if gets:
            until(lambda tab=tab, path=path: seen(browser, tab) == [{"secret": path}])
            # Taken once: the page that comes next in the tab gets nothing.
            browser.evaluate(tab, "(location.reload(), 1)")
            time.sleep(1)
        else:
            until(lambda tab=tab: seen(browser, tab) is not None)
            time.sleep(2)  # the silence itself
        until(lambda tab=tab: seen(browser, tab) is not None)
        assert seen(browser, tab) == []
        browser.close_tab(tab)


@BOTH
def test_a_page_of_another_type_gets_nothing(desk, browser, word):
    """(R12.7) The page itself says which activities it continues; it may say so late."""
    late = "setTimeout(() => { globalThis.late = new UserActivity('com.example.late');" + (
        "late.addEventListener('continue', () => seen.push(late.userInfo)); }, 1500);"
    )
    desk.web.added["/late"] = with_activity("Late", late)
    for kind, gets in (("com.example.late", True), ("com.example.never", False)):
        with sent_page(desk, f"Late {kind}", desk.web.url("/late"), {"n": 1}, kind) as offer:
            desk.continue_in(browser, offer)
        tab = until(lambda: browser.with_url(desk.web.url("/late")), 20)[0]
        until(lambda tab=tab: attempt(lambda: browser.evaluate(tab, "Boolean(globalThis.late)")))
        time.sleep(0.5)  # the silence itself, for the other type
        assert seen(browser, tab) == ([{"n": 1}] if gets else [])
        browser.close_tab(tab)


@BOTH
def test_a_page_that_speaks_without_end_is_bounded(desk, browser, word):
    """(W5) 10^5 events, 10 MB, deep JSON: ten messages a second, 64 KiB of state; the last word counts."""
    desk.web.added["/flood"] = with_activity("Flood")
    tab = shown(browser, desk.web.url("/flood"))
    kind_of(desk, "Flood", browser.bundle, OWN)
    hosts, before, began = browser.hosts(), len(browser.sent()), time.monotonic()
    browser.evaluate(
        tab,
        """(() => {
          const say = (detail) => document.dispatchEvent(new CustomEvent("segue-page", { detail }));
          for (let n = 0; n < 100000; n++) { activity.title = "Title " + n; }
          say("x".repeat(10_000_000)), say("[".repeat(100000)), say({ object: 1 }), say(null), say('{"id":1}');
          activity.title = "Flooded";
          return 1;
        })()""",
    )
    kind_of(desk, "Flooded", browser.bundle, OWN)
    messages = browser.sent()[before:].count('"current"')
    assert messages <= 11 * (time.monotonic() - began + 1), "10 a second"
    for state, count in (
        ("'x'.repeat(65536 - 8)", 1),
        ("'x'.repeat(65536 - 7)", 0),
        ("'<'.repeat(60000)", 0),
        ("'x'.repeat(1e7)", 0),
    ):
        browser.evaluate(tab, f"(window.state = {{a: {state}}}, 1)")
        assert len(own(desk, "Flooded", browser.bundle)["info"]) == count, state
    deep = "let x = 1; for (let n = 0; n < 3000; n++) x = [x]; window.state = {x};"
    browser.evaluate(tab, f"(() => {{ {deep} return 1; }})()")
    assert own(desk, "Flooded", browser.bundle)["info"] == {}
    assert browser.hosts() == hosts
    browser.close_tab(tab)


LISTENS = """<script>
  globalThis.heard = 0;
  document.addEventListener("segue-extension", () => heard++);
  for (const name of ["dispatchEvent", "addEventListener", "querySelectorAll"]) {
    const former = document[name];
    document[name] = function (...all) {
      if (String(all[0]?.type ?? all[0]).startsWith("segue")) heard++;
      return former.apply(this, all);
    };
  }
</script>"""
NAMES = """(document.head.append(
  Object.assign(document.createElement('meta'), {name: 'segue-activity', content: 'com.example.heard'})),
  document.title = 'Heard', 1)"""


@BOTH
def test_a_page_that_names_no_activity_hears_nothing(desk, browser, word):
    """(W6) On a site that is granted, it sees no event, whatever it listens to, before and after it was continued."""
    desk.web.added["/listens"] = page("Listens", LISTENS)
    tab = shown(browser, desk.web.url("/listens"))
    assert taken(desk, "Listens", browser.bundle)["info"]["SegueBrowserState"]["text"]
    assert browser.evaluate(tab, "heard") == 0
    # The control: with an activity it is asked.
    browser.evaluate(tab, NAMES)
    kind_of(desk, "Heard", browser.bundle, "com.example.heard")
    assert browser.evaluate(tab, "heard") > 0
    browser.close_tab(tab)


@BOTH
@pytest.mark.parametrize("level", ["ask", "pages"])
def test_on_a_site_that_is_not_granted_nothing_happens(own_desk, word, level):
    """(W6, R12.7) A page with an activity is offered as a page, and hears no event; the button grants no site."""
    browser = own_desk.start(word, level)
    own_desk.web.added["/closed"] = with_activity("Closed", "", LISTENS)
    tab = shown(browser, own_desk.web.url("/closed"))
    until(lambda: seen(browser, tab) is not None)
    heard = browser.evaluate(tab, "heard")  # by its own library
    if level == "ask":
        pressed(browser, tab, STATE, "This page is not offered.")
        browser.popup(PRESS)
    kind_of(own_desk, "Closed", browser.bundle, TYPE)
    assert "cursor" not in taken(own_desk, "Closed", browser.bundle)["info"]
    with sent_page(own_desk, "Sent", own_desk.web.url("/closed?sent"), {"secret": 1}) as offer:
        if level == "pages":
            own_desk.continue_in(browser, offer)
            there = until(lambda: browser.with_url(own_desk.web.url("/closed?sent")))[0]
            until(lambda: seen(browser, there) is not None)
            time.sleep(2)  # the silence itself
            assert seen(browser, there) == [] and browser.evaluate(there, "heard") == heard
    assert browser.evaluate(tab, "heard") == heard and OWN not in browser.sent()


@BOTH
def test_texts_of_an_activity_are_plain_and_cut(desk, browser, word):
    """(W20) A title has no marks of direction and an end; a type of other characters than those of a type is none."""
    desk.web.added["/texts"] = with_activity("Texts")
    tab = shown(browser, desk.web.url("/texts"))
    kind_of(desk, "Texts", browser.bundle, OWN)
    browser.evaluate(tab, "(activity.title = '\\u202e<script>alert(1)</script>' + 'x'.repeat(5000), 1)")
    title = "<script>alert(1)</script>"
    title += "x" * (255 - len(title))
    kind_of(desk, title, browser.bundle, OWN)
    for kind in ("com.example.\\u202ex", "com.example x", "x".ljust(300, "x"), "", TYPE):
        browser.evaluate(tab, f"(activity.invalidate(), window.activity = new activity.constructor('{kind}'), 1)")
        browser.evaluate(tab, "(activity.title = 'Bad', activity.becomeCurrent(), 1)")
        kind_of(desk, "Texts", browser.bundle, TYPE)
        # The control, so that the next type has something to end.
        browser.evaluate(tab, f"(activity.invalidate(), window.activity = new activity.constructor('{OWN}'), 1)")
        browser.evaluate(tab, "(activity.title = 'Good', activity.becomeCurrent(), 1)")
        kind_of(desk, "Good", browser.bundle, OWN)
    assert "example x" not in browser.sent()
    browser.close_tab(tab)


def test_the_library_is_small_and_has_types():
    """(R12.7) At most 2 KiB compressed; nothing in it asks the network, or which browser this is."""
    assert len(gzip.compress(LIBRARY.encode(), 9)) <= 2048
    for word in ("fetch", "XMLHttpRequest", "navigator", "chrome", "innerHTML", "eval", "import"):
        assert word not in LIBRARY.split("export class", 1)[1], word
    types = (ROOT / "browser" / "site" / "segue-page.d.ts").read_text()
    for name in ("title", "userInfo", "webpageURL", "becomeCurrent", "resignCurrent", "invalidate", "wascontinued"):
        assert name in types and name in LIBRARY
