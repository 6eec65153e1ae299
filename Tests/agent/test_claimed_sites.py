# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A site that an app claims, from its manifest to the app that gets the page (R12.2, R12.8, R12.9): the agent, its
launcher and the process that asks sites, as they ship, with a server of our own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from certificates import Certificates
from inbox import command_line
from programs import PATIENCE, programs
from site_server import Site, http

CLAIM = "X-Segue-AssociatedDomains=activitycontinuation:localhost?mode=developer;"


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """The folders of a user, who has an app that claims the site."""
    applications = tmp_path / "data" / "applications"
    applications.mkdir(parents=True)
    lines = ["[Desktop Entry]", "Type=Application", "Name=Notes", "Exec=true", CLAIM]
    lines += ["X-Segue-BundleIdentifier=com.example.notes", "X-Segue-TeamIdentifier=TEAM"]
    lines += ["X-Segue-ActivityTypes=com.example.note;"]
    (applications / "notes.desktop").write_text("\n".join(lines) + "\n")
    return {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_DATA_DIRS": "/nonexistent",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "DISPLAY": "",
    }


@pytest.fixture
def segue(folder: Path, control: Path, variables: dict[str, str]) -> Callable[..., Any]:
    """segue("route"): the JSON that the command prints."""

    def run(*words: str) -> Any:
        command = command_line(folder, *words, "--json")
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout)

    return run


@pytest.fixture
def offer(folder: Path) -> Iterator[None]:
    with programs() as run:
        words = ("offer", "org.example.other", "--title", "a page", "--url", "https://localhost/a")
        run("offer", command_line(folder, *words)).wait_for("^offering")
        yield


def test_a_claimed_site_is_asked_and_its_pages_open_in_the_app_that_it_lists(
    agent, variables, segue, offer, site: Site, certificates: Certificates
):
    def reasons() -> list[str]:
        return [each["reason"] for candidate in segue("route")["candidates"] for each in candidate["against"]]

    def fitting() -> list[tuple[str, str]]:
        candidates = segue("route")["candidates"]
        return [(each["bundle_identifier"], each["role"]) for each in candidates if not each["against"]]

    def until(condition: Callable[[], bool]) -> None:
        """Nothing tells of an answer that has been read: the routes are asked for."""
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < limit, segue("route")

    site.answer = lambda path: http(b'{"activitycontinuation": {"apps": ["TEAM.com.example.other"]}}')
    authority = str(certificates.folder / "ca.pem")
    settings = {"private": True, "port": site.port, "ca": authority}
    options = ("--private", "--port", str(site.port), "--ca", authority)
    assert segue("apps", "--site", "localhost", *options) == {"site": "localhost", "settings": settings}
    running = agent(**variables)
    until(lambda: "not listed by the site" in reasons())
    assert fitting() == []

    site.answer = lambda path: http(b'{"activitycontinuation": {"apps": ["TEAM.com.example.notes"]}}')
    refreshed = segue("apps", "--site", "localhost", "--refresh")
    assert refreshed == {"site": "localhost", "settings": settings, "asked": 1}
    until(lambda: fitting() == [("com.example.notes", "association")])
    assert len(site.requests) == 2

    running.signal(signal.SIGTERM)
    running.wait()
    agent(**variables)
    until(lambda: fitting() == [("com.example.notes", "association")])
    assert len(site.requests) == 2, "what is stored is fresh for a day"
