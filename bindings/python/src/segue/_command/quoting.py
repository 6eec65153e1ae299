# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quotes words for a shell of which nobody knows which one it is: sh, bash, zsh, fish, csh and ksh read them alike."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

PLAIN = re.compile(rb"[A-Za-z0-9_@+=:,./-]+")
SPECIAL = re.compile(rb'["$`\\!]')
"""Bytes that mean something inside of double quotes."""
PARTS = re.compile(rb"'+|[\\!]|[^'\\!]+")


def quoted(word: str) -> str:
    """Returns a word in quotes. No backslash stands inside of these, as shlex.quote would have it: fish takes it for an
    escape there, sh does not. No `!` does either: csh takes it for history.

    Its bytes count: in GBK and others a backslash or a backquote ends a character, and is one of its own to a shell of
    another charset."""
    try:
        return os.fsdecode(_quoted(os.fsencode(word)))
    except UnicodeEncodeError:
        # No program of this locale can get it: it is shown, and no more.
        return _quoted(word.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def joined(words: Iterable[str]) -> str:
    return " ".join(map(quoted, words))


def _quoted(word: bytes) -> bytes:
    # zsh replaces =name by the path of a program.
    if PLAIN.fullmatch(word) and not word.startswith(b"="):
        return word
    if b"'" in word and not SPECIAL.search(word):
        return b'"' + word + b'"'
    return b"".join(map(_part, PARTS.findall(word))) or b"''"


def _part(text: bytes) -> bytes:
    if text.startswith(b"'"):
        return b'"' + text + b'"'
    return b"\\" + text if text in b"\\!" else b"'" + text + b"'"
