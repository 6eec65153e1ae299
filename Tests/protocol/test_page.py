# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/protocol.md and the sources number messages and frames alike, and the page defines what it uses."""

from __future__ import annotations

import re

import pytest
from project import ROOT
from wire import FRAMES, MESSAGES, PAGE

SOURCES = [("Message+Numbers", MESSAGES, range(11, 256)), ("Frame", FRAMES, range(10, 11))]


@pytest.mark.parametrize(("source", "numbers", "count"), SOURCES, ids=["messages", "frames"])
def test_the_page_numbers_them_as_the_source_does(source, numbers, count):
    text = (ROOT / f"Sources/SegueWire/{source}.swift").read_text()
    kinds = {name: int(number) for name, number in re.findall(r"^    case \.?(\w+)(?: =|:) (\d+)$", text, re.MULTILINE)}
    assert len(kinds) in count
    assert kinds == numbers


def test_the_page_defines_every_name_that_its_messages_use():
    cddl = "\n".join(re.findall(r"^```cddl\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    cddl = re.sub(r";.*", "", cddl)
    text = re.sub(r'"[^"]*"', "", cddl)
    defined = set(re.findall(r"^([a-z][a-z0-9-]*) =", text, re.MULTILINE))
    used = re.findall(r"(?<![.#\w-])[a-z][a-z0-9-]*\b(?![\w-]*:)", text)
    prelude = {"any", "nil", "true", "bool", "int", "uint", "float", "tstr", "bstr"}
    assert set(used) - defined - prelude == set()
    unused = {name for name in defined if used.count(name) < 2}  # once where it is defined
    assert unused <= {"message", "activity-document", "mailbox-message", "relay-message"}
