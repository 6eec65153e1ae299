# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples for the terminal and for Qt (examples/tabs.py, examples/qt_notes.py); the one for GTK is in
test_gtk.py."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from conftest import PATIENCE, ROOT, Opener, run_until

import segue

sys.path.insert(0, str(ROOT / "Tests"))
from programs import Program, programs  # type: ignore[import-not-found]

EXAMPLES = ROOT / "bindings" / "python" / "examples"
DRAFT = "com.example.notes.draft"


@pytest.fixture
def office(folder: str) -> Iterator[dict[str, Program]]:
    """A big app with four tabs, and two small ones with one each."""
    with programs(dict(os.environ)) as start:
        command = [sys.executable, str(EXAMPLES / "tabs.py")]
        yield {
            "big": start("big", [*command, "com.example.office"]),
            "sums": start("sums", [*command, "com.example.sums", "sums"]),
            "plan": start("plan", [*command, "com.example.plan", "plan"]),
        }


def test_each_tab_goes_on_by_itself_in_the_app_that_has_its_type(office: dict[str, Program]) -> None:
    """R4.3, R6.2, R7.1: a big app whose types are spread over small ones. What was typed before comes by a stream."""
    big, sums, plan = office["big"], office["sums"], office["plan"]
    for program in (sums, plan):
        program.wait_for("^shows ")
    big.wait_for("^shows letter: ")
    big.tell("plan")
    big.tell("= Monday: work")
    big.tell("= Monday: rest")
    big.tell("plan")
    big.wait_for("^shows plan: Monday: rest$")
    plan.wait_for("^offered: plan$")
    plan.tell("continue")
    plan.wait_for("^restored plan: Monday: rest$")
    plan.wait_for("^history of plan: 1 texts before$")
    plan.tell("quit")
    assert plan.wait() == 0
    big.tell("sums")
    big.tell("= caf\udce9")
    big.tell("sums")
    big.wait_for("^shows sums: caf\ufffd$")
    sums.wait_for("^offered: sums$")
    sums.tell("continue")
    sums.wait_for("^restored sums: caf\ufffd$")
    big.wait_for("^offered: sums$")
    big.tell("= 6 * 7")
    big.tell("sums")
    big.wait_for(r"^shows sums: 6 \* 7$")
    sums.tell("continue")
    sums.wait_for(r"^restored sums: 6 \* 7$")
    # The small app offers what it has continued last, and no longer what it has continued before.
    big.wait_for("^gone: sums$")
    big.wait_for("^offered: sums$")
    assert not any("plan" in line for line in sums.said), "what it cannot continue it does not see (R2.6)"
    # And back, into the tab that it belongs to.
    sums.tell("= 42")
    big.tell("letter")
    sums.wait_for("^gone: sums$")
    big.tell("continue")
    big.wait_for("^restored sums: 42$")
    big.tell("quit")
    assert big.wait() == 0


QT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import qt_notes

class Window(qt_notes.NoteWindow):
    def restore_user_activity_state(self, activity):
        super().restore_user_activity_state(activity)
        print(self.text.toPlainText(), self.text.textCursor().position(), flush=True)
        program.quit()

class Notes(qt_notes.Notes):
    def on_offer(self, kind, offer):
        super().on_offer(kind, offer)
        self.program.windows[0].proceed.click()

qt_notes.NoteWindow, qt_notes.Notes = Window, Notes
program = qt_notes.Program(["Draft", "Closed"])
program.windows[1].text.setPlainText("a secret")
program.windows[1].close()
assert len(program.windows) == 1
program.windows[0].activateWindow()
program.windows[0].text.setFocus()
program.windows[0].text.setPlainText("half a sentence")
program.proceed()  # nothing is offered: what was has gone while the user clicked
sys.exit(program.exec())
"""


def test_a_program_with_qt(opened: Opener) -> None:
    """Its callbacks run on the thread of the user interface, without a screen; its button is clicked."""
    pytest.importorskip("PyQt6.QtWidgets", reason="needs python3-pyqt6")
    receipts: list[segue.Receipt] = []
    look = opened("com.example.notes", types=[DRAFT])
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-c", QT, str(EXAMPLES)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        try:
            run_until([look], lambda: [offer.title for offer in look.offers] == ["Draft"])
            continuation = look.continue_(look.offers[0])
            run_until([look], lambda: continuation.done)
            assert continuation.wait().user_info["text"] == "half a sentence"
            # Exceptions of its callbacks do not end it, as PyQt would by itself.
            for info, outcome in ({"cursor": 2}, "FAILED"), ({"text": "it goes on", "cursor": 2}, "RESTORED"):
                activity = segue.Activity(look, DRAFT, title="Back", user_info=info)
                activity.on_continuation_ended(receipts.append)
                activity.become_current()
                run_until([look], lambda: receipts)
                assert receipts.pop().outcome.name == outcome
            assert program.communicate(timeout=PATIENCE)[0] == "it goes on 2\n"
            assert program.returncode == 0
        finally:
            program.kill()
