# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shells that take part: `shell-init` for what they offer, `terminal` for what they continue."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from .._offer import Offer
from .._terminal import shown
from .answers import agreed
from .document import stale
from .installed import execute, how_to_install
from .output import MESSAGE, CommandError, note, show_json
from .quoting import joined, quoted
from .reach import asked_account, has_own_name, is_from_here
from .session import add_choice, beside, chooser, first, within
from .stdio import NAME, found
from .verbs import Verbs

TYPE = "SegueActivityTypeUsingTerminal"
SHELLS = {"bash": "bash.sh", "zsh": "zsh.sh", "fish": "fish.fish"}
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LONGEST_FOLDER, LONGEST_HOST, LONGEST_USER, LONGEST_SESSION = 4095, 253, 64, 255
"""Bytes: what Linux takes for a path, DNS for a name, and more than others need."""
ATTACH = {
    "tmux": ("tmux", "attach-session", "-t"),
    "screen": ("screen", "-x", "-r"),
    "zellij": ("zellij", "attach"),
}
GOING = 'cd -- "$1" && exec "${SHELL:-sh}" -l'
"""The program of sh that goes to a folder, and stays there."""
HOST_VARIABLE = "SEGUE_SSH_HOST"
"""The variable with the name by which ssh reaches this machine."""
SESSION = re.compile(r"[^\x00-\x1f\x7f-\x9f-][^\x00-\x1f\x7f-\x9f]*")
PATIENCE = 5.0
"""Seconds for an answer of tmux, or of a file system."""


def add(verbs: Verbs) -> None:
    init = verbs.add(
        "shell-init",
        shell_init,
        "print what a shell runs to take part: its folder is offered",
        'In ~/.bashrc: eval "$(segue shell-init bash)"; in ~/.zshrc: eval "$(segue shell-init zsh)"; in\n'
        "~/.config/fish/config.fish: segue shell-init fish | source. The folder of the shell is offered, and\n"
        "the session of tmux. With SEGUE_SSH_HOST, the name by which ssh reaches this machine, other machines can\n"
        "attach. `handoff` goes on with what another shell offers.",
    )
    init.add_argument("shell", choices=sorted(SHELLS), help="the shell")
    going = verbs.add(
        "terminal",
        terminal,
        "continue another shell: print its folder, or run the ssh that attaches",
        "A folder that is here is printed, for `cd`. For a session, or a folder of another machine, the command that\n"
        "goes there is shown, and runs only when the question is answered with y, or with --attach.",
    )
    add_choice(going)
    going.add_argument("--attach", action="store_true", help="run the command without the question")


def shell_init(options: argparse.Namespace) -> int:
    program = found()
    if program is None:
        raise CommandError(f"there is no {NAME}: install it ({how_to_install(NAME)}), or set SEGUE_STDIO to its path")
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        raise CommandError(f"SEGUE_STDIO names {shown(program, MESSAGE)}, which is no program that can be executed")
    code = Path(__file__).with_name("shells").joinpath(SHELLS[options.shell]).read_text(encoding="utf-8")
    words = {"@PROGRAM@": quoted(program), "@COMMAND@": joined(this_command())}
    for word, text in words.items():
        code = code.replace(word, text)
    if options.json:
        show_json({"shell": options.shell, "code": code}, line=True)
    else:
        print(code, end="")
    return 0


def this_command() -> tuple[str, ...]:
    """Returns the words that run this command again."""
    name = sys.argv[0]
    if os.path.basename(name) == "__main__.py":
        return (sys.executable, "-m", "segue")
    return (os.path.abspath(name),) if os.sep in name else (name,)


class Place(NamedTuple):
    """The place of another shell: only what the table of public types allows (R13.2)."""

    folder: str
    host: str | None
    user: str | None
    multiplexer: str | None
    session: str | None

    def command(self, is_from_here: bool, own_session: str | None) -> list[str] | None:
        """Returns the words that go there; None: there are none, so the folder counts.

        is_from_here: whether this machine has offered it: without a host, its session is one of this machine
        own_session: the session of tmux that this command runs in; None: it runs in none
        """
        # Multiplexers have names in UTF-8, whatever the locale is.
        session = None if self.session is None else os.fsdecode(self.session.encode())
        if self.host is None and self.multiplexer == "tmux" and session is not None and own_session is not None:
            # tmux refuses to attach inside of a session. Without the colon a name with % is that of a pane.
            words = ["tmux", "switch-client", "-t", f"={session}:"]
            return words if is_from_here and self.session != own_session else None
        attach = None
        if self.multiplexer is not None and session is not None:
            # tmux takes a name for the beginning of another one, unless it is told not to, and a last ; for the end of
            # the command.
            name = re.sub(";$", r"\\;", f"={session}") if self.multiplexer == "tmux" else session
            attach = [*ATTACH[self.multiplexer], name]
        there = self.there()
        if there is None:
            return attach if is_from_here else None
        # ssh hands one word to the shell there, which may be fish or csh.
        inside = joined(attach or ["exec", "sh", "-c", GOING, "sh", self.folder])
        return ["ssh", "-t", "--", there, inside]

    def there(self) -> str | None:
        """Returns the machine as ssh has it, with the user; None: this one."""
        return self.host if self.host is None or self.user is None else f"{self.user}@{self.host}"

    def question(self) -> str:
        """Returns the question that names the machine. It comes last: a long folder moves no words of ours away."""
        there = self.there()
        return "Run it here?" if there is None else f"Run it on {there}?"


