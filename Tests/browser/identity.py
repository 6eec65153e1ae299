# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The constants of browser/host/identity.h."""

from __future__ import annotations

import re

from project import ROOT

IDENTITY: dict[str, str] = {}
for name, words in re.findall(r"^#define (\w+) (.*\")$", (ROOT / "browser/host/identity.h").read_text(), re.MULTILINE):
    for known, value in IDENTITY.items():
        words = words.replace(f"{known} ", f'"{value}" ')
    IDENTITY[name] = "".join(re.findall(r'"([^"]*)"', words))

TYPE = IDENTITY["BROWSING_TYPE"]
TEAM = IDENTITY["BROWSER_TEAM"]
