# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apps in sandboxes: a Flatpak and a container, as bubblewrap builds them (docs/sandboxes.md).

Each has process numbers, network and files of its own, and sees the runtime folder alone, read-only."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import segue
from programs import Program, programs
from project import LIBRARY, ROOT

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
INSIDE = "/run/user/1/segue"
PACKAGES = Path(segue.__file__).parents[1]


class Outside:
    """A user's session with an agent, and sandboxes in it."""

    def __init__(self, folder: Path, start: Callable[..., Program]) -> None:
        self.folder, self.start = folder, start
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(PACKAGES),
            "SEGUE_LIBRARY": str(LIBRARY),
            "XDG_RUNTIME_DIR": str(folder),
            "SEGUE_STATE_DIR": str(folder / "state"),
        }
        self.words = ["env", "--ignore-environment", *(f"{name}={value}" for name, value in self.environment.items())]
        (folder / "segue").mkdir(mode=0o700)

    def agent(self) -> Program:
        agent = self.start("agent", [*self.words, ROOT / "lib" / "segue-agent"])
        agent.wait_for("this process is the hub")
        return agent

    def command(self, *words: str) -> list[str]:
        """The command `segue` outside."""
        return [*self.words, *SEGUE, *words]

    def boxed(self, *words: str, options: tuple[str, ...] = (), sees: bool = True) -> list[str]:
        """The command `segue` in a sandbox. It sees the runtime folder, if it sees that."""
        mounts = ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        for name in ("bin", "lib", "lib64"):
            mounts += ["--symlink", f"usr/{name}", f"/{name}"]
        for place in {str(PACKAGES), str(LIBRARY.parent)}:
            mounts += ["--ro-bind", place, place]
        mounts += ["--ro-bind", str(self.folder / "segue"), INSIDE] if sees else ["--dir", "/run/user/1"]
        inner = {**self.environment, "XDG_RUNTIME_DIR": "/run/user/1"}
        inner.pop("SEGUE_STATE_DIR")
        sets = [word for name, value in inner.items() for word in ("--setenv", name, value)]
        program = words if words[0].startswith("/") else (*SEGUE, *words)
        return ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", *mounts, *sets, *options, *program]

    def flatpak(self, name: str) -> tuple[str, ...]:
        """Options for `boxed`: the file by which Flatpak says which app is inside (flatpak-metadata(5))."""
        return self.info(
            f"[Application]\nname={name}\nruntime=runtime/org.freedesktop.Platform/x86_64/24.08\n\n"
            "[Instance]\ninstance-id=1234567890\nflatpak-version=1.14.10\n\n[Context]\nshared=ipc;\n"
        )

    def info(self, text: str) -> tuple[str, ...]:
        (self.folder / "flatpak-info").write_text(text)
        return ("--ro-bind", str(self.folder / "flatpak-info"), "/.flatpak-info")


SEGUE = ("/usr/bin/python3", "-m", "segue")


@pytest.fixture
def outside(folder: Path) -> Iterator[Outside]:
    with programs() as run:
        yield Outside(folder, run)


def run(command: list[str], status: int = 0) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


# A container of Podman with `--userns=keep-id`, or a Flatpak; then the user numbers of another container.
USERS = pytest.mark.parametrize("user", [(), ("--uid", "4242", "--gid", "4242")], ids=["same-number", "other-number"])


@USERS
def test_an_app_in_a_sandbox_continues_what_is_offered_outside(outside: Outside, user):
    outside.agent()
    origin = outside.start("origin", outside.command("offer", "t.t", "--title", "Shopping list", "--once"))
    origin.wait_for("offering")
    assert '"title": "Shopping list"' in run(outside.boxed("continue", "--json", options=user))
    origin.wait_for("restored")


@USERS
def test_what_an_app_in_a_sandbox_offers_is_continued_outside(outside: Outside, user):
    outside.agent()
    origin = outside.start("origin", outside.boxed("offer", "t.t", "--title", "Shopping list", "--once", options=user))
    origin.wait_for("offering")
    assert '"title": "Shopping list"' in run(outside.command("continue", "--json"))
    origin.wait_for("restored")


NO_ACCOUNT = "this device is in no account"


@pytest.mark.parametrize(
    ("verb", "status", "said"),
    [
        pytest.param(("inbox",), 0, "nothing waits", id="inbox"),
        pytest.param(("search", "word"), 0, "nothing was found", id="search"),
        pytest.param(("account",), 1, NO_ACCOUNT, id="account"),
        pytest.param(("devices",), 1, NO_ACCOUNT, id="devices"),
        pytest.param(("offer", "t.t", "--to", "laptop"), 1, NO_ACCOUNT, id="push"),
    ],
)
def test_a_sandbox_cannot_ask_the_agent(outside: Outside, verb, status: int, said: str):
    outside.agent()
    assert "no agent runs" in run(outside.boxed(*verb), status=1)
    assert said in run(outside.command(*verb), status=status)


