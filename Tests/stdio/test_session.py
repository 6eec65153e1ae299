# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.5: a host offers, is asked to save, continues, and ends, by lines of JSON."""

from __future__ import annotations

import json
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from host import EDITING, Host, RefusedError

NOTE = "com.example.note"
Start = Callable[..., Host]


def pair(start: Start, type: str = NOTE, **more: object) -> tuple[Host, Host]:
    """An origin that is asked before saves, and a receiver that declares the type."""
    origin, receiver = start(), start()
    origin.open("origin", **more)
    receiver.open("receiver", type)
    return origin, receiver


def offer(origin: Host, type: str = NOTE, title: str = "Shopping", **more: object) -> None:
    origin.call("activity/set", activity="a", type=type, title=title, **more)
    origin.call("activity/current", activity="a")


def continued(origin: Host, receiver: Host, title: str = "Shopping", save: object = None) -> dict:
    """Continues what is offered; the origin answers its save. Returns the request to the receiver."""
    id = receiver.offer_of(title)["offer"]
    continuation = receiver.call("offers/continue", offer=id)["continuation"]
    receiver.hear("continuation/will", continuation=continuation)
    if save is not None:
        origin.respond(origin.hear_message("activity/save", activity="a"), save)
    return receiver.hear_message("continuation/continue", continuation=continuation)


def test_open_says_protocol_version_limits_and_whether_an_agent_runs(start: Start) -> None:
    """R13.5.3"""
    answer = start().open()
    assert answer["protocol"] == 1
    assert answer["version"].count(".") == 2
    assert answer["agent"] is False
    assert answer["limits"]["lineBytes"] == 1 << 20
    assert answer["limits"]["userInfoBytes"] == 256 << 10


def test_every_request_before_open_is_refused(start: Start) -> None:
    """R13.5.3"""
    host = start()
    for method in ("activity/set", "offers/continue", "no/method"):
        with pytest.raises(RefusedError) as refused:
            host.call(method)
        assert refused.value.code == -32002
    host.open()
    with pytest.raises(RefusedError, match="open already"):
        host.open()


def test_nothing_comes_before_the_answer_to_open(start: Start) -> None:
    """R13.5.3: also if the host does not wait for it."""
    host = start()
    open = {"protocol": 1, "bundleIdentifier": "com.example.a", "name": "A"}
    lines = [("open", open), ("activity/set", {"activity": "a", "type": NOTE}), ("no/method", {})]
    messages = [
        {"jsonrpc": "2.0", "id": id, "method": method, "params": params} for id, (method, params) in enumerate(lines)
    ]
    host.write("".join(json.dumps(message) + "\n" for message in messages).encode())
    answers = [host.take(lambda message: "method" not in message)["id"] for _ in lines]
    assert answers == [0, 1, 2]


@pytest.mark.parametrize(
    ("changed", "code", "path"),
    [
        ({"protocol": 2}, -32017, "protocol"),
        ({"protocol": None}, -32602, "protocol"),
        ({"bundleIdentifier": ""}, -32602, "bundleIdentifier"),
        ({"bundleIdentifier": "x" * 256}, -32602, "bundleIdentifier"),
        ({"name": 7}, -32602, "name"),
        ({"name": None}, -32602, "name"),
        ({"types": ["a", 1]}, -32602, "types/1"),
        ({"types": "a"}, -32602, "types"),
        ({"savePolicy": "never"}, -32602, "savePolicy"),
        ({"lineBytes": 1 << 30}, -32602, "lineBytes"),
        ({"lineBytes": 65535}, -32602, "lineBytes"),
        ({"chooser": "yes"}, -32602, "chooser"),
        ({"team": "T\0"}, -32602, "team"),
    ],
)
def test_open_names_the_parameter_that_is_wrong_and_can_be_repeated(
    start: Start, changed: dict, code: int, path: str
) -> None:
    """R13.5.3, R13.5.9"""
    host = start()
    params = {"protocol": 1, "bundleIdentifier": "com.example.a", "name": "A", "types": []}
    with pytest.raises(RefusedError) as refused:
        host.call("open", **{**params, **changed})
    assert (refused.value.code, refused.value.data["path"]) == (code, path)
    host.call("open", **params)


