# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes that the package does not have are refused: an assignment that is misspelt would do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import PATIENCE, TYPE, Opener

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet


def refused(thing: Any, name: str, value: object = True) -> str:
    with pytest.raises(AttributeError) as error:
        setattr(thing, name, value)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("is_private", "private"),
        ("titel", "title"),
        ("on_wil_save", "on_will_save"),
        ("keep_offering", "keeps_offering"),
    ],
)
def test_a_misspelt_property_of_an_activity_is_refused(name: str, meant: str) -> None:
    activity = segue.Activity(None, TYPE)
    assert refused(activity, name) == f"Activity has no attribute {name!r}; did you mean {meant!r}?"
    assert not hasattr(activity, name)


def test_what_is_like_nothing_is_refused_without_a_guess() -> None:
    assert refused(segue.Activity(None, TYPE), "zzz") == "Activity has no attribute 'zzz'"


def test_a_method_is_suggested_where_there_is_no_property(opened: Opener) -> None:
    assert "'set_foreground'" in refused(opened(delivery="thread"), "foreground")


def test_all_handles_refuse_them(segue_fleet: Fleet, tmp_path: Path) -> None:
    phone, laptop = (segue_fleet.add_device(name) for name in ("phone", "laptop"))
    text = [("text/plain", "editor", TYPE)]
    editor, viewer = (each.add_app("com.example.notes", document_types=text) for each in (phone, laptop))
    activity = segue.Activity(editor, TYPE)
    activity.become_current()
    segue_fleet.run()
    offer = viewer.offers[0]
    attempt = viewer.continue_(offer)
    document = segue.Document(editor, tmp_path / "letter.txt", "text/plain")
    responder = segue.Responder(editor)
    for each in (segue_fleet, phone, editor, activity, offer, attempt, document, responder):
        assert "has no attribute 'colour'" in refused(each, "colour", 1)
    continued = attempt.wait()
    assert "has no attribute 'colour'" in refused(continued, "colour", 1)


def test_subclasses_have_attributes_of_their_own(segue_fleet: Fleet) -> None:
    class Notes(segue.App):
        pass

    class Note(segue.Activity):
        pass

    class Window(segue.Responder):
        pass

    app = segue_fleet.add_device("phone").add_app("com.example.notes", Notes, types=[TYPE])
    things: tuple[Any, ...] = (app, Note(app, TYPE), Window(app))
    for each in things:
        each.colour = 1
        assert each.colour == 1


@pytest.mark.parametrize("kind", ["App", "Notes"])
def test_the_device_of_an_app_is_read_only(segue_fleet: Fleet, kind: str) -> None:
    class Notes(segue.App):
        pass

    phone = segue_fleet.add_device("phone")
    app = phone.add_app("com.example.notes", Notes if kind == "Notes" else segue.App)
    refused(app, "device", "junk")
    assert app.device is phone
    app.close()
    assert segue.App("com.example.notes").device is None


def test_what_a_fleet_is_made_of_is_read_only(segue_fleet: Fleet) -> None:
    phone = segue_fleet.add_device("phone")
    for thing, name in ((segue_fleet, "seed"), (phone, "name"), (phone, "fleet")):
        before = getattr(thing, name)
        refused(thing, name, "junk")
        assert getattr(thing, name) == before


def test_an_app_that_has_refused_an_attribute_works(opened: Opener) -> None:
    app = opened(delivery="thread")
    refused(app, "device", "junk")
    app.ready().wait(PATIENCE)
    app.close()
