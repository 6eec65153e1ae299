# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JSON in and out, against Python's json."""

from __future__ import annotations

import base64
import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import reference, values

import segue
from segue import URL, JSONMode, Map, Set, Timestamp

settings.register_profile("segue", deadline=None)
settings.load_profile("segue")

PLAIN, TAGGED, INTEGERS, PEOPLE = JSONMode.PLAIN, JSONMode.TAGGED, JSONMode.TAGGED_INTEGERS, JSONMode.FOR_PEOPLE
texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)
"""The values that JSON has."""


def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def no_constant(name: str) -> None:
    raise ValueError(name)


def theirs(text: str | bytes) -> Any:
    """Returns the value that Python's json reads. Raises for texts that json accepts beyond JSON."""
    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant)


def fits(value: Any) -> bool:
    """Whether a value that Python's json has read is one that the library holds without loss."""
    if isinstance(value, dict):
        return all(fits(key) and fits(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(fits, value))
    if isinstance(value, str):
        return not any(0xD800 <= ord(each) < 0xE000 for each in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**64


@given(plain)
def test_python_reads_what_the_library_writes(value: Any) -> None:
    assert reference(theirs(segue.encode_json(value, PLAIN))) == reference(value)


@given(plain, st.booleans(), st.sampled_from([None, 0, 3, "\t"]))
def test_the_library_reads_what_python_writes(value: Any, ascii: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent)
    assert reference(segue.decode_json(text, PLAIN)) == reference(value)
    assert reference(segue.decode_json(text.encode(), PLAIN)) == reference(value)


@given(plain, st.data())
def test_both_refuse_the_same_text(value: Any, data: st.DataObject) -> None:
    """Text in which characters are changed: it is read by both, and as the same, or by none of the two."""
    text = list(json.dumps(value))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        text[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([*'"\\{}[]:,0-.eE+u tn\n\x00', ""])
        )
    changed = "".join(text)
    try:
        read = theirs(changed)
    except (ValueError, RecursionError):
        with pytest.raises(segue.Error):
            segue.decode_json(changed, PLAIN)
        return
    if fits(read):
        assert reference(segue.decode_json(changed, PLAIN)) == reference(read)
    else:
        with pytest.raises((segue.UnsupportedValueError, segue.MalformedError)):
            segue.decode_json(changed, PLAIN)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_have_as_few_digits_as_in_python(number: float) -> None:
    text = segue.encode_json(number, PLAIN)
    assert struct.pack("d", float(text)) == struct.pack("d", number)
    assert digits(text) == digits(repr(number))


def digits(text: str) -> str:
    return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_numbers_are_those_of_python(text: str) -> None:
    want = json.loads(text)
    if fits(want):
        assert reference(segue.decode_json(text, PLAIN)) == reference(want)
    else:
        with pytest.raises(segue.UnsupportedValueError):
            segue.decode_json(text, PLAIN)


@given(values)
def test_every_value_comes_back_from_tagged_text(value: Any) -> None:
    encoding = segue.encode_value(value)
    for mode in (TAGGED, INTEGERS):
        text = segue.encode_json(value, mode)
        handed = segue.decode_json(text, mode)
        assert segue.encode_value(handed) == segue.encode_value(segue.decode_value(encoding))
        if segue.encode_value(handed) == encoding:  # else a date of less than a microsecond
            assert segue.encode_json(handed, mode) == text


@given(values)
def test_tagged_text_means_what_the_header_says(value: Any) -> None:
    exact = segue.encode_value(value)
    for mode in (TAGGED, INTEGERS):
        assert reference(untagged(segue.encode_json(value, mode))) == exact


@given(values)
def test_text_for_people_is_json(value: Any) -> None:
    json.loads(segue.encode_json(value, PEOPLE))


def untagged(text: str) -> Any:
    """A second reader of tagged text, by the comment in segue.h."""

    def entry(pairs: list[tuple[str, Any]]) -> Any:
        if len(pairs) != 1 or not pairs[0][0].startswith("$"):
            return Map(no_duplicates(pairs))
        ((key, value),) = pairs
        if key.startswith("$$"):
            return Map({key[1:]: value})
        return READERS[key](value)

    return json.loads(text, object_pairs_hook=entry, parse_constant=no_constant)


READERS: dict[str, Callable[[Any], Any]] = {
    "$date": Timestamp,
    "$data": lambda text: base64.b64decode(text, validate=True),
    "$url": URL,
    "$uuid": UUID,
    "$set": Set,
    "$dict": lambda pairs: Map(tuple(pair) for pair in pairs),
    "$double": lambda name: {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[name],
    "$int": int,
}


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{"a": [1, 2', segue.MalformedError, "json: the text ends too early, at offset 11, path /a/1"),
        ('{"a": 1, "a": 2}', segue.MalformedError, 'json: the key "a" is there twice, at offset 9, path /a'),
        ('["\\ud800"]', segue.MalformedError, "json: half of a pair of surrogates, at offset 2, path /0"),
        ("[1e400]", segue.UnsupportedValueError, "json: a number that is too large for a double, at offset 1, path /0"),
        ("[" * 65, segue.LimitExceededError, "json: containers are nested more than 64 deep, at offset 64"),
    ],
)
def test_errors_say_where(text: str, kind: type[segue.Error], message: str) -> None:
    with pytest.raises(kind) as raised:
        segue.decode_json(text, PLAIN)
    assert message in str(raised.value)


def test_plain_text_refuses_what_json_lacks_with_its_path() -> None:
    with pytest.raises(segue.UnsupportedValueError, match="no form of data, path /a/1"):
        segue.encode_json({"a": [1, b"x"]}, PLAIN)


def test_an_error_that_quotes_a_key_is_one_line_and_keeps_its_direction() -> None:
    with pytest.raises(segue.UnsupportedValueError) as raised:
        segue.encode_json({"a\nb\u2028c\u202ed\x9b": b"x"}, PLAIN)
    assert "path /a b c d " in str(raised.value)


def test_an_activity_takes_json_and_gives_it() -> None:
    activity = segue.Activity(None, "com.example.json")
    assert activity.user_info_json(TAGGED) is None
    activity.set_user_info_json('{"line": 12, "edited": {"$date": 1700000000.25}}', TAGGED)
    assert activity.user_info["line"] == 12
    assert activity.user_info["edited"].timestamp() == 1700000000.25
    assert activity.user_info_json(TAGGED) == '{"line":12,"edited":{"$date":1700000000.25}}'
    with pytest.raises(segue.UnsupportedValueError, match="no form of a date, path /edited"):
        activity.user_info_json(PLAIN)
    with pytest.raises(segue.WrongKindError):
        activity.set_user_info_json("[1]", PLAIN)
    with pytest.raises(segue.UserInfoTooLargeError):
        activity.set_user_info_json(json.dumps({"a": "x" * 300_000}), PLAIN)
    assert activity.user_info["line"] == 12
    activity.set_user_info_json(b'{"$date": "plain"}', PLAIN)
    assert activity.user_info == {"$date": "plain"}
    activity.set_user_info_json(None, PLAIN)
    assert activity.user_info_json(PLAIN) is None


def test_arguments_of_other_types_are_refused() -> None:
    activity = segue.Activity(None, "com.example.json")
    with pytest.raises(segue.ArgumentTypeError, match="mode is int"):
        activity.user_info_json(1)  # type: ignore[arg-type]
    with pytest.raises(segue.ArgumentTypeError, match="text is int"):
        segue.decode_json(1, PLAIN)  # type: ignore[arg-type]
    with pytest.raises(segue.InvalidArgumentError, match="text is not UTF-8"):
        segue.decode_json('"\ud800"', PLAIN)
    with pytest.raises(segue.InvalidArgumentError, match="mode"):
        segue.decode_json("1", PEOPLE)


def test_text_for_people_has_a_bound_which_other_text_never_reaches() -> None:
    nested: Any = [None] * 1_200_000
    for _ in range(62):
        nested = [nested]
    with pytest.raises(segue.LimitExceededError, match="its JSON text is longer than"):
        segue.encode_json(nested, PEOPLE)
    assert len(segue.encode_json(nested, PLAIN)) == 5 * 1_200_000 + 125
    longest = segue.encode_json([-math.inf] * 5_000_000, TAGGED)
    assert len(longest) == 24 * 5_000_000 + 1
    assert len(segue.decode_json(longest, TAGGED)) == 5_000_000


def test_the_locale_does_not_matter(tmp_path: Path) -> None:
    """A locale with a decimal comma, made for this test."""
    made = subprocess.run(
        ["localedef", "-c", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")], capture_output=True
    )
    if made.returncode > 1:
        pytest.skip("no sources of locales: the Debian package locales is not installed")
    program = """
import locale, segue
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
print(segue.decode_json("[1.5, 2e-3]", segue.JSONMode.PLAIN))
print(segue.encode_json([1.5, -2.25e30], segue.JSONMode.PLAIN))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "LOCPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[1.5, 0.002]\n[1.5,-2.25e+30]\n"
