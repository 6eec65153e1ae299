# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An origin of ours whose attachment an app of the library fetches: it sends what the test says, stream by stream."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from documents import TYPE, of
from native import Native
from wire import Connection

Answer = bytes | Callable[[socket.socket], None]
"""The bytes that are sent on a stream, or a function that uses its end."""


class Origin:
    def __init__(self, native: Callable[..., Native], register: Callable[..., Any], folder: Path):
        self._native, self._register, self.folder = native, register, folder

    def continued(self) -> tuple[Native, Connection, uuid.UUID, uuid.UUID]:
        """An app of the library begins to continue what this one offers. Returns it, the connection on which the fetch
        comes, and the identifiers of this app and of its activity."""
        app = self._native(TYPE)
        app.until("ready")
        peer, id = self._register()
        peer.expect("ready")
        activity = uuid.uuid4()
        peer.send_message("publish", activity, TYPE, "From Python", 3, 100, 0, None, False, 1)
        app.until(("appeared", "From Python"))
        app.continue_first_offer()
        app.until("will_continue")
        return app, peer, id, activity

    def serve(
        self, *answers: Answer, size: int = 4, early: Callable[[socket.socket], None] | None = None
    ) -> tuple[Native, list[int]]:
        """The library fetches what is sent so, on one stream after the other, of an attachment that has `size` bytes
        by its activity. Returns its app, and the offsets that it has asked for. `early` sends before the library is
        told to read."""
        app, peer, id, activity = self.continued()
        continuation, _, _, _, receiver, *_ = peer.expect("fetch")
        state = of(attachments={"a": size})
        peer.send_state(continuation, receiver[0], state)
        app.until(state)
        peer.expect("outcome")
        app.fetch("a", f"{self.folder}/target")
        offsets = []
        for answer in answers:
            stream, asked, origin, about, by, channel, (name, offset) = peer.expect("stream")
            assert (asked, origin, about, by, channel) == (continuation, id, activity, receiver[0], 0)
            assert name == "a"
            offsets.append(offset)
            with socket.socket(fileno=peer.descriptors.pop(0)) as end:
                if early is not None:
                    early(end)
                peer.send_message("streamAnswer", stream, asked, origin, about, 0, 0, "")
                answer(end) if callable(answer) else end.sendall(answer)
        return app, offsets

    def arrives(
        self,
        *answers: Answer,
        data: bytes | int = b"1234",
        status: int = 0,
        early: Callable[[socket.socket], None] | None = None,
    ) -> list[int]:
        """The fetch ends with a status, with the bytes or without a file. Returns the offsets that were asked for.
        Instead of large data its size is enough."""
        app, offsets = self.serve(*answers, size=data if isinstance(data, int) else len(data), early=early)
        app.until(("fetched", status))
        target = self.folder / "target"
        if status:
            assert not target.exists()
        elif isinstance(data, bytes):
            assert target.read_bytes() == data
        return offsets

    @property
    def files(self) -> list[str]:
        """The names of the files in the folder, without those of hubs."""
        return [path.name for path in self.folder.iterdir() if not path.name.startswith("hub.")]
