#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures segue-search, over an agent that has many saved activities. bench/run calls it.

    bench/provider.py ROUNDS FOLDER DATABASE PROVIDER

DATABASE: the saved activities that StoreProbe has made. PROVIDER: the path of bench/provider.c, compiled. Prints "name
value" lines: times in microseconds, medians. Exit status 77: there is no dbus-daemon.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("bench", "Tests/devices", "Tests")]
from agents import making  # noqa: E402
from measure import SKIPPED  # noqa: E402
from programs import programs  # noqa: E402

NAME = "local.segue.Segue.Search"
PATH = "/" + NAME.replace(".", "/")


def terms(database: Path, count: int) -> list[str]:
    """The first three letters of words, each as often as the titles have it."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as store:
        titles = [title for (title,) in store.execute("SELECT title FROM saved")]
    chosen = random.Random(7).choices(titles, k=count)
    return [title.removeprefix("everywhere ").split()[0][:3] for title in chosen]


def main() -> int:
    rounds, folder, database, provider = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    if shutil.which("dbus-daemon") is None:
        print("dbus-daemon is not installed", file=sys.stderr)
        return SKIPPED
    with programs() as start:
        device = making(start, folder)("desk").begin()
        device.end()
        shutil.copyfile(database, device.state_folder / "search.db")
        device.begin()
        bus = start("bus", ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"])
        address = bus.wait_for("^unix:.*")[0]
        variables = [f"SEGUE_RUNTIME_DIR={device.folder}", f"XDG_CONFIG_HOME={folder}/config", "XDG_SESSION_ID=1"]
        variables += [f"DBUS_SESSION_BUS_ADDRESS={address}", f"DBUS_SYSTEM_BUS_ADDRESS={address}"]
        start("search", ["env", *variables, ROOT / "lib" / "segue-search"])
        watch = ["gdbus", "wait", "--session", "--timeout", "20", NAME]
        subprocess.run(["env", *variables, *watch], check=True)
        words = "".join(f"{term}\n" for term in terms(database, rounds + 20))
        client = ["env", *variables, provider, address, NAME, PATH]
        done = subprocess.run(client, input=words, capture_output=True, text=True)
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
