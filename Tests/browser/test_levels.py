# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three levels of permissions, in real browsers: ask, pages, sites. The tests of the other files have sites."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from desk import Desk, until
from identity import IDENTITY
from pages import FIRST_IN_SIGHT, PAGES
from places import settled
from visits import BOTH, attempt, page, reader, shown, taken

STATE = "document.getElementById('state').textContent"
PRESS = "document.getElementById('offer').click(), 1"


def pressed(browser: Any, tab: Any, expression: str, wanted: str) -> None:
    """Presses the button until its popup says that: on a busy machine a popup may close before it is whole."""
    for _ in range(4):
        browser.press(tab)
        with contextlib.suppress(AssertionError):
            until(lambda: attempt(lambda: browser.popup(expression)) == wanted, 5)
            return
    raise AssertionError(f"the popup does not say {wanted!r}")


@BOTH
def test_at_first_only_a_page_for_which_the_button_is_pressed_is_offered_until_it_navigates(own_desk, word):
    """(R12.4) No host runs before, and none afterwards."""
    browser = own_desk.start(word, "ask")
    own_desk.web.added |= {"/asked": page("Asked"), "/next": page("Next")}
    tab = shown(browser, own_desk.web.url("/asked"))
    time.sleep(2.5)  # the silence itself: longer than a page is in front before it is offered
    assert not browser.hosts() and not own_desk.chooser.offers
    pressed(browser, tab, STATE, "This page is not offered.")
    browser.popup(PRESS)
    own_desk.offer("Asked", browser.bundle)
    until(lambda: "is offered" in browser.popup(STATE))
    state = taken(own_desk, "Asked", browser.bundle)["info"]["SegueBrowserState"]
    assert state["text"].startswith("Paragraph 0 of Asked")
    browser.navigate(tab, own_desk.web.url("/next"))
    until(lambda: not own_desk.chooser.offers)
    until(lambda: not browser.hosts())
    assert "Next" not in browser.sent() and "/next" not in browser.sent()


@BOTH
def test_with_pages_the_page_in_front_is_offered_without_its_place(own_desk, word):
    """(R12.4) No script enters a page that was not granted: the URL travels alone."""
    browser = own_desk.start(word, "pages")
    own_desk.web.added["/front"] = page("Front")
    shown(browser, own_desk.web.url("/front"))
    came = taken(own_desk, "Front", browser.bundle)
    assert came == {"url": own_desk.web.url("/front"), "info": {}}


def place_of(desk: Desk, name: str, n: int) -> dict[str, str]:
    """The beginning of a paragraph, as another browser would send it."""
    from pages import page as made

    text = made(name).split(f"data-n={n}>", 1)[1].split("</", 1)[0]
    return {"text": text[:80].rstrip(), "after": text[80:112]}


@BOTH
def test_without_access_a_page_lands_by_a_text_directive(own_desk, word):
    """(R12.6)"""
    browser = own_desk.start(word, "pages")
    plain = [name for name in PAGES if name in ("plain", "headings", "sticky", "columns", "listed", "table", "chinese")]
    for name in plain:
        url = own_desk.web.url(f"/made/{name}")
        with reader(own_desk, f"Place on {name}", url, {"SegueBrowserState": place_of(own_desk, name, 40)}) as offer:
            own_desk.continue_in(browser, offer)
        tab = until(lambda url=url: browser.with_url(url))[0]
        settled(browser, tab, "document.querySelector('[data-n=\"40\"]') !== null")
        # A directive puts its text in the middle of the window.
        inside = "(({top, bottom}) => bottom > 0 && top < innerHeight)(document.querySelector('[data-n=\"40\"]')"
        until(lambda tab=tab, inside=inside: browser.evaluate(tab, inside + ".getBoundingClientRect())"))
        assert browser.evaluate(tab, FIRST_IN_SIGHT) > 20
        browser.close_tab(tab)


@BOTH
@pytest.mark.parametrize("fragment", ["", "#part", "#:~:text=Paragraph%2030"])
def test_a_directive_that_is_there_stays(own_desk, word, fragment):
    """(R12.6) A page is shown whatever its fragment."""
    browser = own_desk.start(word, "pages")
    own_desk.web.added["/fragment"] = page("Fragment", "<p id=part>Part</p>")
    url = own_desk.web.url("/fragment")
    place = {"SegueBrowserState": {"text": "Paragraph 45 of Fragment is here for the length of it."}}
    with reader(own_desk, "Fragment", url + fragment, place) as offer:
        own_desk.continue_in(browser, offer)
    tab = until(lambda: browser.with_url(url))[0]
    until(lambda: attempt(lambda: browser.evaluate(tab, "document.title")) == "Fragment")
    assert browser.evaluate(tab, "location.hash") == ("#part" if fragment == "#part" else "")
    if word == "chromium" and "text=" in fragment:  # Firefox follows no directive of a page that is not there yet.
        until(lambda: 15 <= browser.evaluate(tab, FIRST_IN_SIGHT) <= 30)


