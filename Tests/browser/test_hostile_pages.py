# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that are not what their address says, or whose elements have the names of the extension's own, in two real
browsers. Each test has a control: the same page without it."""

from __future__ import annotations

import http.server
import socket
import time
from typing import Any

import pytest
from desk import until
from identity import TYPE
from pages import Web
from test_activities import kind_of, own, seen, sent_page
from visits import BOTH, page, shown, taken

BOXED = "com.example.boxed"
HEARS = f"""<meta name=segue-activity content={BOXED}><script>
  globalThis.seen = [];
  document.addEventListener("segue-extension", (event) => {{
    const {{ t, id, userInfo }} = JSON.parse(event.detail);
    const answer = {{ type: "{BOXED}", id, userInfo: JSON.stringify({{ forged: true }}) }};
    const say = () => document.dispatchEvent(new CustomEvent("segue-page", {{ detail: JSON.stringify(answer) }}));
    if (t === "read" || t === "save") say();
    if (t === "continue") event.preventDefault(), seen.push(JSON.parse(userInfo));
  }});
  setInterval(() => document.dispatchEvent(new CustomEvent("segue-page", {{ detail: "{{}}" }})), 300);
</script>"""


def sandboxed(text: str) -> Any:
    """An answer whose document may run scripts and has no origin: what a site serves that others have written."""

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html; charset=utf-8")
        handler.send_header("Content-Security-Policy", "sandbox allow-scripts")
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return answer


@BOTH
def test_a_document_without_an_origin_does_not_speak_for_its_site(desk, browser, word):
    """(W1, R12.7) It neither has an activity, which the app of its site would take, nor gets one of that site."""
    for title, made in (("Boxed", sandboxed), ("Unboxed", str)):
        desk.web.added["/boxed"] = made(page(title, HEARS))
        tab = shown(browser, desk.web.url("/boxed"))
        if made is str:
            assert own(desk, title, browser.bundle, BOXED)["info"] == {"forged": True}
        else:
            kind_of(desk, title, browser.bundle, TYPE)
            assert "forged" not in taken(desk, title, browser.bundle)["info"]
            assert BOXED not in [each.type for each in desk.chooser.offers]
        browser.close_tab(tab)
        with sent_page(desk, f"Sent {title}", desk.web.url("/boxed"), {"secret": title}, BOXED) as offer:
            desk.continue_in(browser, offer)
        tab = until(lambda: browser.with_url(desk.web.url("/boxed")), 20)[0]
        until(lambda tab=tab: seen(browser, tab) is not None)
        if made is str:
            until(lambda tab=tab, title=title: seen(browser, tab) == [{"secret": title}])
        else:
            time.sleep(2)  # the silence itself
            assert seen(browser, tab) == []
        browser.close_tab(tab)


@BOTH
def test_elements_with_names_of_the_extension_change_nothing(desk, browser, word):
    """(R12.4, R12.6) A document has its elements with an id as properties of its window, in every world."""
    named = "<a id=seguePage></a><a id=seguePlace></a>"
    for title, elements in (("Named", named), ("Unnamed", "")):
        desk.web.added["/named"] = page(title, elements)
        tab = shown(browser, desk.web.url("/named"))
        desk.offer(title, browser.bundle)
        assert taken(desk, title, browser.bundle)["info"]["SegueBrowserState"]["text"]
        browser.close_tab(tab)


@BOTH
def test_a_page_of_an_address_of_ipv6_is_a_page(desk, browser, word):
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    web = Web("::1")
    web.added["/six"] = page("Six")
    url = web.url("/six", "[::1]")
    tab = shown(browser, url)
    desk.offer("Six", browser.bundle)
    assert taken(desk, "Six", browser.bundle)["url"] == url
    browser.close_tab(tab)
    with sent_page(desk, "To six", url, {}) as offer:
        desk.continue_in(browser, offer)
    browser.close_tab(until(lambda: browser.with_url(url), 20)[0])
    web.close()
