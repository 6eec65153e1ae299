# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of the README: it shows what the demo does, moves without scripts, and is small."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE = Path(__file__).resolve().parent
PICTURE = HERE.parents[1] / "docs" / "demo.svg"
LARGEST = 150_000  # bytes
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawing() -> ElementTree.Element:
    return ElementTree.fromstring(PICTURE.read_text())


def test_the_picture_shows_the_commands_of_a_fresh_run():
    if subprocess.run(["unshare", "-Uru", "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be made here")
    done = subprocess.run([HERE / "pictures"], capture_output=True, text=True, timeout=150)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_picture_is_small_and_says_in_words_what_it_shows(drawing):
    assert PICTURE.stat().st_size <= LARGEST
    assert (drawing.findtext(f"{SVG}title") or "").strip()
    assert len((drawing.findtext(f"{SVG}desc") or "").split()) > 20
    assert drawing.get("role") == "img"


def test_the_picture_moves_by_styles_alone_and_loads_nothing(drawing):
    text = PICTURE.read_text()
    kinds = {element.tag.removeprefix(SVG) for element in drawing.iter()}
    assert kinds == {"svg", "title", "desc", "style", "rect", "circle", "text", "tspan"}
    attributes = {name for element in drawing.iter() for name in element.attrib}
    assert [name for name in attributes if name.startswith("on") or "href" in name] == []
    assert not re.search(r"url\(|@import", text)
    # Each line has a beginning of its own, which users may switch off.
    lines = len(list(drawing.iter(f"{SVG}text")))
    assert len(re.findall(r"@keyframes", text)) == lines > 10
    assert text.index("prefers-reduced-motion: no-preference") < text.index("@keyframes")


def test_the_picture_shows_nothing_of_the_machine_on_which_it_was_made(drawing):
    said = "".join(drawing.itertext())
    assert " on laptop" in said
    assert not re.search(r"/(?:home|root|work)/", said)