def test_the_host_is_asked_to_save_and_the_receiver_gets_what_it_says(start: Start) -> None:
    """R13.5.2, R13.5.5, R13.5.7, R13.5.8"""
    origin, receiver = pair(start)
    offer(origin)
    date = {"$date": 12.5}
    request = continued(origin, receiver, save={"userInfo": {"line": 3, "when": date, "x": 1.0}})
    params = request["params"]
    assert params["userInfo"] == {"line": 3, "when": date, "x": 1.0}
    assert params["type"] == NOTE
    assert params["title"] == "Shopping"
    assert params["attachments"] == {}
    assert params["redelivered"] is False
    assert 0 < params["seconds"] <= 20
    receiver.respond(request, {"handled": True})
    came = origin.hear("activity/continued", activity="a")
    ended = origin.hear("activity/ended", activity="a")
    assert came["app"] == ended["app"] == "receiver"
    assert ended["outcome"] == "restored"
    assert ended["device"] and ended["stale"] is False
    assert abs(ended["time"] - time.time()) < 60
    receiver.call("activity/release", activity=params["activity"])


def test_a_host_that_pushes_is_never_asked(start: Start) -> None:
    """R13.5.5"""
    origin, receiver = pair(start, save=False)
    offer(origin, userInfo={"line": 1})
    request = continued(origin, receiver)
    assert request["params"]["userInfo"] == {"line": 1}
    receiver.respond(request, {"handled": True})
    origin.hear("activity/ended", outcome="restored")
    assert origin.end()[0] == 0
    assert not [message for message in origin.heard if message.get("method") == "activity/save"]


def test_an_empty_answer_to_a_save_says_that_nothing_is_new(start: Start) -> None:
    """R13.5.5"""
    origin, receiver = pair(start)
    offer(origin, userInfo={"line": 1})
    assert continued(origin, receiver, save={})["params"]["userInfo"] == {"line": 1}


def test_an_error_in_place_of_a_save_makes_the_snapshot_stale(start: Start) -> None:
    """R13.5.5, R2.4"""
    origin, receiver = pair(start)
    offer(origin, userInfo={"line": 1})
    first = continued(origin, receiver, save={"userInfo": {"line": 2}})
    receiver.respond(first, {"handled": True})
    origin.hear("activity/ended")
    continuation = receiver.call("offers/continue", type=NOTE)["continuation"]
    asked = origin.hear_message("activity/save")
    origin.send(id=asked["id"], error={"code": 1, "message": "the editor is busy"})
    params = receiver.hear("continuation/continue", continuation=continuation)
    assert (params["userInfo"], params["stale"]) == ({"line": 2}, True)


def test_a_late_save_leaves_the_last_snapshot_and_is_ignored(start: Start) -> None:
    """R13.5.5, R2.4: the library waits 5 s."""
    origin, receiver = pair(start)
    offer(origin, userInfo={"line": 1})
    receiver.respond(continued(origin, receiver, save={"userInfo": {"line": 2}}), {"handled": True})
    receiver.call("offers/continue", type=NOTE)
    asked = origin.hear_message("activity/save")
    params = receiver.hear("continuation/continue")
    assert (params["userInfo"], params["stale"]) == ({"line": 2}, True)
    origin.respond(asked, {"userInfo": {"line": 3}})
    origin.call("activity/set", activity="a", title="still there")


def test_absent_is_unchanged_and_null_is_cleared(start: Start) -> None:
    """R13.5.4"""
    origin, receiver = pair(start, save=False)
    offer(origin, userInfo={"line": 1}, webpageURL="https://example.com/")
    origin.call("activity/set", activity="a", title="Changed")
    params = continued(origin, receiver, "Changed")["params"]
    assert (params["userInfo"], params["webpageURL"]) == ({"line": 1}, "https://example.com/")
    origin.call("activity/set", activity="a", webpageURL=None, userInfo=None, title="Cleared")
    params = continued(origin, receiver, "Cleared")["params"]
    assert params["userInfo"] is None
    assert "webpageURL" not in params


def test_an_activity_is_offered_while_it_is_current(start: Start) -> None:
    """R13.5.4, R13.5.6"""
    origin, receiver = pair(start, save=False)
    assert receiver.hear("offers/changed") == {"offers": []}
    offer(origin)
    found = receiver.offer_of("Shopping")
    assert uuid.UUID(found["offer"])
    assert (found["type"], found["app"], found["bundleIdentifier"]) == (NOTE, "origin", "com.example.origin")
    origin.call("activity/current", activity=None)
    assert receiver.hear("offers/changed") == {"offers": []}
    origin.call("activity/current", activity="a")
    receiver.offer_of("Shopping")
    origin.call("activity/invalidate", activity="a")
    assert receiver.hear("offers/changed") == {"offers": []}
    with pytest.raises(RefusedError) as refused:
        origin.call("activity/current", activity="a")
    assert refused.value.data == {"status": "NOT_FOUND", "path": "activity"}


