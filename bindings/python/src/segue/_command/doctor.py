# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what is wrong on this machine, and what to do: `doctor`."""

from __future__ import annotations

import argparse
import asyncio
import os
import re

from .. import __version__, library_path, library_version
from .._app import App
from .._terminal import shown, shown_line
from ..errors import (
    ConnectionUnavailableError,
    Error,
    InvalidStateError,
    LimitExceededError,
    SystemRefusedError,
    UnsupportedVersionError,
)
from . import desktop
from .agent import NAME, START, found
from .browser_checks import browsers
from .checks import (
    Finding,
    State,
    agents_elsewhere,
    folder_problem,
    runtime_refusal,
    runtime_variable,
    set_aside,
    space_problem,
    state_folder,
    stopped_agent,
)
from .device_checks import devices
from .installed import how_to_install
from .output import count, show_json, when
from .parts import plugins
from .session import asked, chooser, seconds, value_of, within
from .verbs import Verbs

LOST = {
    "inbox.db": "what waited for apps, and offers that were kept, are in it only",
    "search.db": "what apps had saved is in it only, until they save it again",
    "account": "this device has left its account by that",
}
"""For each file, the loss while it is set aside."""
UNHEARD = (
    "its program has no log callback, and no function that is told of it: did_fail, or opening_failed if it failed"
    " after `continue`; set one of them"
)
VARIABLES = ("SEGUE_RUNTIME_DIR", "XDG_RUNTIME_DIR", "TMPDIR")
MARKS = {State.OK: "ok", State.NOTE: "note", State.PROBLEM: "PROBLEM"}


def add(verbs: Verbs) -> None:
    parser = verbs.add(
        "doctor",
        doctor,
        "folders, hub, agent, versions, manifests, store, devices, browsers, desktop, plugins: what is wrong",
        "Notes are no problems: without an agent, apps that run continue each other's activities.\n"
        "The exit status is 1 if there is a problem.",
    )
    parser.add_argument("--wait", metavar="SECONDS", type=seconds, default=5.0, help="to wait for a hub (default: 5)")


async def doctor(options: argparse.Namespace) -> int:
    findings = [Finding("library", State.OK, f"{library_path}, version {library_version}, package {__version__}")]
    said = ", ".join(f"{name}: {os.environ.get(name) or 'not set'}" for name in VARIABLES)
    findings.append(Finding("environment", State.OK, said))
    try:
        async with chooser() as app:
            findings += await from_inside(app, options.wait)
    except Error as error:
        if error.message.startswith("runtime folder "):
            findings.append(runtime_refusal(error.message))
        else:
            advice = "SEGUE_LOG=debug shows what the library does; the message says what it could not do"
            findings.append(Finding("hub", State.PROBLEM, str(error), advice))
    findings += [*store(), *browsers(), *desktop.findings(), *plugins()]
    if options.json:
        show_json(findings)
    else:
        show(findings)
    return 1 if any(each.state == State.PROBLEM for each in findings) else 0


async def from_inside(app: App, patience: float) -> list[Finding]:
    """Checks what an open app sees."""
    folder = runtime_folder(value_of(app.describe(), "runtime folder"))
    try:
        await within(patience, app.ready())
    except (asyncio.TimeoutError, TimeoutError):
        problem = app.connection_problem
        why = str(problem) if problem else "no hub has answered yet"
        advice: str | None = None
        if not isinstance(problem, LimitExceededError):  # whose message says what to do
            advice = "a hub that is stopped (Ctrl-Z) has to go on; one of a newer protocol needs a newer library here"
        return [folder, Finding("hub", State.PROBLEM, f"not connected: {why}", advice)]
    return [folder, *await asked(app, connected, app)]


def show(findings: list[Finding]) -> None:
    for each in findings:
        print(f"{MARKS[each.state]:<8}{each.about}: {shown_line(each.message)}")
        if each.advice:
            print(f"{'':<8}what to do: {shown_line(each.advice)}")
    problems = sum(each.state == State.PROBLEM for each in findings)
    print("nothing is wrong" if not problems else f"{problems} problem{'s' if problems > 1 else ''}")


def runtime_folder(path: str) -> Finding:
    problem = folder_problem(path, runtime_variable())
    if problem is None:
        return Finding("runtime folder", State.OK, path)
    return Finding("runtime folder", State.PROBLEM, f"{path}: {problem[0]}", problem[1])


# ---- what the hub and the agent say ----