def test_a_sandbox_cannot_have_an_app_launched(outside: Outside):
    outside.agent()
    origin = outside.start("origin", outside.command("offer", "t.t"))
    origin.wait_for("offering")
    launch = ("continue", "--app", "com.example.nowhere")
    assert "no agent runs" in run(outside.boxed(*launch), status=1)
    assert "no agent runs" not in run(outside.command(*launch), status=1)


def test_doctor_inside_names_what_the_sandbox_withholds(outside: Outside):
    outside.agent()
    said = run(outside.boxed("doctor"), status=1)
    assert f"PROBLEM runtime folder: {INSIDE}: is read-only" in said
    assert "PROBLEM inbox: no agent runs" in said
    assert re.search("ok +hub: connected", said)


def test_a_sandbox_cannot_carry_the_hub_and_says_so(outside: Outside):
    """Without a hub outside, what is read-only is named."""
    said = outside.start("boxed", outside.boxed("watch"))
    said.wait_for(f"{INSIDE}/hub.1.lock: Read-only file system")


def test_an_app_that_does_not_see_the_folder_is_alone(outside: Outside):
    outside.agent()
    origin = outside.start("origin", outside.command("offer", "t.t"))
    origin.wait_for("offering")
    assert "t.t" in run(outside.command("list"))
    assert "nothing is offered" in run(outside.boxed("list", sees=False))


def test_apps_in_a_runtime_folder_of_their_own_find_each_other(outside: Outside):
    """Two processes of one sandbox: the second continues what the first one offers."""
    outside.agent()
    boxed = outside.boxed("offer", "t.t", "--title", "Inside", "--once", sees=False)
    segue = " ".join(SEGUE)
    script = f"{segue} offer t.t --title Inside --once & origin=$!; {segue} continue --json && wait $origin"
    command = [*boxed[: boxed.index(SEGUE[0])], "bash", "-c", script]
    assert '"title": "Inside"' in run(command)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_another_mapping_of_users_is_refused_with_words(outside: Outside):
    """Podman without `--userns=keep-id`: the process is another user's, to whom the folder is closed."""
    outside.agent()
    outside.folder.chmod(0o755)
    drop = ("setpriv", "--reuid=4242", "--regid=4242", "--clear-groups")
    said = run([*drop, *outside.command("doctor")], status=1)
    assert f"PROBLEM runtime folder: {outside.folder}/segue" in said


# An app that says whether it is registered, which offers it sees, and what it was handed.
APP = """
import sys, time
import segue
bundle, kind, type = sys.argv[1:]
app = segue.App(bundle, team="OTHER", types=[type], chooser=kind == "chooser")
app.on_continue(lambda activity, continuation: print("handed", activity.title, flush=True))
with app:
    end = time.monotonic() + 20
    while app.connection != segue.Connection.READY and time.monotonic() < end:
        problem = app.connection_problem
        if isinstance(problem, segue.NotAllowedError):
            sys.exit(f"refused: {problem.message}")
        app.dispatch(0.05)
    print("sees", [offer.title for offer in app.offers], flush=True)
    if kind == "asks":
        print("waits:", app.inbox(), flush=True)
    if kind == "waits":
        app.run()
"""
EDITING = "SegueActivityTypeEditingText"


def app(bundle: str, kind: str = "app") -> tuple[str, ...]:
    return ("/usr/bin/python3", "-c", APP, bundle, kind, EDITING)


@pytest.fixture(params=["agent", "app"])
def hub(outside: Outside, request: pytest.FixtureRequest) -> Outside:
    """The hub is that of the agent, which Landlock confines and whose launcher looks; or of an app, which looks."""
    if request.param == "agent":
        outside.agent()
    else:
        carrier = [*outside.words, "SEGUE_LOG=info", *SEGUE, "watch", "--json"]
        outside.start("carrier", carrier).wait_for("this process is the hub")
    return outside


NOTES = "org.example.Notes"


def test_a29_a_flatpak_claims_no_other_bundle(hub: Outside):
    """R13.8, A29"""
    flatpak = hub.flatpak(NOTES)
    said = run(hub.boxed(*app("com.example.bank"), options=flatpak), status=1)
    assert f"the sandbox is that of {NOTES}, and the app says that it is com.example.bank" in said
    assert "sees []" in run(hub.boxed(*app(NOTES), options=flatpak))
    assert "sees []" in run(hub.boxed(*app("com.example.bank"))), "a container that says nothing is no such sandbox"


def test_a29_a_flatpak_is_no_chooser(hub: Outside):
    """R13.8, A29"""
    said = run(hub.boxed(*app(NOTES, "chooser"), options=hub.flatpak(NOTES)), status=1)
    assert "an app in a sandbox" in said
    assert "sees []" in run(hub.boxed(*app(NOTES, "chooser")))


OFFERING = ("offer", EDITING, "--title", "Letter", "--user-info", '{"text": "x"}', "--team", "T")


def test_a29_a_flatpak_sees_no_public_activity_of_another_team(hub: Outside):
    """R13.8, A29"""
    hub.start("origin", hub.command(*OFFERING)).wait_for("offering")
    assert "sees []" in run(hub.boxed(*app(NOTES), options=hub.flatpak(NOTES)))
    assert "sees ['Letter']" in run(hub.boxed(*app(NOTES)))
    assert "sees ['Letter']" in run([*hub.words, *app(NOTES)])


