# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files by which the searches of GNOME and Plasma find segue-search: a part of `setup desktop`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .._terminal import shown
from .files import replace_file
from .installed import data_folder

APP_ID = "local.segue.Segue"
"""The same as in libexec/common/app_id.h."""
NAME = f"{APP_ID}.Search"
PROVIDER = Path("gnome-shell", "search-providers", f"{APP_ID}.search-provider.ini")
SERVICE = Path("dbus-1", "services", f"{NAME}.service")
# Below the folder `share` of the installation, and below the user's folder of data. GNOME searches with what is in the
# menu of apps, Plasma with what is in its own folder.
COPIES = {
    Path("segue", "desktop", f"{NAME}.desktop"): Path("applications", f"{NAME}.desktop"),
    Path("segue", "desktop", f"{APP_ID}.krunner.desktop"): Path("krunner", "dbusplugins", f"{NAME}.desktop"),
}


def data_folders() -> list[Path]:
    """The system's folders of data, in which GNOME looks for search providers; it does not in the user's."""
    return [
        Path(each) for each in (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":") if each
    ]


def is_everywhere(share: Path) -> bool:
    """Whether desktops read the files in a folder `share` of an installation."""
    return share in data_folders() or share.resolve() in [each.resolve() for each in data_folders()]


def files() -> list[Path]:
    """Returns all files that `set_up` may have written."""
    return [data_folder() / each for each in (*COPIES.values(), SERVICE)]


def set_up(share: Path) -> tuple[list[Path], list[str]]:
    """Enables searches for the user. Returns the files, and what is left to do. Raises OSError."""
    copies = dict(COPIES)
    left = []
    if not is_everywhere(share):
        copies[SERVICE] = SERVICE
        into = "/usr/local/share/gnome-shell/search-providers"
        left = [f"GNOME needs an administrator: `ln -s {shown(str(share / PROVIDER), None)} {into}`."]
    written = []
    for source, place in copies.items():
        if not (share / source).is_file():
            continue
        file = data_folder() / place
        replace_file(file, (share / source).read_bytes(), mode=0o644)
        written.append(file)
    return written, left if written else []


def take_away() -> Iterator[Path]:
    """Disables searches, and tells what was removed."""
    for file in files():
        if file.is_symlink() or file.exists():
            file.unlink()
            yield file


def is_enabled() -> bool:
    return any(file.exists() for file in files())
