# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Debian 12 for aarch64, whose programs this machine's kernel runs by qemu, in namespaces of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bare import EMULATE, MIRROR, QEMU
from project import ROOT

BUILT = ROOT / ".build" / "aarch64"
TREE = BUILT / "machine"
LIBRARIES = ROOT / "lib" / "aarch64"
PACKAGES = (
    "base-files,bash,coreutils,dash,findutils,grep,libc-bin,libexpat1,libsqlite3-0,libssl3,libuv1,openssl,procps,"
    "python3,python3-cbor2,python3-hypothesis,sed,util-linux"
)
# Pure Python, which any machine runs: tools of the tests in .venv. Those of Debian 12 are too old.
TOOLS = ("_pytest", "iniconfig", "packaging", "pluggy", "py.py", "pygments", "pytest", "rich", "segno")

ENTER = r"""
set -e
root=$1 project=$2
shift 2
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root$project"
mount --rbind "$project" "$root$project"
sh -c "$EMULATE" sh "$root"
# Not as the first process, whom no signal of its own ends: a crash would hang.
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/tmp PYTHONDONTWRITEBYTECODE=1 \
  TMPDIR=/tmp "$QEMU" SEGUE_LIBRARY="$SEGUE_LIBRARY" SEGUE_AGENT="$SEGUE_AGENT" PYTHONPATH="$PYTHONPATH" sh -c "$@"
exit $?
"""


class Machine:
    def __init__(self) -> None:
        """Unpacks the packages; the first call with these takes a minute."""
        mark = TREE / "made"
        if not mark.exists() or mark.read_text() != PACKAGES:
            BUILT.mkdir(parents=True, exist_ok=True)
            subprocess.run(["rm", "-rf", TREE], check=True)
            options = ("--quiet", "--variant=extract", "--architectures=arm64", f"--include={PACKAGES}")
            subprocess.run(["mmdebstrap", *options, "bookworm", TREE, MIRROR], check=True)
            mark.write_text(PACKAGES)
        self.tools = BUILT / "tools"
        self.tools.mkdir(exist_ok=True)
        for name in TOOLS:
            link = self.tools / name
            link.unlink(missing_ok=True)
            (found,) = (ROOT / ".venv/lib").glob(f"python3*/site-packages/{name}")
            link.symlink_to(found)

    def begin(self, script: str, *words: str | Path, library: str = "libsegue.so.0") -> subprocess.Popen[str]:
        """Starts a shell's script with these words as arguments; its output is one text."""
        environment = {
            **os.environ,
            "EMULATE": EMULATE,
            "QEMU": QEMU,
            "SEGUE_LIBRARY": str(LIBRARIES / library),
            "SEGUE_AGENT": str(LIBRARIES / "segue-agent"),
            "PYTHONPATH": f"{ROOT / 'bindings/python/src'}:{self.tools}",
        }
        command = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]
        command += [ENTER, "sh", TREE, ROOT, script, "sh", *words]
        return subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, script: str, *words: str | Path, library: str = "libsegue.so.0", patience: float = 300) -> str:
        """Returns what a script prints that has to succeed within `patience` seconds."""
        process = self.begin(script, *words, library=library)
        try:
            said, _ = process.communicate(timeout=patience)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 0, f"{script} ended with {process.returncode}\n{said[-6000:]}"
        return said


def compiled(source: Path, folder: Path, *options: str, library: str) -> Path:
    """Compiles a C program for aarch64 against a library that has been built for it."""
    program = folder / source.stem
    flags = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{ROOT / 'include'}")
    found = LIBRARIES / library
    # Libraries that the library needs are in the machine, not beside the compiler.
    linked = ("-o", program, found, f"-Wl,-rpath,{found.parent}", "-Wl,--allow-shlib-undefined", "-lm")
    command = ["aarch64-linux-gnu-gcc", *flags, *options, source, *linked]
    subprocess.run([str(word) for word in command], check=True)
    return program
