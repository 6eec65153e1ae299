# SPDX-License-Identifier: Apache-2.0
"""Values for which Python and user_info differ: keys that are equal to nothing, dates of no zone, parts of no kind."""

from __future__ import annotations

import math
from collections import OrderedDict, UserString
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pytest
from test_values import through

import segue


class TestNaN:
    """NaN is equal to no NaN: a dict, or a set, that was read would not find it again."""

    @pytest.mark.parametrize("key", [math.nan, (1, math.nan), ((math.nan,), "a")])
    def test_a_key_is_found_again(self, key: Any) -> None:
        read = through({"a": {key: 7}})["a"]
        assert isinstance(read, segue.Map)
        again = eval(repr(key), {"nan": float("nan")})
        assert read[again] == 7
        assert again in read
        assert read == {again: 7}

    def test_an_element_is_found_again(self) -> None:
        read = through({math.nan, "a"})
        assert isinstance(read, segue.Set)
        assert float("nan") in read and "a" in read
        assert through([{1.0, 2.0}]) == [{1.0, 2.0}]

    def test_an_entry_of_user_info_is_found_again(self) -> None:
        activity = segue.Activity(None, "com.example.notes")
        activity.user_info = {math.nan: 1, "a": 2}
        assert activity.user_info.copy()[float("nan")] == 1
        assert activity.user_info == {float("nan"): 1, "a": 2}
        assert [activity.user_info[key] for key in activity.user_info] == [2, 1]
        del activity.user_info[float("nan")]
        assert activity.user_info == {"a": 2}


NAIVE = datetime(2020, 1, 1)


@pytest.mark.parametrize(
    "use",
    [
        lambda info: info[NAIVE],
        lambda info: info.get(NAIVE),
        lambda info: NAIVE in info,
        lambda info: info.pop(NAIVE),
        lambda info: info.setdefault(NAIVE, 1),
        lambda info: info.update({NAIVE: 1}),
        lambda info: info.__setitem__(NAIVE, 1),
        lambda info: info.__delitem__(NAIVE),
        lambda info: segue.Map({NAIVE: 1}),
        lambda info: NAIVE in segue.Map({1: 2}),
        lambda info: segue.Map({1: 2})[NAIVE],
        lambda info: segue.Map({1: 2}) == {NAIVE: 2},
        lambda info: NAIVE in segue.Set([1]),
        lambda info: segue.Set([1, 1.0]) == {NAIVE},
    ],
)
def test_a_date_without_a_time_zone_is_refused_wherever_it_stands(use: Any) -> None:
    """It would mean another moment, and find another entry, in each time zone."""
    activity = segue.Activity(None, "com.example.notes")
    activity.user_info = {datetime(2020, 1, 1, tzinfo=timezone.utc): 1}
    with pytest.raises(segue.UnsupportedValueError, match="2020-01-01T00:00:00 has no time zone"):
        use(activity.user_info)


class Truth:
    """Is named as a type of Python, as numpy's is."""

    def __bool__(self) -> bool:
        return True


Truth.__name__ = Truth.__qualname__ = "bool"


