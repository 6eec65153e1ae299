# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that asks sites which apps they list, as it ships, with a server of our own (R12.8, R12.9)."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from certificates import Certificates
from project import ROOT
from site_server import LISTING, Site, http

AGENT = Path(os.environ.get("SEGUE_AGENT", ROOT / "lib" / "segue-agent")).resolve()


class Fetch(NamedTuple):
    status: int
    reason: str
    body: bytes


@pytest.fixture
def fetch(tmp_path: Path, site: Site, certificates: Certificates) -> Callable[..., Fetch]:
    """fetch(…) asks the site with the settings that let it be on this machine."""

    def run(
        *words: str,
        host: str = "localhost",
        path: str = "well-known",
        settings: dict | None = None,
        environment: dict[str, str] | None = None,
        **more,
    ) -> Fetch:
        own = {"private": True, "port": site.port, "ca": str(certificates.folder / "ca.pem")}
        own = {name: value for name, value in (own | more).items() if value is not None}
        (tmp_path / "segue").mkdir(exist_ok=True)
        (tmp_path / "segue" / "sites").write_text(json.dumps({host: own} if settings is None else settings))
        made = subprocess.run(
            ["segue-fetch", host, path, *(words or ("developer",))],
            executable=AGENT,
            env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)} | (environment or {}),
            capture_output=True,
            timeout=30,
        )
        line, _, body = made.stdout.partition(b"\n")
        status, _, reason = line.decode().partition(" ")
        if int(status or 0) > 0:
            assert int(reason) == len(body)
            reason = "answered"
        return Fetch(int(status or -made.returncode), reason, body)

    return run


def test_it_gets_the_file_and_says_nothing_of_its_user(fetch, site):
    assert fetch() == Fetch(200, "answered", LISTING)
    assert fetch(path="root").status == 200
    first, second = (request.splitlines() for request in site.requests)
    assert first[0] == "GET /.well-known/apple-app-site-association HTTP/1.1"
    assert second[0] == "GET /apple-app-site-association HTTP/1.1"
    assert sorted(line.split(":")[0] for line in first[1:] if line) == [
        "Accept",
        "Accept-Encoding",
        "Connection",
        "Host",
        "User-Agent",
    ]
    assert f"Host: localhost:{site.port}" in first and "User-Agent: segue" in first


def test_chunks_and_an_end_without_a_length_are_read(fetch, site):
    site.answer = lambda path: http(b"3\r\nabc\r\n0\r\n\r\n", "200 OK", "Transfer-Encoding: chunked")
    assert fetch().body == b"abc"
    site.answer = lambda path: http(b"abc", "200 OK", "Connection: close")
    assert fetch().body == b"abc"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Again", "308 Moved"])
def test_w12_a_redirect_is_not_followed(fetch, site, status):
    """W12"""
    site.answer = lambda path: http(b"", status, f"Location: https://localhost:{site.port}/other", "Content-Length: 0")
    assert fetch() == Fetch(int(status.split()[0]), "answered", b"")
    assert len(site.requests) == 1


@pytest.mark.parametrize("words", [("developer",), ()])
def test_w13_a_private_address_is_not_dialled(fetch, site, words):
    """W13"""
    refused = fetch(*(words or ("developer",)), private=None if words else False)
    assert refused.status == 0 and "not one of the whole Internet" in refused.reason
    assert site.connections == 0


def test_w13_a_claim_that_is_not_for_developers_permits_no_private_address(tmp_path, fetch, site):
    """The user's setting alone is not enough."""
    assert fetch().status == 200
    made = subprocess.run(
        ["segue-fetch", "localhost", "well-known"],
        executable=AGENT,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        timeout=30,
    )
    assert made.stdout.startswith(b"0 ") and b"not one of the whole Internet" in made.stdout
    assert site.connections == 1


def test_w14_answers_that_lie_or_never_end_are_refused_within_the_time(fetch, site):
    """W14"""
    for answer, reason in [
        (http(b"x" * 200_000), "more than"),
        (http(b"x" * 200_000, "200 OK", "Connection: close"), "more than"),
        (http(b"abc", "200 OK", "Content-Length: 9"), "says 9"),
        (http(b"", "200 OK", *(f"X-{number}: {'y' * 100}" for number in range(1_000))), "before its body"),
        (http(b"abc", "200 OK", "Content-Encoding: gzip"), "compressed"),
        (b"SSH-2.0-x\r\n\r\n", "does not begin"),
    ]:
        site.answer = lambda path, answer=answer: answer
        refused = fetch()
        assert refused.status == 0 and reason in refused.reason, refused


def test_w14_a_site_that_says_nothing_is_given_up_after_ten_seconds(fetch, site):
    """W14"""
    site.answer = lambda path: None
    assert fetch() == Fetch(14, "", b""), "SIGALRM"


