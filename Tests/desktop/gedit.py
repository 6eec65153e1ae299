# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A gedit with the plugin, in a virtual screen, on a bus of its own."""

from __future__ import annotations

from pathlib import Path

from desk import until
from host import PROGRAM
from project import LIBRARY, ROOT
from screen import Screen

PLUGIN = ROOT / "integrations" / "gedit"
PROBE = """\
from gi.repository import Gedit, Gio, GLib, GObject, Gtk


def labels(widget):
    if isinstance(widget, Gtk.Label):
        yield widget.get_text()
    if isinstance(widget, Gtk.Container):
        for each in widget.get_children():
            yield from labels(each)


class Probe(GObject.Object, Gedit.AppActivatable):
    app = GObject.Property(type=Gedit.App)

    def do_activate(self):
        action = Gio.SimpleAction.new_stateful("bars", None, GLib.Variant("s", ""))
        action.connect("activate", self.look)
        self.app.add_action(action)

    def look(self, action, _):
        tab = self.app.get_active_window().get_active_tab()
        bars = [each for each in tab.get_children() if isinstance(each, Gtk.InfoBar)]
        action.set_state(GLib.Variant("s", " ".join(text for bar in bars for text in labels(bar))))
"""
"""A plugin that says what the bars above the text say."""


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
            self.probe(home / "data" / "gedit" / "plugins", variables)
        self.said: list[str] = []
        command = ["gedit", "--new-window", *words]
        self.program = screen.start("gedit", command, listener=self.said.append, **variables)
        self.window = ""
        until(self.find)

    def probe(self, plugins: Path, variables: dict[str, str]) -> None:
        """Adds the plugin that says what the bars say, and ticks it."""
        (plugins / "probe.py").write_text(PROBE)
        (plugins / "probe.plugin").write_text("[Plugin]\nLoader=python3\nModule=probe\nName=Probe\n")
        key = ("org.gnome.gedit.plugins", "active-plugins")
        ticked = self.screen.run("gsettings", "get", *key, **variables).stdout.strip().removesuffix("]")
        done = self.screen.run("gsettings", "set", *key, f"{ticked}, 'probe']", **variables)
        assert done.returncode == 0, done

    def bars(self) -> str:
        """Returns the words of the bars above the text."""
        self.ask("Activate", "bars", "[]", "{}")
        return self.ask("Describe", "bars")

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
