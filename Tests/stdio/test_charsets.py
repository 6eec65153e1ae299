# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shells that take part in a locale whose charset is not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from segue._command.quoting import quoted
from shells import SHELLS, without_settings
from test_terminal import Start, info_of, receiver


@pytest.fixture
def chinese(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a locale whose charset is GBK: the last byte of a character may be one of ASCII."""
    place = tmp_path_factory.mktemp("locales")
    words = ["localedef", "-c", "-i", "zh_CN", "-f", "GBK", str(place / "zh_CN.GBK")]
    if subprocess.run(words, capture_output=True).returncode > 1:
        pytest.skip("no sources of locales: the Debian package locales is not installed")
    return {"LOCPATH": str(place), "LC_ALL": "zh_CN.GBK"}


@pytest.mark.parametrize("name", SHELLS)
def test_a_folder_adds_no_value_where_a_backslash_ends_a_character(
    start: Start, shell, tmp_path: Path, chinese: dict[str, str], name: str
) -> None:
    """In GBK its last byte and a backslash are one character. So the quotes behind that had to stay escaped."""
    place = tmp_path / 'x\u00e9\u4e01\\","host":"evil'
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    terminal, host = shell(name, **chinese), receiver(start)
    terminal.type(f"cd {tmp_path}/link; cd (pwd -P)" if name == "fish" else f"cd -P {tmp_path}/link")
    info = info_of(host, place.name)
    assert info["url"] == place.as_uri() and "host" not in info


SAID = """
import json, os, sys
from segue._command.shell import place_of
command = place_of(json.loads(sys.argv[1])).command(False, None)
sys.stdout.buffer.write(os.fsencode(command[-1]))
"""
"""Prints what ssh hands to the login shell, as the bytes that it gets."""


@pytest.mark.parametrize("name", [pytest.param("sh"), *SHELLS])
@pytest.mark.parametrize("place", [b"it's \x81`touch INJECTED \x81`", b"\x81\\'\";touch INJECTED;#", b"\x81!\x81\\'"])
def test_a_shell_of_another_charset_reads_the_same_folder(
    tmp_path: Path, chinese: dict[str, str], name: str, place: bytes
) -> None:
    """In GBK a backslash or a backquote ends a character, in UTF-8 it is one: it was not quoted for that."""
    there = os.path.join(os.fsencode(tmp_path), place)
    os.mkdir(there)
    login = tmp_path / "login"
    login.write_text("#!/bin/sh\npwd\n")
    login.chmod(0o755)
    info = {"url": f"file://{quote_from_bytes(there)}", "host": "h"}
    command = [sys.executable, "-c", SAID, json.dumps(info)]
    said = subprocess.run(command, env={**os.environ, **chinese}, capture_output=True, check=True, timeout=60)
    environment = {**without_settings(tmp_path), "SHELL": str(login), "LC_ALL": "C.UTF-8"}
    done = subprocess.run([name, "-c", said.stdout], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.stdout == there + b"\n", done
    assert not any(tmp_path.rglob("INJECTED"))


@pytest.mark.parametrize("name", [pytest.param("sh"), *SHELLS])
def test_a_session_has_its_name_in_utf_8_in_every_locale(tmp_path: Path, chinese: dict[str, str], name: str) -> None:
    """U+4E63 ends with a backquote in GBK, which has no U+1F600."""
    session = "it's \u4e63touch INJECTED \u4e63 \U0001f600"
    tmux = tmp_path / "tmux"
    tmux.write_text('#!/bin/sh\nprintf %s "$3"\n')
    tmux.chmod(0o755)
    info = {"url": "file:///", "host": "h", "multiplexer": "tmux", "session": session}
    command = [sys.executable, "-c", SAID, json.dumps(info)]
    said = subprocess.run(command, env={**os.environ, **chinese}, capture_output=True, check=True, timeout=60)
    environment = {**without_settings(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([name, "-c", said.stdout], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.stdout.decode() == f"={session}", done
    assert not any(tmp_path.rglob("INJECTED"))


def test_a_word_that_no_program_of_the_locale_can_get_is_quoted_all_the_same(chinese: dict[str, str]) -> None:
    """The doctor shows names of devices in commands."""
    word = "it's \U0001f600!"
    code = f"import json; from segue._command.quoting import quoted; print(json.dumps(quoted({word!a})))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **chinese}, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == quoted(word)
