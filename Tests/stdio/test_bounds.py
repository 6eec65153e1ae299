# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.5: bounds of lines, messages, ids and activities."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from host import Host, RefusedError
from programs import programs
from project import ROOT
from test_hostile import is_alive
from test_session import NOTE, continued, offer, pair

Start = Callable[..., Host]


def test_a_line_of_the_whole_bound_is_taken(start: Start) -> None:
    """R13.5.1"""
    host = start()
    host.open(lineBytes=65536)
    line = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "app/foreground", "params": {"pad": ""}}).encode()
    host.write(line.replace(b'""', b'"' + b"p" * (65536 - len(line)) + b'"') + b"\n")
    assert host.answer("x") == {}
    host.write(b"x" * 65537 + b"\n")
    assert host.ended()[0] == 1


def test_what_does_not_fit_into_a_line_fails_before_the_host_gets_it(start: Start) -> None:
    """R13.5.1, R13.5.7"""
    origin, receiver = start(), start()
    origin.open("origin", save=False)
    receiver.open("receiver", NOTE, lineBytes=65536)
    offer(origin, userInfo={"text": "x" * 70000})
    receiver.call("offers/continue", offer=receiver.offer_of("Shopping")["offer"])
    failed = receiver.hear("continuation/failed")
    assert failed["error"]["data"]["status"] == "LIMIT_EXCEEDED"
    assert "lineBytes" in failed["error"]["message"]
    assert origin.hear("activity/ended")["outcome"] == "failed"


def test_an_offer_with_a_long_title_fits_into_the_shortest_line(start: Start) -> None:
    """R13.5.6: a control character has six bytes in JSON."""
    origin, receiver = start(), start()
    origin.open("origin", save=False)
    receiver.open("receiver", NOTE, lineBytes=65536)
    title = "\x01" * 1000
    offer(origin, title=title)
    receiver.offer_of(title)


def deep(levels: int) -> dict:
    value: dict = {}
    for _ in range(levels - 1):
        value = {"x": value}
    return value


def test_what_is_too_deep_for_a_message_is_named(start: Start) -> None:
    """R13.5.1, R13.5.9: a message has two levels around user_info."""
    origin, receiver = pair(start, save=False)
    offer(origin, userInfo=deep(62))
    assert continued(origin, receiver)["params"]["userInfo"] == deep(62)
    with pytest.raises(RefusedError) as refused:
        origin.ask("activity/set", activity="a", userInfo=deep(63))
        origin.answer(None)
    assert (refused.value.code, refused.value.data["status"]) == (-32600, "LIMIT_EXCEEDED")


def test_a_received_state_that_is_too_deep_for_a_message_has_failed(start: Start, folder: Path) -> None:
    """R13.5.7: an app of the library may have 64 levels."""
    receiver = start()
    receiver.open("receiver", NOTE)
    command = [ROOT / ".venv/bin/python", "-m", "segue", "offer", NOTE, "--title", "Deep", "--team", "T"]
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        run("origin", [*command, "--user-info", json.dumps(deep(63))])
        receiver.call("offers/continue", offer=receiver.offer_of("Deep")["offer"])
        error = receiver.hear("continuation/failed")["error"]
    assert error["data"]["status"] == "LIMIT_EXCEEDED"
    assert "lineBytes" not in error["message"]


def test_a_message_that_is_too_large_for_the_library_is_named(start: Start) -> None:
    """R13.5.1, R13.5.9"""
    host = start()
    limits = host.open(lineBytes=24 << 20)["limits"]
    assert (limits["messageBytes"], limits["messageNesting"]) == (16 << 20, 64)
    host.ask("activity/set", activity="a", type=NOTE, userInfo={"text": "x" * (17 << 20)})
    with pytest.raises(RefusedError) as refused:
        host.answer(None)
    assert (refused.value.code, refused.value.data["status"]) == (-32600, "LIMIT_EXCEEDED")
    assert is_alive(host)


@pytest.mark.parametrize("length", [255, 256, 1 << 19])
def test_an_id_that_is_too_long_is_refused(start: Start, length: int) -> None:
    """R13.5.9: it comes back in the answer."""
    host = start()
    host.open()
    host.send(id="i" * length, method="app/foreground", params={})
    if length <= 255:
        assert host.answer("i" * length) == {}
        return
    with pytest.raises(RefusedError, match="255 bytes") as refused:
        host.answer(None)
    assert refused.value.code == -32600


def test_there_is_a_bound_for_activities(start: Start) -> None:
    """R13.5.3"""
    host = start()
    most = host.open()["limits"]["activities"]
    for number in range(most):
        host.call("activity/set", activity=str(number), type=NOTE)
    with pytest.raises(RefusedError) as refused:
        host.call("activity/set", activity="more", type=NOTE)
    assert refused.value.data["status"] == "LIMIT_EXCEEDED"
    host.call("activity/release", activity="0")
    host.call("activity/set", activity="more", type=NOTE)


def test_late_declines_leave_no_activity_behind(start: Start) -> None:
    """R13.5.7: a user may take longer to decide than the other side waits."""
    origin, receiver = pair(start, save=False)
    offer(origin)
    id, late = receiver.offer_of("Shopping")["offer"], 0
    while late < 65:
        receiver.call("offers/continue", offer=id, seconds=0.05)
        came = receiver.take(lambda each: each.get("method") in ("continuation/continue", "continuation/failed"))
        # Each attempt has one end, also one whose time was up before anything came.
        assert origin.hear("activity/ended")["outcome"] in ("failed", "unknown")
        if came["method"] == "continuation/continue":
            receiver.respond(came, {"handled": False})
            late += 1
    receiver.call("offers/continue", offer=id)
    receiver.respond(receiver.hear_message("continuation/continue"), {"handled": True})
    origin.hear("activity/ended", outcome="restored")


def test_an_activity_that_is_taken_late_lives(start: Start) -> None:
    """R13.5.7"""
    origin, receiver = pair(start, save=False)
    offer(origin)
    receiver.call("offers/continue", offer=receiver.offer_of("Shopping")["offer"], seconds=2)
    request = receiver.hear_message("continuation/continue")
    origin.hear("activity/ended")
    for handled in (True, False):  # the second answer is to nothing
        receiver.respond(request, {"handled": handled})
    receiver.call("activity/release", activity=request["params"]["activity"])
