# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `segue` as a person uses it, with an agent and apps: in a terminal (tmux), and in pipes."""

from __future__ import annotations

import contextlib
import json
import os
import plistlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import wire
from conftest import AGENT, CARRIES
from inbox import NO_AGENT, command_line
from programs import Program, programs
from terminal import PROMPT, Terminal, terminals
from wire import LIMIT_EXCEEDED

TYPE = "com.example.editing"
NO_ROOM = "the process that carries the hub may have 256 descriptors, and has no more of them for apps"
SEGUE = f"{sys.executable} -m segue"


@pytest.fixture
def variables(folder: Path, state: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a test's user."""
    yield {
        "SEGUE_RUNTIME_DIR": str(folder),
        "XDG_STATE_HOME": str(state),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_DATA_DIRS": str(tmp_path / "system"),
        "SEGUE_AGENT": str(AGENT),
    }
    shutil.rmtree(f"{folder}-agent", ignore_errors=True)


@pytest.fixture
def terminal(tmp_path: Path, variables: dict[str, str]) -> Iterator[Callable[[str], Terminal]]:
    with terminals(tmp_path, variables) as opened:
        yield opened


def test_somebody_works_in_terminals(terminal, start, folder):
    """Offers that come, a state that is handed over, Ctrl-C, and the messages once the agent has gone."""
    carrier, shell = terminal("carrier"), terminal("shell")
    carrier.type(f"{SEGUE} agent; echo status=$?")
    carrier.shows(CARRIES)
    assert "nothing is offered" in shell.runs(f"{SEGUE} list")
    assert "No such" not in shell.runs(f"{SEGUE} agent", status=3)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    assert "'one'" in shell.runs(f"{SEGUE} list")
    # By `rich`, which is installed: heads are bold.
    assert "\x1b[1mID" in shell.screen("-e")
    shell.type(f"{SEGUE} watch; echo not reached")
    shell.shows(r"appeared .*'one'")
    shell.press("C-c")
    shell.shows(rf"^{PROMPT.strip()} *$")
    shell.runs("(exit $?)", status=130)
    # Typed by hand, and shown escaped there.
    shell.type(f"{SEGUE} send; echo status=$?")
    shell.shows("^reading standard input; Ctrl-D ends it")
    shell.keys(r"cat with a \ ")
    shell.press("Enter")
    shell.press("C-d")
    shell.shows("^sending stdin, 14 bytes")
    receiver = terminal("receiver")
    assert "cat with a" in receiver.runs(f"{SEGUE} receive")
    shell.shows(r"^restored by segue command line on ")
    shell.shows(r"^status=0")
    # Bytes of others do not reach the terminal as they are.
    shell.type(rf"printf 'a\033[2Jb' | {SEGUE} send")
    assert r"a\x1b[2Jb" in receiver.runs(f"{SEGUE} receive")
    carrier.press("C-c")
    carrier.shows(r"^status=0")
    assert NO_AGENT in shell.runs(f"{SEGUE} inbox", status=1)
    assert "what to do: `segue agent`" in shell.runs(f"{SEGUE} doctor")


# ---- in pipes


@pytest.fixture
def segue(variables: dict[str, str]) -> Callable[..., Any]:
    """segue("apps", status=0): the value that the command prints as JSON."""

    def run(*words: str, status: int = 0, **more: str) -> Any:
        command = [sys.executable, "-m", "segue", *words, "--json"]
        environment = {**os.environ, **variables, **more}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stdout + done.stderr
        return json.loads(done.stdout)

    return run


def manifest(variables: dict[str, str], name: str, **more: Any) -> None:
    folder = Path(variables["XDG_DATA_HOME"]) / "segue" / "apps"
    folder.mkdir(parents=True, exist_ok=True)
    keys = {"CFBundleIdentifier": f"com.example.{name}", "com.apple.developer.team-identifier": "T"}
    (folder / f"{name}.plist").write_bytes(plistlib.dumps({**keys, "NSUserActivityTypes": [TYPE], **more}))


def problems(findings: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["about"], each["message"]) for each in findings if each["state"] == "problem"]


SILENT = """
import sys
import segue
from segue import _native, _table

app = segue.App("com.example.silent", name="Silent", team="T", types=[sys.argv[1]])
with app:
    _native.library.segue_app_set_delegate(app._handle, None)
    _native.library.segue_log_set(1, _table.LOG(), None, _table.DESTROY())
    while not app.offers:
        app.dispatch(1)
    offer = app.offers[0]
    for number in range(3):
        handle = _native.created(_native.library.segue_app_continue, app._handle, offer._handle, 0)
        if number == 2:
            _native.library.segue_continuation_cancel(handle)  # which the user knows
        while "continues now" in app.describe():  # the next one would cancel it
            app.dispatch(1)
        _native.library.segue_release(handle)
    print("continued", flush=True)
    while True:
        app.dispatch(1)
"""

