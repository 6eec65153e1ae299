# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whoever is killed at whatever system call around a cold start, nothing is lost (R3.8). SEGUE_COLD_KILLS says how
many are killed."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import random
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import AGENT
from participants import participant
from programs import Program
from project import LIBRARY, ROOT, build, run
from temporary_folders import temporary

KILLS = int(os.environ.get("SEGUE_COLD_KILLS", "8"))
SEED = int(os.environ.get("SEGUE_SEED") or random.SystemRandom().randrange(1_000_000))
AT_ONCE = 8
PATIENCE = 30.0  # seconds: for failures only
TIMEOUT = 2_000  # milliseconds for a continuation
GRACE = 2.0  # seconds that an origin waits beyond that

CALLS = {"agent": 380, "launcher": 8, "editor": 120, "viewer": 240}
"""The processes that may die, and the number of system calls within which they do: for the receiver from its start, for
the others from the question on."""


class Said(NamedTuple):
    who: str
    at: float  # milliseconds of the monotonic clock
    text: str


class Fault(NamedTuple):
    victim: str
    call: int

    def __str__(self) -> str:
        return f"seed {SEED}: {self.victim}, call {self.call}"


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Scene:
    """An agent, an origin and an app that does not run; one of them dies at one of its system calls."""

    def __init__(self, built: Path, folder: Path, fault: Fault):
        self.built, self.folder, self.fault = built, folder, fault
        self.log: list[Said] = []
        self.programs: list[Program] = []
        self.lines: queue.Queue[Said] = queue.Queue()
        self.asked = folder / "asked"
        self.output = folder / "viewer.log"
        self.pids = folder / "viewer.pids"
        self.variables = {
            "SEGUE_RUNTIME_DIR": str(folder / "run"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_DATA_DIRS": "/nonexistent",
            "SEGUE_LOG": "debug",
            "DISPLAY": ":9",
        }
        for name in ("run", "state", "data/applications"):
            (folder / name).mkdir(parents=True, mode=0o700)
        self.output.touch()
        self.pids.touch()
        os.mkfifo(folder / "input")
        # Somebody has to hold the other end: a viewer ends with its input.
        self.input = os.open(folder / "input", os.O_RDWR)
        self.viewer = self.write_viewer()
        self.agent = self.start("agent", ["env", *self.settings, *self.under("agent"), AGENT])
        self.hear("agent", r".*this process is the hub of generation \d+ .*")
        self.hear("agent", ".*manifests: 1 apps in 1 files")

    @property
    def settings(self) -> list[str]:
        return [f"{key}={value}" for key, value in self.variables.items()]

    def under(self, victim: str) -> list[str | Path]:
        """The words before the command of a process that kill it if it is the victim."""
        if self.fault.victim == "launcher" and victim == "agent":
            return [self.built / "nth", str(self.fault.call), self.asked, "--child"]
        return [self.built / "nth", str(self.fault.call), self.asked] if victim == self.fault.victim else []

    def write_viewer(self) -> Path:
        """The program of the app, and its manifest: only the first process of it dies."""
        command = " ".join(map(str, participant(self.built / "participant", "viewer")[1:]))
        killer = " ".join(map(str, self.under("viewer")))
        script = self.folder / "viewer"
        script.write_text(
            f"#!/bin/sh\necho $$ >>{self.pids}\nexport SEGUE_RUNTIME_DIR={self.folder / 'run'}\n"
            f"exec <{self.folder / 'input'} >>{self.output} 2>&1\n"
            f"mkdir {self.folder / 'first'} 2>/dev/null && exec {killer} {command}\nexec {command}\n"
        )
        script.chmod(0o755)
        (self.folder / "data/applications/viewer.desktop").write_text(
            f"[Desktop Entry]\nType=Application\nName=viewer\nExec={script}\n"
            "X-Segue-BundleIdentifier=com.example.viewer\nX-Segue-ActivityTypes=com.example.editing;\n"
            "X-Segue-TeamIdentifier=T\n"
        )
        return script

    # MARK: Programs

    def start(self, name: str, command: list[str | Path]) -> Program:
        def listen(line: str) -> None:
            at, _, text = line.partition(" ")
            if re.fullmatch(r"[\d.]+", at):
                self.lines.put(Said(name, float(at), text))
            else:
                self.lines.put(Said(name, time.monotonic() * 1e3, line))

        self.programs.append(Program(name, command, listener=listen))
        return self.programs[-1]

    def start_editor(self, *options: str) -> Program:
        command = participant(
            self.built / "participant", "editor", *options, under=self.under("editor"), **self.variables
        )
        return self.start("editor", command)

    def start_agent(self) -> None:
        since = len(self.log)
        self.agent = self.start("agent", ["env", *self.settings, AGENT])
        self.wait(lambda: [said for said in self.log[since:] if "this process is the hub" in said.text])

    @property
    def viewers(self) -> list[int]:
        return [int(pid) for pid in self.pids.read_text().split() if is_alive(int(pid))]

    def ask(self, *words: str) -> str:
        """Runs the asker, and returns its last line."""
        asker = self.start("asker", ["env", *self.settings, self.built / "asker", *words])
        asker.wait(PATIENCE + TIMEOUT / 1000)
        return asker_says(asker)

    def waiting(self) -> list[dict] | None:
        """The entries of the inbox; None if it cannot be asked."""
        said = self.ask("inbox")
        return json.loads(said.removeprefix("inbox "))["entries"] if said.startswith("inbox ") else None

    # MARK: Output

    def listen(self, patience: float = 0) -> None:
        with contextlib.suppress(queue.Empty):
            self.log.append(self.lines.get(timeout=patience))
            while True:
                self.log.append(self.lines.get_nowait())

    def wait(self, condition: Callable[[], object], patience: float = PATIENCE) -> object:
        deadline = time.monotonic() + patience
        while not (found := condition()):
            # The output of viewers, and their ends, come without an event: they are looked at again and again.
            self.listen(0.02)
            assert time.monotonic() < deadline, f"{self}: did not come"
        return found

    def hear(self, who: str, pattern: str, patience: float = PATIENCE) -> Said:
        self.wait(lambda: self.all(who, pattern), patience)
        return self.all(who, pattern)[0]

    def all(self, who: str, pattern: str) -> list[Said]:
        return [said for said in self.log if said.who == who and re.fullmatch(pattern, said.text)]

    def viewer_said(self, pattern: str) -> list[Said]:
        found = []
        for line in self.output.read_text().splitlines():
            at, _, text = line.partition(" ")
            if re.fullmatch(pattern, text):
                found.append(Said("viewer", float(at), text))
        return found

    @property
    def death(self) -> Said | None:
        self.listen(0.001)
        found = [said for said in self.log if said.text.startswith("fault killed")] + self.viewer_said("fault killed.*")
        return found[0] if found else None

    @property
    def phase(self) -> str:
        """The last step that had happened when the victim died."""
        assert self.death
        steps = {
            "fetching": [said for said in self.log if said.text == "will_save"],
            "starting": self.viewer_said("open"),
            "announcing": self.viewer_said("will_continue .*"),
            "answering": self.viewer_said("continue .*"),
            "reporting": self.all("editor", "was_continued .*"),
        }
        passed = [name for name, said in steps.items() if said and said[0].at <= self.death.at]
        return passed[-1] if passed else "asking"

    def __repr__(self) -> str:
        self.listen()
        lines = "".join(f"\n  {said.at:.1f} {said.who}: {said.text}" for said in self.log[-40:])
        return f"{self.fault}{lines}\n{self.output.read_text()}"

    def close(self) -> None:
        for program in reversed(self.programs):
            program.kill()
        os.close(self.input)
        for pid in self.viewers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)


