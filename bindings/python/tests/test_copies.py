# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values and errors can be copied and pickled, handles cannot: a copy would release the handle of the original."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
from typing import TYPE_CHECKING, Any, Callable

import pytest
from conftest import TYPE, Opener
from pair import Pair

import segue
from segue import URL, Map, Set, Timestamp, errors

if TYPE_CHECKING:
    from segue.testing import Fleet

COPIERS: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(lambda each, p=p: pickle.dumps(each, p) for p in range(6)),
]
KINDS = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, segue.Error)]


def refused(each: object) -> None:
    for copier in COPIERS:
        with pytest.raises(TypeError, match=f"{type(each).__name__} cannot be copied"):
            copier(each)
    gc.collect()


def test_handles_cannot_be_copied(opened: Opener) -> None:
    pair = Pair(opened)
    continuation = pair.continue_()
    things = [pair.origin, pair.activity, pair.offer, continuation, pair.receiver.ready(), segue.Restorable(print)]
    for each in things:
        refused(each)
    refused(pair.activity.user_info)
    # The originals live.
    assert pair.activity.title == pair.offer.title == continuation.wait(0).title == "Shopping list"
    pair.origin.dispatch(0)


def test_fleets_cannot_be_copied(segue_fleet: Fleet) -> None:
    refused(segue_fleet)
    refused(segue_fleet.add_device("phone"))


def test_what_was_pickled_by_hand_releases_nothing() -> None:
    """Whatever makes an object without its constructor."""
    activity = segue.Activity(None, TYPE)
    other = segue.Activity.__new__(segue.Activity)
    del other
    gc.collect()
    assert activity.type == TYPE


@pytest.mark.parametrize(
    "value",
    [
        URL("a:b"),
        Timestamp(1e300),
        Map([(1, "a"), (True, {"x": [1]}), (Map([(1, 2)]), 3)]),
        Set([1, 1.0, URL("a:b")]),
        segue.OfferEventKind.GONE,
        segue.Outcome.RESTORED,
        segue.Status.BUSY,
        segue.Connection.READY,
        segue.Problem("a", segue.Status.BUSY, "b"),
        segue.Reason("a", "b"),
    ],
    ids=repr,
)
def test_values_can(value: Any) -> None:
    hash(value) if not isinstance(value, Map) else None
    for again in (copy.copy(value), copy.deepcopy(value), *(pickle.loads(pickle.dumps(value, p)) for p in range(6))):
        assert again == value
        assert type(again) is type(value)
        assert repr(again) == repr(value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_errors_can(kind: type[segue.Error]) -> None:
    made: dict[type[segue.Error], segue.Error] = {
        segue.StreamAbortedError: segue.StreamAbortedError(7),
        segue.StreamBrokenError: segue.StreamBrokenError(),
    }
    error = made.get(kind) or kind("message")
    error.__cause__ = None
    error.extra = [1]  # type: ignore[attr-defined]
    for again in (copy.copy(error), copy.deepcopy(error), *(pickle.loads(pickle.dumps(error, p)) for p in range(6))):
        assert type(again) is kind
        assert vars(again) == vars(error)
        assert (again.args, str(again), repr(again)) == (error.args, str(error), repr(error))
        assert (again.status, again.code, again.message) == (error.status, error.code, error.message)


def test_an_error_of_an_unknown_status_can() -> None:
    error = pickle.loads(pickle.dumps(errors.error_of(999, "from the future")))
    assert (type(error), error.status, error.code, error.message) == (segue.Error, 999, "UNKNOWN", "from the future")


def test_a_subclass_with_a_constructor_of_its_own_can() -> None:
    error = pickle.loads(pickle.dumps(Refusal(7)))
    assert (type(error), error.page, error.message) == (Refusal, 7, "there is no page 7")


class Refusal(segue.DeclinedError):
    def __init__(self, page: int):
        super().__init__(f"there is no page {page}")
        self.page = page


# ---- what else they are ----


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_an_error_is_one_of_the_class_of_its_status(kind: type[segue.Error]) -> None:
    """`except` by class and a look at the status agree."""
    if kind in (segue.Error, errors.StreamError):
        return
    assert issubclass(kind, type(errors.error_of(kind.default_status, "")))


def test_errors_are_those_of_python_too() -> None:
    """A program that knows nothing of Segue catches them by their meaning."""
    expected: dict[type[segue.Error], type[Exception]] = {
        segue.RemoteApplicationTimedOutError: TimeoutError,
        segue.ConnectionUnavailableError: ConnectionError,
        segue.StreamBrokenError: ConnectionResetError,
        segue.StreamAbortedError: ConnectionAbortedError,
        segue.SystemRefusedError: OSError,
        segue.UnsafeFolderError: PermissionError,
        segue.InvalidHandleError: RuntimeError,
        segue.InvalidStateError: RuntimeError,
        segue.InvalidatedError: RuntimeError,
        segue.BusyError: RuntimeError,
        segue.ForkedError: RuntimeError,
        segue.InvalidArgumentError: ValueError,
        segue.InvalidURLError: ValueError,
        segue.MalformedError: ValueError,
        segue.LimitExceededError: ValueError,
        segue.UserInfoTooLargeError: ValueError,
        segue.UnsupportedValueError: TypeError,
        segue.WrongKindError: TypeError,
        segue.NotFoundError: LookupError,
    }
    for kind, other in expected.items():
        assert issubclass(kind, other), kind


def test_a_timeout_is_caught_as_one(opened: Opener) -> None:
    """R3.9: of the origin, and of `wait`."""
    from conftest import run_until

    pair = Pair(opened)
    with pytest.raises(TimeoutError):
        pair.receiver.continue_(pair.offer).wait(0)
    pair = Pair(opened)
    pair.activity.on_will_save(lambda: None)
    continuation = pair.receiver.continue_(pair.offer, timeout=0.05)
    run_until([pair.receiver], lambda: continuation.done)
    try:
        continuation.wait()
    except TimeoutError as error:
        assert isinstance(error, segue.RemoteApplicationTimedOutError)
    except segue.HandoffFailedError:
        pass
