# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documents: files that the user has open, here and where an activity is continued (R5, R3.5), on a virtual fleet."""

from __future__ import annotations

import concurrent.futures
import gc
import logging
import queue
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import TYPE, Log

import segue
from segue import DOCUMENT_URL_KEY, URL

if TYPE_CHECKING:
    from segue.testing import Fleet

NAME = "com.example.notes.files"
TEXT = "text/plain"
TYPES = [(TEXT, "editor", TYPE), ("text/markdown", "editor", TYPE), (TEXT, "viewer", "com.example.notes.reading")]


class Letter(segue.Document):
    """A text at a line."""

    line = 1

    def update_user_activity_state(self, activity: segue.Activity) -> Any:
        activity.user_info.update({"line": self.line, "focus": "letter"})

    def restore_user_activity_state(self, activity: segue.Activity) -> Any:
        self.line = activity.user_info.get("line", 1)
        return self.line > 0


class Window(segue.ResponderMixin):
    """Shows a document, and adds where it is scrolled to."""

    def __init__(self, name: str):
        self.name = name

    def update_user_activity_state(self, activity: segue.Activity) -> Any:
        activity.user_info.update({self.name: activity.user_info.get(DOCUMENT_URL_KEY), "focus": self.name})


class Observed(segue.Document):
    """Says what its activity was and is."""

    def __init__(self, *arguments: Any):
        self.changes: list[tuple[segue.Activity | None, segue.Activity | None]] = []
        super().__init__(*arguments)

    def user_activity_changed(self, old: segue.Activity | None, new: segue.Activity | None) -> None:
        self.changes.append((old, new))


class Reader(segue.App):
    """Opens documents, as it is told to."""

    answer: Any = None
    document: segue.Document | None = None
    urls: list[str]
    failures: list[segue.Error]

    def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        self.urls = [*getattr(self, "urls", []), str(url)]
        if self.answer is not None:
            return self.answer() if callable(self.answer) else self.answer
        self.document = Letter(self, url, TEXT)
        return self.document


class Careful(Reader):
    """Handles nothing itself."""

    def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
        return False


class Devices:
    """An app on a phone and one on a laptop, each with a folder of its own for the same files."""

    def __init__(self, fleet: Fleet, folder: Path, kind: type[segue.App] = Reader):
        self.fleet = fleet
        self.here, self.there = folder / "phone", folder / "laptop"
        phone, laptop = fleet.add_device("phone"), fleet.add_device("laptop")
        self.origin = phone.add_app("com.example.notes", document_types=TYPES)
        self.reader: Any = laptop.add_app("com.example.notes", kind, document_types=TYPES)
        self.receipts: list[segue.Receipt] = []
        for app, path in ((self.origin, self.here), (self.reader, self.there)):
            path.mkdir()
            app.add_container(NAME, path)
        self.origin.on_continuation_ended(lambda activity, receipt: self.receipts.append(receipt))

    def letter(self, kind: type[segue.Document] = Letter) -> Any:
        """A document that the user works in at the phone. It is open until the end."""
        document = self.kept = kind(self.origin, self.here / "letter.txt", TEXT)
        self.origin.main_responder = document
        self.fleet.run()
        return document

    def pull(self) -> Any:
        self.fleet.run()
        continuation = self.reader.continue_(self.reader.offers[0])
        self.fleet.run()
        return continuation

    def url(self, folder: Path, name: str = "letter.txt") -> URL:
        return URL((folder / name).as_uri())


@pytest.fixture
def devices(segue_fleet: Fleet, tmp_path: Path) -> Devices:
    return Devices(segue_fleet, tmp_path)


@pytest.fixture
def careful(segue_fleet: Fleet, tmp_path: Path) -> Devices:
    return Devices(segue_fleet, tmp_path, Careful)


# ---- what a document has (R5.1) ----


def test_a_document_in_a_container_has_an_activity_by_itself(devices: Devices) -> None:
    """R5.1: of the type for its content type and role, current by the chain, with the URL of the file (R5.2)."""
    document = devices.letter()
    activity = document.user_activity
    assert activity.type == TYPE and activity.is_current
    assert activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here)
    assert [offer.type for offer in devices.reader.offers] == [TYPE]
    viewer = segue.Document(devices.origin, devices.here / "b", TEXT, "viewer")
    assert viewer.user_activity is not None and viewer.user_activity.type == "com.example.notes.reading"
    other = segue.Document(devices.origin, devices.url(devices.here, "c"), "text/markdown")
    assert other.user_activity is not None and other.user_activity.type == TYPE


