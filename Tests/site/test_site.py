# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The site of the documentation: its links lead somewhere, it loads nothing from elsewhere, and all names are in it."""

from __future__ import annotations

import collections
import json
import subprocess
from pathlib import Path

import pytest
from made import Site
from project import ROOT

BUILD = ROOT / "packaging" / "site" / "build"
TABLE = json.loads((ROOT / "bindings" / "segue-api.json").read_text())


# Without a network, where that can be had: what the site needs is in the project and in Debian's packages.
APART = ["unshare", "-rn"]
IS_APART = subprocess.run([*APART, "true"], capture_output=True).returncode == 0


def made(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [*(APART if IS_APART else []), BUILD, folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    done = made(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return Site(folder)


def test_every_page_of_the_project_is_in_the_site(site):
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split() if "Vectors/" not in name and (ROOT / name).is_file()]
    assert len(names) > 80
    there = {str(path.relative_to(site.folder)) for path in site.pages}
    pages = {name: name.replace("README.md", "index.md").removesuffix(".md") + ".html" for name in names}
    assert [name for name, page in pages.items() if page not in there] == []


def test_every_link_and_anchor_leads_somewhere(site):
    assert sum(len(page.links) for page in site.pages.values()) > 5000
    assert sorted(set(site.broken())) == []


def test_no_anchor_is_there_twice(site):
    twice = {
        str(path.relative_to(site.folder)): [name for name, count in counted.items() if count > 1]
        for path, page in site.pages.items()
        if (counted := collections.Counter(page.anchors)).total() > len(counted)
    }
    assert twice == {}


def test_nothing_is_loaded_from_another_server(site):
    """Neither scripts, styles, fonts nor pictures; and browsers would refuse."""
    assert sum(len(page.loads) for page in site.pages.values()) > 500
    assert list(site.foreign()) == []
    for path, page in site.pages.items():
        assert page.policy and page.policy.startswith("default-src 'self';"), path
        sources = page.policy.replace(";", " ").split()
        assert [each for each in sources if "." in each or "/" in each or each in ("*", "https:")] == []
        # The theme would load a program that draws diagrams for these.
        assert "mermaid" not in page.classes, path


def test_every_name_of_the_header_has_a_place(site):
    """In the pages of the C interface, which are made from the header, and in the list of all names."""
    kinds = ("constants", "structs", "callbacks", "functions")
    names = {each["name"] for kind in kinds for each in TABLE[kind]} | {*TABLE["handles"], *TABLE["types"]}
    assert len(names) > 400
    folder = site.folder / "c"
    anchors = [name for path, page in site.pages.items() if path.parent == folder for name in page.anchors]
    assert names - set(anchors) == set()
    index = site.pages[folder / "index.html"]
    assert names - {link.rpartition("#")[2] for link in index.links} == set()


def test_the_signatures_are_those_of_the_table(site):
    """Blanks aside: colours put marks between the words."""
    folder = site.folder / "c"
    texts = {name: page.text() for path, page in site.pages.items() if path.parent == folder for name in page.anchors}
    for function in TABLE["functions"]:
        parameters = ",".join(each["c"] + each["name"] for each in function["parameters"]) or "void"
        signature = f"{function['name']}({parameters});".replace(" ", "")
        assert signature in texts[function["name"]].replace(" ", ""), function["name"]


def test_every_picture_has_a_text_in_its_place(site):
    pictures = [picture for page in site.pages.values() for picture in page.pictures]
    assert pictures
    assert [picture["src"] for picture in pictures if not (picture.get("alt") or "").strip()] == []


# The checks notice


def small(folder: Path, page: str, style: str = "") -> Site:
    (folder / "index.html").write_text(page)
    (folder / "style.css").write_text(style)
    return Site(folder)


@pytest.mark.parametrize(
    "page",
    [
        '<a href="gone.html">x</a>',
        '<a href="#gone">x</a>',
        '<a href="index.html#gone">x</a>',
        '<a href="/gone/">x</a>',
        '<img src="gone.svg">',
    ],
)
def test_a_broken_link_is_noticed(tmp_path, page):
    assert len(list(small(tmp_path, page).broken())) == 1


@pytest.mark.parametrize(
    ("page", "style"),
    [
        ('<script src="https://example.com/x.js"></script>', ""),
        ('<link rel="stylesheet" href="//example.com/x.css">', ""),
        ('<link rel="preconnect" href="https://fonts.gstatic.com">', ""),
        ('<img srcset="a.png 1x, https://example.com/b.png 2x">', ""),
        ('<p style="background: url(https://example.com/x.png)">', ""),
        ("<style>@font-face {src: url('https://example.com/x.woff2')}</style>", ""),
        ("", '@import "https://example.com/x.css";'),
        ("", "a {background: url(//example.com/x.png)}"),
    ],
)
def test_what_is_loaded_from_another_server_is_noticed(tmp_path, page, style):
    assert len(list(small(tmp_path, page, style).foreign())) == 1


def test_a_link_that_a_reader_follows_is_not_loaded(tmp_path):
    site = small(tmp_path, '<a href="https://example.com/">x</a><a href="index.html">y</a>')
    assert (list(site.foreign()), list(site.broken())) == ([], [])
