# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`segue terminal` checks the place of another shell, and login shells read alike the command that goes there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from host import Host
from programs import programs
from segue._command import shell as shell_verbs
from segue._command.output import CommandError
from segue._command.quoting import joined
from segue._command.shell import GOING, LONGEST_FOLDER, Place, is_folder, place_of
from shells import COMMAND, SHELLS, TYPE, variables, without_settings
from temporary_folders import remove
from test_session import offer

Start = Callable[..., Host]
NONE = "the other shell is in no folder that could be shown"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder without settings of a shell."""
    return tmp_path_factory.mktemp("home")


def terminal_verb(folder: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "terminal", "--json", *words]
    environment = {**variables(folder, tmp_path)}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("info", "command"),
    [
        ({"host": "-oProxyCommand=x"}, None),
        ({"host": "a b"}, None),
        ({"host": "h", "user": "-x"}, ["ssh", "-t", "--", "h", f"exec sh -c '{GOING}' sh /"]),
        ({"multiplexer": "sh", "session": "s"}, None),
        ({"multiplexer": "tmux", "session": "-x"}, None),
        ({"multiplexer": "tmux", "session": "a\nb"}, None),
        ({"multiplexer": "screen", "session": "s"}, ["screen", "-x", "-r", "s"]),
        ({"multiplexer": "screen", "session": "root/s"}, None),
        ({"multiplexer": "zellij", "session": "https://example.com"}, None),
        ({"host": "h", "multiplexer": "zellij", "session": "s"}, ["ssh", "-t", "--", "h", "zellij attach s"]),
    ],
)
def test_what_comes_is_checked_and_no_program_is_asked(folder, tmp_path, ssh, info, command) -> None:
    """R13.2: the origin is an app of the library, whose values nothing has checked."""
    script = ["offer", TYPE, "--title", "theirs", "--once", "--user-info"]
    value = json.dumps({"url": {"$url": "file:///"}, **info})
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        run("origin", [*COMMAND, *script, value])
        done = terminal_verb(folder, tmp_path)
    said = json.loads(done.stdout)
    assert (said["command"], said["runs"], said["folder"]) == (command, False, "/")
    assert not ssh.exists()


HISTORY = "a!#:3:s,cd,`touch INJECTED`,"
"""csh replaces such words by those of the line, also in single quotes: here by a command."""
HOSTILE = [
    "\\'\";touch INJECTED;#",
    "a\\\\'b''c'",
    "=ls",
    "~",
    "$(touch INJECTED)`id`",
    "%self",
    HISTORY,
    "ü\\",
    "",
    "{a,b}*",
    "it's *",
]


@pytest.mark.parametrize("name", [pytest.param("sh"), *SHELLS])
def test_every_shell_reads_quoted_words_alike(tmp_path: Path, home: Path, name: str) -> None:
    """ssh hands one word to the login shell, whichever it is; fish has escapes inside of single quotes."""
    show = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
    words, environment = [name, "-c", joined([*show, *HOSTILE])], without_settings(home)
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert json.loads(done.stdout) == HOSTILE and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", [*HOSTILE, "!", "\\!", "it's!", "!'\\'!", "a!b c"])
def test_no_quotes_have_what_fish_or_csh_reads_in_another_way(word: str) -> None:
    """fish has escapes inside of single quotes, csh has history there; in double quotes sh has escapes, too."""
    written = joined([word])
    inside = re.findall(r"""\\.|('[^']*'|"[^"]*")""", written)
    assert not any(re.search(r"[\\!]", each) for each in inside), written
    assert shlex.split(written) == [word]