@pytest.mark.parametrize("why", ["no such type", "another role", "outside", "other letters"])
def test_a_document_without_a_type_or_a_container_has_none(devices: Devices, tmp_path: Path, why: str) -> None:
    """R5.1"""
    place = tmp_path if why == "outside" else devices.here
    content = {"no such type": "text/html", "other letters": "Text/Plain", "another role": "text/markdown"}.get(why)
    role = "viewer" if why == "another role" else "editor"
    document = segue.Document(devices.origin, place / "a.txt", content or TEXT, role)  # type: ignore[arg-type]
    assert document.user_activity is None
    # An activity that the app gives it has the URL from the next save on.
    document.user_activity = segue.Activity(devices.origin, TYPE)
    devices.origin.main_responder = document
    devices.reader.answer = lambda: segue.Document(devices.reader, devices.url(devices.there, "a.txt"), TEXT)
    devices.pull()
    assert document.user_activity.user_info[DOCUMENT_URL_KEY] == devices.url(place, "a.txt")


def test_a_container_that_is_added_later_counts(devices: Devices, tmp_path: Path) -> None:
    """R5.2: a document is inside when its container comes, and leaves when that goes."""
    document = segue.Document(devices.origin, tmp_path / "later" / "a", TEXT)
    assert document.user_activity is None
    devices.origin.add_container("com.example.later", tmp_path / "later")
    activity = document.user_activity
    assert activity is not None
    devices.origin.remove_container("com.example.later")
    assert document.user_activity is None
    devices.fleet.run()
    assert not activity.is_valid


def test_types_of_documents_count_as_declared(devices: Devices) -> None:
    """R5.1: for offers, and not as the type of an activity without one."""
    document = devices.letter()
    assert len(devices.reader.offers) == 1 and document.user_activity is not None
    with pytest.raises(segue.InvalidArgumentError):
        segue.Activity(devices.origin)


# ---- saves (R4.2, R5.2) ----


def test_two_windows_on_one_document(devices: Devices) -> None:
    """R4.2, R5.2: the URL is put back first, documents are asked first, and the focused window wins."""
    document = devices.letter()
    left, right = Window("left"), Window("right")
    for window in (left, right):
        window.user_activity = document.user_activity
        window.next_user_activity_responder = document
    for focused in (left, right):
        devices.origin.main_responder = focused
        activity = devices.pull().wait()
        url = devices.url(devices.there)
        assert activity.user_info.copy() == {
            DOCUMENT_URL_KEY: url,
            "left": url,
            "right": url,
            "line": 1,
            "focus": focused.name,
        }
    # Outside of the chain it is asked before them, though it was attached last.
    for window in (left, right):
        window.next_user_activity_responder = None
    activity = document.user_activity
    document.user_activity = None
    document.user_activity = activity
    assert devices.pull().wait().user_info["focus"] == "right"
    devices.origin.main_responder = None
    assert activity.is_valid and not activity.is_current


def test_the_url_comes_back_when_will_save_has_lost_it(devices: Devices) -> None:
    """R4.2: also of a document without update_state."""
    document = devices.letter(segue.Document)
    activity = document.user_activity
    assert activity is not None
    activity.user_info = {"mine": 1}
    devices.reader.answer = lambda: segue.Document(devices.reader, devices.url(devices.there), TEXT)
    got = devices.pull().wait()
    assert got.user_info.copy() == {DOCUMENT_URL_KEY: devices.url(devices.there), "mine": 1}
    assert activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here)


class Replacing(segue.Document):
    """Replaces user_info, if it is told to."""

    replaces = False
    seen: Any = None

    def update_user_activity_state(self, activity: segue.Activity) -> Any:
        self.seen = activity.user_info.get(DOCUMENT_URL_KEY)
        if self.replaces:
            activity.user_info = {"mine": 1}


@pytest.mark.parametrize("step", ["will_save", "will_save, then update_state", "update_state", "did_update", "later"])
def test_the_url_comes_back_after_a_step_has_replaced_user_info(devices: Devices, step: str) -> None:
    """R4.2: also if it is answered later, and the next step sees it."""
    document = devices.letter(Replacing if "update_state" in step else segue.Document)
    activity = document.user_activity
    assert activity is not None
    answers: list[concurrent.futures.Future[None]] = []

    def replace(activity: segue.Activity = activity) -> None:
        activity.user_info = {"mine": 1}

    def answer_later() -> concurrent.futures.Future[None]:
        answers.append(concurrent.futures.Future())
        return answers[-1]

    if step == "did_update":
        devices.origin.on_did_update(replace)
    elif step == "update_state":
        document.replaces = True
    else:
        activity.on_will_save(answer_later if step == "later" else replace)
    devices.reader.answer = lambda: segue.Document(devices.reader, devices.url(devices.there), TEXT)
    continuation = devices.pull()
    while answers:
        replace()
        answers.pop().set_result(None)
        devices.fleet.run()
    got = continuation.wait()
    assert got.user_info.copy() == {DOCUMENT_URL_KEY: devices.url(devices.there), "mine": 1}
    assert activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here)
    if "update_state" in step:
        assert document.seen == devices.url(devices.here)


