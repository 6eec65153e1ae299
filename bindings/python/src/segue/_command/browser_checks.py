# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checks of browsers in `doctor`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._terminal import shown
from . import setup
from .checks import Finding, State
from .installed import config_folder, home_folder

CHROMIUM_IDS = ("maklkhmbdnkfeccakmnnmlkhgkelbapg",)
"""The extension in Chromium."""
SYSTEM_FOLDERS = {
    "firefox": ("/usr/lib/mozilla/native-messaging-hosts",),
    "chromium": ("/etc/chromium/native-messaging-hosts", "/etc/opt/chrome/native-messaging-hosts"),
}
"""Entries of the host for all users."""
PROXY = "org.freedesktop.NativeMessagingProxy"
BUS = "org.freedesktop.DBus"
NAMES = ("ListNames", "ListActivatableNames")
SECONDS = 2
"""For the session bus to say its names."""
FILE_MOST = 64 << 20
"""Bytes of a browser's file about its extensions; a longer one is not read."""


def browsers() -> list[Finding]:
    """Checks each kind of browser that is installed."""
    found = []
    for browser in setup.KINDS:
        programs, boxed = setup.installed(browser), setup.boxed(browser)
        if programs or boxed:
            paths = [*programs, *(each for each in boxed if each not in programs)]
            found.append(Finding(browser, State.OK, ", ".join(shown(each, None) for each in paths)))
            found += [*host_entries(browser), *extension(browser), *sandbox(browser, boxed)]
    return found


# ---- The host


def host_entries(browser: str) -> Iterator[Finding]:
    """Whether the browser finds segue-browser-host, and whether that can be started."""
    folders = [*setup.folders(browser), *map(Path, SYSTEM_FOLDERS[browser])]
    entries = [path for folder in folders if os.path.lexists(path := folder / f"{setup.NAME}.json")]
    advice = f"`segue setup {browser}`"
    if not entries:
        why = f"it cannot start {setup.HOST}: no entry of it is there, so no page is continued from or in its extension"
        yield Finding(browser, State.NOTE, why, advice)
    for path in entries:
        problem = entry_problem(path, browser)
        if problem:
            yield Finding(browser, State.PROBLEM, f"{shown(str(path), None)}: {problem}", advice)
        else:
            yield Finding(browser, State.OK, f"the entry of {setup.HOST} is in {shown(str(path), None)}")
    running = processes(browser)
    if running:
        words = ", ".join(map(str, running))
        yield Finding(browser, State.OK, f"its extension is connected: {setup.HOST} runs (process {words})")


def entry_problem(path: Path, browser: str) -> str | None:
    """Returns what is wrong with an entry of the host; None: a browser can start the program that it names."""
    made, problem = read(path)
    if problem:
        return problem
    if not isinstance(made, dict) or made.get("name") != setup.NAME or not isinstance(made.get("path"), str):
        return f"this is no entry of {setup.HOST}"
    program = made["path"]
    if not os.path.isabs(program) or not os.path.isfile(program) or not os.access(program, os.X_OK):
        return f"it names {shown(program, None)}, which is no program"
    allowed = made.get("allowed_extensions" if browser == "firefox" else "allowed_origins")
    if not isinstance(allowed, list) or not {setup.ADD_ON, *map(origin, CHROMIUM_IDS)} & set(map(str, allowed)):
        return "it does not allow the extension of this version"
    return None


def origin(identifier: str) -> str:
    return f"chrome-extension://{identifier}/"


def read(path: Path) -> tuple[Any, str | None]:
    """Returns what a file of JSON holds, or why it does not."""
    try:
        if path.stat().st_size > FILE_MOST:
            return None, "is too long"
        return json.loads(path.read_bytes()), None
    except OSError as error:
        return None, error.strerror or str(error)
    except (ValueError, RecursionError):
        return None, "is no JSON"