def connected(app: App) -> list[Finding]:
    """Checks what can be asked once there is a hub."""
    hub = value_of(app.describe(), "hub")
    carrier = re.search(r"agent (\S+)", hub)
    findings = [Finding("hub", State.OK, f"connected, {hub}{'' if carrier else ', carried by an app'}")]
    program = found()
    stopped = stopped_agent(value_of(app.describe(), "runtime folder"), NAME)
    if stopped is not None:
        why = f"process {stopped} is stopped (Ctrl-Z, a debugger), so it neither keeps nor delivers anything"
        return [*findings, Finding("agent", State.PROBLEM, why, f"let it go on: kill -CONT {stopped}")]
    if carrier is None:
        why = "none carries the hub: apps that do not run get nothing, and nothing is kept for them"
        there = START if program else f"install {NAME} ({how_to_install(NAME)}), then {START}"
        findings += agents_elsewhere(value_of(app.describe(), "runtime folder"), NAME)
        return [*findings, Finding("agent", State.NOTE, why, there)]
    if carrier[1] == library_version:
        findings.append(Finding("agent", State.OK, f"version {carrier[1]}"))
    else:
        why = f"version {carrier[1]}, and the library has {library_version}"
        findings.append(Finding("agent", State.NOTE, why, "after an upgrade: `segue agent --replace`"))
    for about, check in (("manifests", manifests), ("inbox", inbox), ("failures", failures), ("account", devices)):
        try:
            findings += check(app)
        except ConnectionUnavailableError as error:
            findings.append(Finding(about, State.PROBLEM, error.message, "try again: the agent has just gone"))
        except UnsupportedVersionError as error:
            findings.append(Finding(about, State.NOTE, error.message, "after an upgrade: `segue agent --replace`"))
        except Error as error:
            findings.append(Finding(about, State.PROBLEM, str(error), remedy(error)))
    return findings


def remedy(error: Error) -> str | None:
    """Returns advice about a request that the agent has refused. None: the message contains it."""
    if isinstance(error, InvalidStateError) and "`segue account leave`" in error.message:
        return None  # of another machine
    if isinstance(error, SystemRefusedError):
        return f"look at the state folder; the log of {NAME} says more"
    return f"the log of {NAME} says more"


def manifests(app: App) -> list[Finding]:
    known = app.apps()
    good = [each for each in known if each.error is None and each.shadowed_by is None]
    findings = [Finding("manifests", State.OK, f"{count(len(good), 'app')} that can be used")]
    for each in known:
        if each.error is not None:
            findings.append(Finding("manifests", State.PROBLEM, each.error, "correct or remove that file"))
        elif each.no_launch is not None and each.shadowed_by is None:
            why = f"{shown(each.bundle_identifier or '')} cannot be started: {each.no_launch}"
            findings.append(Finding("manifests", State.NOTE, why, launch_remedy(each.no_launch)))
        for warning in each.warnings:
            findings.append(Finding("manifests", State.NOTE, f"{shown(each.path, None)}: {shown(warning, None)}", None))
    return findings


def launch_remedy(why: str) -> str:
    """Returns advice about an app that cannot be started."""
    missing = re.search(r"SegueDesktopFile: ([^/]+\.desktop): there is no such file", why)
    if missing is not None:
        return f"add {missing[1]} to a folder of applications, or correct SegueDesktopFile"
    if "SegueDesktopFile: is missing" in why:
        return "add SegueDesktopFile to the manifest, with the name of its .desktop file"
    if "Terminal: neither" in why:
        return "install xdg-terminal-exec, or a terminal emulator that provides x-terminal-emulator"
    return "correct its .desktop file"


def inbox(app: App) -> list[Finding]:
    entries = app.inbox()
    findings = [Finding("inbox", State.OK, f"entries that wait: {len(entries)}")]
    for each in entries:
        if each.held:
            why = f"{shown(each.bundle_identifier)} has crashed on '{shown(each.title or '')}' and gets it no more"
            advice = f"`segue inbox --retry {str(each.continuation_id)[:8]}`, or --drop"
            findings.append(Finding("inbox", State.NOTE, why, advice))
    return findings


def failures(app: App) -> list[Finding]:
    """The failures of apps that have nothing to tell them by."""
    found = []
    for each in app.unheard_failures():
        date = when(each.date)
        at = f" at {date}" if date else ""
        why = f"{shown(each.app_name)} could not continue {shown(each.type)}{at}: {shown(each.message)}"
        found.append(Finding("failures", State.NOTE, why, UNHEARD))
    return found


def store() -> list[Finding]:
    path = state_folder()
    if path is None:
        why = "neither SEGUE_STATE_DIR, XDG_STATE_HOME nor HOME says where it is"
        return [Finding("state folder", State.PROBLEM, why, "set HOME")]
    if not os.path.lexists(path):
        return [Finding("state folder", State.OK, f"{path}: not there; the agent makes it")]
    problem = folder_problem(path, "SEGUE_STATE_DIR") or space_problem(path)
    if problem is not None:
        return [Finding("state folder", State.PROBLEM, f"{path}: {problem[0]}", problem[1])]
    found = [Finding("state folder", State.OK, path)]
    for name in set_aside(path):
        kept = name.partition(".damaged-")[0]
        why = f"{os.path.join(path, name)}: {kept} was damaged, and was set aside; {LOST.get(kept, 'it began anew')}"
        found.append(Finding("state folder", State.NOTE, why, "delete it if nothing in it is of use any longer"))
    return found
