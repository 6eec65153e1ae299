# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A certificate authority of our own, for servers of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Certificates(NamedTuple):
    """Files of a certificate authority, and of certificates that it has signed."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Certificates:
        """Makes ca.pem and ca.key, and site.pem and site.key for localhost."""
        made = cls(folder)
        made.openssl(
            "req", "-x509", *KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=A test CA"
        )
        made.sign("site", "localhost")
        return made

    def openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def sign(self, name: str, host: str, *more: str, purpose: str = "serverAuth") -> str:
        """Makes NAME.pem and NAME.key: a certificate for a host."""
        (self.folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}\nextendedKeyUsage={purpose}\n")
        self.openssl("req", "-new", *KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{name}.ext")
        self.openssl("x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.pem", *(more or ("-days", "2")))
        return name
