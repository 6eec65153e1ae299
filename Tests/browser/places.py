# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places on pages: the block in sight in one browser, and the one at which another browser lands (R12.6)."""

from __future__ import annotations

import contextlib
import http.server
import lzma
import tarfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import segue
from desk import Desk, prepared_desk, until
from pages import FIRST_IN_SIGHT, PAGES

HERE = Path(__file__).resolve().parent
WIDTHS = (1000, 700, 480)
"""Pixels of the receiving page; the origin has 1000."""
PATIENCE = 6
"""Seconds for a page to land; the extension looks for 5."""
KINDS = "p,li,dd,dt,td,th,pre,h1,h2,h3,h4"
BLOCKS = f"""(() => {{
  const stays = (each) => /fixed|sticky/.test(getComputedStyle(each).position);
  const bars = [...document.querySelectorAll('body *')].filter(stays);
  const covers = ({{ top, bottom, width }}) => top <= 1 && bottom < 200 && width > innerWidth / 2;
  const top = Math.max(0, ...bars.map((each) => each.getBoundingClientRect()).filter(covers).map((r) => r.bottom)) + 1;
  const blocks = [...document.querySelectorAll('{KINDS}')];
  const isLaidOut = (each) => each.checkVisibility({{ contentVisibilityAuto: true }});
  const reads = (each) => !each.querySelector('{KINDS}') && each.textContent.trim() && isLaidOut(each) &&
    each.getClientRects().length > 0 && !bars.some((bar) => bar.contains(each));
  return {{ blocks, readable: blocks.filter(reads),
    first: blocks.findIndex((each) => each.getBoundingClientRect().bottom > top + 8 && reads(each)) }};
}})()"""
"""The blocks of a stored page, which have the same numbers wherever it is shown; those with text, which scroll; and the
number of the first one in sight, by another rule than the extension's. A block whose part of the page is not laid out,
as it is far from the window, has a place that it does not take: it lies over other parts."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
EXTERNAL = """
const principal = Services.scriptSecurityManager.getSystemPrincipal();
const { OPEN_NEWTAB, OPEN_EXTERNAL } = Ci.nsIBrowserDOMWindow;
const window = Services.wm.getMostRecentWindow("navigator:browser");
window.browserDOMWindow.openURI(Services.io.newURI(arguments[0]), null, OPEN_NEWTAB, OPEN_EXTERNAL, principal);
"""
"""Firefox opens the address of a command line so."""


class Page(NamedTuple):
    """A page of a small web, and expressions for its place."""

    name: str
    path: str
    in_sight: str
    """The number of the first block in sight; negative if there is none."""
    top: str
    """The top of a block that is to be scrolled to."""
    blocks: str
    """All blocks."""

    def shows(self, number: int) -> str:
        """An expression: whether a block is in the window."""
        inside = "({ top, bottom }) => bottom > 0 && top < innerHeight"
        return f"({inside})({self.blocks}[{number}].getBoundingClientRect())"


def made_pages() -> list[Page]:
    pages = []
    for number, name in enumerate(PAGES):
        top = f"document.querySelector('[data-n=\"{15 + 2 * number}\"]').getBoundingClientRect().top"
        pages.append(Page(name, f"/made/{name}", FIRST_IN_SIGHT, top, "[...document.querySelectorAll('[data-n]')]"))
    return pages


def real_pages() -> list[Page]:
    """The stored pages of Debian's documentation packages; they begin to be read at different places."""
    pages = []
    for number, page in enumerate(tomllib.loads((HERE / "real_pages.toml").read_text())["page"]):
        share = 0.2 + 0.6 * number / 19
        block = f"(({{ readable }}) => readable[Math.floor({share} * readable.length)])({BLOCKS})"
        top = f"{block}.getBoundingClientRect().top"
        path = f"/real/{page['package']}/{page['file']}"
        pages.append(Page(Path(path).stem, path, f"{BLOCKS}.first", top, f"{BLOCKS}.blocks"))
    return pages


