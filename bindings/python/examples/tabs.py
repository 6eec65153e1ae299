#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An office program for the terminal with up to four tabs, each of which can be continued by itself: four activity
types, four responders. The same program with one tab is a small app, so what this one is on a big device may be several
there. ../../c/examples/tabs.c is the same in C, without what follows of streams and browsers; they work together.

    tabs.py IDENTIFIER [letter|sums|plan|talk]...       # all four if none is named

It reads lines: the name of a tab turns to it, "continue" continues the frontmost offer, "= TEXT" is what the user
types, "quit" ends.

Each tab has a page on the office's site, ../../../browser/site/office: where no app continues the tab, a browser shows
that. If the site lists the program, what is changed there comes back. Between two programs a stream brings what was
typed before.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
from urllib.parse import parse_qs, urlencode, urlsplit

import segue

SITE = os.environ.get("OFFICE_SITE", "https://office.example.com").rstrip("/")
MOST = 1 << 20
"""Bytes of a history that are read: it is another program's."""

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
        self.history: list[str] = []
        """The texts before this one."""
        self.user_activity = segue.Activity(app, KINDS[name], title=name)
        self.user_activity.webpage_url = f"{SITE}/{name}"
        self.user_activity.supports_continuation_streams = True

    def change(self, text: str) -> None:
        if self.text:
            self.history.append(self.text)
        self.text = text

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        activity.user_info["text"] = self.text
        activity.webpage_url = f"{SITE}/{self.name}?{urlencode({'text': self.text})}"

    def restore_user_activity_state(self, activity: segue.Activity) -> bool:
        self.text = str(activity.user_info.get("text", ""))
        print(f"restored {self.name}: {self.text}", flush=True)
        return True


class History:
    """The end of a stream that writes or reads what was typed into a tab before."""

    result: segue.Pending[None] | None = None
    """Whether the other program has written all: it has ended."""

    def __init__(self, stream: segue.Stream, name: str, lines: list[str] | None):
        self.stream, self.name = stream, name
        self.left = None if lines is None else "".join(f"{line}\n" for line in lines).encode()
        """The bytes that are to be written; None: it reads."""
        self.read = b""
        self.socket = stream.open()
        self.socket.setblocking(False)

    @property
    def events(self) -> int:
        return selectors.EVENT_READ if self.left is None else selectors.EVENT_WRITE

    def go_on(self) -> bool:
        """Reads or writes what is possible now. Whether there is more to do."""
        try:
            if self.left:
                self.left = self.left[self.socket.send(self.left) :]
            elif self.left is None:
                data = self.socket.recv(65536)
                self.read += data
                return bool(data) and len(self.read) <= MOST
        except OSError:  # the other program has gone
            return False
        return bool(self.left)

    def end(self) -> None:
        """All is read or written."""
        self.stream.finish()
        if self.left is None:
            self.result = self.stream.result()
        self.socket.close()

    def tell(self) -> None:
        try:
            assert self.result is not None
            self.result.wait()
            count = self.read.count(b"\n")
            print(f"history of {self.name}: {count} texts before", flush=True)
        except segue.Error as error:
            print(f"history of {self.name}: {error}", flush=True)


class Office(segue.App):
    selector: selectors.BaseSelector

    def __init__(self, identifier: str, names: list[str]):
        super().__init__(identifier, team="OFFICE", types=[KINDS[name] for name in names])
        self.names = names
        self.asked: list[tuple[str, segue.Pending[segue.Stream]]] = []
        """The streams that were asked for, by the names of their tabs."""
        self.histories: dict[socket.socket, History] = {}
        self.ended: list[History] = []
        """Those of which the other program has not said yet how it ended."""

    def start(self) -> None:
        self.tabs = {name: Tab(self, name) for name in self.names}
        self.show(self.names[0])

    def show(self, name: str) -> None:
        """The user turns to a tab, whose activity is current from now on."""
        self.shown = self.tabs[name]
        self.main_responder = self.shown
        print(f"shows {name}: {self.shown.text}", flush=True)

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> bool:
        if activity.type == segue.ACTIVITY_TYPE_BROWSING_WEB:
            return self.come_back(str(activity.webpage_url))
        tab = next(tab for tab in self.tabs.values() if KINDS[tab.name] == activity.type)
        if activity.supports_continuation_streams:
            self.asked.append((tab.name, activity.stream()))
        tab.user_activity = activity
        continuation.restore([tab])
        self.show(tab.name)
        return True

    def come_back(self, url: str) -> bool:
        """A page of a tab comes from a browser. Its address is all that comes, and is another's: whether it is one."""
        page = urlsplit(url)
        tab = self.tabs.get(page.path.strip("/"))
        if tab is None or f"{page.scheme}://{page.netloc}" != SITE:
            return False
        tab.change(parse_qs(page.query).get("text", [""])[0])
        print(f"restored {tab.name}: {tab.text}", flush=True)
        self.show(tab.name)
        return True

    def on_did_receive_stream(self, activity: segue.Activity, stream: segue.Stream) -> None:
        tab = next(tab for tab in self.tabs.values() if KINDS[tab.name] == activity.type)
        self.add(History(stream, tab.name, tab.history))

    def add(self, history: History) -> None:
        self.histories[history.socket] = history
        self.selector.register(history.socket, history.events)

    def move(self, connection: socket.socket) -> None:
        """A stream can be read or written."""
        history = self.histories[connection]
        if history.go_on():
            return
        self.selector.unregister(connection)
        del self.histories[connection]
        history.end()
        if history.result is not None:
            self.ended.append(history)

    def follow_streams(self) -> None:
        """Reads the streams that have come, and tells of those that have ended."""
        for history in [each for each in self.ended if each.result is not None and each.result.done]:
            self.ended.remove(history)
            history.tell()
        for name, pending in [each for each in self.asked if each[1].done]:
            self.asked.remove((name, pending))
            try:
                self.add(History(pending.wait(), name, None))
            except segue.Error as error:
                print(f"history of {name}: {error}", flush=True)

    def on_offer(self, kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        print(f"{'gone' if kind == segue.OfferEventKind.GONE else 'offered'}: {offer.title}", flush=True)

    def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
        print(f"{type}: {error}", flush=True)

    def obey(self, line: str) -> bool:
        """Does what a line says. Whether the program goes on."""
        if line == "continue":
            if offers := self.offers:
                self.continue_(offers[0])
            else:
                print("nothing is offered", flush=True)
        elif line.startswith("= "):
            self.shown.change(line[2:])  # nothing need be reported: the tab is asked when it is continued
        elif line in self.tabs:
            self.show(line)
        return line != "quit"


def main(identifier: str, *names: str) -> None:
    with Office(identifier, list(names or KINDS)) as office, selectors.DefaultSelector() as selector:
        office.selector = selector
        office.start()
        selector.register(sys.stdin, selectors.EVENT_READ)
        selector.register(office.fileno(), selectors.EVENT_READ)
        begun = b""  # of a line
        while True:
            for key, _ in selector.select():
                if isinstance(key.fileobj, socket.socket):
                    office.move(key.fileobj)
                    continue
                if key.fileobj is not sys.stdin:
                    office.dispatch(0)
                    office.follow_streams()
                    continue
                data = os.read(sys.stdin.fileno(), 4096)
                *lines, begun = (begun + data).split(b"\n")
                if not data or not all(office.obey(line.decode(errors="replace")) for line in lines):
                    return


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(KINDS):
        sys.exit(__doc__)
    main(*sys.argv[1:])
