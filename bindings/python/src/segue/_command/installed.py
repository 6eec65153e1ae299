# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of Segue that are installed beside the command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from .. import library_path
from .._terminal import shown
from .output import CommandError


def first_program(paths: Iterable[str | Path | None]) -> str | None:
    """Returns the first of these paths that can be executed."""
    for path in paths:
        if path is not None and os.access(path, os.X_OK):
            return str(path)
    return None


def how_to_install(program: str, target: str = "install") -> str:
    """Returns words for people: the package of Debian that has a program, and the target of make."""
    package = {"segue-browser-host": "webext-segue"}.get(program, program)
    return f"Debian: {package}; from source: `make {target}`"


def beside_library() -> Path:
    """Returns the folder of the library, which has the programs too in a tree that was built; one that is not there if
    it is unknown: the current folder may have programs of others."""
    return Path(library_path).resolve().parent if "/" in library_path else Path("/nonexistent")


def prefixes() -> Iterator[Path]:
    """The prefixes under which `make install` and packages put files, the most likely first."""
    yield from (beside_library().parent, Path(sys.prefix), Path("/usr/local"), Path("/usr"))


def libexec_programs(name: str) -> Iterator[Path]:
    """The paths of a program that users do not start themselves."""
    yield beside_library() / name
    yield from (prefix / "libexec" / "segue" / name for prefix in prefixes())


def home_folder() -> Path:
    """The user's home folder; one that is not there if the system knows none, as in some sandboxes."""
    found = os.path.expanduser("~")
    return Path(found if found.startswith("/") else "/nonexistent")


def config_folder() -> Path:
    """The folder of the user's settings, as desktop programs find it."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if named.startswith("/") else home_folder() / ".config"


def data_folder() -> Path:
    """The folder of the user's data, in which programs look for plugins."""
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if named.startswith("/") else home_folder() / ".local" / "share"


def library_folders() -> Iterator[Path]:
    """The folders of libraries in which `make install` and packages put what programs load."""
    yield beside_library()
    for prefix in prefixes():
        yield prefix / "lib"
        yield prefix / "lib" / f"{os.uname().machine}-linux-gnu"


def integration(name: str, file: str) -> Path | None:
    """Returns a file of a plugin, where `make install` and packages put it, or where a tree has it. A shared object is
    in a folder of libraries."""
    tree = beside_library().parent
    if file.endswith(".so"):
        places = [folder / "segue" / name / file for folder in library_folders()]
    else:
        places = [prefix / "share" / "segue" / "integrations" / name / file for prefix in prefixes()]
    built = {"mpv/segue.so": tree / "lib" / "segue-mpv.so", "vscode/segue.vsix": tree / "dist" / "segue.vsix"}
    own = built.get(f"{name}/{file}", tree / "integrations" / name / file)
    return next((path for path in (*places, own) if path.exists()), None)


def execute(program: str, name: str, *arguments: str) -> NoReturn:
    """Runs a program in place of this one."""
    sys.stdout.flush()
    # Python ignores these, and what is executed would, too.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program, [name, *arguments])
    except OSError as error:
        raise CommandError(f"{shown(program, None)}: {error.strerror}") from error
