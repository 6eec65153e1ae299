# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real browsers, headless, with the extension and the native host. Chromium is driven by its DevTools pipe, Firefox by
Marionette. Neither needs a driver of the browser's maker."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from identity import IDENTITY
from messaging import HOST

HERE = Path(__file__).resolve().parent
STARTING = 60  # seconds for a browser to start, on a machine that has much to do
WIDTH, HEIGHT = 1000, 700


class BrowserError(Exception):
    """A browser refused a command, or did not answer in time."""


def host_manifest(browser: str, home: Path, is_recorded: bool) -> str:
    """The entry of the host, whose messages are recorded in the file of `record`."""
    made = json.loads(subprocess.run([HOST, "--manifest", browser], capture_output=True, check=True).stdout)
    if not is_recorded:
        return json.dumps(made)
    recorder = home / f"{browser}-host"
    record = home / browser
    recorder.write_text(f'#!/bin/sh\nexec {HERE / "recorder.py"} {HOST} {record} "$@"\n')
    recorder.chmod(0o755)
    return json.dumps({**made, "path": str(recorder)})


class Browser:
    """A running browser. Tabs are named by what its remote control calls them."""

    bundle: str
    word: str

    def __init__(self, home: Path, command: list[str], environment: dict[str, str], **options: Any):
        self.home = home
        self.numbers = itertools.count(1)
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
            **options,
        )

    def kill(self) -> None:
        """Ends it and all its processes at once, as a crash does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STARTING)

    def hosts(self) -> list[int]:
        """The native hosts that this browser has started."""
        return [pid for pid in descendants(self.process.pid) if name_of(pid).startswith("segue-browser")]

    def sent(self) -> str:
        """All that the extension has sent to its hosts."""
        record = self.home / f"{self.word}.sent"
        return record.read_bytes().decode(errors="replace") if record.exists() else ""

    def received(self) -> str:
        record = self.home / f"{self.word}.received"
        return record.read_bytes().decode(errors="replace") if record.exists() else ""

    # Each kind of browser has these:
    def open(self, url: str) -> Any:
        raise NotImplementedError

    def evaluate(self, tab: Any, expression: str) -> Any:
        raise NotImplementedError

    def tabs(self) -> dict[Any, str]:
        raise NotImplementedError

    def with_url(self, beginning: str) -> list[Any]:
        return [tab for tab, url in self.tabs().items() if url.startswith(beginning)]


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def descendants(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def proxied(port: int | None) -> list[str]:
    """The options of Chromium for a proxy on this machine, and for sites whose authority it does not know."""
    rules = [f"--proxy-server=http://127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>;127.0.0.1"]
    return [*rules, "--ignore-certificate-errors"] if port else []


class Chromium(Browser):
    """Commands go through descriptor 3, answers come from 4; messages end with NUL."""

    bundle, word = "org.chromium.Chromium", "chromium"

    def __init__(
        self,
        home: Path,
        extension: Path | None,
        size: tuple[int, int] = (WIDTH, HEIGHT),
        proxy: int | None = None,
        is_recorded: bool = True,
        **environment: str,
    ):
        profile = home / "chromium"
        hosts = profile / "NativeMessagingHosts"
        hosts.mkdir(parents=True, exist_ok=True)
        (hosts / f"{IDENTITY['HOST_NAME']}.json").write_text(host_manifest("chromium", home, is_recorded))
        command = [
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
            "--enable-unsafe-extension-debugging", "--disable-background-networking", "--disable-component-update",
            "--hide-scrollbars", f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}",
            *proxied(proxy), "about:blank",
        ]  # fmt: skip
        pipe, self.commands = os.pipe()
        self.answers, other = os.pipe()
        # Above those that they become, so that neither takes the place of the other.
        passed = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (pipe, other)]
        starter = ["bash", "-c", f'exec "$@" 3<&{passed[0]}- 4>&{passed[1]}-', "bash"]
        super().__init__(home, [*starter, *command], environment, pass_fds=passed)
        for each in (pipe, other, *passed):
            os.close(each)
        self.buffer = b""
        self.sessions: dict[str, str] = {}
        self.version = self.send("Browser.getVersion")["product"]
        if extension is not None:
            self.send("Extensions.loadUnpacked", path=str(extension))

    def send(self, method: str, session: str | None = None, patience: float = STARTING, **parameters: Any) -> Any:
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + patience
        while True:
            while b"\0" not in self.buffer:
                if not select.select([self.answers], [], [], max(0.0, end - time.monotonic()))[0]:
                    raise BrowserError(f"{method}: no answer within {patience} s")
                part = os.read(self.answers, 1 << 20)
                if not part:
                    raise BrowserError("chromium has ended")
                self.buffer += part
            body, _, self.buffer = self.buffer.partition(b"\0")
            answer = json.loads(body)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def open(self, url: str) -> str:
        return self.send("Target.createTarget", url=url)["targetId"]

    def session(self, target: str) -> str:
        if target not in self.sessions:
            self.sessions[target] = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self.sessions[target]

    def evaluate(self, tab: str, expression: str) -> Any:
        session = self.session(tab)
        answer = self.send(
            "Runtime.evaluate", session, expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def navigate(self, tab: str, url: str) -> None:
        self.send("Page.navigate", self.session(tab), url=url)

    def tabs(self) -> dict[str, str]:
        return {each["targetId"]: each["url"] for each in self.targets() if each["type"] == "page"}

    def targets(self) -> list[dict[str, Any]]:
        return self.send("Target.getTargets")["targetInfos"]

    def activate(self, tab: str) -> None:
        self.send("Target.activateTarget", targetId=tab)

    def close_tab(self, tab: str) -> None:
        """Closes a tab, and waits until the list of tabs is without it."""
        self.send("Target.closeTarget", targetId=tab)
        end = time.monotonic() + STARTING
        while tab in self.tabs():
            if time.monotonic() > end:
                raise BrowserError(f"a tab does not close: {self.tabs()[tab]}")
            time.sleep(0.01)

    def press(self, tab: str) -> None:
        """Presses the extension's button, and waits for its popup."""
        end = time.monotonic() + STARTING
        target = None
        while target is None:  # while a tab navigates, only one of its two targets has the new address
            url = self.tabs()[tab]
            tabs = self.send("Target.getTargets", filter=[{"type": "tab"}])["targetInfos"]
            target = next((each["targetId"] for each in tabs if each["url"] == url), None)
            if time.monotonic() > end:
                raise BrowserError(f"no tab shows {url}")
        self.send("Extensions.triggerAction", id=IDENTITY["CHROMIUM_ID"], targetId=target)

    def popup(self, expression: str) -> Any:
        """Evaluates an expression in the popup; None as long as there is none."""
        found = [each for each in self.targets() if each["url"].endswith("/popup.html")]
        return self.evaluate(found[0]["targetId"], expression) if found else None

    def end(self) -> None:
        with contextlib.suppress(BrowserError, OSError):
            self.send("Browser.close", patience=10)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.kill()
        os.close(self.commands), os.close(self.answers)


