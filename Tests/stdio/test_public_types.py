# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R13.2, R13.3: `segue stdio` the checker and the Python package judge alike, and values get the kinds of the table."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import time
from collections.abc import Callable

import pytest
import segue.public_types
from host import EDITING, Host, RefusedError
from programs import programs
from project import ROOT
from public_types import TYPES, Key, problems
from test_session import continued, offer, pair
from versions import versioned

Start = Callable[..., Host]
MEDIA, READING, TERMINAL = (f"SegueActivityType{name}" for name in ("PlayingMedia", "ReadingDocument", "UsingTerminal"))
FILE = "file:///home/ada/budget.md"
DIGEST = "sha-256:" + "0f" * 32
GOOD = {
    "url": [FILE, "file:/tmp/x"],
    "urls": [[], [FILE, "https://example.com/a"]],
    "string": ["utf-8", "text/plain", DIGEST, "lf", "tmux", "a.b-c"],
    "integer": [1, 12.0, 2**40, 2**63 - 1],
    "double": [0, 0.5, 1, 1.0],
    "bool": [True, False],
}
BAD = [
    None,
    [],
    {},
    "",
    "-x",
    "a\nb",
    "http://ada:secret@example.com/",
    "ftp://example.com/x",
    "file://host/x",
    "no url",
    -1,
    0,
    1.5,
    2.0**63,
    2**63,
    -(2**63),
    "sha-256:00",
    "text",
    [1],
    ["no url"],
    [[FILE]],
    True,
    7,
]


def test_page_schemas_and_the_table_in_c_are_those_of_the_table() -> None:
    """R13.2"""
    assert subprocess.run([ROOT / "share" / "public-types"]).returncode == 0


@pytest.mark.parametrize("name", TYPES)
def test_the_schemas_have_the_keys_of_the_table(name: str) -> None:
    """R13.2"""
    schema = json.loads((ROOT / "share" / "schemas" / f"{name}.schema.json").read_text())
    assert list(schema["properties"]) == list(TYPES[name].keys)


def candidates(key: Key) -> list[object]:
    return [*GOOD[key.kind], *BAD]


@pytest.mark.parametrize("name", TYPES)
def test_stdio_and_the_checker_judge_alike(start: Start, name: str) -> None:
    """R13.2, R13.3: a required key that is wrong is refused, an optional one is left out."""
    host = start()
    host.open("editor", name, save=False)
    type = TYPES[name]
    required = {key for group in type.required for key in group}
    for key in type.keys.values():
        for value in candidates(key):
            if value is None:
                continue
            info = {"url": FILE, key.name: value}
            wrong = problems(name, info)
            refused = False
            try:
                host.call("activity/set", activity=key.name, type=name, userInfo=info)
            except RefusedError as error:
                refused = True
                assert error.data["path"] == f"userInfo/{key.name}"
            assert refused == (bool(wrong) and key.name in required), (key.name, value, wrong)
    log = host.end()[1]
    for key in type.keys.values():
        told = log.count(f"{key.name}: userInfo/{key.name} is left out")
        given = [value for value in candidates(key) if value is not None]
        bad = [value for value in given if problems(name, {"url": FILE, key.name: value})]
        assert told == (0 if key.name in required else len(bad)), (key.name, bad)


@pytest.mark.parametrize("name", TYPES)
def test_the_classes_of_the_python_package_and_the_checker_judge_alike(name: str) -> None:
    """R13.2, R13.3"""
    kind = getattr(segue.public_types, name.removeprefix("SegueActivityType"))
    assert name == kind.TYPE
    for key in TYPES[name].keys.values():
        for value in candidates(key):
            info = {"url": FILE, key.name: value}
            assert kind.problems(info).keys() == problems(name, info).keys(), info
    assert kind.problems({}).keys() == problems(name, {}).keys()


@pytest.mark.parametrize(
    ("type", "sent", "came"),
    [
        (EDITING, {"url": FILE, "line": 12.0, "column": 3}, {"url": FILE, "line": 12, "column": 3}),
        (EDITING, {"text": "a\nb", "line": "x", "com.example.fold": {"$date": 1.5}}, None),
        (EDITING, {"url": {"$url": FILE}, "openURLs": [FILE, {"$url": FILE}]}, {"url": FILE, "openURLs": [FILE, FILE]}),
        (MEDIA, {"url": FILE, "position": 12, "paused": True}, {"url": FILE, "position": 12.0, "paused": True}),
        (READING, {"url": FILE, "page": 3, "top": 1, "totalProgression": 2}, {"url": FILE, "page": 3, "top": 1.0}),
        (TERMINAL, {"url": FILE, "host": "-oProxyCommand=x", "session": "-x"}, {"url": FILE}),
        (
            READING,
            {"url": FILE, "com.example.a": {"$url": "https://a:b@c.d/"}, "com.example.b": "b"},
            {"url": FILE, "com.example.b": "b"},
        ),
        (READING, {"url": FILE, "com.example.a": [{"x": {"$url": "https://a@c.d/"}}]}, {"url": FILE}),
    ],
)
def test_values_get_the_kinds_of_the_table(start: Start, type: str, sent: dict, came: dict | None) -> None:
    """R13.2"""
    origin, receiver = pair(start, type, save=False)
    offer(origin, type, userInfo=sent)
    found = continued(origin, receiver)["params"]["userInfo"]
    expected = came if came is not None else {"text": "a\nb", "com.example.fold": {"$date": 1.5}}
    assert found == expected
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)  # 12 and 12.0 differ


def test_a_receiver_of_the_library_gets_urls(start: Start, folder) -> None:
    """R13.2: `url` is of kind URL on the way."""
    origin, receiver = pair(start, EDITING, save=False)
    offer(origin, EDITING, userInfo={"url": FILE})
    receiver.offer_of("Shopping")
    said = subprocess.run(
        [ROOT / ".venv/bin/python", "-m", "segue", "continue", "--type", EDITING, "--json"],
        env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert json.loads(said.stdout)["user_info"] == {"url": {"$url": FILE}}, said


def test_a_public_type_without_its_required_keys_is_refused(start: Start) -> None:
    """R13.3"""
    host = start()
    host.open(save=False)
    for info in ({}, {"line": 1}, {"com.example.x": 1}):
        with pytest.raises(RefusedError, match="requires one of: url text") as refused:
            host.call("activity/set", activity="a", type=EDITING, userInfo=info)
        assert refused.value.data["path"] == "userInfo"
    with pytest.raises(RefusedError, match="required"):
        host.call("activity/set", activity="a", type=EDITING)
    with pytest.raises(RefusedError, match="password"):
        host.call("activity/set", activity="a", type=EDITING, userInfo={"url": FILE}, webpageURL="https://a:b@c.d/")


def test_a_save_without_a_required_key_fails(start: Start) -> None:
    """R13.3"""
    origin, receiver = pair(start, EDITING)
    offer(origin, EDITING)
    receiver.call("offers/continue", offer=receiver.offer_of("Shopping")["offer"])
    origin.respond(origin.hear_message("activity/save"), {"userInfo": {"line": 3}})
    assert "requires" in receiver.hear("continuation/failed")["error"]["message"]


@pytest.mark.parametrize(("version", "declined"), [(0, False), (1, False), (2, True)])
def test_a_higher_payload_version_is_declined_before_anything_moves(
    start: Start, folder, version: int, declined: bool
) -> None:
    """R13.3, R3.7"""
    receiver = start()
    receiver.open("receiver", EDITING)
    with versioned(folder, EDITING, version, url=FILE):
        receiver.call("offers/continue", offer=receiver.offer_of("Versioned")["offer"])
        if declined:
            assert receiver.hear("continuation/failed")["error"]["data"]["status"] == "DECLINED"
        else:
            receiver.hear("continuation/continue")


def test_what_comes_is_checked_before_the_host_gets_it(start: Start, folder) -> None:
    """R13.3: an origin that is no host of `segue stdio` sends what the table does not allow."""
    receiver = start()
    receiver.open("receiver", EDITING)
    command = [ROOT / ".venv/bin/python", "-m", "segue", "offer", EDITING, "--title", "Bad", "--team", "T"]
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        run("origin", [*command, "--user-info", '{"url": 7, "line": 1}'])
        receiver.call("offers/continue", offer=receiver.offer_of("Bad")["offer"])
        failed = receiver.hear("continuation/failed")
    assert (failed["type"], failed["error"]["data"]["path"]) == (EDITING, "userInfo/url")


def test_what_comes_with_a_password_is_left_out(start: Start, folder) -> None:
    """R13.2"""
    receiver = start()
    receiver.open("receiver", EDITING)
    command = [ROOT / ".venv/bin/python", "-m", "segue", "offer", EDITING, "--title", "Secret", "--team", "T"]
    secret = "https://ada:secret@example.com/"
    info = {"url": {"$url": FILE}, "com.example.a": {"$url": secret}}
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        run("origin", [*command, "--user-info", json.dumps(info), "--url", secret])
        receiver.call("offers/continue", offer=receiver.offer_of("Secret")["offer"])
        params = receiver.hear("continuation/continue")
    assert params["userInfo"] == {"url": FILE}
    assert "webpageURL" not in params


@pytest.mark.parametrize("size", [1, 65536, 65537, 700_000])
def test_a_text_of_any_size_is_inside_user_info(start: Start, size: int) -> None:
    """R13.2, R13.5.2: above 64 KiB it travels as an attachment."""
    origin, receiver = pair(start, EDITING)
    offer(origin, EDITING)
    text = "".join(random.Random(size).choices("abcü\n", k=size)).encode()[:size].decode(errors="ignore")
    text += "x" * (size - len(text.encode()))
    request = continued(origin, receiver, save={"userInfo": {"text": text, "line": 2}})
    assert request["params"]["userInfo"] == {"text": text, "line": 2}
    assert (request["params"]["attachments"] == {}) == (size <= 65536)
    receiver.respond(request, {"handled": True})
    origin.hear("activity/ended", outcome="restored")
    # A short text takes the place of the long one, and so does none.
    receiver.call("offers/continue", type=EDITING)
    origin.respond(origin.hear_message("activity/save"), {"userInfo": {"text": "short"}})
    params = receiver.hear("continuation/continue")
    assert (params["userInfo"], params["attachments"]) == ({"text": "short"}, {})


def test_a_cancel_names_the_type_at_any_moment(start: Start) -> None:
    """R13.5.7: before the document is there, and while a text is being fetched."""
    origin, receiver = start(), start()
    origin.open("origin", save=False, lineBytes=24 << 20)
    receiver.open("receiver", EDITING, lineBytes=24 << 20)
    offer(origin, EDITING, userInfo={"text": "x" * (15 << 20)})
    id = receiver.offer_of("Shopping")["offer"]
    for questions in range(12):
        continuation = receiver.call("offers/continue", offer=id)["continuation"]
        receiver.hear("continuation/will", continuation=continuation)
        for _ in range(questions):
            receiver.call("app/foreground")
        with contextlib.suppress(RefusedError):
            receiver.call("offers/cancel", continuation=continuation)
        came = receiver.take(lambda each: each.get("method") in ("continuation/continue", "continuation/failed"))
        if came["method"] == "continuation/failed":
            assert came["params"]["type"] == EDITING
            assert came["params"]["error"]["data"]["status"] in ("CANCELLED", "USER_CANCELLED")
        else:
            receiver.respond(came, {"handled": False})
        origin.hear("activity/ended")


def test_a_receiver_that_does_not_read_an_attachment_delays_the_end_by_two_seconds(
    start: Start, folder, tmp_path
) -> None:
    """docs/stdio.md, The end"""
    (tmp_path / "film").write_bytes(bytes(8 << 20))
    origin = start()
    origin.open("origin", save=False)
    offer(origin, "com.example.note", attachments={"film": str(tmp_path / "film")})
    script = """
import asyncio, os, segue
async def main():
    async with segue.App("com.example.r", team="T", types=["com.example.note"]) as app:
        while not app.offers:
            await asyncio.sleep(0.01)
        async with app.continue_(app.offers[0]) as activity:
            reading, writing = os.pipe()
            fetching = activity.fetch_attachment("film", writing)
            while not await asyncio.to_thread(os.read, reading, 1):
                pass
            print("fetching", flush=True)
            await asyncio.Event().wait()
asyncio.run(main())
"""
    with programs({**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}) as run:
        run("receiver", [ROOT / ".venv/bin/python", "-c", script]).wait_for("^fetching$")
        began = time.monotonic()
        assert origin.end()[0] == 0
        assert time.monotonic() - began < 4
