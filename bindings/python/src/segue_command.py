# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console script `segue`. Beside the package, so that it can say in one line that the library cannot be loaded."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # importing leaves nothing to tidy up
    try:
        from segue._command.launching import launched

        rest = launched(sys.argv[1:])
        from segue._command.program import main as run
    except ImportError as error:
        print(f"segue: {error}", file=sys.stderr)
        return 1
    return run(rest)
