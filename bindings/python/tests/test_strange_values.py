# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values for which Python and user_info differ: keys that are equal to nothing, dates of no zone, parts of no kind."""

from __future__ import annotations

import enum
import itertools
import math
import sys
import threading
from collections import OrderedDict, UserString
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any
from uuid import UUID

import pytest
from test_values import through

import segue
from segue.values import identity


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


def deep() -> list[Any]:
    """Ends the process if cbor2 gets it."""
    made: list[Any] = []
    for _ in range(200_000):
        made = [made]
    return made


class Turning:
    """Shows something else from the second time on."""

    def __init__(self, *parts: Any) -> None:
        self.times = 0

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        return 1

    def __contains__(self, key: object) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return iter([1 if self.times == 1 else deep()])

    def items(self) -> Any:
        return [("k", *self)]


class TurningMapping(Turning, Mapping):  # type: ignore[type-arg]
    pass


class TurningSequence(Turning, Sequence):  # type: ignore[type-arg]
    pass


class TurningList(Turning, list):  # type: ignore[type-arg]
    pass


class TurningTuple(Turning, tuple):  # type: ignore[type-arg]
    pass


class TurningSet(Turning, segue.Set):
    pass


class TurningFrozenSet(Turning, frozenset):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    "kind, expected",
    [
        (TurningMapping, {"k": 1}),
        (TurningSequence, [1]),
        (TurningList, [1]),
        (TurningTuple, [1]),
        (TurningSet, {1}),
        (TurningFrozenSet, {1}),
    ],
)
def test_what_a_container_shows_is_asked_for_once(kind: Any, expected: Any) -> None:
    """cbor2 gets the parts that were checked: it descends without a bound."""
    assert through({"a": kind(), "b": [[[[1]]]]}) == {"a": expected, "b": [[[[1]]]]}


class Filling(Mapping):  # type: ignore[type-arg]
    """Fills a list that was looked at before, while it is looked at."""

    def __init__(self, other: list[Any]) -> None:
        self.other = other

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        raise KeyError

    def __iter__(self) -> Iterator[Any]:
        return iter("k")

    def items(self) -> Any:
        self.other.append(deep())
        return [("k", 1)]


def test_a_container_that_changes_another_one_meanwhile_changes_nothing_that_was_checked() -> None:
    plain = [1]
    assert through({"b": plain, "a": Filling(plain)}) == {"b": [1], "a": {"k": 1}}
    with pytest.raises(segue.LimitExceededError, match="nested"):
        segue.encode_value({"a": Filling(plain), "b": plain})


@pytest.mark.parametrize("wrap", [lambda inner: inner, lambda inner: {"a": (), "b": (), "c": inner}])
def test_a_thread_that_changes_a_value_meanwhile_does_no_harm(wrap: Any) -> None:
    """Both ways of copying: that of most values, and that of those in which a container stands twice."""
    depths, changing, done = deep(), [1], threading.Event()
    value = wrap({"a": [0] * 20_000, "b": changing, "c": {"d": [changing]}, "e": [{"f": changing}]})

    def change() -> None:
        while not done.is_set():
            changing.append(depths)  # type: ignore[arg-type]
            changing.pop()

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=change)
    thread.start()
    try:
        sys.setswitchinterval(1e-5)
        for _ in range(100):
            with suppress(segue.LimitExceededError):
                segue.encode_value(value)
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


class Hundreds:
    """Is longer than it shows."""

    def __len__(self) -> int:
        return 100


class LongList(Hundreds, list):  # type: ignore[type-arg]
    pass


class LongTuple(Hundreds, tuple):  # type: ignore[type-arg]
    pass


class LongSet(Hundreds, segue.Set):
    pass


class LongMap(Hundreds, segue.Map):
    pass


class Endlessly(list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        return itertools.count()


@pytest.mark.parametrize(
    "value, message",
    [
        (LongList([1]), "the length of a LongList is 100, and it shows 1"),
        (LongTuple([1, 2]), "the length of a LongTuple is 100, and it shows 2"),
        (LongSet([1]), "the length of a LongSet is 100, and it shows 1"),
        (LongMap({1: 2}), "the length of a LongMap is 100, and it shows 1"),
        (Endlessly([1]), "the length of a Endlessly is 1, and it shows more"),
    ],
)
def test_a_container_whose_length_is_another_one_is_named(value: Any, message: str) -> None:
    with pytest.raises(segue.UnsupportedValueError) as refused:
        segue.encode_value({"a": [value]})
    assert refused.value.message == f"['a'][0]: {message}"
    with pytest.raises(segue.UnsupportedValueError) as refused:
        segue.encode_value(value)
    assert refused.value.message == message


def test_a_fault_beside_what_is_nested_deeply_is_an_error() -> None:
    for value in ([1j, deep()], [deep(), 1j], {"a": {"b": 1j}, "c": deep()}):
        with pytest.raises(segue.Error):
            segue.encode_value(value)


class Text(str):
    def __str__(self) -> str:
        return "else"


class Moment(datetime):
    def timestamp(self) -> Any:
        return deep()


class Place(segue.Timestamp):
    @property
    def seconds(self) -> Any:
        return deep()


class Name(UUID):
    @property
    def bytes(self) -> Any:
        return deep()


@pytest.mark.parametrize("value", [Moment(2020, 1, 1, tzinfo=timezone.utc), Place(1), Name(int=1)])
def test_a_leaf_that_shows_a_container_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        segue.encode_value([value])


def test_a_leaf_of_a_subclass_is_what_it_has() -> None:
    class Number(int):
        def __int__(self) -> int:
            return 7

    class Letter(enum.IntEnum):
        B = 2

    assert through([Text("a"), Number(5), Letter.B, {Text("k"): 1}]) == ["a", 5, 2, {"k": 1}]


@pytest.mark.parametrize(
    "inner", [[], {}, (), [1], {"a": 1}, {"a"}, frozenset(), [{}, 1], {1: {(1, 2): {3}}}, [[]] * 9]
)
@pytest.mark.parametrize("wrap", [list, tuple, lambda parts: dict(enumerate(parts)), lambda parts: [parts, [parts]]])
def test_small_values_of_all_shapes_are_what_they_were(wrap: Any, inner: Any) -> None:
    for parts in ([inner], [inner, inner], [1, inner], [inner, 1], [{}, inner], [{"a": 1}, {"b": inner}]):
        assert identity(through(wrap(parts))) == identity(wrap(parts))
