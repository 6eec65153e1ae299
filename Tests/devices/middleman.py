# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host that has a leaked invite, and stands between two devices while one joins: a session of TLS with each, under
the key of the invite (RFC 8446 §2.2), for which Python's ssl has no words. It passes on what one says to the other."""

from __future__ import annotations

import ctypes
import os
import select
import socket
import threading
from ctypes import POINTER, c_char_p, c_int, c_long, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from urllib.parse import parse_qs

from intruder import NONCE, PROOF, code, derived, exactly

ALPN = b"\x0csegue-join/1"
MIN_VERSION, TLS_1_3, COMPATIBLE = 123, 0x0304, 1 << 20

CLIENT_KEY = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_void_p))
SERVER_KEY = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
CHOICE = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(c_ubyte), c_void_p, c_uint, c_void_p)


def openssl() -> ctypes.CDLL:
    library = ctypes.CDLL("libssl.so.3")
    for name in ("TLS_client_method", "TLS_server_method", "SSL_CTX_new", "SSL_new", "SSL_SESSION_new"):
        getattr(library, name).restype = c_void_p
    library.SSL_CIPHER_find.restype = c_void_p
    library.SSL_CTX_clear_options.argtypes = [c_void_p, c_uint64]
    library.SSL_CTX_ctrl.argtypes = [c_void_p, c_int, c_long, c_void_p]
    return library


class InviteHolder:
    """Has the keys of an invite."""

    def __init__(self, link: str):
        token = bytes.fromhex(parse_qs(link.partition("?")[2])["t"][0])
        self._knock = derived(token, b"segue 1 join knock")
        self._identity = ctypes.create_string_buffer(derived(token, b"segue 1 join identity")[:16], 16)
        self._key = derived(token, b"segue 1 join key")
        self._ssl = openssl()
        self._kept: list[object] = []  # what OpenSSL calls

    def _proof(self, role: int, listener: bytes, dialler: bytes) -> bytes:
        return code(self._knock, b"segue knock", bytes([role]), listener, dialler)

    def _session(self, connection: socket.socket, serves: bool) -> c_void_p:
        ssl = self._ssl
        method = ssl.TLS_server_method() if serves else ssl.TLS_client_method()
        context = c_void_p(ssl.SSL_CTX_new(c_void_p(method)))
        ssl.SSL_CTX_ctrl(context, MIN_VERSION, TLS_1_3, None)
        ssl.SSL_CTX_clear_options(context, COMPATIBLE)
        if serves:
            ssl.SSL_CTX_set_num_tickets(context, c_size_t(0))
            found = SERVER_KEY(lambda session, _, __, key: self._give(session, key))
            chosen = CHOICE(self._choose)
            ssl.SSL_CTX_set_psk_find_session_callback(context, found)
            ssl.SSL_CTX_set_alpn_select_cb(context, chosen, None)
            self._kept += [found, chosen]
        else:
            used = CLIENT_KEY(self._use)
            ssl.SSL_CTX_set_psk_use_session_callback(context, used)
            self._kept.append(used)
        session = c_void_p(ssl.SSL_new(context))
        if not serves:
            ssl.SSL_set_alpn_protos(session, c_char_p(ALPN), len(ALPN))
        ssl.SSL_set_fd(session, connection.fileno())
        return session

    def _choose(self, _: int, out: object, size: object, offered: int, __: int, ___: int) -> int:
        out[0], size[0] = offered + 1, len(ALPN) - 1  # type: ignore[index]
        return 0

    def _use(self, session: int, _: int, identity: object, size: object, key: object) -> int:
        identity[0], size[0] = ctypes.addressof(self._identity), 16  # type: ignore[index]
        return self._give(session, key)

    def _give(self, session: int, key: object) -> int:
        """Makes what OpenSSL takes a key as."""
        ssl, made = self._ssl, c_void_p(self._ssl.SSL_SESSION_new())
        suite = c_void_p(ssl.SSL_CIPHER_find(c_void_p(session), c_char_p(b"\x13\x01")))
        ssl.SSL_SESSION_set1_master_key(made, c_char_p(self._key), c_size_t(32))
        ssl.SSL_SESSION_set_cipher(made, suite)
        ssl.SSL_SESSION_set_protocol_version(made, TLS_1_3)
        key[0] = made.value  # type: ignore[index]
        return 1


class Middleman(InviteHolder):
    """Waits at an address for a device that joins, and dials the inviting one for it."""

    def __init__(self, listener: socket.socket, inviting: socket.socket, link: str):
        super().__init__(link)
        self._listener, self._inviting = listener, inviting
        self.passed = 0
        """Bytes that were read, and passed on."""
        self._thread = threading.Thread(target=self._stand_between, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _stand_between(self) -> None:
        joining, _ = self._listener.accept()
        with joining, self._inviting as inviting:
            for one in (joining, inviting):
                # OpenSSL waits by itself.
                one.settimeout(None)
            own = os.urandom(NONCE)
            joining.sendall(own)
            dialler = exactly(joining, NONCE + PROOF)[:NONCE]
            joining.sendall(self._proof(2, own, dialler))
            challenge = exactly(inviting, NONCE)
            inviting.sendall(own + self._proof(1, challenge, own))
            exactly(inviting, PROOF)
            sessions = {inviting: self._session(inviting, False), joining: self._session(joining, True)}
            assert self._ssl.SSL_connect(sessions[inviting]) == 1
            assert self._ssl.SSL_accept(sessions[joining]) == 1
            buffer = ctypes.create_string_buffer(16_384)
            while True:
                for one in select.select([joining, inviting], [], [], 20)[0]:
                    other = inviting if one is joining else joining
                    count = self._ssl.SSL_read(sessions[one], buffer, 16_384)
                    if count <= 0:
                        return
                    self.passed += count
                    assert self._ssl.SSL_write(sessions[other], buffer, count) == count


class JoiningGuest(InviteHolder):
    """Joins by hand over a connection to the inviting device."""

    def __init__(self, connection: socket.socket, link: str):
        super().__init__(link)
        self._connection, own = connection, os.urandom(NONCE)
        challenge = exactly(connection, NONCE)
        connection.sendall(own + self._proof(1, challenge, own))
        exactly(connection, PROOF)
        # OpenSSL waits by itself.
        connection.settimeout(None)
        self._tls = self._session(connection, False)
        assert self._ssl.SSL_connect(self._tls) == 1

    def __enter__(self) -> JoiningGuest:
        return self

    def __exit__(self, *_: object) -> None:
        self._ssl.SSL_free(self._tls)

    def say_and_end(self, said: bytes) -> None:
        """Sends bytes and the end of TLS in one packet. TCP stays open."""
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        assert self._ssl.SSL_write(self._tls, c_char_p(said), len(said)) == len(said)
        self._ssl.SSL_shutdown(self._tls)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
