#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures two agents on two machines: network namespaces with a cable between them. bench/run calls it.

    bench/devices.py links|streams|cold ROUNDS SECONDS MIB [PROGRAM...]

Prints "name value" lines. Exit status 77: namespaces cannot be made here. PROGRAM: paths of compiled programs, whose
names are those of bench/*.c.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("bench", "Tests/devices", "Tests")]
import cbor2  # noqa: E402
from agents import AGENT, AgentDevice  # noqa: E402
from measure import SKIPPED, context_switches, private_bytes, settled  # noqa: E402
from network import Cable, Network, can_make_networks, two_networks  # noqa: E402
from participants import Participant, participant  # noqa: E402
from programs import Program, programs  # noqa: E402
from project import build  # noqa: E402

ADDRESSES = "10.99.0.1", "10.99.0.2"
PORT = 4801  # of the peers, on the second machine, where nothing else listens
DELAY = 0.010  # seconds each way
ACCOUNT_MAGIC, DIGEST_SIZE = b"segue account\n", 32


def say(name: str, value: float) -> None:
    print(name, f"{value:.9g}", flush=True)


class Pair:
    """Two machines with an agent each, in one account. `start` starts programs on none of them."""

    def __init__(self, folder: Path, start: Callable[..., Program], cable: Cable, compiled: dict[str, Path]):
        self.folder, self.start, self.cable, self.compiled = folder, start, cable, compiled
        self.one, self.two = (self._device(*each) for each in zip(("one", "two"), cable.machines, strict=True))
        self.one.begin().create().admit(self.two.begin())
        self.await_link()
        self.two.awaits(lambda state: all(device["confirmed"] for device in state["devices"]))

    def _device(self, name: str, machine: Network) -> AgentDevice:
        folder = self.folder / name
        for each in (folder, Path(f"{folder}-state")):
            each.mkdir(mode=0o700)
        return AgentDevice(name, folder, self._start_agent, machine)

    def _start_agent(self, device: AgentDevice) -> Program:
        variables = [f"SEGUE_RUNTIME_DIR={device.folder}", f"XDG_STATE_HOME={device.state_folder.parent}"]
        command = [*device.machine.under, "env", *variables, "SEGUE_LOG=info", AGENT]
        return self.start(f"agent {device.name}", command)

    def await_link(self) -> None:
        self.one.linked("two")
        self.two.linked("one")

    def command(self, device: AgentDevice, program: str, *words: object) -> list[str]:
        variables = ["env", f"SEGUE_RUNTIME_DIR={device.folder}"]
        return [*device.machine.under, *variables, str(self.compiled[program]), *map(str, words)]

    def run(self, device: AgentDevice, program: str, *words: object, **options) -> Program:
        return self.start(f"{program} {device.name}", self.command(device, program, *words), **options)

    def app(self, device: AgentDevice, name: str) -> Participant:
        variables = {"under": device.machine.under, "SEGUE_RUNTIME_DIR": str(device.folder)}
        return Participant(self.start(name, participant(self.compiled["app"], name, **variables))).ready()

    def certificates(self, device: AgentDevice) -> Path:
        """A folder with what the device has stored of its account, for the peers."""
        _, key, certificate, root, _, roster, *_ = cbor2.loads(
            (device.state_folder / "account").read_bytes()[len(ACCOUNT_MAGIC) + DIGEST_SIZE :]
        )
        folder = self.folder / f"{device.name}-certificates"
        folder.mkdir(mode=0o700, exist_ok=True)
        parts = {"key": key, "certificate": certificate, "root": root, "revocations": cbor2.loads(roster)[-1]}
        for name, content in parts.items():
            (folder / name).write_bytes(content)
        return folder

    @contextlib.contextmanager
    def serving(self) -> Iterator[Program]:
        """The peer's server on the second machine."""
        with programs() as start:
            command = self.command(self.two, "tls_peer", self.certificates(self.two), "server", PORT)
            server = start("tls_peer", command)
            server.wait_for("ready")
            yield server


# ---- links ----


def links(pair: Pair, rounds: int, seconds: float, mib: int) -> None:
    agent = pair.one.agent
    launcher = int(Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text())
    both = agent.pid, launcher
    cores = sorted(os.sched_getaffinity(0))
    with pair.serving() as server:
        os.sched_setaffinity(server.pid, cores[:1])
        reports, tell = os.pipe()
        words = ["com.example.bench.origin", "--offer", "--tell", tell]
        origin = pair.run(pair.two, "participant", *words, pass_fds=[tell])
        origin.wait_for("ready")
        words = [pair.certificates(pair.one), ADDRESSES[1], PORT, rounds, 20, cores[-1]]
        command = with_descriptor(4, reports, pair.command(pair.one, "link_handoff", *words))
        for name, value in values_of(command, pass_fds=[reports]).items():
            say(name, value)
        origin.kill()
        for end in (reports, tell):
            os.close(end)
    before = settled(lambda: sum(map(context_switches, both)), for_seconds=min(1.0, seconds / 3))
    time.sleep(seconds)  # The measurement itself: nothing may happen meanwhile but the heartbeat.
    say("wakeups_per_min", (sum(map(context_switches, both)) - before) * 60 / seconds)
    say("private_kib", private_bytes(agent.pid) / 1024)
    discover(pair, rounds=max(1, rounds // 10))
    revoke(pair, rounds=max(1, rounds // 20))


def discover(pair: Pair, rounds: int) -> None:
    """From the start of the second agent until an app there has an offer of the first machine."""
    origin, watcher = pair.app(pair.one, "origin"), pair.app(pair.two, "watcher")
    origin.tell("offer letter")
    watcher.hears("appeared letter")
    took = []
    for _ in range(rounds):
        # The first agent forgets where the second one was: it has to hear a beacon.
        pair.two.end()
        watcher.hears("gone letter")
        pair.one.end()
        origin.hears("connection ready")
        pair.one.begin()
        origin.hears("connection ready")
        began = time.monotonic()
        pair.two.begin()
        watcher.hears("appeared letter")
        took.append((time.monotonic() - began) * 1e3)
    say("discovery_p50_ms", statistics.median(took))
    say("discovery_max_ms", max(took))


def revoke(pair: Pair, rounds: int) -> None:
    """From the call at the manager until neither machine's app has an offer of the other."""
    mine, yours = pair.app(pair.one, "mine"), pair.app(pair.two, "yours")
    mine.tell("offer here")
    yours.tell("offer there")
    took = []
    for number in range(rounds):
        if number > 0:
            pair.two.ask("leave-account")
            pair.one.admit(pair.two)
            pair.await_link()
        mine.hears("appeared there")
        yours.hears("appeared here")
        device = pair.one.device("two")["device"]
        began = time.monotonic()
        pair.one.ask("revoke-device", device=device)
        yours.hears("gone here")
        mine.hears("gone there")
        took.append((time.monotonic() - began) * 1e3)
    say("revoke_p50_ms", statistics.median(took))
    say("revoke_max_ms", max(took))


# ---- streams ----


def streams(pair: Pair, rounds: int, seconds: float, mib: int) -> None:
    """A stream between apps of both machines, in turns with two pumps over TLS, and with one connection over TLS."""
    ends = [end for _ in range(2) for end in socket.socketpair()]
    held = [end.fileno() for end in ends]
    for device, end, dials in ((pair.two, held[2], []), (pair.one, held[1], [ADDRESSES[1]])):
        words = [pair.certificates(device), "pump", end, PORT + 1, *dials]
        pump = pair.run(device, "tls_peer", *words, pass_fds=[end])
        if not dials:
            pump.wait_for("ready")
    command = with_descriptor(3, held[3], pair.command(pair.two, "streams", "origin"))
    origin = pair.start("origin", command, pass_fds=[held[3]])
    cores = sorted(os.sched_getaffinity(0))
    turns, each = (1, rounds) if rounds < 9 else (3, rounds // 3)
    got: dict[str, list[float]] = {}
    with pair.serving():
        for _ in range(turns):
            numbers = [origin.pid, pair.one.agent.pid, each, mib, 1, cores[0], cores[-1]]
            command = with_descriptor(3, held[0], pair.command(pair.one, "streams", "receiver", *numbers))
            values = values_of(command, pass_fds=[held[0]])
            for _ in range(each):
                words = [pair.certificates(pair.one), "throughput", ADDRESSES[1], PORT, mib]
                raw = values_of(pair.command(pair.one, "tls_peer", *words))["bytes_per_us"]
                got.setdefault("raw_bytes_per_us", []).append(raw)
            for name, value in values.items():
                got.setdefault(name, []).append(value)
    for end in ends:
        end.close()
    for name in ("throughput_ratio", "bytes_per_us", "raw_bytes_per_us", "growth_kib"):
        say(name, statistics.median(got[name]))


# ---- cold ----


def cold(pair: Pair, rounds: int, seconds: float, mib: int) -> None:
    """A new link and a continuation over it, in turns with a new connection over TLS and a round trip. Both go through
    a proxy that delays all bytes, and of both pairs the listener is a new process each time, the dialler is not."""
    port = pair.two.account()["port"]
    for device in (pair.one, pair.two):
        device.ask("set-devices", discovery=False, addresses=[])
    heard, heard_of_peers = delayed(pair, port, PORT + 3), delayed(pair, PORT, PORT + 2)
    client = pair.run(pair.one, "tls_peer", pair.certificates(pair.one), "told", ADDRESSES[1], PORT + 2)
    client.wait_for("ready")
    peer_round(pair, client, heard_of_peers)  # not counted: the agent that dials was linked before, too
    ours, raw = [], []
    for _ in range(rounds):
        ours.append(cold_round(pair, f"{ADDRESSES[1]}:{PORT + 3}", heard))
        raw.append(peer_round(pair, client, heard_of_peers))
    for name, measured in (("", ours), ("raw_", raw)):
        used, took = zip(*measured, strict=True)
        say(f"{name}processor_us", statistics.median(used))
        # A proxy accepts at once, so it hides the round trip in which TCP connects.
        say(f"{name}round_trips", 1 + min(took) / (2 * DELAY * 1e6))


def delayed(pair: Pair, target: int, port: int) -> queue.Queue[str]:
    """Starts a proxy on the second machine; its lines, as they come."""
    heard: queue.Queue[str] = queue.Queue()
    command = [*pair.two.machine.under, sys.executable, ROOT / "bench" / "delay.py", port, target, DELAY]
    pair.start("proxy", [str(word) for word in command], listener=heard.put).wait_for("ready")
    return heard


def cold_round(pair: Pair, address: str, heard: queue.Queue[str]) -> tuple[float, float]:
    """Measures a link with a new agent, and a continuation over it, in all four processes (`measured`)."""
    pair.two.end()
    pair.one.linked()
    pair.cable.pull()
    pair.one.ask("set-devices", addresses=[address])
    pair.two.begin()
    with programs() as start:
        origin = start("origin", pair.command(pair.two, "participant", "com.example.bench.origin", "--offer"))
        origin.wait_for("saved")
        receiver = start("receiver", pair.command(pair.one, "link_handoff", "once"))
        pids = pair.one.agent.pid, pair.two.agent.pid, origin.pid, receiver.pid
        # All addresses are dialled at once when the cable is there.
        return measured(pids, pair.cable.plug, heard, lambda: receiver.wait_for(r"^continued ([\d.e+]+)$"))


def peer_round(pair: Pair, client: Program, heard: queue.Queue[str]) -> tuple[float, float]:
    """Measures a connection over TLS with a new server, and a round trip, in both processes (`measured`)."""
    with pair.serving() as server:
        return measured(
            (client.pid, server.pid), lambda: client.tell("dial"), heard, lambda: client.wait_for(r"^answered (.+)$")
        )


def measured(
    pids: tuple[int, ...], begin: Callable[[], None], heard: queue.Queue[str], end: Callable[[], re.Match[str]]
) -> tuple[float, float]:
    """Microseconds of processor time in the processes, and by the clock, both from when the proxy, which is heard, has
    accepted the connection. Nothing else happens in the processes meanwhile: they have been idle for a second."""

    def used() -> int:
        return int(sum(map(processor_us, pids)))

    settled(used)
    began = time.monotonic() * 1e6
    begin()
    accepted = 0.0
    while accepted < began:  # Others were accepted before, while there was nobody behind the proxy.
        name, _, value = heard.get(timeout=30).partition(" ")
        accepted = float(value) if name == "accepted" else 0.0
    before = used()  # The proxy has yet to connect to the listener.
    ended = float(end()[1])
    return used() - before, ended - accepted


def processor_us(pid: int) -> float:
    """Processor time of all threads of a process."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e3


# ---- all ----


def values_of(command: list[str], **options) -> dict[str, float]:
    """Runs a program to its end; its "name value" lines."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{command} ended with {done.returncode}")
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def with_descriptor(number: int, fd: int, command: list[str]) -> list[str]:
    """The command with a descriptor moved; a shell may know those of one digit only."""
    script = f"import os, sys; os.dup2({fd}, {number}); os.execvp(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", script, *command]


@contextlib.contextmanager
def cable() -> Iterator[Cable]:
    """Two machines, as the tests have them."""
    if not can_make_networks():
        print("namespaces cannot be made here", file=sys.stderr)
        sys.exit(SKIPPED)
    with programs() as start:
        made = two_networks(start)
        made.address()
        yield made


def main() -> None:
    part, rounds, seconds, mib, *compiled = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as folder, cable() as made, programs() as start:
        programs_by_name = {Path(path).name: Path(path) for path in compiled}
        if part == "links":
            programs_by_name["app"] = build(ROOT / "Tests" / "runtime" / "participant.c", Path(folder))
        pair = Pair(Path(folder), start, made, programs_by_name)
        {"links": links, "streams": streams, "cold": cold}[part](pair, int(rounds), float(seconds), int(mib))


if __name__ == "__main__":
    main()