@pytest.mark.parametrize("name", [pytest.param("sh"), *SHELLS])
def test_every_shell_goes_to_the_folder_and_runs_nothing_else(folder, tmp_path: Path, home: Path, name: str) -> None:
    place = tmp_path / HOSTILE[0] / HISTORY
    place.mkdir(parents=True)
    login = tmp_path / "login"
    login.write_text('#!/bin/sh\nprintf "%s\\n" "$*" "$PWD"\n')
    login.chmod(0o755)
    info = {"url": {"$url": place.as_uri()}, "host": "h"}
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        run("origin", [*COMMAND, "offer", TYPE, "--title", "theirs", "--once", "--user-info", json.dumps(info)])
        done = terminal_verb(folder, tmp_path)
    words = json.loads(done.stdout)["command"]
    # A copy of what is shown goes there, too.
    (copied,) = re.findall("^to go there: (.*)$", done.stderr, re.MULTILINE)
    assert shlex.split(copied) == words
    environment = {**without_settings(home), "SHELL": str(login)}
    done = subprocess.run([name, "-c", words[-1]], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.stdout.decode() == f"-l\n{place}\n", done
    assert not any(tmp_path.rglob("INJECTED"))


def test_without_an_answer_of_the_agent_nobody_knows_which_machine_offers(start: Start, folder, tmp_path) -> None:
    """A device that has the name of this host could have its session attached to here."""
    host = start()
    host.open("origin", save=False)
    session = {"multiplexer": "tmux", "session": "work"}
    offer(host, TYPE, "theirs", userInfo={"url": "file:///", **session})
    control = Path(f"{folder}-agent")
    control.mkdir(mode=0o700)
    try:
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(control / "control"))
            silent.listen()
            done = terminal_verb(folder, tmp_path)
    finally:
        remove(control)
    assert done.returncode == 1 and "the agent does not answer within 10 s" in done.stderr, done


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"url": "file:///no/such/folder"}, "there is no folder /no/such/folder on this machine"),
        ({"url": "https://example.com/"}, f"{NONE}: https://example.com/"),
        ({"url": "file://elsewhere/"}, f"{NONE}: file://elsewhere/"),
        ({"url": "file:///a%0ab"}, f"{NONE}: file:///a%0ab"),
        ({"url": "file:///a%C2%9Bb"}, f"{NONE}: file:///a%C2%9Bb"),
        ({"host": "h"}, f"{NONE}: it names none"),
        (
            {"url": "file:///" + "a" * LONGEST_FOLDER, "host": "h"},
            "the folder of the other shell has more than 4,095 bytes: /" + "a" * 63 + "…",
        ),
    ],
    ids=lambda each: "" if isinstance(each, str) else str(each.get("url", "none"))[:24],
)
def test_a_folder_that_is_not_here_is_named_and_the_origin_is_told(folder, tmp_path, info: dict, said: str) -> None:
    script = ["offer", TYPE, "--title", "theirs", "--user-info", json.dumps(info)]
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        origin = run("origin", [*COMMAND, *script])
        done = terminal_verb(folder, tmp_path)
        assert (done.returncode, done.stdout) == (1, "") and f"segue: {said}\n" in done.stderr, done
        origin.wait_for("^failed")


def test_a_value_that_is_too_long_counts_as_absent() -> None:
    """It would move the words around it out of sight."""
    longest = {"host": "h" * 253, "user": "u" * 64, "multiplexer": "tmux", "session": "ü" * 127 + "s"}
    url = "file:///" + "%20" * (LONGEST_FOLDER - 1)
    place = Place("/" + " " * (LONGEST_FOLDER - 1), *longest.values())
    assert place_of({"url": url, **longest}) == place
    for key in ("host", "user", "session"):
        assert place_of({"url": url, **longest, key: longest[key] + "s"}) == place._replace(**{key: None})
    with pytest.raises(CommandError, match="more than 4,095 bytes"):
        place_of({"url": url + "s"})


@pytest.mark.parametrize("session", ["a\x7fb", "a\x9bb", "\x80"])
def test_a_session_with_controls_of_a_terminal_counts_as_absent(session: str) -> None:
    assert place_of({"url": "file:///", "multiplexer": "tmux", "session": session}).session is None


@pytest.mark.skipif(not shutil.which("tmux"), reason="there is no tmux")
@pytest.mark.parametrize("session", ["a;", "a;b;;"])
def test_tmux_is_given_a_name_that_ends_as_its_commands_do(tmp_path: Path, session: str) -> None:
    """It took the `;` away, and attached to another session."""
    command = place_of({"url": "file:///", "multiplexer": "tmux", "session": session}).command(True, None)
    assert command is not None
    tmux = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    try:
        for name in (session[:-1] + "\\;", session.rstrip(";")):
            subprocess.run([*tmux, "new-session", "-d", "-s", name, "cat"], check=True, timeout=60)
        words = [*tmux, "list-windows", "-F", "#S", "-t", command[-1]]
        assert subprocess.run(words, capture_output=True, text=True, timeout=60).stdout == f"{session}\n"
    finally:
        subprocess.run([*tmux, "kill-server"], timeout=60)


def test_a_file_system_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another device has chosen the path, which may be on a server that is off."""
    answered = threading.Event()
    monkeypatch.setattr(os.path, "isdir", lambda path: answered.wait())
    monkeypatch.setattr(shell_verbs, "PATIENCE", 0.01)
    try:
        with pytest.raises(CommandError, match=r"^/net/off does not answer within 0\.01 s$"):
            asyncio.run(is_folder("/net/off"))
    finally:
        answered.set()
