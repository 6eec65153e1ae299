# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A site of https on this machine, with an authority of its own, that lists an app; and a proxy by which browsers reach
it at https://localhost, whatever its port is."""

from __future__ import annotations

import contextlib
import http.server
import json
import plistlib
import socket
import ssl
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from certificates import Certificates
from pages import LIBRARY, OWN
from project import ROOT

EXAMPLE, OFFICE = ((ROOT / "browser/site" / name / "index.html").read_text() for name in ("example", "office"))
PROGRAM = ROOT / "bindings" / "python" / "examples" / "gtk_draft.py"
APP = "com.example.draft"
PAGE = "https://localhost/"
OFFICE_APP = "com.example.office"
LISTING = "/.well-known/apple-app-site-association"


class Site:
    """The example of browser/site, whose `listed` are the application identifiers that it lists."""

    def __init__(self, folder: Path, listed: list[str]):
        Certificates.make(folder)
        self.listed = listed
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                files = {
                    "/": ("text/html; charset=utf-8", EXAMPLE),
                    **{f"/{name}": ("text/html; charset=utf-8", OFFICE) for name in ("letter", "sums", "plan", "talk")},
                    "/segue-page.js": ("text/javascript", LIBRARY),
                    LISTING: ("application/json", json.dumps({"activitycontinuation": {"apps": site.listed}})),
                }
                path = urllib.parse.urlsplit(self.path).path
                if path not in files:
                    return self.send_error(404)
                kind, text = files[path]
                body = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "site.pem", folder / "site.key")
        # The handshake is for the thread of the connection: a browser opens some that say nothing.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.handle_error = lambda *_: None
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = self.listener.getsockname()[1]
        threading.Thread(target=self.lead, daemon=True).start()

    def lead(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.tunnel, args=(connection,), daemon=True).start()

    def tunnel(self, browser: socket.socket) -> None:
        """Answers one CONNECT, for localhost:443 alone."""
        with contextlib.suppress(OSError), browser:
            asked = b""
            while b"\r\n\r\n" not in asked:
                part = browser.recv(4096)
                if not part:
                    return
                asked += part
            if not asked.startswith(b"CONNECT localhost:443 "):
                browser.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", self.port)) as site:
                browser.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                there = threading.Thread(target=copy, args=(browser, site), daemon=True)
                there.start()
                copy(site, browser)
                there.join()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.listener.close()


def copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def site_of_app(folder: Path, listed: list[str]) -> Iterator[tuple[Site, dict[str, str]]]:
    """The site, and the variables of an agent that may ask it, and that knows the manifest of the example's app."""
    made = Site(folder, listed)
    settings = {"localhost": {"private": True, "port": made.port, "ca": str(folder / "ca.pem")}}
    (folder / "config/segue").mkdir(parents=True)
    (folder / "config/segue/sites").write_text(json.dumps(settings))
    manifest = {
        "CFBundleIdentifier": APP,
        "CFBundleName": "Draft",
        "NSUserActivityTypes": [OWN],
        "com.apple.developer.associated-domains": ["activitycontinuation:localhost?mode=developer"],
        "SegueDesktopFile": f"{APP}.desktop",
    }
    (folder / "data/segue/apps").mkdir(parents=True)
    (folder / "data/segue/apps/draft.plist").write_bytes(plistlib.dumps(manifest))
    office = {
        "CFBundleIdentifier": OFFICE_APP,
        "com.apple.developer.team-identifier": "OFFICE",
        "com.apple.developer.associated-domains": ["activitycontinuation:localhost?mode=developer"],
    }
    (folder / "data/segue/apps/office.plist").write_bytes(plistlib.dumps(office))
    (folder / "data/applications").mkdir()
    environment = "env GDK_BACKEND=x11 GSK_RENDERER=cairo GSETTINGS_BACKEND=memory"
    (folder / f"data/applications/{APP}.desktop").write_text(
        f"[Desktop Entry]\nType=Application\nName=Draft\nExec={environment} {sys.executable} {PROGRAM} {PAGE}\n"
    )
    try:
        yield made, {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}
    finally:
        made.close()
