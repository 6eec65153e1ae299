# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page that continues from a browser of one machine in a browser of another one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import segue
from desk import SOURCES, until
from drivers import Chromium, Firefox
from pages import FIRST_IN_SIGHT, Web
from places import settled
from programs import programs
from project import ROOT

sys.path.append(str(ROOT / "Tests" / "devices"))
from agents import making
from network import can_make_networks, two_networks


def test_a_page_continues_on_another_machine_at_its_paragraph(tmp_path: Path) -> None:
    """(R12.3, R12.6) Two agents of one account, with a cable between them. The browsers share the web alone."""
    if not can_make_networks():
        pytest.skip("namespaces cannot be made here")
    subprocess.run([SOURCES / "package", tmp_path / "extension", "--unpacked", "--level", "sites"], check=True)
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        make = making(start, tmp_path)
        one, two = (make(name, machine) for name, machine in zip(("one", "two"), cable.machines, strict=True))
        one.begin().create().admit(two.begin())
        one.linked("two")
        two.linked("one")
        web, browsers = Web(), []
        try:
            for word, kind, device in (("chromium", Chromium, one), ("firefox", Firefox, two)):
                home = tmp_path / word
                home.mkdir()
                extension = tmp_path / "extension" / word
                browsers.append(kind(home, extension, SEGUE_RUNTIME_DIR=str(device.folder)))
            chromium, firefox = browsers
            tab = chromium.open(web.url("/made/columns"))
            settled(chromium, tab, "document.querySelector('[data-n=\"33\"]') !== null")
            chromium.evaluate(tab, "document.querySelector('[data-n=\"33\"]').scrollIntoView(), 1")
            until(firefox.hosts, 30)
            with segue.App(
                "com.example.chooser", chooser=True, runtime_folder=two.folder, delivery="thread"
            ) as chooser:
                offer = until(lambda: next((each for each in chooser.offers if each.title == "columns"), None), 20)
                assert offer.device_name == "one"

                def fits() -> bool:
                    candidates = chooser.route(offer)
                    return any(each.bundle_identifier == firefox.bundle and not each.against for each in candidates)

                # By name: the default browser of this machine may be another one.
                until(fits, 20)
                assert chooser.launch(offer, firefox.bundle, 20).outcome == segue.Outcome.RESTORED
            there = until(lambda: firefox.with_url(web.url("/made/columns")))
            assert len(there) == 1
            until(lambda: firefox.evaluate(there[0], FIRST_IN_SIGHT) == 33)
            assert not chromium.with_url(web.url("/made/columns"))[1:]
        finally:
            for browser in browsers:
                browser.end()
            web.close()
