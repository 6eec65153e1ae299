# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of the package import those below them: what is imported for type checkers counts, too."""

from __future__ import annotations

import ast
from pathlib import Path

import segue

PACKAGE = Path(segue.__file__).parent
UPWARDS = {("_activity", "_app"), ("_responder", "_app"), ("_document", "_app"), ("_app", "testing")}
"""The imports of a higher module by a lower one, for public signatures only: activities, responders and documents name
their app, an app names the device that it is on."""


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module} if node.module else {each.name for each in node.names}
    return found


def test_no_module_stands_above_itself() -> None:
    modules = {path.stem: imports(path) for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    edges = {(name, each) for name, found in modules.items() for each in found}
    assert edges.issuperset(UPWARDS)
    left = {name: {each for each in found if (name, each) not in UPWARDS} for name, found in modules.items()}
    while lowest := {name for name, found in left.items() if not found & left.keys()}:
        left = {name: found for name, found in left.items() if name not in lowest}
    assert left == {}
