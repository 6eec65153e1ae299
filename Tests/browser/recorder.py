#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands between a browser and its native host, records all bytes, and ends when either of them does.

recorder.py HOST RECORD ARGUMENT...: RECORD.sent has what the extension sends, RECORD.received what it gets
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def copy(source: int, target: int, record: str) -> None:
    with open(record, "ab", buffering=0) as file:
        while data := os.read(source, 65536):
            file.write(data)
            while data:
                data = data[os.write(target, data) :]


host, record = sys.argv[1:3]
process = subprocess.Popen([host, *sys.argv[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
assert process.stdin is not None and process.stdout is not None


def forward() -> None:
    assert process.stdin is not None
    try:
        copy(0, process.stdin.fileno(), f"{record}.sent")
    except OSError:
        return
    process.stdin.close()


threading.Thread(target=forward, daemon=True).start()
try:
    copy(process.stdout.fileno(), 1, f"{record}.received")
finally:
    process.kill()
    process.wait()
    os._exit(0)
