# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that reads manifests for the tests, asked line by line."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ROOT

PROBE = ROOT / ".build" / "debug" / "ManifestProbe"


class Probe:
    """A running ManifestProbe: one line for each line."""

    def __init__(self, role: str) -> None:
        self.process = subprocess.Popen([PROBE, role], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, line: bytes | str | Path) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        text = line if isinstance(line, bytes) else str(line).encode()
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer.endswith(b"\n"), f"the probe ended over {text!r}"
        return answer.decode().rstrip("\n")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(10) == 0


@pytest.fixture(scope="session")
def lists() -> Iterator[Probe]:
    """Reads property lists."""
    probe = Probe("lists")
    yield probe
    probe.close()


@pytest.fixture(scope="session")
def execs() -> Iterator[Probe]:
    """Reads values of Exec, as hexadecimal digits."""
    probe = Probe("exec")
    yield probe
    probe.close()
