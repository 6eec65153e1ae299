# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Property lists (R6.1), read as Python's plistlib reads them, and never more than a bounded amount of work."""

from __future__ import annotations

import plistlib
import random
import struct
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FORMS = {"xml": plistlib.FMT_XML, "binary": plistlib.FMT_BINARY}
MALFORMED, LIMIT_EXCEEDED = 7, 10

# XML 1.0 has no other characters; a carriage return would be a newline.
TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="".join(map(chr, [*range(0x20), 0x7F, 0xFFFE, 0xFFFF]))),
    max_size=20,
)
LEAF = st.one_of(
    TEXT,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=20),
    st.datetimes(min_value=datetime(2001, 1, 1), max_value=datetime(2100, 1, 1)).map(
        lambda t: t.replace(microsecond=0)
    ),
)
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6))


def shown(value: Any) -> str:
    """The output of the probe for a value that plistlib has read."""
    match value:
        case bool():
            return f"b{int(value)}"
        case str():
            return "s" + value.encode().hex()
        case int():
            return f"i{value}" if -(2**63) <= value < 2**63 else "o(an integer of more than 64 bits)"
        case list():
            return f"a[{','.join(map(shown, value))}]"
        case dict():
            return "d{" + ",".join(f"{key.encode().hex()}:{shown(each)}" for key, each in value.items()) + "}"
        case bytes():
            return "o(data)"
        case float():
            return "o(a real number)"
        case plistlib.UID():
            return "o(a UID)"
        case datetime():
            return "o(a date)"
    raise AssertionError(value)


def ask(lists, folder: Path, content: bytes) -> str:
    path = folder / "list.plist"
    path.write_bytes(content)
    return lists(path)


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("lists")


@pytest.mark.parametrize("form", FORMS)
@given(value=VALUE)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_plistlib_writes_is_read_as_plistlib_reads_it(lists, place, form, value):
    content = plistlib.dumps(value, fmt=FORMS[form], sort_keys=False)
    assert ask(lists, place, content) == shown(plistlib.loads(content))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_damaged_is_refused_or_read_as_plistlib_reads_it(lists, place, form):
    """Bytes of valid lists are changed, removed and added."""
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    value = {
        "CFBundleIdentifier": "org.example.app",
        "NSUserActivityTypes": ["a", "é\U0001f600", "c" * 20],
        "numbers": [0, 1, 255, 256, 65_536, -1, 2**40, -(2**63), 1.5],
        "more": {"data": b"1234", "date": datetime(2020, 2, 3), "yes": True, "no": False, "empty": {}},
    }
    whole = plistlib.dumps(value, fmt=FORMS[form])
    both = 0
    for _ in range(1_500):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(content))
            match chance.randrange(4):
                case 0:
                    content[at] = chance.randrange(256)
                case 1:
                    del content[at : at + chance.randint(1, 8)]
                case 2:
                    content[at:at] = chance.randbytes(chance.randint(1, 4))
                case 3:
                    content[at] ^= 1 << chance.randrange(8)
        answer = ask(lists, place, bytes(content))
        if answer.startswith("error"):
            continue
        try:
            theirs = plistlib.loads(bytes(content))
        except Exception:
            continue  # what a date or data contains is not looked at here, since no manifest needs it
        both += 1
        if "o(" not in answer:
            assert answer == shown(theirs), bytes(content)
    assert both > 50, "hardly any damaged list was read by both"


def binary(
    *objects: bytes, top: int = 0, offset_size: int = 2, reference_size: int = 1, count: int | None = None
) -> bytes:
    """A binary property list of these objects."""
    body, offsets = b"bplist00", []
    for each in objects:
        offsets.append(len(body))
        body += each
    table = len(body)
    for offset in offsets:
        body += offset.to_bytes(offset_size, "big") if offset_size else b""
    return body + struct.pack(
        ">6xBBQQQ", offset_size, reference_size, len(objects) if count is None else count, top, table
    )


