# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quotes words for a shell of which nobody knows which one it is: sh, bash, zsh, fish, csh and ksh read them alike."""

from __future__ import annotations

import re
from collections.abc import Iterable

PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
SPECIAL = re.compile(r'["$`\\!]')
"""Characters that mean something inside of double quotes."""
PARTS = re.compile(r"'+|[\\!]|[^'\\!]+")


def quoted(word: str) -> str:
    """Returns a word in quotes. No backslash stands inside of these, as shlex.quote would have it: fish takes it for an
    escape there, sh does not. No `!` does either: csh takes it for history."""
    # zsh replaces =name by the path of a program.
    if PLAIN.fullmatch(word) and not word.startswith("="):
        return word
    if "'" in word and not SPECIAL.search(word):
        return f'"{word}"'
    return "".join(map(_part, PARTS.findall(word))) or "''"


def joined(words: Iterable[str]) -> str:
    return " ".join(map(quoted, words))


def _part(text: str) -> str:
    if text[0] == "'":
        return f'"{text}"'
    return "\\" + text if text in "\\!" else f"'{text}'"
