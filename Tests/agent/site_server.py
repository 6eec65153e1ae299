# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A site of our own: a server on this machine that says what a test wants."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable

from certificates import Certificates

LISTING = b'{"activitycontinuation": {"apps": ["TEAM.com.example.notes"]}}'


def http(body: bytes, status: str = "200 OK", *fields: str) -> bytes:
    head = [f"HTTP/1.1 {status}", *(fields or (f"Content-Length: {len(body)}",)), "", ""]
    return "\r\n".join(head).encode() + body


class Site:
    """A server on this machine; `answer` gets the path, and gives all bytes of the answer, or nothing: silence."""

    def __init__(self, certificates: Certificates):
        self.certificates = certificates
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.answer: Callable[[str], bytes | None] = lambda path: http(LISTING)
        self.requests: list[str] = []
        self.connections = 0
        self.use("site")
        self.server = threading.Thread(target=self.serve, daemon=True)
        self.server.start()

    def close(self) -> None:
        """Waits for the thread: one that is about to accept would accept for the next server with its descriptor."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.server.join()
        self.listener.close()

    def use(self, name: str, version: ssl.TLSVersion | None = None) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        folder = self.certificates.folder
        self.context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
        if version is not None:
            self.context.set_ciphers("ALL:@SECLEVEL=0")
            self.context.minimum_version = self.context.maximum_version = version

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, plain: socket.socket) -> None:
        try:
            with self.context.wrap_socket(plain, server_side=True) as connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    more = connection.recv(65536)
                    if not more:
                        return
                    request += more
                self.requests.append(request.decode())
                answer = self.answer(request.split()[1].decode())
                if answer is None:
                    connection.recv(1)
                    return
                connection.sendall(answer)
                connection.unwrap()
        except (OSError, ssl.SSLError):
            pass
