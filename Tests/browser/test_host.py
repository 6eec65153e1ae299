# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue-browser-host, spoken to as the extension speaks: offers, state, openings, and the attacks of SECURITY.md."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import segue
from desk import SOURCES, Peer, until
from identity import IDENTITY, TYPE
from messaging import HOST, PATIENCE, Host
from project import ROOT, build

URL = "https://example.com/a?b=c#d"
POSITION = {"text": "It was the best of times", "before": "Chapter 1", "after": "it was the worst", "fraction": 0.25}


def taken(peer: Peer, host: Host, tab: int, title: str, answer: dict[str, Any] | None) -> segue.Activity:
    """Continues an offer of a host, whose extension answers the save (None: it does not)."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(peer.take, peer.offer(title))
        asked = host.receive()
        assert asked is not None and (asked["t"], asked["tab"]) == ("save", tab)
        if answer is not None:
            host.send(t="state", id=asked["id"], **answer)
        return running.result(PATIENCE)


def test_a_tab_is_offered_with_its_title_and_url_and_pulled_at_its_place(host, peer):
    """(R12.4, R12.5, R12.6)"""
    browser = host("firefox")
    browser.offer(7, URL, "Two cities")
    activity = taken(peer, browser, 7, "Two cities", {"position": POSITION})
    assert (activity.type, activity.webpage_url, activity.title) == (TYPE, URL, "Two cities")
    assert activity.user_info == {"SegueBrowserState": POSITION}
    told = browser.receive()
    assert (told["t"], told["tab"], told["app"]) == ("continued", 7, "com.example.reader")


def test_without_an_answer_the_url_travels_alone(host, peer):
    """(R12.5) The extension hangs, or its script may not enter the page."""
    browser = host()
    browser.offer(1, URL, "Slow")
    activity = taken(peer, browser, 1, "Slow", None)
    assert activity.webpage_url == URL and not activity.user_info


def test_no_page_is_asked_for_its_state_before_somebody_continues_it(host, peer):
    """(R12.5) Offers come and change, and a tab takes the place of another."""
    browser = host()
    browser.offer(1, URL, "One")
    peer.offer("One")
    browser.offer(2, URL, "Two")
    peer.offer("Two")
    browser.offer(2, URL + "/more", "Three")
    peer.offer("Three")
    with pytest.raises(AssertionError, match="no message"):
        browser.receive(3)  # the silence itself: longer than the delay of a save that is not pulled (R2.2)


def test_the_tab_that_is_gone_takes_its_offer_along(host, peer):
    """(R12.4)"""
    browser = host()
    browser.offer(1, URL, "One")
    first = peer.offer("One")
    browser.send(t="gone", tab=2)
    browser.offer(1, URL, "Still")
    assert peer.offer("Still").id == first.id
    browser.send(t="gone", tab=1)
    until(lambda: not peer.titles())


def test_one_tab_is_offered_at_a_time(host, peer):
    """(R12.4)"""
    browser = host()
    for tab in range(1, 6):
        browser.offer(tab, URL, f"Tab {tab}")
    peer.offer("Tab 5")
    until(lambda: peer.titles() == ["Tab 5"])


def test_the_profile_that_gets_the_focus_is_the_frontmost(host, peer):
    """(R12.4) Its extension offers the same page again."""
    profiles = [host(), host()]
    for number, profile in enumerate(profiles):
        profile.offer(1, URL, f"Profile {number}")
        peer.offer(f"Profile {number}")
    until(lambda: peer.titles() == ["Profile 1", "Profile 0"])
    profiles[0].offer(1, URL, "Profile 0")
    until(lambda: peer.titles() == ["Profile 0", "Profile 1"])


def test_a_page_that_asks_not_to_be_handed_over_fails_its_save(host, peer):
    """(R12.4)"""
    browser = host()
    browser.offer(1, URL, "Private")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(peer.take, peer.offer("Private"))
        browser.send(t="state", id=browser.receive()["id"], refused=True)
        with pytest.raises(segue.Error, match="asks not to be handed over"):
            running.result(PATIENCE)


@pytest.mark.parametrize("end", ["input", "killed"])
def test_the_host_needs_no_clean_up(host, peer, end):
    """(R12.4, W19) A browser that ends, or kills its host, leaves no offer behind."""
    browser = host()
    browser.offer(1, URL, "One")
    peer.offer("One")
    if end == "input":
        assert browser.end() == 0
    else:
        browser.process.kill()
    until(lambda: not peer.titles())


# ---- Openings


def launched(folder: Path, offer: segue.Offer, bundle: str) -> segue._agent.Launch:
    with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
        found = until(lambda: next((each for each in chooser.offers if each.id == offer.id), None))
        return chooser.launch(found, bundle, 10)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"t": "opened"}, segue.Outcome.RESTORED),
        ({"t": "deferred"}, segue.Outcome.DECLINED),
        ({"t": "failed", "reason": "no window"}, segue.Outcome.UNKNOWN),
    ],
    ids=lambda value: value["t"] if isinstance(value, dict) else "",
)
def test_a_page_is_opened_by_the_extension_which_says_how_it_ended(agent, folder, host, peer, answer, outcome):
    """(R12.3) Chromium's page continues in Firefox, at its place; a failed one stays in the inbox (R3.8)."""
    chromium, firefox = host("chromium"), host("firefox")
    chromium.offer(1, URL, "Page")
    offer = peer.offer("Page")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(launched, folder, offer, "org.mozilla.firefox")
        chromium.send(t="state", id=chromium.receive()["id"], position=POSITION)
        opened = firefox.receive()
        assert (opened["t"], opened["url"], opened["position"]) == ("open", URL, POSITION)
        assert len(bytes.fromhex(opened["continuation"])) == 16 and opened["redelivered"] is False
        firefox.send(id=opened["id"], **answer)
        result = running.result(2 * PATIENCE)
    assert (result.outcome, result.bundle_identifier) == (outcome, "org.mozilla.firefox")


