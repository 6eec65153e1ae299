# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imported before `segue` by the programs that make pages: they read this tree's package, not the installed one.

The installed one may be older, and its pages would lack what this tree has. The library may be older, too: no function
is looked up before it is called.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "python" / "src"))
os.environ.setdefault("SEGUE_LIBRARY", str(ROOT / "lib" / "libsegue.so.0"))
