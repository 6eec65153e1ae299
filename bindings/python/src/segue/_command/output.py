# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the output of the command: tables and lines for people, JSON for programs, errors on standard error."""

from __future__ import annotations

import dataclasses
import enum
import json
import shutil
import sys
from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from .._terminal import shown, shown_lines, width
from ..values import Timestamp

NARROW = 40
"""Columns of a terminal below which a table becomes a list."""
MESSAGE = 500
"""Columns that are shown of an error."""


class CommandError(Exception):
    """An error that we describe, in our own words around names of others."""


class UsageError(CommandError):
    """The arguments are wrong: exit status 2, as of those that the parser refuses."""


def said(error: BaseException) -> str:
    """Returns an error in one line, escaped, since it may quote another app."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return shown(text, MESSAGE)


def note(text: str) -> None:
    """Tells people something that is no result, on standard error."""
    print(shown_lines(text), file=sys.stderr, flush=True)


def ago(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def left(seconds: float) -> str:
    """Returns the time that is left, rounded down."""
    seconds = max(0.0, seconds)
    return f"{seconds // 60:.0f} min" if seconds >= 120 else f"{seconds // 1:.0f} s"


def when(date: datetime | Timestamp, format: str = "%Y-%m-%d %H:%M") -> str:
    """Returns a date of others: in local time, or in UTC where that has no such year; empty if it is in no calendar of
    Python."""
    if not isinstance(date, datetime):
        return ""
    try:
        return f"{date.astimezone():{format}}"
    except (OverflowError, ValueError, OSError):  # of localtime, and of the years 1 and 9999
        return f"{date:{format}} UTC"


def count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def bytes_in_words(number: int) -> str:
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= length:
            return f"{number / length:.4g} {unit}"
    return count(number, "byte")


def table(rows: list[tuple[str, ...]], heads: tuple[str, ...]) -> list[str]:
    """Returns lines of columns. Texts that others chose are escaped already."""
    rows = [heads, *rows]
    widths = [max(map(width, column)) for column in zip(*rows)]
    return ["  ".join(cell + " " * (most - width(cell)) for cell, most in zip(each, widths)).rstrip() for each in rows]


def show_table(rows: list[tuple[str, ...]], heads: tuple[str, ...]) -> None:
    """Prints columns: plainly into files and pipes, by `rich` in a terminal, if that is installed."""
    if not (sys.stdout.isatty() and _show_richly(rows, heads)):
        for line in table(rows, heads):
            print(line)


def _show_richly(rows: list[tuple[str, ...]], heads: tuple[str, ...]) -> bool:
    """Returns whether `rich` is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, head in enumerate(heads):
        made.add_column(head, no_wrap=number == 0, overflow="fold", style="cyan" if number == 0 else "")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))  # as text, brackets are no markup
    # By `shutil`, because `rich` takes COLUMNS=0 for a terminal of no columns.
    columns = shutil.get_terminal_size().columns
    console = Console(highlight=False, markup=False, emoji=False, width=columns)
    if console.width < NARROW:  # its columns would have a letter each
        for row in rows:
            for head, cell in zip(heads, row):
                console.print(Text(f"{head}: {cell}"), overflow="fold")
            console.print()
        return True
    console.print(made)
    return True


def show_json(value: Any, *, line: bool = False) -> None:
    """Prints a value as JSON text in ASCII, so that nothing in it can disturb a terminal.

    line: on one line, at once: one of several values that come in time
    """
    text = json.dumps(plain(value), indent=None if line else 2).replace("\x7f", "\\u007f")
    print(text, flush=line)


def plain(value: Any) -> Any:
    """Returns what JSON has in place of what the package has."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Set):
        return sorted(plain(each) for each in value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Timestamp):
        return value.seconds  # since 1970; beyond the years of a datetime
    return str(value) if isinstance(value, UUID) else value