# ---- moves (R5.2) ----


def test_a_rename_is_a_change(devices: Devices) -> None:
    """R5.2"""
    document = devices.letter(Observed)
    activity = document.user_activity
    devices.pull().wait()
    activity.needs_save = False
    document.set_url(devices.here / "note.txt")
    assert document.user_activity is activity and activity.needs_save
    assert devices.pull().wait().user_info[DOCUMENT_URL_KEY] == devices.url(devices.there, "note.txt")
    assert document.changes == []


def held(document: segue.Document) -> segue.Activity:
    activity = document.user_activity
    assert activity is not None
    return activity


@pytest.mark.parametrize("registered", ["real", "link"])
def test_a_container_by_its_real_path_and_a_document_by_a_symbolic_link(
    segue_fleet: Fleet, tmp_path: Path, registered: str
) -> None:
    """R5.1, R5.3: and the other way round. The file need not be there yet; a container may come later."""
    here, link = tmp_path / "data", tmp_path / "docs"
    here.mkdir()
    link.symlink_to(here)
    origin = segue_fleet.add_device("phone").add_app("com.example.notes", document_types=TYPES)
    reader = segue_fleet.add_device("laptop").add_app("com.example.notes", Reader, document_types=TYPES)
    (tmp_path / "there").mkdir()
    reader.add_container(NAME, tmp_path / "there")
    opened = link if registered == "real" else here
    document = Letter(origin, opened / "C#.txt", TEXT)
    assert document.user_activity is None
    origin.add_container(NAME, here if registered == "real" else link)
    assert held(document).title == "C#.txt"
    origin.main_responder = document
    for name in ("C#.txt", "new?.txt"):
        document.set_url(opened / name)
        assert held(document).title == name
        assert not [each for each in held(document).validate() if each.status == segue.Status.INVALID_URL]
        segue_fleet.run()
        continuation = reader.continue_(reader.offers[0])
        segue_fleet.run()
        assert continuation.wait().user_info[DOCUMENT_URL_KEY] == URL((tmp_path / "there" / name).as_uri())
    document.set_url(tmp_path / "elsewhere.txt")
    assert document.user_activity is None
    document.set_url(opened / "back.txt")
    assert held(document).title == "back.txt"


def test_a_document_through_a_link_inside_its_container(devices: Devices, tmp_path: Path) -> None:
    """R5.1: it has the URL of its real path, which can be opened; or it is in no container."""
    (devices.here / "sub").mkdir()
    (devices.here / "sub" / "note.txt").write_text("text")
    (devices.here / "link").symlink_to(devices.here / "sub")
    document = Letter(devices.origin, devices.here / "link" / "note.txt", TEXT)
    activity = held(document)
    assert activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here, "sub/note.txt")
    with activity.access(activity.user_info[DOCUMENT_URL_KEY]) as file:
        assert file.read() == b"text"
    (tmp_path / "outside.txt").write_text("not shared")
    (devices.here / "out.txt").symlink_to(tmp_path / "outside.txt")
    document.set_url(devices.here / "out.txt")
    assert document.user_activity is None