@pytest.mark.parametrize(
    "value, error, message",
    [
        (
            {"a": [1, {"b": Truth()}]},
            segue.UnsupportedValueError,
            "['a'][1]['b']: user_info cannot hold a test_strange_values.bool",
        ),
        ({"a": {Truth(): 1}}, segue.UnsupportedValueError, "['a'], the key <"),
        ({"a": [UserString("x")]}, segue.UnsupportedValueError, "['a'][0]: user_info cannot hold a UserString"),
        ({UserString("x"): 1}, segue.UnsupportedValueError, "the key 'x': user_info cannot hold a UserString"),
        ({"a": ["ok", "half \ud800"]}, segue.InvalidArgumentError, "['a'][1]: 'half \\ud800' is not UTF-8"),
        ({"a": {"half \udfff": 1}}, segue.InvalidArgumentError, "['a'], the key 'half \\udfff': "),
        ({"a": {("b", "\ud800")}}, segue.InvalidArgumentError, "['a'], in the set[1]: '\\ud800' is not UTF-8"),
    ],
)
def test_an_error_about_a_part_of_a_value_names_the_path(value: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as refused:
        segue.encode_value(value)
    assert refused.value.message.startswith(message)


def test_a_key_that_cannot_be_compared_is_refused() -> None:
    """Each character of a UserString is another one, and a list may contain itself."""
    activity = segue.Activity(None, "com.example.notes", user_info={"a": 1})
    endless: list[Any] = []
    endless.append(endless)
    for key, error in ((UserString("a"), segue.UnsupportedValueError), (endless, segue.LimitExceededError)):
        with pytest.raises(error):
            activity.user_info[key] = 1
        with pytest.raises(error):
            del activity.user_info[key]
        with pytest.raises(error):
            activity.user_info.pop(key)
    for make in (lambda: segue.Map([(UserString("a"), 1)]), lambda: segue.Set([UserString("a")])):
        with pytest.raises(TypeError, match="UserString is not a value of user_info"):
            make()
    assert activity.user_info == {"a": 1}


def endless_list() -> list[Any]:
    made: list[Any] = [1]
    made.append(made)
    return made


def endless_tuple() -> tuple[Any, ...]:
    made: tuple[Any, ...] = ([], 1)
    made[0].append(made)
    return made


class Endless(Sequence):  # type: ignore[type-arg]
    """Its element is another one."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: Any) -> Any:
        if index:
            raise IndexError
        return Endless()


class EndlessMap(Mapping):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter([1])

    def __getitem__(self, key: Any) -> Any:
        return EndlessMap()


def deep_map() -> segue.Map:
    made = segue.Map([(1, 1)])
    for _ in range(2000):
        made = segue.Map([(1, made)])
    return made


@pytest.mark.parametrize("make", [endless_list, endless_tuple, Endless, EndlessMap, deep_map])
@pytest.mark.parametrize(
    "use",
    [
        lambda info, value: segue.Map([(value, 1)]),
        lambda info, value: segue.Map({1: 2})[value],
        lambda info, value: value in segue.Map({1: 2}),
        lambda info, value: segue.Map({1: 2}).get(value),
        lambda info, value: segue.Map({1: value}) == {1: 2},
        lambda info, value: hash(segue.Map({1: value})),
        lambda info, value: segue.Set([value]),
        lambda info, value: value in segue.Set([1]),
        lambda info, value: info.update(segue.Map([(value, 1)])),
        lambda info, value: info.update(segue.Map([(1, value)])),
        lambda info, value: info[value],
        lambda info, value: info.__setitem__(1, value),
    ],
)
def test_what_contains_itself_is_refused_wherever_it_stands(use: Any, make: Any) -> None:
    activity = segue.Activity(None, "com.example.notes", user_info={"a": 1})
    with pytest.raises(segue.LimitExceededError, match="nested more than 64 deep, or contain themselves"):
        use(activity.user_info, make())
    assert activity.user_info == {"a": 1}


def test_an_argument_whose_type_has_the_name_of_another_is_named_in_full() -> None:
    activity = segue.Activity(None, "com.example.notes")
    with pytest.raises(segue.ArgumentTypeError, match=r"needs_save is test_strange_values\.bool, not bool"):
        activity.needs_save = Truth()  # type: ignore[assignment]


def test_the_limits_show_themselves() -> None:
    assert repr(segue.limits).startswith("Limits(advised_payload=3072, user_info=262144, nesting=64, title=1024, ")
    assert f"save_ms={segue.limits.save_ms}" in repr(segue.limits)


class Hiding(dict):  # type: ignore[type-arg]
    """A dict that shows nothing of what it has; cbor2 encodes that all the same."""

    def items(self) -> Any:
        return ()


class HidingInOrder(OrderedDict):  # type: ignore[type-arg]
    def items(self) -> Any:
        return ()


@pytest.mark.parametrize("kind", [Hiding, HidingInOrder])
def test_what_a_dict_hides_counts_as_nesting(kind: Any) -> None:
    """cbor2 descends without a bound, and the process would end when the stack is used up."""
    assert through(kind(a=1)) == {"a": 1}
    value = kind()
    for _ in range(100_000):
        value = kind(inside=value)
    with pytest.raises(segue.LimitExceededError, match="nested"):
        segue.encode_value({"a": value})
    circle = kind()
    circle["itself"] = [circle]
    with pytest.raises(segue.LimitExceededError, match="nested"):
        segue.encode_value([circle])


@pytest.mark.parametrize("kind", [Hiding, HidingInOrder])
def test_a_fault_in_what_a_dict_hides_is_named(kind: Any) -> None:
    with pytest.raises(segue.UnsupportedValueError, match=r"\['a'\]\['b'\]: user_info cannot hold a complex"):
        segue.encode_value({"a": kind(b=1j)})
