# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that the agent's launcher starts, and what the agent itself may not do (docs/agent.md, "Launching")."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import PATIENCE, Program, programs

INHERITED = {
    "LISTEN_FDS": "1",
    "NOTIFY_SOCKET": "/x",
    "INVOCATION_ID": "x",
    "JOURNAL_STREAM": "8:1",
    "WATCHDOG_PID": "7",
}


class Probe:
    """A running LauncherProbe, and the `.desktop` files of the apps that it has started."""

    def __init__(self, program: Program, applications: Path):
        self.program, self.applications = program, applications

    def ask(self, *words: str) -> str:
        self.program.tell("\t".join(words))
        return self.program.wait_for(".*")[0]

    def declare(
        self, *command: str | Path, app: str, graphical: bool, folder: str | None, activatable: bool = False
    ) -> None:
        lines = [
            "[Desktop Entry]",
            "Type=Application",
            "Name=An app",
            f"Exec={' '.join(quoted(str(word)) for word in command)}",
            f"X-Segue-BundleIdentifier={app}",
            f"X-Segue-BackgroundOnly={str(not graphical).lower()}",
            *([f"Path={folder}"] if folder is not None else []),
            *(["DBusActivatable=true"] if activatable else []),
        ]
        (self.applications / f"{app}.desktop").write_text("\n".join(lines) + "\n")

    def launch(
        self,
        *command: str | Path,
        app: str = "com.example.a",
        graphical: bool = False,
        folder: str | None = None,
        activatable: bool = False,
        more: str = "-",
    ) -> str:
        self.declare(*command, app=app, graphical=graphical, folder=folder, activatable=activatable)
        return self.ask("launch", app, more)

    def start(self, *command: str | Path, **options) -> int:
        answer = self.launch(*command, **options)
        assert answer.startswith("started "), answer
        return int(answer.split()[1])


def quoted(word: str) -> str:
    """As `Exec` has it: quotes and their escapes, then the escapes of strings."""
    for character in '\\"`$':
        word = word.replace(character, "\\" + character)
    return '"' + word.replace("\\", "\\\\").replace("%", "%%").replace("\n", "\\n") + '"'


