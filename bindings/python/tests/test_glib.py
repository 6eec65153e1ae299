# SPDX-License-Identifier: Apache-2.0
"""The GLib adapter. Needs PyGObject, which is a package of the system (python3-gi)."""

from __future__ import annotations

import warnings

import pytest
from conftest import PATIENCE, TYPE, Log, Opener

import segue
import segue.glib

pytest.importorskip("gi", reason="needs python3-gi")
with warnings.catch_warnings():  # it imports in a way that Python will drop
    warnings.simplefilter("ignore", ImportWarning)
    from gi.repository import GLib, GObject


def test_a_main_loop_dispatches(opened: Opener, log: Log) -> None:
    context = GLib.MainContext.new()
    loop = GLib.MainLoop.new(context, False)
    late = GLib.timeout_source_new(int(PATIENCE * 1000))
    late.set_callback(lambda *_: loop.quit())
    late.attach(context)

    origin, receiver = opened(), opened()
    receipts: list[segue.Receipt] = []
    activity = segue.Activity(origin, TYPE, title="Shopping list")

    @activity.on_continuation_ended
    def ended(receipt: segue.Receipt) -> None:
        receipts.append(receipt)
        loop.quit()

    @receiver.on_offer
    def offered(kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        if kind == segue.OfferEventKind.APPEARED:
            receiver.continue_(offer)
            raise LookupError("is reported")

    @receiver.on_continue
    def take(activity: segue.Activity, continuation: segue.Continuation) -> bool:
        return activity.title == "Shopping list"

    for app in (origin, receiver):
        segue.glib.attach(app, context)
    with pytest.raises(segue.InvalidStateError):
        segue.glib.attach(origin, context)
    activity.become_current()
    loop.run()
    late.destroy()
    assert [receipt.outcome for receipt in receipts] == [segue.Outcome.RESTORED]
    assert "is reported" in str(log)


def test_detaching_leaves_the_app_to_others(opened: Opener) -> None:
    app = opened()
    detach = segue.glib.attach(app)
    detach()
    detach = segue.glib.attach(app)
    detach()
    app.ready().wait(PATIENCE)


def test_an_object_of_glib_is_a_responder(opened: Opener) -> None:
    class View(segue.ResponderMixin, GObject.Object):  # type: ignore[misc]
        def update_user_activity_state(self, activity: segue.Activity) -> None:
            activity.user_info["line"] = 7

    app = opened()
    view, window = View(), View()
    view.next_user_activity_responder = window
    window.user_activity = segue.Activity(app, TYPE)
    app.main_responder = view
    assert app.current_activity is window.user_activity
    app.main_responder = None
    while window.user_activity is not None and window.user_activity.user_info.get("line") != 7:
        app.dispatch(PATIENCE)
    assert window.user_activity is not None
