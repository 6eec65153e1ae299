# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for Neovim, in Neovim, without a screen: what it hands over, and what it continues."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from host import EDITING, Host
from neovim import PLUGIN, Nvim
from public_types import problems

# Root reads any file, unless that right is taken away.
RIGHTS = "-dac_override,-dac_read_search"
UNPRIVILEGED = ("setpriv", f"--inh-caps={RIGHTS}", f"--bounding-set={RIGHTS}") if os.geteuid() == 0 else ()
TEXT = "# Budget\n\nrent 900\nfood ünä 400\n"
Start = Callable[..., Host]
pytestmark = pytest.mark.skipif(not shutil.which("nvim"), reason="Neovim is not installed")


@pytest.fixture
def nvim(folder: Path) -> Iterator[Callable[..., Nvim]]:
    started: list[Nvim] = []

    def launch(*words: str | Path, **options: Any) -> Nvim:
        started.append(Nvim(folder, *words, **options))
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


def origin(start: Start, title: str, **info: object) -> Host:
    host = start()
    host.open("origin", save=False, lineBytes=24 << 20)
    host.call("activity/set", activity="a", type=EDITING, title=title, userInfo=info)
    host.call("activity/current", activity="a")
    return host


def test_neovim_hands_over_file_and_cursor(start: Start, nvim, note: Path) -> None:
    editor = nvim(note)
    editor.do("call cursor(4, 8)")
    info = info_of(receiver(start), note.name)
    assert info["url"].lower() == note.as_uri().lower()
    assert (info["line"], info["column"]) == (4, 7)  # the ü has two bytes
    assert "text" not in info
    assert info["lineEnding"] == "lf"
    assert info["contentDigest"] == "sha-256:" + hashlib.sha256(note.read_bytes()).hexdigest()


def test_neovim_hands_over_unsaved_text_and_the_selection(start: Start, nvim, note: Path) -> None:
    editor = nvim(note)
    editor.do("call setline(1, 'Büdget 2027') | call cursor(1, 1) | normal! vj")
    info = info_of(receiver(start), note.name)
    assert info["text"] == TEXT.replace("# Budget", "Büdget 2027")
    assert (info["anchorLine"], info["anchorColumn"]) == (1, 1)
    assert note.read_text() == TEXT


def test_a_text_without_a_file_is_handed_over(start: Start, nvim) -> None:
    editor = nvim()
    editor.do("call setline(1, ['milk', 'bread']) | set filetype=markdown")
    info = info_of(receiver(start), "[No Name]")
    assert (info["text"], info["language"]) == ("milk\nbread\n", "markdown")
    assert "url" not in info


