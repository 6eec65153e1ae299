# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two real browsers and the attacks of SECURITY.md on the extension. Each test has a control: the same without it."""

from __future__ import annotations

import http.server
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import segue
from desk import until
from identity import IDENTITY
from visits import BOTH, attempt, page, reader, shown, taken

# ---- Offering


@BOTH
def test_the_page_in_front_is_offered_and_goes_with_its_tab(desk, browser, word):
    """(R12.4) A tab behind is not offered; one that comes to the front takes its place."""
    desk.web.added["/one"], desk.web.added["/two"] = page("One"), page("Two")
    one = shown(browser, desk.web.url("/one"))
    desk.offer("One", browser.bundle)
    two = shown(browser, desk.web.url("/two"))
    desk.offer("Two", browser.bundle)
    until(lambda: "One" not in [each.title for each in desk.chooser.offers])
    browser.activate(one)
    desk.offer("One", browser.bundle)
    browser.evaluate(one, "document.title = 'One, changed'")
    desk.offer("One, changed", browser.bundle)
    browser.close_tab(one)
    until(lambda: "One, changed" not in [each.title for each in desk.chooser.offers])
    browser.close_tab(two)


@BOTH
def test_addresses_that_are_no_pages_or_hold_a_password_are_not_offered(desk, browser, word):
    """(W2, W10)"""
    desk.web.added["/plain"] = page("Plain")
    control = shown(browser, desk.web.url("/plain"))
    desk.offer("Plain", browser.bundle)
    before = browser.sent().count('"current"')
    made = Path(desk.home / "local.html")
    made.write_text("<title>Local</title>A file")
    for url in (f"file://{made}", "data:text/html,<title>Data</title>x", "about:blank"):
        tab = browser.open(url)
        until(lambda: "Plain" not in [each.title for each in desk.chooser.offers])
        browser.close_tab(tab)
        browser.activate(control)
        desk.offer("Plain", browser.bundle)
    assert browser.sent().count('"current"') - before == 3, "the control alone, three times"
    assert "local.html" not in browser.sent() and "data:text" not in browser.sent()
    browser.close_tab(control)


@BOTH
def test_characters_that_rfc_3986_lacks_are_escaped(desk, browser, word):
    """(W10) Browsers leave "|" and quotes in queries; the address that travels is one that every program can read."""
    desk.web.added["/q"] = page("Query")
    tab = shown(browser, desk.web.url("/q?a=b|c&d='e'{f}%zz#x^y"))
    desk.offer("Query", browser.bundle)
    came = taken(desk, "Query", browser.bundle)
    # Browsers differ in whether they escape an apostrophe, and both are right.
    assert came["url"].split("/q", 1)[1].replace("%27", "'") == "?a=b%7Cc&d='e'%7Bf%7D%25zz#x%5Ey"
    browser.close_tab(tab)


@BOTH
def test_a_page_that_says_none_is_not_offered(desk, browser, word):
    """(R12.4)"""
    for name, offered in (("None", False), ("Some", True)):
        content = "none" if not offered else "anything"
        desk.web.added["/meta"] = page(name, f"<meta name=Segue content={content}>")
        tab = shown(browser, desk.web.url("/meta"))
        if offered:
            desk.offer(name, browser.bundle)
        else:
            time.sleep(2.5)  # the silence itself: longer than a page is in front before it is offered
            assert name not in browser.sent()
        browser.close_tab(tab)


@BOTH
def test_a_page_that_says_none_after_it_was_offered_is_not_handed_over(desk, browser, word):
    """(R12.4, R12.5) It is asked again when somebody continues it, and its place stays in the browser."""
    desk.web.added["/later"] = page("Later")
    tab = shown(browser, desk.web.url("/later"))
    desk.offer("Later", browser.bundle)
    meta = "Object.assign(document.createElement('meta'), { name: 'segue', content: ' None ' })"
    browser.evaluate(tab, f"(document.head.append({meta}), 1)")
    with pytest.raises(segue.Error):
        taken(desk, "Later", browser.bundle)
    assert "of Later is here" not in browser.sent()
    until(lambda: "Later" not in [each.title for each in desk.chooser.offers])
    browser.close_tab(tab)


