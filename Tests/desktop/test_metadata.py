# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files by which desktops know the program, as `make install` writes them: valid, and of use."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from desk import Desk, until
from project import ROOT
from segue._command.desktop import APP_ID


def installed(folder: Path, prefix: str = "/usr") -> Path:
    command = ["make", "-s", "-o", "lib", "install", f"DESTDIR={folder}", f"PREFIX={prefix}"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return Path(f"{folder}{prefix}/share")


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("installed"))


def checked(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.skipif(not shutil.which("desktop-file-validate"), reason="it is missing: make deps-desktop")
@pytest.mark.parametrize("folder", ["applications", "segue/desktop"])
def test_the_entry_of_the_desktop_is_valid(share: Path, folder: str) -> None:
    assert checked("desktop-file-validate", share / folder / f"{APP_ID}.desktop") == ""


@pytest.mark.skipif(not shutil.which("appstreamcli"), reason="appstream is missing: make deps-desktop")
def test_the_metadata_are_valid(share: Path) -> None:
    """The domain of the identifier is a placeholder: the one thing that is remarked."""
    said = checked("appstreamcli", "validate", "--no-net", share / "metainfo" / f"{APP_ID}.metainfo.xml")
    remarks = [line for line in said.splitlines() if line.startswith(("I:", "W:", "E:"))]
    assert remarks == [f"I: {APP_ID}:4: cid-maybe-not-rdns {APP_ID}"]


def test_all_of_them_have_the_identifier_of_the_project(share: Path) -> None:
    icon = share / "icons/hicolor/scalable/apps" / f"{APP_ID}.svg"
    assert icon.read_bytes() == (ROOT / "browser/extension/icon.svg").read_bytes()
    assert f"Icon={APP_ID}\n" in (share / "applications" / f"{APP_ID}.desktop").read_text()
    service = (share / "dbus-1/services" / f"{APP_ID}.service").read_text()
    assert f"Name={APP_ID}\n" in service and "SystemdService=segue-desktop.service\n" in service
    left = [path for path in share.rglob("*") if path.is_file() and b"@APP_ID@" in path.read_bytes()]
    assert left == []


def test_the_bus_starts_the_program(desk: Desk, tmp_path: Path) -> None:
    """A bus without systemd executes it; with systemd, it is the unit that is started."""
    assert desk.session_bus is not None
    desk.session_bus.kill()
    share = installed(tmp_path)
    service = share / "dbus-1/services" / f"{APP_ID}.service"
    service.write_text(service.read_text().replace("/usr/libexec/segue/segue-desktop", str(desk.PROGRAM)))
    desk.variables["XDG_DATA_DIRS"] = str(share)
    desk.bus("session-bus")
    address = f"--address={desk.variables['DBUS_SESSION_BUS_ADDRESS']}"
    bus = ("org.freedesktop.DBus", "/", "org.freedesktop.DBus")
    said = checked("busctl", address, "call", *bus, "StartServiceByName", "su", APP_ID, "0")
    assert said == "u 1\n"  # it has been started, and has taken its name
    process = checked("busctl", address, "call", *bus, "GetConnectionUnixProcessID", "s", APP_ID).split()[1]
    assert Path(f"/proc/{process}/exe").resolve() == desk.PROGRAM
    os.kill(int(process), signal.SIGTERM)
    until(lambda: not Path(f"/proc/{process}").exists() or "Z" in Path(f"/proc/{process}/stat").read_text())