def test_the_title_of_a_document_is_the_name_that_the_user_sees(devices: Devices) -> None:
    """R5.1: not that of an object to which git-annex, or a store of packages, links."""
    (devices.here / ".objects").mkdir()
    for number in (1, 2):
        (devices.here / ".objects" / f"SHA256E-{number}.txt").write_text("text")
        (devices.here / f"Letter {number}.txt").symlink_to(f".objects/SHA256E-{number}.txt")
    document = Letter(devices.origin, devices.here / "Letter 1.txt", TEXT)
    activity = held(document)
    for number in (1, 2):
        document.set_url(devices.here / f"Letter {number}.txt")
        assert activity.title == f"Letter {number}.txt"
        assert activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here, f".objects/SHA256E-{number}.txt")
    activity.title = "To Anna"
    document.set_url(devices.here / "Letter 1.txt")
    assert activity.title == "To Anna", "the app's own stays"


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("how", ["created", "moved"])
def test_a_container_whose_folder_comes_later(devices: Devices, tmp_path: Path, is_link: bool, how: str) -> None:
    """R5.1, R5.3: its real path is looked up with that of the document: no link leads out of it."""
    folder, real = tmp_path / "late", tmp_path / "real"
    devices.origin.add_container("com.example.late", folder)
    document = Letter(devices.origin, folder / "note.txt", TEXT)
    assert held(document).user_info[DOCUMENT_URL_KEY] == devices.url(folder, "note.txt")
    by_real_path = Letter(devices.origin, real / "note.txt", TEXT)
    assert by_real_path.user_activity is None
    (real if is_link else folder).mkdir()
    if is_link:
        folder.symlink_to(real)
    (folder / "note.txt").write_text("text")
    (tmp_path / "outside.txt").write_text("not shared")
    (folder / "out.txt").symlink_to(tmp_path / "outside.txt")

    def at(name: str) -> Letter:
        if how == "created":
            return Letter(devices.origin, folder / name, TEXT)
        document.set_url(folder / name)
        return document

    assert at("out.txt").user_activity is None
    inside = at("note.txt")
    url = held(inside).user_info[DOCUMENT_URL_KEY]
    assert url == devices.url(folder, "note.txt")
    with held(inside).access(url) as file:
        assert file.read() == b"text"
    # Its container has that folder now.
    assert (by_real_path.user_activity is not None) == is_link


@pytest.mark.parametrize("name", ["test?file", "C#.txt"])
def test_a_url_with_a_query_or_a_fragment_is_no_document(devices: Devices, name: str) -> None:
    """R5.1, R5.3: it would be the file `test`, or `C`; a path of that name is fine."""
    for file in ("test", "C"):
        (devices.here / file).write_text("another file")
    with pytest.raises(segue.InvalidURLError, match="%23"):
        segue.Document(devices.origin, f"{devices.here.as_uri()}/{name}", TEXT)
    document = segue.Document(devices.origin, devices.here / name, TEXT)
    with pytest.raises(segue.InvalidURLError, match="%23"):
        document.set_url(f"{devices.here.as_uri()}/{name}")
    assert held(document).title == name


def test_a_document_of_a_url_with_a_fragment_is_not_opened(careful: Devices) -> None:
    """R3.5, R5.3: whatever the app has put there."""
    activity = segue.Activity(careful.origin, TYPE)
    activity.user_info[DOCUMENT_URL_KEY] = URL(f"{careful.here.as_uri()}/C#.txt")
    activity.become_current()
    with pytest.raises(segue.Error):
        careful.pull().wait()
    assert not hasattr(careful.reader, "urls")
    assert careful.receipts[-1].outcome == segue.Outcome.FAILED


def test_a_doubled_slash_stays_in_the_container(devices: Devices) -> None:
    """R5.3"""
    document = devices.letter()
    document.set_url(f"{devices.here.as_uri()}//b.txt")
    assert held(document).title == "b.txt"
    devices.pull().wait()
    assert devices.reader.urls == [str(devices.url(devices.there, "b.txt"))]


def test_what_is_opened_is_offered_once_and_stays(devices: Devices) -> None:
    """R3.5, R5.1: the document is current before it is handed over; others see one offer, not one that goes again."""
    devices.letter()
    seen: list[segue.OfferEventKind] = []
    current: list[Any] = []
    devices.origin.on_offer(lambda kind, offer: seen.append(kind))

    def open_it() -> segue.Document:
        # The same file, spelled in another way.
        url = str(devices.url(devices.there)).replace("letter", "%6Cetter")
        opened = Letter(devices.reader, url, TEXT)
        devices.reader.document = devices.reader.main_responder = opened
        current.append(opened.user_activity)
        return opened

    devices.reader.answer = open_it
    devices.pull().wait()
    devices.fleet.run()
    assert current == [devices.reader.document.user_activity]
    assert seen == [segue.OfferEventKind.APPEARED]


def test_a_document_that_was_not_handed_over_has_an_activity_of_its_own(devices: Devices) -> None:
    """R3.5, R5.1: opening failed, or the app handed another one over."""
    devices.letter()
    kept: list[segue.Document] = []
    window = Window("window")
    failed: list[Observed] = []

    def fail() -> None:
        failed.append(Observed(devices.reader, devices.url(devices.there), TEXT))
        window.user_activity = failed[0].user_activity
        raise OSError("no")

    devices.reader.answer = fail
    with pytest.raises(OSError, match="no"):
        devices.pull()
    devices.fleet.run()
    assert devices.receipts[-1].outcome == segue.Outcome.FAILED
    ((came, own),) = failed[0].changes
    assert came is not None and own is not None and came.type == own.type == TYPE
    assert failed[0].user_activity is window.user_activity is own is not came
    failed[0].close()

    def other() -> segue.Document:
        kept.extend(Letter(devices.reader, devices.url(devices.there), TEXT) for _ in range(2))
        return kept[-1]

    devices.reader.answer = other
    devices.pull().wait()
    first, second = (each.user_activity for each in kept)
    assert first is not None and second is not None and first is not second
    assert second.continued_from is not None and first.continued_from is None


