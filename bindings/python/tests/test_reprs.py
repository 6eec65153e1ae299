# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests `repr`: it shows the kind of an object and the state that one looks for, and never raises."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from conftest import TYPE, Opener
from pair import Pair

import segue

if TYPE_CHECKING:
    from segue.testing import Fleet


def test_a_repr_says_what_it_is_and_how_it_stands(opened: Opener) -> None:
    pair = Pair(opened)
    app, activity, offer = pair.receiver, pair.activity, pair.offer
    assert repr(app) == "<segue.App 'com.example.notes' open, ready>"
    assert repr(activity) == f"<segue.Activity '{TYPE}' 'Shopping list' current {activity.id}>"
    assert f"'{TYPE}' 'Shopping list' from 'com.example.notes' on '{offer.device_name}'" in repr(offer)
    continuation = app.continue_(offer)
    assert repr(continuation).startswith("<segue.Continuation of 'Shopping list' from 'com.example.notes', under way")
    pair.until(lambda: continuation.done)
    assert ", done, " in repr(continuation)
    continuation.wait(0)
    pending: segue.Pending[None] = segue.Pending(app)
    assert repr(pending) == "<segue.Pending under way>"
    pending.cancel()
    assert repr(pending).startswith("<segue.Pending failed: 'USER_CANCELLED: ")
    activity.invalidate()
    assert "invalidated" in repr(activity)
    app.close()
    assert repr(app) == "<segue.App 'com.example.notes' closed>"


def test_a_subclass_is_shown_by_its_name() -> None:
    class Notes(segue.App):
        pass

    assert repr(Notes("com.example.notes")) == "<segue.Notes 'com.example.notes' not open>"


def test_what_others_have_written_is_escaped() -> None:
    activity = segue.Activity(None, "a\x1b[2J", title="b\u202e\n")
    assert repr(activity).isprintable()


@pytest.mark.parametrize("kind", [segue.App, segue.Activity, segue.Offer, segue.Continuation, segue.Stream])
def test_half_made_it_is_shown_too(kind: type) -> None:
    assert repr(object.__new__(kind)).startswith(f"<segue.{kind.__name__}")


def test_a_fleet_and_its_devices_too(segue_fleet: Fleet) -> None:
    """By the names that they have, and half made, too."""
    device = segue_fleet.add_device("phone")
    assert repr(device) == "<segue.testing.FleetDevice 'phone'>"
    assert repr(segue_fleet) == f"<segue.testing.Fleet seed={segue_fleet.seed} at 0.000 s, 0 apps>"
    for each in (segue_fleet, device):
        name = type(each).__name__
        assert repr(object.__new__(type(each))) == f"<segue.testing.{name}: AttributeError>"


def test_after_a_fork_too(opened: Opener) -> None:
    activity = segue.Activity(opened(), TYPE)
    child = os.fork()
    if child == 0:
        os._exit(0 if repr(activity) == "<segue.Activity: ForkedError>" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
