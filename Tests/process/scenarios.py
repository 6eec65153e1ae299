# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The effects of the library on its process, and on one that was forked from it: `scenarios.py NAME FOLDER` runs one.

Each scenario runs in a process of its own, with the shipped library and nothing else that starts threads.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from native import Native, load
from project import HEADER, TABLE

NUL_TERMINATED = ctypes.c_size_t(-1)
OK, INVALID_ARGUMENT, FORKED, SYSTEM = 0, 1, 12, 13
VALUES = ("segue_value_", "segue_writer_", "segue_reader_", "segue_dictionary_", "segue_array_")  # work after fork
GLIBC_SIGNALS = 1 << 31 | 1 << 32  # 32 and 33


def open_app(segue: ctypes.CDLL, folder: str) -> Native:
    """Opens an app, and waits until it is the hub, so that all that it ever starts is there."""
    app = Native(segue, folder)
    app.until("ready")
    return app


def signals() -> dict[str, int]:
    """Blocked, ignored and caught signals of this thread and process, but for glibc's own."""
    found = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(("SigBlk", "SigIgn", "SigCgt")):
            name, mask = line.split(":")
            found[name] = int(mask, 16) & ~GLIBC_SIGNALS
    return found


def threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def descriptors() -> dict[str, int]:
    """Open descriptors, with their flags: FD_CLOEXEC is 1."""
    import fcntl

    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = fcntl.fcntl(int(name), fcntl.F_GETFD)
        except OSError:
            continue  # that of the listing itself
    return found


