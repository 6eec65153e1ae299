# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speaks to an agent by hand, with the keys of a device, as docs/device-links.md and docs/trust.md say: honestly, to
show that a test would notice, or with one thing wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import cbor2
from temporary_folders import temporary

NONCE, PROOF, SLOT, PORT = 16, 32, 900, 47470
GROUPS = {socket.AF_INET: "239.255.47.47", socket.AF_INET6: "ff12::8000:5e9e"}


def code(key: bytes, *parts: bytes) -> bytes:
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def derived(secret: bytes, label: bytes) -> bytes:
    """HKDF-SHA256 without salt, of 32 bytes (RFC 5869)."""
    return code(code(bytes(32), secret), label, b"\1")


def pem(kind: str, der: bytes) -> str:
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN {kind}-----\n{body}-----END {kind}-----\n"


class Keys(NamedTuple):
    """The keys and certificates in the file of an account (docs/trust.md)."""

    key: bytes  # of the device: PKCS#8, DER
    certificate: bytes
    root: bytes
    root_key: bytes  # empty at all but the manager
    account: bytes
    epochs: tuple[bytes, ...]  # secrets, the newest first

    @classmethod
    def of(cls, state_folder: Path) -> Keys:
        file = (state_folder / "account").read_bytes()
        magic = b"segue account\n"
        assert file.startswith(magic)
        digest, body = file[len(magic) : len(magic) + 32], file[len(magic) + 32 :]
        assert hashlib.sha256(body).digest() == digest
        _, key, certificate, root, root_key, roster, *_ = cbor2.loads(body)
        _, account, _, _, _, _, _, _, epochs, _ = cbor2.loads(roster)
        secrets = tuple(secret for _, secret in reversed(epochs))
        return cls(key, certificate, root, root_key, account.bytes, secrets)

    def sign(self, message: bytes) -> bytes:
        """The public key of the device, 32 bytes, and its signature of a message, 64 bytes."""
        with tempfile.TemporaryDirectory(prefix="segue-signature-") as place:
            folder = Path(place)
            (folder / "key").write_text(pem("PRIVATE KEY", self.key))
            (folder / "message").write_bytes(message)
            run = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", "key", "-in", "message"]
            signature = subprocess.run(run, cwd=folder, check=True, capture_output=True).stdout
            run = ["openssl", "pkey", "-in", "key", "-pubout", "-outform", "DER"]
            public = subprocess.run(run, cwd=folder, check=True, capture_output=True).stdout
        return public[-32:] + signature

    def beacon(self, port: int, *, slot: int = 0, epoch: int = 0, nonce: bytes | None = None) -> bytes:
        """A genuine one, of a slot relative to now."""
        key = derived(self.epochs[epoch], b"segue 1 beacon")
        nonce = nonce or os.urandom(NONCE)
        shown = struct.pack(">HI", port, int(time.time() // SLOT) + slot)
        hidden = bytes(a ^ b for a, b in zip(shown, code(key, b"segue hidden", nonce)[: len(shown)], strict=True))
        return nonce + hidden + code(key, b"segue beacon", nonce, hidden)[:16]

    def proof(self, role: int, listener: bytes, dialler: bytes, epoch: int = 0) -> bytes:
        return code(derived(self.epochs[epoch], b"segue 1 knock"), b"segue knock", bytes([role]), listener, dialler)

    def knock(self, connection: socket.socket, epoch: int = 0) -> None:
        """Dials: raises EOFError if it is not answered."""
        listener, dialler = exactly(connection, NONCE), os.urandom(NONCE)
        connection.sendall(dialler + self.proof(1, listener, dialler, epoch))
        assert exactly(connection, PROOF) == self.proof(2, listener, dialler, epoch)

    def answer(self, connection: socket.socket, epoch: int = 0) -> None:
        """Listens: answers a knock, which has to be genuine."""
        listener = os.urandom(NONCE)
        connection.sendall(listener)
        said = exactly(connection, NONCE + PROOF)
        dialler = said[:NONCE]
        assert said[NONCE:] == self.proof(1, listener, dialler, epoch)
        connection.sendall(self.proof(2, listener, dialler, epoch))

    def signed(self, by: Keys, device: bytes, *, days: int = 30, clock: Path | None = None, offset: int = 0) -> Keys:
        """The same with a certificate of the account that names a device; `by` has the key of the account."""
        with temporary("segue-certificate-") as folder:
            (folder / "key").write_text(pem("PRIVATE KEY", self.key))
            (folder / "root").write_text(pem("CERTIFICATE", by.root))
            (folder / "root-key").write_text(pem("PRIVATE KEY", by.root_key))
            name = f"URI:segue:acct/{self.account.hex()}/dev/{device.hex()}"
            (folder / "extensions").write_text(
                f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                f"extendedKeyUsage=clientAuth,serverAuth\nsubjectAltName={name}\n"
                "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
            )
            variables = {**os.environ, "CLOCK_OFFSET": str(offset)} | ({"LD_PRELOAD": str(clock)} if clock else {})
            run = ["openssl", "req", "-new", "-key", "key", "-subj", "/CN=segue", "-out", "request"]
            subprocess.run(run, cwd=folder, check=True, capture_output=True)
            run = ["openssl", "x509", "-req", "-in", "request", "-CA", "root", "-CAkey", "root-key", "-days", f"{days}"]
            run += ["-extfile", "extensions", "-set_serial", f"0x{os.urandom(15).hex()}", "-outform", "DER"]
            made = subprocess.run(run, cwd=folder, env=variables, check=True, capture_output=True).stdout
        return self._replace(certificate=made)


def device_of(keys: Keys) -> bytes:
    """The identifier that a certificate names: all is read from it that an agent reads."""
    name = keys.certificate.partition(b"segue:acct/")[2]
    return bytes.fromhex(name[37:69].decode())


def exactly(connection: socket.socket, count: int) -> bytes:
    said = b""
    while len(said) < count:
        more = connection.recv(count - len(said))
        if not more:
            raise EOFError
        said += more
    return said


def secured(
    connection: socket.socket,
    keys: Keys,
    *,
    serves: bool = False,
    protocols: tuple[str, ...] = ("segue/1",),
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    shows: bool = True,
) -> ssl.SSLSocket:
    """TLS after a knock. Raises OSError or EOFError if the other end refuses it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if serves else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = version
    context.options &= ~getattr(ssl, "OP_ENABLE_MIDDLEBOX_COMPAT", 1 << 20)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=keys.root)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if shows:
        with tempfile.NamedTemporaryFile("w", prefix="segue-key-") as file:
            file.write(pem("CERTIFICATE", keys.certificate) + pem("PRIVATE KEY", keys.key))
            file.flush()
            context.load_cert_chain(file.name)
    return context.wrap_socket(connection, server_side=serves, suppress_ragged_eofs=False)


def is_refused(speak: Callable[[], object]) -> bool:
    """Whether the other end ends it while this one speaks."""
    try:
        speak()
    except TimeoutError:
        return False
    except (OSError, EOFError):
        return True
    return False
