# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machines on one computer: network namespaces, which need no root, and the cable between two of them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from programs import Program
from project import run


class Network:
    """A machine's network: a namespace, in which programs are started."""

    def __init__(self, user: int, network: int):
        self.user, self.network = user, network

    @property
    def under(self) -> list[str]:
        """The words before a command that start it on this machine."""
        namespaces = [f"--user=/proc/{self.user}/ns/user", f"--net=/proc/{self.network}/ns/net"]
        return ["nsenter", *namespaces, "--preserve-credentials"]

    def run(self, *command: str) -> None:
        run(*self.under, *command)

    def call(self, function: Callable[..., bytes], *arguments: object) -> bytes:
        """Calls a function of a test's module on this machine, by its name, and returns its result."""
        name = f"{function.__module__}.{function.__name__}"
        script = f"import sys; sys.path[:0] = {sys.path!r}; import {function.__module__}; "
        script += f"sys.stdout.buffer.write({name}(*{arguments!r}))"
        words = [*self.under, sys.executable, "-c", script]
        return subprocess.run(words, check=True, capture_output=True, timeout=30).stdout


class Sockets:
    """Makes sockets on a machine for this process, which stays where it is."""

    _PROGRAM = """
import socket, sys
control = socket.socket(fileno=int(sys.argv[1]))
while words := control.recv(64).split():
    with socket.socket(*map(int, words)) as made:
        socket.send_fds(control, [b"!"], [made.fileno()])
"""

    def __init__(self, machine: Network):
        self._control, there = socket.socketpair(type=socket.SOCK_SEQPACKET)
        self._control.settimeout(30)
        with there:
            words = [*machine.under, sys.executable, "-S", "-c", self._PROGRAM, str(there.fileno())]
            self._maker = subprocess.Popen(words, pass_fds=[there.fileno()])
        self._turn = threading.Lock()

    def make(self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> socket.socket:
        with self._turn:
            self._control.send(f"{int(family)} {int(kind)} {protocol}".encode())
            _, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        assert descriptors, "no socket was made on that machine"
        return socket.socket(fileno=descriptors[0])

    def listen(self, address: str, port: int = 0, backlog: int = 128) -> socket.socket:
        made = self.make()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(backlog)
        made.settimeout(10)
        return made

    def connect(self, address: str, port: int) -> socket.socket:
        made = self.make()
        made.settimeout(10)
        made.connect((address, port))
        return made

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._control.close()
        self._maker.wait(10)


class Cable:
    """Two machines, and what joins them: 10.99.0.1 and 10.99.0.2, fe80:: at both ends."""

    def __init__(self, one: Network, other: Network):
        self.machines = (one, other)
        for machine in self.machines:
            machine.run("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up")
        one.run("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", f"{other.network}")
        self.plug()

    def address(self, *, ipv4: bool = True) -> None:
        """Gives both machines addresses; without IPv4 waits for those that every interface has. The system gives them
        once it has noticed that the other end is up, which may be a second later."""
        for number, machine in enumerate(self.machines, 1):
            if ipv4:
                machine.run("ip", "addr", "add", f"10.99.0.{number}/24", "dev", "cable")
            else:
                script = "until ip -6 -o addr show dev cable scope link | grep -q fe80; do sleep 0.05; done"
                machine.run("timeout", "10", "sh", "-c", script)

    def pull(self) -> None:
        self.machines[0].run("ip", "link", "set", "cable", "down")

    def plug(self) -> None:
        for machine in self.machines:
            machine.run("ip", "link", "set", "cable", "up")


def can_make_networks() -> bool:
    """Whether this system lets a user make namespaces."""
    try:
        return subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


def two_networks(start: Callable[..., Program]) -> Cable:
    """Two machines with a cable, without addresses of IPv4 yet.

    start: starts a program, and ends it when they are no longer needed
    """
    one = start("machine 1", ["unshare", "-Urn", *WAITS])
    one.wait_for("there")
    first = Network(one.pid, one.pid)
    return Cable(first, another_network(start, first, "machine 2"))


WAITS = ["sh", "-c", "echo there; read line"]


def another_network(start: Callable[..., Program], first: Network, name: str) -> Network:
    """One more machine beside the first, without a cable."""
    other = start(name, [*first.under, "unshare", "-n", *WAITS])
    other.wait_for("there")
    assert os.readlink(f"/proc/{first.network}/ns/net") != os.readlink(f"/proc/{other.pid}/ns/net")
    return Network(first.user, other.pid)


def second_cable(start: Callable[..., Program], first: Network, name: str = "machine 3") -> Network:
    """One more machine with a cable to the first: 10.98.0.2, and 10.98.0.1 there. The interfaces are `cable`, and
    `second` there."""
    third = another_network(start, first, name)
    first.run("ip", "link", "add", "second", "type", "veth", "peer", "name", "cable", "netns", f"{third.network}")
    for machine, number, interface in ((first, 1, "second"), (third, 2, "cable")):
        machine.run("ip", "addr", "add", f"10.98.0.{number}/24", "dev", interface)
        machine.run("sh", "-c", f"ip link set lo up; ip link set {interface} up")
    return third
