#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A notes app for Qt: a QSocketNotifier runs Segue's callbacks on the thread of the user interface. The window that the
user works in is offered; what another device offers is continued by the button.

    qt_notes.py [NAME...]               # with QT_QPA_PLATFORM=offscreen it needs no screen

Needs PyQt6 (Debian: python3-pyqt6).
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from PyQt6.QtCore import QSocketNotifier
from PyQt6.QtGui import QCloseEvent
from PyQt6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

import segue

NOTE = "com.example.notes.draft"


class NoteWindow(segue.ResponderMixin, QWidget):
    """Shows a draft, which is nowhere else: all of it goes along."""

    def __init__(self, program: Program, title: str, activity: segue.Activity | None = None):
        super().__init__()
        self.setWindowTitle(title)
        self.text = QPlainTextEdit()
        self.proceed = QPushButton("Continue")
        self.proceed.clicked.connect(program.proceed)
        self.proceed.setEnabled(False)
        layout = QVBoxLayout(self)
        layout.addWidget(self.proceed)
        layout.addWidget(self.text)
        self.program = program
        self.user_activity = activity or segue.Activity(program.segue, NOTE, title=title)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Its draft is not offered any longer, as nobody else has that."""
        self.user_activity = None
        if self in self.program.windows:
            self.program.windows.remove(self)
        super().closeEvent(event)

    def update_user_activity_state(self, activity: segue.Activity) -> None:
        activity.user_info.update({"text": self.text.toPlainText(), "cursor": self.text.textCursor().position()})

    def restore_user_activity_state(self, activity: segue.Activity) -> None:
        self.text.setPlainText(activity.user_info["text"])
        cursor = self.text.textCursor()
        cursor.setPosition(activity.user_info["cursor"])
        self.text.setTextCursor(cursor)


class Notes(segue.App):
    def __init__(self, program: Program):
        super().__init__("com.example.notes", name="Notes", types=[NOTE])
        self.program = program

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> None:
        continuation.restore([self.program.add_window(activity.title or "Note", activity)])

    def on_offer(self, kind: segue.OfferEventKind, offer: segue.Offer) -> None:
        for window in self.program.windows:
            window.proceed.setEnabled(bool(self.offers))

    def on_did_fail(self, type: str, error: segue.Error, continuation: segue.Continuation) -> None:
        print(f"could not be continued: {error}", file=sys.stderr)


class Program(QApplication):
    def __init__(self, names: list[str]):
        super().__init__(sys.argv[:1])
        self.windows: list[NoteWindow] = []
        self.segue = Notes(self)
        self.segue.open()
        notifier = QSocketNotifier(self.segue.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(self.dispatch)
        self.focusChanged.connect(self.turned)
        self.aboutToQuit.connect(self.segue.close)
        for name in names or ["Note"]:
            self.add_window(name)

    def dispatch(self, *_: Any) -> None:
        try:
            self.segue.dispatch(0)
        except Exception:  # of a callback: PyQt ends a program whose slot raises one
            logging.exception("Segue")

    def turned(self, former: QWidget | None, widget: QWidget | None) -> None:
        """The focus has moved: to the window of a widget; nothing changes if it is another program's now (R4.3)."""
        if widget is not None:
            self.segue.main_responder = widget.window()

    def add_window(self, title: str, activity: segue.Activity | None = None) -> NoteWindow:
        window = NoteWindow(self, title, activity)
        self.windows.append(window)
        window.show()
        if activity is not None and (token := activity.continued_from.activation_token):
            os.environ["XDG_ACTIVATION_TOKEN"] = token  # Qt reads it at the next activation, and removes it
        window.activateWindow()
        window.text.setFocus()
        return window

    def proceed(self) -> None:
        """Continues the frontmost offer, unless it has gone while the user pressed the button."""
        for offer in self.segue.offers[:1]:
            self.segue.continue_(offer)


if __name__ == "__main__":
    sys.exit(Program(sys.argv[1:]).exec())