# ---- Secrets


@BOTH
def test_no_secret_of_a_form_is_in_any_byte(desk, browser, word):
    """(W21) Wherever the page is scrolled to; the text around the fields is there."""
    tab = shown(browser, desk.web.url("/made/forms"))
    texts = set()
    for place in (0, 900, 1800, 2700, 3600):
        browser.evaluate(tab, f"scrollTo(0, {place}), 1")
        came = taken(desk, "forms", browser.bundle)
        texts.add(came["info"]["SegueBrowserState"]["text"])
    assert len(texts) == 5, "the control: the place is read"
    assert "SECRET" not in browser.sent()
    browser.close_tab(tab)


@BOTH
def test_what_the_user_writes_is_in_no_byte(desk, browser, word):
    """(W21) A page that can be edited as a whole, and one whose text is in an editor."""
    desk.web.added["/editor"] = page("Editor", "<div contenteditable><p>SECRET-LETTER to a friend</p></div>")
    tab = shown(browser, desk.web.url("/editor"))
    came = taken(desk, "Editor", browser.bundle)
    assert came["info"]["SegueBrowserState"]["text"].startswith("Paragraph 0")
    browser.evaluate(tab, "document.designMode = 'on'")
    came = taken(desk, "Editor", browser.bundle)
    assert "text" not in came["info"]["SegueBrowserState"]
    assert "SECRET" not in browser.sent()
    browser.close_tab(tab)


@BOTH
def test_private_windows_send_no_byte(desk, browser, word):
    """(W7)"""
    desk.web.added["/private"] = page("PRIVATE-PAGE")
    desk.web.added["/public"] = page("PUBLIC-PAGE")
    if word == "chromium":
        context = browser.send("Target.createBrowserContext")["browserContextId"]
        tab = browser.send("Target.createTarget", url=desk.web.url("/private"), browserContextId=context)["targetId"]
        until(lambda: attempt(lambda: browser.evaluate(tab, "document.title") == "PRIVATE-PAGE"))
    else:
        browser.chrome(
            "const url = arguments[0]; const w = OpenBrowserWindow({private: true});"
            "w.addEventListener('load', () => w.gBrowser.fixupAndLoadURIString(url,"
            " {triggeringPrincipal: Services.scriptSecurityManager.getSystemPrincipal()}));",
            desk.web.url("/private"),
        )
    until(lambda: "/private" in desk.web.asked, 20)
    time.sleep(2.5)  # the silence itself
    assert "PRIVATE" not in browser.sent() and "/private" not in browser.sent()
    if word == "chromium":
        browser.send("Target.disposeBrowserContext", browserContextId=context)
    else:
        browser.chrome("for (const w of Services.wm.getEnumerator('navigator:browser'))"
                       " if (w.PrivateBrowsingUtils.isWindowPrivate(w)) w.close();")  # fmt: skip
    tab = shown(browser, desk.web.url("/public"))
    desk.offer("PUBLIC-PAGE", browser.bundle)
    browser.close_tab(tab)


# ---- Pages against the extension


PROBE = """JSON.stringify({
  globals: Object.getOwnPropertyNames(window).sort(),
  runtime: typeof window.chrome?.runtime?.sendMessage,
  dom: document.documentElement.outerHTML.length,
  attributes: [...document.documentElement.attributes].length,
})"""


@BOTH
def test_a_page_sees_no_difference(desk, browser, word):
    """(W6) Neither before nor after its place was taken; and no file of the extension can be loaded."""
    desk.web.added["/probe"] = page("Probe")
    tab = shown(browser, desk.web.url("/probe"))
    before = browser.evaluate(tab, PROBE)
    assert taken(desk, "Probe", browser.bundle)["info"]["SegueBrowserState"]["text"]
    assert browser.evaluate(tab, PROBE) == before
    assert "segue" not in before.lower() and '"undefined"' in before
    if word == "chromium":
        load = "fetch('chrome-extension://%s/%s').then(() => 'loaded', (error) => String(error))"
        ours = browser.evaluate(tab, load % (IDENTITY["CHROMIUM_ID"], "popup.html"))
        assert ours == browser.evaluate(tab, load % ("a" * 32, "popup.html")) != "loaded"
    browser.close_tab(tab)


