# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Switches things on for one user, for `setup`: links, lines in files, programs that the session starts."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

from .._terminal import shown
from .checks import Finding, State
from .desktop import APP_ID
from .files import replace_file
from .installed import config_folder, data_folder, home_folder, how_to_install, integration
from .output import CommandError, said
from .quoting import joined

MARK = "# The next line is of `segue setup`, whose option --remove takes it away."
SECONDS = 120
"""For another program to do what it is asked for."""

Done = tuple[list[Path], list[str]]
"""The files that were written, and the steps that are left to the user."""


class Part:
    """Something that takes part once it is switched on."""

    done = "switched on by"
    """The words before the files that `set_up` has written."""

    def __init__(self, name: str, about: str, programs: tuple[str, ...] = ()):
        """
        about: what goes on elsewhere, for people
        programs: one of these has to be there for it to be of use
        """
        self.name, self.about, self.programs = name, about, programs

    def here(self) -> str | None:
        """Returns the path of the program; None: it is not on this machine."""
        return next((path for each in self.programs if (path := shutil.which(each))), None)

    def is_on(self) -> bool:
        raise NotImplementedError

    def problem(self) -> str | None:
        """Returns why it does not work although it is on."""
        return None

    def set_up(self) -> Done:
        raise NotImplementedError

    def take_away(self) -> list[Path]:
        raise NotImplementedError

    def missing(self) -> CommandError:
        return not_installed(self.name)


def not_installed(name: str) -> CommandError:
    package = {"vscode": "segue-stdio", "zathura": "segue-readers", "okular": "segue-readers"}.get(name)
    package = package or f"segue-{name}"
    how = how_to_install(package, "mpv install" if name == "mpv" else "install")
    return CommandError(f"{name}: its plugin or bridge is not installed ({how})")


class Plugin(Part):
    """A file or a folder of `share/segue/integrations`."""

    def __init__(self, name: str, about: str, programs: tuple[str, ...], file: str, folder: str = ""):
        """
        folder: empty: it has the name of the program
        """
        super().__init__(name, about, programs)
        self.file, self.folder = file, folder or name

    def found(self) -> Path:
        path = integration(self.folder, self.file)
        if path is None:
            raise self.missing()
        return path.resolve()


class Link(Plugin):
    """A folder to which the folder of the program's plugins has a link."""

    def __init__(self, name: str, about: str, programs: tuple[str, ...], link: str):
        """
        link: below the user's folder of data
        """
        super().__init__(name, about, programs, ".")
        self._link = link

    @property
    def link(self) -> Path:
        return data_folder() / self._link

    def is_on(self) -> bool:
        """Whether the link is of Segue: somebody may have put another plugin there."""
        return self.link.is_symlink() and Path(os.readlink(self.link)).parts[-2:] == ("integrations", self.folder)

    def problem(self) -> str | None:
        return None if self.link.exists() else f"{self.link} leads to nothing: the plugin is not installed any longer"

    def set_up(self) -> Done:
        folder = self.found()
        if os.path.lexists(self.link) and not self.is_on():
            raise CommandError(f"{shown(str(self.link), None)} is there, and is not of Segue")
        with errors_told():
            self.link.parent.mkdir(parents=True, exist_ok=True)
            self.link.unlink(missing_ok=True)
            self.link.symlink_to(folder)
        return [self.link], [f"Start {self.name} again."]

    def take_away(self) -> list[Path]:
        if not self.is_on():
            return []
        with errors_told():
            self.link.unlink()
        return [self.link]


class Gedit(Link):
    """The link, and the tick in the preferences."""

    SCHEMA = ("org.gnome.gedit.plugins", "active-plugins")
    MODULE = "segue_gedit"

    def set_up(self) -> Done:
        files, left = super().set_up()
        if not self.tick(True):
            left.append("Tick Handoff in the preferences of gedit, Plugins.")
        return files, left

    def take_away(self) -> list[Path]:
        self.tick(False)
        return super().take_away()

    def tick(self, on: bool) -> bool:
        """Returns whether the preferences could be changed."""
        active = gsettings("get", *self.SCHEMA)
        try:
            names = [str(each) for each in ast.literal_eval((active or "").strip().removeprefix("@as "))]
        except (ValueError, SyntaxError):
            return False
        wanted = [each for each in names if each != self.MODULE] + [self.MODULE] * on
        return wanted == names or gsettings("set", *self.SCHEMA, str(wanted)) is not None


