# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handoff for gedit: file, cursor, selection and unsaved text, over the lines of `segue stdio`. Nothing here waits, and
nothing is done while one types: the state is read when somebody continues it."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import gi

gi.require_versions({"Gedit": "3.0", "GtkSource": "4"})
from gi.repository import Gedit, Gio, GLib, GObject, Gtk, GtkSource  # noqa: E402

TYPE = "SegueActivityTypeEditingText"
PROGRAMS = ("/usr/local/libexec/segue/segue-stdio", "/usr/libexec/segue/segue-stdio")
LANGUAGES = {"sh": "shellscript", "js": "javascript", "python3": "python", "c-sharp": "csharp", "chdr": "c"}
ENDINGS = {GtkSource.NewlineType.LF: "lf", GtkSource.NewlineType.CR: "cr", GtkSource.NewlineType.CR_LF: "crlf"}
LOADING = (Gedit.TabState.STATE_LOADING, Gedit.TabState.STATE_REVERTING)
# A line has escapes of JSON; a message without them has at most 16 MiB. A session has 64 activities.
LINE_MOST, MESSAGE_MOST, DIGEST_MOST = 24 * 1024 * 1024, 16 * 1024 * 1024 - 65536, 1024 * 1024
OFFERED_MOST, MENU_MOST = 32, 10
Message = dict


class Session:
    """segue-stdio, to which threads write and from which they read: the loop of gedit never waits for it.

    handle: gets the method, the parameters and the id of each message, in the loop of gedit
    """

    def __init__(self, handle: Callable[[str, Message, int | None], None], **app: object):
        named = os.environ.get("SEGUE_STDIO") or next((each for each in PROGRAMS if os.access(each, os.X_OK)), None)
        command = [named] if named else ["segue", "stdio"]
        self.handle, self.numbers, self.lines = handle, itertools.count(1), queue.SimpleQueue()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for work in (self.read, self.write):
            threading.Thread(target=work, daemon=True).start()
        self.call("open", protocol=1, lineBytes=LINE_MOST, **app)

    def read(self) -> None:
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                GLib.idle_add(self.handle, message["method"], message["params"], message.get("id"))
        self.lines.put(None)
        GLib.idle_add(self.handle, "end", {}, None)
        self.process.wait()

    def write(self) -> None:
        with contextlib.suppress(OSError):
            while line := self.lines.get():
                self.process.stdin.write(line)
                self.process.stdin.flush()

    def send(self, **message: object) -> bool:
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"
        if len(line) <= MESSAGE_MOST:
            self.lines.put(line)
        return len(line) <= MESSAGE_MOST

    def call(self, method: str, **params: object) -> None:
        self.send(id=next(self.numbers), method=method, params=params)


def digest(file: GtkSource.File) -> str | None:
    """Returns that of a file that is as it was read or written, and can be read without a pause."""
    path = Path((file.get_location() and file.get_location().get_path()) or "")
    file.check_file_on_disk()
    with contextlib.suppress(OSError):
        if path.is_file() and path.stat().st_size <= DIGEST_MOST and not file.is_externally_modified():
            return "sha-256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return None


def state(tab: Gedit.Tab) -> Message:
    document, view = tab.get_document(), tab.get_view()
    file, language = document.get_file(), document.get_language()
    location, here = file.get_location(), document.get_iter_at_mark(document.get_insert())
    info = {"line": here.get_line() + 1, "column": here.get_line_offset() + 1}
    if document.get_has_selection():
        other = document.get_iter_at_mark(document.get_selection_bound())
        info["anchorLine"], info["anchorColumn"] = other.get_line() + 1, other.get_line_offset() + 1
    info["firstVisibleLine"] = view.get_line_at_y(view.get_visible_rect().y)[0].get_line() + 1
    info["language"] = language and LANGUAGES.get(language.get_id(), language.get_id())
    if location:
        info["url"], info["lineEnding"] = location.get_uri(), ENDINGS[file.get_newline_type()]
        info["contentDigest"] = digest(file)
        info["encoding"] = file.get_encoding() and file.get_encoding().get_charset()
    if not location or document.get_modified() or file.is_deleted():
        text = document.get_text(*document.get_bounds(), True).replace("\r\n", "\n").replace("\r", "\n")
        info["text"] = text + ("\n" if document.get_implicit_trailing_newline() else "")
    return {key: value for key, value in info.items() if value is not None}


def warn_of_version(tab: Gedit.Tab, info: Message) -> None:
    here = digest(tab.get_document().get_file()) if "contentDigest" in info else None
    if here and here != info["contentDigest"]:
        bar = Gtk.InfoBar(message_type="warning", show_close_button=True, visible=True)
        bar.get_content_area().add(Gtk.Label(label="The file has another version here.", visible=True))
        bar.connect("response", lambda *_: bar.destroy())
        tab.set_info_bar(bar)


def place(document: Gedit.Document, line: int, column: int) -> Gtk.TextIter:
    """Returns the place, or the nearest that the text has."""
    found = document.get_iter_at_line(min(line, document.get_line_count()) - 1)
    end = found.copy()
    end.ends_line() or end.forward_to_line_end()
    found.set_line_offset(min(column - 1, end.get_line_offset()))
    return found


