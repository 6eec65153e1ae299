# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.5: hosts that break the rules harm their own session only."""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from host import Host, RefusedError
from test_session import NOTE, continued, offer, pair

Start = Callable[..., Host]


def is_alive(host: Host) -> bool:
    host.call("app/foreground", foreground=True)
    return True


def test_half_lines_are_put_together(start: Start) -> None:
    """R13.5.1"""
    host = start()
    host.open()
    line = json.dumps({"jsonrpc": "2.0", "id": "whole", "method": "app/foreground", "params": {}}).encode() + b"\n"
    for index in range(len(line)):
        host.write(line[index : index + 1])
    assert host.answer("whole") == {}
    host.write(line[:20])
    status, _ = host.end()
    assert status == 0


def test_many_messages_in_one_write_are_told_apart(start: Start) -> None:
    """R13.5.1"""
    host = start()
    host.open()
    one = '{"jsonrpc": "2.0", "id": %d, "method": "app/foreground", "params": {"foreground": true}}\n'
    host.write("".join(one % number for number in range(1000, 3000)).encode())
    for number in range(1000, 3000):
        assert host.answer(number) == {}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"", -32700),
        (b"hello", -32700),
        (b'{"jsonrpc": "2.0", "id": 1', -32700),
        (b'{"a": "\\ud800"}', -32700),
        (b"{} {}", -32700),
        (b"[" * 100, -32600),
        (b"1e999", -32700),
        (b"99999999999999999999999999", -32700),
        (b'{"a": 1, "a": 2}', -32700),
        (b"\x00", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "close"}]', -32600),
        (b"7", -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "1.0", "method": "close"}', -32600),
        (b'{"jsonrpc": "2.0"}', -32600),
        (b'{"jsonrpc": "2.0", "id": [], "method": "close"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {"$uuid": "x"}, "method": "close"}', -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_with_id_null(start: Start, line: bytes, code: int) -> None:
    """R13.5.1, R13.5.9"""
    host = start()
    host.open()
    host.write(line + b"\n")
    with pytest.raises(RefusedError) as refused:
        host.answer(None)
    assert refused.value.code == code
    assert is_alive(host)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"id": "x", "method": 7}, -32600),
        ({"id": "x", "method": "no/method"}, -32601),
        ({"id": "x", "method": "activity/save"}, -32601),
        ({"id": "x", "method": "activity/set", "params": []}, -32602),
        ({"id": "x", "method": "activity/set", "params": {"activity": 1}}, -32602),
        ({"id": "x", "method": "activity/set", "params": {"activity": "a" * 256, "type": NOTE}}, -32602),
        ({"id": "x", "method": "activity/set", "params": {"activity": "a"}}, -32602),
        ({"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "title": []}}, -32602),
        ({"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "title": "x" * 2000}}, -32010),
        ({"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "userInfo": []}}, -32602),
        ({"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "attachments": 1}}, -32602),
        (
            {"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "webpageURL": "about:"}},
            -32003,
        ),
        (
            {"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "userInfo": {"$date": 1}}},
            -32602,
        ),
        (
            {"id": "x", "method": "activity/set", "params": {"activity": "a", "type": NOTE, "userInfo": {"$no": 1}}},
            -32007,
        ),
        ({"id": "x", "method": "activity/release", "params": {"activity": "none"}}, -32008),
    ],
)
def test_a_bad_request_is_refused_and_leaves_nothing_behind(start: Start, message: dict, code: int) -> None:
    """R13.5.9"""
    host = start()
    host.open()
    host.send(**message)
    with pytest.raises(RefusedError) as refused:
        host.answer("x")
    assert refused.value.code == code, refused.value.message
    with pytest.raises(RefusedError, match="no activity"):
        host.call("activity/invalidate", activity="a")


def test_ids_come_back_as_they_were(start: Start) -> None:
    host = start()
    host.open()
    for id in ("", "ü\n", 0, -5, 1.5, 2**63):
        host.send(id=id, method="app/foreground", params={})
        assert host.answer(id) == {}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'"' + b"x" * (1 << 20) + b'"\n', "too long"),
        (b"x" * ((1 << 20) + 70000), "too long"),
        (b'{"\xff": 1}\n', "no UTF-8"),
        (b"\xed\xa0\x80\n", "no UTF-8"),
        (b"\xc0\xaf\n", "no UTF-8"),
        (b"\xf4\x90\x80\x80\n", "no UTF-8"),
        (b"\xe2\x82\n", "no UTF-8"),
    ],
)
def test_a_line_that_is_too_long_or_no_utf8_ends_the_session(start: Start, data: bytes, reason: str) -> None:
    """R13.5.9"""
    host = start()
    host.open()
    with contextlib.suppress(BrokenPipeError):
        host.write(data)
    status, log = host.ended()
    assert status == 1
    assert reason in log


def test_answers_twice_and_to_nobody_have_no_effect(start: Start) -> None:
    """R13.5.5, R13.5.7"""
    origin, receiver = pair(start)
    offer(origin)
    for id in (1, 77, "x", None, 1.5, -1, 2**63):
        origin.send(id=id, result={"userInfo": {"line": 99}})
        receiver.send(id=id, result={"handled": True})
    request = continued(origin, receiver, save={"userInfo": {"line": 1}})
    assert request["params"]["userInfo"] == {"line": 1}
    for _ in range(3):
        receiver.respond(request, {"handled": True})
        receiver.respond(request, {"handled": False})
    assert origin.hear("activity/ended")["outcome"] == "restored"
    assert is_alive(origin) and is_alive(receiver)
    assert "no request that waits" in receiver.end()[1]


@pytest.mark.parametrize("result", [None, [], 7, "yes", {"userInfo": 7}, {"title": 1}, {"userInfo": {"$x": 1}}])
def test_a_save_that_is_answered_with_nonsense_has_failed(start: Start, result: object) -> None:
    """R13.5.5"""
    origin, receiver = pair(start)
    offer(origin)
    id = receiver.offer_of("Shopping")["offer"]
    receiver.call("offers/continue", offer=id)
    origin.respond(origin.hear_message("activity/save"), result)
    failed = receiver.hear("continuation/failed")
    assert failed["error"]["data"]["status"] == "HANDOFF_FAILED"
    assert is_alive(origin)


@pytest.mark.parametrize("result", [None, [], {}, {"handled": "yes"}, {"handled": 1}])
def test_a_continuation_that_is_answered_with_nonsense_has_failed(start: Start, result: object) -> None:
    """R13.5.7"""
    origin, receiver = pair(start, save=False)
    offer(origin)
    receiver.respond(continued(origin, receiver), result)
    assert origin.hear("activity/ended")["outcome"] == "failed"
    assert is_alive(receiver)


def test_answers_out_of_order_reach_their_requests(start: Start) -> None:
    """R13.5.5: a continuation waits for the answer of its own activity."""
    origin, first, second = start(), start(), start()
    origin.open("origin")
    first.open("first", NOTE)
    second.open("second", NOTE)
    offer(origin)
    # One after the other: one save may serve both.
    requests = [continued(origin, receiver, save={"userInfo": {"line": 1}}) for receiver in (first, second)]
    second.respond(requests[1], {"handled": True})
    assert origin.hear("activity/ended")["app"] == "second"
    first.respond(requests[0], {"handled": True})
    assert origin.hear("activity/ended")["app"] == "first"


def test_what_comes_after_close_is_not_done(start: Start) -> None:
    """R13.5.10"""
    host = start()
    host.open()
    closing = {"jsonrpc": "2.0", "id": "c", "method": "close"}
    after = {"jsonrpc": "2.0", "id": "late", "method": "app/foreground"}
    host.write(json.dumps(closing).encode() + b"\n" + json.dumps(after).encode() + b"\n")
    assert host.ended()[0] == 0
    assert host.answer("c") == {}
    assert not [message for message in host.heard if message.get("id") == "late"]


def test_a_host_that_reads_nothing_is_ended(start: Start) -> None:
    """R13.5.10: 10 s after more than 1 MiB waits."""
    host = start()
    host.open()
    begin = time.monotonic()
    # Each line is answered by about 100 bytes, and nothing is read.
    with contextlib.suppress(BrokenPipeError):
        while time.monotonic() < begin + 8:
            data = b"no JSON\n" * 8192
            _, writable, _ = select.select([], [host.process.stdin], [], 1)
            if not writable:
                break
            os.write(host.process.stdin.fileno(), data[:4096])
    assert host.process.wait(30) == 1
    assert time.monotonic() - begin > 9
    assert "read nothing" in host.process.stderr.read().decode()


def test_a_slow_host_gets_everything(start: Start) -> None:
    """R13.5.10: what waits stops the input; nothing is lost."""
    host = start()
    host.open()
    lines = b"no JSON\n" * 30000
    writer = threading.Thread(target=host.write, args=(lines,))
    writer.start()
    time.sleep(1)  # About the silence itself: the pipes are full by now.
    for _ in range(30000):
        host.take(lambda message: message.get("id", 0) is None)
    writer.join()
    assert is_alive(host)


def test_the_log_has_no_controls(start: Start) -> None:
    """Texts of others reach a terminal by it."""
    host = start()
    host.open()
    host.notify("a\x1b\x9b\u061c\u202e\u2067ü" + "€" * 500)
    log = host.end()[1]
    assert "a?" in log and "?ü€" in log
    assert not {"\x1b", "\x9b", "\u061c", "\u202e", "\u2067"} & set(log)


def test_a_host_that_dies_takes_only_its_own_offers_along(start: Start) -> None:
    origin, receiver = pair(start, save=False)
    offer(origin)
    receiver.offer_of("Shopping")
    origin.process.stdin.close()
    assert receiver.hear("offers/changed")["offers"] == []
    assert is_alive(receiver)


def test_a_session_that_waits_does_not_wake_up(start: Start, folder: Path) -> None:
    """R13.5: no wake-ups."""
    host, other = start(), start()
    host.open(save=False)
    other.open("other", NOTE)
    offer(host)
    other.offer_of("Shopping")

    def switches() -> int:
        found = 0
        for each in Path(f"/proc/{other.process.pid}/task").iterdir():
            text = (each / "status").read_text()
            found += int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])
        return found

    # Until the lazy save of the offer, 2 s after its change, is over, also on a busy machine.
    deadline, before = time.monotonic() + 30, -1
    while before != (before := switches()):
        assert time.monotonic() < deadline, "it does not settle"
        time.sleep(3)
    time.sleep(3)  # About the silence itself.
    assert switches() == before
