# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that looks names up, as it ships (R14.2). Tests/devices/test_names.py has servers of names for it."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from project import ROOT

AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()


def resolve(*words: str, under: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    script = 'exec -a segue-resolve "$0" "$@"'
    return subprocess.run(
        [*under, "bash", "-c", script, AGENT, *words], capture_output=True, text=True, timeout=30, cwd="/"
    )


def test_r14_2_it_writes_an_address_a_line():
    made = resolve("localhost")
    assert made.returncode == 0 and made.stderr == ""
    lines = made.stdout.splitlines()
    assert set(lines) <= {"127.0.0.1", "::1"} and len(lines) == len(set(lines)) > 0


def test_r14_2_a_name_that_is_not_found_is_one_line():
    made = resolve("no-such-name.invalid")
    assert (made.returncode, made.stdout) == (0, "!no-such-name.invalid: the name is not found\n")


@pytest.mark.parametrize(
    "words", [(), ("",), ("a", "b"), ("-n",), ("a b",), ("é",), ("127.0.0.1",), ("::1",), ("a" * 254,), ("a..b",)]
)
def test_r14_2_it_takes_the_name_of_one_host_alone(words):
    made = resolve(*words)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr == "segue-resolve: expected the name of one host\n"


def test_r14_2_it_is_killed_after_five_seconds(tmp_path):
    """A machine whose server of names takes questions, and answers none."""
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:30\n")
    (tmp_path / "nsswitch.conf").write_text("hosts: dns\n")
    script = """
        for file in resolv.conf nsswitch.conf; do mount --bind "$0/$file" "/etc/$file" || exit; done
        ip link set lo up
        mkfifo "$0/binds"
        /usr/bin/python3 -c '
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("127.0.0.1", 53))
    open(sys.argv[1], "w").close()
    time.sleep(60)' "$0/binds" >/dev/null 2>&1 &
        read line <"$0/binds"
        "$@"
        status=$?
        kill $!
        exit $status
    """
    under = ("unshare", "-Urnm", "sh", "-c", script, str(tmp_path))
    if subprocess.run([*under[:2], "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces cannot be made here")
    began = time.monotonic()
    made = resolve("silent.test", under=under)
    assert (made.returncode, made.stdout) == (128 + 14, "")
    assert 5 <= time.monotonic() - began < 15


def test_r14_2_it_writes_no_file_and_executes_nothing(tmp_path):
    """A module of the resolver that would do so is refused by the kernel."""
    preloaded = tmp_path / "module.c"
    preloaded.write_text("""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <netdb.h>
        #include <stdio.h>
        #include <string.h>
        #include <errno.h>
        #include <unistd.h>
        int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
          int file = open("/tmp/segue-resolve-was-here", O_WRONLY | O_CREAT, 0600);
          dprintf(2, "write %s\\n", file < 0 ? strerror(errno) : "done");
          execl("/bin/true", "true", (char *)0);
          dprintf(2, "execute %s\\n", strerror(errno));
          return EAI_FAIL;
        }
    """)
    library = tmp_path / "module.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, preloaded], check=True)
    made = resolve("localhost", under=("env", f"LD_PRELOAD={library}"))
    assert made.stderr == "write Permission denied\nexecute Permission denied\n"
