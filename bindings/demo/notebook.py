# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A notes app with a window for each file of a synchronised folder, in a terminal.

    notebook.py NAME FOLDER [FILE...]

It reads lines: a name of a file turns to its window, a number goes to that line of it, "continue" continues the
frontmost offer. It calls `become_current` nowhere: it gives documents and windows to Segue.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import segue

TEXT, NOTE = "text/plain", "com.example.notebook.editing"


class Window(segue.ResponderMixin):
    """Shows a document at a line."""

    def __init__(self, app: segue.App, path: Path):
        self.path = path
        self.line = 1
        self.document = Note(app, self)
        self.next_user_activity_responder = self.document
        self.user_activity = self.document.user_activity

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        activity.user_info["line"] = self.line

    def show(self) -> None:
        print(f"{self.path}, line {self.line}: {self.path.read_text().splitlines()[self.line - 1]}")


class Note(segue.Document):
    def __init__(self, app: segue.App, window: Window):
        super().__init__(app, window.path, TEXT)
        self.window = window
        if self.user_activity is not None:
            self.user_activity.title = window.path.name

    def restore_user_activity_state(self, activity: segue.Activity) -> None:
        self.window.line = activity.user_info["line"]
        self.window.show()


class Notebook(segue.App):
    def __init__(self, name: str, folder: Path):
        super().__init__("com.example.notebook", name=name, document_types=[(TEXT, "editor", NOTE)])
        self.add_container("com.example.notebook.files", folder)
        self.windows: dict[str, Window] = {}

    def open_window(self, path: Path) -> Window:
        window = self.windows[path.name] = Window(self, path)
        return window

    def turn(self, name: str) -> None:
        """The user turns to a window."""
        self.main_responder = self.windows[name]
        self.windows[name].show()

    def on_open_document(self, url: segue.URL, activity: segue.Activity, continuation: segue.Continuation) -> Note:
        window = self.open_window(Path(unquote(urlsplit(str(url)).path)))
        self.main_responder = window
        return window.document

    def on_offer(self, kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        print(f"{'gone' if kind == segue.OfferEventKind.GONE else 'offered'}: {offer.title} of {offer.app_name}")


async def main(name: str, folder: str, *files: str) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with Notebook(name, Path(folder)) as app:
        for file in files:
            app.open_window(Path(folder, file))
        if files:
            app.turn(files[0])
        async for data in lines:
            line = data.decode().strip()
            if line == "continue":
                app.continue_(app.offers[0])
            elif line.isdigit():
                window = next(window for window in app.windows.values() if window is app.main_responder)
                window.line = int(line)
                window.show()
            else:
                app.turn(line)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
