# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Switches browsers, the desktop, plugins and shells on for the user: `setup`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .._terminal import shown
from . import desktop
from .answers import agreed
from .files import replace_file
from .installed import config_folder, first_program, home_folder, how_to_install, libexec_programs, prefixes
from .output import CommandError, said, show_json
from .parts import PARTS, Done, Part
from .verbs import Verbs

HOST = "segue-browser-host"
NAME = "local.segue.segue.browser"
"""The name of the host's entries. The host that says it may be gone when they are removed."""
ADD_ON = "{6f0a7d3c-52b4-4c8e-9a1f-3d0b6f2c7e58}"
"""The extension in Firefox."""
PACKAGES = {"firefox": "segue-firefox.xpi", "chromium": "chromium"}
"""The extension, in share/segue/browser: an archive, and a folder."""
SYSTEM_SCOPE = Path("/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}")
"""The folder from which Debian's Firefox takes extensions for all users, unsigned ones too."""
UNSUPPORTED = "a Snap or Flatpak, which cannot start programs of the system: it is not supported"
SECONDS = 10
"""For the host to print its entry."""


@dataclass(frozen=True)
class Kind:
    """Browsers that find native hosts in the same folders."""

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    """For the entry of the host, below the home folder; those that begin with .config, below the folder of settings."""
    others: tuple[str, ...] = ()
    """The same of other makers, only if that browser was used."""
    flatpaks: tuple[str, ...] = ()


KINDS = {
    "firefox": Kind(
        ("firefox-esr", "firefox", "librewolf"),
        (".mozilla/native-messaging-hosts", ".config/mozilla/native-messaging-hosts"),
        (".librewolf/native-messaging-hosts",),
        ("org.mozilla.firefox",),
    ),
    "chromium": Kind(
        ("chromium", "chromium-browser", "google-chrome", "brave-browser", "microsoft-edge", "vivaldi"),
        (".config/chromium/NativeMessagingHosts", ".config/google-chrome/NativeMessagingHosts"),
        tuple(
            f".config/{each}/NativeMessagingHosts"
            for each in ("BraveSoftware/Brave-Browser", "microsoft-edge", "vivaldi")
        ),
        ("org.chromium.Chromium", "com.google.Chrome"),
    ),
}


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "setup",
        setup,
        "switch on what takes part: browsers, editors, players, shells, notifications of the desktop",
        "Without names it shows what is on this machine and, in a terminal, asks about each; --remove asks about what\n"
        "is switched on. With names it asks nothing. It changes files of yours only, and says which, and what is left\n"
        "to do: no program but a browser can add an extension to it.",
    )
    help = f"{', '.join(part.name for part in parts())}; firefox and chromium stand for all that are like them"
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=help)
    parser.add_argument("--host", metavar="PATH", help=f"of {HOST}; by default it is where `make install` puts it")
    parser.add_argument("--remove", action="store_true", help="take away again what was written")


def parts(host: str | None = None) -> list[Part]:
    """Returns what can be switched on.

    host: the path of the native host of browsers; None: it is looked for
    """
    return [*(BrowserPart(name, host) for name in KINDS), Desktop(), *PARTS]


async def setup(options: argparse.Namespace) -> int:
    every = {part.name: part for part in parts(options.host)}
    if wrong := [each for each in options.programs if each not in every]:
        raise CommandError(f"{shown(wrong[0])}: it is {', '.join(every)}")
    chosen = [every[name] for name in dict.fromkeys(options.programs)]
    if not chosen:
        present = [part for part in every.values() if part.here() or part.is_on()]
        if options.json:
            show_json([record(part) for part in present])
            return 0
        show(present)
        if not sys.stdin.isatty():
            return 0
        chosen = await wanted(present, removes=options.remove)
    results: list[tuple[Part, Done]] = []
    failures = []
    for part in chosen:
        try:
            results.append((part, (part.take_away(), []) if options.remove else part.set_up()))
        except (CommandError, OSError) as error:
            told = error if isinstance(error, CommandError) else CommandError(said(error))
            if len(chosen) == 1:
                raise told from error
            failures.append(told)
    if options.json:
        said_of = [(part.name, [str(path) for path in files], left) for part, (files, left) in results]
        show_json([{"program": name, "files": files, "to_do": left} for name, files, left in said_of])
    else:
        tell(results, removed=options.remove)
    if failures:
        raise CommandError("\n".join(map(str, failures)))
    return 0


def record(part: Part) -> dict[str, object]:
    return {"program": part.name, "about": part.about, "path": part.here(), "on": part.is_on()}


def show(present: list[Part]) -> None:
    for part in present:
        print(f"{'on' if part.is_on() else 'off':<5}{part.name:<10} {part.about}")
        if part.is_on() and (problem := part.problem()):
            print(f"{'':<5}{'':<10} {shown(problem, None)}")
    print("`segue setup PROGRAM...` switches on, `segue setup --remove PROGRAM...` off.")


async def wanted(present: list[Part], *, removes: bool) -> list[Part]:
    """Asks the user about each that is off, or on."""
    word = "off" if removes else "on"
    open_ones = [part for part in present if part.is_on() == removes]
    return [part for part in open_ones if await agreed(f"Switch {part.name} {word}: {part.about}?")]


def tell(results: list[tuple[Part, Done]], *, removed: bool) -> None:
    for part, (files, left) in results:
        done = "taken away" if removed else part.done
        print(f"{part.name}: {done} {', '.join(map(str, files)) or 'nothing'}")
        for number, step in enumerate(left, 1):
            print(f"  {number}. {step}")


