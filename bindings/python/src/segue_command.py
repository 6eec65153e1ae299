# SPDX-License-Identifier: Apache-2.0
"""The console script `segue`. Beside the package, so that it can say in one line that the library cannot be loaded."""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from segue._command.program import main as run
    except ImportError as error:
        print(f"segue: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return run()
