# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of segue-desktop: two agents of one account, the offers on one of them, the desktop at the other."""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Iterator

from measure import ROOT, Figure, NotMeasured, Settings, Skipped, build, context_switches, private_bytes, settled

sys.path.insert(0, str(ROOT / "Tests" / "devices"))
from agents import making
from network import can_make_networks, two_networks
from participants import Participant, participant
from programs import programs
from project import build as build_test

PAUSE = 2.5
"""Seconds: the program looks at what is offered at most once a second, and a continuation changes offers, too."""


def desktop(settings: Settings) -> Iterator[Figure]:
    rounds, seconds = (3, 2.0) if settings.short else (15, 60.0)
    if shutil.which("dbus-daemon") is None:
        raise NotMeasured("dbus-daemon is not installed: make deps")
    if not can_make_networks():
        raise Skipped("namespaces cannot be made here")
    notify = build("notify", "-lsegue", "-lsystemd", "-pthread")
    app = build_test(ROOT / "Tests" / "runtime" / "participant.c", settings.folder)
    with programs() as start:
        cable = two_networks(start)
        cable.address()
        make = making(start, settings.folder)
        here, there = (make(*each).begin() for each in zip(("desk", "laptop"), cable.machines, strict=True))
        here.create().admit(there)
        there.linked("desk")
        bus = start("bus", ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"])
        address = bus.wait_for("^unix:.*")[0]
        config = settings.folder / "config"
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
            server.tell("click")
            found["clicked"] = float(server.wait_for(r"^clicked (\S+)")[1])
            origin.hears(r"ended \w+ restored OK.*")
            server.tell("launch")
            found["direct"] = float(server.wait_for(r"^direct (\S+)")[1])
            origin.hears(r"ended \w+ restored OK.*")
            time.sleep(PAUSE)  # as before the offer: both find everything asleep
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
    said = f"{middle['shown']:.0f} us, a bare call {middle['bare']:.0f} us"
    yield Figure("desktop.notify_ratio", middle["shown"] / middle["bare"], said, ("<=", 2))
    said = f"{middle['clicked']:.0f} us, segue_app_launch {middle['direct']:.0f} us"
    yield Figure("desktop.click_ratio", middle["clicked"] / middle["direct"], said, ("<=", 1.2))
    yield Figure("desktop.private_kib", memory, "idle", ("<=", 1024))
    yield Figure("desktop.wakeups_per_min", switches * 60 / seconds, f"{switches} in {seconds:.0f} s", ("<=", 0))
