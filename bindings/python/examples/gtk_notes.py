#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A notes app for GTK 4 whose files lie in a synchronised folder. The window that the user works in is offered; what
another device offers is continued by a button, or Ctrl+Return: the same file opens, at the same place in its text.

    gtk_notes.py FOLDER [NAME...]       # the folder may lie elsewhere on the other device; the names are files in it

It gives each file and each window to Segue and calls `become_current` nowhere. A file that synchronisation has not
brought yet is not opened, and one that has changed under the user's changes is not overwritten: those go to a file
beside it. Needs python3-gi and gir1.2-gtk-4.0.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402

import segue  # noqa: E402
import segue.glib  # noqa: E402

NOTE = "com.example.notes.editing"
TEXT = "text/plain"
MOST = 1 << 20
"""The most bytes of a note."""


def text_in(file: BinaryIO) -> str:
    """The text of an open file. Raises UnicodeDecodeError; OSError if it is no file, or too long."""
    data = file.read(MOST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    if data is None or len(data) > MOST:
        raise OSError(f"not a file of at most {MOST} bytes")
    return data.decode()


def text_at(path: Path) -> str | None:
    """The text of a file of the folder; None if there is none. A FIFO is refused, and not waited for."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return text_in(file)
    except FileNotFoundError:
        return None


def write(path: Path, text: str) -> None:
    """Replaces a file at once: whoever reads it finds the former text, or all of this."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with open(new, "xb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        shutil.copymode(path, new)
    os.replace(new, path)


def free_name(path: Path) -> Path:
    """The name of a file beside another that is not there yet."""
    number = 1
    while os.path.lexists(free := path.with_name(f"{path.stem} (mine {number}){path.suffix}")):
        number += 1
    return free


class NoteWindow(segue.ResponderMixin, Gtk.ApplicationWindow):
    """Shows a file. Its own part of the state is where the cursor is."""

    document: NoteDocument
    in_file: str | None
    """The text of the file when it was last read or written here."""

    def __init__(self, program: Program, path: Path, text: str | None):
        super().__init__(application=program, default_width=360, default_height=240)
        self.path = path
        self.text = Gtk.TextView(wrap_mode=Gtk.WrapMode.WORD)
        self.show_text(text)
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
        self.connect("notify::is-active", lambda *_: self.refresh())

    def show_text(self, text: str | None) -> None:
        """Shows what the file has now; None: there is no file yet."""
        self.in_file = text
        buffer = self.text.get_buffer()
        if buffer.get_text(*buffer.get_bounds(), True) != (text or ""):
            buffer.set_text(text or "")
        buffer.set_modified(False)

    def refresh(self) -> None:
        """Shows what synchronisation has brought meanwhile, unless the user has changed the text."""
        buffer = self.text.get_buffer()
        with suppress(OSError, UnicodeDecodeError):
            text = text_at(self.path)
            if text is not None and text != self.in_file and not buffer.get_modified():
                cursor = buffer.props.cursor_position
                self.show_text(text)
                buffer.place_cursor(buffer.get_iter_at_offset(cursor))

    def save(self) -> None:
        """Writes what the user has changed: into another file, which this window shows from now on, if this one has
        been changed elsewhere meanwhile. Raises OSError."""
        buffer = self.text.get_buffer()
        if not buffer.get_modified():
            return
        try:
            is_same = text_at(self.path) == self.in_file
        except UnicodeDecodeError:
            is_same = False
        if not is_same:
            self.path = free_name(self.path)
            self.set_title(self.path.name)
            self.document.set_url(self.path)
        text = buffer.get_text(*buffer.get_bounds(), True)
        write(self.path, text)
        self.in_file = text
        buffer.set_modified(False)

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        activity.user_info["cursor"] = self.text.get_buffer().props.cursor_position

    def restore_user_activity_state(self, activity: segue.Activity) -> None:
        buffer = self.text.get_buffer()
        buffer.place_cursor(buffer.get_iter_at_offset(activity.user_info["cursor"]))

    def closed(self, _: Gtk.Window) -> bool:
        """Stays open if its text cannot be written."""
        try:
            self.save()
        except OSError as error:
            print(f"{self.path.name} cannot be written: {error}", file=sys.stderr)
            return True
        self.document.close()
        return False


class NoteDocument(segue.Document):
    """A file, which its window shows. It is written when it is handed over, and when the window or program ends."""

    def __init__(self, app: segue.App, window: NoteWindow):
        self.window = window
        super().__init__(app, window.path, TEXT)

    def changed(self) -> None:
        if self.user_activity is not None:
            self.user_activity.needs_save = True

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        self.window.save()

    def restore_user_activity_state(self, activity: segue.Activity) -> None:
        self.window.restore_user_activity_state(activity)


class Notes(segue.App):
    def __init__(self, program: Program):
        super().__init__("com.example.notes", name="Notes", document_types=[(TEXT, "editor", NOTE)])
        self.program = program

    def on_open_document(
        self, url: segue.URL, activity: segue.Activity, continuation: segue.Continuation
    ) -> segue.Document | None:
        path = Path(os.fsdecode(unquote_to_bytes(urlsplit(str(url)).path)))
        try:
            for window in self.program.windows_of(path):
                window.save()
            with activity.access(url) as file:  # whatever the other device has named, it is a file of the folder
                text = text_in(file)
        except segue.NotThereYetError:
            print(f"{path.name} is not there yet: continue it once it is synchronised", file=sys.stderr)
            return None
        except (OSError, UnicodeDecodeError) as error:
            print(f"{path.name} cannot be opened: {error}", file=sys.stderr)
            return None
        return self.program.show(path, text, activity.continued_from.activation_token).document

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
        action.connect("activate", lambda *_: self.proceed())
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
            path = self.folder / name
            try:
                self.show(path, text_at(path))
            except (OSError, UnicodeDecodeError) as error:
                print(f"{name} cannot be opened: {error}", file=sys.stderr)

    def do_shutdown(self) -> None:
        for window in self.windows_of(None):
            try:
                window.save()
            except OSError as error:
                print(f"{window.path.name} cannot be written: {error}", file=sys.stderr)
        self.segue.close()
        Gtk.Application.do_shutdown(self)

    def windows_of(self, path: Path | None) -> Iterator[NoteWindow]:
        """Those that show a file; None: all."""
        for window in self.get_windows():
            if isinstance(window, NoteWindow) and path in (None, window.path):
                yield window

    def show(self, path: Path, text: str | None, token: str | None = None) -> NoteWindow:
        """The window of a file, with what that has now: a new one, unless one shows it. It comes to the front, by
        the token of the user's click also from behind another program."""
        window = next(self.windows_of(path), None)
        if window is None:
            window = NoteWindow(self, path, text)
        else:
            window.show_text(text)
        if token:
            window.set_startup_id(token)
        window.present()
        self.show_offers()
        return window

    def proceed(self) -> None:
        """Continues the frontmost offer, unless it has gone while the user pressed the button."""
        for offer in self.segue.offers[:1]:
            self.segue.continue_(offer)

    def show_offers(self) -> None:
        offers = self.segue.offers
        self.lookup_action("continue").set_enabled(bool(offers))
        for window in self.windows_of(None):
            window.proceed.set_visible(bool(offers))
            if offers:
                window.proceed.set_label(f"Continue {offers[0].title} of {offers[0].device_name}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(Program(Path(sys.argv[1]).absolute(), sys.argv[2:]).run([]))