def test_a_document_moved_out_and_in(devices: Devices, tmp_path: Path) -> None:
    """R5.2, R4.4: it lets go of its activity, whose URL goes; on its return it gets a new one, and those that shared
    the old one follow. Each change is told."""
    document = devices.letter(Observed)
    shared, apart = Window("shared"), Window("apart")
    first = document.user_activity
    shared.user_activity = first
    document.set_url(tmp_path / "letter.txt")
    assert document.user_activity is None
    devices.fleet.run()
    assert first.is_valid, "a window has it"
    assert DOCUMENT_URL_KEY not in first.user_info
    apart.user_activity = segue.Activity(devices.origin, TYPE)
    document.set_url(tmp_path / "elsewhere.txt")
    document.set_url(devices.here / "back.txt")
    second = document.user_activity
    assert second is not first and second is shared.user_activity is not apart.user_activity
    assert second.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here, "back.txt")
    devices.fleet.run()
    assert not first.is_valid and second.is_valid
    assert document.changes == [(first, None), (None, second)]
    # Nobody else has it: it ends.
    shared.user_activity = None
    document.set_url(tmp_path / "letter.txt")
    assert second.is_valid, "that is decided later (R4.4)"
    devices.fleet.run()
    assert not second.is_valid
    assert document.changes[2:] == [(second, None)]


def test_out_and_in_before_a_delivery_is_told_once(devices: Devices, tmp_path: Path) -> None:
    """R5.2"""
    document = devices.letter(Observed)
    first = document.user_activity
    document.set_url(tmp_path / "letter.txt")
    document.set_url(devices.here / "letter.txt")
    devices.fleet.run()
    assert document.changes == [(first, document.user_activity)]


def test_closing_invalidates_whoever_else_has_it(devices: Devices) -> None:
    """R5.2"""
    document, window = devices.letter(), Window("window")
    activity = document.user_activity
    window.user_activity = activity
    document.close()
    document.close()
    assert not activity.is_valid and window.user_activity is None and document.user_activity is None
    with pytest.raises(segue.InvalidatedError, match="document"):
        document.set_url(devices.here / "b")
    devices.fleet.run()
    assert devices.reader.offers == []


def test_a_document_released_in_its_own_callback(devices: Devices) -> None:
    """Its save goes on without it."""
    calls: list[str] = []
    kept: list[segue.Document] = []

    class Last(segue.Document):
        def update_user_activity_state(self, activity: segue.Activity) -> None:
            calls.append("update")
            kept.clear()
            devices.origin.main_responder = None
            gc.collect()

        def user_activity_changed(self, old: segue.Activity | None, new: segue.Activity | None) -> None:
            calls.append("changed")

    kept.append(Last(devices.origin, devices.here / "letter.txt", TEXT))
    window = segue.Responder(devices.origin, lambda activity: calls.append("window"))
    window.user_activity = kept[0].user_activity
    devices.origin.main_responder = window
    with pytest.raises(segue.HandoffFailedError):
        devices.pull().wait()
    assert calls == ["update"], "releasing it closes it, which invalidates the activity"
    assert window.user_activity is None


def test_an_activity_of_another_app_and_a_file_elsewhere(devices: Devices) -> None:
    """An activity given to two apps; what is no file."""
    document = devices.letter()
    with pytest.raises(segue.InvalidArgumentError, match="app"):
        document.user_activity = segue.Activity(devices.reader, TYPE)
    with pytest.raises(segue.InvalidArgumentError, match="another app"):
        devices.reader.main_responder = document
    foreign = segue.Document(devices.reader, devices.there / "a", TEXT)
    with pytest.raises(segue.InvalidArgumentError, match="app"):
        foreign.user_activity = document.user_activity
    for url in ("https://example.com/a", "letter.txt", "", "segue-container:a/b"):
        with pytest.raises((segue.InvalidURLError, segue.InvalidArgumentError), match="url"):
            document.set_url(url)
    assert document.user_activity.user_info[DOCUMENT_URL_KEY] == devices.url(devices.here)
    with pytest.raises(segue.InvalidArgumentError, match="role"):
        segue.Document(devices.origin, "file:///a", TEXT, "owner")  # type: ignore[arg-type]
    with pytest.raises(segue.InvalidArgumentError, match="content_type"):
        segue.Document(devices.origin, "file:///a", "")
    with pytest.raises(segue.ArgumentTypeError):
        segue.App("com.example.notes", document_types=["text/plain"])  # type: ignore[list-item]


