# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The constants of browser/host/identity.h, and the APP_ID before it."""

from __future__ import annotations

import re

from project import ROOT

IDENTITY: dict[str, str] = {}
FILES = ("libexec/common/app_id.h", "browser/host/identity.h")
for name, words in re.findall(r"^#define (\w+) (.*\")$", "".join((ROOT / each).read_text() for each in FILES), re.M):
    for known, value in IDENTITY.items():
        words = words.replace(f"{known} ", f'"{value}" ')
    IDENTITY[name] = "".join(re.findall(r'"([^"]*)"', words))

TYPE = IDENTITY["BROWSING_TYPE"]
TEAM = IDENTITY["BROWSER_TEAM"]
