# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real processes: the programs of this folder, built against the shipped library, each test in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from participants import Participant, participant
from programs import programs
from project import build
from temporary_folders import temporary

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def built() -> Iterator[Path]:
    """A folder with the programs, by name."""
    with temporary("segue-runtime-") as folder:
        for source in HERE.glob("*.c"):
            build(source, folder)
        yield folder


@pytest.fixture
def start(built: Path, folder: Path) -> Iterator[Callable[..., Participant]]:
    """start("name", "--chooser", ...): a participant of team T that declares the usual type."""
    with programs() as run:

        def launch(name: str, *options: str, folder: Path = folder, **more) -> Participant:
            settings = {"SEGUE_RUNTIME_DIR": str(folder), **more}
            command = participant(built / "participant", name, *options, **settings)
            return Participant(run(name, command))

        yield launch