POPUP = """
const [expression, answer] = arguments;
const popup = [...document.querySelectorAll("browser")].find((each) => each.currentURI?.spec.endsWith("/popup.html"));
if (!popup) return answer(null);
const script = `sendAsyncMessage("segue-test", ((document) => (${expression}))(content.document))`;
popup.messageManager.addMessageListener("segue-test", function listener({ data }) {
  popup.messageManager.removeMessageListener("segue-test", listener);
  answer(data);
});
popup.messageManager.loadFrameScript("data:," + encodeURIComponent(script), false);
"""
"""Runs in Firefox itself: popups are in no list of windows."""


class Firefox(Browser):
    """A length, a colon, a JSON array, over TCP."""

    bundle, word = "org.mozilla.firefox", "firefox"

    def __init__(
        self,
        home: Path,
        extension: Path | None,
        size: tuple[int, int] = (WIDTH, HEIGHT),
        proxy: int | None = None,
        is_recorded: bool = True,
        **environment: str,
    ):
        profile = home / "firefox"
        profile.mkdir(parents=True, exist_ok=True)
        for folder in (home / ".mozilla/native-messaging-hosts", home / ".config/mozilla/native-messaging-hosts"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{IDENTITY['HOST_NAME']}.json").write_text(host_manifest("firefox", home, is_recorded))
        named = profile / "MarionetteActivePort"
        named.unlink(missing_ok=True)
        settings = {
            "marionette.port": 0,  # a free one, which Firefox writes into that file
            "datareporting.policy.dataSubmissionEnabled": False,
            "browser.shell.checkDefaultBrowser": False,
            "browser.startup.page": 0,
            "app.update.enabled": False,
            "extensions.update.enabled": False,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
            "security.sandbox.content.level": 0,
        }
        if proxy:
            settings |= {
                "network.proxy.type": 1,
                "network.proxy.ssl": "127.0.0.1",
                "network.proxy.ssl_port": proxy,
                "network.proxy.allow_hijacking_localhost": True,
                "network.proxy.no_proxies_on": "127.0.0.1",
            }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        (profile / "user.js").write_text("\n".join(lines) + "\n")
        command = [
            "firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote",
            "--width", str(size[0]), "--height", str(size[1] + 85), "--profile", str(profile), "about:blank",
        ]  # fmt: skip
        super().__init__(home, command, {"MOZ_REMOTE_SETTINGS_DEVTOOLS": "1", **environment})
        end = time.monotonic() + STARTING
        while not (port := named.read_text() if named.exists() else ""):
            if self.process.poll() is not None or time.monotonic() > end:
                raise BrowserError("firefox did not start")
            time.sleep(0.05)  # a name in a folder of a program that starts
        self.wire = socket.create_connection(("127.0.0.1", int(port)))
        self.wire.settimeout(STARTING)
        self.stream = self.wire.makefile("rwb")
        self.receive()
        # A page may never end.
        wanted = {"pageLoadStrategy": "none", "acceptInsecureCerts": bool(proxy)}
        session = self.send("WebDriver:NewSession", **wanted)
        self.version = f"Firefox/{session['capabilities']['browserVersion']}"
        if extension is not None:
            self.send("Addon:Install", path=str(extension), temporary=True)

    def receive(self) -> Any:
        size = b""
        while (character := self.stream.read(1)) != b":":
            if not character:
                raise BrowserError("firefox has ended")
            size += character
        return json.loads(self.stream.read(int(size)))

    def send(self, method: str, **parameters: Any) -> Any:
        number = next(self.numbers)
        body = json.dumps([0, number, method, parameters]).encode()
        self.stream.write(b"%d:%s" % (len(body), body))
        self.stream.flush()
        while (answer := self.receive())[1] != number:
            pass
        if answer[2]:
            raise BrowserError(f"{method}: {answer[2]['message']}")
        return answer[3]

    def chrome(self, script: str, *arguments: Any) -> Any:
        """Runs a script with the rights of the browser itself."""
        self.send("Marionette:SetContext", value="chrome")
        try:
            return self.send("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]
        finally:
            self.send("Marionette:SetContext", value="content")

    def press(self, tab: str) -> None:
        """Presses the extension's button, and waits for its popup."""
        self.activate(tab)
        self.chrome(
            "const { ExtensionParent } = ChromeUtils.importESModule('resource://gre/modules/ExtensionParent.sys.mjs');"
            "const extension = ExtensionParent.GlobalManager.getExtension(arguments[0]);"
            "ExtensionParent.apiManager.global.browserActionFor(extension).triggerAction(window);",
            IDENTITY["FIREFOX_ID"],
        )

    def popup(self, expression: str) -> Any:
        """Evaluates an expression in the popup; None as long as there is none."""
        self.send("Marionette:SetContext", value="chrome")
        try:
            return self.send("WebDriver:ExecuteAsyncScript", script=POPUP, args=[expression])["value"]
        finally:
            self.send("Marionette:SetContext", value="content")

    def open(self, url: str) -> str:
        # The tab that was last spoken to may be gone.
        first = self.send("WebDriver:GetWindowHandles")[0]
        self.send("WebDriver:SwitchToWindow", handle=first, focus=False)
        tab = self.send("WebDriver:NewWindow", type="tab", focus=True)["handle"]
        self.send("WebDriver:SwitchToWindow", handle=tab, focus=True)
        self.navigate(tab, url)
        return tab

    def navigate(self, tab: str, url: str) -> None:
        self.send("WebDriver:SwitchToWindow", handle=tab, focus=False)
        self.send("WebDriver:Navigate", url=url)

    def evaluate(self, tab: str, expression: str) -> Any:
        self.send("WebDriver:SwitchToWindow", handle=tab, focus=False)
        return self.send("WebDriver:ExecuteScript", script=f"return ({expression});", args=[])["value"]

    def tabs(self) -> dict[str, str]:
        found = {}
        for handle in self.send("WebDriver:GetWindowHandles"):
            with contextlib.suppress(BrowserError):
                self.send("WebDriver:SwitchToWindow", handle=handle, focus=False)
                found[handle] = self.send("WebDriver:GetCurrentURL")["value"]
        return found

    def activate(self, tab: str) -> None:
        self.send("WebDriver:SwitchToWindow", handle=tab, focus=True)

    def close_tab(self, tab: str) -> None:
        self.send("WebDriver:SwitchToWindow", handle=tab, focus=False)
        self.send("WebDriver:CloseWindow")

    def end(self) -> None:
        with contextlib.suppress(BrowserError, OSError):
            self.send("Marionette:Quit", flags=["eForceQuit"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.kill()
        self.wire.close()


KINDS = {"chromium": Chromium, "firefox": Firefox}
