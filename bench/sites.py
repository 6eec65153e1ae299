# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the process that asks a site for its file (R12.9), beside curl, which gets the same file of the same server.

    bench/sites.py ROUNDS

Prints "name value" lines: medians of the time from the start of each process until it has ended, in turns. The server
is one of Python on this machine, with TLS 1.3 and an authority of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "Tests" / "agent"), str(ROOT / "Tests")]
from certificates import Certificates  # noqa: E402
from site_server import LISTING, Site  # noqa: E402

FILE = ".well-known/apple-app-site-association"


def milliseconds(command: list[str], **options) -> float:
    """Runs a process, which has to get the file."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, timeout=20, check=True, **options)
    took = 1000 * (time.perf_counter() - began)
    assert done.stdout.endswith(LISTING), done
    return took


def main() -> None:
    rounds = int(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="segue-sites-") as folder:
        certificates = Certificates.make(Path(folder))
        authority = str(certificates.folder / "ca.pem")
        site = Site(certificates)
        settings = Path(folder) / "segue" / "sites"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"localhost": {"private": True, "port": site.port, "ca": authority}}))
        fetch = ["segue-fetch", "localhost", "well-known", "developer"]
        own = {"executable": ROOT / "lib" / "segue-agent", "env": {**os.environ, "XDG_CONFIG_HOME": folder}}
        curl = ["curl", "--silent", "--fail", "--cacert", authority, f"https://localhost:{site.port}/{FILE}"]
        ours, theirs = [], []
        for _ in range(rounds + 1):
            ours.append(milliseconds(fetch, **own))
            theirs.append(milliseconds(curl))
        site.close()
    # The first of each reads its libraries from the disk.
    print("segue_ms", statistics.median(ours[1:]))
    print("curl_ms", statistics.median(theirs[1:]))


if __name__ == "__main__":
    main()