def asker_says(asker: Program) -> str:
    with contextlib.suppress(Exception):
        asker.wait_for("^(launched|inbox|error)", 1)
    return asker.said[-1] if asker.said else ""


def live(scene: Scene) -> str:
    """A cold start, as far as it comes: what the asker is told."""
    editor = scene.start_editor("--limit", "10", "0")
    scene.hear("editor", "connection ready")
    editor.tell("offer one")
    scene.hear("editor", "offered")
    scene.asked.touch()
    return scene.ask("launch", "com.example.viewer", str(TIMEOUT))


def recover(scene: Scene) -> list[dict]:
    """Starts the processes again that are missing. Returns the entries that waited before."""
    if scene.fault.victim in ("agent", "launcher"):
        # It ends with its launcher.
        assert scene.agent.wait() is not None
        scene.start_agent()
    found: list[list[dict]] = []
    scene.wait(lambda: found.extend([waiting] if (waiting := scene.waiting()) is not None else []) or found)
    if not scene.viewers:
        scene.start("viewer", [scene.viewer])
    scene.wait(lambda: scene.waiting() == [])
    return found[0]


def check(scene: Scene, answer: str, waiting: list[dict]) -> None:
    """Nothing that was stored is lost, or comes twice without the mark; nobody was told what is not so."""
    told = json.loads(answer.removeprefix("launched ")) if answer.startswith("launched ") else None
    continued = [said.text.split() for said in scene.viewer_said("continue .*")]
    names = {words[1] for words in continued}
    assert len(names) <= 1, scene
    assert sum("redelivered" not in words for words in continued) <= 1, f"{scene}: twice, and not marked"
    if waiting or told:
        assert continued, f"{scene}: what was stored is lost"
    if scene.fault.victim != "editor" and continued:
        scene.hear("editor", "ended .*", TIMEOUT / 1000 + GRACE + PATIENCE)
    receipts = [said.text.split() for said in scene.all("editor", "ended .*") if "handles" not in said.text]
    assert len(receipts) <= 1, f"{scene}: an origin has two receipts"
    for receipt in receipts:
        assert receipt[2] != "failed" or not continued, f"{scene}: the origin was told that it failed"
        assert receipt[2] != "restored" or receipt[1] in names, f"{scene}: the origin was told that it is restored"
    count = len(continued)
    scene.start("viewer", [scene.viewer])
    scene.wait(lambda: len(scene.viewer_said("connection ready")) > 0)
    scene.waiting()
    assert len(scene.viewer_said("continue .*")) == count, f"{scene}: delivered after its answer"


