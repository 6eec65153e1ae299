# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""segue_app_load_manifest: an app takes name, team, types and document types from a file, without an agent (R6.1)."""

from __future__ import annotations

import ctypes
import os
import plistlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from native import Native, load

APP, TYPE = "com.example.notes", "com.example.notes.editing"
OK, INVALID_ARGUMENT, INVALID_STATE, MALFORMED, WRONG_KIND, LIMIT_EXCEEDED, SYSTEM = 0, 1, 4, 7, 9, 10, 13
NUL = ctypes.c_size_t(-1)
MANIFEST: dict[str, Any] = {
    "CFBundleIdentifier": APP,
    "CFBundleName": "Notes",
    "NSUserActivityTypes": [TYPE],
    "com.apple.developer.team-identifier": "TEAM000001",
}
DESKTOP = f"""[Desktop Entry]
Type=Application
Name=Notes
Exec=/usr/bin/notes
X-Segue-BundleIdentifier={APP}
X-Segue-TeamIdentifier=TEAM000001
X-Segue-ActivityTypes={TYPE};
"""
FORMS = {
    "xml.plist": plistlib.dumps(MANIFEST),
    "binary.plist": plistlib.dumps(MANIFEST, fmt=plistlib.FMT_BINARY),
    "notes.desktop": DESKTOP.encode(),
}