def stored() -> dict[str, Callable[[http.server.BaseHTTPRequestHandler], None]]:
    """Returns what a web answers for the stored pages and their style sheets."""

    def answer(body: bytes, kind: str) -> Callable[[http.server.BaseHTTPRequestHandler], None]:
        def give(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Type", kind)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        return give

    found = {}
    with lzma.open(HERE / "real_pages.tar.xz") as file, tarfile.open(fileobj=file) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            kind = "text/css" if entry.name.endswith(".css") else "text/html; charset=utf-8"
            found[f"/real/{entry.name}"] = answer(content.read(), kind)
    return found


class Landing(NamedTuple):
    page: str
    receiver: str
    width: int
    is_hit: bool
    """Whether the block in sight at the origin is the first one in sight here, too; by a directive: whether it is in
    sight."""
    wanted: int
    """The number of the block in sight at the origin."""
    found: int
    """The same at the receiver, after it has come there or not."""
    by_fraction: bool
    """The same if the receiver is scrolled by the fraction of the height alone."""
    milliseconds: float


def resize(browser: Any, width: int) -> None:
    tab = next(iter(browser.tabs()))
    if browser.word == "chromium":
        found = browser.send("Browser.getWindowForTarget", targetId=tab)
        browser.send("Browser.setWindowBounds", windowId=found["windowId"], bounds={"width": width, "height": 700})
    else:
        browser.send("WebDriver:SwitchToWindow", handle=tab, focus=False)
        browser.send("WebDriver:SetWindowRect", width=width, height=785)


def evaluated(browser: Any, tab: Any, expression: str) -> Any:
    """The value of an expression; None while the page is not there."""
    with contextlib.suppress(Exception):
        return browser.evaluate(tab, expression)
    return None


def settled(browser: Any, tab: Any, there: str) -> None:
    """Waits until a page has its images, and text by an expression."""
    until(lambda: evaluated(browser, tab, f"document.readyState === 'complete' && {there}"), 20)


Launch = Callable[[segue.Offer], None]


def landings(
    desk: Desk, origin: Any, receiver: Any, page: Page, widths: tuple[int, ...], launch: Launch, by_directive: bool
) -> Iterator[Landing]:
    """Continues a page at one place for each width.

    launch: has the receiver open an offer
    by_directive: the receiver has no extension, and puts the text of a directive into the middle of its window
    """
    url = desk.web.url(page.path)
    tab = origin.open(url)
    settled(origin, tab, f"{page.in_sight} >= 0")
    instantly = "document.documentElement.style.scrollBehavior = 'auto'"
    # A page whose parts are laid out when they come into sight changes under way.
    for _ in range(4):
        origin.evaluate(tab, f"{instantly}, scrollTo(0, scrollY + {page.top} - 90), {DRAWN}")
    title = origin.evaluate(tab, "document.title")
    for width in widths:
        resize(receiver, width)
        offer = desk.offer(title, origin.bundle)
        wanted = origin.evaluate(tab, page.in_sight)
        fraction = origin.evaluate(tab, "document.scrollingElement.scrollTop / document.scrollingElement.scrollHeight")
        began = time.monotonic()
        launch(offer)
        there = until(lambda: receiver.with_url(url), 20)[0]
        at_top, shown = f"{page.in_sight} === {wanted}", page.shows(wanted)
        has_come = shown if by_directive else at_top
        with contextlib.suppress(AssertionError):
            until(lambda there=there, has_come=has_come: evaluated(receiver, there, has_come), PATIENCE)
        took = 1000 * (time.monotonic() - began)
        is_hit = bool(evaluated(receiver, there, has_come))
        found = evaluated(receiver, there, page.in_sight)
        # Both in one script, so that nothing else scrolls in between.
        scroll = f"scrollTo(0, {fraction} * document.scrollingElement.scrollHeight)"
        by_fraction = bool(evaluated(receiver, there, f"({instantly}, {scroll}, {has_come})"))
        assert len(receiver.with_url(url)) == 1, "one tab"
        receiver.close_tab(there)
        yield Landing(page.name, receiver.word, width, is_hit, wanted, found, by_fraction, took)
    origin.close_tab(tab)


def with_extension(desk: Desk, receiver: Any) -> Launch:
    def launch(offer: segue.Offer) -> None:
        desk.continue_in(receiver, offer)

    return launch


# ---- A receiver without the extension


def user(home: Path, program: str) -> Mapping[str, str]:
    """The environment of a user whose default browser writes its argument into the file "opened"."""
    applications = home / "data/applications"
    applications.mkdir(parents=True)
    (home / "config").mkdir()
    script = home / program
    script.write_text(f'#!/bin/sh\nprintf %s "$1" >{home}/opened.new && mv {home}/opened.new {home}/opened\n')
    script.chmod(0o755)
    schemes = "x-scheme-handler/http;x-scheme-handler/https;"
    lines = ["[Desktop Entry]", "Type=Application", f"Name={program}", f"Exec={script} %u", f"MimeType={schemes}"]
    (applications / f"{program}.desktop").write_text("\n".join(lines) + "\n")
    default = "".join(f"x-scheme-handler/{scheme}={program}.desktop\n" for scheme in ("http", "https"))
    (home / "config/mimeapps.list").write_text(f"[Default Applications]\n{default}")
    return {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_DATA_DIRS": "/nonexistent",
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CONFIG_DIRS": "/nonexistent",
        "DISPLAY": ":77",
    }


@contextlib.contextmanager
def plain_receiver(origin: str, receiver: str, home: Path) -> Iterator[tuple[Desk, Any, Any, Launch]]:
    """A desk with an origin that has the extension, and a receiver that has not: the agent starts it with the URL."""
    program = {"chromium": "chromium", "firefox": "firefox-esr"}[receiver]
    with prepared_desk(**user(home, program)) as desk:
        first, second = desk.start(origin), desk.start(receiver, None)

        def launch(offer: segue.Offer) -> None:
            opened = home / "opened"
            opened.unlink(missing_ok=True)

            def fits() -> bool:
                candidates = desk.chooser.route(offer)
                return any(each.bundle_identifier == program and not each.against for each in candidates)

            def launched() -> bool:
                try:
                    desk.chooser.launch(offer, program, 20)
                except segue.LimitExceededError:  # an app is launched twenty times a minute at most
                    return False
                return True

            until(fits, 30)
            until(launched, 60)
            url = until(lambda: opened.exists() and opened.read_text())
            if second.word == "chromium":
                second.open(url)
            else:
                second.chrome(EXTERNAL, url)

        until(first.hosts, 30)
        yield desk, first, second, launch


def share_of_hits(found: list[Landing]) -> float:
    return sum(each.is_hit for each in found) / len(found)


def share_by_fraction(found: list[Landing]) -> float:
    return sum(each.by_fraction for each in found) / len(found)


def with_stored_pages(desk: Desk) -> list[Page]:
    """Adds the stored pages to the web of a desk. Returns all forty pages."""
    desk.web.added |= stored()
    return [*made_pages(), *real_pages()]