def test_a_browser_that_ends_while_it_opens_a_page_gets_it_again_under_the_same_name(agent, folder, host, peer):
    """(R12.3, R3.8, W19)"""
    chromium, firefox = host("chromium"), host("firefox")
    chromium.offer(1, URL, "Page")
    offer = peer.offer("Page")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(launched, folder, offer, "org.mozilla.firefox")
        chromium.send(t="state", id=chromium.receive()["id"], position=POSITION)
        first = firefox.receive()
        firefox.process.kill()
        again = host("firefox")
        second = again.receive()
        assert (second["continuation"], second["redelivered"]) == (first["continuation"], True)
        again.send(t="opened", id=second["id"])
        assert running.result(2 * PATIENCE).outcome == segue.Outcome.RESTORED
    third = host("firefox", greets=False)
    again.end()
    third.greet()
    with pytest.raises(AssertionError, match="no message"):
        third.receive(1)  # the silence itself: an answered page comes to nobody


def offered(peer: Peer, url: str | None, info: dict[str, Any] | None) -> segue.Activity:
    activity = segue.Activity(peer.app, TYPE)
    activity.webpage_url, activity.title, activity.user_info = url, "Bad", info
    activity.become_current()
    return activity


BAD_URLS = ["https://user:secret@example.com/", "http://user@example.com/", "https:///path"]


@pytest.mark.parametrize("url", [None, *BAD_URLS])
def test_what_another_app_offers_is_opened_only_if_it_is_a_page(agent, folder, host, peer, url):
    """(W2, W10) Whatever the origin says, the browser gets a page's URL or nothing."""
    firefox = host("firefox")
    try:
        activity = offered(peer, url, None)
    except segue.InvalidURLError:
        return  # refused by the library, before it can be offered
    with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
        offer = until(lambda: next((each for each in chooser.offers if each.title == "Bad"), None))
        result = chooser.launch(offer, "org.mozilla.firefox", 5)
    assert result.outcome != segue.Outcome.RESTORED
    with pytest.raises(AssertionError, match="no message"):
        firefox.receive(0.5)  # the silence itself
    activity.invalidate()


def test_a_position_of_another_app_is_plain_text_and_cut(agent, folder, host, peer):
    """(W20) Selectors and scripts are text; marks of direction and controls are not there; each text is cut."""
    firefox = host("firefox")
    activity = offered(
        peer,
        URL,
        {
            "SegueBrowserState": {
                "text": "\u202e<script>alert(1)</script>\n\u0000\u200b" + "x" * 5000,
                "before": ["no text"],
                "after": "ü" * 100,
                "id": "a'] , *{}",
                "fraction": 7.5,
                "other": {"deep": [1]},
            },
            "secret": "of the app",
        },
    )
    with segue.App("com.example.chooser", chooser=True, runtime_folder=folder, delivery="thread") as chooser:
        offer = until(lambda: next((each for each in chooser.offers if each.title == "Bad"), None))
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(chooser.launch, offer, "org.mozilla.firefox", 10)
            opened = firefox.receive()
            firefox.send(t="opened", id=opened["id"])
            assert running.result(PATIENCE).outcome == segue.Outcome.RESTORED
    text = "<script>alert(1)</script>"
    assert opened["position"] == {"text": text + "x" * (80 - len(text)), "after": "ü" * 32, "id": "a'] , *{}"}
    assert set(opened) == {"t", "id", "continuation", "url", "redelivered", "position"}
    activity.invalidate()


# ---- Attacks


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


