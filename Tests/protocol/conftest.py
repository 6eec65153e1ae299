# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Proves docs/protocol.md: another implementation, in Python and from that page alone, speaks with the library.

Once as an app with the library's hub, once as the hub of the library's apps.
"""

from __future__ import annotations

import ctypes
import hashlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from native import TEAM, Native, load
from origin import Origin
from wire import PROTOCOL, Connection


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return load()


@pytest.fixture
def native(library: ctypes.CDLL, folder: Path) -> Iterator[Callable[..., Native]]:
    """native(TYPE, ...): an app of the library that declares types."""
    apps: list[Native] = []

    def open_app(*types: str) -> Native:
        apps.append(Native(library, str(folder), types))
        return apps[-1]

    yield open_app
    for app in reversed(apps):
        app.close()


@pytest.fixture
def connect(folder: Path) -> Iterator[Callable[[], Connection]]:
    """Connects to the hub of the library."""
    opened: list[Connection] = []

    def to_hub() -> Connection:
        opened.append(Connection.to(folder / "hub.1"))
        return opened[-1]

    yield to_hub
    for connection in opened:
        connection.close()


@pytest.fixture
def register(connect: Callable[[], Connection]) -> Callable[..., tuple[Connection, uuid.UUID]]:
    """register(TYPE, ...): an app of ours that has been welcomed, and its identifier."""

    def app(*types: str) -> tuple[Connection, uuid.UUID]:
        peer, secret = connect(), uuid.uuid4()
        about = ["com.example.foreign", "Foreign", TEAM, list(types), False]
        peer.send_message("hello", PROTOCOL, PROTOCOL, secret, *about)
        version, generation, *_ = peer.expect("welcome")
        assert (version, generation) == (PROTOCOL, 1)
        return peer, uuid.UUID(bytes=hashlib.sha256(secret.bytes).digest()[:16])

    return app


@pytest.fixture
def origin(native: Callable[..., Native], register: Callable[..., object], folder: Path) -> Origin:
    return Origin(native, register, folder)
