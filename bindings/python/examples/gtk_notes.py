#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A notes app for GTK 4 whose files lie in a synchronised folder. The window that the user works in is offered; what
another device offers is continued by a button, or Ctrl+Return: the same file opens, at the same place in its text.

    gtk_notes.py FOLDER [NAME...]       # the folder may lie elsewhere on the other device; the names are files in it

It gives each file and each window to Segue and calls `become_current` nowhere. Needs python3-gi and gir1.2-gtk-4.0.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402

import segue  # noqa: E402
import segue.glib  # noqa: E402

NOTE = "com.example.notes.editing"
TEXT = "text/plain"


class NoteWindow(segue.ResponderMixin, Gtk.ApplicationWindow):
    """Shows a file. Its own part of the state is where the cursor is."""

    def __init__(self, program: Program, path: Path):
        super().__init__(application=program, default_width=360, default_height=240)
        self.path = path
        self.text = Gtk.TextView(wrap_mode=Gtk.WrapMode.WORD)
        self.text.get_buffer().set_text(path.read_text() if path.exists() else "")
        self.text.get_buffer().connect("changed", lambda _: self.document.changed())
        self.proceed = Gtk.Button(visible=False, action_name="app.continue")
        header = Gtk.HeaderBar()
        header.pack_end(self.proceed)
        self.set_titlebar(header)
        self.set_title(path.name)
        self.set_child(Gtk.ScrolledWindow(child=self.text, vexpand=True))
        self.document = NoteDocument(program.segue, self)
        self.next_user_activity_responder = self.document
        self.user_activity = self.document.user_activity
        segue.glib.follow_focus(program.segue, self)
        self.connect("close-request", self.closed)

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        activity.user_info["cursor"] = self.text.get_buffer().props.cursor_position

    def restore_user_activity_state(self, activity: segue.Activity) -> None:
        buffer = self.text.get_buffer()
        buffer.place_cursor(buffer.get_iter_at_offset(activity.user_info["cursor"]))

    def closed(self, _: Gtk.Window) -> bool:
        self.document.close()
        return False


class NoteDocument(segue.Document):
    """A file, which its window shows. It is written when it is handed over, and when the program ends."""

    def __init__(self, app: segue.App, window: NoteWindow):
        self.window = window
        super().__init__(app, window.path, TEXT)
        self.user_activity_changed(None, self.user_activity)

    def user_activity_changed(self, old: segue.Activity | None, new: segue.Activity | None) -> None:
        if new is not None:
            new.title = self.window.path.name

    def changed(self) -> None:
        if self.user_activity is not None:
            self.user_activity.needs_save = True

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        buffer = self.window.text.get_buffer()
        self.window.path.write_text(buffer.get_text(*buffer.get_bounds(), True))

    def restore_user_activity_state(self, activity: segue.Activity) -> None:
        self.window.restore_user_activity_state(activity)


class Notes(segue.App):
    def __init__(self, program: Program):
        super().__init__("com.example.notes", name="Notes", document_types=[(TEXT, "editor", NOTE)])
        self.program = program

    def on_open_document(self, url: segue.URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        return self.program.open_file(Path(unquote(urlsplit(str(url)).path))).document

    def on_offer(self, kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        self.program.show_offers()

    def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
        print(f"could not be continued: {error}", file=sys.stderr)


class Program(Gtk.Application):
    def __init__(self, folder: Path, names: list[str]):
        super().__init__(application_id="com.example.notes", flags=Gio.ApplicationFlags.NON_UNIQUE)
        self.folder = folder
        self.names = names or ["note.txt"]
        action = Gio.SimpleAction.new("continue", None)
        action.connect("activate", lambda *_: self.segue.continue_(self.segue.offers[0]))
        self.add_action(action)
        self.set_accels_for_action("app.continue", ["<Control>Return"])

    def do_startup(self) -> None:
        Gtk.Application.do_startup(self)
        self.segue = Notes(self)
        self.segue.open()
        self.segue.add_container("com.example.notes.files", self.folder)
        segue.glib.attach(self.segue)
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, 15, self.quit)

    def do_activate(self) -> None:
        for name in self.names:
            self.open_file(self.folder / name)

    def do_shutdown(self) -> None:
        self.segue.close()
        Gtk.Application.do_shutdown(self)

    def open_file(self, path: Path) -> NoteWindow:
        """The window of a file: a new one, unless one shows it."""
        shown = [window for window in self.get_windows() if isinstance(window, NoteWindow) and window.path == path]
        window = shown[0] if shown else NoteWindow(self, path)
        window.present()
        self.show_offers()
        return window

    def show_offers(self) -> None:
        offers = self.segue.offers
        self.lookup_action("continue").set_enabled(bool(offers))
        for window in self.get_windows():
            window.proceed.set_visible(bool(offers))
            if offers:
                window.proceed.set_label(f"Continue {offers[0].title} of {offers[0].device_name}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(Program(Path(sys.argv[1]).absolute(), sys.argv[2:]).run([]))