def processes(browser: str) -> list[int]:
    """Returns the hosts that extensions of this user's browsers have started."""
    found = []
    for process in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/comm", "rb") as file:
                # The kernel keeps 15 bytes of a name.
                if file.read().rstrip(b"\n") != os.fsencode(setup.HOST)[:15]:
                    continue
            if os.stat(f"/proc/{process}").st_uid != os.geteuid():
                continue
            with open(f"/proc/{process}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:  # it has ended
            continue
        if any(word.startswith(b"chrome-extension://") for word in words) == (browser == "chromium"):
            found.append(int(process))
    return sorted(found)


# ---- The extension


def extension(browser: str) -> Iterator[Finding]:
    """Whether a profile of the browser has the extension."""
    states = firefox_states() if browser == "firefox" else chromium_states()
    if any(states.values()):
        profiles = ", ".join(shown(str(each), None) for each, is_on in states.items() if is_on)
        yield Finding(browser, State.OK, f"the extension is in {profiles}")
    elif states:
        profiles = ", ".join(shown(str(each), None) for each in states)
        page = "about:addons" if browser == "firefox" else "chrome://extensions"
        yield Finding(browser, State.NOTE, f"the extension is switched off in {profiles}", f"allow it in {page}")
    elif not processes(browser):
        why = "the extension is in no profile that this command sees; a temporary one is not seen"
        yield Finding(browser, State.NOTE, why, " ".join(setup.install_steps(browser)))


def firefox_states() -> dict[Path, bool]:
    """Returns whether the extension is on, for each profile that has it."""
    states = {}
    bases = (home_folder() / ".mozilla/firefox", config_folder() / "mozilla/firefox", home_folder() / ".librewolf")
    for path in (each for base in bases for each in sorted(base.glob("*/extensions.json"))):
        made = read(path)[0]
        addons = made.get("addons") if isinstance(made, dict) else None
        for each in addons if isinstance(addons, list) else []:
            if isinstance(each, dict) and each.get("id") == setup.ADD_ON:
                states[path.parent] = each.get("active") is True
    return states


def chromium_states() -> dict[Path, bool]:
    """Returns the same for Chromium and its like, whose folders of settings hold a folder for each profile."""
    states: dict[Path, bool] = {}
    for base in (folder.parent for folder in setup.folders("chromium")):
        for path in sorted([*base.glob("*/Secure Preferences"), *base.glob("*/Preferences")]):
            for identifier in CHROMIUM_IDS:
                made = read(path)[0]
                for name in ("extensions", "settings", identifier):
                    made = made.get(name) if isinstance(made, dict) else None
                if isinstance(made, dict):
                    is_on = not made.get("disable_reasons") and made.get("state", 1) == 1
                    states[path.parent] = states.get(path.parent, False) or is_on
    return states


# ---- Sandboxes


def sandbox(browser: str, boxed: list[str]) -> Iterator[Finding]:
    """Whether a browser in a Snap or Flatpak can reach the host."""
    if not boxed:
        return
    names = ", ".join(shown(each, None) for each in boxed)
    if browser == "chromium":
        yield Finding(
            browser, State.NOTE, f"{names}: {setup.UNSUPPORTED}", "use Chromium or Chrome of a Debian package"
        )
        return
    there = proxy_is_there()
    if there:
        why = f"{names} is a Snap or Flatpak, and {PROXY} is on the session bus, by which it starts {setup.HOST}"
        yield Finding(browser, State.OK, why, "Firefox has to be of version 157 or newer")
    else:
        state = (
            "is not on the session bus" if there is False else "cannot be looked for: the session bus does not answer"
        )
        why = f"{names} is a Snap or Flatpak, which starts {setup.HOST} only through {PROXY}; that {state}"
        yield Finding(
            browser, State.NOTE, why, "install that service of your distribution, or Firefox as a Debian package"
        )


def proxy_is_there() -> bool | None:
    """Whether the session bus has the proxy, or can start it; None: nobody can say."""
    answers = [names for each in NAMES if (names := bus_names(each)) is not None]
    if not answers:
        return None
    return any(f'"{PROXY}"' in names for names in answers)


def bus_names(call: str) -> str | None:
    """Returns what the bus answers to a question for names, each in quotes; None: it does not answer."""
    for command in (
        ("busctl", "--user", f"--timeout={SECONDS}", "call", BUS, f"/{BUS.replace('.', '/')}", BUS, call),
        ("dbus-send", "--session", "--print-reply", f"--dest={BUS}", f"/{BUS.replace('.', '/')}", f"{BUS}.{call}"),
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        return done.stdout
    return None