def place_of(info: Any) -> Place:
    """Raises: CommandError if the folder is none; other values that are wrong count as absent (R13.3)."""
    info = info if isinstance(info, Mapping) else {}
    url = str(info.get("url", ""))
    path = re.fullmatch(r"file:(?://(?:localhost)?)?(/(?!/)[^?#]*)", url)
    folder = None if path is None else os.fsdecode(unquote_to_bytes(path[1]))
    if folder is None or CONTROL.search(folder):
        named = shown(url) or "it names none"
        raise CommandError(f"the other shell is in no folder that could be shown: {named}")
    if len(os.fsencode(folder)) > LONGEST_FOLDER:
        raise CommandError(f"the folder of the other shell has more than {LONGEST_FOLDER:,} bytes: {shown(folder)}")

    def text(key: str, pattern: re.Pattern[str], most: int = LONGEST_SESSION) -> str | None:
        value = info.get(key)
        return value if isinstance(value, str) and pattern.fullmatch(value) and len(value.encode()) <= most else None

    multiplexer, session = text("multiplexer", re.compile("|".join(ATTACH))), text("session", SESSION)
    # screen takes a name with a slash for that of another user's session, zellij one with a colon for an address.
    if multiplexer != "tmux" and re.search("[/:]", session or ""):
        session = None
    host, user = text("host", HOST, LONGEST_HOST), text("user", USER, LONGEST_USER)
    return Place(folder, host, user, multiplexer, session)


async def is_folder(path: str) -> bool:
    """Raises: CommandError if the file system does not answer: another device has chosen the path."""
    try:
        return await within(PATIENCE, beside(os.path.isdir, path))
    except (TimeoutError, asyncio.TimeoutError):
        raise CommandError(f"{shown(path, MESSAGE)} does not answer within {PATIENCE:g} s") from None


def own_terminal() -> str | None:
    """Returns the terminal that this command runs in, as labels of shells have it; None: it runs in none."""
    for descriptor in range(3):
        with suppress(OSError):
            return os.ttyname(descriptor).removeprefix("/dev/")
    return None


def own_session() -> str | None:
    """Returns the session of tmux that this command runs in; None: it runs in none."""
    if not os.environ.get("TMUX"):
        return None
    words = ["tmux", "display-message", "-p", "#S"]
    try:
        done = subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE)
        return done.stdout.decode().rstrip("\n")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


async def terminal(options: argparse.Namespace) -> int:
    if options.type not in (None, TYPE):
        raise CommandError(f"only {TYPE} is continued")
    options.type = TYPE
    async with chooser() as app:
        account = await asked_account(app)
        own = own_terminal()

        async def is_of_another_terminal(offer: Offer) -> bool:
            """A shell that has started this one is in the same terminal."""
            return own is None or not (offer.label or "").startswith(f"{own}, ") or not has_own_name(offer, account)

        def waits() -> None:
            note(f"no other terminal offers anything; waiting for one, {options.wait:g} s at most")

        offer = await first(app, options, waits, is_of_another_terminal, "shell of another terminal")
        if offer.payload_version > 1:
            raise CommandError("what is offered is of a newer version than this command knows")
        # The title comes last: it may read like words of ours.
        names = (shown(name) for name in (offer.device_name, offer.app_name, offer.title or ""))
        note("going on from {}: {}, '{}'".format(*names))
        async with app.continue_(offer) as activity:
            place = place_of(activity.user_info)
            is_here = is_from_here(offer, account)
            if place.host == os.environ.get(HOST_VARIABLE):
                place = place._replace(host=None, user=None)
            command = place.command(is_here, own_session())
            if command is None and not await is_folder(place.folder):
                raise CommandError(f"there is no folder {shown(place.folder, MESSAGE)} on this machine")
            source = activity.continued_from
            if source is not None and source.stale:
                note(stale(source.stale_reason))
    if command is not None:
        # To be pasted: only what cannot be seen is escaped.
        note(f"to go there: {joined(command)}")
    # Programs are not asked.
    asks = command is not None and not options.attach and not options.json and sys.stdin.isatty()
    runs = command is not None and (options.attach or (asks and bool(await agreed(place.question()))))
    if options.json:
        show_json({**place._asdict(), "command": command, "runs": runs})
    if command is None:
        if not options.json:
            sys.stdout.buffer.write(os.fsencode(place.folder) + b"\n")
            sys.stdout.flush()
    elif runs:
        run(command)
    return 0


def run(command: list[str]) -> None:
    """Runs it in place of this command, in the terminal: the shell reads standard output."""
    sys.stdout.flush()
    try:
        os.dup2(os.open("/dev/tty", os.O_RDWR), 1)
    except OSError as error:
        raise CommandError(f"/dev/tty: {error.strerror}") from error
    execute(shutil.which(command[0]) or command[0], *command)