class Line(Part):
    """A line in a file of the program's settings, with a comment before it."""

    def __init__(
        self, name: str, about: str, file: Callable[[], Path], line: Callable[[], str], *, first: bool = False
    ):
        """
        first: it stands at the beginning of the file
        """
        super().__init__(name, about, (name,))
        self.file, self.line, self._first = file, line, first

    def lines(self) -> list[bytes]:
        try:
            return self.file().read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CommandError(said(error)) from error

    def is_on(self) -> bool:
        try:
            return MARK.encode() in self.lines()
        except CommandError:
            return False

    def problem(self) -> str | None:
        try:
            self.line()
        except CommandError as error:
            return str(error)
        return None

    def set_up(self) -> Done:
        new, lines = [MARK.encode(), os.fsencode(self.line())], self.others()
        if self._first:
            lines = [*new, *(lines or [b""])]
        else:
            lines = [*(lines[:-1] if lines and not lines[-1] else lines), *new, b""]
        self.write(lines)
        return [self.file()], [f"Start {self.name} again."]

    def take_away(self) -> list[Path]:
        if not self.is_on():
            return []
        self.write(self.others())
        return [self.file()]

    def others(self) -> list[bytes]:
        """Returns the lines that are the user's."""
        lines = self.lines()
        while MARK.encode() in lines:
            at = lines.index(MARK.encode())
            # The user may have removed the line alone.
            is_ours = any(b"shell-init" in line or b"segue" in line for line in lines[at + 1 : at + 2])
            del lines[at : at + 1 + is_ours]
        return lines

    def write(self, lines: list[bytes]) -> None:
        file = self.file()
        with errors_told():
            replace_file(file, b"\n".join(lines), mode=0o644)  # such files are links in some homes


class Bridge(Plugin):
    """A program that the session starts, by an autostart file."""

    def __init__(self, name: str, about: str, programs: tuple[str, ...], folder: str = "", file: str = ""):
        """
        folder, file: of a bridge to several programs, which gets the name of one as its argument
        """
        super().__init__(name, about, programs, file or f"segue-{name}", folder)

    @property
    def entry(self) -> Path:
        return config_folder() / "autostart" / f"{APP_ID}.{self.name}.desktop"

    def is_on(self) -> bool:
        return self.entry.exists()

    def problem(self) -> str | None:
        return None if integration(self.folder, self.file) else f"{self.entry} starts what is not installed any longer"

    def set_up(self) -> Done:
        words = [sys.executable, str(self.found())] + [self.name] * (self.folder != self.name)
        command = " ".join(quoted(word) for word in words)
        text = f"[Desktop Entry]\nType=Application\nName=Segue for {self.name}\nNoDisplay=true\nExec={command}\n"
        with errors_told():
            self.entry.parent.mkdir(parents=True, exist_ok=True)
            self.entry.write_text(text)
        left = ["Log out and in again: it starts with the session."]
        if importlib.util.find_spec("gi") is None:
            left.insert(0, "Install PyGObject (Debian: python3-gi).")
        return [self.entry], left

    def take_away(self) -> list[Path]:
        if not self.is_on():
            return []
        with errors_told():
            self.entry.unlink()
        return [self.entry]