def attempt(built: Path, fault: Fault) -> str | None:
    """The phase in which the victim died; nil if it lived through all of it."""
    with temporary("segue-cold-") as path:
        scene = Scene(built, path, fault)
        try:
            answer = live(scene)
            scene.wait(lambda: scene.death or scene.waiting() == [])
            if not scene.death:
                return None
            check(scene, answer, recover(scene))
            return scene.phase
        finally:
            scene.close()


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """A folder with the programs, by name."""
    with temporary("segue-cold-") as folder:
        build(ROOT / "Tests/runtime/participant.c", folder)
        build(ROOT / "Tests/agent/asker.c", folder)
        run("cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", ROOT / "Tests/agent/nth.c", "-o", f"{folder}/nth")
        assert LIBRARY.exists()
        yield folder


def test_whoever_is_killed_around_a_cold_start_nothing_is_lost(built, capsys):
    chance = random.Random(SEED)
    phases: collections.Counter[tuple[str, str]] = collections.Counter()
    victims = list(CALLS)
    while phases.total() < KILLS:
        names = [victims[index % len(victims)] for index in range(KILLS - phases.total())]
        faults = [Fault(name, 1 + chance.randrange(CALLS[name])) for name in names]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for fault, phase in zip(faults, pool.map(lambda fault: attempt(built, fault), faults), strict=True):
                if phase:
                    phases[fault.victim, phase] += 1
    with capsys.disabled():
        print(f"\nseed {SEED}: {phases.total()} killed around a cold start, 0 lost; by phase and victim")
        for phase in ("asking", "fetching", "starting", "announcing", "answering", "reporting"):
            row = ", ".join(f"{name} {phases[name, phase]}" for name in victims if phases[name, phase])
            print(f"  {phase:<11}{sum(phases[name, phase] for name in victims):5}  {row}")
