# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that listen in the agent's place, and obstacles on the way to it: each call ends in time, with the true
reason."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest
import wire
from native import TEAM, Native, ask_agent, load
from project import ROOT, build
from temporary_folders import temporary

INVALID_ARGUMENT, MALFORMED, WRONG_KIND, LIMIT_EXCEEDED, SYSTEM, CANCELLED, TIMED_OUT = 1, 7, 9, 10, 13, 15, 22
NUL = ctypes.c_size_t(-1)


@pytest.fixture
def native(folder: Path) -> Iterator[Native]:
    made = Native(load(), str(folder))
    yield made
    made.close()


class FalseAgent:
    """A program of the user that listens at the second socket, and answers as it likes: `reply` gets the question, and
    returns the value; None: no answer."""

    def __init__(self, control: Path, reply: Callable[[dict[str, Any]], Any]):
        control.parent.mkdir(mode=0o700, exist_ok=True)
        self.asked: list[dict[str, Any]] = []
        self.came = threading.Event()
        self._reply = reply
        self._is_closed = False
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(control))
        self._listening.listen(64)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._is_closed:
            try:
                peer = wire.Connection(self._listening.accept()[0])
                number, question = peer.expect("ask")
            except (OSError, EOFError):
                continue  # also without descriptors, in the test about these
            self.asked.append(cbor2.loads(question))
            self.came.set()
            answer = self._reply(self.asked[-1])
            with contextlib.suppress(BrokenPipeError):  # the asker has gone
                if answer is not None:
                    peer.send_message("answer", number, 0, "", cbor2.dumps(answer, canonical=True))
            self.kept = peer

    def close(self) -> None:
        self._is_closed = True
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def false_agent(control: Path) -> Iterator[Callable[..., FalseAgent]]:
    made: list[FalseAgent] = []

    def make(reply: Callable[[dict[str, Any]], Any]) -> FalseAgent:
        made.append(FalseAgent(control, reply))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def said(app: Native, name: str, *arguments: Any) -> tuple[int, str]:
    """Status and message of a call."""
    value = ctypes.c_void_p()
    status = getattr(app.library, name)(app.app, *arguments, ctypes.byref(value))
    message = ctypes.create_string_buffer(512)
    app.library.segue_last_error(message, ctypes.c_size_t(512))
    app.library.segue_release(value)
    return status, message.value.decode() if status != 0 else ""


def asks(app: Native, request: str, options: Any = None, timeout: int = 0) -> tuple[int, str]:
    """The same of a request by name."""
    status, answer = ask_agent(app.library, app.app, request, options, timeout)
    return status, answer if status != 0 else ""


def entry(number: int) -> dict[str, Any]:
    date = cbor2.CBORTag(1, 0)
    counts = dict.fromkeys(("size", "attachments", "attachments_left", "attempts", "crashes"), 0)
    texts = dict.fromkeys(("bundle_identifier", "app_name", "type", "device_name"), "x")
    names = {"continuation_id": uuid.uuid4(), "activity_id": uuid.uuid4(), "number": number}
    return {**counts, **texts, **names, "delivered": False, "held": False, "received": date, "expires": date}


def result(number: int) -> dict[str, Any]:
    date = cbor2.CBORTag(1, 0)
    texts = dict.fromkeys(("bundle_identifier", "app_name", "type"), "x")
    return {**texts, "activity_id": uuid.uuid4(), "saved": date, "expires": date, "number": number}


def manifest(number: int) -> dict[str, Any]:
    return {"path": f"/{number}", "error": "x"}


LISTS: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "inbox": ("entries", entry),
    "apps": ("apps", manifest),
    "search": ("results", result),
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_without_an_end_ends(native, false_agent, kind):
    """The same page again and again; and empty ones."""
    name, item = LISTS[kind]
    pages = [{name: [item(5)], "more": True}]
    agent = false_agent(lambda _: pages[0])
    began = time.monotonic()
    if kind != "apps":
        status, message = asks(native, kind)
        assert status == MALFORMED and "its numbers are out of order" in message
        assert len(agent.asked) == 2
    pages[0] = {name: [], "more": True}
    status, message = asks(native, kind)
    assert status == MALFORMED and "empty, and not the last" in message
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(("kind", "most"), [("inbox", 1_000), ("apps", 20_000)])
def test_a_list_has_no_more_than_there_may_be(native, false_agent, kind, most):
    name, item = LISTS[kind]
    next_number = iter(range(1, 1 << 30))
    false_agent(lambda _: {name: [item(next(next_number)) for _ in range(200)], "more": True})
    status, message = asks(native, kind)
    assert status == MALFORMED and f"more than {most}" in message


