# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small web: made pages of many kinds, served on this machine alone."""

from __future__ import annotations

import http.server
import random
import socket
import threading
import urllib.parse
from collections.abc import Callable

from project import ROOT

BEGINNINGS = ("riv", "ston", "lant", "orch", "copp", "mead", "harb", "wint", "cand", "velv", "thund", "pebb")
ENDINGS = ("er", "el", "ard", "in", "ow", "our")
WORDS = [beginning + ending for beginning in BEGINNINGS for ending in ENDINGS]


def sentence(dice: random.Random, count: int) -> str:
    return " ".join(dice.choices(WORDS, k=count)).capitalize() + "."


def paragraphs(seed: int, count: int = 80) -> list[str]:
    dice = random.Random(seed)
    return [sentence(dice, dice.randrange(20, 70)) for _ in range(count)]


def plain(seed: int) -> str:
    return "".join(f"<p data-n={n}>{text}</p>" for n, text in enumerate(paragraphs(seed)))


def headings(seed: int) -> str:
    return "".join(
        (f"<h2 id=section-{n // 8}>Part {n // 8}</h2>" if n % 8 == 0 else "") + f"<p data-n={n}>{text}</p>"
        for n, text in enumerate(paragraphs(seed))
    )


def sticky(seed: int) -> str:
    bar = "<header style='position:sticky;top:0;background:#eee;height:70px'>Menu <input value=secret></header>"
    return bar + plain(seed)


def fixed(seed: int) -> str:
    bar = "<nav style='position:fixed;top:0;left:0;right:0;background:#eee;height:50px'>A fixed bar</nav>"
    return bar + "<div style='padding-top:50px'>" + headings(seed) + "</div>"


def inline(seed: int) -> str:
    made = []
    for n, text in enumerate(paragraphs(seed)):
        words = text.split()
        middle = len(words) // 2
        made.append(
            f"<p data-n={n}><b>{words[0]}</b> {' '.join(words[1:3])} <a href=#x>{words[3]}</a><em>ly</em>\n"
            f"   {' '.join(words[4:middle])} <code>{' '.join(words[middle:])}</code></p>"
        )
    return "".join(made)


def listed(seed: int) -> str:
    return "<ol>" + "".join(f"<li data-n={n}>{text}" for n, text in enumerate(paragraphs(seed))) + "</ol>"


def table(seed: int) -> str:
    texts = paragraphs(seed)
    rows = "".join(f"<tr><td data-n={n}>{text}</td><td>{n}</td></tr>" for n, text in enumerate(texts))
    return f"<table>{rows}</table>"


def repeated(seed: int) -> str:
    """The same words again and again: only the surroundings differ."""
    texts = paragraphs(seed)
    return "".join(
        f"<p data-n={n}>{'See the notes above.' if n % 3 == 1 else text}</p>" for n, text in enumerate(texts)
    )


def columns(seed: int) -> str:
    side = "<aside style='float:right;width:200px'>" + "<p>Read on.</p>" * 5 + "</aside>"
    return side + f"<main style='max-width:600px'>{headings(seed)}</main>"


def late_images(seed: int) -> str:
    """Images that arrive late and push the text down."""
    made = []
    for n, text in enumerate(paragraphs(seed)):
        if n % 9 == 4:
            made.append(f"<img src=/late.svg?{seed}-{n}>")
        made.append(f"<p data-n={n}>{text}</p>")
    return "".join(made)


def late_text(seed: int) -> str:
    """Text that a script brings half a second after the page."""
    made = "".join(f"<p data-n={n}>{text}</p>" for n, text in enumerate(paragraphs(seed)))
    return f"<div id=app>Loading</div><template id=t>{made}</template>" + (
        "<script>setTimeout(()=>app.replaceChildren(t.content),500)</script>"
    )


def chinese(seed: int) -> str:
    dice = random.Random(seed)
    signs = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏閏餘成歲律呂調陽雲騰致雨露結為霜金生麗水玉出崑岡"
    return "".join(f"<p data-n={n}>{''.join(dice.choices(signs, k=90))}。</p>" for n in range(80))


def breaks(seed: int) -> str:
    return "".join(f"<div data-n={n}>{text.replace('er ', 'er<br>')}</div>" for n, text in enumerate(paragraphs(seed)))