@BOTH
def test_a_page_that_replaces_the_languages_functions_changes_nothing(desk, browser, word):
    """(W1) Scripts of the extension have a world of their own."""
    evil = (
        "<script>globalThis.seguePlace = {take: () => ({url: 'https://bank.test/', position: {text: 'EVIL'}})};"
        "document.createTreeWalker = document.elementFromPoint = () => { throw 1 };"
        "String.prototype.replace = () => 'EVIL'; JSON.stringify = () => 'EVIL'</script>"
    )
    desk.web.added["/evil"] = page("Evil", evil)
    tab = shown(browser, desk.web.url("/evil"))
    came = taken(desk, "Evil", browser.bundle)
    assert came["url"] == desk.web.url("/evil")
    assert came["info"]["SegueBrowserState"]["text"].startswith("Paragraph 0 of Evil")
    browser.close_tab(tab)


@BOTH
def test_a_frame_is_not_read(desk, browser, word):
    """(W1) The top frame alone speaks for a page."""
    desk.web.added["/frame"] = page("Frame", "FRAME-TEXT")
    inner = f"<iframe src='{desk.web.url('/frame', 'localhost')}' style='width:900px;height:650px'></iframe>"
    desk.web.added["/outer"] = page("Outer", inner)
    tab = shown(browser, desk.web.url("/outer"))
    came = taken(desk, "Outer", browser.bundle)
    assert came["url"] == desk.web.url("/outer")
    assert "FRAME" not in json.dumps(came) and "of Frame" not in json.dumps(came)
    assert "FRAME-TEXT" not in browser.sent()
    browser.close_tab(tab)


@BOTH
def test_a_tab_that_goes_elsewhere_while_it_is_asked_gives_nothing_of_there(desk, browser, word):
    """(W4)"""
    desk.web.added["/from"] = page("From")
    desk.web.added["/to"] = page("From", "OTHER-ORIGIN")  # the same title
    tab = shown(browser, desk.web.url("/from"))
    origin = desk.web.url("").rstrip("/")
    for _ in range(3):
        until(lambda: desk.offer("From", browser.bundle).web_origin == origin)
        asked = browser.received().count('"save"')
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(taken, desk, "From", browser.bundle)
            until(lambda asked=asked: browser.received().count('"save"') > asked)
            browser.navigate(tab, desk.web.url("/to", "localhost"))
            try:
                came = running.result(20)
            except segue.Error:
                came = None  # the offer is one of the other origin by now (R12.1)
        assert came is None or came["url"] == desk.web.url("/from"), came
        assert "OTHER" not in json.dumps(came)
        browser.navigate(tab, desk.web.url("/from"))
        until(lambda: attempt(lambda: browser.evaluate(tab, "location.pathname") == "/from"), 20)
    browser.close_tab(tab)


@BOTH
def test_a_place_is_one_of_the_address_that_travels(desk, browser, word):
    """(W4) A page changes its address and its text again and again: neither travels with the other one of before."""
    script = """<div id=text></div><script>
        let n = 0;
        setInterval(() => {
          n = 1 - n;
          history.replaceState(0, '', '?' + n);
          text.textContent = `The words of address ${n}.`;
        }, 170)
        </script>"""
    desk.web.added["/turning"] = page("Turning", script)
    tab = shown(browser, desk.web.url("/turning"))
    places = 0
    for _ in range(12):
        desk.offer("Turning", browser.bundle)
        came = taken(desk, "Turning", browser.bundle)
        if place := came["info"].get("SegueBrowserState"):
            places += 1
            assert place["text"] == f"The words of address {came['url'][-1]}."
    assert places, "the control: the place is read"
    browser.close_tab(tab)


