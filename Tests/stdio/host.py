# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host of `segue stdio`: a process that speaks the lines of docs/stdio.md."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from project import ROOT

PROGRAM = Path(os.environ.get("SEGUE_STDIO", ROOT / "lib" / "segue-stdio")).resolve()
PATIENCE = 20.0  # seconds: for failures only
Message = dict[str, Any]
EDITING = "SegueActivityTypeEditingText"


class RefusedError(Exception):
    """The program has answered with an error."""

    def __init__(self, error: Message):
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Message = error["data"]


class Host:
    """A session. `heard` has the messages that were not taken yet, in their order."""

    def __init__(self, folder: Path, **environment: str):
        self.heard: list[Message] = []
        self.number = 0
        self._rest = b""
        self.process = subprocess.Popen(
            [PROGRAM],
            env={**os.environ, "SEGUE_RUNTIME_DIR": str(folder), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def ask(self, method: str, **params: Any) -> int:
        """Sends a request, and returns its id."""
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        return self.number

    def call(self, method: str, **params: Any) -> Message:
        """Sends a request, and returns its result. Raises: RefusedError"""
        number = self.ask(method, **params)
        return self.answer(number)

    def answer(self, number: Any) -> Message:
        found = self.take(lambda message: "method" not in message and message["id"] == number)
        if "error" in found:
            raise RefusedError(found["error"])
        result: Message = found["result"]
        return result

    def hear(self, method: str, **params: Any) -> Message:
        """Waits for a message with this method and these parameters, and returns its parameters."""
        return self.hear_message(method, **params)["params"]

    def hear_message(self, method: str, **params: Any) -> Message:
        return self.take(
            lambda message: (
                message.get("method") == method
                and all(message["params"].get(key) == value for key, value in params.items())
            )
        )

    def take(self, is_wanted: Callable[[Message], bool], patience: float = PATIENCE) -> Message:
        deadline = time.monotonic() + patience
        seen = 0
        while True:
            for index in range(seen, len(self.heard)):
                if is_wanted(self.heard[index]):
                    return self.heard.pop(index)
            seen = len(self.heard)
            assert self.read(deadline - time.monotonic()), f"it did not come; {self.heard}"

    def read(self, patience: float) -> bool:
        """Reads what is there, after waiting for it. Returns False at the end, or if nothing came."""
        output = self.process.stdout
        assert output is not None
        if not select.select([output], [], [], max(0.0, patience))[0]:
            return False
        data = os.read(output.fileno(), 1 << 20)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            self.heard.append(message)
        return data != b""

    def open(self, name: str = "editor", *types: str, **more: Any) -> Message:
        said = {"protocol": 1, "bundleIdentifier": f"com.example.{name}", "name": name, "types": types, "team": "T"}
        return self.call("open", **(said | more))

    def offer_of(self, title: str) -> Message:
        """Waits until an offer with this title is listed, and returns it."""
        while True:
            for offer in self.hear("offers/changed")["offers"]:
                if offer.get("title") == title:
                    found: Message = offer
                    return found

    def respond(self, request: Message, result: Any) -> None:
        self.send(id=request["id"], result=result)

    def end(self) -> tuple[int, str]:
        """Ends the input. Returns the status, and the log; `heard` has what came last."""
        assert self.process.stdin is not None and self.process.stderr is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.ended()

    def ended(self, patience: float = PATIENCE) -> tuple[int, str]:
        """Waits for the end."""
        assert self.process.stderr is not None
        deadline = time.monotonic() + patience
        while self.read(deadline - time.monotonic()):
            pass
        log = self.process.stderr.read().decode()
        return self.process.wait(patience), log

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