TOLD = """
import sys
import segue
from segue import _native, _table

class Told(segue.App):
    cancels = False

    def on_continue(self, activity, continuation):
        if self.cancels:
            continuation.cancel()
        return segue.LATER

with Told("com.example.told", name="Told", team="T", types=[sys.argv[1]]) as app:
    _native.library.segue_log_set(1, _table.LOG(), None, _table.DESTROY())
    while not app.offers:
        app.dispatch(1)
    for app.cancels, error in [(False, segue.RemoteApplicationTimedOutError), (True, segue.UserCancelledError)]:
        try:
            app.continue_(app.offers[0], timeout=0.2).wait()
        except error:
            continue
        raise AssertionError("it was continued")
    print("told", flush=True)
    while True:
        app.dispatch(1)
"""


def test_the_doctor_shows_failures_that_no_program_was_told_of(begin, start, segue, folder):
    """R3.13: a C app without did_fail and log callback prints nothing; the agent keeps its failures, also when
    its hub is replaced."""
    agent = begin()
    agent.wait_for(CARRIES)
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    command = ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-c", SILENT, TYPE]
    with programs() as run:
        silent = run("silent", command)
        silent.wait_for("continued")
        found = [each for each in segue("doctor") if each["about"] == "failures"]
        assert [each["state"] for each in found] == ["note"], "what is the same is told once"
        assert re.search(rf"Silent could not continue {TYPE} at \d{{4}}-\d\d-\d\d \d\d:\d\d: ", found[0]["message"])
        assert found[0]["message"].endswith("there is no continue handler, and it names no document to open")
        assert "did_fail" in found[0]["advice"]
        agent.stop()
        start("newcomer").hears("connection ready")
        agent.signal(signal.SIGCONT)
        agent.wait_for(CARRIES)
        assert [each for each in segue("doctor") if each["about"] == "failures"] == found


def test_the_doctor_blames_no_program_that_was_told(begin, start, segue, folder):
    """R3.13: did_fail and opening_failed are set, and no log; opening_failed has run (R3.2)."""
    begin().wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    command = ["env", f"SEGUE_RUNTIME_DIR={folder}", sys.executable, "-c", TOLD, TYPE]
    with programs() as run:
        run("told", command).wait_for("told")
        assert [each["message"] for each in segue("doctor") if each["about"] == "failures"] == []


def test_what_is_wrong_and_what_would_happen_is_said(begin, start, segue, variables):
    """`doctor`, `apps`, `explain`, `route`: the same facts, for programs."""
    manifest(variables, "broken", NSUserActivityTypes="x")
    manifest(variables, "silent")
    agent = begin(**variables, SEGUE_LOG="debug")
    agent.wait_for(CARRIES)
    agent.wait_for(r"manifests: 1 apps in 2 files$")
    path = f"{variables['XDG_DATA_HOME']}/segue/apps/broken.plist"
    wrong = f"{path}: NSUserActivityTypes: expected an array, found a string"
    findings = segue("doctor", status=1)
    assert problems(findings) == [("manifests", wrong)]
    assert all(each["advice"] for each in findings if each["state"] != "ok")
    assert [each["error"] for each in segue("apps")] == [wrong, None]
    start("editor").ready().ask("offer one", "offered")
    explained = segue("explain", status=1)
    assert (explained["offer"]["title"], explained["reason"]) == ("one", None)
    against = {
        each["bundle_identifier"]: [why["reason"] for why in each["against"]] for each in explained["candidates"]
    }
    assert against == {"com.example.editor": ["own app"], "com.example.silent": ["no launch command"]}
    start("viewer").ready()
    routed = segue("route")["candidates"]
    assert (routed[0]["bundle_identifier"], routed[0]["running"], routed[0]["against"]) == (
        "com.example.viewer",
        True,
        [],
    )
    launched = segue("continue", "--app", "com.example.viewer")
    assert (launched["outcome"], launched["app_name"]) == ("restored", "com.example.viewer")
    for words in (("com.example.viewer",), ()):
        assert segue("choose", TYPE, *words) == {"type": TYPE, "bundle_identifier": "com.example.viewer"}
    assert segue("choose", TYPE, "--forget") == {"type": TYPE, "bundle_identifier": None}
    assert segue("inbox") == []


