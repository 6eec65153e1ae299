# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each sentence of SECURITY.md that promises something is held by tests: guarantees.toml says which, to the letter."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
from project import ROOT

PAGE = (ROOT / "SECURITY.md").read_text()
ROWS = tomllib.loads((ROOT / "Tests/docs/guarantees.toml").read_text())["sentence"]
PROMISES_NOTHING = {"advice", "what others can do", "what this is about"}


def sentences() -> list[str]:
    """The sentences of the sections that promise something, without headings, tables, emphasis and targets of links."""
    text = PAGE.split("\n## Who is trusted\n")[1].split("\n## What it needs to be safe\n")[0]
    found: list[str] = []
    for part in re.split(r"\n\s*\n|\n(?=- )", text):
        lines = [line.strip() for line in re.sub(r"^\s*- ", "", part).splitlines()]
        if not part.strip() or lines[0].startswith(("#", "|", "The tests for each claim")):
            continue
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(lines)).replace("*", "").strip()
        found += re.split(r"(?<=[.])\s+(?=[A-Z`(])", plain)
    return found


@pytest.fixture(scope="module")
def tests() -> str:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "Tests", "bindings"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    paths = [ROOT / name for name in names if name.endswith((".py", ".swift", ".c"))]
    return "\n".join(path.read_text(errors="replace") for path in paths if path.is_file())


def test_every_sentence_has_a_row_and_every_row_a_sentence():
    said, listed = sentences(), [row["text"] for row in ROWS]
    assert len(said) > 60
    assert [text for text in said if text not in listed] == [], "say in guarantees.toml which tests hold these"
    assert [text for text in listed if text not in said] == [], "SECURITY.md no longer says these"
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("row", ROWS, ids=[row["text"][:50] for row in ROWS])
def test_every_promise_is_held_by_tests_that_exist(row, tests):
    if "none" in row:
        assert row["none"] in PROMISES_NOTHING and "tests" not in row
        return
    assert row["tests"]
    for name in row["tests"]:
        assert re.search(rf"\b(def|struct|class) {re.escape(name)}\b", tests), name