def show(tab: Gedit.Tab, info: Message) -> None:
    document, view, text = tab.get_document(), tab.get_view(), info.get("text")
    if text is not None:
        document.set_implicit_trailing_newline(text.endswith("\n"))
        document.begin_user_action()
        document.set_text(text[:-1] if text.endswith("\n") else text)
        document.end_user_action()
        document.set_modified(True)
    if "url" not in info and "language" in info:
        name = next((name for name, each in LANGUAGES.items() if each == info["language"]), info["language"])
        document.set_language(GtkSource.LanguageManager.get_default().get_language(name))
    if "line" in info:
        here = place(document, info["line"], info.get("column", 1))
        anchor = (info.get("anchorLine"), info.get("anchorColumn", 1))
        document.select_range(here, place(document, *anchor) if anchor[0] else here)
    if "firstVisibleLine" in info:
        mark = document.create_mark(None, place(document, info["firstVisibleLine"], 1), True)
        view.scroll_to_mark(mark, 0, True, 0, 0)
    view.scroll_to_mark(document.get_insert(), 0, False, 0, 0)


class Handoff(GObject.Object, Gedit.AppActivatable):
    __gtype_name__ = "SegueHandoff"
    app = GObject.Property(type=Gedit.App)

    def do_activate(self) -> None:
        self.ids, self.numbers, self.connected = {}, itertools.count(), []
        self.menu = self.extend_menu("file-section")
        action = Gio.SimpleAction.new("segue-continue", GLib.VariantType.new("s"))
        action.connect("activate", lambda _, offer: self.session.call("offers/continue", offer=offer.get_string()))
        self.app.add_action(action)
        self.session = Session(self.handle, bundleIdentifier="org.gnome.gedit", name="gedit", types=[TYPE])
        self.on(self.app, "window-added", lambda _, window: self.follow(window))
        for window in self.app.get_main_windows():
            self.follow(window)

    def do_deactivate(self) -> None:
        while self.connected:
            each, number = self.connected.pop()
            each.disconnect(number)
        self.app.remove_action("segue-continue")
        self.menu.remove_items()
        self.session.handle = lambda *_: None
        self.session.call("close")

    def on(self, each: GObject.Object, signal: str, call: Callable[..., None]) -> None:
        self.connected.append((each, each.connect(signal, call)))

    def follow(self, window: Gtk.Window) -> None:
        if isinstance(window, Gedit.Window):
            for signal in ("active-tab-changed", "active-tab-state-changed", "notify::title", "notify::is-active"):
                self.on(window, signal, lambda *_: self.offer(window))
            self.on(window, "tab-removed", lambda _, tab: self.withdraw(tab))
            self.offer(window)

    def offer(self, window: Gedit.Window) -> None:
        """Offers the document that is in front; one that is empty and has no name is none."""
        tab = window.get_active_tab()
        if not tab or tab.get_state() in LOADING or window is not self.app.get_active_window():
            return
        location = tab.get_document().get_file().get_location()
        if location or tab.get_document().get_modified():
            self.ids[tab] = self.ids.pop(tab, None) or str(next(self.numbers))
            title = location.get_basename() if location else "Untitled"
            self.session.call("activity/set", activity=self.ids[tab], type=TYPE, title=title)
            self.session.call("activity/current", activity=self.ids[tab])
        if len(self.ids) > OFFERED_MOST:
            self.withdraw(next(iter(self.ids)))

    def withdraw(self, tab: Gedit.Tab) -> None:
        if tab in self.ids:
            self.session.call("activity/invalidate", activity=self.ids.pop(tab))

    def handle(self, method: str, params: Message, number: int | None) -> None:
        if method == "offers/changed":
            self.list(params["offers"])
        elif method == "activity/save":
            tab = next((tab for tab, activity in self.ids.items() if activity == params["activity"]), None)
            if not tab or not self.session.send(id=number, result={"userInfo": state(tab)}):
                self.session.send(id=number, error={"code": -32000, "message": "it is closed, or too large"})
        elif method == "continuation/continue":
            self.open(params, number)
        elif method == "end":
            self.do_deactivate()

    def list(self, offers: list[Message]) -> None:
        self.menu.remove_items()
        for each in offers[:MENU_MOST]:
            label = f"Continue “{each.get('title', 'a text')}” from {each['device']}".replace("_", "__")
            self.menu.append_menu_item(Gio.MenuItem.new(label, f"app.segue-continue::{each['offer']}"))

    def open(self, params: Message, number: int) -> None:
        info, session, waits = params["userInfo"] or {}, self.session, []

        def done(reason: str = "") -> None:
            session.send(id=number, result={"handled": not reason, "reason": reason})
            reason or session.call("activity/release", activity=params["activity"])

        windows = [*self.app.get_main_windows(), self.app.get_active_window()]
        window = [each for each in windows if isinstance(each, Gedit.Window)][-1]
        location = Gio.File.new_for_uri(info["url"]) if "url" in info else None
        path = Path(location.get_path() or "/nowhere") if location else None
        tab = window.get_tab_from_location(location) if location else None
        is_new = path and not os.path.exists(path)
        is_here = path and info["url"].startswith("file:///") and ("text" in info if is_new else os.path.isfile(path))
        if path and not is_here:
            return done(f"{path} is no file here")
        if tab and "text" in info and tab.get_document().get_modified():
            return done("unsaved changes here")
        if path and not tab:
            tab = window.create_tab_from_location(location, None, 0, 0, is_new, True)
        tab = tab or window.create_tab(True)

        def settled() -> None:
            if tab.get_state() not in LOADING and waits:
                tab.disconnect(waits.pop())
                is_read = tab.get_state() == Gedit.TabState.STATE_NORMAL
                window.set_active_tab(tab)
                if is_read:
                    warn_of_version(tab, info)
                    show(tab, info)
                "activationToken" in params and window.set_startup_id(params["activationToken"])
                window.present()
                done("" if is_read else "the file cannot be read")

        # Not at once: after it has loaded a file, gedit itself moves the cursor.
        waits.append(tab.connect("notify::state", lambda *_: GLib.idle_add(settled)))
        GLib.idle_add(settled)
