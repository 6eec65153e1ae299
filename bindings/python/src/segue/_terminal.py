# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Escapes text of others for a terminal, so that it cannot move the cursor, change direction, hide, or forge a line;
and how many columns it takes there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

NAME = 64
"""Columns that are shown of a name or title."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters, marks and signs of which nothing is seen: the core leaves them out of names of devices, too."""
_COLOURED = re.compile("(?<=[\u203c-\u3299\U0001f000-\U0001faff])\ufe0f")
"""The selector of the coloured form of a sign, which is common in titles."""
_LONGEST_GRAPHEME = 31
"""Characters; one with more is no text of a language (UAX #15, Stream-Safe Text Format)."""


def shown(text: str, most: int | None = NAME) -> str:
    """Returns the text with escapes for invisible characters and backslashes; what has more than `most` columns is cut
    between two graphemes, and ends with "…". Signs have no selector of their coloured form."""
    text = _COLOURED.sub("", text)
    if most is None:
        return "".join(map(_shown, text))
    escaped, columns = "", 0
    for each in graphemes(text):
        visible = "".join(map(_shown, each))
        columns += width(visible)
        if columns > most:
            return escaped + "…"
        escaped += visible
    return escaped


def shown_line(text: str) -> str:
    """A line written by us around names of others, which do not end it. It is escaped already as far as it has
    backslashes."""
    return "".join(map(_visible, text))


def shown_lines(text: str, names: Iterable[str] = ()) -> str:
    """A text of several lines, written by us around names of others. Line breaks in these names end no line of ours."""
    for name in sorted({each for each in names if not _is_visible(each)}, key=len, reverse=True):
        text = text.replace(name, shown(name))
    return "\n".join(map(shown_line, text.split("\n")))


def width(text: str) -> int:
    """Returns the columns that a text takes which is escaped already."""
    return sum(
        2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
        for each in graphemes(text)
        for position, character in enumerate(each)
        if position == 0 or not _extends(character)
    )


def graphemes(text: str) -> Iterator[str]:
    """Yields what people see as one character each (UAX #29), as far as terminals show it as one: a letter with its
    accents, a flag, a syllable of Hangul. A zero width joiner is escaped, and joins nothing."""
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or end - start == _LONGEST_GRAPHEME or not _continues(text[start:end], text[end]):
            yield text[start:end]
            start = end


def _continues(grapheme: str, character: str) -> bool:
    return _extends(character) or (len(grapheme) == 1 and _is_half_a_flag(grapheme) and _is_half_a_flag(character))


def _extends(character: str) -> bool:
    """Accents and other marks, colours of skin, the later letters of a syllable of Hangul."""
    return (
        unicodedata.category(character).startswith("M")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\u1160" <= character <= "\u11ff"
        or "\ud7b0" <= character <= "\ud7ff"
    )


def _is_half_a_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _shown(character: str) -> str:
    return "\\\\" if character == "\\" else _visible(character)


def _visible(character: str) -> str:
    """Controls, formats (directions, zero width), separators but the space, surrogates, unassigned, and letters that
    are blank: escaped."""
    return character if _is_visible(character) else character.encode("unicode_escape").decode()


def _is_visible(text: str) -> bool:
    return text.isprintable() and not _BLANK.search(text)