def test_all_pages_of_a_list_have_one_time(native, false_agent):
    """30 s, however the agent spreads them."""
    page = iter(range(1, 6))

    def reply(_: dict[str, Any]) -> dict[str, Any]:
        time.sleep(11)  # what is tried is how long the caller waits
        number = next(page)
        return {"entries": [entry(number)], "more": number < 5}

    false_agent(reply)
    began = time.monotonic()
    status, _ = asks(native, "inbox")
    assert status == TIMED_OUT and 29 < time.monotonic() - began < 32


OPTIONS: dict[str, dict[str, Any] | None] = {
    "account": None,
    "failures": None,
    "pushes": None,
    "invite": None,
    "read-invite": {"link": "segue:x"},
    "join": {"link": "segue:x"},
    "recovery-file": {"passphrase": "correct horse battery"},
    "leave-account": {"abandons": False},
}


@pytest.mark.parametrize("wrong", [[], {"aside": 1}, {"change": "x"}])
@pytest.mark.parametrize("question", OPTIONS)
def test_an_answer_is_what_was_asked_for(native, false_agent, question, wrong):
    """Bindings read entries of it by their names."""
    agent = false_agent(lambda _: wrong)
    status, message = asks(native, question, OPTIONS[question])
    assert agent.asked[0]["ask"] == question
    if question == "leave-account" and wrong == {"change": "x"}:
        assert status == 0, "aside may be missing, and what is not known is passed on"
    else:
        assert status == MALFORMED and f"the agent's answer to '{question}'" in message


@pytest.mark.parametrize("question", ["account", "pushes"])
def test_an_answer_at_once_has_no_timeout_to_wait_for(native, false_agent, question):
    """A call waits for its timeout and 30 s more: of a stopped agent it hears after 30 s."""
    agent = false_agent(lambda _: [])
    for options in (None, {}):
        asks(native, question, options)
        assert agent.asked.pop() == {"ask": question}
    for after in (1, 77):
        for timeout, waits in [(5_000, 5_000), (0, 20_000)]:
            asks(native, question, {"after": after}, timeout)
            assert agent.asked.pop() == {"ask": question, "after": after, "timeout": waits}
    too_long = asks(native, question, timeout=600_001)
    assert too_long[0] == INVALID_ARGUMENT and not agent.asked


@pytest.mark.parametrize(
    ("request_name", "options", "timeout", "expected"),
    [
        ("inbox", [], 0, (WRONG_KIND, "options: a dictionary is needed, not an array")),
        ("invite", {"ask": "join"}, 0, (INVALID_ARGUMENT, "options: 'ask' is none")),
        ("invite", {"timeout": 5}, 0, (INVALID_ARGUMENT, "options: 'timeout' is none")),
        ("inbox", {"after": 5}, 0, (INVALID_ARGUMENT, "options: there is no 'after' of 'inbox'")),
        ("search", {"limit": 1_001}, 0, (INVALID_ARGUMENT, "limit: must be 1 to 1000")),
        ("invite", {"addresses": ["x" * 65_536]}, 0, (LIMIT_EXCEEDED, "at most 61440 are allowed")),
        ("", None, 0, (INVALID_ARGUMENT, "request: ")),
        ("x" * 256, None, 0, (LIMIT_EXCEEDED, "request: ")),
        ("join", {"link": "segue:x"}, 600_001, (INVALID_ARGUMENT, "timeout_ms: ")),
    ],
)
def test_a_request_that_cannot_be_one_is_not_asked(native, false_agent, request_name, options, timeout, expected):
    agent = false_agent(lambda _: {})
    status, message = asks(native, request_name, options, timeout)
    assert status == expected[0] and expected[1] in message and not agent.asked


def test_a_request_goes_to_the_agent_as_it_is(native, false_agent):
    """Also one that this library does not know: the agent may be newer."""
    agent = false_agent(lambda _: {"one": 1})
    options = {"device": uuid.uuid4(), "more": [1, {"deep": b"bytes"}]}
    assert ask_agent(native.library, native.app, "something-new", options, 7) == (0, {"one": 1})
    assert agent.asked == [{"ask": "something-new", "timeout": 7, **options}]


