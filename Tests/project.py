# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared by the suites: the paths of the project and the library, and a function that builds C programs against it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include"
HEADER = INCLUDE / "segue.h"
LIBRARY = Path(os.environ.get("SEGUE_LIBRARY", ROOT / "lib" / "libsegue.so.0")).resolve()
FLEET_LIBRARY = LIBRARY.with_name("libsegue-fleet.so.0")
"""The library for tests, which has the virtual fleet, too."""
SIZE_LIMIT = 1_158_000  # bytes, with responders, documents, JSON text, manifests, pages, sandboxes, mailboxes
FLEET_SIZE_LIMIT = 2_892_000  # the same, and a fleet whose agents ask sites, start openers, look names up, and relay
TABLE = json.loads((ROOT / "bindings" / "segue-api.json").read_text())
C = ("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{INCLUDE}")


def run(*command: str | Path, **environment: str) -> str:
    """Returns the output of a command that has to succeed."""
    done = subprocess.run(
        [str(part) for part in command], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def build(source: Path, folder: Path, *options: str, library: Path = LIBRARY) -> Path:
    """Builds the program that a C file is; later options win."""
    program = folder / source.stem
    run(*C, *options, source, "-o", program, library, f"-Wl,-rpath,{library.parent}")
    return program