class Code(Plugin):
    """An extension that VS Code adds itself."""

    FOLDERS = (".vscode/extensions", ".vscode-oss/extensions")
    ID = "segue.segue"

    def added(self) -> list[Path]:
        return [path for folder in self.FOLDERS for path in (home_folder() / folder).glob(f"{self.ID}-*")]

    def is_on(self) -> bool:
        return bool(self.added())

    def set_up(self) -> Done:
        self.ask("--install-extension", str(self.found()), "--force")
        return self.added(), ["Start it again."]

    def take_away(self) -> list[Path]:
        files = self.added()
        if files:
            self.ask("--uninstall-extension", self.ID)
        return files

    def ask(self, *words: str) -> None:
        program = self.here()
        if program is None:
            raise CommandError(f"{self.name}: neither {' nor '.join(self.programs)} is installed")
        try:
            done = subprocess.run([program, *words], capture_output=True, text=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise CommandError(said(error)) from error
        if done.returncode != 0:
            raise CommandError(f"{program}: {shown(done.stderr.strip() or done.stdout.strip(), None)}")


def quoted(word: str) -> str:
    """Returns a word of Exec in an entry of the desktop."""
    for character in '\\"`$':
        word = word.replace(character, f"\\{character}")
    return '"' + word.replace("\\", "\\\\").replace("%", "%%") + '"'


def gsettings(*words: str) -> str | None:
    """Returns what it says; None: it is not there, or refuses."""
    if shutil.which("gsettings") is None:
        return None
    try:
        done = subprocess.run(["gsettings", *words], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


@contextmanager
def errors_told() -> Iterator[None]:
    """Has the user see an error of a file."""
    try:
        yield
    except OSError as error:
        raise CommandError(said(error)) from error


def shell_line(shell: str) -> Callable[[], str]:
    """Returns the line that a shell runs."""

    def line() -> str:
        from .shell import this_command

        command = joined((*this_command(), "shell-init", shell))
        return f"{command} | source" if shell == "fish" else f'eval "$({command})"'

    return line


def mpv_line() -> str:
    path = integration("mpv", "segue.so")
    if path is None:
        raise not_installed("mpv")
    name = str(path.resolve())
    return f"script=%{len(os.fsencode(name))}%{name}"


def fish_file() -> Path:
    return config_folder() / "fish" / "config.fish"


def zsh_file() -> Path:
    return Path(os.environ.get("ZDOTDIR") or home_folder()) / ".zshrc"


PLAYERS = ("vlc", "celluloid", "totem", "rhythmbox", "strawberry", "audacious", "elisa", "spotify")
PARTS: tuple[Part, ...] = (
    Link("nvim", "texts of Neovim", ("nvim",), "nvim/site/pack/segue/start/segue"),
    Gedit("gedit", "texts of gedit", ("gedit",), "gedit/plugins/segue"),
    Code("vscode", "texts of VS Code", ("code", "codium"), "segue.vsix"),
    Line("mpv", "films of mpv", lambda: config_folder() / "mpv" / "mpv.conf", mpv_line, first=True),
    Bridge("mpris", "what other players play", PLAYERS),
    Bridge("zathura", "documents of Zathura", ("zathura",), "readers", "segue-reader"),
    Bridge("okular", "documents of Okular", ("okular",), "readers", "segue-reader"),
    Line("bash", "folders of bash", lambda: home_folder() / ".bashrc", shell_line("bash")),
    Line("zsh", "folders of zsh", zsh_file, shell_line("zsh")),
    Line("fish", "folders of fish", fish_file, shell_line("fish")),
)


def plugins() -> Iterator[Finding]:
    """The findings of `doctor`: what is on and broken, and what `setup` could switch on."""
    off = [part.name for part in PARTS if part.here() and not part.is_on()]
    on = [part for part in PARTS if part.is_on()]
    for part in on:
        if problem := part.problem():
            advice = f"install it again, or `segue setup {part.name} --remove`"
            yield Finding(part.name, State.PROBLEM, shown(problem, None), advice)
        elif part.here() is None:
            why = "it is switched on, and the program is not here any longer"
            yield Finding(part.name, State.NOTE, why, f"`segue setup {part.name} --remove`")
        else:
            yield Finding(part.name, State.OK, "it takes part")
    if off:
        yield Finding("setup", State.NOTE, f"these could take part: {', '.join(off)}", "`segue setup` asks about each")
