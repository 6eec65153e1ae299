# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values through the library and back, against cbor2 (values) and a reference of our own (bytes)."""

from __future__ import annotations

import gc
import math
from collections import OrderedDict, UserList, UserString
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable
from uuid import UUID

import cbor2
import pytest
from hypothesis import given, settings
from reference import reference, values

import segue
from segue import URL, Map, Set, Timestamp, _plain
from segue._codec import decode, decode_exact, encode
from segue.values import NESTING, identity

settings.register_profile("segue", deadline=None)
settings.load_profile("segue")
UTC = timezone.utc


def through(value: Any) -> Any:
    """A value into the library and out of it."""
    return segue.decode_value(segue.encode_value(value))


@given(values)
def test_a_value_is_encoded_as_the_reference_encodes_it(value: Any) -> None:
    """R1.2: a value is its deterministic encoding."""
    assert segue.encode_value(value) == reference(value)


@given(values)
def test_a_value_comes_back_as_what_it_was(value: Any) -> None:
    """R1.2: integers stay integers, doubles doubles; nothing is lost, whatever Python takes for equal."""
    assert reference(through(value)) == rounded(value)


@given(values)
def test_the_fast_way_to_decode_and_the_exact_one_agree(value: Any) -> None:
    data = reference(value)
    fast, exact = decode(data), decode_exact(data)
    assert identity(fast) == identity(exact)
    assert type(fast) is type(exact)


@given(values)
def test_cbor2_reads_the_same_value(value: Any) -> None:
    """If cbor2 can hold a value at all, it reads from the library the same value as we do."""
    data = segue.encode_value(value)
    try:
        theirs = cbor2.loads(data, tag_hook=lambda *given: given)
    except Exception:
        return  # dates that datetime cannot hold
    if comparable(theirs):
        assert identity(decode(data)) == identity(theirs)


@given(values)
def test_what_cbor2_writes_is_normalised(value: Any) -> None:
    """cbor2's canonical form sorts otherwise (RFC 7049); the value is the same."""
    assert segue.encode_value(segue.decode_value(encode(value))) == rounded(value)


def rounded(value: Any) -> bytes:
    """The reference of a value as native types hold it: dates to the microsecond."""
    return reference(decode_exact(reference(value)))


def comparable(value: Any) -> bool:
    """Whether cbor2 gave the value in types of which it has lost nothing."""
    if isinstance(value, (list, tuple)):
        return all(map(comparable, value))
    if isinstance(value, dict):
        plain = all(isinstance(key, (str, bytes, UUID)) for key in value)
        return plain and all(map(comparable, value.values()))
    return type(value) in (type(None), bool, int, float, str, bytes, datetime, UUID)


@pytest.mark.parametrize(
    "value",
    [
        Map([(1, "integer"), (1.0, "double"), (True, "bool")]),
        Map([("e\u0301", 1), ("\u00e9", 2)]),
        {"inside": [Map([(0, 1), (False, 2), (-0.0, 3), (0.0, 4)])]},
        Map([((1,), 1), ((True,), 2)]),
        Map([(frozenset({1}), 1), (frozenset({True}), 2)]),
        Map([("a:b", 1), (URL("a:b"), 2)]),
        Map([(Timestamp(0.1), 1), (Timestamp(math.nextafter(0.1, 1) if hasattr(math, "nextafter") else 0.2), 2)]),
        {Map([("a", 1)]): "a dictionary as key"},
        Set([1, True, 1.0]),
        {"set": Set([0, False])},
        {frozenset({(1, 2), "x"}): {1, 2}},
        [Timestamp(1e300), Timestamp(-1e15)],
    ],
    ids=repr,
)
def test_what_python_cannot_tell_apart_stays_apart(value: Any) -> None:
    """R1.2: 1, true and 1.0 are three keys."""
    back = through(value)
    assert identity(back) == identity(value)
    assert reference(back) == reference(value)


def test_a_map_looks_up_by_exact_value() -> None:
    numbers = through(Map([(1, "integer"), (1.0, "double"), (True, "bool")]))
    assert isinstance(numbers, Map)
    assert (numbers[1], numbers[1.0], numbers[True]) == ("integer", "double", "bool")
    assert 2 not in numbers
    with pytest.raises(KeyError):
        numbers[2]
    assert numbers.get("1") is None
    assert len(numbers) == 3 == len(list(numbers.items()))
    assert hash(numbers) == hash(Map(reversed(numbers.pairs)))
    assert numbers == Map(reversed(numbers.pairs)) != {1: "integer"}