def in_child(body: Callable[[], None]) -> int:
    """Forks, and gives the exit status of the child: 0 if `body` returned."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            body()
            status = 0
        except BaseException as error:
            print(f"in the child: {error!r}", file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def loading_leaves_the_process_alone(folder: str) -> None:
    before = (signals(), threads(), os.environ.copy(), descriptors())
    segue = load()
    assert segue.segue_limit_get(1, None) == OK
    assert segue.segue_limit_get(-1, None) == INVALID_ARGUMENT
    assert (signals(), threads(), os.environ.copy(), descriptors()) == before


def opening_starts_one_thread_with_all_signals_blocked(folder: str) -> None:
    before, calm, open_before = threads(), signals(), set(descriptors())
    segue = load()
    app = open_app(segue, folder)
    assert signals() == calm, "signal dispositions of the host"
    (new,) = threads() - before
    status = Path(f"/proc/self/task/{new}/status").read_text()
    blocked = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk"))
    # KILL and STOP cannot be blocked.
    expected = (1 << 64) - 1 & ~(1 << 8 | 1 << 18 | GLIBC_SIGNALS)
    assert blocked == expected, f"{blocked:x}"
    flags = {name: flag for name, flag in descriptors().items() if name not in open_before}
    assert flags and all(flag & 1 for flag in flags.values()), f"not close-on-exec: {flags}"
    app.close()
    assert (threads(), signals()) == (before, calm)
    kept = set(descriptors())
    assert len(kept - open_before) <= 2, "libuv keeps a pipe for the life of the process, and that is all"
    open_app(segue, folder).close()
    assert set(descriptors()) == kept


def a_forked_child_is_told_so(folder: str) -> None:
    segue = load()
    memory = ctypes.c_void_p()
    value = ctypes.c_void_p()
    assert segue.segue_value_decode(b"\xf6", ctypes.c_size_t(1), ctypes.byref(value)) == OK
    assert segue.segue_value_encode(value, ctypes.byref(memory), None) == OK
    app = open_app(segue, folder)
    here = [item for item in TABLE["functions"] if "only_in" not in item]
    fallible = [item for item in here if "segue_status" in declared(item["name"])]
    assert len(fallible) > 150

    def child() -> None:
        for function in fallible:
            if function["name"] == "segue_last_error":
                continue
            arguments = [
                ctypes.c_double(0) if item["type"] == "double" else ctypes.c_void_p(0)
                for item in function["parameters"]
            ]
            status = getattr(segue, function["name"])(*arguments)
            if function["name"] == "segue_release":
                assert status == OK, "there is nothing to release"
            elif function["name"].startswith(VALUES):
                assert status != FORKED, function["name"]
            else:
                assert status == FORKED, f"{function['name']}: {status}"
        for handle, expected in ((app.app, FORKED), (app.delegate, FORKED), (value, OK)):
            assert segue.segue_retain(handle) == segue.segue_release(handle) == expected
        assert segue.segue_app_close(app.app) == FORKED
        message = ctypes.create_string_buffer(512)
        assert segue.segue_last_error(message, ctypes.c_size_t(512)) == FORKED
        assert b"fork" in message.value
        assert segue.segue_version() == 0x000100
        segue.segue_free(memory)
        use_values(segue, value)

    assert in_child(child) == 0
    assert segue.segue_release(value) == OK
    app.close()


def use_values(segue: ctypes.CDLL, held: ctypes.c_void_p) -> None:
    """Decodes and encodes; `held` is a null."""
    for bytes_ in (b"\xf6", b"\xa1\x61a\x82\x01\x02"):
        value, memory, length = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        assert segue.segue_value_decode(bytes_, ctypes.c_size_t(len(bytes_)), ctypes.byref(value)) == OK
        assert segue.segue_value_encode(value, ctypes.byref(memory), ctypes.byref(length)) == OK
        assert ctypes.string_at(memory, length.value) == bytes_
        segue.segue_free(memory)
        equal = ctypes.c_bool()
        assert segue.segue_value_is_equal(value, held, ctypes.byref(equal)) == OK
        assert equal.value == (bytes_ == b"\xf6")
        assert segue.segue_release(value) == OK


def a_fork_while_threads_make_values_is_no_deadlock(folder: str) -> None:
    """One of them may be in the handle table, whatever moment it is."""
    segue = load()
    app = open_app(segue, folder)
    null = ctypes.c_void_p()
    assert segue.segue_value_decode(b"\xf6", ctypes.c_size_t(1), ctypes.byref(null)) == OK
    ends = threading.Event()

    def work() -> None:
        while not ends.is_set():
            use_values(segue, null)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for _ in range(100):
        assert in_child(lambda: use_values(segue, null)) == 0
    ends.set()
    for worker in workers:
        worker.join()
    assert segue.segue_release(null) == OK
    app.close()


def a_fork_of_a_process_without_an_app_can_have_one(folder: str) -> None:
    segue = load()
    null = ctypes.c_void_p()
    assert segue.segue_value_decode(b"\xf6", ctypes.c_size_t(1), ctypes.byref(null)) == OK

    def child() -> None:
        use_values(segue, null)
        open_app(segue, folder).close()

    assert in_child(child) == 0
    open_app(segue, folder).close()


def memory_that_is_not_there_is_an_error(folder: str) -> None:
    """RLIMIT_AS: what a caller asks for in one piece is refused."""
    segue = load()
    size = 15 * 1024 * 1024
    value, writer = ctypes.c_void_p(), ctypes.c_void_p()
    data = b"\x5a" + (size - 5).to_bytes(4, "big") + bytes(size - 5)
    assert segue.segue_value_decode(data, ctypes.c_size_t(size), ctypes.byref(value)) == OK
    assert segue.segue_writer_create(ctypes.byref(writer)) == OK
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 8 * 1024 * 1024, resource.RLIM_INFINITY))
    other, text = ctypes.c_void_p(), ctypes.c_void_p()
    assert segue.segue_value_decode(data, ctypes.c_size_t(size), ctypes.byref(other)) == SYSTEM
    message = ctypes.create_string_buffer(512)
    assert segue.segue_last_error(message, ctypes.c_size_t(512)) == SYSTEM
    assert b"memory" in message.value, message.value
    assert segue.segue_value_encode(value, ctypes.byref(text), None) == SYSTEM
    assert segue.segue_value_describe(value, ctypes.byref(text), None) == SYSTEM
    assert segue.segue_writer_put_data(writer, data, ctypes.c_size_t(size)) == SYSTEM
    assert segue.segue_writer_put_string(writer, data, ctypes.c_size_t(size - 1)) == SYSTEM
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert segue.segue_value_decode(data, ctypes.c_size_t(size), ctypes.byref(other)) == OK
    for handle in (value, other):
        assert segue.segue_release(handle) == OK
    assert segue.segue_release(writer) == OK


def refusals(used: int, left: range, attempts: Callable[[], list[int]]) -> int:
    """The number of attempts that find no memory, each with that many MiB beyond `used` bytes: all succeed without a
    limit."""
    refused = 0
    for megabytes in left:
        resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 1024 * 1024, resource.RLIM_INFINITY))
        found = attempts()
        assert set(found) <= {OK, SYSTEM}, found
        refused += found.count(SYSTEM)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert set(attempts()) == {OK}
    return refused


def memory_of_a_known_size_is_an_error(folder: str) -> None:
    """Whatever is left of it: a text that is longer than its value, and copies of 8 MB into and out of another."""
    segue = load()
    million, large, writer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    numbers = (
        b"\x9a"
        + (1_000_000).to_bytes(4, "big")
        + b"".join(b"\x1a" + (70_000 + number).to_bytes(4, "big") for number in range(1_000_000))
    )
    eight = 8 * 1024 * 1024
    data = b"\xa1\x61d\x5a" + eight.to_bytes(4, "big") + bytes(eight)
    assert segue.segue_value_decode(numbers, ctypes.c_size_t(len(numbers)), ctypes.byref(million)) == OK
    assert segue.segue_value_decode(data, ctypes.c_size_t(len(data)), ctypes.byref(large)) == OK
    del numbers, data
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    key = b"d"

    def attempts() -> list[int]:
        out, size = ctypes.c_void_p(), ctypes.c_size_t()
        found = [segue.segue_value_describe(million, ctypes.byref(out), ctypes.byref(size))]
        if found[-1] == OK:
            segue.segue_free(out)
        assert segue.segue_writer_create(ctypes.byref(writer)) == OK
        found.append(segue.segue_writer_put_value(writer, large))
        out = ctypes.c_void_p()
        found.append(segue.segue_writer_finish(writer, ctypes.byref(out)))
        assert segue.segue_release(out) == OK
        assert segue.segue_release(writer) == OK
        for name in ("segue_value_find_value", "segue_dictionary_get_value"):
            out = ctypes.c_void_p()
            found.append(getattr(segue, name)(large, key, ctypes.c_size_t(1), ctypes.byref(out)))
            assert segue.segue_release(out) == OK
        out = ctypes.c_void_p()
        found.append(segue.segue_value_find_data(large, key, ctypes.c_size_t(1), ctypes.byref(out), None))
        segue.segue_free(out)
        return found

    assert refusals(used, range(4, 64, 2), attempts) > 10


def memory_for_the_state_of_an_activity_is_an_error(folder: str) -> None:
    """Whatever is left of it: state that is merged, checked and described, and arrays that become sets."""
    segue = load()
    most, count = ctypes.c_uint64(16 * 1024 * 1024), 200_000
    assert segue.segue_limit_set(2, most) == OK

    def value(data: bytes) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert segue.segue_value_decode(data, ctypes.c_size_t(len(data)), ctypes.byref(made)) == OK
        return made

    length, range_ = count.to_bytes(4, "big"), range(70_000, 70_000 + count)
    numbers = b"".join(b"\x1a" + number.to_bytes(4, "big") for number in range_)
    info = value(b"\xa1\x61i\x9a" + length + numbers)
    entries = value(b"\xba" + length + b"".join(b"\x1a" + number.to_bytes(4, "big") + b"\x00" for number in range_))
    words = value(b"\x9a" + length + b"".join(b"\x68%08d" % number for number in range_))
    del numbers
    states = [ctypes.c_void_p() for _ in range(3)]
    for state in states:
        assert segue.segue_activity_create(None, b"com.example.a", NUL_TERMINATED, ctypes.byref(state)) == OK
        assert segue.segue_activity_set_user_info(state, info) == OK
    merged, described, worded = states
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

    def attempts() -> list[int]:
        out, size = ctypes.c_void_p(), ctypes.c_size_t()
        found = [
            segue.segue_activity_add_user_info_entries(merged, entries),
            segue.segue_activity_set_keywords(worded, words),
            segue.segue_activity_set_required_user_info_keys(worded, words),
            segue.segue_activity_describe(described, ctypes.byref(out), ctypes.byref(size)),
        ]
        segue.segue_free(out)
        for state in (merged, described):
            out = ctypes.c_void_p()
            found.append(segue.segue_activity_validate(state, ctypes.byref(out)))
            assert segue.segue_release(out) == OK
        return found

    assert refusals(used, range(1, 33), attempts) > 0


def bytes_over_the_limit_of_files_are_an_error(folder: str) -> None:
    """RLIMIT_FSIZE counts for files in memory, too, and SIGXFSZ would end the process. One of the host's own stays."""
    segue = load()
    app, activity = open_app(segue, folder), ctypes.c_void_p()
    assert segue.segue_activity_create(app.app, b"com.example.a", NUL_TERMINATED, ctypes.byref(activity)) == OK
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    attach = segue.segue_activity_attach_bytes
    size = ctypes.c_size_t(100_000)
    assert attach(activity, b"large", NUL_TERMINATED, bytes(100_000), size) == SYSTEM
    assert attach(activity, b"small", NUL_TERMINATED, bytes(4096), ctypes.c_size_t(4096)) == OK
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before and not signal.sigpending()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXFSZ])
    signal.pthread_kill(threading.get_ident(), signal.SIGXFSZ)
    assert attach(activity, b"large", NUL_TERMINATED, bytes(100_000), size) == SYSTEM
    assert signal.sigpending() == {signal.SIGXFSZ}
    assert segue.segue_release(activity) == OK
    app.close()


