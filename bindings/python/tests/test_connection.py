# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why an app is not connected, as Python and the command line tell it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import segue

GOODBYE = b"\x83\x03\x11\x67too old"  # [3, 17, "too old"]: unsupported version


@pytest.fixture
def newer(folder: str) -> Iterator[None]:
    """A hub that speaks no version of ours."""
    with socket.socket(socket.AF_UNIX) as hub:
        hub.bind(str(Path(folder) / "hub.1"))
        hub.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = hub.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(len(GOODBYE).to_bytes(4, "big") + bytes(4) + GOODBYE)

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        yield
        hub.shutdown(socket.SHUT_RDWR)
        server.join()


def test_an_app_that_is_ready_has_no_problem(folder: str) -> None:
    with segue.App("com.example.app", runtime_folder=folder) as app:
        app.ready().wait(10)
        assert app.connection == segue.Connection.READY
        assert app.connection_problem is None


def test_the_problem_is_told(folder: str, newer: None) -> None:
    with segue.App("com.example.app", runtime_folder=folder) as app:
        with pytest.raises(TimeoutError):
            app.ready().wait(1)
        assert app.connection == segue.Connection.SEARCHING
        problem = app.connection_problem
        assert isinstance(problem, segue.errors.UnsupportedVersionError)
        assert "too old" in str(problem)


def doctor(folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "segue", "doctor", "--wait", "1"],
        env={**os.environ, "SEGUE_RUNTIME_DIR": folder},
        capture_output=True,
        text=True,
    )


def test_the_doctor_finds_it(folder: str, newer: None) -> None:
    done = doctor(folder)
    assert done.returncode == 1
    assert "not connected: " in done.stdout and "too old" in done.stdout
    assert f"SEGUE_RUNTIME_DIR: {folder}" in done.stdout


def test_the_doctor_names_the_folder_that_is_used(tmp_path: Path) -> None:
    """Not only the variables that it may come from."""
    tmp_path.chmod(0o700)
    variables = {name: value for name, value in os.environ.items() if name != "SEGUE_RUNTIME_DIR"}
    done = subprocess.run(
        [sys.executable, "-m", "segue", "doctor"],
        env={**variables, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert f"ok      runtime folder: {tmp_path}/segue\n" in done.stdout, done.stderr


def test_the_doctor_finds_nothing(folder: str) -> None:
    done = doctor(folder)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing is wrong"), done.stdout + done.stderr
