# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of wrong types: each is taken as what it stands for, or is a TypeError that names the argument."""

from __future__ import annotations

import array
import gc
import io
import math
import os
import pathlib
import socket
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable
from uuid import UUID

import pytest
from conftest import TYPE, Opener
from pair import Pair

import segue
from segue import _arguments

if TYPE_CHECKING:
    from segue.testing import Fleet

Call = Callable[[Any], Any]


class Everything:
    """The objects on which the calls below are made."""

    def __init__(self, opened: Opener):
        self.pair = Pair(opened)
        self.app = self.pair.receiver
        self.activity = self.pair.activity
        self.continued = self.pair.continue_().wait(0)
        self.continuation = self.app.continue_(self.pair.offer)


@pytest.fixture
def all(opened: Opener) -> Iterator[Everything]:
    yield Everything(opened)


NOT_TEXT = [5, b"bytes", 1.5, [], object()]
NOT_BYTES = [5, "text", 1.5, [1], None, object()]
NOT_NUMBERS = ["5", b"5", [], object(), 1j]
NOT_INTEGERS = [*NOT_NUMBERS, 1.5]
NOT_TRUTH = ["no", "", 2, [], None, 0.0]
NOT_ITERABLE = [5, 1.5, object()]
NOT_FUNCTIONS = [5, "f", object()]
NOT_OBJECTS = [5, "x", object()]

