# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Neovim with the plugin, for tests and the demo."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from host import PROGRAM
from project import ROOT

PLUGIN = ROOT / "integrations" / "nvim"


def runs(process: int) -> bool:
    """A process that has ended, and that its parent has not asked for, does not run."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Nvim:
    """A Neovim without a screen that takes expressions."""

    def __init__(self, folder: Path, *words: str | Path, under: Sequence[str] = (), **environment: str):
        """
        under: the words before the program, which runs it
        """
        self.socket = str(folder / f"nvim-{time.monotonic_ns()}")
        self.environment = {
            **os.environ,
            "SEGUE_RUNTIME_DIR": str(folder),
            "SEGUE_STDIO": str(PROGRAM),
            "XDG_STATE_HOME": str(folder / "state"),
            **environment,
        }
        setup = ["--cmd", f"set rtp^={PLUGIN}", "--cmd", "let g:segue = {'team': 'T'}", "-u", "NONE", "-i", "NONE"]
        plugin = ["-c", f"source {PLUGIN}/plugin/segue.lua"]
        self.process = subprocess.Popen(
            [*under, "nvim", "--headless", "--listen", self.socket, *setup, *plugin, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 20
        while not Path(self.socket).exists() and time.monotonic() < deadline:
            time.sleep(0.01)  # Neovim has no way to tell that it listens.

    def __call__(self, lua: str) -> object:
        """Returns what an expression in Lua gives, as JSON."""
        quoted = lua.replace("'", "''")
        done = subprocess.run(
            ["nvim", "--server", self.socket, "--remote-expr", f"json_encode(luaeval('{quoted}'))"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=20,
        )
        text = done.stdout or done.stderr
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise AssertionError(text) from None

    def do(self, command: str) -> None:
        self(f"vim.cmd([[{command}]])")

    def until(self, lua: str, wanted: object) -> None:
        deadline = time.monotonic() + 20
        while (found := self(lua)) != wanted:
            assert time.monotonic() < deadline, found

    def messages(self) -> str:
        return str(self('vim.fn.execute("messages")'))

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in path.read_text().split()] if self.process.poll() is None else []

    def end(self) -> None:
        left = self.children()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        deadline = time.monotonic() + 20
        while any(map(runs, left)):
            assert time.monotonic() < deadline, left
            time.sleep(0.01)  # They are children of another process now.
