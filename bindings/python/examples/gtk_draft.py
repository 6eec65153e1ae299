#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An editor for GTK 4 whose draft has a web page: the draft continues in the page, at the cursor, and back. The page is
browser/site/example; its site lists this app, as docs/web.md says ("Your site and your app").

    gtk_draft.py PAGE       # its address: https://example.com/

Needs python3-gi and gir1.2-gtk-4.0.
"""

from __future__ import annotations

import sys

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402

import segue  # noqa: E402
import segue.glib  # noqa: E402

EDITING = "com.example.draft.editing"


class DraftWindow(segue.ResponderMixin, Gtk.ApplicationWindow):
    """The state of the draft is its text, and the cursor as a number of characters before it."""

    def __init__(self, program: Program, page: str):
        super().__init__(application=program, title="Draft", default_width=480, default_height=320)
        self.text = Gtk.TextView(wrap_mode=Gtk.WrapMode.WORD)
        self.set_child(Gtk.ScrolledWindow(child=self.text, vexpand=True))
        self.user_activity = segue.Activity(program.segue, EDITING, title="Draft")
        self.user_activity.webpage_url = page
        segue.glib.follow_focus(program.segue, self)

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        buffer = self.text.get_buffer()
        activity.user_info["text"] = buffer.get_text(*buffer.get_bounds(), True)
        activity.user_info["cursor"] = buffer.props.cursor_position

    def restore_user_activity_state(self, activity: segue.Activity) -> bool:
        """A page is another program: nothing says that its state has these entries, of these kinds."""
        text, cursor = activity.user_info.get("text"), activity.user_info.get("cursor")
        if not isinstance(text, str) or not isinstance(cursor, int):
            return False
        buffer = self.text.get_buffer()
        buffer.set_text(text.replace("\0", ""))
        buffer.place_cursor(buffer.get_iter_at_offset(max(0, min(cursor, buffer.get_char_count()))))
        if token := activity.continued_from.activation_token:
            self.set_startup_id(token)
        self.present()
        print(f"continued at {buffer.props.cursor_position}", flush=True)
        return True


class Draft(segue.App):
    def __init__(self, program: Program):
        super().__init__("com.example.draft", name="Draft", types=[EDITING])
        self.program = program

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
        continuation.restore([self.program.window])

    def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
        print(f"could not be continued: {error}", file=sys.stderr)


class Program(Gtk.Application):
    def __init__(self, page: str):
        super().__init__(application_id="com.example.draft", flags=Gio.ApplicationFlags.NON_UNIQUE)
        self.page = page

    def do_startup(self) -> None:
        Gtk.Application.do_startup(self)
        self.segue = Draft(self)
        self.segue.open()
        self.window = DraftWindow(self, self.page)
        segue.glib.attach(self.segue)
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, 15, self.quit)

    def do_activate(self) -> None:
        self.window.present()

    def do_shutdown(self) -> None:
        self.segue.close()
        Gtk.Application.do_shutdown(self)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(Program(sys.argv[1]).run([]))