@pytest.mark.parametrize("words", [["--app", "com.example.viewer"], ["--app=com.example.viewer"], ["--launch"]])
def test_ctrl_c_ends_the_wait_at_once_and_what_waits_stays(begin, start, segue, variables, folder, words):
    """The app has not answered, and would be waited for for 20 s. The command has loaded nothing but the library by
    then: a browser shows a page in less time than that takes."""
    begin(**variables).wait_for(CARRIES)
    start("editor").ready().ask("offer one", "offered")
    viewer = start("viewer", "--later").ready()
    with programs() as run:
        # With a library that is named the command goes the long way.
        asking: Program = run("segue", ["env", "-u", "SEGUE_LIBRARY", *command_line(folder, "continue", *words)])
        viewer.hears("continue .*")
        loaded = Path(f"/proc/{asking.pid}/maps").read_text()
        assert [name for name in ("libsegue.so", "cbor2") if name in loaded] == ["libsegue.so"]
        asking.signal(signal.SIGINT)
        assert asking.wait(patience=10) == -signal.SIGINT
    (entry,) = segue("inbox")
    assert (entry["bundle_identifier"], entry["delivered"], entry["title"]) == ("com.example.viewer", True, "one")
    prefix = entry["continuation_id"][:8]
    assert segue("inbox", "--drop", prefix) == {"continuation_id": entry["continuation_id"], "done": "dropped"}
    assert segue("inbox") == []


def test_an_agent_is_replaced_and_one_that_is_stopped_is_found(begin, segue, variables):
    first = begin(**variables)
    first.wait_for(CARRIES)
    with programs() as run:
        words = [f"{name}={value}" for name, value in {**variables, "SEGUE_LOG": "info"}.items()]
        second = run("segue", ["env", *words, sys.executable, "-m", "segue", "agent", "--replace"])
        second.wait_for(CARRIES)
        assert first.wait() == 0
        assert problems(segue("doctor")) == []
        second.stop()
        agent_process = second.pid  # the command has become the agent
        ((about, why),) = problems(segue("doctor", status=1))
        assert (about, why.partition(" is stopped")[0]) == ("agent", f"process {agent_process}")
        asking = run("asking", ["env", *words, sys.executable, "-m", "segue", "inbox"])
        going = run("going", ["env", *words, sys.executable, "-m", "segue", "terminal", "--wait", "0"])
        for each in (asking, going):
            each.wait_for(f"the agent, process {agent_process}, is stopped .* kill -CONT {agent_process}")
        second.signal(signal.SIGCONT)
        assert asking.wait() == 0
        second.signal(signal.SIGINT)
        assert second.wait() == 0


