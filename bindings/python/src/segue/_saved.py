# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Saved activities and search (R8)."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from . import _arguments, _native, _table
from ._agent import Launch, launch_of
from ._asking import Asking
from ._host import Host
from ._native import library
from ._pending import Pending, expected
from ._values import value_of
from .errors import InvalidArgumentError
from .values import Timestamp

MOST_RESULTS = 1000
"""The most that one search finds."""


@dataclass(frozen=True)
class SavedActivity:
    """An activity that was saved for search."""

    bundle_identifier: str
    """The app that saved it; the next field is the name of that app."""
    app_name: str
    activity_id: UUID
    type: str
    saved: datetime | Timestamp
    """The date of the save, by the clock of this device."""
    expires: datetime | Timestamp
    title: str | None = None
    persistent_identifier: str | None = None
    webpage_url: str | None = None


def delete(app: Host, handle: int, identifiers: Iterable[str] | None) -> Pending[int]:
    """None: all."""
    answer: Pending[int] = Pending(app)
    if identifiers is None:
        with expected(answer):
            library.segue_app_delete_all_saved(handle, _deleted, _context(answer), _native.destroy)
    else:
        names = _arguments.texts(identifiers, "persistent_identifiers")
        with value_of(names) as value, expected(answer):
            library.segue_app_delete_saved(handle, value, _deleted, _context(answer), _native.destroy)
    return answer


def _context(answer: Pending[int]) -> int:
    return _native.new_context(weakref.ref(answer))


def search(app: Asking, query: str, bundle_identifier: str | None, limit: int) -> list[SavedActivity]:
    options: dict[str, Any] = {"query": _arguments.string(query, "query") if query else "", **_of(bundle_identifier)}
    most = _arguments.instance(limit, int, "limit")
    if not 1 <= most <= MOST_RESULTS:
        raise InvalidArgumentError(f"limit: {most}; 1 to {MOST_RESULTS} are allowed")
    return [saved_of(each) for each in app._ask("search", {**options, "limit": int(most)})["results"]]


def open_saved(app: Asking, saved: SavedActivity, milliseconds: int) -> Launch:
    _arguments.instance(saved, SavedActivity, "saved")
    wanted: dict[str, Any] = {"bundle_identifier": saved.bundle_identifier, "activity_id": saved.activity_id}
    if saved.persistent_identifier is not None:
        wanted["persistent_identifier"] = saved.persistent_identifier
    return launch_of(app._ask("open", wanted, milliseconds))


def forget(app: Asking, bundle_identifier: str | None) -> int:
    count: int = app._ask("forget", _of(bundle_identifier) or {"all": True})["count"]
    return count


def _of(bundle_identifier: str | None) -> dict[str, Any]:
    """The option for the activities of one app; None: of all."""
    if bundle_identifier is None:
        return {}
    return {"bundle_identifier": _arguments.string(bundle_identifier, "bundle_identifier")}


def saved_of(value: Any) -> SavedActivity:
    return SavedActivity(**{name: value[name] for name in SavedActivity.__dataclass_fields__ if name in value})


@_native.trampoline(_table.DELETION)
def _deleted(answer: Pending[int], _: int, count: int, error: int | None) -> None:
    answer._app._answered(answer)
    answer._end(count, None if error is None else _native.error_from(error))
