# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The findings of `doctor`, and its checks of folders."""

from __future__ import annotations

import enum
import fcntl
import os
import re
import stat
import struct
from dataclasses import dataclass

from .output import bytes_in_words

LEAST_SPACE = 16 << 20
"""Bytes below which a disk counts as full."""
FLOCK = "hhqqi"
"""struct flock: type, whence, start, length, process."""

_LOCK = "-agent/lock"
"""The end of the path of an agent's lock file, after the runtime folder that the agent serves (docs/agent.md)."""
_RUNTIME_VARIABLES = ("SEGUE_RUNTIME_DIR", "XDG_RUNTIME_DIR")

Problem = tuple[str, str]
"""The problem in words, and the advice for it."""


class State(enum.Enum):
    """The severity of a finding."""

    OK = 1
    NOTE = 2
    """Worth to know, and no problem."""
    PROBLEM = 3


@dataclass(frozen=True)
class Finding:
    """A result of a check."""

    about: str
    state: State
    message: str
    advice: str | None = None
    """A step that the user can take."""


def folder_problem(path: str, variable: str) -> Problem | None:
    """Returns the problem of a folder that must be this user's only; None: there is none.

    variable: of the environment, which names another one
    """
    try:
        status = os.lstat(path)
    except OSError as error:
        return (error.strerror or str(error), parent_advice(path, variable))
    if stat.S_ISLNK(status.st_mode):
        return ("is a symbolic link", f"remove it: rm '{path}'")
    if not stat.S_ISDIR(status.st_mode):
        return ("is no folder", f"move it out of the way: mv '{path}' '{path}.old'")
    if status.st_uid != os.geteuid():
        return (f"belongs to user {status.st_uid}", f"remove it as that user, or set {variable} to another folder")
    if stat.S_IMODE(status.st_mode) != 0o700:
        return (f"has mode {stat.S_IMODE(status.st_mode):04o}, not 0700", f"chmod 700 '{path}'")
    if not os.access(path, os.W_OK):
        return ("is read-only", f"mount it writable, or set {variable} to a folder that can be written")
    return None


def parent_advice(path: str, variable: str) -> str:
    """Returns advice by which a folder can be made."""
    parent = os.path.dirname(path)
    if not os.path.lexists(parent):
        return f"create the folder that it should be in: mkdir -p -m 700 '{parent}'; or set {variable} to another one"
    if not os.path.isdir(parent):
        return f"'{parent}' is no folder: set {variable} to one"
    return f"set {variable} to a folder that can be made, in all apps: '{parent}' does not allow it"


def runtime_variable() -> str:
    """The variable that decides where the runtime folder is; without any, the first one can."""
    return next((name for name in _RUNTIME_VARIABLES if os.environ.get(name)), "SEGUE_RUNTIME_DIR")


def runtime_refusal(message: str) -> Finding:
    """Returns the problem of a runtime folder that the library has refused, and advice."""
    variable = runtime_variable()
    found = re.match(r"runtime folder (.*?): (.*)", message, re.DOTALL)
    if found is None:
        return Finding("runtime folder", State.PROBLEM, message, f"set {variable} to a folder of yours, in all apps")
    path, why = found[1], found[2]
    advice = f"set {variable} to an absolute path, the same in all apps"
    if os.path.isabs(path):
        problem = folder_problem(path, variable)
        advice = problem[1] if problem else f"set {variable} to a folder of yours, in all apps"
    return Finding("runtime folder", State.PROBLEM, f"{path}: {why}", advice)


def set_aside(path: str) -> list[str]:
    """The names of files in the state folder that were damaged, and were set aside."""
    try:
        names = os.listdir(path)
    except OSError:
        return []
    return sorted(name for name in names if re.fullmatch(r".*\.damaged-[0-9]+", name))


def space_problem(path: str) -> Problem | None:
    """Whether a disk is nearly full."""
    found = os.statvfs(path)
    free = found.f_bavail * found.f_frsize
    if free >= LEAST_SPACE:
        return None
    return (f"has {bytes_in_words(free)} left: what should be kept is refused", "make room on that disk")


def agents_elsewhere(runtime_folder: str, name: str) -> list[Finding]:
    """The agents of this user that serve other runtime folders than that of this process: no app here meets them."""
    found = []
    for process in sorted(filter(str.isdecimal, os.listdir("/proc")), key=int):
        served = folder_of_agent(f"/proc/{process}", name)
        if served is not None and os.path.realpath(served) != os.path.realpath(runtime_folder):
            why = f"process {process} serves another runtime folder, {served}; the one here is {runtime_folder}"
            advice = f"give apps and agent the same {' and '.join(_RUNTIME_VARIABLES)}"
            found.append(Finding("agent", State.NOTE, why, advice))
    return found


def folder_of_agent(process: str, name: str) -> str | None:
    """The runtime folder of an agent, by the lock that it holds there; None: it is no agent, or another user's.

    process: its folder in /proc
    """
    try:
        # A program calls itself anything, also bytes that are no UTF-8.
        with open(f"{process}/comm", "rb") as file:
            if file.read().rstrip(b"\n") != os.fsencode(name):
                return None
        opened = [os.readlink(f"{process}/fd/{each}") for each in os.listdir(f"{process}/fd")]
    except OSError:  # it has ended
        return None
    return next((each.removesuffix(_LOCK) for each in opened if each.endswith(_LOCK)), None)


def stopped_agent(runtime_folder: str, name: str) -> int | None:
    """The process of an agent that has the place of the agent and is stopped, as by Ctrl-Z; None: there is none."""
    try:
        with open(runtime_folder.rstrip("/") + _LOCK) as file:
            # The kernel says which process has the lock: any may write into the file.
            lock = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))
        process = struct.unpack(FLOCK, lock)[4]
        with open(f"/proc/{process}/stat", errors="replace") as file:
            command, _, rest = file.read().partition("(")[2].rpartition(")")
    except (OSError, ValueError):
        return None
    return process if command == name and rest.split()[:1] in (["T"], ["t"]) else None


def state_folder() -> str | None:
    """The folder of the agent's store, by the environment of this process."""
    named, home_of_state = os.environ.get("SEGUE_STATE_DIR"), os.environ.get("XDG_STATE_HOME")
    if named:
        return named
    if home_of_state:
        return os.path.join(home_of_state, "segue")
    home = os.environ.get("HOME")
    return os.path.join(home, ".local", "state", "segue") if home else None
