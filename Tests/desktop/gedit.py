# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A gedit with the plugin, in a virtual screen, on a bus of its own."""

from __future__ import annotations

from pathlib import Path

from desk import until
from host import PROGRAM
from project import LIBRARY, ROOT
from screen import Screen

PLUGIN = ROOT / "integrations" / "gedit"


class Gedit:
    """Takes keys of the screen's keyboard, and actions by its bus, as its menus do."""

    def __init__(self, screen: Screen, folder: Path, *words: str | Path, **environment: str):
        self.screen = screen
        home = screen.folder / "home"
        variables = {
            "HOME": str(home),
            # The Python inside of gedit takes its modules from beside the first python3 of PATH: Debian's.
            "PATH": "/usr/bin:/bin",
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "SEGUE_RUNTIME_DIR": str(folder),
            "SEGUE_STDIO": str(PROGRAM),
            "GSETTINGS_BACKEND": "keyfile",
            "NO_AT_BRIDGE": "1",
            **environment,
        }
        if not (home / "data").exists():
            command = [ROOT / ".venv" / "bin" / "python", "-m", "segue", "setup", "gedit"]
            done = screen.run(*command, **variables, SEGUE_LIBRARY=str(LIBRARY))
            assert done.returncode == 0, done
        self.said: list[str] = []
        command = ["gedit", "--new-window", *words]
        self.program = screen.start("gedit", command, listener=self.said.append, **variables)
        self.window = ""
        until(self.find)

    def find(self) -> bool:
        self.window = self.screen.xdotool("search", "--onlyvisible", "--class", "gedit").split("\n")[-1]
        return bool(self.window)

    def title(self) -> str:
        return self.screen.xdotool("getwindowname", self.window)

    def focus(self) -> None:
        self.screen.xdotool("windowfocus", "--sync", self.window)

    def keys(self, *names: str) -> None:
        self.focus()
        self.screen.xdotool("key", "--clearmodifiers", *names)

    def types(self, text: str) -> None:
        self.focus()
        self.screen.xdotool("type", text)

    def ask(self, method: str, *arguments: str) -> str:
        """Calls a method of its actions, which its menu has, too."""
        words = ["--session", "--dest", "org.gnome.gedit", "--object-path", "/org/gnome/gedit", "--method"]
        return self.screen.run("gdbus", "call", *words, f"org.gtk.Actions.{method}", *arguments).stdout

    def continues(self, offer: str) -> None:
        self.ask("Activate", "segue-continue", f"[<'{offer}'>]", "{}")

    def stdio(self) -> int:
        """The process of segue-stdio."""
        return int(Path(f"/proc/{self.program.pid}/task/{self.program.pid}/children").read_text().split()[0])
