#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures devices that are not on one network: a name, a third machine in the middle, ssh, and moves from one path to
another. bench/run calls it.

    bench/reach.py names|relay|ssh|moves ROUNDS SECONDS MIB PROGRAM...

Prints "name value" lines. Exit status 77: namespaces cannot be made here, or a peer is not installed. PROGRAM: paths of
compiled programs, whose names are those of bench/*.c.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("bench", "Tests/devices", "Tests")]
from agents import AGENT, AgentDevice  # noqa: E402
from devices import DELAY, PORT, Pair, say, values_of, with_descriptor  # noqa: E402
from measure import SKIPPED, context_switches, private_bytes, settled  # noqa: E402
from network import Network, can_make_networks, second_cable, two_networks  # noqa: E402
from programs import Program, programs  # noqa: E402
from project import run  # noqa: E402
from ssh_server import SERVER, SSHServer  # noqa: E402
from streaming import RunningStream  # noqa: E402
from test_moves import a_household  # noqa: E402
from test_names import NamingNetwork  # noqa: E402

NEAR, FAR = PORT + 20, PORT + 21  # of the outer TLS: in the middle, and at the far end
ENTRY = PORT + 22  # of the peers' way, on the first machine
HOME, TWO = "10.99.0.1", "10.98.0.2"


class Three(Pair):
    """A machine in the middle and two that reach it alone, with an agent each, in one account."""

    def __init__(self, folder: Path, start: Callable[..., Program], compiled: dict[str, Path]):
        self.folder, self.start, self.compiled = folder, start, compiled
        cable = two_networks(start)
        cable.address()
        networks = (*cable.machines, second_cable(start, cable.machines[0]))
        self.home, self.one, self.two = (
            self._device(*each) for each in zip(("home", "one", "two"), networks, strict=True)
        )
        self.home.begin().create().admit(self.one.begin())
        self.home.admit(self.two.begin())
        self.home.linked("one", "two")
        self.home.awaits(lambda state: all(device["confirmed"] for device in state["devices"]))

    def relayed(self) -> None:
        """Has the two linked through the one in the middle."""
        self.home.ask("set-devices", relay=True)
        self.one.linked("home", "two")
        self.two.linked("home", "one")

    @contextlib.contextmanager
    def peers(self, server: AgentDevice) -> Iterator[Program]:
        """The peers' server on a machine; it speaks TLS 1.3 itself."""
        with programs() as start:
            command = self.command(server, "tls_peer", self.certificates(server), "server", PORT)
            serving = start("tls_peer", command)
            serving.wait_for("ready")
            yield serving

    def passes(self, device: AgentDevice, entry: str, onward: str) -> None:
        """Starts socat on a machine: it passes on all that comes at an entry."""
        words = ["socat", "-b65536", f"{entry},reuseaddr,fork,nodelay", onward]
        self.start(f"socat {device.name}", [*device.machine.under, *words])

    def through_middle(self) -> None:
        """Leads ENTRY of the first machine to the server on the second one: through an outer TLS to the one in the
        middle, and another one from there."""
        pem = self.folder / "outer.pem"
        key, certificate = self.folder / "outer.key", self.folder / "outer.crt"
        words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        run("openssl", *words, "-subj", "/CN=middle", "-keyout", key, "-out", certificate)
        pem.write_bytes(key.read_bytes() + certificate.read_bytes())
        outer = f"cert={pem},verify=0,openssl-min-proto-version=TLS1.3"
        tls = "verify=0,openssl-min-proto-version=TLS1.3,nodelay"
        self.passes(self.two, f"OPENSSL-LISTEN:{FAR},{outer}", f"TCP:127.0.0.1:{PORT},nodelay")
        self.passes(self.home, f"OPENSSL-LISTEN:{NEAR},{outer}", f"OPENSSL:{TWO}:{FAR},{tls}")
        self.passes(self.one, f"TCP-LISTEN:{ENTRY},bind=127.0.0.1", f"OPENSSL:{HOME}:{NEAR},{tls}")
        for device, port in ((self.two, FAR), (self.home, NEAR), (self.one, ENTRY)):
            listens(device.machine, port)

    def throughput(self, origin: AgentDevice, rounds: int, mib: int) -> tuple[float, float]:
        """Bytes in a microsecond of a stream from an app at `origin` to one on the first machine, and of the peers
        through ENTRY, in turns."""
        held, theirs = socket.socketpair()
        words = with_descriptor(3, theirs.fileno(), self.command(origin, "streams", "origin"))
        serving = self.start("origin", words, pass_fds=[theirs.fileno()])
        cores = sorted(os.sched_getaffinity(0))
        ours, raw = [], []
        for _ in range(rounds):
            numbers = [serving.pid, self.one.agent.pid, 1, mib, 1, cores[0], cores[-1]]
            words = with_descriptor(3, held.fileno(), self.command(self.one, "streams", "receiver", *numbers))
            ours.append(values_of(words, pass_fds=[held.fileno()])["bytes_per_us"])
            words = [self.certificates(self.one), "throughput", "127.0.0.1", ENTRY, mib]
            raw.append(values_of(self.command(self.one, "tls_peer", *words))["bytes_per_us"])
        serving.kill()
        for end in (held, theirs):
            end.close()
        return statistics.median(ours), statistics.median(raw)


def listens(machine: Network, port: int) -> None:
    """Waits until a program listens at a port of a machine."""
    script = f"until ss -Hltn sport = :{port} | grep -q .; do sleep 0.02; done"
    machine.run("timeout", "10", "sh", "-c", script)


def need(*what: str) -> None:
    for program in what:
        if not shutil.which(program) and not Path(program).exists():
            print(f"{program} is not installed", file=sys.stderr)
            sys.exit(SKIPPED)


# ---- a name ----


def names(folder: Path, start: Callable[..., Program], compiled: dict[str, Path], rounds: int, *_: int) -> None:
    """A cold link and a continuation over it by a name, in turns with the same by a numeric address. Both go through a
    proxy that delays all bytes. From the moment at which the first device has a network."""
    cable = two_networks(start)
    cable.address()
    (folder / "names").mkdir()
    naming = NamingNetwork(cable.machines[0], folder / "names", start)
    naming.serve(two=["10.99.0.2"])
    cable.machines = (naming, cable.machines[1])
    pair = Pair(folder, start, cable, compiled)
    port = pair.two.account()["port"]
    for device in (pair.one, pair.two):
        device.ask("set-devices", discovery=False, addresses=[])
    words = [sys.executable, str(ROOT / "bench" / "delay.py"), str(PORT + 3), str(port), str(DELAY)]
    pair.start("proxy", [*pair.two.machine.under, *words]).wait_for("ready")
    took: dict[str, list[float]] = {"two.test": [], "10.99.0.2": []}
    for number in range(rounds + 1):
        for host, times in took.items():
            used = named_round(pair, f"{host}:{PORT + 3}")
            if number > 0:  # not counted: both begin with empty caches
                times.append(used)
    by_name, by_number = (statistics.median(times) for times in took.values())
    say("name_ms", by_name)
    say("number_ms", by_number)


def named_round(pair: Pair, address: str) -> float:
    """Milliseconds from the cable on, until an app continues what the other machine offers."""
    device = pair.one.device("two")["device"]
    pair.two.end()
    pair.one.linked()
    pair.cable.pull()
    pair.one.ask("add-address", device=device, address=address)
    pair.two.begin()
    with programs() as start:
        origin = start("origin", pair.command(pair.two, "participant", "com.example.bench.origin", "--offer"))
        origin.wait_for("saved")
        receiver = start("receiver", pair.command(pair.one, "link_handoff", "once"))
        settled(lambda: context_switches(pair.one.agent.pid))
        began = time.monotonic() * 1e6
        pair.cable.plug()
        ended = float(receiver.wait_for(r"^continued ([\d.e+]+)$")[1])
    pair.one.ask("remove-address", device=device, address=address)
    return (ended - began) / 1e3


# ---- a relay ----


def relay(
    folder: Path, start: Callable[..., Program], compiled: dict[str, Path], rounds: int, seconds: int, mib: int
) -> None:
    need("socat")
    three = Three(folder, start, compiled)
    three.relayed()
    three.through_middle()
    with three.peers(three.two):
        handoffs(three, rounds)
        ours, raw = three.throughput(three.two, max(1, rounds // 10), mib)
        say("bytes_per_us", ours)
        say("raw_bytes_per_us", raw)
        # The relay has what it keeps after its first channel, whose end gives back the rest.
        three.home.ask("set-devices", relay=False)
        three.one.linked("home")
        idle = private(three.home)
        three.relayed()
        three.throughput(three.two, 1, mib)
        say("channel_kib", max(0.0, private(three.home) - idle))
    agent = three.one.agent
    before = settled(lambda: context_switches(agent.pid), for_seconds=min(1.0, seconds / 3))
    time.sleep(seconds)  # The measurement itself: nothing may happen meanwhile but heartbeats.
    say("wakeups_per_min", (context_switches(agent.pid) - before) * 60 / seconds)


def private(device: AgentDevice) -> float:
    """KiB that the agent of a device has for itself, once it is idle."""
    settled(lambda: context_switches(device.agent.pid))
    return private_bytes(device.agent.pid) / 1024


def handoffs(three: Three, rounds: int) -> None:
    """Continuations over a link through the middle, in turns with a round trip of the peers through it."""
    reports, tell = os.pipe()
    words: list[object] = ["com.example.bench.origin", "--offer", "--tell", tell]
    origin = three.run(three.two, "participant", *words, pass_fds=[tell])
    origin.wait_for("ready")
    core = sorted(os.sched_getaffinity(0))[-1]
    words = [three.certificates(three.one), "127.0.0.1", ENTRY, rounds, 20, core]
    command = with_descriptor(4, reports, three.command(three.one, "link_handoff", *words))
    for name, value in values_of(command, pass_fds=[reports]).items():
        say(name, value)
    for end in (reports, tell):
        os.close(end)
    origin.kill()


# ---- ssh ----


def ssh(
    folder: Path, start: Callable[..., Program], compiled: dict[str, Path], rounds: int, seconds: int, mib: int
) -> None:
    """The first machine reaches the one in the middle by ssh; the peers by the same server."""
    need("socat", str(SERVER))
    config = folder / "config"
    (config / "segue").mkdir(parents=True)
    os.environ["XDG_CONFIG_HOME"] = str(config)
    three = Three(folder, start, compiled)
    three.two.end()
    server = SSHServer(three.home.machine, HOME, folder / "ssh", start)
    server.begin(SEGUE_RUNTIME_DIR=str(three.home.folder))
    home = three.one.device("home")["device"]
    paths = config / "segue" / "paths"
    words = ", ".join(f'"{word}"' for word in shlex.split(server.command(AGENT, "--stdio")))
    paths.write_text(f'{{"{home}": [{words}]}}')
    paths.chmod(0o600)
    three.one.ask("avoid-path", device=home, path="same network")
    three.one.ask("read-paths")
    three.one.linked("home")
    assert three.one.device("home")["paths"][0]["address"] == "command"
    command = server.command("socat", "-b65536", "-", f"TCP:127.0.0.1:{PORT}")
    script = folder / "by-ssh"  # socat reads colons in a command as its own
    script.write_text(f"#!/bin/sh\nexec {command}\n")
    script.chmod(0o700)
    three.passes(three.one, f"TCP-LISTEN:{ENTRY},bind=127.0.0.1", f"EXEC:{script}")
    listens(three.one.machine, ENTRY)
    with three.peers(three.home):
        ours, raw = three.throughput(three.home, rounds, mib)
    say("bytes_per_us", ours)
    say("raw_bytes_per_us", raw)


# ---- moves ----


def moves(folder: Path, start: Callable[..., Program], compiled: dict[str, Path], rounds: int, *_: int) -> None:
    """A stream while a cable is put back and pulled: the longest time without a byte at each move."""
    with a_household(folder) as household:
        stream = RunningStream(household.phone, household.laptop)
        gaps = []
        for _ in range(rounds):
            for move, path in ((household.plug, "10.97.0."), (household.pull, "through home")):
                time.sleep(5.5)  # A link moves once in 5 s at most.
                stream.gap()
                move()
                household.uses(path)
                time.sleep(0.5)  # What has waited arrives.
                gaps.append(stream.gap()[0])
        stream.end()
    say("gap_p50_ms", statistics.median(gaps))
    say("gap_p95_ms", sorted(gaps)[max(0, -(-len(gaps) * 95 // 100) - 1)])
    say("moves", len(gaps))


def main() -> None:
    part, rounds, seconds, mib, *compiled = sys.argv[1:]
    need("nsenter")
    if not can_make_networks():
        print("namespaces cannot be made here", file=sys.stderr)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as folder, programs() as start:
        by_name = {Path(path).name: Path(path) for path in compiled}
        part_of = {"names": names, "relay": relay, "ssh": ssh, "moves": moves}[part]
        part_of(Path(folder), start, by_name, int(rounds), int(float(seconds)), int(mib))


if __name__ == "__main__":
    main()
