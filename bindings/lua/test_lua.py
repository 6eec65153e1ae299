# SPDX-License-Identifier: Apache-2.0
"""The Lua example hands off to itself, and an error of the library is an error in Lua."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from project import LIBRARY

HERE = Path(__file__).resolve().parent
PATIENCE = 20


@pytest.fixture
def lua() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts LuaJIT with arguments."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="segue-"))
        environment = {**os.environ, "SEGUE_LIBRARY": str(LIBRARY), "SEGUE_RUNTIME_DIR": folder}

        def start(*arguments: str) -> subprocess.Popen[str]:
            pipe = subprocess.PIPE
            program = subprocess.Popen(["luajit", *arguments], env=environment, stdout=pipe, stderr=pipe, text=True)
            stack.callback(program.communicate)
            stack.callback(program.kill)
            return program

        yield start


def test_an_app_in_lua_continues_what_another_does(lua):
    example = str(HERE / "example.lua")
    origin, receiver = lua(example, "offer"), lua(example, "continue")
    assert receiver.communicate(timeout=PATIENCE) == ('Shopping list\t{"line": 12}\n', "")
    assert origin.communicate(timeout=PATIENCE) == ("offering\nrestored by\tNotes in Lua\n", "")
    assert (origin.returncode, receiver.returncode) == (0, 0)


def test_an_error_of_the_library_is_an_error_in_lua(lua):
    program = lua("-e", f'package.path = "{HERE}/?.lua"; local segue = require "segue"; segue.app_open(nil)')
    output, errors = program.communicate(timeout=PATIENCE)
    assert (program.returncode, output) == (1, "")
    assert "INVALID_HANDLE: " in errors
