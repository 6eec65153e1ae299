# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bare Debian 12 in namespaces of its own and without a network, in which a test installs packages as a user does.

One for aarch64 runs its programs by qemu, as the kernel does for one namespace of users: nothing outside changes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from programs import Program
from project import ROOT

CACHE = ROOT / ".build" / "packages"
MIRROR = os.environ.get("SEGUE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
# The packages that Segue's depend on or recommend; they and theirs lie downloaded in the tree.
DOWNLOADED = "python3-cbor2 python3-gi libuv1 libsqlite3-0 libexpat1 libssl3 python3-rich python3-segno"
# The same for aarch64, and what makes an environment for a wheel. They are installed in the tree, by the apt of this
# machine: one by qemu takes minutes.
FOREIGN = "arm64"
PATIENCE, PATIENCE_FOREIGN = 300, 600  # seconds for a command
DOWNLOADED_FOREIGN = "passwd python3-cbor2 python3-venv libuv1 libsqlite3-0 libexpat1 libssl3 libsystemd0"
INSTALL = ["apt-get", "install", "-qy", "--no-install-recommends"]
USER, HOME, RUNTIME = 1000, "/home/ann", "/run/user/1000"
ENVIRONMENT = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")

# The tree below stays as it is. The machine lives as long as its standard input; then the kernel ends all its
# processes, and the mounts go with the last one.
MACHINE = """
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work$3" "$2/root"
cd "$2/root"
mount --rbind /dev dev
mount -t proc proc proc
[ -z "$4" ] || sh -c "$4" sh "$PWD"
mount -t tmpfs tmpfs run
chroot . id -u ann >/dev/null 2>&1 || chroot . useradd --create-home --shell /bin/bash --uid 1000 ann
install -d -m 755 run/user
install -d -m 700 -o 1000 -g 1000 run/user/1000
echo machine is up
cat >/dev/null
"""


# Signs pointers by a short computation. By default qemu takes that of real processors: the fleet is five times slower.
QEMU = "QEMU_CPU=max,pauth-impdef=on"
# Has the kernel run programs of aarch64 by qemu, in the tree that is the argument. binfmt_misc belongs to the namespace
# of users from Linux 6.7 on. The interpreter is opened once (F), so that it is there inside of the tree.
EMULATE = r"""
set -e
mount -t binfmt_misc binfmt_misc "$1/proc/sys/fs/binfmt_misc"
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf ':aarch64:M::%s:%s:%s:F' "$magic" "$mask" "$(command -v qemu-aarch64-static)" \
  >"$1/proc/sys/fs/binfmt_misc/register"
"""


@contextlib.contextmanager
def namespace() -> Iterator[list[str]]:
    """A namespace of users with the users of this machine. Only root can make it. Returns the words that enter it."""
    holder = Program("namespace", ["unshare", "--user", "sh", "-c", "echo it is; cat >/dev/null"])
    try:
        holder.wait_for("^it is$")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{holder.pid}/{name}").write_text("0 0 4294967295\n")
        yield ["nsenter", f"--user=/proc/{holder.pid}/ns/user"]
    finally:
        holder.wait()


def tree(architecture: str = "") -> Path:
    """Returns the tree of a bare Debian 12: essential packages and apt. The first call makes it, from a mirror."""
    downloaded = DOWNLOADED_FOREIGN if architecture else DOWNLOADED
    # Another list makes another tree.
    made = CACHE / f"debian-12{architecture and f'-{architecture}-installed'}-{zlib.crc32(downloaded.encode()):08x}"
    if (made / "made").exists():
        return made
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = made.with_suffix(".tar")
    if not archive.exists():
        part = made.with_suffix(".part.tar")
        download = f'chroot "$1" apt-get install -qdy -o APT::Install-Recommends=true {downloaded}'
        if architecture:
            options = ["--variant=essential", f"--include={downloaded.replace(' ', ',')}"]
            options += ["--dpkgopt=force-unsafe-io"]
        else:
            options = ["--variant=minbase", "--skip=cleanup/apt", f"--customize-hook={download}"]
        with namespace() if architecture else contextlib.nullcontext([]) as words:
            if architecture:
                # A namespace of users mounts no /sys, unless it has a network of its own.
                options += [f"--architectures={architecture}", "--skip=check/qemu", "--skip=chroot/mount/sys"]
                spaces = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
                words += ["unshare", *spaces, "sh", "-c", f'{EMULATE}\nshift; exec "$@"', "sh", "/", "env", QEMU]
            subprocess.run([*words, "mmdebstrap", "--quiet", *options, "bookworm", part, MIRROR], check=True)
        part.rename(archive)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    subprocess.run(["tar", "--extract", "--preserve-permissions", "--file", archive, "--directory", made], check=True)
    (made / "made").touch()
    return made


class Bare:
    """The machine. Its root folder is `root`, for reading; a test changes it by commands inside."""

    def __init__(self, folder: Path, *layers: Path, architecture: str = "") -> None:
        """Its files are those of the layers, the upper ones first, over the bare tree. What changes goes to
        `folder / "upper"`, the layer of further machines."""
        self.patience = PATIENCE_FOREIGN if architecture else PATIENCE
        self.environment = (*ENVIRONMENT, QEMU) if architecture else ENVIRONMENT
        # With all that the packages depend on there already, dpkg does what apt would.
        self.installs = ["dpkg", "--force-unsafe-io", "--install"] if architecture else INSTALL
        self.begun: list[Program] = []
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
        lower = ":".join(map(str, [*layers, tree(architecture)]))
        spaces = ("--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child")
        # In a namespace of users overlays keep their marks in attributes that users may set.
        more = (",userxattr", EMULATE) if architecture else ("", "")
        with namespace() if architecture else contextlib.nullcontext([]) as words:
            self.machine = Program(
                "machine", [*words, "unshare", *spaces, "sh", "-c", MACHINE, "sh", lower, folder, *more]
            )
            self.machine.wait_for("^machine is up$")
        children = Path(f"/proc/{self.machine.pid}/task/{self.machine.pid}/children").read_text().split()
        spaces = ("--user", *spaces[:4]) if architecture else spaces[:4]
        self.enters = ["nsenter", f"--target={children[0]}", *spaces, "chroot", str(folder / "root")]
        self.root = Path(f"/proc/{children[0]}/root{folder}/root")

    def command(self, *words: str) -> list[str]:
        """A command of root."""
        return [*self.enters, "env", "--ignore-environment", "--chdir=/", *self.environment, *words]

    def as_user(self, *words: str) -> list[str]:
        """A command of a user who has logged in."""
        own = (f"HOME={HOME}", f"XDG_RUNTIME_DIR={RUNTIME}")
        drop = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", f"--chdir={HOME}")
        return self.command(*own, *drop, *words)

    def run(self, *words: str) -> str:
        return output(self.command(*words), self.patience)

    def say(self, *words: str) -> str:
        """Returns what a command of the user prints."""
        return output(self.as_user(*words), self.patience)

    def fails(self, *words: str) -> str:
        """Returns what a command of the user prints that has to fail."""
        done = subprocess.run(
            self.as_user(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.patience
        )
        assert done.returncode != 0, f"{' '.join(words)}\n{done.stdout}"
        return done.stdout + done.stderr

    def begin(self, *words: str) -> Program:
        """A command of the user that runs beside the test, until `close`."""
        self.begun.append(Program(words[0], self.as_user(*words)))
        return self.begun[-1]

    def copy_in(self, files: Sequence[Path], folder: str) -> list[str]:
        """Returns the paths inside."""
        self.run("mkdir", "-p", folder)
        for file in files:
            shutil.copy(file, self.root / folder.lstrip("/") / file.name)
        return [f"{folder}/{file.name}" for file in files]

    def install(self, files: Sequence[Path]) -> str:
        """Installs packages without those that they recommend, such as browsers."""
        return self.run(*self.installs, *self.copy_in(files, "/packages"))

    def files(self) -> set[str]:
        """All paths but those of kernel, sessions and homes, and what apt and dpkg write about themselves."""
        find = ("find", "/", "-xdev", "-path", "/packages", "-prune", "-o", "-path", "/home", "-prune", "-o", "-print")
        ignored = ("/var/log/", "/var/cache/", "/var/lib/apt/", "/var/lib/dpkg/", "/etc/ld.so.cache")
        return {path for path in self.run(*find).splitlines() if not path.startswith(ignored)}

    def close(self) -> None:
        """Ends the machine, and with it all that runs there."""
        self.machine.wait()
        for program in self.begun:
            program.wait()


def output(command: Sequence[str], patience: float = PATIENCE) -> str:
    """Returns what a command prints that has to succeed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout
