# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server of ssh on a machine of a test, for one user, and what a client of it needs (R14.4)."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from network import Network
from programs import Program
from project import run

SERVER = Path("/usr/sbin/sshd")
PORT, USER, NUMBER = 2222, "tester", 1000
# Root of the machine binds the list of users; then the server is the user, who may serve itself alone.
SCRIPT = f"""
mount --bind "$0/passwd" /etc/passwd || exit
exec unshare --user --map-user={NUMBER} --map-group={NUMBER} "$@" >/dev/null 2>&1
"""


class SSHServer:
    """`ssh -F FOLDER/config home` gets there; its keys are new."""

    def __init__(self, machine: Network, address: str, folder: Path, start: Callable[..., Program]):
        self.folder, self._machine, self._start = folder, machine, start
        folder.mkdir(mode=0o700)
        for name in ("host", "other", "client"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name)
        (folder / "authorized").write_bytes((folder / "client.pub").read_bytes())
        (folder / "passwd").write_text(f"{USER}:x:{NUMBER}:{NUMBER}::{folder}:/bin/sh\nroot:x:0:0::/root:/bin/sh\n")
        self.knows("host")
        (folder / "config").write_text(
            f"Host home\n  HostName {address}\n  Port {PORT}\n  User {USER}\n  IdentityFile {folder}/client\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n  GlobalKnownHostsFile /dev/null\n"
        )

    def knows(self, key: str) -> None:
        """The client takes a key for that of the server."""
        kind, code, _ = (self.folder / f"{key}.pub").read_text().split()
        (self.folder / "known").write_text(f"[10.99.0.1]:{PORT} {kind} {code}\n")

    def begin(self, *options: str, **variables: str) -> None:
        """Serves, with these options, and these variables in what it starts."""
        words = " ".join(shlex.quote(f"{name}={value}") for name, value in variables.items())
        folder = self.folder
        (folder / "sshd_config").write_text(
            f"Port {PORT}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
            f"PidFile none\nPasswordAuthentication yes\nPrintMotd no\nPermitUserEnvironment no\n"
            + (f"SetEnv {words}\n" if words else "")
            + "".join(f"{option}\n" for option in options)
        )
        under = [*self._machine.under, "unshare", "--mount", "sh", "-c", SCRIPT, folder]
        # A session goes on until its client ends, and would hold the output of the program.
        self._start("sshd", [*under, SERVER, "-D", "-E", folder / "log", "-f", folder / "sshd_config"])
        deadline = time.monotonic() + 10
        while "Server listening" not in ((folder / "log").read_text() if (folder / "log").exists() else ""):
            assert time.monotonic() < deadline, "sshd does not serve"
            time.sleep(0.02)

    def command(self, *words: str | Path) -> str:
        """Returns the text that a user gives for a path through it."""
        return shlex.join(["ssh", "-F", str(self.folder / "config"), "home", *map(str, words)])