def test_objects_that_are_shared_do_not_blow_up(lists, place):
    """305 bytes that stand for a million values, or for ever more."""
    levels = [bytes([0xA0 | 10]) + bytes([level + 1] * 10) for level in range(6)]
    bomb = binary(*levels, b"\x09")
    assert len(bomb) < 200
    began = time.monotonic()
    assert ask(lists, place, bomb) == f"error {LIMIT_EXCEEDED} more than 10000 values"
    assert time.monotonic() - began < 1
    assert ask(lists, place, binary(b"\xa1\x00")) == f"error {LIMIT_EXCEEDED} more than 32 levels of nesting"
    assert (
        ask(lists, place, binary(b"\xd1\x01\x00", b"\x51a")) == f"error {LIMIT_EXCEEDED} more than 32 levels of nesting"
    )


def test_text_that_is_shared_does_not_blow_up(lists, place):
    text = b"\x5f\x11\x75\x30" + b"x" * 30_000
    array = b"\xaf\x11\x03\xe8" + b"\x01" * 1_000
    assert ask(lists, place, binary(array, text)).startswith(f"error {LIMIT_EXCEEDED} more than")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (binary(b"\xa1\x09"), "a reference to an object that is not there"),
        (binary(b"\x5f\x13\x7f\xff\xff\xff\xff\xff\xff\xff"), "an object that is longer than the file"),
        (binary(b"\xaf\x13\x7f\xff\xff\xff\xff\xff\xff\xff"), "an object that is longer than the file"),
        (binary(b"\xdf\x13\x40\x00\x00\x00\x00\x00\x00\x00"), "an object that is longer than the file"),
        (binary(b"\x5f\x13\xff\xff\xff\xff\xff\xff\xff\xff"), "a count of elements that is beyond the file"),
        (binary(b"\x5f\x09"), "a count of elements that is no integer"),
        (binary(b"\x51\x80"), "an ASCII string with a byte above 127"),
        (binary(b"\x61\xd8\x00"), "a UTF-16 string with half of a surrogate pair"),
        (binary(b"\x62\xd8\x00\x00\x41"), "a UTF-16 string with half of a surrogate pair"),
        (binary(b"\x61\xdc\x00"), "a UTF-16 string with half of a surrogate pair"),
        (binary(b"\xd1\x01\x01", b"\x09"), "a key of a dictionary is no string"),
        (binary(b"\xd2\x01\x01\x02\x02", b"\x51a", b"\x09"), "the key a is there twice"),
        (binary(b"\x70"), "object 0 is of an unknown kind"),
        (binary(b"\x15"), "object 0 is of an unknown kind"),
        (binary(b"\x09", top=1), "the trailer of a binary property list contradicts the file"),
        (binary(b"\x09", count=2**62), "the trailer of a binary property list contradicts the file"),
        (binary(b"\x09", count=2**63), "the trailer of a binary property list contradicts the file"),
        (binary(b"\x09", offset_size=0), "the trailer of a binary property list contradicts the file"),
        (binary(b"\x09")[:-1], "the trailer of a binary property list contradicts the file"),
        (b"bplist00", "a binary property list that is cut short, or of another version than 00"),
        (b"bplist15" + bytes(40), "a binary property list that is cut short, or of another version than 00"),
    ],
)
def test_a_binary_list_that_is_broken_says_what_is_wrong(lists, place, content, expected):
    assert ask(lists, place, content) == f"error {MALFORMED} {expected}"


def xml(body: str, head: str = '<?xml version="1.0"?>') -> bytes:
    return f'{head}<plist version="1.0">{body}</plist>'.encode()