def test_lists_come_at_most_every_100_ms_and_the_last_one_always(start: Start) -> None:
    """R13.5.6"""
    origin, receiver = pair(start, save=False)
    offer(origin, title="0")
    receiver.offer_of("0")
    begin = time.monotonic()
    for number in range(400):
        origin.call("activity/set", activity="a", title=str(number))
    lists = 0
    while receiver.hear("offers/changed")["offers"][0]["title"] != "399":
        lists += 1
    assert lists <= (time.monotonic() - begin) / 0.1 + 1


def test_a_declined_continuation_is_not_restored(start: Start) -> None:
    """R13.5.7"""
    origin, receiver = pair(start, save=False)
    offer(origin)
    request = continued(origin, receiver)
    receiver.respond(request, {"handled": False, "reason": "unsaved changes here"})
    assert origin.hear("activity/ended")["outcome"] == "declined"
    with pytest.raises(RefusedError):
        receiver.call("activity/release", activity=request["params"]["activity"])


def test_an_error_in_place_of_a_result_is_a_failure_with_its_message(start: Start) -> None:
    """R13.5.7"""
    origin, receiver = pair(start, save=False)
    offer(origin)
    request = continued(origin, receiver)
    receiver.send(id=request["id"], error={"code": -1, "message": "no such buffer"})
    ended = origin.hear("activity/ended")
    assert ended["outcome"] == "failed"
    assert "no such buffer" in ended["reason"]


def test_no_result_by_the_deadline_ends_the_attempt_and_a_late_one_has_no_effect(start: Start) -> None:
    """R13.5.7"""
    origin, receiver = pair(start, save=False)
    offer(origin)
    id = receiver.offer_of("Shopping")["offer"]
    receiver.call("offers/continue", offer=id, seconds=3)
    request = receiver.hear_message("continuation/continue")
    assert origin.hear("activity/ended")["outcome"] in ("failed", "unknown")
    receiver.respond(request, {"handled": True})
    receiver.call("app/foreground", foreground=True)


def test_a_second_continuation_cancels_the_first(start: Start) -> None:
    """R13.5.7, R3.3: exactly one of continue and failed follows each will."""
    origin, receiver = pair(start)
    offer(origin)
    id = receiver.offer_of("Shopping")["offer"]
    first = receiver.call("offers/continue", offer=id)["continuation"]
    receiver.hear("continuation/will", continuation=first)
    second = receiver.call("offers/continue", offer=id)["continuation"]
    failed = receiver.hear("continuation/failed", continuation=first)
    assert (failed["type"], failed["error"]["data"]["foundation"]) == (NOTE, 3072)
    receiver.hear("continuation/will", continuation=second)
    receiver.call("offers/cancel", continuation=second)
    receiver.hear("continuation/failed", continuation=second)
    with pytest.raises(RefusedError, match="no continuation"):
        receiver.call("offers/cancel", continuation=second)


def test_what_is_not_offered_cannot_be_continued(start: Start) -> None:
    """R13.5.6, R13.5.9"""
    host = start()
    host.open()
    for params, path in (({"offer": str(uuid.uuid4())}, "offer"), ({"type": "x"}, "type")):
        with pytest.raises(RefusedError) as refused:
            host.call("offers/continue", **params)
        assert (refused.value.code, refused.value.data["path"]) == (-32008, path)
    with pytest.raises(RefusedError) as refused:
        host.call("offers/continue", seconds=-1)
    assert (refused.value.code, refused.value.data["path"]) == (-32602, "seconds")


def test_a_continued_activity_can_be_changed_and_offered(start: Start) -> None:
    """R13.5.7, R3.12: until `activity/release` it lives."""
    origin, receiver = pair(start, NOTE, save=False)
    offer(origin, userInfo={"line": 1})
    request = continued(origin, receiver)
    receiver.respond(request, {"handled": True})
    origin.hear("activity/ended")
    third = start()
    third.open("third", NOTE)
    id = request["params"]["activity"]
    receiver.call("activity/set", activity=id, title="Passed on")
    receiver.call("activity/current", activity=id)
    third.offer_of("Passed on")
    receiver.call("activity/release", activity=id)
    while any(each["app"] == "receiver" for each in third.hear("offers/changed")["offers"]):
        pass