def test_native_types_are_used_wherever_they_hold_the_value() -> None:
    moment = datetime(2026, 11, 21, 6, 30, 0, 250000, tzinfo=timezone(timedelta(hours=1)))
    value: dict[Any, Any] = {
        "none": None,
        "bool": True,
        "int": 2**64 - 1,
        "double": 1.0,
        "text": "\u00e9\0",
        "bytes": b"\0\xff",
        "date": moment,
        "uuid": UUID(int=5),
        "url": URL("https://example.com/%C3%A9"),
        "list": [1, [2]],
        "set": {1, "a", (1, 2)},
        7: {"nested": {}},
    }
    back = through(value)
    assert back == value
    assert type(back) is dict
    assert type(back["double"]) is float
    assert type(back["set"]) is set
    assert back["date"].tzinfo is UTC


@pytest.mark.parametrize("value", [0.0, -0.0, math.inf, -math.inf, 5e-324, 1.5, 65504.0, 1e300])
def test_doubles_stay_what_they_are(value: float) -> None:
    back = through(value)
    assert type(back) is float
    assert math.copysign(1, back) == math.copysign(1, value)
    assert back == value
    assert math.isnan(through(math.nan))


def test_other_types_that_python_takes_for_native_ones_are_taken() -> None:
    class Name(str):
        pass

    class Instant(datetime):
        pass

    value = [OrderedDict(a=1), (1, 2), bytearray(b"x"), Name("n"), Instant(2026, 1, 1, tzinfo=UTC), frozenset("a")]
    assert through(value) == [{"a": 1}, [1, 2], b"x", "n", datetime(2026, 1, 1, tzinfo=UTC), {"a"}]


