# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of pages that are hard to send or to find again, and titles."""

from __future__ import annotations

import json

from desk import until
from pages import FIRST_IN_SIGHT
from visits import BOTH, page, reader, shown, taken

FACE = "\U0001f600"


@BOTH
def test_a_character_of_two_units_at_the_cut_ends_no_host(desk, browser, word):
    """(R12.6) The text ends within the pair; without a whole character at the end, the other page is found."""
    made = "".join(f"<p data-n={n}>{n:02}{'a' * 77}{FACE} b{FACE * 40}</p>" for n in range(40))
    desk.web.added["/faces"] = f"<!doctype html><meta charset=utf-8><title>Faces</title>{made}"
    tab = shown(browser, desk.web.url("/faces"))
    desk.offer("Faces", browser.bundle)
    hosts = browser.hosts()
    browser.evaluate(tab, "document.querySelector('[data-n=\"20\"]').scrollIntoView(), 1")
    state = taken(desk, "Faces", browser.bundle)["info"]["SegueBrowserState"]
    assert state["text"] == "20" + "a" * 77
    assert {"\ufffd"}.isdisjoint(state["text"] + state["before"] + state["after"])
    browser.close_tab(tab)
    with reader(desk, "Faces again", desk.web.url("/faces"), {"SegueBrowserState": state}) as offer:
        desk.continue_in(browser, offer)
        there = until(lambda: browser.with_url(desk.web.url("/faces")))[0]
        until(lambda: browser.evaluate(there, FIRST_IN_SIGHT) == 20)
    browser.close_tab(there)
    assert browser.hosts() == hosts


@BOTH
def test_a_title_with_half_a_character_or_without_end_ends_no_host(desk, browser, word):
    """(W5) A page may have any title; one of a megabyte is cut."""
    desk.web.added["/titles"] = page("Titles")
    tab = shown(browser, desk.web.url("/titles"))
    desk.offer("Titles", browser.bundle)
    hosts = browser.hosts()
    browser.evaluate(tab, "document.title = 'Half \\ud800', 1")
    desk.offer("Half \ufffd", browser.bundle)
    browser.evaluate(tab, "document.title = 'Long '.repeat(200000), 1")
    until(lambda: any((each.title or "").startswith("Long Long") for each in desk.chooser.offers))
    assert browser.hosts() == hosts
    # Browsers cut titles, too, and Chromium only after 4 KiB.
    assert "Long " * 200 in browser.sent() and "Long " * 210 not in browser.sent()
    browser.close_tab(tab)


@BOTH
def test_a_paragraph_with_a_button_is_found_again(desk, browser, word):
    """(R12.6) Neither side reads the button and the name of the picture."""
    made = "".join(
        f"<p data-n={n}>Press <button>Save</button> <svg width=9 height=9><title>Picture</title></svg> to keep the"
        f" sentence {n} of this page, which goes on for a while.</p>"
        for n in range(80)
    )
    desk.web.added["/buttons"] = f"<!doctype html><meta charset=utf-8><title>Buttons</title>{made}"
    tab = shown(browser, desk.web.url("/buttons"))
    browser.evaluate(tab, "document.querySelector('[data-n=\"40\"]').scrollIntoView(), 1")
    state = taken(desk, "Buttons", browser.bundle)["info"]["SegueBrowserState"]
    assert state["text"].startswith("Press to keep the sentence 40")
    assert not {"Save", "Picture"} & set(json.dumps(state).split())
    browser.close_tab(tab)
    place = {"SegueBrowserState": {"text": state["text"]}}
    with reader(desk, "Buttons again", desk.web.url("/buttons"), place) as offer:
        desk.continue_in(browser, offer)
        there = until(lambda: browser.with_url(desk.web.url("/buttons")))[0]
        until(lambda: browser.evaluate(there, FIRST_IN_SIGHT) == 40)
    browser.close_tab(there)


@BOTH
def test_a_form_whose_field_is_its_own_parent_does_not_stop_its_page(desk, browser, word):
    """(W5) A script sees the field in place of the parent: a way up has an end."""
    form = "<form><input name=parentElement hidden>" + "<p>The first words of a form.</p>" * 3 + "</form>"
    desk.web.added["/circle"] = page("Circle", form)
    tab = shown(browser, desk.web.url("/circle"))
    taken(desk, "Circle", browser.bundle)
    assert browser.evaluate(tab, "document.title") == "Circle"
    browser.close_tab(tab)


@BOTH
def test_a_place_ends_with_its_line_and_is_found_by_what_stands_around_it(desk, browser, word):
    """(R12.6) No browser finds a text of a directive across lines; the same line may stand on a page many times. A mark
    that is not shown stands nowhere."""
    made = "".join(
        f"<h3>Part {n}<a style='visibility:hidden'>\u00b6</a></h3><p data-n={n}>Name:<br>value {n}<br>more</p>"
        f"<pre id=code-{n}>---\nrun it {n}\nagain</pre>"
        for n in range(60)
    )
    desk.web.added["/lines"] = f"<!doctype html><meta charset=utf-8><title>Lines</title>{made}"
    tab = shown(browser, desk.web.url("/lines"))
    browser.evaluate(tab, "document.getElementById('code-20').scrollIntoView(), 1")
    state = taken(desk, "Lines", browser.bundle)["info"]["SegueBrowserState"]
    assert state["text"] == "run it 20" and state["before"].endswith("value 20  more  ---")
    assert state["after"] == "  again  Part 21  Name:  value 21"[:32]
    browser.evaluate(tab, "document.querySelector('[data-n=\"20\"]').scrollIntoView(), 1")
    state = taken(desk, "Lines", browser.bundle)["info"]["SegueBrowserState"]
    assert (state["text"], state["after"]) == ("Name:", "  value 20  more  ---  run it 20")
    assert state["before"].endswith("again  Part 20")
    browser.close_tab(tab)
    with reader(desk, "Lines again", desk.web.url("/lines"), {"SegueBrowserState": {**state, "id": "none"}}) as offer:
        desk.continue_in(browser, offer)
        there = until(lambda: browser.with_url(desk.web.url("/lines")))[0]
        until(lambda: browser.evaluate(there, FIRST_IN_SIGHT) == 20)
    browser.close_tab(there)
