# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what goes over a network, as a stranger does: `recorder.py INTERFACE FILE`, until a line comes."""

from __future__ import annotations

import select
import socket
import struct
import sys

EVERYTHING = 0x0003  # ETH_P_ALL


def main(interface: str, path: str) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERYTHING)) as tap, open(path, "wb") as file:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        tap.bind((interface, 0))
        print("records", flush=True)
        while True:
            ready, _, _ = select.select([tap, sys.stdin], [], [])
            if tap in ready:
                frame = tap.recv(65536)
                file.write(struct.pack(">I", len(frame)) + frame)
            elif sys.stdin in ready:
                break
    print("has recorded", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