@pytest.mark.parametrize(
    "value, error",
    [
        (object(), segue.UnsupportedValueError),
        ({"deep": [object]}, segue.UnsupportedValueError),
        (2**64, segue.UnsupportedValueError),
        (-(2**63) - 1, segue.UnsupportedValueError),
        (1j, segue.UnsupportedValueError),
        (cbor2.undefined, segue.UnsupportedValueError),
        (cbor2.CBORTag(4000, 1), segue.UnsupportedValueError),
        (datetime(2026, 1, 1), segue.UnsupportedValueError),
        (Timestamp(math.inf), segue.Error),
        (URL("no url"), segue.UnsupportedValueError),
        ("\ud800", segue.InvalidArgumentError),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_what_user_info_cannot_hold_is_refused(value: Any, error: type[segue.Error]) -> None:
    """R1.2: nothing else can be put in."""
    with pytest.raises(error) as raised:
        segue.encode_value(value)
    assert raised.value.message


def test_nesting_beyond_the_limit_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(segue.limits.nesting):
        deep = [deep]
    with pytest.raises(segue.LimitExceededError):
        segue.encode_value(deep)
    assert through(deep[0]) == deep[0]
    round_trip: list[Any] = []
    round_trip.append(round_trip)
    with pytest.raises(segue.LimitExceededError, match="contain themselves"):
        segue.encode_value(round_trip)


WRAPPERS: list[Callable[[Any], Any]] = [
    lambda inner: [inner],
    lambda inner: {"a": inner},
    lambda inner: (inner,),
    lambda inner: Map([("a", inner)]),
    lambda inner: OrderedDict(a=inner),
    lambda inner: UserList([inner]),
    lambda inner: MappingProxyType({"a": inner}),
    lambda inner: {"a": 1, "b": ["x", {"c": inner, "d": 2}]},
    lambda inner: cbor2.CBORTag(1000, inner),
]


def nested(wrap: Callable[[Any], Any], depth: int, inner: Any = 1) -> Any:
    for _ in range(depth):
        inner = wrap(inner)
    return inner


@pytest.mark.parametrize("depth", [1000, 20_000])
@pytest.mark.parametrize("wrap", WRAPPERS)
def test_deep_nesting_is_an_error_not_a_crash(wrap: Callable[[Any], Any], depth: int) -> None:
    deep = nested(wrap, depth)
    held = {"held": deep}
    gc.collect()  # which looks no more at tuples that hold no containers, nor at dictionaries of these
    activity = segue.Activity(None, "com.example.notes.editing", user_info={"line": 1})
    for call in (
        lambda: segue.encode_value(deep),
        lambda: segue.encode_value([held]),
        lambda: segue.describe_value(deep),
        lambda: setattr(activity, "user_info", {"deep": deep}),
        lambda: activity.user_info.update(deep=deep),
        lambda: activity.user_info.__setitem__("deep", deep),
        lambda: activity.add_user_info_entries({"deep": deep}),
    ):
        with pytest.raises(segue.LimitExceededError, match="more than 64 deep"):
            call()
    assert activity.user_info == {"line": 1}


@pytest.mark.parametrize("wrap", WRAPPERS[:-2])
def test_what_is_just_within_the_limit_is_taken(wrap: Callable[[Any], Any]) -> None:
    assert segue.limits.nesting == NESTING
    within = nested(wrap, NESTING - 1, [1])
    gc.collect()
    assert identity(through(within)) == identity(within)
    with pytest.raises(segue.LimitExceededError):
        segue.encode_value([within])
    # A tuple that is a key, too.
    assert through({nested(lambda inner: (inner,), NESTING - 1): 1})
    with pytest.raises(segue.LimitExceededError):
        segue.encode_value({nested(lambda inner: (inner,), NESTING): 1})


def test_text_that_is_a_sequence_of_such_text_is_refused() -> None:
    with pytest.raises(segue.UnsupportedValueError, match=r"\['a'\]\[1\]: user_info cannot hold a UserString: 'text'"):
        segue.encode_value({"a": [1, UserString("text")]})


def test_what_is_shared_counts_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few lists that hold each other twice would be more than fits into memory."""
    monkeypatch.setattr(_plain, "MOST_CONTAINERS", 1000)
    with pytest.raises(segue.LimitExceededError, match="more than 1000 containers"):
        segue.encode_value(nested(lambda inner: [inner, inner], 60))


@pytest.mark.parametrize(
    "data", [b"", b"\x82\x01", b"\x01\x01", b"\xa2\x01\x01\x01\x02", b"\x61\xff", b"\x5b" + b"\xff" * 8]
)
def test_malformed_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(segue.MalformedError):
        segue.decode_value(data)


def test_a_value_can_be_described() -> None:
    assert segue.describe_value({"a": [1, True, b"\1"]}) == "{\"a\": [1, true, h'01']}"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"d": [datetime(2026, 1, 2)]}, "['d'][0]: the date 2026-01-02T00:00:00 has no time zone: give it one"),
        ({"a": {"big": 2**70}}, "['a']['big']: 1.181e+21 is not in -2^63...2^64-1: make it a str, or bytes"),
        ({"a": {"low": -(2**63) - 1}}, "['a']['low']: -9.223e+18 is not in -2^63"),
        ({"o": object()}, "['o']: user_info cannot hold a object: <object"),
        ({"s": {2**70}}, "['s'], in the set: 1.181e+21"),
        ({2**70: 1}, "the key 1180591620717411303424: 1.181e+21"),
    ],
)
def test_what_cannot_be_held_is_named_with_its_place(value: Any, said: str) -> None:
    activity = segue.Activity(None, "com.example.notes.editing")
    for assign in (
        lambda: setattr(activity, "user_info", value),
        lambda: activity.user_info.update(value),
        lambda: segue.encode_value(value),
    ):
        with pytest.raises((segue.UnsupportedValueError, segue.InvalidArgumentError)) as error:
            assign()
        assert said in str(error.value)


def test_a_file_that_cannot_be_attached_is_named(tmp_path: Path) -> None:
    activity = segue.Activity(None, "com.example.notes.editing")
    with pytest.raises(segue.SystemRefusedError, match=f"SYSTEM: {tmp_path}/none: No such file or directory$"):
        activity.attach("picture", tmp_path / "none")
    with pytest.raises(segue.SystemRefusedError, match="hello: No such file or directory; content that is a str is a"):
        activity.attach("text", "hello")