WRONG: list[tuple[str, list[Any], str, Callable[[Everything, Any], Any]]] = [
    # the call, wrong arguments, how the argument is called, the call itself
    ("App", [*NOT_TEXT, None], "bundle_identifier", lambda all, wrong: segue.App(wrong)),
    ("App name", NOT_TEXT, "name", lambda all, wrong: segue.App("a", name=wrong)),
    ("App team", NOT_TEXT, "team", lambda all, wrong: segue.App("a", team=wrong)),
    (
        "App types",
        [*NOT_ITERABLE, "type", b"type", [5], [None]],
        "types",
        lambda all, wrong: segue.App("a", types=wrong),
    ),
    ("App chooser", NOT_TRUTH, "chooser", lambda all, wrong: segue.App("a", chooser=wrong)),
    ("App delivery", [5, None, ["host"]], "delivery", lambda all, wrong: segue.App("a", delivery=wrong)),
    ("App folder", [5, [], object()], "runtime_folder", lambda all, wrong: segue.App("a", runtime_folder=wrong)),
    ("App front", NOT_TRUTH, "offers_frontmost_only", lambda all, wrong: segue.App("a", offers_frontmost_only=wrong)),
    ("App device", NOT_OBJECTS, "device", lambda all, wrong: segue.App("a", device=wrong)),
    ("set_foreground", NOT_TRUTH, "foreground", lambda all, wrong: all.app.set_foreground(wrong)),
    ("dispatch", NOT_NUMBERS, "timeout", lambda all, wrong: all.app.dispatch(wrong)),
    ("wait", NOT_NUMBERS, "timeout", lambda all, wrong: segue.Pending(all.app).wait(wrong)),
    ("continue_", [*NOT_OBJECTS, None], "offer", lambda all, wrong: all.app.continue_(wrong)),
    ("continue_ for", NOT_NUMBERS, "timeout", lambda all, wrong: all.app.continue_(all.pair.offer, wrong)),
    ("link", [*NOT_OBJECTS, None], "connection", lambda all, wrong: all.app.link(wrong)),
    ("on_offer", [*NOT_FUNCTIONS, None], "on_offer", lambda all, wrong: all.app.on_offer(wrong)),
    ("decline", [*NOT_TEXT, None], "reason", lambda all, wrong: all.continuation.decline(wrong)),
    ("complete", NOT_TRUTH, "handled", lambda all, wrong: all.continuation.complete(wrong)),
    ("restore", [*NOT_ITERABLE, [5], [None]], "restorables", lambda all, wrong: all.continuation.restore(wrong)),
    ("Restorable", [*NOT_FUNCTIONS, None], "restore_state", lambda all, wrong: segue.Restorable(wrong)),
    ("Activity", NOT_OBJECTS, "app", lambda all, wrong: segue.Activity(wrong, TYPE)),
    ("Activity type", NOT_TEXT, "type", lambda all, wrong: segue.Activity(None, wrong)),
    ("Activity title", NOT_TEXT, "title", lambda all, wrong: segue.Activity(None, TYPE, title=wrong)),
    (
        "Activity info",
        [5, "x", [1], [("a", 1)]],
        "user_info",
        lambda all, wrong: segue.Activity(None, TYPE, user_info=wrong),
    ),
    ("decode", NOT_BYTES, "document", lambda all, wrong: segue.Activity.decode(None, wrong)),
    ("decode for", NOT_OBJECTS, "app", lambda all, wrong: segue.Activity.decode(wrong, b"")),
    ("stream", NOT_NUMBERS, "timeout", lambda all, wrong: all.continued.stream(wrong)),
    ("request", NOT_BYTES, "data", lambda all, wrong: all.continued.request(wrong)),
    ("request for", NOT_NUMBERS, "timeout", lambda all, wrong: all.continued.request(b"", wrong)),
    ("attach", [*NOT_TEXT, None], "name", lambda all, wrong: all.activity.attach(wrong, b"")),
    (
        "attach it",
        [1.5, None, [], object(), io.StringIO()],
        "content",
        lambda all, wrong: all.activity.attach("a", wrong),
    ),
    ("remove", [*NOT_TEXT, None], "name", lambda all, wrong: all.activity.remove_attachment(wrong)),
    ("fetch", [*NOT_TEXT, None], "name", lambda all, wrong: all.continued.fetch_attachment(wrong, "/tmp/x")),
    (
        "fetch to",
        [1.5, None, [], object(), io.StringIO()],
        "to",
        lambda all, wrong: all.continued.fetch_attachment("a", wrong),
    ),
    (
        "progress",
        NOT_FUNCTIONS,
        "progress",
        lambda all, wrong: all.continued.fetch_attachment("a", "/tmp/x", progress=wrong),
    ),
    ("title", NOT_TEXT, "title", lambda all, wrong: setattr(all.activity, "title", wrong)),
    ("user_info", [5, "x", [1], True], "user_info", lambda all, wrong: setattr(all.activity, "user_info", wrong)),
    ("entries", [5, "x", [1], None], "entries", lambda all, wrong: all.activity.add_user_info_entries(wrong)),
    ("web page", NOT_TEXT, "webpage_url", lambda all, wrong: setattr(all.activity, "webpage_url", wrong)),
    ("referrer", NOT_TEXT, "referrer_url", lambda all, wrong: setattr(all.activity, "referrer_url", wrong)),
    (
        "target",
        NOT_TEXT,
        "target_content_identifier",
        lambda all, wrong: setattr(all.activity, "target_content_identifier", wrong),
    ),
    (
        "persistent",
        NOT_TEXT,
        "persistent_identifier",
        lambda all, wrong: setattr(all.activity, "persistent_identifier", wrong),
    ),
    (
        "required",
        [*NOT_ITERABLE, "text", b"bytes", [5], [["a"]]],
        "required_user_info_keys",
        lambda all, wrong: setattr(all.activity, "required_user_info_keys", wrong),
    ),
    (
        "keywords",
        [*NOT_ITERABLE, "text", b"bytes", [5], [["a"]]],
        "keywords",
        lambda all, wrong: setattr(all.activity, "keywords", wrong),
    ),
    ("needs_save", NOT_TRUTH, "needs_save", lambda all, wrong: setattr(all.activity, "needs_save", wrong)),
    (
        "expiration",
        [5, "2026-11-22", date(2026, 11, 22), object()],
        "expiration_date",
        lambda all, wrong: setattr(all.activity, "expiration_date", wrong),
    ),
    (
        "streams",
        NOT_TRUTH,
        "supports_continuation_streams",
        lambda all, wrong: setattr(all.activity, "supports_continuation_streams", wrong),
    ),
    ("private", NOT_TRUTH, "private", lambda all, wrong: setattr(all.activity, "private", wrong)),
    (
        "version",
        [*NOT_INTEGERS, None],
        "payload_version",
        lambda all, wrong: setattr(all.activity, "payload_version", wrong),
    ),
    (
        "handoff",
        NOT_TRUTH,
        "eligible_for_handoff",
        lambda all, wrong: setattr(all.activity, "eligible_for_handoff", wrong),
    ),
    ("on_will_save", [*NOT_FUNCTIONS, None], "on_will_save", lambda all, wrong: all.activity.on_will_save(wrong)),
    ("decode_value", NOT_BYTES, "cbor", lambda all, wrong: segue.decode_value(wrong)),
    ("URL", NOT_TEXT, "text", lambda all, wrong: segue.URL(wrong)),
    ("Timestamp", [*NOT_NUMBERS, None], "seconds", lambda all, wrong: segue.Timestamp(wrong)),
    ("limit", [*NOT_INTEGERS, None], "limit", lambda all, wrong: setattr(segue.limits, "save_ms", wrong)),
    ("access", NOT_TEXT, "url", lambda all, wrong: all.activity.access(wrong)),
    ("container", NOT_TEXT, "identifier", lambda all, wrong: all.app.add_container(wrong, "/tmp")),
]


