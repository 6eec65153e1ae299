# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The activation socket, readiness, and what systemd and desktops read (docs/agent.md, "Started on demand")."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import AGENT, CARRIES
from programs import programs
from project import ROOT, run

NAMESPACES = ROOT / "Tests" / "agent" / "user_manager.sh"


@pytest.fixture
def activation_socket(folder):
    """A socket that listens where systemd does."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "agent"))
        listening.listen(8)
        listening.settimeout(20)
        yield listening


def connections(listening: socket.socket) -> int:
    """Returns the number of connections that wait. Checks that they have said nothing, and closes them."""
    listening.setblocking(False)
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, _ = listening.accept()
            assert connection.recv(1) == b""
            connection.close()
            count += 1
    return count


def test_the_library_connects_once_for_each_app(activation_socket, start):
    first, second = start("first").ready(), start("second").ready()
    first.ask("offer one", "offered")
    second.hears("appeared one")
    assert connections(activation_socket) == 2
    first.kill()
    second.hears("connection searching")
    second.hears("connection ready")
    assert connections(activation_socket) == 0


def test_an_activation_socket_where_nobody_takes_connections_delays_nobody(folder, start):
    """Its backlog is full, and stays so."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(folder / "agent"))
        listening.listen(0)
        with pytest.raises(BlockingIOError):
            while True:
                connecting = stack.enter_context(socket.socket(socket.AF_UNIX))
                connecting.setblocking(False)
                connecting.connect(str(folder / "agent"))
        start("app").ready().end()


def test_an_activation_socket_of_an_agent_that_has_gone_is_no_error(folder, start):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "agent"))
    start("app").ready().end()


def test_systemd_starts_the_agent_when_an_app_opens(folder, start, command):
    """The agent gets the socket as systemd passes it, takes the connections away, and leaves it listening."""
    with programs() as begin:
        activated = begin("systemd-socket-activate", ["systemd-socket-activate", "-l", folder / "agent", *command()])
        activated.wait_for("Listening on")
        app = start("app").ready()
        assert int(activated.wait_for(CARRIES)[1]) == 2
        app.hears("connection searching")
        app.hears("connection ready")
        for number in range(200):
            with socket.socket(socket.AF_UNIX) as connecting:
                connecting.settimeout(20)
                connecting.connect(str(folder / "agent"))
                assert connecting.recv(1) == b"", f"connection {number} was answered"
        activated.signal(signal.SIGTERM)
        assert activated.wait() == 0
        assert (folder / "agent").is_socket()


def test_variables_of_another_process_are_not_the_agents(begin):
    """LISTEN_PID names somebody else: descriptor 3 is nobody's activation socket."""
    program = begin(LISTEN_PID="1", LISTEN_FDS="1")
    program.wait_for(CARRIES)


@pytest.mark.parametrize(
    ("passed", "problem"),
    [
        (["datagram"], "LISTEN_FDS: descriptor 3 is no stream socket that listens"),
        (["listening", "listening"], "LISTEN_FDS: 2 sockets were passed, and the agent takes one"),
        (["closed"], "LISTEN_FDS: descriptor 3 is no stream socket that listens"),
    ],
)
def test_what_is_no_activation_socket_is_refused(command, tmp_path, passed, problem):
    kinds = {"datagram": socket.SOCK_DGRAM, "listening": socket.SOCK_STREAM, "closed": socket.SOCK_STREAM}
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_UNIX, kinds[kind])) for kind in passed]
        for number, (kind, each) in enumerate(zip(passed, sockets, strict=True)):
            if kind == "listening":
                each.bind(str(tmp_path / f"s{number}"))
                each.listen()
        moves = " ".join(
            f"{3 + number}<&{each.fileno()}" for number, each in enumerate(sockets) if passed[0] != "closed"
        )
        words = " ".join(f"'{word}'" for word in map(str, command(LISTEN_FDS=str(len(passed)))))
        done = subprocess.run(
            ["bash", "-c", f"exec {moves}; export LISTEN_PID=$$; exec {words}"],
            pass_fds=[each.fileno() for each in sockets],
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert done.returncode == 1 and problem in done.stderr, done.stderr


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_readiness_is_told_when_the_hub_is_there(agent, tmp_path, folder, abstract):
    name = f"segue-notify-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name if abstract else name)
        manager.settimeout(20)
        program = agent(NOTIFY_SOCKET="@" + name if abstract else name)
        assert manager.recv(4096) == b"READY=1\nSTATUS=carries the hub of generation 1\n"
        program.signal(signal.SIGTERM)
        assert manager.recv(4096) == b"STOPPING=1\n"
        assert program.wait() == 0


def test_a_manager_that_does_not_listen_is_no_reason_not_to_start(agent, tmp_path):
    agent(NOTIFY_SOCKET=str(tmp_path / "nobody"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder under which make install has put units and desktop files where they are read."""
    folder = tmp_path_factory.mktemp("installed")
    run("make", "-C", ROOT, "install", f"DESTDIR={folder}", "PREFIX=/usr", "-o", "lib/segue-agent")
    return folder


def test_systemd_finds_nothing_wrong_with_the_units(installed, tmp_path):
    """systemd-analyze says what it does not know, and succeeds all the same: any output is a failure."""
    units = installed / "usr" / "lib" / "systemd" / "user"
    for unit in units.iterdir():
        text = unit.read_text().replace("/usr/bin/segue-agent", str(AGENT))
        assert "@" not in text
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *map(str, sorted(tmp_path.glob("segue-agent.*")))],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(unit.name for unit in units.iterdir()) == [
        "segue-agent.service",
        "segue-agent.socket",
        "segue-desktop.service",
    ]
    # A program that the agent has started may run out of memory: the agent goes on.
    assert "\nOOMPolicy=continue\n" in (units / "segue-agent.service").read_text()


def test_desktops_start_the_agent_with_the_session(installed):
    entry = (installed / "etc" / "xdg" / "autostart" / "segue-agent.desktop").read_text()
    keys = dict(line.split("=", 1) for line in entry.splitlines() if "=" in line and not line.startswith("#"))
    assert entry.startswith("[Desktop Entry]\nType=Application\n")
    assert keys["Exec"] == keys["TryExec"] == "/usr/bin/segue-agent"
    assert keys["X-systemd-skip"] == "true", "systemd would start it twice"
    if shutil.which("desktop-file-validate"):
        path = installed / "etc" / "xdg" / "autostart" / "segue-agent.desktop"
        assert run("desktop-file-validate", path) == ""


def test_uninstall_takes_all_of_it_away(installed):
    run("make", "-C", ROOT, "uninstall", f"DESTDIR={installed}", "PREFIX=/usr")
    assert not [path for path in installed.rglob("*segue*") if path.is_file()]


def test_a_user_manager_starts_the_agent_for_an_app_and_gives_programs_scopes(
    installed, app_program, launcher_probe, tmp_path
):
    """systemd --user as it is, in namespaces of its own: enable the socket, open an app, stop the service. A program
    that a launcher starts is in a scope, which outlives the unit of the launcher."""
    units = tmp_path / "units"
    units.mkdir()
    for name in ("segue-agent.service", "segue-agent.socket"):
        source = ROOT / "packaging" / name
        text = source.read_text() if source.exists() else source.with_suffix(source.suffix + ".in").read_text()
        (units / name).write_text(text.replace("@BINDIR@/segue-agent", str(AGENT)))
    done = subprocess.run(
        ["bash", NAMESPACES, str(tmp_path), str(app_program), str(launcher_probe)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode == 77:
        pytest.skip(f"no user manager can run here: {done.stdout.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all of it" in done.stdout
