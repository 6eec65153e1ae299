# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue-browser-host against the attacks of SECURITY.md: bad addresses, other extensions, broken frames, floods."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import struct
import termios
import threading
from pathlib import Path

import pytest
from desk import until
from identity import IDENTITY
from messaging import PATIENCE, Host
from test_host import POSITION, URL

REFUSED = [
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "about:blank",
    "https://user:password@example.com/",
    "https://example.com@evil.test/",
    "https://",
    "https:///a",
    "https://:80/",
    "https://example.com/a b",
    "https://example.com/\n",
    "https://example.com/\u0000--flag",
    'https://example.com/"',
    "https://example.com/ü",
    " https://example.com/",
    "--flag",
    "https://example.com/" + "x" * 9000,
    7,
    None,
]


@pytest.mark.parametrize("url", REFUSED, ids=[f"{each!r:.40}" for each in REFUSED])
def test_only_pages_of_the_web_are_offered(host, peer, url):
    """(W2, W10) An offer of the same tab goes, and the extension is told why."""
    browser = host()
    browser.offer(1, URL, "Good")
    peer.offer("Good")
    browser.send(t="current", tab=1, url=url, title="Bad")
    told = browser.receive()
    assert (told["t"], told["tab"]) == ("refused", 1) and told["reason"]
    until(lambda: not peer.titles())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"],
        ["/manifest.json", "other@example.com"],
        ["chrome-extension:///"],
        [f"chrome-extension://{IDENTITY['CHROMIUM_ID']}"],
        [IDENTITY["FIREFOX_ID"]],
    ],
)
def test_another_extension_is_refused(host, arguments):
    """(W8)"""
    stranger = host("chromium", arguments=arguments, greets=False)
    assert stranger.receive()["t"] == "refused"
    assert stranger.receive() is None and stranger.status() == 1


def test_the_extension_cannot_claim_another_kind_of_browser(host):
    """(W1) Chromium starts its hosts in one way, Firefox in another."""
    liar = host("chromium", greets=False)
    liar.send(t="hello", v=1, browser="firefox")
    assert "browser" in liar.receive()["reason"] and liar.status() == 1


@pytest.mark.parametrize(
    "message",
    [
        {"t": "hello", "v": 2, "browser": "chromium"},
        {"t": "hello", "v": "1", "browser": "chromium"},
        {"t": "hello", "v": 1, "browser": "netscape"},
        {"t": "hello", "v": 1},
        {"t": "current", "tab": 1, "url": URL},
        {"t": 1},
        {},
    ],
    ids=str,
)
def test_the_first_message_is_a_hello_of_this_version(host, message):
    browser = host(greets=False)
    browser.send(**message)
    assert browser.receive()["t"] == "refused" and browser.status() == 1


def test_unknown_messages_and_members_are_ignored(host, peer):
    """An extension may be newer than its host."""
    browser = host()
    browser.send(t="future", url=URL)
    browser.send(t="opened", id=5)
    browser.send(t="state", id=0)
    browser.send(t="state", id=-1, position=[])
    browser.send(t="gone")
    browser.send(t="current", tab="x", url=URL)
    browser.send(t="current", tab=1, url=URL, title="Good", more={"a": 1})
    peer.offer("Good")


def framed(body: bytes) -> bytes:
    return struct.pack("=I", len(body)) + body


