# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that lead to devices (R14.4): the file from which the agent's launcher starts them."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from uuid import UUID

from .files import replace_file
from .installed import config_folder
from .output import CommandError
from .quoting import joined

MOST_WORDS, MOST_BYTES, FILE_BYTES = 64, 4_096, 64 * 1024
"""The limits of one command, of one word, and of the file."""


def file() -> Path:
    """The user's file. Only the command and an editor write it: the agent cannot."""
    return config_folder() / "segue" / "paths"


def read() -> dict[UUID, list[str]]:
    """Returns the words of each command by its device. Raises: CommandError if the file cannot be used."""
    try:
        content = file().read_bytes()[: FILE_BYTES + 1]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CommandError(f"{file()}: {error.strerror}") from error
    try:
        if len(content) > FILE_BYTES:
            raise ValueError
        found = {UUID(device): words for device, words in json.loads(content).items()}
        if not all(isinstance(words, list) and words for words in found.values()):
            raise ValueError
        if not all(isinstance(word, str) for words in found.values() for word in words):
            raise ValueError
    except (ValueError, TypeError, AttributeError) as error:
        raise CommandError(f"{file()}: is no file of paths; mend it, or move it away") from error
    return found


def words_of(command: str) -> list[str]:
    """Splits a command as a shell does, which is not asked: the agent's launcher starts these words. Raises:
    CommandError."""
    try:
        command.encode()
        words = shlex.split(command)
    except ValueError as error:
        raise CommandError(f"the command '{command}': {str(error).lower()}") from error
    if not words or not words[0]:
        raise CommandError("the command is empty: `ssh HOST segue-agent --stdio` is the usual one")
    if len(words) > MOST_WORDS or any(len(word.encode()) > MOST_BYTES or "\0" in word for word in words):
        raise CommandError(f"the command has more than {MOST_WORDS} words, or one of more than {MOST_BYTES} bytes")
    return words


def change(device: UUID, words: list[str] | None) -> None:
    """Sets the command of a device, or takes it back (None). Raises: CommandError."""
    commands = read()
    if words is None:
        if commands.pop(device, None) is None:
            raise CommandError("the device has no command that was set here")
    else:
        commands[device] = words
    content = json.dumps({str(each): found for each, found in commands.items()}, indent=2, ensure_ascii=False) + "\n"
    if len(content.encode()) > FILE_BYTES:
        raise CommandError(f"{file()}: would have more than {FILE_BYTES} bytes")
    try:
        replace_file(file(), content.encode())
    except OSError as error:
        raise CommandError(f"{file()}: {error.strerror}") from error


def shown_of(device: UUID) -> str | None:
    """Returns the command of a device as a shell reads it; None: there is none, or the file cannot be used."""
    with contextlib.suppress(CommandError):
        words = read().get(device)
        if words is not None:
            return joined(words)
    return None