@pytest.fixture
def probe(tmp_path: Path, launcher_probe: Path) -> Iterator[Callable[..., Probe]]:
    """probe(NAME=value): may write in tmp_path/own; probe("--free"): is not confined; `before` starts it."""
    (tmp_path / "own").mkdir()
    applications = tmp_path / "data" / "applications"
    applications.mkdir(parents=True)
    with programs() as run:

        def begin(where: str = str(tmp_path / "own"), before: tuple[str, ...] = (), **more: str) -> Probe:
            environment = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
            environment |= {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_DATA_DIRS": "/nonexistent"}
            variables = [f"{key}={value}" for key, value in {**environment, **more}.items()]
            program = run("probe", ["env", "-i", *variables, *before, launcher_probe, where])
            program.wait_for("^ready (free|full|withoutScopes)$")
            return Probe(program, applications)

        yield begin


def wait_until(condition: Callable[[], object], what: str) -> None:
    """For what the system tells nobody of, such as the end of another's child."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """A program that runs these lines, and is named in no other way."""

    def write(text: str) -> Path:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return write


def read_report(path: Path) -> str:
    wait_until(path.exists, f"{path} was not written")
    return path.read_text()


def test_a_program_has_a_session_of_its_own_and_nothing_else_of_the_agents(probe, script, tmp_path):
    """Descriptors, signals, standard streams, variables: an app must not find out who started it."""
    report = tmp_path / "report"
    lines = f"ls -l /proc/self/fd; cat /proc/self/status; env; pwd; ps -o sid= -p $$) >{report}.new 2>&1"
    program = script(f'(echo $$ "$@"; {lines}; mv {report}.new {report}; sleep 60')
    running = probe(**INHERITED, LANG="C", DISPLAY=":7", XDG_ACTIVATION_TOKEN="old")
    process = running.start(program, "one", "two words", folder=str(tmp_path), more="LANG=de_DE.UTF-8;DISPLAY=:9")
    text = read_report(report)
    assert text.startswith(f"{process} one two words\n")
    assert f"\n{tmp_path}\n" in text
    assert text.rstrip().endswith(str(process)), "it leads no session"
    assert not any(f"{name}=" in text for name in INHERITED), text
    assert "LANG=de_DE.UTF-8\n" in text and "DISPLAY=:9\n" in text and "XDG_ACTIVATION_TOKEN" not in text
    for mask in ("SigBlk", "SigIgn"):
        # Signals 32 and 33 are the C library's own: it lets no program change what was inherited.
        value = re.search(rf"^{mask}:\t([0-9a-f]+)$", text, re.MULTILINE)
        assert value and int(value[1], 16) & ~(3 << 31) == 0, text
    assert "NoNewPrivs:\t0" in text
    descriptors = [line.split()[8:] for line in text.splitlines() if " -> " in line]
    assert {words[0]: words[2] for words in descriptors}["0"] == "/dev/null"
    assert not any("socket:" in words[2] for words in descriptors), descriptors
    os.kill(process, signal.SIGKILL)


def test_a_program_has_all_standard_streams_also_if_the_agent_lacks_one(probe, script, tmp_path):
    """Otherwise its first file would get the number of one."""
    report = tmp_path / "report"
    lines = "for n in 0 1 2; do readlink /proc/$$/fd/$n || echo closed; done"
    program = script(f"({lines}) >{report}.new; mv {report}.new {report}")
    probe(before=("/bin/sh", "-c", 'exec "$@" 2>&-', "sh")).start(program)
    assert read_report(report).split() == ["/dev/null"] * 3


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL", "end"])
def test_a_program_outlives_the_agent(probe, how):
    """Also when the launcher goes with it, which ends by itself."""
    running = probe()
    process = running.start("sleep", "60")
    launcher = int(running.ask("launcher").split()[1])
    if how == "end":
        assert running.program.wait() == 0
    else:
        running.program.signal(getattr(signal, how))
        running.program.wait()
    wait_until(lambda: not is_alive(launcher), "the launcher outlives its agent")
    assert is_alive(process)
    os.kill(process, signal.SIGKILL)


def test_a_program_outlives_the_launcher(probe):
    """And the agent learns that it has none any more."""
    running = probe()
    process = running.start("sleep", "60")
    os.kill(int(running.ask("launcher").split()[1]), signal.SIGKILL)
    running.program.wait_for("^launcher ended$")
    assert is_alive(process)
    os.kill(process, signal.SIGKILL)
    assert running.launch("sleep", "1", app="b").startswith("error connectionUnavailable launch of b: the launcher has")


def test_a_bus_that_does_not_answer_delays_a_program_by_seconds(probe, tmp_path):
    """The scope is asked for at the session's bus: one that takes the connection and says nothing."""
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(tmp_path / "bus"))
        bus.listen()
        bus.settimeout(20)
        running = probe(DBUS_SESSION_BUS_ADDRESS=f"unix:path={tmp_path}/bus")
        begun = time.monotonic()
        process = running.start("sleep", "60")
        assert 1.5 < time.monotonic() - begun < 5
        connection, _ = bus.accept()
        with connection:
            assert connection.recv(64).startswith(b"\0AUTH EXTERNAL"), "nothing was asked for"
            assert is_alive(process)
            # Neither connection nor library is the program's.
            assert "libsystemd" not in Path(f"/proc/{process}/maps").read_text()
            # A program that has just begun has a library of its own open for a moment.
            end = time.monotonic() + PATIENCE
            while (files := sorted(os.listdir(f"/proc/{process}/fd"))) != ["0", "1", "2"]:
                assert time.monotonic() < end, files
                time.sleep(0.01)
    os.kill(process, signal.SIGKILL)


