# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the pages about the C interface from include/segue.h: a page for each section, and one that lists all names."""

from __future__ import annotations

import os
import re

import declarations
from comments import Markdown
from declarations import Declaration, Entry, Section

FOLDER = "c"
INDEX = f"{FOLDER}/README.md"
RULES = "docs/handoff.md"
TITLE = "The C interface, name by name"


def page_of(section: Section) -> str:
    words = re.sub(r"[^a-z]+", "-", section.title.split(":")[0].split(" (")[0].lower()).strip("-")
    return f"{FOLDER}/{section.number:02}-{words}.md"


class Reference:
    def __init__(self, header: str) -> None:
        self.head, self.sections = declarations.read(header)
        self.places = {
            declaration.name: page_of(section)
            for section in self.sections
            for entry in section.entries
            for declaration in entry.declarations
        }

    def pages(self) -> dict[str, str]:
        """Returns the text of each page by its path in the site."""
        made = {page_of(section): self.page(section) for section in self.sections}
        return {INDEX: self.index(), **made}

    def titles(self) -> dict[str, str]:
        """Returns the pages in their order, and a short title for each."""
        return {page_of(section): f"{section.number}. {section.title.split(':')[0]}" for section in self.sections}

    def markdown(self, page: str) -> Markdown:
        def address(name: str) -> str | None:
            if re.fullmatch(r"R\d+\.\d+", name):
                return f"{os.path.relpath(RULES, FOLDER)}#{name.lower()}"
            there = self.places.get(name)
            return there and (f"#{name}" if there == page else f"{os.path.basename(there)}#{name}")

        return Markdown(address)

    def index(self) -> str:
        markdown = self.markdown(INDEX)
        lines = [f"# {TITLE}", "", "Made from `segue.h`, which is the manual.", "", markdown.written(self.head), ""]
        for section in self.sections:
            address = os.path.basename(page_of(section))
            lines += ["", f"## [{section.number}. {markdown.prose(section.title)}]({address})", ""]
            names = [each.name for entry in section.entries for each in entry.declarations]
            lines += [", ".join(markdown.linked(name, f"`{name}`") for name in names)]
        return "\n".join([*lines, ""])

    def page(self, section: Section) -> str:
        markdown = self.markdown(page_of(section))
        lines = [f"# {section.number}. {markdown.prose(section.title)}", "", markdown.written(section.text)]
        for entry in section.entries:
            lines += ["", *self.entry(entry, markdown)]
        return "\n".join([*lines, ""])

    def entry(self, entry: Entry, markdown: Markdown) -> list[str]:
        text = markdown.written(entry.comment)
        if not entry.declarations:
            return [text]
        first, *others = entry.declarations
        # A heading has its text as anchor. Constants belong to the type above them.
        head = [anchor(first.name)] if first.kind == "constant" else [f"## `{first.name}`"]
        return [*head, "", *(anchor(each.name) for each in others), "", *shown(entry.declarations), "", text]


def anchor(name: str) -> str:
    return f'<a id="{name}"></a>'


def shown(group: list[Declaration]) -> list[str]:
    return ["```c", *(each.text for each in group), "```"]
