# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hosts of `segue stdio`, and shells that take part, in a runtime folder of one test."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "share"))

from host import Host
from shells import COMMAND, STARTS, variables
from terminal import Terminal, terminals


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., Host]]:
    """start(NAME="value"): a host whose session is not open yet."""
    started: list[Host] = []

    def launch(**environment: str) -> Host:
        started.append(Host(folder, **environment))
        return started[-1]

    yield launch
    for host in started:
        host.kill()


@pytest.fixture
def shell(folder: Path, tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """shell("bash", SEGUE_SSH_HOST="laptop"): a shell that takes part."""
    environment = variables(folder, tmp_path)
    with terminals(tmp_path, environment) as open_terminal:

        def start(name: str, **more: str) -> Terminal:
            program, init, prompt = STARTS[name]
            terminal = open_terminal(f"session-{name}")
            words = " ".join(f"{key}={shlex.quote(value)}" for key, value in more.items())
            terminal.type(f"env {words} {program}")
            terminal.type(prompt)
            terminal.shows("^in-shell>")
            terminal.type(f"clear; {init.format(shlex.join(COMMAND))}")
            terminal.shows("^in-shell>")
            return terminal

        yield start


@pytest.fixture
def ssh(tmp_path: Path) -> Path:
    """A program in the place of ssh that writes down its arguments."""
    path = tmp_path / "bin" / "ssh"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/ssh.new\nmv {tmp_path}/ssh.new {tmp_path}/ssh.ran\n')
    path.chmod(0o755)
    return tmp_path / "ssh.ran"
