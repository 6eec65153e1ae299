# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host of ssh that turns hostile (A17): passes the bytes of a command on, changes one, records all, or repeats them.

tampering.py flip N COMMAND...      turns a bit of byte N of what comes back; none if N is negative
tampering.py drop N COMMAND...      leaves byte N out
tampering.py twice N COMMAND...     repeats what comes back with byte N
tampering.py swap N COMMAND...      swaps bytes N and N + 1
tampering.py stall N COMMAND...     passes nothing on from byte N
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


def tampered(what: str, data: bytearray, place: int) -> bytearray:
    """Returns the bytes that are passed on for these, `place` being among them."""
    if what == "flip":
        data[place] ^= 1
    elif what == "drop":
        del data[place]
    elif what == "twice":
        data += data
    elif what == "swap":
        # Two that are the same would be no change.
        other = next((each for each in range(place + 1, len(data)) if data[each] != data[place]), place)
        data[place], data[other] = data[other], data[place]
    elif what == "stall":
        data = data[:place]
        os.write(1, data)
        threading.Event().wait()
    return data


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
    at, place = 0, -1 if what == "record" else int(argument)
    with open(argument if what == "record" else os.devnull, "ab", buffering=0) as record:
        while data := bytearray(os.read(running.stdout.fileno(), 65536)):
            end = at + len(data)
            if at <= place < end:
                data = tampered(what, data, place - at)
            at = end
            record.write(data)
            os.write(1, data)


main(*sys.argv[1:])