@BOTH
def test_a_page_that_is_led_elsewhere_gets_no_place(desk, browser, word, request):
    """(W4) The same text on the other origin stays where it is; without a redirect it is shown."""

    def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", desk.web.url("/target", "localhost"))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    desk.web.added["/target"], desk.web.added["/redirect"] = page("Target"), redirect
    place = {"SegueBrowserState": {"text": "Paragraph 45 of Target is here for the length of it."}}
    for path, host, moves in (("/redirect", "localhost", False), ("/target", "127.0.0.1", True)):
        with reader(desk, f"Led {path}", desk.web.url(path), place) as offer:
            assert desk.continue_in(browser, offer).outcome == segue.Outcome.RESTORED
            tab = until(lambda host=host: browser.with_url(desk.web.url("/target", host)), 20)[0]
            if moves:
                until(lambda tab=tab: browser.evaluate(tab, "scrollY") > 0)
            else:
                time.sleep(2)  # the silence itself
                assert browser.evaluate(tab, "scrollY") == 0
            browser.close_tab(tab)


# ---- Load


@BOTH
def test_a_page_that_changes_its_title_and_address_without_end_is_bounded(desk, browser, word):
    """(W5) 10^5 changes; the last one counts."""
    desk.web.added["/flood"] = page("Flood")
    tab = shown(browser, desk.web.url("/flood"))
    desk.offer("Flood", browser.bundle)
    before = len(browser.sent())
    began = time.monotonic()
    # In ten parts, each of which a browser has done in a moment, also on a machine that has much to do.
    for part in range(10):
        browser.evaluate(
            tab,
            f"(() => {{ for (let n = {part * 10000}; n < {(part + 1) * 10000}; n++) {{"
            " document.title = 'x'.repeat(100) + n;"
            " if (n % 1000 === 0) history.replaceState(0, '', '/flood?' + n) } })()",
        )
    browser.evaluate(tab, "(document.title = 'Flooded', 1)")
    desk.offer("Flooded", browser.bundle, 30)
    took = time.monotonic() - began
    messages = browser.sent()[before:].count('"current"')
    assert messages <= 11 * (took + 1), "10 a second"
    browser.close_tab(tab)


def test_two_hundred_tabs_offer_one(desk, chromium):
    """(R12.4)"""
    desk.web.added["/many"] = "<title>Many</title>x"
    tabs = [chromium.open(desk.web.url(f"/many?{number}")) for number in range(200)]
    came = until(lambda: attempt(lambda: taken(desk, "Many", chromium.bundle)), 60)
    assert came["url"].startswith(desk.web.url("/many"))
    assert [each.title for each in desk.chooser.offers if each.bundle_identifier == chromium.bundle] == ["Many"]
    for tab in tabs:
        chromium.close_tab(tab)


@BOTH
def test_a_large_page_is_read_in_time(desk, browser, word):
    """5 MB of text in one element, whose place may come too late; a page without text; one that never ends."""
    stop = threading.Event()

    def endless(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.end_headers()
        handler.wfile.write(page("Endless").encode())
        handler.wfile.flush()
        stop.wait(60)

    desk.web.added |= {
        "/large": "<title>Large</title><pre>" + "A line of the large page.\n" * 200_000 + "</pre>",
        "/empty": "<title>Empty</title>",
        "/endless": endless,
    }
    for title, beginning in (("Large", "A line of the large page."), ("Empty", None), ("Endless", "Paragraph 0")):
        tab = browser.open(desk.web.url(f"/{title.lower()}"))
        desk.offer(title, browser.bundle, 60)
        if title == "Large":
            until(lambda tab=tab: attempt(lambda: browser.evaluate(tab, "document.readyState") == "complete"), 60)
        state = taken(desk, title, browser.bundle)["info"]
        if beginning and (state or title != "Large"):
            assert state["SegueBrowserState"]["text"].startswith(beginning)
        else:
            assert "text" not in state.get("SegueBrowserState", {})
        browser.close_tab(tab)
    stop.set()