BROKEN = {
    "empty": struct.pack("=I", 0),
    "too long": struct.pack("=I", 256 * 1024 + 1),
    "4 GiB": struct.pack("=I", 0xFFFFFFFF),
    "bad UTF-8": framed(b'{"t":"\xff\xfe\xfd"}'),
    "half a pair of surrogates": framed(b'{"t":"\\ud800"}'),
    "no JSON": framed(b"hello"),
    "no object": framed(b"[{}]"),
    "deep": framed(b"[" * 20000),
    "a key twice": framed(b'{"t":1,"t":"x"}'),
    "NaN": framed(b'{"t":NaN}'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_frame_ends_the_host_with_a_reason(host, name):
    """(W9, W5)"""
    browser = host()
    browser.send_raw(BROKEN[name])
    told = browser.receive()
    assert told["t"] == "refused" and told["reason"], told
    assert browser.receive() is None and browser.status() == 1


def memory(browser: Host, kind: str = "VmRSS") -> int:
    """KiB"""
    lines = Path(f"/proc/{browser.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1])


def unread(browser: Host) -> int:
    """Bytes of its input that the host has not read."""
    return struct.unpack("=i", fcntl.ioctl(browser.process.stdin, termios.FIONREAD, b"1234"))[0]


def test_a_length_that_is_claimed_costs_nothing_before_its_bytes_have_come(host):
    """(W9) A frame may end before its bytes do; the host then ends with the input."""
    browser = host()
    before = memory(browser, "VmData")
    browser.send_raw(struct.pack("=I", 256 * 1024) + b'{"t":')
    until(lambda: unread(browser) == 0)
    browser.send_raw(b" ")
    until(lambda: unread(browser) == 0)  # so the bytes before are handled
    assert memory(browser, "VmData") - before < 128
    assert browser.end() == 0


def test_a_flood_of_messages_costs_bounded_memory_and_the_last_one_counts(host, peer):
    """(W5) 10^5 messages, more than 10 MB."""
    browser = host()
    browser.offer(1, URL, "First")
    peer.offer("First")
    before = memory(browser)
    output = browser.process.stdout.fileno()
    reader = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(output, 65536), b"")], daemon=True)
    reader.start()
    for number in range(100_000):
        browser.send(t="current", tab=number % 3, url=f"{URL}{number}", title="x" * 60)
    browser.offer(1, URL, "Last")
    peer.offer("Last", 60)
    until(lambda: peer.titles() == ["Last"])
    assert memory(browser) - before < 8 * 1024
    browser.process.kill()
    reader.join(PATIENCE)


def test_a_browser_that_does_not_read_ends_its_host(host, peer):
    """(W5) What waits for it is bounded."""
    browser = host()
    # Each refusal is answered by some hundred bytes: more than a pipe and the queue hold.
    with pytest.raises(BrokenPipeError):
        for _ in range(100_000):
            browser.offer(1, "file:///", "x")
    assert browser.status() == 1


def test_the_host_holds_after_random_damage(host, folder):
    """(W9) Fuzzed: the host ends with status 0 or 1, never by a signal."""
    seed = int(os.environ.get("SEGUE_SEED", random.randrange(1 << 32)))
    print(f"SEGUE_SEED={seed}")
    dice = random.Random(seed)
    good = [
        {"t": "hello", "v": 1, "browser": "chromium"},
        {"t": "current", "tab": 1, "url": URL, "title": "ü\u202e"},
        {"t": "current", "tab": 1, "url": URL, "title": "own", "activity": "com.example.own"},
        {"t": "state", "id": 1, "position": POSITION},
        {"t": "opened", "id": 1},
        {"t": "failed", "id": 1, "reason": "x"},
        {"t": "gone", "tab": 1},
    ]
    for _ in range(int(os.environ.get("SEGUE_DAMAGES", 60))):
        frames = [json.dumps(message).encode() for message in dice.choices(good, k=dice.randrange(1, 8))]
        data = bytearray(
            b"".join(struct.pack("=I", len(frame)) + frame for frame in [json.dumps(good[0]).encode(), *frames])
        )
        for _ in range(dice.randrange(4)):
            place = dice.randrange(len(data))
            kind = dice.randrange(3)
            if kind == 0:
                data[place] ^= 1 << dice.randrange(8)
            elif kind == 1:
                del data[place : place + dice.randrange(1, 9)]
            else:
                data[place:place] = dice.randbytes(dice.randrange(1, 9))
        browser = host(greets=False)
        with contextlib.suppress(BrokenPipeError):
            browser.send_raw(bytes(data))
        assert browser.end() in (0, 1), bytes(data)
