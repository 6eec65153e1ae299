# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The extension for VS Code: what it hands over, and what it continues. It runs in a stand-in for VS Code on real
files, or in the program that SEGUE_VSCODE names, such as /usr/bin/codium, under a screen."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from host import EDITING, PROGRAM, Host
from project import ROOT
from public_types import problems

EXTENSION = ROOT / "integrations" / "vscode"
STAND_IN = ROOT / "Tests" / "stdio" / "vscode"
TEXT = "# Budget\n\nrent 900\nfood 🍞ünä 400\n"
REAL = os.environ.get("SEGUE_VSCODE", "")
Start = Callable[..., Host]
pytestmark = pytest.mark.skipif(not shutil.which("node") and not REAL, reason="node is not installed")


class Code:
    """An editor with the extension, which evaluates expressions in JavaScript: `vscode`, and `shown`, what the user
    was shown."""

    def __init__(self, folder: Path, home: Path, **environment: str):
        self.listener = socket.socket(socket.AF_UNIX)
        address = str(home / "test")
        self.listener.bind(address)
        self.listener.listen()
        self.listener.settimeout(60)
        driver = f"--extensionTestsPath={STAND_IN / 'driver.js'}"
        options = [f"--user-data-dir={home}", f"--extensionDevelopmentPath={EXTENSION}", driver, "--no-sandbox"]
        command = [REAL, "--wait", "--disable-gpu", *options] if REAL else ["node", STAND_IN / "stub.js"]
        variables = {"SEGUE_RUNTIME_DIR": str(folder), "SEGUE_STDIO": str(PROGRAM), "SEGUE_TEST_SOCKET": address}
        self.process = subprocess.Popen(
            command, env={**os.environ, **variables, **environment}, stdin=subprocess.DEVNULL
        )
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(20)
        self.lines = self.connection.makefile("r")

    def __call__(self, expression: str) -> object:
        self.connection.sendall(json.dumps(expression).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def open(self, path: Path) -> None:
        self(f"vscode.workspace.openTextDocument(vscode.Uri.file({json.dumps(str(path))}))"
             ".then((document) => vscode.window.showTextDocument(document)).then(() => 0)")  # fmt: skip

    def type(self, text: str) -> None:
        """Takes the place of the whole text of the document that is shown."""
        replaced = f"new vscode.Range(0, 0, document.lineCount, 0), {json.dumps(text)}"
        self(f"((document) => {{ const edit = new vscode.WorkspaceEdit(); edit.replace(document.uri, {replaced});"
             " return vscode.workspace.applyEdit(edit); })(vscode.window.activeTextEditor.document)")  # fmt: skip

    def select(self, *places: int) -> None:
        """anchor and active: line and character of each, from 0."""
        anchor, active = f"{places[0]}, {places[1]}", f"{places[2]}, {places[3]}"
        self(f"(vscode.window.activeTextEditor.selection = new vscode.Selection(new vscode.Position({anchor}),"
             f" new vscode.Position({active})), 0)")  # fmt: skip

    def take(self) -> None:
        """Takes the first of the list, once there is one."""
        self('vscode.commands.executeCommand("segue.continue").then(() => 0)')

    def text(self) -> object:
        return self("vscode.window.activeTextEditor.document.getText()")

    def end(self) -> None:
        self.connection.close()
        self.lines.close()
        self.listener.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@pytest.fixture
def code(folder: Path, tmp_path: Path) -> Iterator[Callable[..., Code]]:
    started: list[Code] = []

    def launch(**environment: str) -> Code:
        home = tmp_path / f"code{len(started)}"
        home.mkdir()
        started.append(Code(folder, home, **environment))
        return started[-1]

    yield launch
    for each in started:
        each.end()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "budget ü%.md"
    path.write_text(TEXT)
    return path


def receiver(start: Start) -> Host:
    host = start()
    host.open("receiver", EDITING, lineBytes=24 << 20)
    return host


def info_of(host: Host, title: str) -> dict:
    """Continues an offer, and returns its user_info, which the checker has nothing against."""
    host.call("offers/continue", offer=host.offer_of(title)["offer"])
    request = host.hear_message("continuation/continue")
    host.respond(request, {"handled": True})
    info = request["params"]["userInfo"]
    assert problems(EDITING, info) == {}
    return info


def origin(start: Start, editor: Code, title: str, **info: object) -> Host:
    """An offer that the editor has heard of."""
    host = start()
    host.open("origin", save=False, lineBytes=24 << 20)
    host.call("activity/set", activity="a", type=EDITING, title=title, userInfo=info)
    host.call("activity/current", activity="a")
    watcher = receiver(start)
    watcher.offer_of(title)
    # The editor has it once its list names it: the command shows the list.
    while f"{title} (origin on " not in str(editor("shown")):
        editor(
            "(vscode.window.showQuickPick = async (items) => void shown.push(...items.map(({ label }) => label)), 0)"
        )
        editor.take()
    editor("(vscode.window.showQuickPick = async (items) => items[0], 0)")
    return host


def test_vs_code_hands_over_file_and_cursor(start: Start, code, note: Path) -> None:
    editor = code()
    editor.open(note)
    editor.select(3, 10, 3, 10)
    info = info_of(receiver(start), note.name)
    assert info["url"] == note.as_uri()
    assert (info["line"], info["column"]) == (4, 10), "the loaf is two units, and one scalar"
    assert (info["language"], info["lineEnding"]) == ("plaintext" if not REAL else "markdown", "lf")
    assert info["contentDigest"] == "sha-256:" + hashlib.sha256(note.read_bytes()).hexdigest()
    assert "text" not in info and "anchorLine" not in info


def test_vs_code_hands_over_unsaved_text_and_the_selection(start: Start, code, note: Path) -> None:
    editor = code()
    editor.open(note)
    editor.type("Büdget\nnew\n")
    editor.select(0, 1, 1, 3)
    info = info_of(receiver(start), note.name)
    assert info["text"] == "Büdget\nnew\n"
    assert (info["anchorLine"], info["anchorColumn"], info["line"], info["column"]) == (1, 2, 2, 4)
    assert note.read_text() == TEXT


def test_a_text_of_another_system_has_lf(start: Start, code, tmp_path: Path) -> None:
    path = tmp_path / "dos.txt"
    path.write_bytes(b"a\r\nb\r\n")
    editor = code()
    editor.open(path)
    editor.type("a\nc\n")
    info = info_of(receiver(start), path.name)
    assert (info["text"], info["lineEnding"]) == ("a\nc\n", "crlf")


def test_a_text_without_a_file_is_handed_over(start: Start, code) -> None:
    editor = code()
    editor('vscode.workspace.openTextDocument({ content: "milk\\n", language: "markdown" })'
           ".then((document) => vscode.window.showTextDocument(document)).then(() => 0)")  # fmt: skip
    info = info_of(receiver(start), "Untitled-1")
    assert (info["text"], info["language"]) == ("milk\n", "markdown")
    assert "url" not in info


def test_a_large_unsaved_text_is_handed_over_whole(start: Start, code, note: Path) -> None:
    editor = code()
    editor.open(note)
    editor.type(("y" * 99 + "\n") * 50_000)
    assert info_of(receiver(start), note.name)["text"] == ("y" * 99 + "\n") * 50_000


@pytest.mark.parametrize(
    ("text", "reason"), [("\ud83c", "surrogates"), ("y" * (17 << 20), "too large")], ids=["half", "large"]
)
def test_a_text_that_cannot_travel_fails_and_the_session_goes_on(
    start: Start, code, note: Path, text: str, reason: str
) -> None:
    editor = code()
    editor.open(note)
    editor.type(text)
    host = receiver(start)
    host.call("offers/continue", offer=host.offer_of(note.name)["offer"])
    ended = ("continuation/failed", "continuation/continue")
    message = host.take(lambda message: message.get("method") in ended)
    if message["method"] == ended[0]:
        assert reason in message["params"]["error"]["message"]
    else:  # the state before, which says so
        assert message["params"]["stale"] and "text" not in message["params"]["userInfo"]
        host.respond(message, {"handled": True})
    editor.type(r"a \ud83c that is spelt out")
    host.call("offers/continue", type=EDITING)
    assert host.hear("continuation/continue")["userInfo"]["text"] == r"a \ud83c that is spelt out"


def test_a_file_that_has_changed_on_the_disk_has_no_digest(start: Start, code, note: Path) -> None:
    """The digest is that of the bytes as they were read (R13.2)."""
    editor = code()
    editor.open(note)
    note.write_text("other\n")
    os.utime(note, (1, 1))
    assert "contentDigest" not in info_of(receiver(start), note.name)


def test_vs_code_follows_documents(start: Start, code, note: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("other\n")
    editor, host = code(), receiver(start)
    editor.open(note)
    host.offer_of(note.name)
    editor.open(other)
    host.offer_of("other.txt")
    editor('vscode.commands.executeCommand("workbench.action.closeActiveEditor").then(() => 0)')
    while any(offer["title"] == "other.txt" for offer in host.hear("offers/changed")["offers"]):
        pass


def test_the_hundredth_document_is_offered(start: Start, code, tmp_path: Path) -> None:
    """A session has 64 activities."""
    editor, host = code(), receiver(start)
    for number in [*range(100), 0]:
        (tmp_path / f"file{number}").touch()
        editor.open(tmp_path / f"file{number}")
    host.offer_of("file0")
    assert editor("shown") == []


def test_vs_code_continues_a_file_at_its_place(start: Start, code, note: Path) -> None:
    editor = code()
    place = {"line": 4, "column": 10, "anchorLine": 3, "anchorColumn": 1, "firstVisibleLine": 2}
    host = origin(start, editor, "Budget", url=note.as_uri(), **place)
    editor.take()
    ended = host.hear("activity/ended")
    assert (ended["outcome"], ended["app"]) == ("restored", editor("vscode.env.appName"))
    assert editor("vscode.window.activeTextEditor.document.uri.fsPath") == str(note)
    names = ("anchor.line", "anchor.character", "active.line", "active.character")
    places = [editor(f"vscode.window.activeTextEditor.selection.{name}") for name in names]
    assert places == [2, 0, 3, 10]
    assert editor("vscode.window.activeTextEditor.visibleRanges[0].start.line") == 1 or REAL
    assert editor("vscode.window.activeTextEditor.document.isDirty") is False


@pytest.mark.parametrize("has_file", [True, False])
def test_a_continued_text_is_unsaved_and_writes_nothing(start: Start, code, note: Path, has_file: bool) -> None:
    """R13.3"""
    if not has_file:
        note.unlink()
    editor = code()
    host = origin(start, editor, "Budget", url=note.as_uri(), text="new\ntext\n", line=2, column=99)
    editor.take()
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert editor.text() == "new\ntext\n"
    assert editor("vscode.window.activeTextEditor.document.isDirty") is True
    assert editor("vscode.window.activeTextEditor.document.uri.fsPath") == str(note)
    assert note.read_text() == TEXT if has_file else not note.exists()


def test_a_text_without_a_file_is_continued(start: Start, code) -> None:
    editor = code()
    host = origin(start, editor, "Milk", text="milk\n", language="markdown")
    editor.take()
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert editor.text() == "milk\n"
    assert editor("vscode.window.activeTextEditor.document.languageId") == "markdown"


def test_unsaved_changes_here_are_kept(start: Start, code, note: Path) -> None:
    """R13.3"""
    editor = code()
    editor.open(note)
    editor.type("mine\n")
    host = origin(start, editor, "Budget", url=note.as_uri(), text="theirs\n")
    editor.take()
    assert host.hear("activity/ended")["outcome"] == "declined"
    assert editor.text() == "mine\n"
    assert "Handoff: unsaved changes here" in editor("shown")


def test_another_version_of_the_file_is_told(start: Start, code, note: Path) -> None:
    """R13.3"""
    editor = code()
    host = origin(start, editor, "Budget", url=note.as_uri(), contentDigest="sha-256:" + "0" * 64)
    editor.take()
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert "another version" in str(editor("shown"))


@pytest.mark.parametrize("url", ["file:///no/such/file", "https://example.com/x", "file://elsewhere/x", "pipe"])
def test_what_cannot_be_opened_is_declined(start: Start, code, tmp_path: Path, url: str) -> None:
    """A pipe would be waited for."""
    os.mkfifo(tmp_path / "pipe")
    editor = code()
    host = origin(start, editor, "Gone", url=(tmp_path / "pipe").as_uri() if url == "pipe" else url)
    editor.take()
    assert host.hear("activity/ended")["outcome"] == "declined"


def test_a_session_that_dies_is_told_and_comes_back(start: Start, code, note: Path) -> None:
    editor, host = code(), receiver(start)
    editor.open(note)
    host.offer_of(note.name)
    children = Path(f"/proc/{editor.process.pid}/task/{editor.process.pid}/children").read_text().split()
    if REAL:
        pytest.skip("the processes of VS Code are its own")
    os.kill(int(children[0]), signal.SIGKILL)
    while "Handoff: segue-stdio has ended: null" not in str(editor("shown")):
        pass
    editor.take()
    host.offer_of(note.name)


def test_a_program_that_is_not_there_is_named(code) -> None:
    editor = code(SEGUE_STDIO="/nonexistent/segue-stdio")
    while "/nonexistent/segue-stdio" not in str(editor("shown")):
        pass


def test_two_editors_hand_over(start: Start, code, note: Path) -> None:
    first, second = code(), code()
    first.open(note)
    first.type("typed here\n")
    receiver(start).offer_of(note.name)
    while not second.text() if second("!!vscode.window.activeTextEditor") else True:
        second.take()
    assert second.text() == "typed here\n"


def test_the_package_has_what_vs_code_asks_for(tmp_path: Path) -> None:
    """Twice the same bytes, and each file that the manifest names."""
    made = []
    for name in ("one.vsix", "two.vsix"):
        subprocess.run([EXTENSION / "package", tmp_path / name], check=True)
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "one.vsix") as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("extension/package.json"))
        described = archive.read("extension.vsixmanifest").decode()
    files = {f"extension/{name}" for name in ("extension.js", "session.js", "package.json", "README.md", "LICENSE.txt")}
    assert names == files | {"extension.vsixmanifest", "[Content_Types].xml"}
    assert f'Version="{manifest["version"]}"' in described and manifest["version"] != "0.0.0"


def test_the_extension_has_at_most_250_lines_of_code() -> None:
    files = [ROOT / "integrations" / "vscode" / name for name in ("extension.js", "session.js")]
    lines = [line.strip() for file in files for line in file.read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith(("//", "/*", "*"))]) <= 250
