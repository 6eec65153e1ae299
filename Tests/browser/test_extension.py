# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The extension's packages and manifests, without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import zipfile
from pathlib import Path

from identity import IDENTITY
from project import ROOT

EXTENSION = ROOT / "browser" / "extension"
PACKAGES = ("segue-firefox.xpi", "segue-chromium.zip", "segue-store.zip")


def manifest(browser: str) -> dict:
    return json.loads((EXTENSION / f"manifest.{browser}.json").read_text())


def pack(folder: Path) -> dict[str, bytes]:
    subprocess.run([ROOT / "browser" / "package", folder], check=True)
    return {name: (folder / name).read_bytes() for name in PACKAGES}


def test_the_manifests_differ_only_in_what_the_browsers_ask_for():
    """(R12.4)"""
    firefox, chromium = manifest("firefox"), manifest("chromium")
    own = {"browser_specific_settings", "key", "minimum_chrome_version", "background"}
    assert {k: v for k, v in firefox.items() if k not in own} == {k: v for k, v in chromium.items() if k not in own}
    assert firefox["permissions"] == ["nativeMessaging", "activeTab", "scripting", "storage"]
    assert firefox["optional_permissions"] == ["tabs"] and firefox["incognito"] == "not_allowed"
    for absent in ("content_scripts", "web_accessible_resources", "externally_connectable", "host_permissions"):
        assert absent not in firefox and absent not in chromium, "(W6) a page could tell that the extension is there"


def test_the_identifiers_are_those_of_the_host():
    """(W8)"""
    key = base64.b64decode(manifest("chromium")["key"])
    assert IDENTITY["CHROMIUM_ID"] == "".join(chr(97 + int(c, 16)) for c in hashlib.sha256(key).hexdigest()[:32])
    gecko = manifest("firefox")["browser_specific_settings"]["gecko"]
    assert gecko["id"] == IDENTITY["FIREFOX_ID"] and gecko["strict_min_version"] == "140.0"
    assert IDENTITY["HOST_NAME"] == f"{IDENTITY['APP_ID'].lower()}.browser"
    assert re.fullmatch(r"[a-z0-9_.]+", IDENTITY["HOST_NAME"])
    assert f'"{IDENTITY["HOST_NAME"]}"' in (EXTENSION / "port.js").read_text()


def test_packages_are_the_same_bytes_each_time_and_the_stores_has_no_key(tmp_path):
    first, second = pack(tmp_path / "first"), pack(tmp_path / "second")
    assert first == second
    for name in PACKAGES:
        with zipfile.ZipFile(tmp_path / "first" / name) as packed:
            made = json.loads(packed.read("manifest.json"))
            assert ("key" in made) == (name == "segue-chromium.zip")
            assert {"background.js", "popup.html", "privacy.html", "place.js"} <= set(packed.namelist())


def test_the_extension_is_small_and_asks_nobody_on_the_network():
    """Fewer than 1,000 lines, without those of the licence."""
    sources = [path for path in EXTENSION.iterdir() if path.suffix in {".js", ".html", ".css"}]
    texts = {path.name: path.read_text() for path in sources}
    lines = [line for text in texts.values() for line in text.splitlines() if "SPDX-License-Identifier" not in line]
    assert len(lines) < 1000
    for name, text in texts.items():
        for word in ("fetch(", "XMLHttpRequest", "WebSocket", "eval(", "new Function", "innerHTML", "importScripts"):
            assert word not in text, f"{name}: {word}"


def test_the_privacy_page_has_ten_sentences_and_is_the_one_in_the_docs():
    text = (EXTENSION / "privacy.html").read_text()
    sentences = re.findall(r"<li>(.*?)</li>", text, re.DOTALL)
    assert len(sentences) == 10
    page = " ".join((ROOT / "docs" / "privacy-browser.md").read_text().split())
    for sentence in sentences:
        assert " ".join(sentence.split()) in page
    assert 'href="privacy.html"' in (EXTENSION / "popup.html").read_text()


def test_each_mutant_can_still_be_made():
    subprocess.run([ROOT / "Tests" / "browser" / "mutants", "--check"], check=True)