def test_what_a_script_offers_stays_offered(begin, segue, variables, tmp_path):
    """R2.5: `offer --keep` ends at once; without an agent it says that nothing is kept."""
    offered = ("offer", TYPE, "--title", "left", "--user-info", '{"line": 12}', "--keep")
    command = ["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable, "-m", "segue"]
    done = subprocess.run([*command, *offered], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"segue: CONNECTION_UNAVAILABLE: {NO_AGENT}\n")
    begin(**variables).wait_for(CARRIES)
    left = segue(*offered)
    assert [offer["id"] for offer in segue("list")] == [left["id"]]
    for _ in range(2):
        continued = segue("continue", "--id", left["id"])
        assert (continued["title"], continued["user_info"]) == ("left", {"line": 12})
    (tmp_path / "draft.txt").write_text("a draft")
    other = segue("offer", TYPE, "--title", "other", "--keep", "--attach", tmp_path / "draft.txt")
    (tmp_path / "draft.txt").unlink()
    received = tmp_path / "received"
    received.mkdir()
    segue("receive", "--id", other["id"], "--to", received)
    assert (received / "draft.txt").read_text() == "a draft"
    assert {offer["title"] for offer in segue("list")} == {"left", "other"}, "one does not end the other"
    for each in (left, other):
        assert segue("withdraw", each["id"][:8], "--wait", "0")["done"] == "withdrawn"
    assert segue("list") == []
    for wrong in (["--once"], ["--user-info", "{"], ["--url", "nowhere"]):
        assert subprocess.run([*command, *offered, *wrong], capture_output=True).returncode == 2


@pytest.mark.parametrize(
    "words", [["--app", "com.example.viewer"], ["--launch"], ["--app", "com.example.viewer", "--type", TYPE]]
)
def test_an_app_does_not_continue_what_it_offers_itself(begin, start, segue, variables, folder, words):
    """Its offer is the frontmost one; that of another app is meant."""
    begin(**variables).wait_for(CARRIES)
    viewer = start("viewer").ready()
    with programs() as run:
        words_of_offer = command_line(folder, "offer", TYPE, "--team", "T", "--title", "one")
        run("offer", words_of_offer).wait_for("^offering")
        viewer.ask("offer own", "offered")
        assert [each["title"] for each in segue("list")] == ["own", "one"]
        launched = segue("continue", *words)
        assert (launched["outcome"], launched["app_name"]) == ("restored", "com.example.viewer")
        viewer.hears("continue .*one.*")


def test_without_an_offer_of_another_app_it_is_waited_for(begin, start, variables, folder):
    begin(**variables).wait_for(CARRIES)
    viewer = start("viewer").ready()
    viewer.ask("offer own", "offered")
    environment = {**os.environ, **variables}
    command = [sys.executable, "-m", "segue", "continue", "--app", "com.example.viewer", "--wait"]
    done = subprocess.run([*command, "0.2"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "no activity of another app is offered" in done.stderr) == (3, True), done.stderr
    own = json.loads(
        subprocess.run(
            [sys.executable, "-m", "segue", "list", "--json"], env=environment, capture_output=True, timeout=60
        ).stdout
    )[0]["id"]
    named = subprocess.run([*command, "0.2", own], env=environment, capture_output=True, text=True, timeout=60)
    assert named.returncode == 1 and "NOT_FOUND" in named.stderr


def test_the_doctor_reads_names_of_processes_that_are_no_text(begin, segue, variables):
    agent = begin(**variables)
    agent.wait_for(CARRIES)
    rename = r"ctypes.CDLL(None).prctl(15, b'\xff\xfe', 0, 0, 0)"
    program = f"import ctypes, time; {rename}; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as odd:
        assert odd.stdout is not None
        odd.stdout.readline()
        assert segue("doctor")
        odd.kill()


def test_an_agent_of_another_runtime_folder_is_named(begin, segue, variables, tmp_path):
    agent = begin(**variables)
    agent.wait_for(CARRIES)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    findings = segue("doctor", SEGUE_RUNTIME_DIR=str(other))
    said = [each["message"] for each in findings if each["about"] == "agent"]
    folder = variables["SEGUE_RUNTIME_DIR"]
    wanted = f" serves another runtime folder, {folder}; the one here is {other}"
    assert any(each.endswith(wanted) for each in said), findings
    assert not any("another runtime folder" in each["message"] for each in segue("doctor"))


def test_the_doctor_says_that_a_hub_has_no_room(start, segue, folder):
    """Section 9: of 1,000 apps at the hub of a process with 256 descriptors the newest are told that there is no room.
    The others stay, no other process becomes the hub, and who waits comes when one of them leaves."""
    hub = start("hub").ready()
    resource.prlimit(hub.pid, resource.RLIMIT_NOFILE, (256, 256))
    kept: list[wire.Connection] = []
    refused = 0
    for number in range(1_000):
        peer = wire.Connection.of_another_process(folder / "hub.1")
        with contextlib.suppress(BrokenPipeError):
            peer.send(wire.hello(f"app{number}"))
        name, *elements = peer.receive()
        if name == "welcome":
            kept.append(peer)
            continue
        assert (name, elements[0]) == ("goodbye", LIMIT_EXCEEDED) and NO_ROOM in elements[1], elements
        refused += 1
        peer.close()
    assert 128 <= len(kept) < 256 and refused == 1_000 - len(kept)
    late = start("late")
    deadline = time.monotonic() + 20
    while NO_ROOM not in (said := late.ask("connection", "is searching: (.*)"))[2]:
        assert time.monotonic() < deadline, said[0]
        time.sleep(0.05)  # the status is asked for, and told by no event
    assert said[2].startswith("LIMIT_EXCEEDED ")
    ((about, why), *_) = problems(segue("doctor", "--wait", "2", status=1))
    assert about == "hub" and why.startswith("not connected: LIMIT_EXCEEDED: ") and NO_ROOM in why
    assert "start segue-agent" in why
    for peer in (kept[0], kept[-1]):
        peer.send_message("ping", 7)
        assert peer.receive_kind("pong")[1] == 7
    assert [path.name for path in folder.iterdir() if path.is_socket()] == ["hub.1"]
    for peer in kept:
        peer.close()
    late.hears("connection ready", 40)


def test_the_name_of_a_file_forges_no_line(begin, variables):
    forged = "x\nok      hub: connected, and all is well"
    manifest(variables, forged, NSUserActivityTypes="x")
    begin(**variables).wait_for(CARRIES)
    command = [sys.executable, "-m", "segue", "doctor"]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60)
    forged_name = r"x\nok      hub: connected, and all is well.plist: CFBundleIdentifier: has a control character"
    assert forged_name in done.stdout, done.stdout
    assert not [line for line in done.stdout.splitlines() if line.startswith("ok      hub: connected, and all is well")]