def declared(name: str) -> str:
    """The return type in the header, which the signature table has no need of."""
    header = HEADER.read_text()
    place = header.index(f" {name}(") if f" {name}(" in header else header.index(f"*{name}(")
    return header[header.rindex("\n", 0, place) + 1 : place]


def a_fork_before_the_first_call_is_another_process(folder: str) -> None:
    """Nothing was started yet, so the child may use the library as its own."""
    segue = load()

    def child() -> None:
        assert segue.segue_limit_get(1, None) == OK

    assert in_child(child) == 0
    assert segue.segue_limit_get(1, None) == OK


def the_log_says_nothing_unless_asked(folder: str) -> None:
    segue = load()
    open_app(segue, folder).close()


SCENARIOS = [
    loading_leaves_the_process_alone,
    opening_starts_one_thread_with_all_signals_blocked,
    a_forked_child_is_told_so,
    a_fork_while_threads_make_values_is_no_deadlock,
    a_fork_of_a_process_without_an_app_can_have_one,
    memory_that_is_not_there_is_an_error,
    memory_of_a_known_size_is_an_error,
    memory_for_the_state_of_an_activity_is_an_error,
    bytes_over_the_limit_of_files_are_an_error,
    a_fork_before_the_first_call_is_another_process,
    the_log_says_nothing_unless_asked,
]


if __name__ == "__main__":
    next(scenario for scenario in SCENARIOS if scenario.__name__ == sys.argv[1])(sys.argv[2])
