# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sets browsers and the desktop up for the user: `setup`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .._terminal import shown
from . import desktop
from .installed import config_folder, first_program, home_folder, libexec_programs, prefixes
from .output import CommandError, said, show_json
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
DESKTOP = "desktop"
DONE = {DESKTOP: "enabled by"}
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
        "set browsers up, so that pages can be continued from and in them, and notifications of the desktop",
        "It writes the entry by which a browser finds segue-browser-host, and says what is left to do in the browser:\n"
        "no program but the browser can add an extension to it. Without names, the browsers that are installed.\n"
        "desktop: notifications when you arrive, which `segue desktop` adjusts.",
    )
    # argparse compares an empty list with the choices, too, so the names are checked here.
    help = "firefox or chromium, for all that are like it; desktop"
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=help)
    parser.add_argument("--host", metavar="PATH", help=f"of {HOST}; by default it is where `make install` puts it")
    parser.add_argument("--remove", action="store_true", help="take the entries away again")


def setup(options: argparse.Namespace) -> int:
    if wrong := [each for each in options.programs if each not in KINDS and each != DESKTOP]:
        raise CommandError(f"{shown(wrong[0])}: it is firefox, chromium or desktop")
    programs = options.programs or [name for name in KINDS if installed(name)]
    if not programs:
        raise CommandError("no browser is installed that Segue knows; name firefox or chromium to prepare one")
    host = None if options.remove or programs == [DESKTOP] else found_host(options.host)
    results = []
    for program in programs:
        files, left = desktop_result(options) if program == DESKTOP else browser_result(program, host)
        results.append({"browser": program, "files": [str(path) for path in files], "to_do": left})
    if options.json:
        show_json(results)
        return 0
    for result in results:
        done = "taken away" if options.remove else DONE.get(result["browser"], "the entry of the native host is in")
        print(f"{result['browser']}: {done} {', '.join(result['files']) or 'nothing'}")
        for number, step in enumerate(result["to_do"], 1):
            print(f"  {number}. {step}")
    return 0


def browser_result(browser: str, host: Path | None) -> tuple[list[Path], list[str]]:
    """host: None: to be removed"""
    return (remove(browser), []) if host is None else (write(browser, host), list(to_do(browser)))


def desktop_result(options: argparse.Namespace) -> tuple[list[Path], list[str]]:
    return (desktop.take_away(), []) if options.remove else desktop.set_up()


# ---- The host


def found_host(named: str | None) -> Path:
    named = named or os.environ.get("SEGUE_BROWSER_HOST")
    program = first_program([named] if named else libexec_programs(HOST))
    if program is None:
        raise CommandError(f"there is no {named or HOST}: install it (`make install`), or name it with --host")
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
        new = path.with_suffix(".new")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            new.write_text(made)
            new.replace(path)
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
