# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activities: their properties, user_info as a mapping, documents."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from conftest import TYPE, Opener

import segue
from segue import URL, Map
from segue._codec import decode_pairs

UTC = timezone.utc


@pytest.fixture
def activity() -> segue.Activity:
    return segue.Activity(None, TYPE)


def test_a_new_activity_has_the_defaults_of_the_header(activity: segue.Activity) -> None:
    assert activity.type == TYPE
    assert activity.id != segue.Activity(None, TYPE).id
    assert (activity.title, activity.webpage_url, activity.referrer_url) == (None, None, None)
    assert (activity.target_content_identifier, activity.persistent_identifier) == (None, None)
    assert (activity.required_user_info_keys, activity.keywords) == (None, frozenset())
    assert (activity.needs_save, activity.expiration_date, activity.payload_version) == (True, None, 0)
    assert activity.eligible_for_handoff
    assert not activity.eligible_for_search
    assert not activity.eligible_for_public_indexing
    assert not activity.eligible_for_prediction
    assert (activity.is_valid, activity.is_current, activity.continued_from) == (True, False, None)
    assert not activity.supports_continuation_streams
    assert activity.user_info == {}
    assert activity.app is None
    assert activity.validate() == []


@pytest.mark.parametrize(
    "name, value",
    [
        ("title", "Shopping list \u00e9\0\U0001f6d2"),
        ("webpage_url", "https://example.com/a%20b?c#d"),
        ("referrer_url", "http://example.com/"),
        ("target_content_identifier", "note 7"),
        ("persistent_identifier", "7"),
        ("required_user_info_keys", frozenset({"line", "file"})),
        ("keywords", frozenset({"milk", "bread"})),
        ("needs_save", False),
        ("expiration_date", datetime(2030, 1, 1, 12, 0, 0, 500000, tzinfo=UTC)),
        ("supports_continuation_streams", True),
        ("private", True),
        ("payload_version", 2**32 - 1),
        ("eligible_for_handoff", False),
        ("eligible_for_search", True),
        ("eligible_for_public_indexing", True),
        ("eligible_for_prediction", True),
    ],
)
def test_a_property_gives_what_was_set(activity: segue.Activity, name: str, value: Any) -> None:
    before = getattr(activity, name)
    setattr(activity, name, value)
    assert getattr(activity, name) == value
    setattr(activity, name, before)
    assert getattr(activity, name) == before


@pytest.mark.parametrize(
    "name, value, error",
    [
        ("title", "x" * 1025, segue.LimitExceededError),
        ("title", "\ud800", segue.InvalidArgumentError),
        ("title", 7, segue.InvalidArgumentError),
        ("webpage_url", "ftp://example.com/", segue.InvalidURLError),
        ("webpage_url", "not a url", segue.InvalidURLError),
        ("referrer_url", "//example.com", segue.InvalidURLError),
        ("persistent_identifier", "x" * 256, segue.LimitExceededError),
        ("expiration_date", segue.Timestamp(math.inf), segue.InvalidArgumentError),
        ("expiration_date", datetime(2030, 1, 1), segue.InvalidArgumentError),
        ("payload_version", 2**32, segue.InvalidArgumentError),
        ("payload_version", -1, segue.InvalidArgumentError),
        ("user_info", [1], segue.WrongKindError),
        ("user_info", {"big": b"x" * 2**18}, segue.UserInfoTooLargeError),
        ("user_info", {"odd": object()}, segue.UnsupportedValueError),
        ("keywords", [1], segue.Error),
        ("keywords", "milk", TypeError),
    ],
)
def test_what_is_not_allowed_is_refused_and_the_old_value_stays(
    activity: segue.Activity, name: str, value: Any, error: type[Exception]
) -> None:
    """R1.5: the old value stays, never a crash."""
    activity.user_info = {"line": 1}
    activity.webpage_url = URL("https://example.com/")
    before = getattr(activity, name)
    with pytest.raises(error):
        setattr(activity, name, value)
    assert getattr(activity, name) == before


def test_an_error_says_what_was_wrong(activity: segue.Activity) -> None:
    with pytest.raises(segue.UserInfoTooLargeError) as raised:
        activity.user_info = {"small": 1, "huge": b"x" * 2**18}
    error = raised.value
    assert isinstance(error, segue.Error)
    assert isinstance(error, ValueError)
    assert (error.status, error.code, error.foundation_code) == (
        segue.Status.USER_INFO_TOO_LARGE,
        "USER_INFO_TOO_LARGE",
        4611,
    )
    assert "huge" in error.message
    assert "\n" not in error.message
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.status, copy.message) == (type(error), error.status, error.message)


