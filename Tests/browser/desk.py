# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user's desk: an agent, browsers, apps beside them, and a small web."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import segue
from drivers import KINDS
from identity import TEAM, TYPE
from messaging import PATIENCE
from pages import Web
from programs import Program, programs
from project import ROOT
from temporary_folders import temporary

SOURCES = Path(os.environ.get("SEGUE_BROWSER_SOURCES", ROOT / "browser"))
AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()


@contextlib.contextmanager
def running_agent(folder: Path, **more: str) -> Iterator[Program]:
    """An agent that carries the hub, with more variables of the environment."""
    with temporary("segue-state-") as state:
        variables = {"SEGUE_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(state), "SEGUE_LOG": "info", **more}
        with programs({**os.environ, **variables}) as run:
            program = run("agent", [AGENT])
            program.wait_for(r"this process is the hub of generation (\d+) ")
            yield program


class Peer:
    """An app that continues pages, and a chooser that has others continue them."""

    def __init__(self, folder: Path):
        self.app = segue.App("com.example.reader", team=TEAM, types=[TYPE], runtime_folder=folder, delivery="thread")
        self.app.open()

    def offer(self, title: str, patience: float = PATIENCE) -> segue.Offer:
        """The offer with that title, once it is there."""
        return until(lambda: next((each for each in self.app.offers if each.title == title), None), patience)

    def titles(self) -> list[str | None]:
        return [each.title for each in self.app.offers]

    def take(self, offer: segue.Offer) -> segue.Activity:
        with self.app.continue_(offer, 10) as activity:
            return activity


def until(look: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """Returns what a look gives that is true. The library tells of no end of a wait for another process's state."""
    end = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return found


class Desk:
    """A user's desk: an agent, a small web, and browsers, which share a home."""

    def __init__(self, home: Path):
        self.home, self.run = home, home / "run"
        self.run.mkdir(mode=0o700)
        self.web = Web()
        self.extensions: dict[str, Path] = {}
        self.browsers: list[Any] = []
        self.chooser = segue.App("com.example.chooser", chooser=True, runtime_folder=self.run, delivery="thread")

    def extension(self, level: str) -> Path:
        """The folder of the unpacked packages whose permissions of a level are granted."""
        if level not in self.extensions:
            self.extensions[level] = self.home / f"extension-{level}"
            command = [SOURCES / "package", self.extensions[level], "--unpacked", "--level", level]
            subprocess.run(command, check=True)
        return self.extensions[level]

    def start(self, word: str, level: str | None = "sites", home: Path | None = None, **options: Any) -> Any:
        """level: of the extension; None: without it"""
        home = home or self.home / f"{word}-{len(self.browsers)}"
        home.mkdir(exist_ok=True)
        extension = self.extension(level) / word if level else None
        made = KINDS[word](home, extension, SEGUE_RUNTIME_DIR=str(self.run), **options)
        self.browsers.append(made)
        return made

    def offer(self, title: str, bundle: str, patience: float = 15) -> segue.Offer:
        """The offer of a page, once it is there."""

        def look() -> segue.Offer | None:
            matching = (each for each in self.chooser.offers if (each.title, each.bundle_identifier) == (title, bundle))
            return next(matching, None)

        return until(look, patience)

    def launch(self, title: str, origin: Any, receiver: Any) -> segue._agent.Launch:
        return self.continue_in(receiver, self.offer(title, origin.bundle))

    def continue_in(self, browser: Any, offer: segue.Offer) -> segue._agent.Launch:
        """Has the agent continue a page in a browser, once that is connected."""

        def fits() -> bool:
            candidates = self.chooser.route(offer)
            return any(each.bundle_identifier == browser.bundle and not each.against for each in candidates)

        until(fits, 30)
        return self.chooser.launch(offer, browser.bundle, 20)

    def close(self) -> None:
        for browser in self.browsers:
            browser.end()
        self.chooser.close()
        self.web.close()


@contextlib.contextmanager
def prepared_desk(**variables: str) -> Iterator[Desk]:
    """variables: of the agent's environment"""
    with temporary("segue-web-") as home:
        made = Desk(home)
        with running_agent(made.run, **variables):
            made.chooser.open()
            try:
                yield made
            finally:
                made.close()
