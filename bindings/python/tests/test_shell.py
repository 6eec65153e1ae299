# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `segue` in shell scripts: what goes through pipes and files, JSON, exit statuses, closed streams."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, TYPE, Opener, environment
from test_command_line import NASTY, command

import segue
from segue._command.arguments import arguments
from segue._command.checks import folder_problem
from segue._command.content import size

COMMAND = [sys.executable, "-W", "error", "-m", "segue"]


@contextmanager
def beside(folder: str, *words: str, says: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A command that runs meanwhile; it has said something on standard error."""
    with subprocess.Popen(
        [*COMMAND, *words],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert says in line, line + process.stderr.read()
            yield process
        finally:
            process.kill()


def result(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit status, and the rest of standard output."""
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out


# ---- handing over and taking over ----


def test_a_pipe_goes_from_one_shell_to_another(folder: str, tmp_path: Path) -> None:
    """Byte by byte, and both ends know."""
    script = """
        set -e
        head -c 3000001 /dev/urandom >content
        cat content | $SEGUE send --title 'some bytes' >receipt & sender=$!
        $SEGUE receive | cat >copy
        wait $sender
        cmp content copy
    """
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**environment(folder), "SEGUE": f"{sys.executable} -W error -m segue"},
        capture_output=True,
        text=True,
        timeout=PATIENCE * 2,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "receipt").read_text().startswith("restored by segue command line on ")
    assert "sending stdin, 2.861 MiB; waiting for a receiver" in done.stderr
    assert "receiving 'some bytes' from " in done.stderr


def test_files_arrive_in_a_folder_and_replace_nothing(folder: str, tmp_path: Path) -> None:
    """A sender hears of each attempt, and goes on until one succeeds."""
    (tmp_path / "one").write_bytes(b"1" * 1000)
    (tmp_path / "two").write_bytes(b"2" * 25)
    (target := tmp_path / "target").mkdir()
    (target / "two").write_text("precious")
    with beside(folder, "send", str(tmp_path / "one"), str(tmp_path / "two"), says="sending 2 files") as sender:
        assert sender.stdout is not None
        for words, why in (
            (["--limit", "1K"], "2 files, 1.001 KiB: more than 1 KiB; --limit allows more"),
            ([], "there are 2 files: --to FOLDER writes them"),
            (["--to", str(target)], f"{target}/two is there already: --force replaces it"),
        ):
            done = command(folder, "receive", *words)
            assert (done.returncode, done.stdout) == (1, b"")
            assert f"segue: {why}\n" in done.stderr.decode()
            assert sender.stdout.readline().startswith(("failed by", "declined by"))
        assert [path.name for path in target.iterdir()] == ["two"]
        done = command(folder, "receive", "--to", str(target), "--force", "--json")
        assert done.returncode == 0, done.stderr
        received = json.loads(done.stdout)
        assert received["files"] == [f"{target}/one", f"{target}/two"]
        assert received["activity"]["attachments"] == {"one": 1000, "two": 25}
        status, out = result(sender)
        assert (status, out.split(" ")[0]) == (0, "restored")
    assert (target / "one").read_bytes() == b"1" * 1000
    assert (target / "two").read_bytes() == b"2" * 25


def test_what_is_too_much_is_not_offered(folder: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 2049)
    done = command(folder, "send", "--limit", "2K", str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"file: more than 2 KiB in all; --limit allows more; nothing was offered" in done.stderr
    endless = subprocess.run(
        ["bash", "-c", 'yes | "$@"', "bash", *COMMAND, "send", "--limit", "10K"],
        env=environment(folder),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert endless.returncode == 1
    assert b"standard input: more than 10 KiB" in endless.stderr
    (odd := tmp_path / "odd\udcff").touch()
    refused = command(folder, "send", str(odd))
    assert (refused.returncode, b"\\udcff: name is not UTF-8" in refused.stderr) == (1, True), refused.stderr
    folder_sent = command(folder, "send", str(tmp_path))
    assert b"send a folder as an archive" in folder_sent.stderr


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("4096", 4096), ("64K", 65536), ("2g", 2 << 30)])
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5M", "10MB", "1KK", "٣", "9" * 99])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(Exception, match="is no size"):
        size(text)


