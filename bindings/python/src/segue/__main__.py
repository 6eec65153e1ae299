# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m segue`: the command, also installed as `segue`."""

from __future__ import annotations

import sys

from segue_command import main

if __name__ == "__main__":
    sys.exit(main())