def forms(seed: int) -> str:
    made = []
    for n, text in enumerate(paragraphs(seed)):
        made.append(f"<p data-n={n}>{text}</p>")
        if n % 7 == 3:
            made.append(
                "<form><input value='SECRET-IN-INPUT'><textarea>SECRET-IN-AREA</textarea>"
                "<div contenteditable>SECRET-IN-EDITOR</div><input type=password value=SECRET-PASSWORD>"
                "<select><option>SECRET-OPTION</select></form>"
            )
    return "".join(made)


def poetry(seed: int) -> str:
    return "<style>p{white-space:pre-wrap;text-indent:2em}</style>" + plain(seed)


def soft(seed: int) -> str:
    return "".join(
        f"<p data-n={n}>{text.replace('el', '&shy;el').replace('ow', '&#8203;ow')}</p>"
        for n, text in enumerate(paragraphs(seed))
    )


MADE: dict[str, Callable[[int], str]] = {
    each.__name__: each
    for each in (
        plain, headings, sticky, fixed, inline, listed, table, repeated, columns, late_images, late_text, chinese,
        breaks, forms, poetry, soft,
    )
}  # fmt: skip
# Twenty pages: each kind, and some of them again with other text and another style.
PAGES: dict[str, tuple[str, int, str]] = {name: (name, 100 + n, "") for n, name in enumerate(MADE)}
PAGES |= {
    "large-type": ("headings", 201, "body{font:28px/1.8 serif}"),
    "narrow-column": ("inline", 202, "body{max-width:340px;margin:auto}"),
    "grid": ("columns", 203, "body{display:grid;grid-template-columns:100px 1fr}"),
    "smooth": ("plain", 204, "html{scroll-behavior:smooth}"),
}


def page(name: str) -> str:
    kind, seed, style = PAGES[name]
    return (
        f"<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><title>{name}</title>"
        f"<style>body{{font:16px/1.5 sans-serif}}{style}</style><body>{MADE[kind](seed)}"
    )


LIBRARY = (ROOT / "browser" / "site" / "segue-page.js").read_text()
"""The script by which a page has an activity of its own; the web serves it as /segue-page.js."""
OWN = "com.example.draft.editing"


def with_activity(title: str, more: str = "", body: str = "", kind: str = OWN) -> str:
    """A page with an activity of its own, `activity`, whose state is `state`; `seen` has what it is given."""
    script = f"""<script type=module>
        import {{ UserActivity }} from "/segue-page.js";
        globalThis.state ??= {{ cursor: 7 }};
        globalThis.seen = [];
        globalThis.activity = new UserActivity("{kind}");
        activity.addEventListener("save", () => (activity.userInfo = state));
        activity.addEventListener("continue", () => seen.push(activity.userInfo));
        activity.addEventListener("wascontinued", () => seen.push("wascontinued"));
        activity.becomeCurrent();
        {more}
        </script>"""
    return f"<!doctype html><meta charset=utf-8><title>{title}</title><body>{body}<p>A page of its own.</p>{script}"


FIRST_IN_SIGHT = """(() => {
  const bar = [...document.querySelectorAll('header,nav')].map(e => e.getBoundingClientRect().bottom);
  const top = Math.max(0, ...bar.filter(b => b < 200)) + 1;
  const found = [...document.querySelectorAll('[data-n]')].find(e => e.getBoundingClientRect().bottom > top + 8);
  return found ? Number(found.dataset.n) : -1;
})()"""
"""The number of the first paragraph in sight, by another rule than the extension's."""


class Web:
    """A server with the made pages, and pages that a test adds."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address = address
        self.added: dict[str, str | Callable[[http.server.BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked.append(self.path)
                path = urllib.parse.urlsplit(self.path).path
                made = web.added.get(path)
                if callable(made):
                    made(self)
                elif made is not None:
                    self.answer(made)
                elif path == "/segue-page.js":
                    self.answer(LIBRARY, "text/javascript")
                elif path.removeprefix("/made/") in PAGES:
                    self.answer(page(path.removeprefix("/made/")))
                elif path == "/late.svg":
                    threading.Event().wait(0.4)  # an image that is late is what this is about
                    self.answer("<svg xmlns='http://www.w3.org/2000/svg' width='300' height='220'/>", "image/svg+xml")
                else:
                    self.send_error(404)

            def answer(self, text: str, kind: str = "text/html; charset=utf-8") -> None:
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

        self.server = Server((address, 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a browser that no longer wants an image
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server.server_port}{path}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
