# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Native messaging with the real segue-browser-host, in the place of a browser."""

from __future__ import annotations

import json
import os
import select
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from identity import IDENTITY
from project import ROOT

HOST = Path(os.environ.get("SEGUE_BROWSER_HOST", ROOT / "lib" / "segue-browser-host")).resolve()
PATIENCE = 30  # seconds for what takes milliseconds
ARGUMENTS = {
    "chromium": [f"chrome-extension://{IDENTITY['CHROMIUM_ID']}/"],
    "firefox": ["/somewhere/manifest.json", IDENTITY["FIREFOX_ID"]],
}


class Host:
    """A running host, spoken to as the extension does."""

    def __init__(
        self,
        folder: Path,
        browser: str = "chromium",
        arguments: list[str] | None = None,
        greets: bool = True,
    ):
        self.browser = browser
        self.process = subprocess.Popen(
            [HOST, *(ARGUMENTS[browser] if arguments is None else arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder)},
            bufsize=0,
        )
        self.buffer = b""
        if greets:
            self.greet()

    def greet(self) -> None:
        self.send(t="hello", v=1, browser=self.browser)
        assert self.receive() == {"t": "welcome", "v": 1}

    def send(self, **message: Any) -> None:
        self.send_bytes(json.dumps(message).encode())

    def send_bytes(self, body: bytes, length: int | None = None) -> None:
        self.send_raw(struct.pack("=I", len(body) if length is None else length) + body)

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        while data:
            data = data[self.process.stdin.write(data) :]

    def receive(self, patience: float = PATIENCE) -> dict[str, Any] | None:
        """The next message; None at the end of the output."""
        assert self.process.stdout is not None
        end = time.monotonic() + patience
        while True:
            if len(self.buffer) >= 4:
                (size,) = struct.unpack("=I", self.buffer[:4])
                assert 0 < size <= 256 * 1024
                if len(self.buffer) >= 4 + size:
                    body, self.buffer = self.buffer[4 : 4 + size], self.buffer[4 + size :]
                    return json.loads(body)
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"no message within {patience} s")
            part = self.process.stdout.read(65536)
            if not part:
                return None
            self.buffer += part

    def offer(self, tab: int, url: str, title: str = "A page") -> None:
        self.send(t="current", tab=tab, url=url, title=title)

    def status(self) -> int:
        """The exit status, once the host has ended by itself."""
        return self.process.wait(PATIENCE)

    def end(self) -> int:
        """Ends its input, as a browser does. Returns the exit status."""
        assert self.process.stdin is not None and self.process.stdout is not None and self.process.stderr is not None
        self.process.stdin.close()
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
