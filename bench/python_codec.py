# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the time of setting and reading user_info in Python, beside that of cbor2 alone for the same dictionary.

    bench/python_codec.py [--short]

Prints "name value" lines. Both convert a dict to CBOR and CBOR to a dict; Segue also checks, normalises and stores it
in between. The two take turns, and the best round of each counts: the machine does other things, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import cbor2
import segue

PAYLOAD: dict[str, Any] = {  # that of payload.h
    "document": "/home/anna/notes/shopping list.txt",
    "line": 1234,
    "scroll": 0.3712,
    "edited": datetime.fromtimestamp(1700000000.25, UTC),
    "selection": {"start": 17, "end": 344},
    "thumbnail": bytes(i * 37 & 255 for i in range(256)),
    "sections": [{"title": f"section {i}", "line": i * 100, "folded": i % 2 == 0} for i in range(8)],
}


def best(rounds: int, calls: int, *functions: Callable[[], object]) -> list[float]:
    """The seconds of a call of each function, in its best round."""
    seconds = [float("inf")] * len(functions)
    for _ in range(rounds):
        for index, function in enumerate(functions):
            began = time.perf_counter()
            for _ in range(calls):
                function()
            seconds[index] = min(seconds[index], (time.perf_counter() - began) / calls)
    return seconds


def main() -> None:
    activity = segue.Activity(None, "com.example.notes.editing")

    def through_segue() -> object:
        activity.user_info = PAYLOAD
        return activity.user_info.copy()

    def through_cbor2() -> object:
        return cbor2.loads(cbor2.dumps(PAYLOAD, datetime_as_timestamp=True))

    assert through_segue() == PAYLOAD == through_cbor2()
    rounds, calls = (100, 50) if "--short" in sys.argv else (1500, 50)  # short ones, which other programs leave alone
    ours, theirs = best(rounds, calls, through_segue, through_cbor2)
    print("ratio", ours / theirs)
    print("segue_us", ours * 1e6)
    print("cbor2_us", theirs * 1e6)
    print("payload_bytes", len(cbor2.dumps(PAYLOAD, datetime_as_timestamp=True)))


if __name__ == "__main__":
    main()