def refuse(on: Any, wrong: list[Any], name: str, call: Callable[[Any, Any], Any]) -> None:
    for each in wrong:
        with pytest.raises(TypeError) as raised:
            call(on, each)
        assert name in str(raised.value), f"{each!r}: {raised.value}"
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("wrong, name, call", [each[1:] for each in WRONG], ids=[each[0] for each in WRONG])
def test_a_wrong_type_is_an_error_that_names_the_argument(
    all: Everything, wrong: list[Any], name: str, call: Callable[[Everything, Any], Any]
) -> None:
    refuse(all, wrong, name, call)
    all.pair.until(lambda: all.continuation.done)


class Simulated:
    """A fleet with one device."""

    def __init__(self, fleet: Fleet):
        self.fleet = fleet
        self.device = fleet.add_device("phone")


WRONG_ON_A_FLEET: list[tuple[str, list[Any], str, Callable[[Simulated, Any], Any]]] = [
    ("Fleet", [*NOT_INTEGERS, None], "seed", lambda on, wrong: type(on.fleet)(wrong)),
    ("add_device", [*NOT_TEXT, None], "name", lambda on, wrong: on.fleet.add_device(wrong)),
    ("set_linking", NOT_TRUTH, "all", lambda on, wrong: on.fleet.set_linking(wrong)),
    ("delay", [*NOT_ITERABLE, "ab", (1,), ("a", "b")], "delay", lambda on, wrong: on.fleet.set_network(delay=wrong)),
    ("loss", [*NOT_NUMBERS, None], "loss", lambda on, wrong: on.fleet.set_network(loss=wrong)),
    ("partition", [*NOT_OBJECTS, None], "device", lambda on, wrong: on.fleet.partition(wrong)),
    ("partition from", NOT_OBJECTS, "other", lambda on, wrong: on.fleet.partition(on.device, wrong)),
    ("fleet.link", [*NOT_OBJECTS, None], "other", lambda on, wrong: on.fleet.link(on.device, wrong)),
    ("advance", [*NOT_NUMBERS, None], "seconds", lambda on, wrong: on.fleet.advance(wrong)),
    ("kill", [*NOT_OBJECTS, None], "app", lambda on, wrong: on.fleet.kill(wrong)),
    ("play", [*NOT_INTEGERS, None], "apps", lambda on, wrong: on.fleet.play(apps=wrong)),
]


@pytest.mark.parametrize(
    "wrong, name, call", [each[1:] for each in WRONG_ON_A_FLEET], ids=[each[0] for each in WRONG_ON_A_FLEET]
)
def test_so_it_is_on_a_fleet(
    segue_fleet: Fleet, wrong: list[Any], name: str, call: Callable[[Simulated, Any], Any]
) -> None:
    refuse(Simulated(segue_fleet), wrong, name, call)