@pytest.mark.parametrize("type", ["", "x" * 256, "\ud800"])
def test_a_type_that_is_none_is_refused(type: str) -> None:
    """R1.1"""
    with pytest.raises(ValueError):
        segue.Activity(None, type)


def test_without_a_type_it_is_the_first_of_the_app(opened: Opener) -> None:
    """R1.1"""
    app = opened(types=["com.example.first", "com.example.second"])
    assert segue.Activity(app).type == "com.example.first"
    with pytest.raises(segue.InvalidArgumentError):
        segue.Activity(None)


# ---- user_info ----


def test_user_info_is_a_mapping_that_writes_through(activity: segue.Activity) -> None:
    info = activity.user_info
    info["line"] = 12
    info["tags"] = ["a", "b"]
    activity.user_info.update({"line": 13}, column=4)
    assert activity.user_info == {"line": 13, "tags": ["a", "b"], "column": 4}
    assert len(info) == 3
    assert "line" in info
    assert "row" not in info
    assert set(info) == {"line", "tags", "column"} == set(info.keys())
    assert dict(info.items()) == info.copy()
    assert info.get("row", 5) == 5
    assert info.pop("column") == 4
    assert info.setdefault("column", 6) == 6
    del info["tags"]
    with pytest.raises(KeyError):
        info["tags"]
    with pytest.raises(KeyError):
        del info["tags"]
    assert info == {"line": 13, "column": 6}
    info.clear()
    assert info == {}
    assert repr(info) == "UserInfo({})"
    activity.user_info = None
    assert len(activity.user_info) == 0


NESTED: dict[Any, Any] = {
    "tags": ["a", {"b": [1]}],
    "page": {"line": 1, "marks": [1, 2]},
    "set": {1, 2},
    7: [Map([(1, [1]), (True, 2)])],
}


@pytest.mark.parametrize(
    "change",
    [
        lambda info: info["tags"].append("new"),
        lambda info: info["tags"].extend(["new"]),
        lambda info: info["tags"].__setitem__(0, "new"),
        lambda info: info["tags"].sort(),
        lambda info: info["tags"].clear(),
        lambda info: info["tags"].__imul__(2),
        lambda info: info["tags"].__delitem__(0),
        lambda info: info["tags"][1]["b"].append(2),
        lambda info: info["page"].__setitem__("line", 2),
        lambda info: info["page"].update(line=2),
        lambda info: info["page"].pop("line"),
        lambda info: info["page"].setdefault("column", 2),
        lambda info: info["page"]["marks"].insert(0, 0),
        lambda info: info["set"].add(3),
        lambda info: info[7][0][1].append(2),
        lambda info: info.get("tags").append("new"),
        lambda info: next(iter(info.values())).append("new"),
        lambda info: dict(info.items())["page"].__setitem__("line", 2),
        lambda info: info.setdefault("tags", []).append("new"),
        lambda info: info.setdefault("none", []).append("new"),
        lambda info: [*info["tags"]][1].update(b=2),
    ],
)
def test_a_change_inside_what_was_read_is_refused_not_lost(activity: segue.Activity, change: Any) -> None:
    activity.user_info = NESTED
    with pytest.raises((TypeError, AttributeError)) as raised:
        change(activity.user_info)
    if raised.type is TypeError:
        assert "editing()" in str(raised.value)
    activity.user_info.pop("none", None)
    assert activity.user_info == NESTED


def test_what_was_read_is_otherwise_as_ever(activity: segue.Activity) -> None:
    activity.user_info = NESTED
    info = activity.user_info
    assert info["tags"] == ["a", {"b": [1]}]
    assert info["tags"] + [1] == ["a", {"b": [1]}, 1]
    assert isinstance(info["tags"], list)
    assert isinstance(info["page"], dict)
    assert repr(info["page"]) == "{'line': 1, 'marks': [1, 2]}"
    assert json.dumps([info["tags"], info["page"]]) == json.dumps([NESTED["tags"], NESTED["page"]])
    info["tags"] += ["b"]
    info["page"] |= {"line": 2}
    assert (info["tags"][-1], info["page"]["line"]) == ("b", 2)
    info["again"] = info["page"]
    assert info["again"] == info["page"]
    for again in (
        copy.copy(info["page"]),
        copy.deepcopy(info["page"]),
        pickle.loads(pickle.dumps(info["page"])),
        info["page"].copy(),
        info.copy()["page"],
        info.pop("page"),
    ):
        assert type(again) is dict
        again["line"] = 3
    for again in (copy.copy(info["tags"]), copy.deepcopy(info["tags"]), pickle.loads(pickle.dumps(info["tags"]))):
        assert type(again) is list
        again.append(3)
    copy.deepcopy(info["again"])["marks"].append(3)
    assert segue.decode_value(segue.encode_value(info["again"])) == info["again"]


