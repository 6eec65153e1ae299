# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the text of a comment of the header as Markdown.

A line of prose begins at the margin. Two blanks in front of it begin a term, two more blanks, and its description; or a
line that is shown as it stands. Four blanks begin a line of code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

TERM = re.compile(r" {2,3}(\S.*?) {2,}(\S.*)")
# Names of C, of statuses, and lists in braces are shown as code; rules lead to their page.
CODE = re.compile(
    r"\b(?:segue|SEGUE)_\w+(?:\.\.\.)?|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z]{2,}(?:_[A-Z]+)+\b|(?<!\w)-[a-z]+(?:-[a-z]+)+"
)
RULE = re.compile(r"\bR\d+\.\d+\b")
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


class Markdown:
    """Writes Markdown. `address` gives the address of a name of C or of a rule, or None."""

    def __init__(self, address: Callable[[str], str | None]) -> None:
        self.address = address

    def linked(self, name: str, shown: str) -> str:
        address = self.address(name)
        return f"[{shown}]({address})" if address else shown

    def prose(self, text: str) -> str:
        """One paragraph: names as code, rules and declared names as links, everything else as it stands."""
        pieces, end = [], 0
        for found in re.finditer(f"{CODE.pattern}|{RULE.pattern}", text):
            pieces.append(SPECIAL.sub(r"\\\1", text[end : found.start()]))
            word = found[0]
            pieces.append(self.linked(word, word if RULE.fullmatch(word) else f"`{word}`"))
            end = found.end()
        return "".join([*pieces, SPECIAL.sub(r"\\\1", text[end:])])

    def written(self, comment: str) -> str:
        return "\n\n".join(self.blocks(comment.split("\n")))

    def blocks(self, lines: list[str]) -> Iterator[str]:
        index = 0
        while index < len(lines):
            line = lines[index]
            end = index + 1
            if not line:
                index = end
            elif line.startswith("    "):
                while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                    end += 1
                code = "\n".join(each[4:] for each in lines[index:end]).rstrip()
                yield f"```c\n{code}\n```"
                index = end
            elif TERM.fullmatch(line):
                while end < len(lines) and lines[end].startswith("  "):
                    end += 1
                yield self.terms(lines[index:end])
                index = end
            elif line.startswith("  "):
                while end < len(lines) and lines[end].startswith("  "):
                    end += 1
                yield "```text\n" + "\n".join(each[2:] for each in lines[index:end]) + "\n```"
                index = end
            else:
                while end < len(lines) and lines[end] and not lines[end].startswith("  ") and not _begins(lines[end]):
                    end += 1
                yield self.prose(" ".join(lines[index:end]))
                index = end

    def terms(self, lines: list[str]) -> str:
        """A list of terms; a line that is indented deeper goes on with the description before it."""
        items: list[tuple[str, list[str]]] = []
        for line in lines:
            if (term := TERM.fullmatch(line)) or not items:
                items.append((term[1], [term[2]]) if term else (line.strip(), []))
            else:
                items[-1][1].append(line.strip())
        return "\n".join(f"- `{name}`: {self.prose(' '.join(text))}" for name, text in items)


def _begins(line: str) -> bool:
    """Whether a line begins a paragraph of its own: errors, an answer, a request."""
    return re.match(r'Errors(?: of all)?[:,]|REQUESTS |"[a-z-]+": ', line) is not None
