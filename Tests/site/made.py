# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A site that has been made: what its pages link to and load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# Attributes by which a browser loads something by itself. A link of these kinds is only followed by its reader.
LOADING = {"src", "srcset", "data", "poster", "background", "xlink:href", "action", "formaction", "manifest", "ping"}
FOLLOWED = {"a", "area"}
POLICY = "Content-Security-Policy"


class Page(HTMLParser):
    """The anchors of a page, the addresses that a reader may follow, and those that a browser loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.classes: set[str] = set()
        self.pictures: list[dict[str, str | None]] = []
        self.policy: str | None = None
        self.in_style = False
        self.words: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.in_style = tag == "style"
        given = dict(attributes)
        self.classes.update((given.get("class") or "").split())
        if given.get("http-equiv") == POLICY:
            self.policy = given.get("content")
        if tag == "img":
            self.pictures.append(given)
        for name, value in attributes:
            if name in ("id", "name") and value and (name == "id" or tag == "a"):
                self.anchors.append(value)
            elif name == "href" and tag in FOLLOWED:
                self.links.append(value or "")
            elif name in LOADING or name == "href":
                self.loads += [part.split()[0] for part in (value or "").split(", ") if part]
            elif name == "style":
                self.loads += loaded_by_style(value or "")

    def text(self) -> str:
        """The text, without marks; each run of blanks is one."""
        return " ".join("".join(self.words).split())

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.in_style:
            self.loads += loaded_by_style(data)


def loaded_by_style(text: str) -> list[str]:
    found = re.findall(r"url\(\s*[\"']?(.*?)[\"']?\s*\)|@import\s+[\"'](.*?)[\"']", text)
    return [address or imported for address, imported in found]


def is_foreign(address: str) -> bool:
    """Whether a browser would ask another server."""
    return re.match(r"(?:(?!data:|blob:)[a-zA-Z][a-zA-Z+.-]*:|//)", address) is not None


class Site:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}

    def broken(self) -> Iterator[str]:
        """Yields the links within the site that lead nowhere, and what pages load that is not there."""
        for path, page in self.pages.items():
            for address in [*page.links, *page.loads]:
                if not re.match(r"[a-zA-Z][a-zA-Z+.-]*:|//", address) and not self.leads_somewhere(path, address):
                    yield f"{path.relative_to(self.folder)}: {address}"

    def leads_somewhere(self, page: Path, address: str) -> bool:
        target, _, anchor = address.partition("#")
        # The page for addresses that do not exist is shown under any address, and names others from the top.
        start = self.folder if target.startswith("/") else page.parent
        there = (start / unquote(target).lstrip("/")).resolve() if target else page
        if there.is_dir():
            there = there / "index.html"
        if not there.is_file():
            return False
        return not anchor or there.suffix != ".html" or unquote(anchor) in self.pages[there].anchors

    def foreign(self) -> Iterator[str]:
        """Yields what pages and styles would load from another server."""
        for path, page in self.pages.items():
            yield from (f"{path.relative_to(self.folder)}: {each}" for each in page.loads if is_foreign(each))
        for path in sorted(self.folder.rglob("*.css")):
            loaded = loaded_by_style(path.read_text())
            yield from (f"{path.relative_to(self.folder)}: {each}" for each in loaded if is_foreign(each))
        # A picture that a page shows loads nothing, but one that is opened does.
        for path in sorted(self.folder.rglob("*.svg")):
            text = path.read_text()
            loaded = [*loaded_by_style(text), *re.findall(r"\b(?:href|src)=\"([^\"]*)\"", text)]
            yield from (f"{path.relative_to(self.folder)}: {each}" for each in loaded if is_foreign(each))
