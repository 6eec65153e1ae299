# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activity documents, and attachments as they go over a stream ("An attachment, at both ends")."""

from __future__ import annotations

import hashlib
import os
import struct
from typing import Any

import cbor2

TYPE = "com.example.notes.editing"
STILL_HERE, HANDED_OVER = 0xFFFFFFFF, 0xFFFFFFFE
SEND_BYTES = b"\1"


def document(title: str, **user_info: Any) -> bytes:
    return of(title=title, user_info=user_info)


def of(**properties: Any) -> bytes:
    return cbor2.dumps(cbor2.CBORTag(55799, [1, {"type": TYPE, **properties}]), canonical=True)


def head(size: int) -> bytes:
    return struct.pack(">Q", size)


def piece(data: bytes, length: int | None = None) -> bytes:
    return struct.pack(">I", len(data) if length is None else length) + data


def end(verdict: int, data: bytes = b"") -> bytes:
    return struct.pack(">IB", 0, verdict) + hashlib.sha256(data).digest()


def handed_over(fd: int) -> bytes:
    """The bytes that come with a file that is handed over: the time of its last change."""
    seconds, nanoseconds = divmod(os.fstat(fd).st_mtime_ns, 10**9)
    return struct.pack(">IqI", HANDED_OVER, seconds, nanoseconds)