@pytest.mark.parametrize(("question", "launches"), [("open", True), ("answer-push", True), ("invite", False)])
def test_a_request_that_may_launch_brings_the_environment(monkeypatch, native, false_agent, question, launches):
    monkeypatch.setenv("DISPLAY", ":7")
    agent = false_agent(lambda _: {})
    asks(native, question)
    assert agent.asked[0].get("environment", {}).get("DISPLAY") == (":7" if launches else None)


@pytest.mark.parametrize("question", ["push", "route"])
def test_an_answer_about_an_activity_is_what_was_asked_for(native, false_agent, question):
    agent = false_agent(lambda _: {"bundle_identifier": "x"})
    native.until("ready")
    activity, value = ctypes.c_void_p(), ctypes.c_void_p()
    native.call("segue_activity_create", native.app, b"com.example.a", NUL, ctypes.byref(activity))
    native.call("segue_activity_become_current", activity)
    if question == "push":
        status = native.library.segue_activity_push(activity, None, None, NUL, ctypes.c_uint32(0), ctypes.byref(value))
    else:
        status = native.library.segue_activity_get_route(activity, ctypes.byref(value))
    native.call("segue_release", activity)
    assert status == MALFORMED and agent.asked[0]["ask"] == question


@pytest.mark.parametrize("question", ["continue", "route"])
def test_an_answer_about_an_offer_is_what_was_asked_for(folder, false_agent, question):
    """`continue` is what segue_app_launch asks."""
    agent = false_agent(lambda _: {"bundle_identifier": "x"})
    app = Native(load(), str(folder), types=(wire.TYPE,))
    app.until("ready")
    origin = wire.Connection.to(folder / "hub.1")
    origin.send(wire.hello("origin", team=TEAM))
    origin.receive_kind("ready")
    origin.send_message("publish", uuid.uuid4(), wire.TYPE, "one", 0, 0, 0, None, False, 1)
    app.until(("appeared", "one"))
    offer, count = ctypes.c_void_p(), ctypes.c_size_t()
    app.call("segue_app_get_offers", app.app, ctypes.byref(offer), 1, ctypes.byref(count))
    if question == "continue":
        status, message = said(app, "segue_app_launch", offer, None, NUL, ctypes.c_uint32(0))
    else:
        id = ctypes.create_string_buffer(16)
        app.call("segue_offer_get_id", offer, id)
        status, message = asks(app, "route", {"activity": uuid.UUID(bytes=id.raw)})
    app.call("segue_release", offer)
    app.close()
    assert status == MALFORMED and f"the agent's answer to '{question}'" in message
    assert agent.asked[0]["ask"] == question


@pytest.mark.parametrize("name", ["takeovers", "refused"])
def test_devices_that_are_not_in_the_list_are_what_callers_read(native, false_agent, name):
    """A digest has the bytes that "accept-roster" takes."""
    date, id = cbor2.CBORTag(1, 0), uuid.uuid4()
    unlisted = {"device": id, "fingerprint": "1234", "date": date, "name": "laptop"}
    lists: dict[str, list[Any]] = {
        "takeovers": [{**unlisted, "term": 2, "digest": bytes(32)}],
        "refused": [unlisted],
    }
    account = {
        "change": 1,
        "status": "member",
        "settings": {},
        "account": id,
        "account_name": "Home",
        "device": id,
        "manager": False,
        "port": 0,
        "invites": 0,
        "joins": [],
        "notices": [],
        "devices": [],
    }
    answers = [{**account, **lists}]
    false_agent(lambda _: answers[0])
    assert asks(native, "account") == (0, "")
    for wrong in (None, {}, [1], [{**lists[name][0], "date": "now"}], lists[name] * 17):
        answers[0] = {**account, **lists, name: wrong}
        status, message = asks(native, "account")
        assert status == MALFORMED and "the agent's answer to 'account'" in message
    answers[0] = {**account, **lists, "takeovers": [{**lists["takeovers"][0], "digest": bytes(31)}]}
    status, message = asks(native, "account")
    assert status == MALFORMED and "'digest' is not 32 bytes" in message


def test_an_answer_about_a_saved_activity_is_what_was_asked_for(native, false_agent):
    false_agent(lambda _: {"continuation_id": uuid.uuid4(), "bundle_identifier": "x", "app_name": "x", "outcome": 9})
    status, message = asks(native, "open", {})
    assert status == MALFORMED and "the agent's answer to 'open'" in message


# ---- Reasons


def test_without_a_folder_no_agent_runs(native):
    _, message = asks(native, "inbox")
    assert "no agent runs" in message


