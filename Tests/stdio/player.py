# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An mpv with the plugin, for tests and the demo, and something that it plays."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

from project import ROOT

PLUGIN = ROOT / "lib" / "segue-mpv.so"


def made_film(path: Path) -> Path:
    """Makes two minutes of silence."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(4000)
        file.writeframes(b"\x80" * 4000 * 120)
    return path


def installed(prefix: Path) -> Path:
    """Returns the plugin as `make mpv install` puts it: it finds the library by itself."""
    plugin = prefix / "lib" / "segue" / "mpv" / "segue.so"
    if not plugin.exists():
        plugin.parent.mkdir(parents=True)
        shutil.copy(PLUGIN, plugin)
        (prefix / "lib" / "libsegue.so.0").symlink_to(PLUGIN.with_name("libsegue.so.0"))
    return plugin


def is_near(found: Any, wanted: Any) -> bool:
    """A position is that of a frame near the one that was asked for."""
    if isinstance(found, (int, float)) and isinstance(wanted, (int, float)):
        return abs(found - wanted) <= 0.01
    return bool(found == wanted)


class Mpv:
    """A player that is driven by its own socket."""

    def __init__(self, folder: Path, *words: str | Path, plugin: Path | None = None, **environment: str):
        path = folder / f"mpv-{time.monotonic_ns()}"
        options = [
            "--no-config",
            "--vo=null",
            "--ao=null",
            "--idle",
            "--msg-level=all=warn",
            f"--input-ipc-server={path}",
        ]
        self.process = subprocess.Popen(
            ["mpv", *options, f"--script={plugin or installed(folder)}", "--script-opts=segue-team=T", *words],
            env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        deadline = time.monotonic() + 20
        while self.socket.connect_ex(str(path)) != 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)  # mpv has no way to tell that it listens.
        self.answers = self.socket.makefile()

    def __call__(self, *command: Any) -> Any:
        self.socket.sendall(json.dumps({"command": command}).encode() + b"\n")
        while "error" not in (answer := json.loads(self.answers.readline())):
            pass
        return answer.get("data")

    def until(self, name: str, wanted: Any) -> None:
        deadline = time.monotonic() + 20
        while not is_near(found := self("get_property", name), wanted):
            assert time.monotonic() < deadline, found

    def end(self) -> None:
        self.answers.close()
        self.socket.close()
        self.process.kill()
        self.process.wait()


@contextmanager
def served(film: Path) -> Iterator[str]:
    """A server of this machine that has a film. Gives the URL, with a user and a password."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(film.parent))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://anna:secret@127.0.0.1:{server.server_port}/{quote(film.name)}"
        finally:
            server.shutdown()
            thread.join()
