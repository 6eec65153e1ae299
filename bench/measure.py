# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the measurements: figures, the programs that measure them, and what the kernel says of a process."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
PROGRAMS = ROOT / ".build" / "bench"
LIBRARY = ROOT / "lib" / "libsegue.so.0"
FLEET_LIBRARY = LIBRARY.with_name("libsegue-fleet.so.0")
SKIPPED = 77  # the exit status of a program that cannot measure here
PATIENCE = 60.0  # seconds to wait for a word of a program before its figure counts as not measurable


# Figures that no load of the machine changes.
COUNTS = ("_bytes", "_kib", ".wakeups_per_min", "_per_change")


class Figure(NamedTuple):
    """One line of the table. `wanted` is None for a value that is only shown for comparison."""

    name: str
    value: float
    peers: str
    wanted: tuple[str, float] | None
    short_bound: float | None = None
    """The bound of a short run, in which few events decide; None: that of `wanted`."""

    def verdict(self, is_short: bool) -> str:
        if self.wanted is None:
            return ""
        return "ok" if self.within(self.wanted[1]) else "close" if self.holds(is_short) else "NO"

    def holds(self, is_short: bool) -> bool:
        """Whether the value is as wanted. A short run shares the machine with other tests, so it judges no times."""
        if self.wanted is None or (is_short and not self.name.endswith(COUNTS)):
            return True
        return self.within(self.short_bound if is_short and self.short_bound is not None else self.wanted[1])

    def within(self, bound: float) -> bool:
        return self.wanted is None or (self.value <= bound if self.wanted[0] == "<=" else self.value >= bound)


class NotMeasured(Exception):
    """A figure could not be measured; the text says why."""


class Skipped(Exception):
    """A figure needs something that this machine does not have; the text names it."""


class Settings(NamedTuple):
    short: bool
    folder: Path  # for the hub's sockets

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SEGUE_RUNTIME_DIR": str(self.folder)}


def build(name: str, *libraries: str) -> str:
    """Compiles bench/NAME.c against the library in the tree."""
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    target = PROGRAMS / name
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-I", str(ROOT / "include")]
    command += [str(BENCH / f"{name}.c"), "-o", str(target), *libraries]
    if any(name.startswith("-lsegue") for name in libraries):
        command += ["-L", str(LIBRARY.parent), f"-Wl,-rpath,{LIBRARY.parent}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotMeasured(f"bench/{name}.c does not compile: {done.stderr.strip().splitlines()[0]}")
    return str(target)


def values_of(command: list[str], settings: Settings, patience: float = 5 * PATIENCE, **options) -> dict[str, float]:
    """Runs a program to its end; its "name value" lines."""
    done = subprocess.run(
        command, capture_output=True, text=True, env=settings.environment, timeout=patience, **options
    )
    if done.returncode == SKIPPED:
        raise Skipped(done.stderr.strip())
    if done.returncode != 0:
        raise NotMeasured(done.stderr.strip() or f"{Path(command[0]).name} ended with {done.returncode}")
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: float(value) for name, value in lines}


def private_bytes(pid: int) -> int:
    """Returns the bytes of memory that a process has alone (Private_Dirty)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) * 1024
    raise NotMeasured("no Private_Dirty in smaps_rollup")


def settled(read: Callable[[], int], for_seconds: float = 1.0) -> int:
    """The value that `read` has kept for so long; whatever wakes up more rarely shows in the measurement."""
    deadline = time.monotonic() + PATIENCE
    value, since = read(), time.monotonic()
    while time.monotonic() - since < for_seconds:
        time.sleep(0.1)
        if (now := read()) != value:
            value, since = now, time.monotonic()
        if time.monotonic() > deadline:
            return value
    return value


def context_switches(pid: int) -> int:
    """Voluntary and involuntary, of all threads of a process."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total
