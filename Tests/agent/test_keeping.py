# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An activity that stays offered when its app has ended (R2.5): the agent stores what the app has left, offers it once
the app is gone, and serves it, also after a restart."""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import socket
import time
import uuid
from collections.abc import Callable

import cbor2
import fuse
import inbox
import pytest
import segue
import wire

TYPE = "com.example.editing"
KEEPS = r"keeps what com.example.editor has left"
LIMIT = 64 << 20
"""Bytes of attachments that the agent keeps of one activity."""
SIZE = 3_000_000
"""More than a socket and a piece hold."""


@pytest.fixture
def output(folder) -> Callable[..., list[str]]:
    """output("list"): what the command line says, once it has ended."""
    return functools.partial(inbox.output, folder)


@pytest.fixture
def viewer(agent, start):
    """An agent, and an app that sees what the editor offers."""
    viewer = start("viewer")
    viewer.agent = agent()
    return viewer.ready()


@pytest.fixture
def editor(viewer, start):
    """An app that offers "one", and asks that this stays offered."""
    editor = start("editor").ready()
    editor.ask("offer one", "offered")
    editor.ask("keep_offering yes", "keeps offering")
    viewer.hears("appeared one")
    return editor


def check_is_served(viewer, title: str = "one", size: str = r"\d+") -> None:
    name = viewer.ask(f"continue {title}", "continuation (.*)")[2]
    viewer.hears(rf"continue {name} {size} {title}")


def test_a_closed_app(editor, viewer):
    """It is saved first, and served as often as it is asked for."""
    editor.ask("payload 100", "payload set")
    editor.tell("close")
    editor.hears("will_save.*")
    viewer.hears("gone one")
    viewer.hears("appeared one")
    for _ in range(2):
        check_is_served(viewer)


def test_more_than_one_window_of_a_closed_app(editor, viewer):
    """More than a channel carries without credit: closing waits until the agent has taken it."""
    editor.ask("payload 250000", "payload set")
    editor.tell("title large")
    viewer.hears("changed large")
    editor.ask("close", "closed")
    viewer.hears("appeared large")
    check_is_served(viewer, "large")


def content(size: int = SIZE) -> bytes:
    """The bytes that a participant attaches."""
    return (bytes(7 * n & 255 for n in range(256)) * (size // 256 + 1))[:size]


def fetch(viewer, folder, **expected: bytes | str) -> None:
    """Continues "one", and fetches its attachments: their bytes, or the errors."""
    check_is_served(viewer)
    for name, wanted in expected.items():
        status = wanted if isinstance(wanted, str) else "OK"
        viewer.ask(f"fetch {name} {folder}/{name}", f"fetched {name} {status}")
        if not isinstance(wanted, str):
            assert (folder / name).read_bytes() == wanted


@pytest.mark.parametrize("how", ["closes", "is killed"])
def test_attachments_are_kept(editor, viewer, agent, tmp_path, how):
    """R2.5, R7.6: also those whose file is gone, and when the agent is killed in between."""
    file = tmp_path / "file"
    file.write_bytes(content())
    editor.ask(f"attach photo {SIZE}", "attached")
    editor.ask("attach empty 0", "attached")
    editor.ask(f"attach_file gone {file}", "attached")
    if how == "closes":
        editor.ask("close", "closed")
        file.unlink()
    else:
        editor.tell("foreground no")
        viewer.agent.wait_for(KEEPS)
        file.unlink()
        editor.kill()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    fetch(viewer, tmp_path, photo=content(), empty=b"", gone=content())
    viewer.agent.kill()
    agent().wait_for("offers what com.example.editor has left")
    viewer.hears("appeared one")
    fetch(viewer, tmp_path, photo=content(), empty=b"", gone=content())


@pytest.mark.parametrize("umask", ["0477", "0777"])
def test_attachments_are_kept_whatever_the_umask(masked_agent, start, tmp_path, umask):
    """R2.5: those that an app hands over, and those that are fetched from it."""
    first = masked_agent(umask)
    viewer, editor = start("viewer").ready(), start("editor").ready()
    editor.ask("offer one", "offered")
    editor.ask("keep_offering yes", "keeps offering")
    viewer.hears("appeared one")
    file = tmp_path / "file"
    file.write_bytes(content())
    editor.ask(f"attach photo {SIZE}", "attached")
    editor.ask(f"attach_file file {file}", "attached")
    editor.ask("close", "closed")
    viewer.hears("gone one")
    viewer.hears("appeared one")
    fetch(viewer, tmp_path, photo=content(), file=content())
    first.kill()
    masked_agent(umask).wait_for("offers what com.example.editor has left")
    viewer.hears("appeared one")
    fetch(viewer, tmp_path, photo=content(), file=content())


def test_attachments_that_cannot_be_kept(viewer, start, tmp_path):
    """Too large, and changed since: the offer stays, fetching one is an error, and both logs say so."""
    changed = tmp_path / "source"
    changed.write_bytes(b"before")
    editor = start("editor", SEGUE_LOG="error").ready()
    editor.ask("offer one", "offered")
    editor.ask("keep_offering yes", "keeps offering")
    viewer.hears("appeared one")
    editor.ask(f"attach large {LIMIT + 1}", "attached")
    editor.ask(f"attach_file changed {changed}", "attached")
    editor.ask("attach small 5", "attached")
    changed.write_bytes(b"after!")
    editor.tell("foreground no")
    editor.program.wait_for(f"attachment large is not kept: at most {LIMIT} bytes are kept of one activity")
    editor.program.wait_for("attachment changed is not kept: was changed since")
    viewer.agent.wait_for("of what com.example.editor leaves 2 of 3 attachments are not kept")
    viewer.agent.wait_for(KEEPS)
    editor.kill()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    fetch(viewer, tmp_path, large="NOT_FOUND", changed="NOT_FOUND", small=content(5))


def test_what_is_withdrawn_gives_the_space_of_its_attachments_back(editor, viewer, output, state):
    def size() -> int:
        return sum(path.stat().st_size for path in (state / "segue").glob("inbox.db*"))

    editor.ask(f"attach photo {10 * SIZE}", "attached")
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    assert size() > 10 * SIZE
    name = next(line for line in output("list") if "'one'" in line).split()[0]
    output("withdraw", name)
    while size() > SIZE:
        pass
    files = {path.name for path in (state / "segue").iterdir()}
    assert files <= {"inbox.db", "inbox.db-wal", "search.db", "search.db-wal", "lock", "machine", "participant"}


def leave(enemy: wire.Connection, channel: int, attachments: dict[str, int], files: dict[str, tuple[int, int]]) -> None:
    """An app by hand leaves a document that names attachments, with files and the times of their last changes."""
    document = cbor2.dumps(
        cbor2.CBORTag(55799, [1, {"type": TYPE, "title": "one", "attachments": attachments}]), canonical=True
    )
    enemy.send_message("keep", uuid.uuid4(), uuid.uuid4(), channel, len(document))
    for name, (fd, changed) in files.items():
        message = wire.message("keepAttachment", channel, name, changed, kind="transfer")
        socket.send_fds(enemy.socket, [message], [fd])
    enemy.send(wire.frame("data", document, channel), wire.end(channel, len(document)))


def test_files_of_a_hostile_app(viewer, folder, tmp_path):
    """Bad descriptors (no file, hanging, endless, of another size than stated) keep the agent from nothing."""
    genuine = tmp_path / "genuine"
    genuine.write_bytes(b"12345")
    good = os.open(genuine, os.O_RDONLY)
    pipe, other = os.pipe()
    written = os.open(genuine, os.O_WRONLY)
    zero = os.open("/dev/zero", os.O_RDONLY)
    changed = genuine.stat().st_mtime_ns
    bad = {"pipe": (pipe, 0), "written": (written, changed), "zero": (zero, 0), "old": (good, changed - 1)}
    with fuse.hanging() as hanging:
        enemy = wire.Connection.to(max(folder.glob("hub.*[0-9]"), key=lambda path: int(path.suffix[1:])))
        enemy.send(wire.hello("enemy"))
        enemy.receive_kind("keeps")
        if hanging is not None:
            bad["hanging"] = (hanging, 0)
        sizes = dict.fromkeys(bad, 5) | {"short": 6, "huge": 2**63, "good": 5}
        leave(enemy, 1, sizes, bad | {"short": (good, changed), "huge": (good, changed), "good": (good, changed)})
        lost = len(sizes) - 1
        viewer.agent.wait_for(f"of what enemy leaves {lost} of {lost + 1} attachments are not kept")
        viewer.agent.wait_for("keeps what enemy has left")
        enemy.close()
        viewer.hears("appeared one")
        fetch(viewer, tmp_path, good=b"12345", **dict.fromkeys([*bad, "short", "huge"], "NOT_FOUND"))
    for fd in (good, pipe, other, written, zero):
        os.close(fd)


def test_a_killed_app_in_the_background(editor, viewer):
    editor.tell("foreground no")
    viewer.agent.wait_for(KEEPS)
    editor.kill()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    check_is_served(viewer)


def test_a_killed_app_that_has_left_nothing(editor, viewer, output):
    editor.kill()
    viewer.hears("gone one")
    assert "one" not in "".join(output("list"))


def test_a_released_activity(editor, viewer):
    """R1.15: its app need not hold it until the end."""
    editor.ask("release", "released")
    viewer.agent.wait_for(KEEPS)
    viewer.hears("gone one")
    editor.end()
    viewer.hears("appeared one")
    check_is_served(viewer)


def test_a_killed_agent_offers_it_again(editor, viewer, agent):
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    viewer.agent.kill()
    second = agent()
    second.wait_for("offers what com.example.editor has left")
    viewer.hears("appeared one")
    check_is_served(viewer)


def test_what_the_disk_refuses_to_say_at_first_is_offered_later(editor, viewer, agent, state):
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    viewer.agent.signal(signal.SIGTERM)
    assert viewer.agent.wait() == 0
    viewer.hears("gone one")
    with inbox.unreadable(state / "segue" / "inbox.db"):
        agent().wait_for("kept offers: .*inbox.db: is no regular file")
    viewer.hears("appeared one")
    check_is_served(viewer)


def test_another_activity_of_the_app_ends_it(editor, viewer, start):
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    again = start("editor").ready()
    again.ask("offer two", "offered")
    viewer.hears("appeared two")
    viewer.hears("gone one")


def test_the_user_withdraws_it(editor, viewer, output):
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    name = next(line for line in output("list") if "'one'" in line).split()[0]
    assert output("withdraw", name) == ["com.example.editing of com.example.editor: withdrawn"]
    viewer.hears("gone one")


def test_what_an_open_app_offers_is_not_withdrawn(editor, viewer, output):
    name = next(line for line in output("list") if "'one'" in line).split()[0]
    assert output("withdraw", name, status=1)[-1].endswith("the agent keeps no offer of it")


def test_without_an_agent_the_app_is_told(start):
    editor = start("editor", SEGUE_LOG="error").ready()
    editor.ask("offer one", "offered")
    editor.ask("keep_offering yes", "keeps offering")
    editor.tell("foreground no")
    editor.program.wait_for("keep offering: CONNECTION_UNAVAILABLE: no agent runs; start segue-agent")


def test_an_app_that_leaves_one_activity_after_the_other(editor, viewer, agent, folder):
    """It keeps nobody from the disk, fills no log, and delays no end; what others have left stays."""
    enemy = wire.Connection.to(max(folder.glob("hub.*[0-9]"), key=lambda path: int(path.suffix[1:])))
    enemy.send(wire.hello("enemy"))
    enemy.receive_kind("keeps")
    document = cbor2.dumps(cbor2.CBORTag(55799, [1, {"type": TYPE, "title": "flood"}]), canonical=True)
    for number in range(400):
        channel = 2 * number + 1
        enemy.send_message("keep", uuid.uuid4(), uuid.uuid4(), channel, len(document))
        enemy.send(wire.frame("data", document, channel), wire.end(channel, len(document)))
    editor.end()
    viewer.hears("gone one")
    viewer.hears("appeared one")
    began = time.monotonic()
    viewer.agent.signal(signal.SIGTERM)
    viewer.agent.wait_for("ends: ")
    assert viewer.agent.wait() == 0 and time.monotonic() - began < 5
    assert sum("enemy has left" in line for line in viewer.agent.said) < 100
    enemy.close()
    agent()
    viewer.hears("appeared one")


def test_python(agent, folder, tmp_path):
    """Requests and attachments that receivers cannot have are errors that say why; `App.withdraw` ends the offer."""
    agent()
    film = tmp_path / "film"
    film.touch()
    os.truncate(film, LIMIT)

    def app(name: str) -> segue.App:
        return segue.App(f"com.example.{name}", team="T", types=[TYPE], runtime_folder=folder)

    async def story() -> None:
        async with app("viewer") as viewer:
            async with app("editor") as editor:
                activity = segue.Activity(editor, TYPE, title="Draft")
                assert activity.keeps_offering is False
                activity.keeps_offering = True
                assert activity.keeps_offering is True
                activity.supports_continuation_streams = True
                activity.attach("film", film)
                activity.attach("photo", b"pixels")
                activity.user_info["page"] = 3
                activity.become_current()
                await editor.ready()
            async for event in viewer.offer_events():
                if event.kind == segue.OfferEventKind.APPEARED and not event.offer.supports_continuation_streams:
                    break
            async with viewer.continue_(event.offer) as continued:
                assert continued.user_info["page"] == 3 and continued.title == "Draft"
                with pytest.raises(segue.InvalidStateError, match="its app has ended"):
                    await continued.request(b"?")
                await continued.fetch_attachment("film", tmp_path / "copy")
                assert (tmp_path / "copy").stat().st_size == LIMIT
                with pytest.raises(segue.NotFoundError, match="attachment photo: the agent has not kept it"):
                    await continued.fetch_attachment("photo", tmp_path / "photo")
            await asyncio.to_thread(viewer.withdraw, event.offer)
            with pytest.raises(segue.NotFoundError, match="keeps no offer"):
                await asyncio.to_thread(viewer.withdraw, event.offer)

    asyncio.run(asyncio.wait_for(story(), 60))