SERVICE = """\
import os, sys
from gi.repository import Gio, GLib
INTERFACE = "org.freedesktop.Application"
METHOD = "<method name='Activate'><arg type='a{sv}' direction='in'/></method>"
XML = f"<node><interface name='{INTERFACE}'>{METHOD}</interface></node>"

def called(bus, sender, path, interface, method, arguments, call):
    told = arguments.unpack()[0]
    with open(sys.argv[1] + ".new", "a") as report:
        report.write(f"{path} {told['activation-token']} {told['desktop-startup-id']}\\n")
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    call.return_value(None)
    loop.quit()

def acquired(bus, name):
    bus.register_object("/org/example/two_words/Notes", Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0], called)

loop = GLib.MainLoop()
Gio.bus_own_name(Gio.BusType.SESSION, "org.example.two-words.Notes", 0, acquired, None, lambda *_: loop.quit())
loop.run()
"""
CLICK = "XDG_ACTIVATION_TOKEN=click;DESKTOP_STARTUP_ID=click_TIME1"


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Program]:
    """A session's bus that has the services of tmp_path/data."""
    with programs() as run:
        (tmp_path / "data" / "dbus-1" / "services").mkdir(parents=True)
        words = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"]
        environment = ["env", f"XDG_DATA_DIRS={tmp_path}/data"]
        program = run("bus", [*environment, *words, f"--address=unix:path={tmp_path}/bus"])
        program.wait_for("^unix:")
        yield program


def serve(folder: Path, *command: str | Path) -> None:
    words = " ".join(map(str, command))
    file = folder / "data" / "dbus-1" / "services" / "org.example.two-words.Notes.service"
    file.write_text(f"[D-BUS Service]\nName=org.example.two-words.Notes\nExec={words}\n")


@pytest.mark.skipif(not Path("/usr/lib/python3/dist-packages/gi").exists(), reason="python3-gi is missing: make deps")
def test_an_app_with_a_service_on_the_bus_is_started_by_the_bus(probe, bus, script, tmp_path):
    """DBusActivatable: org.freedesktop.Application, with the token of the click, and not the command."""
    service, report, started = (tmp_path / name for name in ("service.py", "report", "started"))
    service.write_text(SERVICE)
    serve(tmp_path, "/usr/bin/python3", service, report)
    running = probe(DBUS_SESSION_BUS_ADDRESS=f"unix:path={tmp_path}/bus")
    name = "org.example.two-words.Notes"
    running.start(script(f"touch {started}"), app=name, activatable=True, more=CLICK)
    assert read_report(report) == "/org/example/two_words/Notes click click_TIME1\n"
    assert not started.exists()


@pytest.mark.parametrize("case", ["no service", "a service that fails", "no name", "no bus", "a bus that hangs"])
def test_an_app_that_the_bus_cannot_start_is_started_by_its_command(probe, bus, script, tmp_path, case):
    report = tmp_path / "report"
    if case == "a service that fails":
        serve(tmp_path, "/bin/false")
    address = f"unix:path={tmp_path}/{'nothing' if case == 'no bus' else 'bus'}"
    if case == "a bus that hangs":
        bus.signal(signal.SIGSTOP)
    running = probe(DBUS_SESSION_BUS_ADDRESS=address)
    name = "notes" if case == "no name" else "org.example.two-words.Notes"
    program = script(f'echo "$XDG_ACTIVATION_TOKEN" >{report}.new; mv {report}.new {report}')
    running.start(program, app=name, activatable=True, more=CLICK)
    assert read_report(report) == "click\n"
    if case == "a bus that hangs":
        bus.signal(signal.SIGCONT)