def test_an_excluded_host_is_not_offered_and_the_popup_says_so(own_desk):
    """(R12.4) Neither the host nor one below it."""
    browser = own_desk.start("chromium")
    own_desk.web.added["/excluded"] = page("Excluded")
    tab = shown(browser, own_desk.web.url("/excluded", "localhost"))
    own_desk.offer("Excluded", browser.bundle)
    pressed(browser, tab, "document.getElementById('host').textContent", "localhost")
    browser.popup("document.getElementById('excluded').click(), 1")
    until(lambda: not own_desk.chooser.offers)
    until(lambda: "You have excluded localhost" in browser.popup(STATE))
    sent = len(browser.sent())
    browser.navigate(tab, own_desk.web.url("/excluded", "below.localhost"))
    time.sleep(2.5)  # the silence itself
    assert "below" not in browser.sent()[sent:]
    browser.navigate(tab, own_desk.web.url("/excluded"))
    own_desk.offer("Excluded", browser.bundle)
    pressed(browser, tab, STATE, "This page is offered to your other browsers and apps.")
    browser.navigate(tab, own_desk.web.url("/excluded", "localhost."))
    until(lambda: not own_desk.chooser.offers)
    browser.navigate(tab, own_desk.web.url("/excluded", "below.localhost"))
    pressed(browser, tab, "document.getElementById('host').textContent", "localhost")
    browser.popup("document.getElementById('excluded').click(), 1")
    own_desk.offer("Excluded", browser.bundle)


@BOTH
def test_a_page_that_is_withdrawn_stays_so_until_its_tab_goes_elsewhere(own_desk, word):
    """(R12.4) Events of the tab do not offer it again."""
    browser = own_desk.start(word, "pages")
    own_desk.web.added |= {"/back": page("Back"), "/elsewhere": page("Elsewhere")}
    tab = shown(browser, own_desk.web.url("/back"))
    own_desk.offer("Back", browser.bundle)
    pressed(browser, tab, STATE, "This page is offered to your other browsers and apps.")
    browser.popup(PRESS)
    until(lambda: not own_desk.chooser.offers)
    browser.evaluate(tab, "document.title = 'Back, changed', 1")
    time.sleep(2.5)  # the silence itself: longer than a page is in front before it is offered
    assert "changed" not in browser.sent()
    browser.navigate(tab, own_desk.web.url("/elsewhere"))
    own_desk.offer("Elsewhere", browser.bundle)
    browser.navigate(tab, own_desk.web.url("/back"))
    own_desk.offer("Back", browser.bundle)


LEVELS = "[...document.getElementsByName('level')].find((each) => each.checked)?.value"
CHOOSE = """(() => {
  const input = document.defaultView.windowUtils.setHandlingUserInput(true);
  try { document.querySelector('[value=%s]').click() } finally { input.destruct() }
  return 1;
})()"""


def test_the_user_chooses_a_level_in_firefox_and_takes_it_back(own_desk):
    """(R12.4) Firefox takes a request for permissions only from the handler of an input."""
    browser = own_desk.start("firefox", "ask")
    browser.chrome("Services.prefs.setBoolPref('extensions.webextOptionalPermissionPrompts', false)")
    own_desk.web.added["/levels"] = page("Levels")
    tab = shown(browser, own_desk.web.url("/levels"))
    pressed(browser, tab, LEVELS, "ask")
    granted = (
        "const { ExtensionPermissions } ="
        " ChromeUtils.importESModule('resource://gre/modules/ExtensionPermissions.sys.mjs');"
        "return ExtensionPermissions.get(arguments[0])"
    )
    kinds = ("permissions", "origins", "data_collection")
    for level, numbers in (("pages", [1, 0, 0]), ("sites", [1, 2, 2]), ("pages", [1, 0, 0]), ("ask", [0, 0, 0])):
        browser.popup(CHOOSE % level)
        until(lambda level=level: browser.popup(LEVELS) == level)
        found = browser.chrome(granted, IDENTITY["FIREFOX_ID"])
        assert [len(found[kind]) for kind in kinds] == numbers, level
