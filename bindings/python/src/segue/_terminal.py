# SPDX-License-Identifier: Apache-2.0
"""Escapes text of others for a terminal, so that it cannot move the cursor, change direction, hide, or forge a line."""

from __future__ import annotations

from collections.abc import Iterable

NAME = 64
"""Characters that are shown of a name or title."""


def shown(text: str, most: int | None = NAME) -> str:
    """Returns the text with escapes for invisible characters and backslashes; cut after `most` characters."""
    escaped = "".join(_shown(character) for character in (text if most is None else text[:most]))
    return escaped if most is None or len(text) <= most else escaped + "…"


def shown_lines(text: str, names: Iterable[str] = ()) -> str:
    """A text of several lines, written by us around names of others. What these contain ends no line of ours."""
    for name in sorted({each for each in names if not each.isprintable()}, key=len, reverse=True):
        text = text.replace(name, shown(name))
    return "\n".join("".join(map(_visible, line)) for line in text.split("\n"))


def _shown(character: str) -> str:
    return "\\\\" if character == "\\" else _visible(character)


def _visible(character: str) -> str:
    """Controls, formats (directions, zero width), separators but the space, surrogates, unassigned: escaped."""
    return character if character.isprintable() else character.encode("unicode_escape").decode()