# ---- opening what is continued (R3.5) ----


def test_the_right_document_opens_at_the_right_place(devices: Devices) -> None:
    """R3.5: without on_continue. The document has the continued activity, is restored, and can be asked back."""
    letter = devices.letter()
    letter.line = 7
    activity = devices.pull().wait()
    opened = devices.reader.document
    assert isinstance(opened, Letter) and opened.line == 7
    assert devices.reader.urls == [str(devices.url(devices.there))]
    assert activity.continued_from.document
    assert opened.user_activity is activity
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.RESTORED]
    # It is a live object: what is done there comes back (R3.10).
    devices.reader.main_responder = opened
    opened.line = 9
    assert letter.user_activity is not None
    back = letter.user_activity.resume_back()
    devices.fleet.run()
    back.wait()
    assert letter.user_activity.user_info["line"] == 9


@pytest.mark.parametrize("is_restored", [True, False])
@pytest.mark.parametrize("how", ["at once", "later", "future"])
def test_what_is_restored_and_not_handled_is_opened(
    segue_fleet: Fleet, tmp_path: Path, how: str, is_restored: bool
) -> None:
    """R3.5, R3.4: the document opens after the objects are restored, whose results count, too."""
    calls: list[str] = []
    answer: concurrent.futures.Future[bool] = concurrent.futures.Future()

    class Restores(Reader):
        kept: segue.Continuation

        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
            self.kept = continuation
            continuation.restore([self.restore_window])
            return {"at once": False, "later": segue.LATER, "future": answer}[how]

        def restore_window(self, activity: segue.Activity) -> bool:
            calls.append("window")
            return is_restored

        def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
            calls.append("open")
            return super().on_open_document(url, activity, continuation)

    devices = Devices(segue_fleet, tmp_path, Restores)
    devices.letter()
    continuation = devices.pull()
    if how == "later":
        devices.reader.kept.complete(False)
    elif how == "future":
        answer.set_result(False)
    segue_fleet.run()
    assert calls == ["window", "open"]
    opened = continuation.wait(0)
    assert devices.reader.document.user_activity is opened
    outcome = segue.Outcome.RESTORED if is_restored else segue.Outcome.FAILED
    assert [receipt.outcome for receipt in devices.receipts] == [outcome]


def test_an_answer_does_not_wait_for_objects_that_do_not_count(segue_fleet: Fleet, tmp_path: Path) -> None:
    """R3.4: an app that declines, or breaks, does so at once, and the objects are restored all the same."""
    restored: list[segue.Activity] = []

    class Fails(Reader):
        def on_continue(self, activity: segue.Activity, continuation: segue.Continuation) -> Any:
            continuation.restore([restored.append])
            continuation.fail("it is damaged")
            continuation.cancel()

    devices = Devices(segue_fleet, tmp_path, Fails)
    devices.letter()
    continuation = devices.pull()
    assert [receipt.reason for receipt in devices.receipts] == ["it is damaged"], "the cancel comes too late (R3.3)"
    assert len(restored) == 1 and continuation.done


def test_what_is_not_handled_is_opened(careful: Devices) -> None:
    """R3.5"""
    careful.letter().line = 3
    activity = careful.pull().wait()
    assert isinstance(careful.reader.document, Letter)
    assert careful.reader.document.line == 3 and careful.reader.document.user_activity is activity
    assert careful.receipts[0].outcome == segue.Outcome.RESTORED


@pytest.mark.parametrize("is_open", [True, False])
def test_a_window_of_the_opened_document_follows(devices: Devices, is_open: bool) -> None:
    """R3.5: a document that was open has had an activity by itself, which its window shared, and is told of the other;
    one that is created meanwhile has it from the start."""
    devices.letter()
    window = Window("window")
    kept: list[Observed] = []

    def answer() -> Observed:
        if not kept:
            kept.append(Observed(devices.reader, devices.there / "letter.txt", TEXT))
            window.user_activity = kept[0].user_activity
        return kept[0]

    devices.reader.answer = answer
    former = answer().user_activity if is_open else None
    activity = devices.pull().wait()
    (opened,) = kept
    assert opened.user_activity is window.user_activity is activity
    assert opened.changes == ([(former, activity)] if is_open else [])
    assert former is None or not former.is_valid


