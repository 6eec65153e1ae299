# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m segue`, in a terminal that others write to through their names, titles, types and errors."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PATIENCE, ROOT, Opener, environment

import segue
from segue._command.output import table
from segue._terminal import NAME, graphemes, shown, shown_lines, width

# Control sequences (C0 and C1), directions, zero width, separators, tags, a line that looks like one of ours.
NASTY = "a\x1b[2J\r\n  offers: forged\x9b\x07\u202eb\u2066\u200b\u2028\u061c\ufeff\U000e0041\x00\x7f\t"


def visible(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def command(folder: str, *arguments: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "segue", *arguments],
        env={**environment(folder), "PYTHONIOENCODING": "utf-8", **changes},
        capture_output=True,
        timeout=PATIENCE * 2,
    )


@pytest.fixture
def offering(opened: Opener) -> segue.Activity:
    """An activity with everything as nasty as it can be."""
    app = opened(f"com.example.{NASTY}", name=NASTY, team=NASTY, types=[NASTY], delivery="thread")
    activity = segue.Activity(app, NASTY, title=NASTY, user_info={NASTY: [NASTY]})
    activity.become_current()
    app.ready().wait(PATIENCE)
    return activity


@pytest.mark.parametrize(
    "arguments", [["list"], ["describe"], ["continue", "--document"]], ids=lambda each: str(each[0])
)
def test_nothing_of_others_reaches_the_terminal_as_it_is(
    folder: str, offering: segue.Activity, arguments: list[str]
) -> None:
    done = command(folder, *arguments)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0, err
    assert visible(out) and visible(err)
    assert "forged" in out
    assert "\n  offers: forged" not in out
    if arguments == ["list"]:
        assert len(out.splitlines()) == 2


def test_a_terminal_that_is_not_of_unicode_is_no_error(folder: str, opened: Opener) -> None:
    app = opened(delivery="thread")
    activity = segue.Activity(app, "com.example.notes.editing", title="Ünïcode \U0001f600")
    activity.become_current()
    app.ready().wait(PATIENCE)
    done = command(folder, "list", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"com.example.notes.editing" in done.stdout


def test_long_names_are_cut(folder: str, opened: Opener) -> None:
    app = opened("com.example.long", name="n" * 255, delivery="thread")
    segue.Activity(app, "com.example.notes.editing", title="t" * 1000).become_current()
    app.ready().wait(PATIENCE)
    line = command(folder, "list").stdout.decode().splitlines()[1]
    assert "t" * NAME + "…" in line
    assert "n" * NAME + "…" in line
    assert len(line) < 300


def test_watching_escapes_too(folder: str, offering: segue.Activity) -> None:
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "segue", "watch"],
        env={**environment(folder), "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().decode()
    assert "forged" in line
    assert visible(line + rest)


def test_an_error_of_another_app_is_escaped(folder: str, opened: Opener) -> None:
    """The text of the origin's error goes to standard error."""
    from segue._command.output import said

    assert visible(said(segue.DeclinedError(NASTY)))
    assert "DECLINED" in said(segue.DeclinedError(NASTY))
    assert len(said(segue.DeclinedError("x" * 10_000))) < 1000


def test_log_lines_are_escaped() -> None:
    from segue._command.program import Escaping

    record = logging.LogRecord("segue", logging.ERROR, "file", 1, "continuing %s failed", (NASTY,), None)
    assert Escaping().format(record).isprintable()


def test_the_name_of_a_linked_device_is_escaped(folder: str, tmp_path: Path) -> None:
    from segue._command.link import linked_line

    assert visible(linked_line(NASTY))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("plain", "plain"),
        ("Grüße 日本 \U0001f600", "Grüße 日本 \U0001f600"),
        ("back\\slash", "back\\\\slash"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202e", "\\u202e"),
        ("\udc80", "\\udc80"),
        ("\u26a0\ufe0f \u2764\ufe0f", "\u26a0 \u2764"),
        ("a\ufe0f", "a\\ufe0f"),
        ("x" * (NAME + 1), "x" * NAME + "…"),
        ("", ""),
    ],
)
def test_what_is_shown(text: str, expected: str) -> None:
    assert shown(text) == expected
    assert shown(text).isprintable()


def test_what_the_core_takes_for_blank_or_hidden_is_escaped() -> None:
    core = (ROOT / "Sources/SegueAgentCore/Trust/Values/DisplayName.swift").read_text()
    told = re.findall(r"func (?:isBlank|isHidden)\(_ value: UInt32\) -> Bool \{(.*?)default", core, re.DOTALL)
    assert len(told) == 2
    for first, last in re.findall(r"0x([0-9a-f]+)(?:\.\.\.0x([0-9a-f]+))?", "".join(told)):
        for number in range(int(first, 16), int(last or first, 16) + 1):
            character = chr(number)
            assert number == 0x20 or shown(character) == character.encode("unicode_escape").decode() != character
    assert shown_lines("a\u3164b", ["\u3164"]) == "a\\u3164b"


ACUTE, FLAG, SYLLABLE = "e\u0301", "\U0001f1eb\U0001f1f7", "\u1112\u1161\u11ab"


@pytest.mark.parametrize(
    ("text", "kept", "columns"),
    [
        ("日" * 40, "日" * 32, 64),
        ("x" + "日" * 40, "x" + "日" * 31, 63),
        (ACUTE * 70, ACUTE * 64, 64),
        (FLAG * 40, FLAG * 32, 64),
        (SYLLABLE * 40, SYLLABLE * 32, 64),
        ("\U0001f44b\U0001f3fd" * 40, "\U0001f44b\U0001f3fd" * 32, 64),
        ("\u202e" * 20, "\\u202e" * 10, 60),
        ("\x1b" * 20, "\\x1b" * 16, 64),
    ],
)
def test_a_name_is_cut_by_its_columns_and_between_graphemes(text: str, kept: str, columns: int) -> None:
    assert shown(text) == kept + "…"
    assert width(kept) == columns


def test_accents_without_end_are_cut_too() -> None:
    assert len(shown("e" + "\u0301" * 10_000)) < 3000
    assert list(graphemes("")) == [] and shown("", 0) == ""


def test_columns_of_a_table_are_those_of_a_terminal() -> None:
    lines = table([("日本", "1"), (ACUTE, "2")], ("NAME", "N"))
    assert [width(line.rpartition(" ")[0]) for line in lines] == [5, 5, 5]


def test_lines_of_ours_stay_lines() -> None:
    text = f"app\n  sees: {NASTY} of x\n  offers: nothing\n"
    assert shown_lines(text, [NASTY]).count("\n") == 3
    assert visible(shown_lines(text))
