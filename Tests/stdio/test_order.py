# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.5: the order of what the host hears."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from host import PATIENCE, Host
from project import ROOT, run

NOTE = "com.example.note"


def offer(host: Host, title: str) -> None:
    host.call("activity/set", activity="a", type=NOTE, title=title)
    host.call("activity/current", activity="a")


def test_an_answer_comes_before_what_the_host_is_asked_later(start: Callable[..., Host], folder: Path) -> None:
    """Somebody continues the host's own activity while the one that it has asked for is awaited."""
    library, source = folder / "slow.so", ROOT / "Tests" / "stdio" / "slow.c"
    run("cc", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{ROOT}/include", source, "-o", library, "-ldl")
    origin, other, host = start(), start(), start(LD_PRELOAD=str(library))
    origin.open("origin")
    other.open("receiver", NOTE)
    host.open("receiver", NOTE)
    offer(origin, "Shopping")
    found = host.offer_of("Shopping")["offer"]
    offer(host, "Mine")
    mine = other.offer_of("Mine")["offer"]
    number = host.ask("offers/continue", offer=found)
    origin.hear("activity/save")  # the host's request has been read
    other.ask("offers/continue", offer=mine)
    while not any(each.get("method") == "activity/save" for each in host.heard):
        assert host.read(PATIENCE)
    assert [each.get("method", each["id"]) for each in host.heard if "id" in each] == [number, "activity/save"]