def test_only_a_reference_of_a_document_type_is_opened(careful: Devices, tmp_path: Path) -> None:
    """R3.5: not a URL that means something here only, of another type, or of a container that is not here."""
    reader = careful.reader
    for case in ("text", "outside", "another type", "no container"):
        activity = segue.Activity(careful.origin, "com.example.notes.other" if case == "another type" else TYPE)
        url = careful.url(tmp_path if case == "outside" else careful.here)
        activity.user_info[DOCUMENT_URL_KEY] = str(url) if case == "text" else url
        activity.become_current()
        if case == "no container":
            reader.remove_container(NAME)
        if case == "text":
            assert careful.pull().wait() is not None
        elif case != "another type":
            with pytest.raises(segue.HandoffFailedError, match="its document is in no container of this app"):
                careful.pull().wait()
        activity.invalidate()
    assert not hasattr(reader, "urls")
    outcomes = [receipt.outcome for receipt in careful.receipts]
    assert outcomes == [segue.Outcome.DECLINED, segue.Outcome.FAILED, segue.Outcome.FAILED]


@pytest.mark.parametrize("handles", [False, True])
def test_open_document_that_never_answers(segue_fleet: Fleet, tmp_path: Path, handles: bool, log: Log) -> None:
    """R3.5: fails at the deadline: did_fail without on_continue, otherwise the result, the log and the receipt (R3.2).
    A late answer has no effect."""
    devices = Devices(segue_fleet, tmp_path, Careful if handles else Reader)
    later: concurrent.futures.Future[segue.Document] = concurrent.futures.Future()
    later.set_running_or_notify_cancel()  # as that of a thread, which goes on
    devices.reader.answer = later
    failures: list[segue.Error] = []
    devices.reader.on_did_fail(lambda type, error, continuation: failures.append(error))
    devices.letter()
    continuation = devices.pull()
    segue_fleet.advance(19)
    assert not continuation.done and devices.receipts == []
    segue_fleet.advance(2)
    assert continuation.done
    with pytest.raises(segue.RemoteApplicationTimedOutError):
        continuation.wait()
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.FAILED]
    assert devices.receipts[0].status == segue.Status.REMOTE_APPLICATION_TIMED_OUT
    assert len(failures) == (0 if handles else 1)
    assert any(level == logging.ERROR and "open_document" in line for level, line in log) == handles
    late = Letter(devices.reader, devices.there / "letter.txt", TEXT)
    own = late.user_activity
    later.set_result(late)
    segue_fleet.run()
    assert late.user_activity is own and late.line == 1 and len(devices.receipts) == 1


@pytest.mark.parametrize("handles", [False, True])
@pytest.mark.parametrize("how", ["raises", "none", "later", "closed", "cancelled"])
def test_a_document_that_cannot_be_opened(segue_fleet: Fleet, tmp_path: Path, handles: bool, how: str) -> None:
    """R3.5: the origin learns the kind of what was raised, not its text."""
    devices = Devices(segue_fleet, tmp_path, Careful if handles else Reader)
    later: concurrent.futures.Future[Any] = concurrent.futures.Future()
    failures: list[segue.Error] = []
    devices.reader.on_did_fail(lambda type, error, continuation: failures.append(error))

    def answer() -> Any:
        if how == "raises":
            raise OSError("the disk is full")
        if how == "closed":
            document = Letter(devices.reader, devices.there / "letter.txt", TEXT)
            document.close()
            return document
        return None if how == "none" else later

    devices.reader.answer = answer
    devices.letter()
    raised = {"raises": OSError, "closed": segue.InvalidatedError}.get(how)
    segue_fleet.run()
    continuation = devices.reader.continue_(devices.reader.offers[0])
    if raised is not None:
        with pytest.raises(raised):
            segue_fleet.run()
    segue_fleet.run()
    if how == "later":
        later.set_exception(segue.NotThereYetError("it is not there yet"))
        raised = segue.NotThereYetError
        with pytest.raises(raised):
            segue_fleet.run()
    if how == "cancelled":
        continuation.cancel()
    segue_fleet.run()
    with pytest.raises(raised or segue.Error):
        continuation.wait()
    assert len(failures) == (0 if handles else 1)
    (receipt,) = devices.receipts
    assert receipt.outcome == segue.Outcome.FAILED
    reason = {"raises": "OSError", "none": "cannot be opened", "later": "NotThereYetError", "cancelled": "cancelled"}
    assert reason.get(how, "InvalidatedError") in receipt.reason