@pytest.mark.parametrize("address", ["unix:path=/nonexistent/bus", "nonsense", "real"])
def test_where_no_user_manager_is_on_the_bus_nothing_changes(probe, address):
    with programs() as run:
        if address == "real":
            daemon = run("bus", ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"])
            address = daemon.wait_for("^unix:.*$")[0]
        process = probe(DBUS_SESSION_BUS_ADDRESS=address).start("sleep", "60")
        assert Path(f"/proc/{process}/cgroup").read_text() == Path("/proc/self/cgroup").read_text()
        os.kill(process, signal.SIGKILL)


def test_the_asker_does_not_choose_the_bus_that_is_asked_for_the_scope(probe, tmp_path):
    """A27: the variables of a request are the program's alone."""
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(str(tmp_path / "bus"))
        bus.listen()
        bus.setblocking(False)
        running = probe(DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent/bus")
        process = running.start("sleep", "60", more=f"DBUS_SESSION_BUS_ADDRESS=unix:path={tmp_path}/bus")
        with pytest.raises(BlockingIOError):
            bus.accept()
    os.kill(process, signal.SIGKILL)


def test_a_program_can_run_setuid_programs(probe, script, tmp_path):
    """The agent gave that up for itself alone."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a setuid program of another user")
    setuid = tmp_path / "whose"
    shutil.copy("/usr/bin/id", setuid)
    os.chown(setuid, 65534, 65534)
    setuid.chmod(0o4755)
    report = tmp_path / "report"
    program = script(f"{setuid} >{report}.new; mv {report}.new {report}")
    probe().start(program)
    assert "euid=65534(nobody)" in read_report(report)


def test_the_agent_writes_only_in_its_folders_and_executes_nothing(probe, tmp_path):
    running = probe()
    assert running.ask("write", str(tmp_path / "own" / "file")) == "written"
    assert running.ask("write", str(tmp_path / "other")) == "refused Permission denied"
    assert not (tmp_path / "other").exists()
    assert running.ask("execute", "/bin/true") == "refused Permission denied"
    status = Path(f"/proc/{running.program.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    # A program that it starts is not confined.
    process = running.start("sh", "-c", f"touch {tmp_path}/other")
    wait_until((tmp_path / "other").exists, f"process {process} did not write")


BAD = {
    "missing": (("/nowhere/program",), {}, "notFound .*: /nowhere/program: No such file or directory"),
    "in no PATH": (("no-such-program-at-all",), {}, "notFound .*: no-such-program-at-all: No such file"),
    "not executable": (("/etc/passwd",), {}, "system .*: /etc/passwd: Permission denied"),
    "a folder": (("/tmp",), {}, "system .*: /tmp: Permission denied"),
    "without a name": (("",), {}, "malformed .*Exec: names no program"),
    "too long": (("x" * 70_000,), {}, "limitExceeded .*Exec: 70000 bytes with Path, at most 32768 are allowed"),
    "in no folder": (("true",), {"folder": "/nowhere"}, "notFound .*: folder /nowhere: No such file or directory"),
    "in a relative folder": (("true",), {"folder": "tmp"}, "malformed .*Path: expected an absolute path, found tmp"),
    "with a variable": (
        ("true",),
        {"more": "LD_PRELOAD=/x"},
        "invalidArgument .*: the variable LD_PRELOAD may not be set",
    ),
    "without a display": (("true",), {"graphical": True}, "invalidState .*: no display: neither DISPLAY nor WAYLAND_"),
    "an empty display": (("true",), {"graphical": True, "more": "DISPLAY="}, "invalidState .*: no display"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_launch_that_fails_says_why_and_may_be_tried_again(probe, case):
    command, options, expected = BAD[case]
    running = probe()
    for _ in range(2):
        assert re.match(f"error {expected}", running.launch(*command, **options))
    assert running.start("true") > 0


def test_the_launcher_starts_what_a_manifest_names_and_nothing_else(probe, tmp_path):
    """A27: a request names an app; kinds that the launcher does not know are refused."""
    running = probe()
    assert running.ask("launch", "com.example.none", "-") == (
        "error notFound launch of com.example.none: no manifest describes it"
    )
    assert running.ask("launch", "/bin/true", "-").startswith("error notFound")
    assert running.ask("kind", "2") == "error invalidArgument launch: the launcher knows no request of kind 2"
    # As it stands when the app is started, whatever the agent has read before.
    (tmp_path / "own" / "com.example.a.desktop").write_text("[Desktop Entry]\n")
    assert running.start("true") > 0


def test_an_app_that_needs_a_terminal_is_started_in_one(probe, script, tmp_path):
    report = tmp_path / "report"
    script(f'echo "$@" >{report}.new; mv {report}.new {report}').rename(tmp_path / "xdg-terminal-exec")
    running = probe(PATH=f"{tmp_path}:{os.environ['PATH']}", DISPLAY=":7")
    running.declare("editor", "a file", app="com.example.a", graphical=False, folder=None)
    with (running.applications / "com.example.a.desktop").open("a") as file:
        file.write("Terminal=true\n")
    assert running.ask("launch", "com.example.a", "-").startswith("started")
    assert read_report(report) == "editor a file\n"


# By number, on x86-64: ptrace, process_vm_readv, keyctl, bpf, userfaultfd, unshare, setns, mount, perf_event_open,
# io_uring_setup, pidfd_send_signal, tkill.
REFUSED = (101, 310, 250, 321, 323, 272, 308, 165, 298, 425, 424, 200)


def test_the_agent_makes_no_call_by_which_it_gets_around_its_confinement(probe):
    """A28: each is refused, and to a process that is not confined at least one of them is not."""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers of calls are those of x86-64")
    confined, free = probe(), probe("--free")
    assert {number: confined.ask("call", str(number)) for number in REFUSED} == dict.fromkeys(
        REFUSED, "refused Operation not permitted"
    )
    assert any(free.ask("call", str(number)) != "refused Operation not permitted" for number in (272, 308, 250))
    assert Path(f"/proc/{confined.program.pid}/status").read_text().count("Seccomp:\t2") == 1


def test_the_agent_signals_no_other_process(probe):
    """A28: itself it may end."""
    confined, free = probe(), probe("--free")
    sleeper = confined.start("sleep", "60")
    assert free.ask("signal", str(sleeper)) == "done"
    assert confined.ask("signal", str(sleeper)) == "refused Operation not permitted"
    assert confined.ask("signal", str(confined.program.pid)) == "done"
    os.kill(sleeper, signal.SIGKILL)


def test_the_agent_reaches_no_abstract_socket(probe):
    """A28, from Linux 6.12 on."""
    version = ctypes.CDLL(None).syscall(444, None, 0, 1)
    if version < 6:
        pytest.skip(f"Linux {os.uname().release} has Landlock {version}, which has no scopes")
    name = f"segue-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract:
        abstract.bind("\0" + name)
        assert probe("--free").ask("connect", name) == "done"
        assert probe().ask("connect", name) == "refused Operation not permitted"


JUNK = {"text": b"echo $0 >%s\n", "nothing": b"", "half a program": b"\x7fELF\x02\x01\x01" + bytes(57)}


@pytest.mark.parametrize("name", JUNK)
@pytest.mark.parametrize("place", ["path", "PATH"])
def test_what_is_no_program_is_given_to_no_shell(probe, tmp_path, name, place):
    """execvp would do that."""
    report, program = tmp_path / "report", tmp_path / "app"
    program.write_bytes(JUNK[name].replace(b"%s", bytes(report)))
    program.chmod(0o755)
    running = probe(PATH=f"{tmp_path}:{os.environ['PATH']}")
    answer = running.launch(program if place == "path" else "app")
    assert answer.endswith("app: is no program of this system, and no script that begins with #!"), answer
    assert not report.exists()


def test_a_program_is_looked_for_in_all_folders_of_path(probe, script, tmp_path):
    """A file that may not be executed hides no other, and is named if there is none."""
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "program").write_text("")
    running = probe(PATH=f"relative::/nowhere:{tmp_path}/first:{tmp_path}:{os.environ['PATH']}")
    assert running.launch("program").endswith("program: Permission denied")
    script("exit 0")
    assert running.start("program") > 0


def test_a_display_of_the_asker_is_enough(probe):
    probe().start("true", graphical=True, more="WAYLAND_DISPLAY=wayland-1")


def test_one_launch_of_an_app_at_a_time(probe):
    running = probe()
    running.start("true")
    assert running.launch("true") == "error busy launch of com.example.a: one is under way"
    running.start("true", app="com.example.b")
    running.ask("opened", "com.example.a")
    running.start("true")


def test_launches_are_rationed(probe):
    running = probe()
    for _ in range(5):
        running.start("true")
        running.ask("opened", "com.example.a")
    assert running.launch("true") == "error limitExceeded launch of com.example.a: 5 in a minute are the most"
    for number in range(25):
        running.start("true", app=f"com.example.a{number}")
    assert "30 of all apps in a minute are the most" in running.launch("true", app="com.example.z")


def test_the_launcher_of_the_agent_that_ships_ends_with_it(agent):
    """And the agent does not stay without one: what is to be started would be lost."""
    program = agent()
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    assert len(children) == 1
    # It names itself once it has a processor, and nobody hears of that.
    deadline = time.monotonic() + PATIENCE
    while (name := Path(f"/proc/{children[0]}/comm").read_text()) != "segue-launcher\n":
        assert time.monotonic() < deadline, name
        time.sleep(0.01)
    assert "NoNewPrivs:\t0" in Path(f"/proc/{children[0]}/status").read_text()
    assert "NoNewPrivs:\t1" in Path(f"/proc/{program.pid}/status").read_text()
    os.kill(int(children[0]), signal.SIGKILL)
    program.wait_for("ends: the launcher has ended")
    assert program.wait() == 1