@pytest.mark.parametrize("buffer", [b"\x01", bytearray(b"\x01"), memoryview(b"\x01"), array.array("B", [1])], ids=repr)
def test_what_holds_bytes_is_bytes(buffer: Any, opened: Opener) -> None:
    assert segue.decode_value(buffer) == 1
    document = segue.Activity(None, TYPE, title="a").encode()
    same: Any = type(buffer)("B", document) if isinstance(buffer, array.array) else type(buffer)(document)
    assert segue.Activity.decode(None, same).title == "a"
    pair = Pair(opened)
    pair.activity.attach("a", buffer)
    assert pair.activity.attachments == {"a": 1}
    pair.activity.on_request(lambda data: buffer)
    continued = pair.continue_().wait(0)
    asked = continued.request(buffer)
    pair.until(lambda: asked.done)
    assert asked.wait(0) == b"\x01"


def test_memory_that_is_not_in_one_piece_is_taken() -> None:
    assert segue.decode_value(memoryview(b"\x01\x02")[::2]) == 1
    assert segue.decode_value(segue.encode_value(memoryview(b"abcd")[::2])) == b"ac"
    assert segue.decode_value(segue.encode_value(bytearray(b"ab"))) == b"ab"
    info = segue.Activity(None, TYPE).user_info
    info[memoryview(b"key")] = memoryview(b"value")
    assert info == {b"key": b"value"}
    assert memoryview(b"key") in info
    deep = [{"a": (memoryview(b"x"), {memoryview(b"y")})}, memoryview(b"z")]
    assert segue.decode_value(segue.encode_value(deep)) == [{"a": [b"x", {b"y"}]}, b"z"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda view: view,
        lambda view: [view],
        lambda view: (view,),
        lambda view: {view},
        lambda view: {"a": 1, "b": view},
        lambda view: dict.fromkeys(["a"], view),
        lambda view: {view: 1},
        lambda view: [[{"a": view}]],
        lambda view: ({"a": (view,)}.copy(), 1),
        lambda view: vars(SimpleNamespace(a=view)),
    ],
)
def test_a_view_is_bytes_wherever_it_stands_in_a_small_value(wrap: Call) -> None:
    """It would be a list of numbers to cbor2 6."""
    value, expected = wrap(memoryview(b"ab")), wrap(b"ab")
    gc.collect()
    assert segue.encode_value(value) == segue.encode_value(expected)


@pytest.mark.parametrize("seconds", [math.inf, 1e300, 1 << 80, 1e10])
def test_very_long_waits_are_waits(opened: Opener, seconds: float) -> None:
    app = opened()
    app.wake()
    assert app.dispatch(seconds) >= 0
    assert app.ready().wait(seconds) is None


@pytest.mark.parametrize("seconds", [math.nan, -1, -math.inf])
def test_what_is_no_duration_is_refused(opened: Opener, seconds: float) -> None:
    app = opened()
    for call in (app.dispatch, segue.Pending(app).wait):
        if seconds != seconds:
            with pytest.raises(ValueError, match="timeout"):
                call(seconds)


def test_numbers_that_stand_for_themselves_are_taken(opened: Opener) -> None:
    from decimal import Decimal

    class Three:
        def __index__(self) -> int:
            return 3

    app = opened()
    app.ready().wait(Fraction(20))  # type: ignore[arg-type]
    app.dispatch(Decimal("0.01"))  # type: ignore[arg-type]
    activity = segue.Activity(None, TYPE)
    activity.payload_version = Three()  # type: ignore[assignment]
    assert activity.payload_version == 3
    activity.needs_save = 1  # type: ignore[assignment]
    assert activity.needs_save is True


def test_paths_may_be_of_any_kind(folder: str, tmp_path: pathlib.Path) -> None:
    for path in (folder, folder.encode(), pathlib.Path(folder)):
        with segue.App("com.example.notes", runtime_folder=path) as app:
            app.ready().wait(20)


def test_a_closed_socket_is_refused(opened: Opener) -> None:
    connection = socket.socket()
    connection.close()
    with pytest.raises(ValueError, match="connection"):
        opened().link(connection)


# ---- subclasses that say something else than they are ----


class Long(bytes):
    """Says that it is longer than it is: the library would read what lies behind it."""

    def __len__(self) -> int:
        return 200


class Strange(str):
    """Encodes itself as that."""

    __slots__ = ()

    def encode(self, *arguments: Any) -> bytes:
        return Long(b"abc")


