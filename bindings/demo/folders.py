# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The third story of the demo: two windows on files of a synchronised folder, and the same file there (R4, R5)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from cast import FOUND, HERE, PYTHON, Cast, chapter


def folders(cast: Cast, place: Path) -> None:
    """The window that the user works in goes on where the folder lies elsewhere."""
    here, there = place / "Anna's files", place / "sync"
    for folder in (here, there):
        folder.mkdir()
        shutil.copy(HERE / "letter.txt", folder / "letter.txt")
    (here / "shopping.txt").write_text("bread\nmilk\n")

    chapter("11. A notebook with two windows, on files of a synchronised folder. The window that is used is offered.")
    other = cast.enter("laptop", PYTHON, HERE / "notebook.py", "laptop", there)
    notebook = cast.enter("desk", PYTHON, HERE / "notebook.py", "desk", here, "shopping.txt", "letter.txt")
    other.wait_for(r"^offered: shopping\.txt of desk$")
    cast.type(notebook, "letter.txt")
    other.wait_for(r"^offered: letter\.txt of desk$")
    cast.type(notebook, "6")
    notebook.wait_for(rf"line 6: .*{re.escape(FOUND)}")

    chapter("12. It goes on where that folder lies elsewhere: the same file opens, at the same line.")
    cast.type(other, "continue")
    other.wait_for(rf"^{re.escape(str(there))}/letter\.txt, line 6: .*{re.escape(FOUND)}")
    for program in (other, notebook):
        program.wait()