class App:
    """An app in C that says its bundle identifier and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.library, self.handle = load(), ctypes.c_void_p()
        assert self.library.segue_app_create(APP.encode(), NUL, ctypes.byref(self.handle)) == OK
        assert self.library.segue_app_set_runtime_folder(self.handle, str(folder).encode(), NUL) == OK
        # Dispatching returns when there is an offer.
        delegate = ctypes.c_void_p()
        self.heard = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_void_p)(lambda *_: None)
        assert self.library.segue_app_delegate_create(None, None, ctypes.byref(delegate)) == OK
        assert self.library.segue_app_delegate_on_offer(delegate, self.heard) == OK
        assert self.library.segue_app_set_delegate(self.handle, delegate) == OK
        self.delegate = delegate

    def load(self, path: Path | bytes) -> tuple[int, str]:
        status = self.library.segue_app_load_manifest(self.handle, os.fsencode(path), NUL)
        message = ctypes.create_string_buffer(512)
        self.library.segue_last_error(message, ctypes.c_size_t(512))
        return status, message.value.decode() if status != OK else ""

    def open(self) -> None:
        assert self.library.segue_app_open(self.handle) == OK

    def offer(self) -> ctypes.c_void_p:
        """Makes an activity of the first type of the manifest current."""
        activity = ctypes.c_void_p()
        assert self.library.segue_activity_create(self.handle, None, ctypes.c_size_t(0), ctypes.byref(activity)) == OK
        assert self.library.segue_activity_set_title(activity, b"from the manifest", NUL) == OK
        assert self.library.segue_activity_become_current(activity) == OK
        return activity

    def close(self) -> None:
        assert self.library.segue_release(self.handle) == OK
        assert self.library.segue_release(self.delegate) == OK


@pytest.fixture
def app(folder: Path) -> Iterator[App]:
    made = App(folder)
    yield made
    made.close()


@pytest.mark.parametrize("name", FORMS)
def test_what_it_says_holds_from_the_start(app, folder, tmp_path, name):
    """Another app of that team, which declares that type, sees what this one offers under that name."""
    (tmp_path / name).write_bytes(FORMS[name])
    assert app.load(tmp_path / name) == (OK, "")
    viewer = Native(load(), str(folder), (TYPE,))
    try:
        app.open()
        activity = app.offer()
        viewer.until(("appeared", "from the manifest"))
        offers, count = (ctypes.c_void_p * 1)(), ctypes.c_size_t()
        viewer.call("segue_app_get_offers", viewer.app, offers, 1, ctypes.byref(count))
        offer, said, length = ctypes.c_void_p(offers[0]), ctypes.c_void_p(), ctypes.c_size_t()
        for getter, expected in (("segue_offer_get_app_name", "Notes"), ("segue_offer_get_type", TYPE)):
            viewer.call(getter, offer, ctypes.byref(said), ctypes.byref(length))
            assert ctypes.string_at(said, length.value).decode() == expected
            viewer.library.segue_free(said)
        viewer.call("segue_release", offer)
        viewer.call("segue_release", activity)
    finally:
        viewer.close()


def test_its_types_are_those_that_it_continues(app, folder, tmp_path):
    """And those of its documents; a later manifest adds what it declares."""
    documents = {
        "LSItemContentTypes": ["text/plain"],
        "CFBundleTypeRole": "Editor",
        "NSUbiquitousDocumentUserActivityType": "com.example.document",
    }
    for number, more in enumerate(({}, {"NSUserActivityTypes": [], "CFBundleDocumentTypes": [documents]})):
        path = tmp_path / f"{number}.plist"
        path.write_bytes(plistlib.dumps({**MANIFEST, **more}))
        assert app.load(path) == (OK, "")
    app.open()
    for type in (TYPE, "com.example.document"):
        origin = Native(load(), str(folder))
        try:
            activity = ctypes.c_void_p()
            origin.call("segue_activity_create", origin.app, type.encode(), NUL, ctypes.byref(activity))
            origin.call("segue_activity_become_current", activity)
            count = ctypes.c_size_t(0)
            while count.value == 0:
                assert app.library.segue_app_dispatch(app.handle, 10_000, None) == OK
                assert app.library.segue_app_get_offers(app.handle, None, ctypes.c_size_t(0), ctypes.byref(count)) == OK
            origin.call("segue_release", activity)
        finally:
            origin.close()
        while count.value == 1:
            assert app.library.segue_app_dispatch(app.handle, 10_000, None) == OK
            assert app.library.segue_app_get_offers(app.handle, None, ctypes.c_size_t(0), ctypes.byref(count)) == OK


REFUSED: dict[str, tuple[bytes, int, str]] = {
    "other.plist": (
        plistlib.dumps({**MANIFEST, "CFBundleIdentifier": "com.example.other"}),
        INVALID_ARGUMENT,
        f"describes com.example.other, and the app is {APP}",
    ),
    "line.plist": (b"<plist>\n<dict>\n<key>a</plist>", MALFORMED, "line 3"),
    "key.plist": (plistlib.dumps({**MANIFEST, "NSUserActivityTypes": "x"}), MALFORMED, "NSUserActivityTypes"),
    "empty.plist": (b"", MALFORMED, ""),
    "large.plist": (plistlib.dumps({**MANIFEST, "x": "x" * 256 * 1024}), LIMIT_EXCEEDED, "262144"),
    "no.desktop": (b"[Desktop Entry]\nType=Application\n", MALFORMED, ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said_with_the_file(app, tmp_path, name):
    content, expected, text = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    status, message = app.load(tmp_path / name)
    assert status == expected and text in message and str(tmp_path / name) in message
    # It has changed nothing, and the app goes on.
    app.open()


def test_what_is_no_file_is_said(app, tmp_path):
    status, message = app.load(tmp_path / "missing.plist")
    assert status == SYSTEM and "No such file or directory" in message
    assert app.load(tmp_path)[0] == WRONG_KIND
    os.mkfifo(tmp_path / "pipe.plist")
    assert app.load(tmp_path / "pipe.plist")[0] == WRONG_KIND
    assert app.load(b"")[0] == INVALID_ARGUMENT
    assert app.load(b"/" + b"x" * 4095)[0] == LIMIT_EXCEEDED
    status = app.library.segue_app_load_manifest(app.handle, None, NUL)
    assert status == INVALID_ARGUMENT


def test_an_app_that_is_open_loads_nothing(app, tmp_path):
    """Whatever the file is."""
    app.open()
    assert app.load(tmp_path / "missing.plist")[0] == INVALID_STATE
