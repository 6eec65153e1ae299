# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The key Exec of `.desktop` files, as the Desktop Entry Specification has it, and GLib as the oracle."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MALFORMED = 7
RESERVED = set(" \t\n\"'\\><~|&;$*?#()`")


def quoted(argument: str) -> str:
    """An argument as the specification wants it, before the escape sequences of strings."""
    if argument and not set(argument) & RESERVED:
        return argument.replace("%", "%%")
    for character in '\\"`$':
        argument = argument.replace(character, "\\" + character)
    return '"' + argument.replace("%", "%%") + '"'


def written(command: str) -> str:
    """A string as it stands in the file."""
    return command.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def ask(execs, value: str) -> list[str] | str:
    answer = execs(value.encode().hex())
    return answer if answer.startswith("error") else [bytes.fromhex(word).decode() for word in answer.split(" ")]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12), max_size=6))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_was_quoted_is_read_as_it_was(execs, arguments):
    command = " ".join(map(quoted, ["/usr/bin/program", *arguments]))
    assert ask(execs, written(command)) == ["/usr/bin/program", *arguments]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0%"), min_size=1, max_size=12), max_size=6))
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_glib_reads_the_same(execs, arguments):
    """GLib's keys and its shell quoting: what is quoted by the specification means the same there."""
    from gi.repository import GLib

    value = written(" ".join(map(quoted, ["program", *arguments])))
    file = GLib.KeyFile.new()
    text = f"[Desktop Entry]\nExec={value}\n"
    file.load_from_data(text, len(text.encode()), GLib.KeyFileFlags.NONE)
    _, theirs = GLib.shell_parse_argv(file.get_string("Desktop Entry", "Exec"))
    assert ask(execs, value) == theirs


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("app", ["app"]),
        ("  app   -v  ", ["app", "-v"]),
        ("app %U", ["app"]),
        ("app %f %F %u %d %D %n %N %v %m x", ["app", "x"]),
        ("app --file=%f", ["app", "--file="]),
        ("app %i %c %k", ["app", "--icon", "icon", "The Name", "/the/path.desktop"]),
        ("app --name=%c 100%%", ["app", "--name=The Name", "100%"]),
        ('"/opt/My App/run" "a b" "100%%"', ["/opt/My App/run", "a b", "100%"]),
        (r'app "\\$HOME \\"x\\" \\\\ \\`"', ["app", '$HOME "x" \\ `']),
        (r"app\sone\stwo", ["app", "one", "two"]),
        ('app ""', ["app", ""]),
        ("app \"; rm -rf ~ > x | y & 'z' * ? # ()\"", ["app", "; rm -rf ~ > x | y & 'z' * ? # ()"]),
    ],
)
def test_quotes_escapes_and_field_codes(execs, value, expected):
    assert ask(execs, value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", "Exec: names no program"),
        ("   ", "Exec: names no program"),
        ("%U", "Exec: names no program"),
        ('""', "Exec: names no program"),
        ('"app', "Exec: a quote is not closed"),
        ('"app"x', "Exec: an argument is quoted in part; expected a blank after the quote"),
        ('app a"b"', 'Exec: the character " is reserved; expected double quotes around it'),
        ("sh -c 'x'", "Exec: the character ' is reserved; expected double quotes around it"),
        ("app > x", "Exec: the character > is reserved; expected double quotes around it"),
        ("app;reboot", "Exec: the character ; is reserved; expected double quotes around it"),
        ("app $HOME", "Exec: the character $ is reserved; expected double quotes around it"),
        ("app a\\tb", "Exec: the character tab is reserved; expected double quotes around it"),
        ('app "$HOME"', "Exec: the character $ needs a backslash before it in quotes"),
        (r'app "\\x"', 'Exec: a backslash in quotes is followed by none of ", `, $ and \\'),
        ('app "%U"', "Exec: a field code in quotes; expected it outside of them"),
        ("app %x", "Exec: %x is no field code that may stand there"),
        ("app x%i", "Exec: %i is no field code that may stand there"),
        ("app 5%", "Exec: % is no field code that may stand there"),
        (r"app \q", "Exec: a backslash is followed by none of s, n, t, r, \\ and ;"),
        ("app \\", "Exec: a backslash is followed by none of s, n, t, r, \\ and ;"),
        ("A=1 app", "Exec: the program A=1 has an equals sign in its name"),
        ("bin/app", "Exec: the program bin/app: expected an absolute path, or only a name"),
    ],
)
def test_a_bad_value_says_what_is_wrong(execs, value, expected):
    assert ask(execs, value) == f"error {MALFORMED} {expected}"
