# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Another user of the machine (SECURITY.md): shut out at the folder, at the hub's socket, and as a false hub."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator

import pytest
from wire import Connection, hello

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@contextlib.contextmanager
def another_user() -> Iterator[None]:
    """Has another user open files, connect and listen in the block: SO_PEERCRED names that user."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_the_folder_keeps_them_out(start, folder):
    start("app").ready()
    with another_user(), pytest.raises(PermissionError):
        os.listdir(folder)
    with another_user(), pytest.raises(PermissionError):
        Connection.to(folder / "hub.1")


def test_who_reaches_the_socket_all_the_same_is_hung_up_on(start, folder):
    """The folder was opened to everybody behind the hub's back: its socket asks who connects."""
    hub = start("hub").ready()
    folder.chmod(0o755)
    (folder / "hub.1").chmod(0o777)
    for _ in range(20):
        with another_user():
            spy = Connection.to(folder / "hub.1")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            spy.send(hello("spy", chooser=True))
        with contextlib.suppress(ConnectionResetError):
            assert spy.socket.recv(1) == b"", "not a byte is said to it"
        spy.close()
    # The same, as the hub's own user, is let in.
    own = Connection.to(folder / "hub.1")
    own.send(hello("own"))
    assert own.receive()[0] == "welcome"
    own.close()
    folder.chmod(0o700)
    hub.end()


def test_a_hub_of_theirs_is_nobody(start, folder):
    """A socket under a hub's name, with another user listening: the app says nothing to it, and is the hub itself."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "hub.1"))
    with another_user():
        listening.listen(8)
    listening.settimeout(5)
    app = start("app").ready()
    assert (folder / "hub.2").is_socket()
    heard = listening.accept()[0]
    assert heard.recv(1) == b"", "not a byte was said to it"
    heard.close()
    listening.close()
    app.end()


def test_a_setuid_program_writes_no_log_for_its_user(folder, built):
    """Another user's environment decides nothing in a program with root's rights, not even what it prints."""
    folder.chmod(0o711)
    program = folder / "privileged"
    shutil.copy(built / "privileged", program)
    (folder / "run").mkdir(mode=0o700)

    def run(*before: str) -> tuple[str, str]:
        done = subprocess.run(
            [*before, program, folder / "run"],
            env={**os.environ, "SEGUE_LOG": "debug"},
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    said, log = run()
    assert said == "usual\n" and "segue: " in log
    program.chmod(0o4755)
    said, log = run("setpriv", f"--reuid={NOBODY}", "--clear-groups")
    assert (said, log) == ("secure\n", "")


def test_who_was_first_in_the_temporary_folder_keeps_the_app_from_opening(start, folder):
    """Its name can be known beforehand. The app is told so, and does not open."""
    folder.chmod(0o777)
    with another_user():
        (folder / "segue-0").mkdir(mode=0o700)
    app = start("app", SEGUE_RUNTIME_DIR="", XDG_RUNTIME_DIR="", TMPDIR=str(folder))
    assert "UNSAFE_FOLDER" in app.hears("error .*segue_app_open.*")[0]
    assert app.program.wait() == 3