def test_a_document_that_is_not_restored(devices: Devices) -> None:
    """R3.6: it is open, and the origin keeps its state."""
    devices.letter().line = 0
    devices.pull().wait()
    assert devices.reader.document is not None
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.FAILED]


def test_closing_the_app_ends_an_opening(devices: Devices) -> None:
    """R3.14"""
    devices.reader.answer = concurrent.futures.Future()
    devices.letter()
    continuation = devices.pull()
    devices.reader.close()
    with pytest.raises(segue.CancelledError):
        continuation.wait()
    devices.fleet.run()
    assert [receipt.outcome for receipt in devices.receipts] == [segue.Outcome.FAILED]


def test_a_pull_while_the_document_opens_gets_what_was_received(devices: Devices) -> None:
    """R4.2: nothing is saved until the restoration has ended."""
    later: concurrent.futures.Future[segue.Document] = concurrent.futures.Future()
    devices.reader.answer = later
    tablet = devices.fleet.add_device("tablet").add_app("com.example.notes", document_types=TYPES)
    devices.letter().line = 5
    devices.pull()
    document = Letter(devices.reader, devices.there / "letter.txt", TEXT)
    later.set_result(document)
    devices.reader.main_responder = document
    devices.fleet.run()
    assert document.line == 5
    offer = next(each for each in tablet.offers if each.device_name == "laptop")
    assert tablet.continue_(offer).wait().user_info["line"] == 5


def test_async_handlers_open_documents(folder: str, tmp_path: Path) -> None:
    """R3.5, with processes' own sockets and asyncio."""
    import asyncio

    class Later(segue.App):
        async def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
            await asyncio.sleep(0)
            self.document = Letter(self, url, TEXT)
            return self.document

    async def play() -> None:
        here, there = tmp_path / "here", tmp_path / "there"
        async with (
            segue.App("com.example.notes", document_types=TYPES) as origin,
            Later("com.example.notes", document_types=TYPES) as reader,
        ):
            for app, path in ((origin, here), (reader, there)):
                path.mkdir()
                app.add_container(NAME, path)
            letter = Letter(origin, here / "a", TEXT)
            letter.line = 4
            origin.main_responder = letter
            async for event in reader.offer_events():
                await reader.continue_(event.offer)
                break
            while reader.document.line != 4:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(play(), 20))


@pytest.mark.parametrize("turns", range(1, 9))
def test_an_app_that_closes_opens_no_document(folder: str, tmp_path: Path, turns: int) -> None:
    """R3.5, R3.14: whatever has happened of the continuation when it closes."""
    opened: list[bool] = []

    class Watching(segue.App):
        def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
            opened.append(self._stopped)
            return Letter(self, url, TEXT)

    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    with (
        segue.App("com.example.notes", document_types=TYPES, delivery="thread") as origin,
        Watching("com.example.notes", document_types=TYPES) as reader,
    ):
        origin.add_container(NAME, tmp_path / "here")
        reader.add_container(NAME, tmp_path / "there")
        letter = origin.main_responder = Letter(origin, tmp_path / "here" / "a", TEXT)
        while not reader.offers:
            reader.dispatch(20)
        continuation = reader.continue_(reader.offers[0])
        for _ in range(turns):
            reader.dispatch(0.2)
    assert continuation.done and True not in opened and letter.user_activity is None


def test_an_app_may_close_while_a_document_opens(folder: str, tmp_path: Path, log: Log) -> None:
    """R3.5, R3.14: the document comes too late, which is no failure of the callback."""
    opening = threading.Event()

    class Slow(segue.App):
        def on_open_document(self, url: URL, activity: segue.Activity, continuation: segue.Continuation) -> Any:
            opening.set()
            limit = time.monotonic() + 20
            while time.monotonic() < limit:  # nothing tells a callback that its app closes
                try:
                    self.main_responder = None
                except segue.InvalidatedError:
                    return late
            return None

    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    came: queue.SimpleQueue[segue.Offer] = queue.SimpleQueue()
    with (
        segue.App("com.example.notes", document_types=TYPES, delivery="thread") as origin,
        Slow("com.example.notes", document_types=TYPES, delivery="thread") as reader,
    ):
        reader.on_offer(lambda kind, offer: came.put(offer))
        origin.add_container(NAME, tmp_path / "here")
        reader.add_container(NAME, tmp_path / "there")
        late, letter = Letter(reader, tmp_path / "there" / "b", TEXT), Letter(origin, tmp_path / "here" / "a", TEXT)
        origin.main_responder = letter
        continuation = reader.continue_(came.get(timeout=20))
        assert opening.wait(20)
    assert continuation.done
    assert not any("INVALIDATED" in text for _, text in log)
