#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures segue-desktop: two agents of one account, the offers on one of them, the desktop at the other. bench/run
calls it.

    bench/desktop.py ROUNDS SECONDS FOLDER NOTIFY

NOTIFY: the path of bench/notify.c, compiled. Prints "name value" lines: times in microseconds, medians. Exit status 77:
namespaces cannot be made here.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("bench", "Tests/devices", "Tests")]
from agents import making  # noqa: E402
from measure import SKIPPED, context_switches, private_bytes, settled  # noqa: E402
from network import can_make_networks, two_networks  # noqa: E402
from participants import Participant, participant  # noqa: E402
from programs import programs  # noqa: E402
from project import build  # noqa: E402

PAUSE = 2.5
"""Seconds before each time that is taken, so that all find everything asleep, as a user's click does. The program looks
at what is offered twice a second at most, and a continuation changes offers, too."""


def main() -> int:
    rounds, seconds, folder, notify = int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    if shutil.which("dbus-daemon") is None or not can_make_networks():
        print("dbus-daemon is not installed, or namespaces cannot be made here", file=sys.stderr)
        return SKIPPED
    app = build(ROOT / "Tests" / "runtime" / "participant.c", folder)
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        make = making(start, folder)
        here, there = (make(*each).begin() for each in zip(("desk", "laptop"), cable.machines, strict=True))
        here.create().admit(there)
        there.linked("desk")
        bus = start("bus", ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"])
        address = bus.wait_for("^unix:.*")[0]
        config = folder / "config"
        (config / "segue").mkdir(parents=True)
        (config / "segue" / "desktop").write_text("notify always\n")
        variables = [f"SEGUE_RUNTIME_DIR={here.folder}", f"XDG_CONFIG_HOME={config}", f"XDG_STATE_HOME={config}"]
        variables += [f"DBUS_SESSION_BUS_ADDRESS={address}", f"DBUS_SYSTEM_BUS_ADDRESS={address}"]
        server = start("server", ["env", *variables, notify, "server", address])
        server.wait_for("ready")
        bare = start("bare", [notify, "call", address])
        bare.wait_for("ready")
        program = start("desktop", ["env", *variables, ROOT / "lib" / "segue-desktop"])
        words = participant(app, "notes", under=there.machine.under, SEGUE_RUNTIME_DIR=str(there.folder))
        origin = Participant(start("origin", words)).ready()
        got: dict[str, list[float]] = {"shown": [], "clicked": [], "direct": [], "bare": []}
        for number in range(rounds + 1):
            time.sleep(PAUSE)
            origin.tell(f"offer letter {number}")
            found = {"shown": float(server.wait_for(r"^shown (\S+)")[1])}
            # The first continuation of an offer takes longer, whichever it is.
            turns = [("click", "clicked"), ("launch", "direct")]
            for order, name in turns if number % 2 else reversed(turns):
                time.sleep(PAUSE)
                server.tell(order)
                found[name] = float(server.wait_for(rf"^{name} (\S+)")[1])
                origin.hears(r"ended \w+ restored OK.*")
            time.sleep(PAUSE)
            bare.tell("call")
            found["bare"] = float(bare.wait_for(r"^bare (\S+)")[1])
            if number > 0:  # before that the program has to learn where its device is
                for name, value in found.items():
                    got[name].append(value)
        middle = {name: statistics.median(values) for name, values in got.items()}
        time.sleep(PAUSE)
        before = settled(lambda: context_switches(program.pid))
        time.sleep(seconds)  # the measurement itself: nothing may happen meanwhile
        switches = context_switches(program.pid) - before
        memory = private_bytes(program.pid) / 1024
    for name, value in middle.items():
        print(f"{name}_us {value}")
    print(f"private_kib {memory}")
    print(f"switches {switches}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