def test_an_offer_from_a_script_is_continued_with_its_state(folder: str, tmp_path: Path) -> None:
    state = {"line": 12, "when": {"$date": 1700000000.25}, "tags": ["a", None]}
    (tmp_path / "state").write_text(json.dumps(state))
    words = ["offer", TYPE, "--title", "Draft", "--user-info", "-", "--attach", __file__, "--once", "--json"]
    with (tmp_path / "state").open() as file, beside(folder, *words, says=f"offering {TYPE}", stdin=file) as origin:
        done = command(folder, "continue", "--json")
        assert done.returncode == 0, done.stderr
        continued = json.loads(done.stdout)
        assert (continued["title"], continued["user_info"]) == ("Draft", state)
        assert continued["attachments"] == {"test_shell.py": os.stat(__file__).st_size}
        status, out = result(origin)
    receipt = json.loads(out)
    assert (status, receipt["outcome"]) == (0, "restored")
    assert receipt["continuation_id"] == continued["continued_from"]["continuation_id"]


@pytest.mark.parametrize("text", ["inf", "nan", "-1", "soon", "1e99"])
def test_what_is_no_time(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments().parse_args(["receive", f"--wait={text}"])
    assert ended.value.code == 2
    assert f"{text!r} is no number of seconds from 0 to 1000000000" in capsys.readouterr().err


def test_a_file_that_cannot_be_attached_is_named(folder: str, tmp_path: Path) -> None:
    done = command(folder, "offer", TYPE, "--attach", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"segue: {tmp_path}: what is to be attached is no regular file" in done.stderr.decode()


def test_receiving_waits_no_longer_than_it_is_told(folder: str) -> None:
    done = command(folder, "receive", "--wait", "0.1")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"waiting until something is sent; Ctrl-C ends that\n")
    assert b"nothing came in time" in done.stderr


# ---- files ----


@pytest.fixture
def encoded(tmp_path: Path) -> Path:
    activity = segue.Activity(None, TYPE, title=NASTY, user_info={"n": 1 << 60, "data": b"\x00"})
    activity.keywords = ["b", "a"]
    path = tmp_path / "activity"
    path.write_bytes(activity.encode())
    return path


def test_an_encoded_activity_is_shown(folder: str, encoded: Path) -> None:
    done = command(folder, "inspect", str(encoded))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[0] == f"type: {TYPE}"
    assert "user_info: " in done.stdout.decode()
    assert all(line.isprintable() for line in lines)
    with encoded.open() as file:
        piped = subprocess.run(
            [*COMMAND, "inspect", "-", "--json"], env=environment(folder), stdin=file, capture_output=True
        )
    shown = json.loads(piped.stdout)
    assert (shown["type"], shown["title"], shown["keywords"]) == (TYPE, NASTY, ["a", "b"])
    assert segue.decode_json(json.dumps(shown["user_info"]), segue.JSONMode.TAGGED) == {"n": 1 << 60, "data": b"\x00"}


@pytest.mark.parametrize("damage", ["empty", "cut", "missing", "endless"])
def test_what_is_no_activity_is_named(folder: str, encoded: Path, damage: str) -> None:
    path = encoded.with_name("missing") if damage == "missing" else encoded
    if damage == "endless":
        path = Path("/dev/zero")
    elif damage != "missing":
        path.write_bytes(encoded.read_bytes()[: 0 if damage == "empty" else -1])
    done = command(folder, "inspect", str(path))
    assert (done.returncode, done.stdout) == (1, b"")
    said = {"missing": f"{path}: No such file", "endless": "/dev/zero: more than 32 MiB"}.get(damage, "MALFORMED: ")
    assert f"segue: {said}" in done.stderr.decode()


# ---- JSON ----


def verbs() -> list[str]:
    parser = arguments()
    return list(next(each for each in parser._actions if each.dest == "verb").choices or ())


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_has_help_and_json(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments().parse_args([verb, "--help"])
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out


def test_json_of_others_is_plain_ascii(folder: str, opened: Opener) -> None:
    """No terminal is disturbed by it, and no program misled."""
    app = opened("com.example.notes", name=NASTY + "\x7fü", delivery="thread")
    segue.Activity(app, TYPE, title=NASTY, user_info={NASTY: NASTY}).become_current()
    app.ready().wait(PATIENCE)
    listed = command(folder, "list", "--json")
    assert listed.returncode == 0
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in listed.stdout)
    (offer,) = json.loads(listed.stdout)
    assert (offer["app_name"], offer["title"]) == (NASTY + "\x7fü", NASTY)
    continued = json.loads(command(folder, "continue", offer["id"][:8], "--json").stdout)
    assert continued["user_info"] == {NASTY: NASTY}
    assert continued["continued_from"]["activity_id"] == offer["id"]


# ---- what is missing ----


def test_why_nothing_is_continued_is_said_in_words(folder: str, opened: Opener) -> None:
    done = command(folder, "explain", "--type", "com.example.none", "--wait", "0.1")
    assert done.returncode == 1
    assert done.stdout.startswith(b"not offered: no app offers an activity of type com.example.none: ")
    app = opened(delivery="thread")
    segue.Activity(app, TYPE, title="Draft").become_current()
    app.ready().wait(PATIENCE)
    done = command(folder, "explain", "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["offer"]["title"], answer["reason"]["reason"], answer["candidates"]) == ("Draft", "no agent", [])


def test_the_agent_is_run_in_place_of_the_command(folder: str, tmp_path: Path) -> None:
    program = tmp_path / "segue-agent"
    program.write_text('#!/bin/sh\necho $$ $0 "$@"; grep SigIgn /proc/$$/status; exit 3\n')
    program.chmod(0o755)
    with subprocess.Popen(
        [*COMMAND, "agent", "--replace"],
        env={**environment(folder), "PATH": f"{tmp_path}:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    ran, ignored = out.splitlines()
    assert ran == f"{process.pid} {program} --replace"
    # The signals that Python ignores are not ignored in the new program.
    mask = int(ignored.split()[1], 16)
    assert not any(mask >> (number - 1) & 1 for number in (signal.SIGPIPE, signal.SIGXFSZ))
    missing = command(folder, "agent", SEGUE_AGENT=str(tmp_path / "nothing"))
    assert missing.returncode == 1
    assert f"segue: {tmp_path}/nothing: No such file or directory\n" in missing.stderr.decode()


@pytest.mark.parametrize(
    ("mode", "kind", "expected"),
    [
        (0o700, "folder", None),
        (0o755, "folder", "has mode 0755, not 0700"),
        (0, "missing", "No such file or directory"),
        (0, "link", "is a symbolic link"),
        (0o600, "file", "is no folder"),
    ],
)
def test_folders_that_are_not_the_users_alone(tmp_path: Path, mode: int, kind: str, expected: str | None) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
        path.chmod(mode)
    elif kind == "file":
        path.touch()
    elif kind == "link":
        path.symlink_to(tmp_path)
    problem = folder_problem(str(path), "SEGUE_STATE_DIR")
    assert (problem and problem[0]) == expected
    assert problem is None or problem[1]


def test_the_doctor_says_how_to_mend_a_folder(folder: str, tmp_path: Path) -> None:
    os.chmod(folder, 0o755)
    done = command(folder, "doctor", "--json", SEGUE_STATE_DIR=str(tmp_path / "state"))
    os.chmod(folder, stat.S_IRWXU)
    assert done.returncode == 1
    problems = [each for each in json.loads(done.stdout) if each["state"] == "problem"]
    assert [each["about"] for each in problems] == ["runtime folder"]
    assert folder in problems[0]["message"] and "chmod 700" in problems[0]["advice"]


@pytest.mark.parametrize(
    ("variable", "value", "advice"),
    [
        ("SEGUE_RUNTIME_DIR", "{}/none/run", "mkdir -p -m 700 '{}/none'"),
        ("XDG_RUNTIME_DIR", "{}/none", "mkdir -p -m 700 '{}/none'; or set XDG_RUNTIME_DIR"),
        ("SEGUE_RUNTIME_DIR", "run", "set SEGUE_RUNTIME_DIR to an absolute path"),
        ("XDG_RUNTIME_DIR", "run", "set XDG_RUNTIME_DIR to an absolute path"),
        ("SEGUE_RUNTIME_DIR", "{}/file", "mv '{}/file' '{}/file.old'"),
        ("XDG_RUNTIME_DIR", "{}/file", "'{}/file' is no folder: set XDG_RUNTIME_DIR to one"),
    ],
)
def test_the_doctor_says_what_to_do_about_a_runtime_folder(
    folder: str, tmp_path: Path, variable: str, value: str, advice: str
) -> None:
    (tmp_path / "file").touch()
    place = {"SEGUE_RUNTIME_DIR": "", "SEGUE_STATE_DIR": str(tmp_path / "state"), variable: value.format(tmp_path)}
    done = command(folder, "doctor", "--wait", "1", "--json", **place)
    (problem,) = [each for each in json.loads(done.stdout) if each["state"] == "problem"]
    assert problem["about"] == "runtime folder"
    assert advice.format(tmp_path, tmp_path) in problem["advice"]


def test_the_doctor_speaks_of_what_was_set_aside(folder: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    for name in (
        "inbox.db.damaged-1",
        "inbox.db.damaged-1-wal",
        "account.damaged-2",
        "inbox.db.foreign-1",
        "search.db",
    ):
        (state / name).touch()
    done = command(folder, "doctor", "--json", SEGUE_STATE_DIR=str(state))
    said = [each["message"] for each in json.loads(done.stdout) if each["about"] == "state folder"]
    assert [line.partition(": ")[0] for line in said[1:]] == [
        f"{state}/{n}" for n in ("account.damaged-2", "inbox.db.damaged-1")
    ]
    assert "offers that were kept" in said[2]


def test_a_read_only_state_folder_has_its_variable_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(os, "access", lambda *_: False)
    problem = folder_problem(str(tmp_path), "SEGUE_STATE_DIR")
    assert problem == ("is read-only", "mount it writable, or set SEGUE_STATE_DIR to a folder that can be written")


def test_an_app_without_its_launcher_is_told_which_file_is_missing() -> None:
    from segue._command.doctor import launch_remedy

    why = "/a/b.plist: SegueDesktopFile: notes.desktop: there is no such file in a folder of applications"
    assert launch_remedy(why) == "add notes.desktop to a folder of applications, or correct SegueDesktopFile"
    assert "SegueDesktopFile to the manifest" in launch_remedy("/a/b.plist: SegueDesktopFile: is missing; expected")
    assert launch_remedy("/a/b.desktop: Exec: is missing") == "correct its .desktop file"


# ---- streams ----


@pytest.mark.parametrize("verb", [["list", "--json"], ["--help"]], ids=lambda each: each[0])
@pytest.mark.parametrize("fate", ["closed", "full", "unread"])
def test_output_that_cannot_be_written(folder: str, verb: list[str], fate: str) -> None:
    """One line, no traceback, and a status."""
    redirection = {"closed": ">&-", "full": ">/dev/full", "unread": ""}[fate]
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        ["bash", "-c", f'exec "$@" {redirection}', "bash", *COMMAND, *verb],
        env={**environment(folder), "PYTHONUNBUFFERED": ""},  # argparse of 3.13 ignores what it cannot write
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    os.close(writing)
    expected = {
        "closed": (1, "segue: standard output is closed\n"),
        "full": (1, "segue: standard output: No space left on device\n"),
        "unread": (-signal.SIGPIPE, ""),
    }
    assert (process.returncode, process.stderr) == expected[fate]


def test_a_reader_that_leaves_ends_a_watcher(folder: str, opened: Opener) -> None:
    app = opened(delivery="thread")
    activity = segue.Activity(app, TYPE, title="0")
    activity.become_current()
    app.ready().wait(PATIENCE)
    with subprocess.Popen([*COMMAND, "watch", "--json"], env=environment(folder), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "appeared"
        process.stdout.close()
        assert process.wait(PATIENCE) == -signal.SIGPIPE, "nothing more happens, and it does not wait for that"


def test_what_is_not_offered_is_named(folder: str, opened: Opener) -> None:
    def said(*words: str) -> str:
        done = command(folder, *words, "--wait", "0.1")
        assert (done.returncode, done.stdout) == (3, b"")
        return done.stderr.decode()

    app = opened(delivery="thread")
    activity = segue.Activity(app, TYPE)
    app.ready().wait(PATIENCE)
    assert said("continue") == "segue: nothing came in time: nothing is offered\n"
    activity.become_current()
    while not said("continue", "ffff").endswith("begins with 'ffff'; `segue list` shows them\n"):
        pass
    of_type = "segue: nothing came in time: no activity of the type x.y is offered; `segue list` shows what is\n"
    assert said("continue", "--type", "x.y") == of_type


def test_a_library_that_is_missing_is_said_in_one_line(folder: str) -> None:
    script = Path(sys.executable).with_name("segue")
    environ = {**environment(folder), "SEGUE_LIBRARY": "/nonexistent"}
    done = subprocess.run([script, "list"], env=environ, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("segue: cannot load libsegue.so.0 (looked in SEGUE_LIBRARY)")
    assert done.stderr.count("\n") == 1


# ---- what is made of the arguments ----


def test_the_man_page_and_the_completions_are_up_to_date() -> None:
    maker = Path(__file__).resolve().parents[1] / "command"
    done = subprocess.run([sys.executable, maker], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_shell_completes_verbs_options_and_files(tmp_path: Path) -> None:
    made = Path(__file__).resolve().parents[1] / "share/bash-completion/completions/segue"
    (tmp_path / "letter").touch()
    script = f"""
        source {made}
        for words in 'segue in' 'segue account rec' 'segue send let' 'segue receive --f' 'segue receive --wait '; do
          read -ra COMP_WORDS <<<"$words"
          [[ $words == *' ' ]] && COMP_WORDS+=('')
          COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
          _segue
          echo "${{COMPREPLY[*]}}"
        done
    """
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("inbox invite inspect\nrecovery recover\nletter\n--force\n\n", "")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["list", "--json"], ["describe"], ["doctor"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_an_error(folder: str, words: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *words],
            env={**environment(folder), "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )
    assert (done.returncode, done.stderr) == (1, "segue: standard output: No space left on device\n")
