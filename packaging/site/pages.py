# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers what the site is made of: the Markdown of the project, and the files that its pages lead to."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from c_reference import INDEX, TITLE, Reference

ROOT = Path(__file__).resolve().parents[2]
HEADER = "include/segue.h"
CONTENTS = "docs/README.md"
# Data of tests, not a page for readers.
LEFT_OUT = {"Tests/ModelTests/Vectors/README.md"}
PICTURES = {".svg", ".png"}
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".swift": "text", ".lua": "lua", ".json": "json", ".toml": "toml"}
# A file of more bytes is shown without colours.
COLOURED = 65536
# Behind its language a fence may say what the tests do with it.
FENCED = re.compile(r"^(?P<ticks>`{3,})(?P<language>\w*)[^\n]*(?P<code>\n.*?^)(?P=ticks)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<before>!?\[(?P<text>(?:[^][]|\[[^]]*\])*)\]\()(?P<target>[^)\s]+)\)")
RULE = re.compile(r"^(- )(\*\*(R\d+\.\d+)\*\*)", re.MULTILINE)


def committed(suffix: str) -> list[str]:
    """The files that are committed or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", f"*{suffix}"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in listed if (ROOT / name).is_file()]


def is_address(target: str) -> bool:
    return re.match(r"[a-z][a-z+.-]*:", target) is not None


class Pages:
    """The sources of the site, by their paths in it, which are those of the project."""

    def __init__(self) -> None:
        self.names = [name for name in committed(".md") if name not in LEFT_OUT]
        self.reference = Reference((ROOT / HEADER).read_text())
        self.shown: set[str] = set()  # other files that pages lead to

    def write(self, folder: Path) -> None:
        """Writes the sources into an empty folder."""
        texts = {name: self.page(name) for name in self.names} | self.reference.pages()
        for name in sorted(self.shown):
            if Path(name).suffix in PICTURES:
                self.put(folder, name).write_bytes((ROOT / name).read_bytes())
            else:
                texts[f"{name}.md"] = self.source(name)
        for name, text in texts.items():
            self.put(folder, name).write_text(text)

    def put(self, folder: Path, name: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def page(self, name: str) -> str:
        """A page, with links that lead to pages of the site. Rules have their numbers as anchors."""
        text = (ROOT / name).read_text()
        pieces, end = [], 0
        for fence in FENCED.finditer(text):
            code = f"{fence['ticks']}{fence['language']}{fence['code']}{fence['ticks']}"
            pieces += [self.linked(name, text[end : fence.start()]), code]
            end = fence.end()
        text = "".join([*pieces, self.linked(name, text[end:])])
        return RULE.sub(lambda found: f'{found[1]}<a id="{found[3].lower()}"></a>{found[2]}', text)

    def linked(self, page: str, text: str) -> str:
        return LINK.sub(lambda link: self.link(page, link), text)

    def link(self, page: str, link: re.Match[str]) -> str:
        target, _, heading = link["target"].partition("#")
        if not target or is_address(target):
            return link[0]
        folder = posixpath.dirname(page)
        there = self.place(posixpath.normpath(posixpath.join(folder, target)))
        if there is None:
            return link["text"]
        return f"{link['before']}{posixpath.relpath(there, folder)}{'#' + heading if heading else ''})"

    def place(self, name: str) -> str | None:
        """The source of a file of the project in the site; None for a folder without a page."""
        if name == HEADER:
            return INDEX
        if (ROOT / name).is_dir():
            name = posixpath.join(name, "README.md")
            return name if name in self.names else None
        if name in self.names:
            return name
        if not (ROOT / name).is_file():
            raise FileNotFoundError(f"a page leads to {name}, which does not exist")
        self.shown.add(name)
        return name if Path(name).suffix in PICTURES else f"{name}.md"

    def source(self, name: str) -> str:
        """A page that shows a file."""
        text = (ROOT / name).read_text()
        language = LANGUAGES.get(Path(name).suffix, "text") if len(text) <= COLOURED else "text"
        ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        return f"# `{name}`\n\n{ticks}{language}\n{text.rstrip()}\n{ticks}\n"

    def navigation(self) -> list[dict[str, object]]:
        """The pages in the order of docs/README.md, under its headings; then the interfaces, and what is left."""
        contents = (ROOT / CONTENTS).read_text()
        groups: list[dict[str, object]] = [{"Segue": ["README.md", CONTENTS]}]
        for heading, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", contents, re.MULTILINE | re.DOTALL):
            targets = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", text, re.MULTILINE)
            groups.append({heading: [posixpath.normpath(posixpath.join("docs", each)) for each in targets]})
        sections = [{title: name} for name, title in self.reference.titles().items()]
        groups.append({TITLE: [INDEX, *sections]})
        listed = {name for group in groups for names in group.values() for name in _flat(names)}
        left = [name for name in self.names if name not in listed]
        shown = [{name: f"{name}.md"} for name in sorted(self.shown) if Path(name).suffix not in PICTURES]
        return [*groups, {"Project": left}, {"Files": shown}]


def _flat(names: object) -> Iterator[str]:
    assert isinstance(names, list)
    for name in names:
        yield from [name] if isinstance(name, str) else name.values()


def gather(folder: Path) -> Pages:
    """Makes the folder anew, with all sources of the site."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    pages = Pages()
    pages.write(folder)
    return pages