def memory(browser: Host, what: str = "VmRSS") -> int:
    """KiB"""
    return int(next(line for line in open(f"/proc/{browser.process.pid}/status") if line.startswith(what)).split()[1])


def test_a_length_that_is_claimed_costs_nothing_before_its_bytes_have_come(host):
    """(W9) A frame may end before its bytes do; the host then ends with the input."""
    browser = host()
    before = memory(browser)
    browser.send_raw(struct.pack("=I", 256 * 1024) + b'{"t":')
    assert memory(browser) - before < 128
    assert browser.end() == 0


def test_a_flood_of_messages_costs_bounded_memory_and_the_last_one_counts(host, peer):
    """(W5) 10^5 messages, more than 10 MB."""
    browser = host()
    browser.offer(1, URL, "First")
    peer.offer("First")
    before = memory(browser)
    reader = threading.Thread(target=lambda: [None for _ in iter(browser.process.stdout.readline, b"")], daemon=True)
    reader.start()
    for number in range(100_000):
        browser.send(t="current", tab=number % 3, url=f"{URL}{number}", title="x" * 60)
    browser.offer(1, URL, "Last")
    peer.offer("Last", 60)
    until(lambda: peer.titles() == ["Last"])
    assert memory(browser) - before < 8 * 1024


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


# ---- Its process


def test_the_host_gives_up_what_it_does_not_need(host):
    """(R12.4) No new privileges, and system calls are filtered."""
    browser = host()
    status = Path(f"/proc/{browser.process.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status


def test_a_confined_process_reaches_neither_network_nor_files_nor_programs(folder, tmp_path):
    """(R12.4) Run without confinement, the same program does all of it."""
    other = Path.home() / ".segue-test-of-confinement"
    other.write_text("x")
    try:
        confinement = SOURCES / "host" / "confinement.c"
        program = build(ROOT / "Tests/browser/confined.c", tmp_path, confinement)
        environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}
        done = subprocess.run([program, other], env=environment, capture_output=True, text=True, check=True)
    finally:
        other.unlink()
    assert done.stdout.splitlines() == [
        "local done", "inside done", "system done", "network EAFNOSUPPORT", "network6 EAFNOSUPPORT",
        "raw EAFNOSUPPORT", "reading EACCES", "writing EACCES", "program EPERM",
    ]  # fmt: skip


def switches(browser: Host) -> int:
    """The number of times that its threads have waited."""
    tasks = Path(f"/proc/{browser.process.pid}/task").iterdir()
    lines = [line for task in tasks for line in (task / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


def test_an_idle_host_does_nothing(agent, host, peer):
    """An offered page costs no wake-ups."""
    browser = host()
    browser.offer(1, URL, "Idle")
    peer.offer("Idle")
    time.sleep(1)  # what has begun ends
    before = switches(browser)
    time.sleep(3)  # the idleness itself
    assert switches(browser) == before


def test_the_host_says_nothing_on_standard_error_and_keeps_no_file_open(host, peer):
    browser = host()
    browser.offer(1, URL, "One")
    peer.offer("One")
    files = [os.readlink(entry) for entry in Path(f"/proc/{browser.process.pid}/fd").iterdir()]
    assert not [name for name in files if name.startswith("/") and "segue-run-" not in name and "/dev/" not in name]
    browser.process.stdin.close()
    assert browser.process.stderr.read() == b""


def test_the_manifests_name_this_program_and_our_extension(tmp_path):
    """(R12.4) A path may hold spaces."""
    program = tmp_path / 'a "folder"' / "segue-browser-host"
    program.parent.mkdir()
    program.write_bytes(HOST.read_bytes())
    program.chmod(0o755)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(HOST.parent)}
    for browser, key, value in (
        ("firefox", "allowed_extensions", IDENTITY["FIREFOX_ID"]),
        ("chromium", "allowed_origins", f"chrome-extension://{IDENTITY['CHROMIUM_ID']}/"),
    ):
        text = subprocess.run([program, "--manifest", browser], capture_output=True, check=True, env=environment).stdout
        entry = json.loads(text)
        assert (entry["name"], entry["path"], entry["type"]) == (IDENTITY["HOST_NAME"], str(program), "stdio")
        assert entry[key] == [value]
    assert subprocess.run([program, "--manifest", "lynx"], capture_output=True, env=environment).returncode == 2


def test_the_agent_knows_the_host_of_each_browser():
    """R12.3: the agent finds the host by the browser that the user has chosen."""
    hosts = re.findall(r'\{"\w+", "([\w.-]+)",', (ROOT / "browser" / "host" / "browsers.c").read_text())
    table = (ROOT / "Sources" / "SegueModel" / "Web" / "Browser.swift").read_text()
    assert hosts and hosts == re.findall(r'^    \("([\w.-]+)", \[', table, re.MULTILINE)