def test_a_large_unsaved_text_is_handed_over_whole(start: Start, nvim, tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_text("x" * 99 + "\n")
    editor = nvim(path)
    editor.do("call setline(1, repeat([repeat('y', 99)], 50000))")
    info = info_of(receiver(start), "large")
    assert info["text"] == ("y" * 99 + "\n") * 50000


def test_a_text_that_is_no_utf8_fails_and_the_session_goes_on(start: Start, nvim, note: Path) -> None:
    editor = nvim(note)
    editor.do(r"""call setline(1, "\xff\xfe")""")
    host = receiver(start)
    host.call("offers/continue", offer=host.offer_of(note.name)["offer"])
    assert "UTF-8" in host.hear("continuation/failed")["error"]["message"]
    editor.do("undo")
    host.call("offers/continue", type=EDITING)
    assert "text" not in host.hear("continuation/continue")["userInfo"]


def test_a_file_with_a_nul_is_handed_over(start: Start, nvim, tmp_path: Path) -> None:
    path = tmp_path / "nul"
    path.write_bytes(b"a\0b\nc\n")
    editor, host = nvim(path), receiver(start)
    info = info_of(host, "nul")
    assert info["url"] == path.as_uri()
    digest = "sha-256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    assert info.get("contentDigest", digest) == digest  # newer ones have it
    editor.do("call setline(2, 'd')")
    host.call("offers/continue", type=EDITING)
    params = host.hear("continuation/continue")
    assert (params["stale"], "text" in params["userInfo"]) == (True, False)


def test_a_file_with_a_nul_is_continued(start: Start, nvim, tmp_path: Path) -> None:
    path = tmp_path / "nul"
    path.write_bytes(b"a\0b\nc\n")
    editor = nvim()
    host = origin(start, "NUL", url=path.as_uri(), contentDigest="sha-256:" + "0" * 64, line=2)
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert editor('vim.fn.expand("%:p")') == str(path)


def test_the_hundredth_buffer_is_offered(start: Start, nvim, tmp_path: Path) -> None:
    """A session has 64 activities."""
    editor, host = nvim(), receiver(start)
    for number in range(100):
        (tmp_path / f"file{number}").touch()
        editor.do(f"edit {tmp_path}/file{number}")
    host.offer_of("file99")
    editor.do("buffer file0")
    host.offer_of("file0")
    assert "too many" not in editor.messages()


def test_neovim_follows_buffers(start: Start, nvim, note: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("other\n")
    editor, host = nvim(note), receiver(start)
    host.offer_of(note.name)
    editor.do(f"edit {other}")
    host.offer_of("other.txt")
    editor.do("bprevious")
    host.offer_of(note.name)
    editor.do("bwipeout")
    host.offer_of("other.txt")


def test_neovim_continues_a_file_at_its_place(start: Start, nvim, note: Path) -> None:
    editor = nvim()
    host = origin(start, "Budget", url=note.as_uri(), line=4, column=7, anchorLine=3, anchorColumn=1)
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    ended = host.hear("activity/ended")
    assert (ended["outcome"], ended["app"]) == ("restored", "Neovim")
    assert editor('vim.fn.expand("%:p")') == str(note)
    assert editor('{vim.fn.line("."), vim.fn.col(".")}') == [4, 8]
    assert editor("vim.fn.mode()") == "v"
    assert editor('{vim.fn.line("v"), vim.fn.col("v")}') == [3, 1]
    assert editor("vim.bo.modified") is False


def test_a_continued_text_is_unsaved_and_writes_nothing(start: Start, nvim, note: Path) -> None:
    """R13.3"""
    editor = nvim()
    host = origin(start, "Budget", url=note.as_uri(), text="new\ntext\n", line=2, column=99)
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff 1")
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert editor("vim.api.nvim_buf_get_lines(0, 0, -1, true)") == ["new", "text"]
    assert editor("vim.bo.modified") is True
    assert note.read_text() == TEXT


def test_unsaved_changes_here_are_kept(start: Start, nvim, note: Path) -> None:
    """R13.3"""
    editor = nvim(note)
    editor.do("call setline(1, 'mine')")
    host = origin(start, "Budget", url=note.as_uri(), text="theirs\n")
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    assert host.hear("activity/ended")["outcome"] == "declined"
    editor.until('vim.fn.execute("messages"):find("unsaved changes here") ~= nil', True)
    assert editor("vim.fn.getline(1)") == "mine"


def test_another_version_of_the_file_is_told(start: Start, nvim, note: Path) -> None:
    """R13.3"""
    editor = nvim()
    host = origin(start, "Budget", url=note.as_uri(), contentDigest="sha-256:" + "0" * 64)
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert "another version" in editor.messages()


def test_a_pipe_is_declined(start: Start, nvim, tmp_path: Path) -> None:
    """Neovim would wait for one who writes into it."""
    os.mkfifo(tmp_path / "pipe")
    editor = nvim()
    host = origin(start, "Pipe", url=(tmp_path / "pipe").as_uri())
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    assert host.hear("activity/ended")["outcome"] == "declined"


@pytest.mark.parametrize("url", ["file:///no/such/file", "https://example.com/x", "file://elsewhere/x"])
def test_what_cannot_be_opened_is_declined(start: Start, nvim, url: str) -> None:
    editor = nvim()
    host = origin(start, "Gone", url=url)
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    assert host.hear("activity/ended")["outcome"] == "declined"


def test_a_file_that_may_not_be_read_is_declined(start: Start, nvim, note: Path) -> None:
    note.chmod(0)
    editor = nvim(under=UNPRIVILEGED)
    host = origin(start, "Secret", url=note.as_uri(), line=3)
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff!")
    assert host.hear("activity/ended")["outcome"] == "declined"
    assert editor("vim.fn.bufname()") == ""


def test_the_user_chooses_from_a_list(start: Start, nvim, note: Path) -> None:
    editor = nvim()
    editor.do(
        "lua vim.ui.select = function(items, options, done) shown = options.format_item(items[1]); done(items[1]) end"
    )
    host = origin(start, "Budget", url=note.as_uri())
    editor.until('#require("segue").offers', 1)
    editor.do("Handoff")
    assert host.hear("activity/ended")["outcome"] == "restored"
    assert str(editor("shown")).startswith("Budget (origin on ")


def test_two_neovims_hand_over(nvim, note: Path) -> None:
    first, second = nvim(note), nvim()
    first.do("call setline(2, 'typed here') | call cursor(3, 2)")
    second.until('#require("segue").offers', 1)
    second.do("Handoff!")
    second.until('vim.fn.expand("%:p")', str(note))
    assert second("vim.fn.getline(2)") == "typed here"
    assert second('vim.fn.line(".")') == 3


def test_two_neovims_have_the_same_filetype_and_the_same_end(nvim) -> None:
    first, second = nvim(), nvim()
    first.do("set filetype=sh noendofline nofixendofline | call setline(1, ['a', 'b'])")
    second.until('#require("segue").offers', 1)
    second.do("Handoff!")
    second.until("vim.api.nvim_buf_get_lines(0, 0, -1, true)", ["a", "b"])
    assert second("{vim.bo.filetype, vim.bo.endofline, vim.bo.fixendofline}") == ["sh", False, False]


def test_a_death_of_either_does_not_harm_the_other(start: Start, nvim, note: Path, folder: Path) -> None:
    editor, host = nvim(note), receiver(start)
    host.offer_of(note.name)
    (program,) = editor.children()
    os.kill(program, signal.SIGKILL)
    while host.hear("offers/changed")["offers"]:
        pass
    editor.until('vim.fn.execute("messages"):find("has ended") ~= nil', True)
    assert editor("vim.fn.getline(1)") == "# Budget"
    editor.do("Handoff")  # starts it again
    host.offer_of(note.name)
    editor.process.kill()
    while host.hear("offers/changed")["offers"]:
        pass


def test_neovim_without_the_program_says_so_once(nvim, note: Path) -> None:
    editor = nvim(note, SEGUE_STDIO="/no/such/program")
    editor.until('vim.fn.execute("messages"):find("there is no /no/such/program") ~= nil', True)
    assert editor("vim.fn.getline(1)") == "# Budget"


def test_the_plugin_has_at_most_200_lines_of_code() -> None:
    lines = [line.strip() for path in PLUGIN.rglob("*.lua") for line in path.read_text().splitlines()]
    assert len([line for line in lines if line and not line.startswith("--")]) <= 200
