# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the messages of the command about wrong arguments, and its tables and digits."""

from __future__ import annotations

import sys
from contextlib import suppress

import pytest

from segue._account import Join
from segue._command import invite, output
from segue._command.arguments import arguments


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        arguments().parse_args(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("words", [["list"], ["account", "set"], ["offer", "a.b"]], ids=lambda each: each[0])
def test_an_unknown_option_shows_the_usage_of_its_verb(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    said = refusal(capsys, *words, "--nothing")
    verb = " ".join(word for word in words if "." not in word)
    assert said.startswith(f"usage: segue {verb} ")
    assert said.endswith(f"segue {verb}: error: unrecognized arguments: --nothing\n")


@pytest.mark.parametrize(
    ("word", "meant"), [("leave", "account leave"), ("create", "account create"), ("lst", "list"), ("zzz", None)]
)
def test_a_verb_that_is_not_there_is_guessed(capsys: pytest.CaptureFixture[str], word: str, meant: str | None) -> None:
    said = refusal(capsys, word)
    assert said.endswith(f"; did you mean `segue {meant}`?\n") if meant else "did you mean" not in said


def test_digits_stand_on_a_line_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    invite.show_digits(Join(1, "4711 0815", "Home", "desktop", ""))
    assert capsys.readouterr().err == "    4711 0815\n"


@pytest.mark.parametrize(
    ("columns", "whole"), [("30", True), ("100", False), ("0", False), ("-1", False), ("many", False)]
)
def test_a_narrow_terminal_gets_a_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, whole: bool
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    row = ("27815add", "com.example.notes.editing", "'Shopping list'", "Notes", "desktop", "5 s")
    output.show_table([row], ("ID", "TYPE", "TITLE", "APP", "DEVICE", "AGE"))
    said = capsys.readouterr().out
    assert ("TITLE: 'Shopping list'" in said) is whole
    assert ("ID" in said.splitlines()[0] and "AGE" in said.splitlines()[0]) is not whole


def test_a_help_that_cannot_be_printed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """argparse hides that, and what is too long for the buffer would be lost without a word."""
    with open("/dev/full", "w", buffering=1) as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(OSError, match="No space left"):
            arguments("segue").parse_args(["--help"])
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