def test_attachments_are_named_with_their_bytes(start: Start, tmp_path: Path) -> None:
    """R13.5.4, R13.5.7"""
    path = tmp_path / "letter"
    path.write_text("Dear Ms. Noether")
    origin, receiver = pair(start, save=False)
    offer(origin, attachments={"letter": str(path)})
    assert continued(origin, receiver)["params"]["attachments"] == {"letter": 16}
    with pytest.raises(RefusedError) as refused:
        origin.call("activity/set", activity="a", attachments={"b": str(tmp_path / "nothing")}, title="Failed")
    assert refused.value.data["path"] == "attachments/b"
    # A wrong one takes none of the former away; those that are no longer named go.
    origin.call("activity/set", activity="a", title="Still")
    assert continued(origin, receiver, "Still")["params"]["attachments"] == {"letter": 16}
    path.write_text("Dear Ms. Lovelace")
    origin.call("activity/set", activity="a", attachments={"other": str(path)}, title="Other")
    assert continued(origin, receiver, "Other")["params"]["attachments"] == {"other": 17}
    origin.call("activity/set", activity="a", attachments=None, title="Without")
    assert continued(origin, receiver, "Without")["params"]["attachments"] == {}


def test_a_chooser_sees_all(start: Start) -> None:
    """R13.5.3, R2.6"""
    origin, chooser = start(), start()
    origin.call("open", protocol=1, bundleIdentifier="com.example.a", name="a", types=[])
    chooser.call("open", protocol=1, bundleIdentifier="com.example.dock", name="dock", types=[], chooser=True)
    offer(origin)
    chooser.offer_of("Shopping")


@pytest.mark.parametrize("way", ["close", "end of input", "SIGTERM"])
def test_the_end_cancels_what_is_pending_and_comes_within_a_second(start: Start, way: str) -> None:
    """R13.5.10"""
    origin, receiver = pair(start)
    offer(origin)
    id = receiver.offer_of("Shopping")["offer"]
    continuation = receiver.call("offers/continue", offer=id)["continuation"]
    receiver.hear("continuation/will")
    origin.hear("activity/save")
    begin = time.monotonic()
    if way == "close":
        number = receiver.ask("close")
    elif way == "SIGTERM":
        receiver.process.send_signal(signal.SIGTERM)
    else:
        receiver.process.stdin.close()
    assert receiver.ended()[0] == 0
    assert time.monotonic() - begin < 1.5
    failed = receiver.hear("continuation/failed", continuation=continuation)
    assert failed["error"]["data"]["status"] == "CANCELLED"
    if way == "close":
        assert receiver.answer(number) == {}
    assert origin.hear("activity/ended")["outcome"] in ("failed", "unknown")


def test_a_public_activity_is_offered_to_another_team_with_its_label(start: Start) -> None:
    """R13.1, R13.6, R13.5.4, R13.5.6"""
    origin, stranger = start(), start()
    origin.open("origin", team="T", label="window 1", save=False)
    stranger.open("stranger", NOTE, team="OTHER")
    assert stranger.hear("offers/changed") == {"offers": []}
    offer(origin, public=False)
    origin.call("activity/set", activity="a", public=True)
    found = stranger.offer_of("Shopping")
    assert found["public"]
    assert found["label"] == "window 1"
    continuation = stranger.call("offers/continue", offer=found["offer"])["continuation"]
    stranger.hear("continuation/will", continuation=continuation)
    stranger.respond(stranger.hear_message("continuation/continue", continuation=continuation), {"handled": True})
    assert origin.hear("activity/ended")["outcome"] == "restored"
    origin.call("activity/set", activity="a", public=False)
    while stranger.hear("offers/changed")["offers"]:
        pass


def test_an_activity_of_a_public_type_is_public_until_the_host_says_otherwise(start: Start) -> None:
    """R13.1"""
    origin, stranger = start(), start()
    origin.open("origin", team="T", save=False)
    stranger.open("stranger", EDITING, team="OTHER")
    offer(origin, EDITING, userInfo={"text": "milk"})
    assert stranger.offer_of("Shopping")["public"]
    origin.call("activity/set", activity="a", public=False)
    while stranger.hear("offers/changed")["offers"]:
        pass


def test_a_label_that_is_too_long_is_refused_by_name(start: Start) -> None:
    """R13.6"""
    with pytest.raises(RefusedError) as refused:
        start().open("origin", label="x" * 129)
    assert refused.value.data["path"] == "label"
