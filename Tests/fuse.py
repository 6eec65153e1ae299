# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file system of a process of ours (fuse(4)) that stops to answer."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from temporary_folders import temporary

LOOKUP, GETATTR, OPEN, INIT = 1, 3, 14, 26
ENOSYS = 38
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
libc = ctypes.CDLL(None, use_errno=True)


def attributes(inode: int) -> bytes:
    mode = 0o40755 if inode == 1 else 0o100644
    return struct.pack(
        "<QQQQQQIIIIIIIIII", inode, 4, 1, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0
    )


def answer(operation: int, node: int) -> bytes | None:
    """None: it is not known."""
    if operation == INIT:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0)
    if operation == LOOKUP:
        return struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2)
    if operation == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attributes(node)
    if operation == OPEN:
        return struct.pack("<QII", 1, 0, 0)
    return None


def serve(device: int) -> None:
    """Until the file is open; then nothing is answered any more."""
    while True:
        request = os.read(device, 1 << 18)
        _, operation, unique, node = struct.unpack("<IIQQ", request[:24])
        body = answer(operation, node)
        head = struct.pack("<IiQ", 16 + len(body or b""), 0 if body is not None else -ENOSYS, unique)
        os.write(device, head + (body or b""))
        if operation == OPEN:
            return


def mount(folder: Path) -> int:
    """The device of a file system that is mounted there."""
    if os.getuid() != 0:
        user, group = os.getuid(), os.getgid()
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
            raise OSError
        for name, text in [("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"segue", os.fsencode(folder), b"fuse", 0, options) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return device


def child(folder: Path, end: socket.socket) -> None:
    """Sends a descriptor of a file there, and lives on."""
    try:
        device = mount(folder)
    except OSError:
        return
    opener = os.fork()
    if opener == 0:
        os.close(device)
        fd = os.open(f"{folder}/file", os.O_RDONLY)
        socket.send_fds(end, [b"1"], [fd])
        signal.pause()
    serve(device)
    signal.pause()


@contextlib.contextmanager
def hanging() -> Iterator[int | None]:
    """An open file of which nothing is answered; None: it cannot be had."""
    with temporary("segue-fuse-") as folder:
        near, far = socket.socketpair()
        process = os.fork()
        if process == 0:
            with contextlib.suppress(BaseException):
                os.setpgid(0, 0)
                near.close()
                child(folder, far)
            os._exit(1)
        far.close()
        fd = None
        with near:
            _, fds, _, _ = socket.recv_fds(near, 1, 1)
        fd = fds[0] if fds else None
        try:
            yield fd
        finally:
            # The file system ends with the last user of the device, and so do calls that wait for it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            libc.umount2(os.fsencode(folder), 2)
            if fd is not None:
                with contextlib.suppress(OSError):
                    os.close(fd)
