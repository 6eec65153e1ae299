# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observers of the activity that a document has (R5.2)."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE, run_until
from test_documents import NAME, TEXT, TYPES, Devices, Observed

import segue
from segue import _native

if TYPE_CHECKING:
    from segue.testing import Fleet


@pytest.fixture
def devices(segue_fleet: Fleet, tmp_path: Path) -> Devices:
    return Devices(segue_fleet, tmp_path)


def test_any_number_of_observers_are_told_in_order(devices: Devices, tmp_path: Path) -> None:
    """R5.2: each of the old and the new one, from when it began, until it ends."""
    document = devices.letter(Observed)
    told: list[Any] = []
    first = document.observe_user_activity(lambda old, new: told.append(("first", old, new)))
    second = document.observe_user_activity(lambda old, new: told.append(("second", old, new)))
    activity = document.user_activity
    document.set_url(tmp_path / "outside")
    devices.fleet.run()
    assert told == [("first", activity, None), ("second", activity, None)]
    assert document.changes == [(activity, None)], "its own method goes on"
    first.end()
    first.end()
    late: list[Any] = []
    document.observe_user_activity(lambda old, new: late.append((old, new)))
    document.set_url(devices.here / "letter.txt")
    del told[:]
    devices.fleet.run()
    assert told == [("second", None, document.user_activity)]
    assert late == [(None, document.user_activity)]
    document.close()
    devices.fleet.run()
    assert len(late) == 1, "of a closed document nothing is told"
    with pytest.raises(segue.InvalidatedError):
        document.observe_user_activity(lambda old, new: None)
    del second


def test_an_observer_is_told_nothing_of_before_it_began(devices: Devices) -> None:
    """R5.2: though the library has not told anybody of that yet."""
    document = segue.Document(devices.origin, devices.here / "letter.txt", TEXT)
    told: list[Any] = []
    document.observe_user_activity(lambda old, new: told.append((old, new)))
    devices.fleet.run()
    assert told == []
    activity, document.user_activity = document.user_activity, None
    late: list[Any] = []
    document.observe_user_activity(lambda old, new: late.append((old, new)))
    devices.fleet.run()
    assert told == [(activity, None)] and late == []


def test_an_observer_is_told_nothing_of_before_it_began_by_thread(folder: str, tmp_path: Path) -> None:
    """R5.2: whenever the thread of callbacks comes to the change that was before."""
    told: list[Any] = []
    with segue.App(
        "com.example.notes", runtime_folder=folder, document_types=TYPES, delivery="thread", types=[TYPE]
    ) as app:
        app.add_container(NAME, tmp_path)
        for number in range(200):
            document = segue.Document(app, tmp_path / f"{number}.txt", TEXT)
            document.observe_user_activity(lambda old, new: told.append((old, new)))
            document.close()
    assert told == []


def test_an_observer_that_raises_or_is_dropped(devices: Devices, tmp_path: Path) -> None:
    """Its error comes out of the dispatch; the others are told, and a dropped document leaves nothing."""
    document = devices.letter()
    told: list[Any] = []

    def broken(old: Any, new: Any) -> None:
        raise ValueError("broken")

    document.observe_user_activity(broken)
    document.observe_user_activity(lambda old, new: told.append(new))
    document.set_url(tmp_path / "outside")
    with pytest.raises(ValueError, match="broken"):
        devices.fleet.run()
    devices.fleet.run()
    assert told == [None]
    del told[:], document, devices.kept
    gc.collect()
    with pytest.raises(TypeError, match="handler"):
        devices.letter().observe_user_activity(3)


def test_an_app_on_a_device_tells_observers(folder: str, tmp_path: Path) -> None:
    """R5.2: by `dispatch`, as on a fleet."""
    told: list[Any] = []
    with segue.App("com.example.notes", runtime_folder=folder, document_types=TYPES) as app:
        app.add_container(NAME, tmp_path)
        document = segue.Document(app, tmp_path / "a.txt", TEXT)
        document.observe_user_activity(lambda old, new: told.append((old, new)))
        activity, document.user_activity = document.user_activity, None
        run_until([app], lambda: told)
        assert told == [(activity, None)]
        document.close()


def test_an_app_that_has_died_lets_go_of_what_observers_knew(devices: Devices) -> None:
    """R1.15, R5.2: the activity of which an observer was told last, and its functions, though the document is held."""
    document = devices.letter()
    observation = document.observe_user_activity(lambda old, new: None)
    activity = document.user_activity
    assert activity is not None
    activity.on_will_save(lambda: None)
    document.user_activity = None  # the observer is not told: nothing runs until the app is dead
    devices.fleet.kill(devices.origin)
    contexts = _native.live_contexts()
    del activity
    gc.collect()
    assert _native.live_contexts() == contexts - 1
    del observation, document