def test_a_folder_that_is_a_link_is_named(native, control, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    control.parent.symlink_to(tmp_path / "elsewhere")
    try:
        _, message = asks(native, "inbox")
        assert str(control.parent) in message and "is a symbolic link, or no folder" in message
    finally:
        control.parent.unlink()


def test_without_descriptors_that_is_the_reason(native, false_agent):
    """At each step: to open the folder, and to make a socket."""
    false_agent(lambda _: {"entries": [], "more": False})
    former = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(name) for name in os.listdir("/proc/self/fd")) + 1
    spare = [os.dup(0) for _ in range(used - len(os.listdir("/proc/self/fd")) + 1)]
    spare = [fd for fd in spare if fd < used or os.close(fd)]
    refused = 0
    try:
        for more in range(6):
            resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, former[1]))
            status, message = asks(native, "inbox")
            if status == 0:
                break
            assert status == SYSTEM and "Too many open files" in message
            refused += 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, former)
        for fd in spare:
            os.close(fd)
    assert refused >= 1 and status == 0


@pytest.fixture(scope="module")
def refused() -> Iterator[Path]:
    with temporary("segue-refused-") as place:
        yield build(ROOT / "Tests" / "agent" / "refused.c", place)


def asks_refused(program: Path, folder: Path, call: str, error: int) -> str:
    """Runs an app that asks the agent on a thread to which the system refuses that call. Returns the result."""
    done = subprocess.run(
        [program, call, str(error)],
        env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()[-1]


CALLS_OF_AN_ASKER = ("openat", "socket", "connect", "getsockopt", "sendto", "poll", "recvmsg")
REFUSALS = {"a sandbox": errno.EPERM, "no memory": errno.ENOMEM}


@pytest.mark.parametrize("reason", REFUSALS)
@pytest.mark.parametrize("call", CALLS_OF_AN_ASKER)
def test_what_the_system_refuses_is_the_reason(folder, false_agent, refused, call, reason):
    """An agent runs, and a sandbox, or a system without memory, keeps the app from asking it."""
    agent = false_agent(lambda _: {"entries": [], "more": False})
    assert asks_refused(refused, folder, "none", 0) == "OK"
    began, asked = time.monotonic(), len(agent.asked)
    said = asks_refused(refused, folder, call, REFUSALS[reason])
    assert said.startswith("SYSTEM: ") and said.endswith(os.strerror(REFUSALS[reason])), said
    assert time.monotonic() - began < 5
    # The asker has ended; the thread that is asked may not have read the question yet.
    expected, deadline = asked + (call in ("poll", "recvmsg")), time.monotonic() + wire.PATIENCE
    while len(agent.asked) < expected and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(agent.asked) == expected


def test_a_list_that_finds_no_memory_says_so(folder, false_agent, refused):
    """Its pages have come; there is no room for all of them in one piece."""
    title = "x" * 15_000
    agent_ends = threading.Event()
    asker: list[int] = []

    def reply(question: dict[str, Any]) -> dict[str, Any]:
        after = question.get("after", 0)
        if after == 996:
            pages = int(Path(f"/proc/{asker[0]}/statm").read_text().split()[0])
            room = pages * resource.getpagesize() + 4 * 1024 * 1024
            resource.prlimit(asker[0], resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
            agent_ends.set()
        entries = [{**entry(number), "title": title} for number in range(after + 1, after + 5)]
        return {"entries": entries, "more": after < 996}

    false_agent(reply)
    with subprocess.Popen(
        [refused, "none", "0"], env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)}, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        asker.append(int(program.stdout.readline().split()[1]))
        said = program.stdout.read()
    assert agent_ends.is_set() and program.returncode == 0
    assert said.splitlines() == ["SYSTEM: out of memory"]


# ---- Closing


def test_the_last_release_closes_the_app_though_a_thread_waits_for_the_agent(folder, false_agent):
    agent = false_agent(lambda _: None)
    library = load()
    app = ctypes.c_void_p()
    assert library.segue_app_create(b"com.example.waits", NUL, ctypes.byref(app)) == 0
    assert library.segue_app_set_runtime_folder(app, str(folder).encode(), NUL) == 0
    assert library.segue_app_open(app) == 0
    statuses: list[int] = []

    def wait() -> None:
        statuses.append(ask_agent(library, app, "inbox")[0])

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert agent.came.wait(10)
    began = time.monotonic()
    assert library.segue_release(app) == 0
    assert not list(folder.iterdir()), "it is closed: the hub that it carried has gone"
    waiting.join(10)
    assert time.monotonic() - began < 5
    assert statuses == [CANCELLED]
