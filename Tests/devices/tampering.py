# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host of ssh that turns hostile (A17): passes the bytes of a command on, changes one, records all, or repeats them.

tampering.py flip N COMMAND...      turns a bit of byte N of what comes back; none if N is negative
tampering.py record FILE COMMAND... the same without a change, and writes what comes back into a file
tampering.py replay FILE            says what was recorded
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def pass_on(source: int, target: int) -> None:
    while data := os.read(source, 65536):
        os.write(target, data)
    os.close(target)


def main(what: str, argument: str, *command: str) -> None:
    if what == "replay":
        with open(argument, "rb") as recorded:
            os.write(1, recorded.read())
        os.read(0, 1)
        return
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdin is not None and running.stdout is not None
    threading.Thread(target=pass_on, args=(0, os.dup(running.stdin.fileno())), daemon=True).start()
    running.stdin.close()
    at, place = 0, int(argument) if what == "flip" else -1
    with open(argument if what == "record" else os.devnull, "ab", buffering=0) as record:
        while data := bytearray(os.read(running.stdout.fileno(), 65536)):
            if at <= place < at + len(data):
                data[place - at] ^= 1
            at += len(data)
            record.write(data)
            os.write(1, data)


main(*sys.argv[1:])
