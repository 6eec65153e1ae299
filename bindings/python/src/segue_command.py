# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console script `segue`. Beside the package, so that it can say in one line that the library cannot be loaded, and
continue in another app without loading it: the user waits for a window or a page."""

from __future__ import annotations

import os
import sys

STARTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "segue", "segue-continue")
"""The program that continues at once (libexec/continue). Debian's command starts it without Python."""


def main() -> int:
    # The ending of the starter as JSON, or nothing, if it has left all to this process.
    done = os.environ.pop("SEGUE_CONTINUED", None)
    if done is None:
        become_starter(sys.argv[1:])
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # importing leaves nothing to tidy up
    try:
        from segue._command.program import main as run
    except ImportError as error:
        print(f"segue: {error}", file=sys.stderr)
        return 1
    return run(done or None)


def become_starter(words: list[str]) -> None:
    """Lets the starter take the place of this process, for what it understands. Returns otherwise."""
    if words[:1] != ["continue"] or not (
        words[1:] in (["--launch"], ["--frontmost"]) or (words[1:2] and words[1][:5] == "--app")
    ):
        return
    # A test calls the command in a process of its own words.
    command = getattr(sys, "orig_argv", [])[: -len(words)]
    if command and sys.orig_argv[len(command) :] == words and os.access(STARTER, os.X_OK):
        os.execv(STARTER, [STARTER, sys.executable, *command[1:], "--", *words])