class Somewhere(os.PathLike):  # type: ignore[type-arg]
    def __init__(self, path: bytes):
        self.path = path

    def __fspath__(self) -> bytes:
        return Long(self.path)


@pytest.mark.parametrize("convert", [_arguments.data, _arguments.text, _arguments.path])
def test_the_library_gets_as_many_bytes_as_there_are(convert: Any) -> None:
    value: Any = Long(b"abc") if convert is not _arguments.text else Strange("xyz")
    wanted = b"abc" if convert is not _arguments.text else b"xyz"
    found = convert(value, "value")
    assert type(found) is bytes and found == wanted
    assert type(_arguments.path(Somewhere(b"abc"), "path")) is bytes
    assert _arguments.reason(Strange("xyz")) == b"xyz"


def test_a_length_that_is_not_true_is_not_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_bytes(b"12")
    activity = segue.Activity(None, TYPE)
    activity.title = Strange("xyz")
    activity.attach("bytes", Long(b"a"))
    activity.attach("file", Somewhere(bytes(tmp_path / "file")))
    activity.user_info["bytes"] = Long(b"abc")
    activity.user_info["text"] = Strange("xyz")
    assert activity.title == "xyz"
    assert activity.attachments == {"bytes": 1, "file": 2}
    assert activity.user_info == {"bytes": b"abc", "text": "xyz"}
    assert segue.decode_value(Long(b"\xa0")) == {}
    assert segue.decode_json(Strange("{}"), segue.JSONMode.PLAIN) == {}


# ---- numbers that no double holds ----


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**5000], ids=["large", "negative", "of many digits"])
def test_a_number_that_is_too_large_is_named(number: int) -> None:
    with pytest.raises(segue.InvalidArgumentError, match="seconds is too large"):
        segue.Timestamp(number)
    with pytest.raises(segue.InvalidArgumentError, match="seconds is too large"):
        segue.Timestamp(Fraction(number))  # type: ignore[arg-type]
    with pytest.raises(segue.InvalidArgumentError, match="what is"):
        _arguments.integer(number, 0, 5, "what")
    with pytest.raises(segue.InvalidArgumentError, match="timeout is"):
        _arguments.milliseconds(number, "timeout", 1000)


def test_a_wait_may_be_longer_than_any(opened: Opener) -> None:
    app = opened()
    app.stop()
    assert _arguments.patience(10**400) is None
    assert app.ready().wait(10**400) is None


def test_a_probability_that_is_too_large_is_named(segue_fleet: Fleet) -> None:
    for name in ("loss", "duplication", "reordering"):
        with pytest.raises(segue.InvalidArgumentError, match=f"{name} is too large"):
            segue_fleet.set_network(**{name: 10**400})  # type: ignore[arg-type]


class Short(UUID):
    @property
    def bytes(self) -> Any:
        return b"x"


class Wordy(UUID):
    @property
    def bytes(self) -> Any:
        return "0123456789abcdef"


def pushed(identifier: UUID) -> segue.Pushed:
    made = object.__new__(segue.Pushed)
    object.__setattr__(made, "push", identifier)
    return made


@pytest.mark.parametrize(
    "use",
    [
        lambda app, identifier: app.drop(identifier),
        lambda app, identifier: app.retry(identifier),
        lambda app, identifier: app.push(segue.Activity(app, TYPE), device=identifier),
        lambda app, identifier: app.rename_device("a", identifier),
        lambda app, identifier: app.revoke_device(identifier),
        lambda app, identifier: app.add_address(identifier, "laptop.example"),
        lambda app, identifier: app.accept_roster(identifier, bytes(32)),
        lambda app, identifier: app.answer_push(pushed(identifier), False),
    ],
)
def test_an_identifier_whose_bytes_are_too_few_is_refused(opened: Opener, use: Any) -> None:
    """The library reads 16, whatever lies behind these."""
    app = opened()
    with pytest.raises(segue.InvalidArgumentError, match="has 1 bytes, not 16"):
        use(app, Short(int=5))
    with pytest.raises(segue.ArgumentTypeError, match="is str, not bytes"):
        use(app, Wordy(int=5))
    with pytest.raises(segue.ArgumentTypeError, match="is str, not UUID"):
        use(app, "5")