def test_w15_a_certificate_must_be_valid_for_the_host(fetch, site, certificates):
    """W15"""
    for name, host, more in [
        ("name", "example.com", ()),
        ("partial", "local*", ()),
        ("old", "localhost", ("-not_before", "20200101000000Z", "-not_after", "20210101000000Z")),
    ]:
        try:
            certificates.sign(name, host, *more)
        except subprocess.CalledProcessError:  # OpenSSL before 3.4 makes none of the past
            certificates.sign(name, host, "-days", "-1")
        site.use(name)
        refused = fetch()
        assert refused.status == 0 and "certificate is not valid" in refused.reason, refused
    certificates.sign("client", "localhost", purpose="clientAuth")
    site.use("client")
    assert fetch().status == 0
    site.use("site")
    assert fetch().status == 200
    assert "certificate is not valid" in fetch(ca=None).reason, "the system does not trust this authority"
    assert site.requests == site.requests[:1], "nothing is asked of a server that is not the site"


def test_w15_tls_1_1_is_refused(fetch, site):
    """W15"""
    site.use("site", ssl.TLSVersion.TLSv1_1)
    assert fetch().status == 0
    site.use("site", ssl.TLSVersion.TLSv1_2)
    assert fetch().status == 200


def sign_file(certificates: Certificates, name: str, *more: str) -> bytes:
    (certificates.folder / "file.json").write_bytes(LISTING)
    signer = ("-signer", f"{name}.pem", "-inkey", f"{name}.key", "-certfile", "ca.pem")
    certificates.openssl(
        "cms",
        "-sign",
        "-nodetach",
        "-binary",
        "-outform",
        "DER",
        "-in",
        "file.json",
        *signer,
        *more,
        "-out",
        "file.cms",
    )
    return (certificates.folder / "file.cms").read_bytes()


def test_w16_a_signed_file_must_be_signed_for_the_host(fetch, site, certificates):
    """W16"""

    def answer(signed: bytes) -> Fetch:
        site.answer = lambda path: http(signed)
        return fetch()

    good = sign_file(certificates, "site")
    assert answer(good) == Fetch(200, "answered", LISTING)
    certificates.sign("other", "example.com")
    certificates.sign("mail", "localhost", purpose="emailProtection")
    for name in ("other", "mail"):
        refused = answer(sign_file(certificates, name))
        assert refused.status == 0 and "the site's file" in refused.reason, refused
    changed = bytearray(good)
    changed[good.index(b"TEAM")] ^= 1
    for bad in (bytes(changed), good + b"\0", good[:-1], b"0" + LISTING, b"0\x80" + b"\0" * 100):
        refused = answer(bad)
        assert refused.status == 0 and "the site's file" in refused.reason, refused
    many = []
    for number in range(20):
        certificates.sign(f"more{number}", "localhost")
        many += ["-certfile", f"more{number}.pem"]
    (certificates.folder / "many.pem").write_text(
        "".join((certificates.folder / f"more{number}.pem").read_text() for number in range(20))
    )
    signer = ("-signer", "site.pem", "-inkey", "site.key", "-certfile", "many.pem")
    certificates.openssl(
        "cms", "-sign", "-nodetach", "-binary", "-outform", "DER", "-in", "file.json", *signer, "-out", "many.cms"
    )
    refused = answer((certificates.folder / "many.cms").read_bytes())
    assert refused.status == 0 and "more than 16 certificates" in refused.reason


def test_what_names_no_host_and_none_of_the_two_paths_is_refused(fetch, site):
    for host in ("127.0.0.1", "[::1]", "LOCALHOST", "localhost.", "a b", "--help", "", "localhost:80"):
        refused = fetch(host=host, settings={})
        assert refused.status == 0 and "expected HOST" in refused.reason, refused
    assert "expected HOST" in fetch(path="/etc/passwd").reason
    assert site.connections == 0


def test_wrong_settings_are_named(fetch):
    assert "port: must be 1 to 65535" in fetch(port=0).reason
    assert "there is no setting 'prt'" in fetch(prt=1).reason
    assert "ca: must be an absolute path" in fetch(ca="ca.pem").reason


def test_it_reads_no_file_of_its_user_once_it_knows_its_settings(fetch, certificates, tmp_path):
    """OpenSSL reads a folder of authorities when it needs one of them, which is after the process has given its rights
    up. The folder that the user names may be read; a file elsewhere, to which a link in it leads, may not."""
    named, elsewhere = tmp_path / "named", tmp_path / "elsewhere"
    named.mkdir()
    elsewhere.mkdir()
    authority = (certificates.folder / "ca.pem").read_bytes()
    hashed = subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", certificates.folder / "ca.pem"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    place = named / f"{hashed}.0"
    place.write_bytes(authority)
    for folders in (str(named), f"/nonexistent:{named}"):
        assert fetch(ca=None, environment={"SSL_CERT_DIR": folders}).status == 200
    place.unlink()
    (elsewhere / "ca.pem").write_bytes(authority)
    place.symlink_to(elsewhere / "ca.pem")
    refused = fetch(ca=None, environment={"SSL_CERT_DIR": str(named)})
    assert refused.status == 0 and "certificate is not valid" in refused.reason, refused
