# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table and the enumerations are those of the header, by way of segue-api.json."""

from __future__ import annotations

import ctypes
import enum
import json
from typing import Any

import pytest
from conftest import ROOT

import segue
from segue import (
    Connection,
    OfferEventKind,
    Outcome,
    Status,
    _activity_delegate,
    _activity_properties,
    _app,
    _document,
    _log,
    _native,
    _table,
)
from segue._limits import Limits, _Limit

API = json.loads((ROOT / "bindings" / "segue-api.json").read_text())

SCALARS = {
    "void": None,
    "bool": ctypes.c_bool,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "size": ctypes.c_size_t,
    "double": ctypes.c_double,
}
CONSTANTS = {each["name"]: each["value"] for each in API["constants"]}


def fits(kind: Any, parameter: dict[str, Any]) -> bool:
    """Whether a type of the table is right for a parameter of the header."""
    if parameter["type"] == "function":
        return kind is _table.CALLBACKS[parameter["callback"]]
    if parameter["type"] == "pointer":
        reads_only = parameter["direction"] == "in" and parameter["c"] in ("const char *", "const uint8_t *")
        return kind is (ctypes.c_char_p if reads_only else ctypes.c_void_p)
    return kind is SCALARS[parameter["type"]]


def test_the_table_has_the_functions_of_the_header_in_its_order() -> None:
    assert [name for name, _, _ in _table.FUNCTIONS] == [each["name"] for each in API["functions"]]


@pytest.mark.parametrize("declared", API["functions"], ids=lambda each: str(each["name"]))
def test_each_row_has_the_types_of_the_header(declared: dict[str, Any]) -> None:
    arguments, result = _native._ROWS[declared["name"]]
    assert len(arguments) == len(declared["parameters"])
    for kind, parameter in zip(arguments, declared["parameters"]):
        assert fits(kind, parameter), parameter
    returned = declared["returns"]
    assert result is (ctypes.c_char_p if returned == "pointer" else SCALARS[returned])


@pytest.mark.parametrize("declared", API["callbacks"], ids=lambda each: str(each["name"]))
def test_each_callback_has_the_types_of_the_header(declared: dict[str, Any]) -> None:
    kind = _table.CALLBACKS[declared["name"]]
    assert kind._restype_ is SCALARS[declared["returns"]]
    assert len(kind._argtypes_) == len(declared["parameters"])
    for mine, parameter in zip(kind._argtypes_, declared["parameters"]):
        # A callback's strings may have NUL bytes inside, so they come as addresses.
        assert mine is (ctypes.c_void_p if parameter["type"] == "pointer" else SCALARS[parameter["type"]]), parameter


def test_every_callback_type_is_there() -> None:
    assert set(_table.CALLBACKS) == {each["name"] for each in API["callbacks"]}


@pytest.mark.parametrize(
    "kind, prefix",
    [
        (Outcome, "SEGUE_OUTCOME_"),
        (OfferEventKind, "SEGUE_OFFER_"),
        (Connection, "SEGUE_CONNECTION_"),
        (Status, "SEGUE_ERROR_"),
    ],
)
def test_each_enumeration_has_the_numbers_of_the_header(kind: type[enum.IntEnum], prefix: str) -> None:
    mine = {each.name: each.value for each in kind}
    if kind is Status:
        assert mine.pop("OK") == CONSTANTS["SEGUE_OK"]
    assert mine == {name[len(prefix) :]: value for name, value in CONSTANTS.items() if name.startswith(prefix)}


def test_each_limit_has_the_number_of_the_header() -> None:
    mine = {name: each._number for name, each in vars(Limits).items() if isinstance(each, _Limit)}
    prefix = "SEGUE_LIMIT_"
    theirs = {name[len(prefix) :].lower(): value for name, value in CONSTANTS.items() if name.startswith(prefix)}
    assert mine == theirs


def test_each_other_constant_is_that_of_the_header() -> None:
    assert CONSTANTS["SEGUE_VERSION"] == _table.VERSION == _native.library.segue_version()
    assert CONSTANTS["SEGUE_MESSAGE_SIZE"] == _table.MESSAGE_SIZE
    assert CONSTANTS["SEGUE_ID_SIZE"] == _table.ID_SIZE
    assert CONSTANTS["SEGUE_DOCUMENT_URL_KEY"] == segue.DOCUMENT_URL_KEY
    for name in ("BROWSING_WEB", "EDITING_TEXT", "PLAYING_MEDIA", "READING_DOCUMENT", "USING_TERMINAL"):
        assert CONSTANTS[f"SEGUE_ACTIVITY_TYPE_{name}"] == getattr(segue, f"ACTIVITY_TYPE_{name}")
    roles = {"editor": CONSTANTS["SEGUE_ROLE_EDITOR"], "viewer": CONSTANTS["SEGUE_ROLE_VIEWER"]}
    assert roles == _document._ROLES
    assert {"host": CONSTANTS["SEGUE_DELIVER_HOST"], "thread": CONSTANTS["SEGUE_DELIVER_THREAD"]} == _app._DELIVERIES
    replies = (_app._REPLY_NO, _app._REPLY_YES, _app._REPLY_LATER)
    assert replies == tuple(CONSTANTS[f"SEGUE_REPLY_{name}"] for name in ("NO", "YES", "LATER"))
    assert replies[1:] == (_activity_delegate._REPLY_YES, _activity_delegate._REPLY_LATER)
    levels = (_log._ERROR, _log._INFO, _log._DEBUG)
    assert levels == tuple(CONSTANTS[f"SEGUE_LOG_{name}"] for name in ("ERROR", "INFO", "DEBUG"))
    eligible = (
        _activity_properties._HANDOFF,
        _activity_properties._SEARCH,
        _activity_properties._PUBLIC_INDEXING,
        _activity_properties._PREDICTION,
    )
    names = ("HANDOFF", "SEARCH", "PUBLIC_INDEXING", "PREDICTION")
    assert eligible == tuple(CONSTANTS[f"SEGUE_ELIGIBLE_FOR_{name}"] for name in names)


def test_the_library_has_every_function() -> None:
    for each in API["functions"]:
        if "only_in" not in each or _native.library.has_fleet:
            assert getattr(_native.library, each["name"]) is not None
