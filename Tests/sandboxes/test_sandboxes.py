# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Apps in sandboxes: a Flatpak and a container, as bubblewrap builds them (docs/sandboxes.md).

Each has process numbers, network and files of its own, and sees the runtime folder alone, read-only."""

from __future__ import annotations

import os
import re
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
        return ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", *mounts, *sets, *options, *SEGUE, *words]


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
