#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An office program for the terminal with up to four tabs, each of which can be continued by itself: four activity
types, four responders. The same program with one tab is a small app, so what this one is on a big device may be several
there. ../../c/examples/tabs.c is the same in C, and they work together.

    tabs.py IDENTIFIER [letter|sums|plan|talk]...       # all four if none is named

It reads lines: the name of a tab turns to it, "continue" continues the frontmost offer, "= TEXT" is what the user
types, "quit" ends.
"""

from __future__ import annotations

import os
import selectors
import sys

import segue

KINDS = {
    "letter": "com.example.office.writing",
    "sums": "com.example.office.calculating",
    "plan": "com.example.office.planning",
    "talk": "com.example.office.presenting",
}


class Tab(segue.ResponderMixin):
    """A part of the program that the user works in: what it shows is its text."""

    text = ""

    def __init__(self, app: segue.App, name: str):
        self.name = name
        self.user_activity = segue.Activity(app, KINDS[name], title=name)

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        activity.user_info["text"] = self.text

    def restore_user_activity_state(self, activity: segue.Activity) -> bool:
        self.text = str(activity.user_info.get("text", ""))
        print(f"restored {self.name}: {self.text}", flush=True)
        return True


class Office(segue.App):
    def __init__(self, identifier: str, names: list[str]):
        super().__init__(identifier, team="OFFICE", types=[KINDS[name] for name in names])
        self.names = names

    def start(self) -> None:
        self.tabs = {name: Tab(self, name) for name in self.names}
        self.show(self.names[0])

    def show(self, name: str) -> None:
        """The user turns to a tab, whose activity is current from now on."""
        self.shown = self.tabs[name]
        self.main_responder = self.shown
        print(f"shows {name}: {self.shown.text}", flush=True)

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
        tab = next(tab for tab in self.tabs.values() if KINDS[tab.name] == activity.type)
        tab.user_activity = activity
        continuation.restore([tab])
        self.show(tab.name)

    def on_offer(self, kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        print(f"{'gone' if kind == segue.OfferEventKind.GONE else 'offered'}: {offer.title}", flush=True)

    def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
        print(f"{type}: {error}", flush=True)

    def obey(self, line: str) -> bool:
        """Does what a line says. Whether the program goes on."""
        if line == "continue":
            if self.offers:
                self.continue_(self.offers[0])
            else:
                print("nothing is offered", flush=True)
        elif line.startswith("= "):
            self.shown.text = line[2:]  # nothing need be reported: the tab is asked when it is continued
        elif line in self.tabs:
            self.show(line)
        return line != "quit"


def main(identifier: str, *names: str) -> None:
    with Office(identifier, list(names or KINDS)) as office, selectors.DefaultSelector() as selector:
        office.start()
        selector.register(sys.stdin, selectors.EVENT_READ)
        selector.register(office.fileno(), selectors.EVENT_READ)
        begun = b""  # of a line
        while True:
            for key, _ in selector.select():
                if key.fileobj is not sys.stdin:
                    office.dispatch(0)
                    continue
                data = os.read(sys.stdin.fileno(), 4096)
                *lines, begun = (begun + data).split(b"\n")
                if not data or not all(office.obey(line.decode(errors="replace")) for line in lines):
                    return


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(KINDS):
        sys.exit(__doc__)
    main(*sys.argv[1:])