class BrowserPart(Part):
    """The entry by which browsers of a kind find the native host."""

    done = "the entry of the native host is in"

    def __init__(self, name: str, host: str | None):
        super().__init__(name, "pages of Firefox" if name == "firefox" else "pages of Chromium and the like")
        self.host = host

    def here(self) -> str | None:
        return next(iter([*installed(self.name), *boxed(self.name)]), None)

    def is_on(self) -> bool:
        return any((folder / f"{NAME}.json").is_file() for folder in folders(self.name))

    def set_up(self) -> Done:
        return write(self.name, found_host(self.host)), list(to_do(self.name))

    def take_away(self) -> list[Path]:
        return remove(self.name)


class Desktop(Part):
    """Notifications."""

    def __init__(self) -> None:
        super().__init__("desktop", "notifications when you arrive")

    def here(self) -> str | None:
        return str(desktop.found() or "") or None

    def is_on(self) -> bool:
        link, copy = desktop.places()
        return link.is_symlink() or copy.exists()

    def set_up(self) -> Done:
        return desktop.set_up()

    def take_away(self) -> list[Path]:
        return desktop.take_away()


# ---- The host


def found_host(named: str | None) -> Path:
    named = named or os.environ.get("SEGUE_BROWSER_HOST")
    program = first_program([named] if named else libexec_programs(HOST))
    if program is None:
        raise CommandError(f"there is no {named or HOST}: install it ({how_to_install(HOST)}), or name it with --host")
    return Path(program).resolve()


def entry(host: Path, browser: str) -> str:
    """Returns the entry that the host prints of itself."""
    try:
        made = subprocess.run(
            [str(host), "--manifest", browser], capture_output=True, text=True, timeout=SECONDS, check=True
        ).stdout
        found = json.loads(made)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise CommandError(f"{shown(str(host), None)}: {said(error)}") from error
    if not isinstance(found, dict) or found.get("name") != NAME:
        raise CommandError(f"{shown(str(host), None)}: it does not print the entry of {HOST}")
    return made


def place(folder: str) -> Path:
    """Returns a folder of a browser. Browsers have their settings where other programs have them."""
    below = folder.removeprefix(".config/")
    return home_folder() / folder if below == folder else config_folder() / below


def folders(browser: str) -> Iterator[Path]:
    kind = KINDS[browser]
    yield from map(place, kind.folders)
    yield from (found for found in map(place, kind.others) if found.parent.is_dir())


def write(browser: str, host: Path) -> list[Path]:
    """Writes the entry where the browsers of a kind look for it. Returns the files."""
    made = entry(host, browser)
    written = []
    for folder in folders(browser):
        path = folder / f"{NAME}.json"
        try:
            replace_file(path, made.encode(), mode=0o644)
        except OSError as error:
            raise CommandError(said(error)) from error
        written.append(path)
    return written


def remove(browser: str) -> list[Path]:
    removed = []
    for folder in folders(browser):
        path = folder / f"{NAME}.json"
        if path.is_file():
            path.unlink()
            removed.append(path)
    return removed


# ---- The browser


def installed(browser: str) -> list[str]:
    """Returns the paths of the browsers of a kind that are installed."""
    return [path for program in KINDS[browser].programs if (path := shutil.which(program))]


def flatpaks(browser: str) -> list[str]:
    bases = (Path("/var/lib/flatpak/exports/bin"), home_folder() / ".local/share/flatpak/exports/bin")
    return [name for name in KINDS[browser].flatpaks for base in bases if (base / name).exists()]


def boxed(browser: str) -> list[str]:
    """Returns the browsers of a kind that are Snaps and Flatpaks."""
    snaps = [path for path in installed(browser) if os.path.realpath(path).startswith(("/snap/", "/usr/bin/snap"))]
    return [*snaps, *flatpaks(browser)]


def to_do(browser: str) -> Iterator[str]:
    """Returns the steps that only the user can take, and what will not work."""
    in_boxes = boxed(browser)
    names = ", ".join(shown(each, None) for each in in_boxes)
    if not installed(browser) and not in_boxes:
        yield f"{browser} is not installed, as far as this command sees."
    if in_boxes and browser == "firefox":
        yield (
            f"{names} is a Snap or Flatpak: it reaches programs of the system only through"
            " org.freedesktop.NativeMessagingProxy, from version 157 on. `segue doctor` says whether that service is"
            " there. Without it use the Debian package."
        )
    elif in_boxes:
        yield f"{names}: {UNSUPPORTED}."
    yield from install_steps(browser)
    yield "Press the extension's button, and choose what may be continued elsewhere. It says whether it is connected."


def install_steps(browser: str) -> Iterator[str]:
    """Returns the steps that add the extension."""
    package = found_package(browser)
    where = shown(str(package), None) if package else "the extension's package (`make browser`)"
    if browser == "chromium":
        yield f"Open chrome://extensions, switch Developer mode on, Load unpacked: {where}."
    elif (SYSTEM_SCOPE / f"{ADD_ON}.xpi").exists():
        yield "Debian's firefox-esr has the extension for all users: allow it in about:addons."
    else:
        yield (
            f"The extension is not signed. Debian's firefox-esr takes it for all users from {SYSTEM_SCOPE}, where"
            f" `make install PREFIX=/usr` puts it. Others: about:debugging, Load Temporary Add-on, {where};"
            " it is gone when Firefox ends."
        )


def found_package(browser: str) -> Path | None:
    for prefix in prefixes():
        path = prefix / "share" / "segue" / "browser" / PACKAGES[browser]
        if path.exists():
            return path
    return None