def test_its_keys_are_exact(activity: segue.Activity) -> None:
    """R1.2: 1, true and 1.0 are three keys."""
    info = activity.user_info
    info[1] = "integer"
    info[True] = "bool"
    info[1.0] = "double"
    info[(1, 2)] = "array"
    info[UUID(int=1)] = URL("a:b")
    assert (info[1], info[True], info[1.0], info[(1, 2)]) == ("integer", "bool", "double", "array")
    assert info[UUID(int=1)] == URL("a:b")
    assert isinstance(info.copy(), Map)
    del info[True]
    assert True not in info
    assert (info[1], info[1.0]) == ("integer", "double")
    with pytest.raises(segue.UnsupportedValueError), info.editing():
        pass


def test_deleting_changes_no_other_entry(activity: segue.Activity) -> None:
    precise = segue.encode_value({"date": segue.Timestamp(0.1234567891), "nested": Map([(1, 1), (True, 2)])})
    activity.user_info = decode_pairs(precise)
    activity.user_info["line"] = 1
    del activity.user_info["line"]
    assert activity.user_info._encoding() == precise


def test_a_block_edits_at_any_depth(activity: segue.Activity) -> None:
    activity.user_info = {"tags": ["a"], "page": {"line": 1}}
    with activity.user_info.editing() as entries:
        entries["tags"].append("b")
        entries["page"]["line"] += 1
    assert activity.user_info == {"tags": ["a", "b"], "page": {"line": 2}}
    with pytest.raises(ZeroDivisionError), activity.user_info.editing() as entries:
        entries.clear()
        entries["line"] = 1 / 0
    assert activity.user_info["page"] == {"line": 2}


def test_entries_are_merged(activity: segue.Activity) -> None:
    """R1.10"""
    activity.user_info = {"a": 1, "b": 2}
    activity.add_user_info_entries({"b": 3, "c": 4})
    assert activity.user_info == {"a": 1, "b": 3, "c": 4}


# ---- documents ----


def test_a_document_holds_every_property() -> None:
    activity = segue.Activity(
        None, TYPE, title="Shopping list", user_info={"line": 12}, webpage_url="https://example.com/"
    )
    activity.expiration_date = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    activity.keywords = ["milk"]
    activity.payload_version = 3
    document = activity.encode()
    again = segue.Activity.decode(None, document)
    for name in ("type", "title", "user_info", "webpage_url", "expiration_date", "keywords", "payload_version"):
        assert getattr(again, name) == getattr(activity, name), name
    assert again.id != activity.id
    assert not again.needs_save
    assert again.encode() == document
    assert "Shopping list" in activity.describe()


@pytest.mark.parametrize("document", [b"", b"\xa0", b"\xd9\xd9\xf7\x80", b"garbage"])
def test_a_bad_document_is_refused(document: bytes) -> None:
    with pytest.raises(segue.Error):
        segue.Activity.decode(None, document)


def test_all_that_is_wrong_is_found_at_once(activity: segue.Activity) -> None:
    """R1.14"""
    activity.required_user_info_keys = {"line", "file"}
    problems = activity.validate()
    assert problems
    assert all(problem.path and problem.message and problem.status for problem in problems)


# ---- life ----


def test_one_object_of_the_library_is_one_in_python(opened: Opener) -> None:
    app = opened()
    activity = segue.Activity(app, TYPE)
    activity.become_current()
    assert app.current_activity is activity
    assert activity.is_current
    activity.resign_current()
    assert app.current_activity is None


def test_an_app_keeps_its_current_activity(opened: Opener) -> None:
    app = opened()
    segue.Activity(app, TYPE, title="kept").become_current()
    gc.collect()
    assert app.current_activity is not None
    assert app.current_activity.title == "kept"
    segue.Activity(app, TYPE, title="next").become_current()
    assert app.current_activity.title == "next"


def test_an_invalidated_activity_says_so(opened: Opener) -> None:
    """R1.11"""
    activity = segue.Activity(opened(), TYPE)
    activity.become_current()
    activity.invalidate()
    activity.invalidate()
    assert not activity.is_valid
    with pytest.raises(segue.InvalidatedError):
        activity.become_current()


def test_without_an_app_it_cannot_become_current(activity: segue.Activity) -> None:
    with pytest.raises(segue.InvalidStateError):
        activity.become_current()
    with pytest.raises(segue.InvalidStateError):
        activity.explain()
