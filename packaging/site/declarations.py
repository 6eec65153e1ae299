# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads include/segue.h: its sections, and in each the comments with the declarations below them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A comment of documentation, another comment, a line of the preprocessor, or a declaration up to its semicolon.
PIECE = re.compile(
    r"""/\*(?P<doc>\*?)(?P<comment>.*?)\*/
    |(?P<preprocessor>^\#[^\n]*)
    |(?P<declaration>^(?:typedef\ struct\ \w+\ \{.*?^\}\ \w+;|[A-Za-z][^;{}]*;))
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
BANNER = re.compile(r" -{20,}\n \* (?P<number>\d+)\. (?P<title>[^\n]+)\n(?P<text>.*) \* -{20,} ?$", re.DOTALL)
NAME = (
    re.compile(r"#define (SEGUE_\w+)"),
    re.compile(r"typedef [^;{(]*\(\*(\w+)\)"),
    re.compile(r"typedef struct (\w+) \{"),
    re.compile(r"typedef [^;{(]*?(\w+);"),
    re.compile(r"(segue_\w+)\("),
)


class HeaderError(Exception):
    """The header has something that this program does not understand."""


@dataclass
class Declaration:
    name: str
    text: str

    @property
    def kind(self) -> str:
        first = self.text.partition(" ")[0]
        return {"#define": "constant", "typedef": "type"}.get(first, "function")


@dataclass
class Entry:
    """A comment, and the declarations that it describes. A comment without declarations stands for itself."""

    comment: str
    declarations: list[Declaration] = field(default_factory=list)


@dataclass
class Section:
    number: int
    title: str
    text: str
    entries: list[Entry] = field(default_factory=list)

    def add(self, declaration: Declaration) -> None:
        """Adds a declaration below the last comment. That speaks for one constant or type only, but for all functions
        up to the next comment."""
        last = self.entries[-1] if self.entries else None
        is_described = last and not last.declarations
        is_like_the_last = last and last.declarations and last.declarations[-1].kind == declaration.kind
        is_spoken_for = is_like_the_last and (declaration.kind == "function" or not last.comment)
        if not is_described and not is_spoken_for:
            self.entries.append(Entry(""))
        self.entries[-1].declarations.append(declaration)


def uncommented(comment: str) -> str:
    """Returns the text of a comment, without the asterisks in front of its lines."""
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def name(text: str) -> str:
    for pattern in NAME:
        if found := pattern.search(text):
            return found[1]
    raise HeaderError(f"a declaration without a name: {text}")


def pieces(header: str) -> Iterator[re.Match[str]]:
    """Yields comments and declarations. What stands between two of them is empty lines, else it is an error."""
    end = 0
    for piece in PIECE.finditer(header):
        between = header[end : piece.start()].replace('extern "C" {', "").replace("}", "").strip()
        if between:
            raise HeaderError(f"neither comment nor declaration: {between[:80]}")
        end = piece.end()
        yield piece


def read(header: str) -> tuple[str, list[Section]]:
    """Returns the comment at the head of the header, and its sections."""
    head, sections = "", []
    for piece in pieces(header):
        if piece["comment"] is not None:
            if banner := BANNER.match(piece["comment"]):
                text = uncommented(banner["text"]).strip("\n")
                sections.append(Section(int(banner["number"]), banner["title"], text))
            elif sections:
                sections[-1].entries.append(Entry(uncommented(piece["comment"]).strip()))
            elif piece["doc"]:
                head = uncommented(piece["comment"])
            continue
        text = piece["declaration"] or piece["preprocessor"]
        if not sections or (piece["preprocessor"] and not text.startswith("#define")):
            continue
        sections[-1].add(Declaration(name(text), text))
    return head, sections