def test_a_chooser_hands_a_flatpak_what_it_does_not_see(outside: Outside):
    """R13.8"""
    outside.agent()
    outside.start("origin", outside.command(*OFFERING)).wait_for("offering")
    receiver = outside.start("receiver", outside.boxed(*app(NOTES, "waits"), options=outside.flatpak(NOTES)))
    receiver.wait_for(r"sees \[\]")
    assert '"outcome": "restored"' in run(outside.command("continue", "--app", NOTES, "--json"))
    receiver.wait_for("handed Letter")


def test_a29_a_flatpak_that_has_the_second_socket_is_refused_there(outside: Outside):
    """R13.8, A29: all who ask there are choosers."""
    outside.agent()
    shared = ("--ro-bind", str(outside.folder / "segue-agent"), "/run/user/1/segue-agent")
    asks = app(NOTES, "asks")
    assert "waits: []" in run(outside.boxed(*asks, options=shared))
    flatpak = (*shared, *outside.flatpak(NOTES))
    assert "control: no app in a sandbox asks here" in run(outside.boxed(*asks, options=flatpak), status=1)
    assert "segue: " in (said := run(outside.boxed("inbox", options=flatpak), status=1))
    assert "the app says that it is org.segue.command" in said or "is no chooser" in said


def test_a29_a_file_that_names_no_app_names_no_app(hub: Outside):
    """R13.8, A29: whatever is at the place of the file, nothing waits for it, and the app is refused."""
    os.mkfifo(hub.folder / "pipe")
    (hub.folder / "real").write_text(f"[Application]\nname={NOTES}\n")
    for options in (
        hub.info(f"[Application]\nname={NOTES}\n" + "\n" * 65536),
        ("--ro-bind", str(hub.folder / "real"), "/real", "--symlink", "real", "/.flatpak-info"),
        ("--ro-bind", str(hub.folder / "pipe"), "/.flatpak-info"),
        ("--dir", "/.flatpak-info"),
    ):
        said = run(hub.boxed(*app(NOTES), options=options), status=1)
        assert "the app may be in a sandbox: its .flatpak-info is no regular file that names an app" in said


def test_a29_a_flatpak_that_hides_claims_no_other_bundle(outside: Outside):
    """R13.8, A29: one that forbids that it is looked at is seen all the same, or taken for no app."""
    outside.agent()
    hides = "import ctypes; ctypes.CDLL(None).prctl(4, 0)\n"  # PR_SET_DUMPABLE
    words = app("com.example.bank")
    assert "refused: " in run(
        outside.boxed(*words[:2], hides + words[2], *words[3:], options=outside.flatpak(NOTES)), status=1
    )


MOUNTS = Path("/proc/self/mountinfo").read_text().splitlines()
UNIFIED = next((line.split()[4] for line in MOUNTS if " - cgroup2 " in line), None)


@pytest.fixture
def grouped() -> Iterator[Callable[[str], list[str]]]:
    """Returns words that run a command in a control group, which snapd or Flatpak has systemd make."""
    made: list[Path] = []

    def words(name: str) -> list[str]:
        group = Path(UNIFIED or "/nowhere") / name
        try:
            group.mkdir()
        except OSError as error:
            pytest.skip(f"no control group can be made: {error}")
        made.append(group)
        return ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"]

    yield words
    for group in made:
        with (group / "cgroup.events").open() as events:
            changes = select.poll()
            changes.register(events, select.POLLPRI)
            while "populated 1" in events.read():
                changes.poll()
                events.seek(0)
        group.rmdir()


def test_a29_a_snap_is_what_its_control_group_says(hub: Outside, grouped):
    """R13.8, A29: a Snap has files of its own; one with classic confinement has those of the system."""
    snap = grouped("snap.notes.editor-0f9d1f2e-aaaa-bbbb-cccc-0123456789ab.scope")
    strict = [*snap, "bwrap", "--dev-bind", "/", "/", *hub.words]
    for bundle in ("notes", "notes_editor"):
        assert "sees []" in run([*strict, *app(bundle)])
    said = run([*strict, *app("com.example.bank")], status=1)
    assert "the sandbox is that of notes, and the app says that it is com.example.bank" in said
    assert "an app in a sandbox" in run([*strict, *app("notes", "chooser")], status=1)
    assert "sees []" in run([*snap, *hub.words, *app("com.example.bank", "chooser")])


def test_a29_a_flatpak_is_not_in_the_control_group_of_another(hub: Outside, grouped):
    """R13.8, A29: one of the two is forged."""
    flatpak = hub.flatpak(NOTES)
    said = run([*grouped("app-flatpak-com.example.bank-1.scope"), *hub.boxed(*app(NOTES), options=flatpak)], status=1)
    assert f"its control group is that of com.example.bank, its files are {NOTES}'s" in said
    scope = grouped(f"app-flatpak-{NOTES}-1.scope")
    assert "sees []" in run([*scope, *hub.boxed(*app(NOTES), options=flatpak)])
