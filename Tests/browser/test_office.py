# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example with four tabs (R6.3, R12.8): a tab whose app is missing is continued in a browser, at its page, and what
is changed there comes back into its tab. The site is one of https, which lists the program."""

from __future__ import annotations

import os
import sys

import segue
from desk import prepared_desk, until
from programs import programs
from project import ROOT
from sites import OFFICE_APP, PAGE, site_of_app
from visits import BOTH, attempt

TABS = ROOT / "bindings" / "python" / "examples" / "tabs.py"
TEXT = "document.getElementById('text')"


@BOTH
def test_a_tab_without_an_app_goes_on_in_a_browser_and_comes_back_into_its_tab(tmp_path, word):
    """The small program has one of the tabs: the type decides, and where there is none, the page."""
    with (
        site_of_app(tmp_path, [f"OFFICE.{OFFICE_APP}"]) as (site, variables),
        prepared_desk(**variables) as desk,
        programs({**os.environ, "SEGUE_RUNTIME_DIR": str(desk.run), "OFFICE_SITE": PAGE}) as start,
    ):
        browser = desk.start(word, proxy=site.proxy)
        until(browser.hosts, 30)
        big = start("big", [sys.executable, TABS, OFFICE_APP])
        small = start("small", [sys.executable, TABS, "com.example.plan", "plan"])
        small.wait_for("^shows plan: ")
        big.wait_for("^shows letter: ")
        # Natively, where an app has the type.
        big.tell("plan")
        big.tell("= Monday: rest & sleep")
        big.tell("plan")
        big.wait_for("^shows plan: Monday: rest & sleep$")
        offer = desk.offer("plan", OFFICE_APP)
        assert (offer.web_origin, offer.supports_continuation_streams) == ("https://localhost", True)
        until(
            lambda: any(e.bundle_identifier == "com.example.plan" and not e.against for e in desk.chooser.route(offer))
        )
        assert desk.chooser.launch(offer, None, 20).outcome == RESTORED
        small.wait_for("^restored plan: Monday: rest & sleep$")
        # In the browser, where none has it.
        big.tell("letter")
        big.tell("= Dear \U0001f30d, a=b & c")
        big.tell("letter")
        big.wait_for("^shows letter: Dear \U0001f30d, a=b & c$")
        there = desk.continue_in(browser, desk.offer("letter", OFFICE_APP))
        assert (there.bundle_identifier, there.outcome) == (browser.bundle, RESTORED)
        (page,) = until(lambda: browser.with_url(f"{PAGE}letter"))
        until(lambda: attempt(lambda: browser.evaluate(page, f"{TEXT}?.value")) == "Dear \U0001f30d, a=b & c", 20)
        # And back: nobody names the program, the site does.
        change = f"({TEXT}.value += '!', {TEXT}.dispatchEvent(new Event('input')), 1)"
        browser.evaluate(page, change)
        back = desk.offer("letter", browser.bundle)
        until(lambda: any(e.role == "association" and not e.against for e in desk.chooser.route(back)), 30)
        until(lambda: "%21" in browser.tabs()[page] or "!" in browser.tabs()[page])
        done = desk.chooser.launch(back, None, 30)
        assert (done.bundle_identifier, done.outcome) == (OFFICE_APP, RESTORED)
        big.wait_for("^restored letter: Dear \U0001f30d, a=b & c!$")


RESTORED = segue.Outcome.RESTORED