DOCTYPE = '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (xml("<array/>", DOCTYPE), "a[]"),
        (xml("<string>a<!-- b -->&lt;<![CDATA[<c>]]></string>"), "s" + b"a<<c>".hex()),
        (xml("<integer> 0x1F </integer>"), "i31"),
        (xml("<integer>-9223372036854775808</integer>"), f"i{-(2**63)}"),
        ('\ufeff<?xml version="1.0" encoding="UTF-16"?><plist><true/></plist>'.encode("utf-16-le"), "b1"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><plist><string>\xe9</string></plist>', "s" + "é".encode().hex()),
    ],
)
def test_xml_that_is_unusual_is_read(lists, place, content, expected):
    assert ask(lists, place, content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "line 1: no element found; expected a property list, XML or binary"),
        (b"CFBundleIdentifier = x", "line 1: syntax error; expected a property list, XML or binary"),
        (b"\x00" * 100, "line 1: not well-formed (invalid token); expected a property list, XML or binary"),
        (xml(""), "the property list is empty"),
        (xml("<dict><key>a</key></dict>"), "line 1: the key a has no value"),
        (xml("<dict><key>a</key><key>b</key></dict>"), "line 1: the key a has no value"),
        (xml("<dict><true/></dict>"), "line 1: <true> in a dictionary: expected <key> before it"),
        (xml("<array><key>a</key></array>"), "line 1: <key> in an array"),
        (xml("<key>a</key>"), "line 1: <key> outside of a dictionary"),
        (xml("<true/><true/>"), "line 1: <true> after the end of the property list"),
        (xml("<string><b/></string>"), "line 1: <b> is no element of a property list"),
        (xml("<string><true/></string>"), "line 1: <true> inside of a value that contains only text"),
        (xml("<plist><true/></plist>"), "line 1: <plist> inside of <plist>"),
        (b"<dict/>", "line 1: <dict>: expected <plist> around the property list"),
        (xml("<array>x</array>"), "line 1: text outside of a value"),
        (xml("\n<integer>1e3</integer>"), "line 2: <integer>1e3: expected an integer of 64 bits"),
        (
            xml("<integer>9223372036854775808</integer>"),
            "line 1: <integer>9223372036854775808: expected an integer of 64 bits",
        ),
        (xml("<integer/>"), "line 1: <integer>: expected an integer of 64 bits"),
        (xml("<integer>1\n\u202e2</integer>"), "line 2: <integer>1  2: expected an integer of 64 bits"),
        (
            xml("<dict><key>a</key><true/><key>a</key><true/></dict>"),
            "line 1: the key a is there twice",
        ),
        (
            xml("&a;", '<!DOCTYPE plist [<!ENTITY a "b">]>'),
            "line 1: the document type declares something of its own, which is refused",
        ),
        (
            b'<?xml version="1.0" encoding="koi8-r"?><plist><true/></plist>',
            "line 1: unknown encoding; expected a property list, XML or binary",
        ),
    ],
)
def test_xml_that_is_broken_says_what_is_wrong_and_where(lists, place, content, expected):
    assert ask(lists, place, content) == f"error {MALFORMED} {expected}"


def test_a_depth_bomb_and_a_long_list_are_refused(lists, place):
    deep = ask(lists, place, xml("<array>" * 15_000))
    assert deep == f"error {LIMIT_EXCEEDED} line 1: more than 32 levels of nesting"
    assert ask(lists, place, xml("<array>" + "<true/>" * 10_001 + "</array>")).endswith("more than 10000 values")
    assert ask(lists, place, xml("<array>" * 32 + "</array>" * 32)) == "a[" * 32 + "]" * 32
    assert ask(lists, place, xml(" " * 300_000)).startswith(f"error {LIMIT_EXCEEDED} ")


def test_an_entity_that_grows_is_refused(lists, place):
    """A billion laughs."""
    entities = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(10))
    began = time.monotonic()
    answer = ask(lists, place, xml("<string>&a10;</string>", f"<!DOCTYPE plist [{entities}]>"))
    assert answer == f"error {MALFORMED} line 1: the document type declares something of its own, which is refused"
    assert time.monotonic() - began < 1
