# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plays random workloads of the virtual fleet, in the library for tests that ships: no seed may break a promise.

The seeds that once did, and 3,000 more, on all processors; and 100 of other shapes, 20 crowds, 6 large fleets and 10
under valgrind, from first seeds that are drawn and printed. SEGUE_SEEDS=N plays N in place of the 3,000, from a first
seed that is drawn, and 1,000 crowds and large fleets; `make soak` plays a million.

A seed that breaks a promise is printed; write it into regressions.txt with what was wrong.
"""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
from collections.abc import Iterator

import pytest
from project import FLEET_LIBRARY, LIBRARY, ROOT, build
from valgrind import VALGRIND, needs_valgrind

PROGRAM = ROOT / ".build" / "fleet" / "workloads"  # stays, for perf record
SEEDS = 3_000
SHAPES = 100  # workloads of other shapes
CROWDS = 1_000 if "SEGUE_SEEDS" in os.environ else 20  # workloads of one device with many apps
LARGE = 1_000 if "SEGUE_SEEDS" in os.environ else 6  # workloads of 16 to 64 devices
WATCHED = 10  # under valgrind: a second each
WITHIN = 90.0  # seconds of each processor for the 3,000: far more than on a slow machine, where they take 28
LINES = (ROOT / "Tests/fleet/regressions.txt").read_text().splitlines()
REGRESSIONS = [line.split()[0] for line in LINES if line and not line.startswith("#")]


def start(first: int, count: int, *words: str, under: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen([*under, PROGRAM, str(first), str(count), *words], stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    """Returns the output of a process. Shows a broken promise in it at once."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("BROKEN"):
            print(line, end="", flush=True)
    process.stdout.close()
    process.wait()
    return "".join(lines)


def processor_time() -> float:
    """The seconds of processors of all programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.fixture(scope="module", autouse=True)
def regressions() -> Iterator[dict[str, subprocess.Popen[str]]]:
    """The programs are built, and the seeds of regressions.txt begin to play: one of them takes a minute."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    for name in ("workloads", "polling", "forks"):
        build(ROOT / "Tests" / "fleet" / f"{name}.c", PROGRAM.parent, "-O2", library=FLEET_LIBRARY)
    playing = {}
    for line in REGRESSIONS:
        seed, *shape = line.split("/")
        playing[line] = start(int(seed), 1, *shape)
    yield playing
    for process in playing.values():
        process.kill()
        process.wait()


def test_a_program_with_a_loop_and_threads_needs_no_change():
    """R11.1: its callbacks run in its loop, and the fleet waits for what its threads do."""
    ended = subprocess.run([PROGRAM.with_name("polling")], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "as in a device\n"), ended.stderr


TOGETHER = """
#include <segue.h>
#include <stdio.h>
int main(void) {
  segue_fleet *fleet;
  printf("%d\\n", segue_fleet_create(7, &fleet));
  return 0;
}
"""


@pytest.mark.parametrize(("libraries", "said"), [((LIBRARY, FLEET_LIBRARY), 4), ((FLEET_LIBRARY, LIBRARY), 0)])
def test_a_program_with_both_libraries_has_the_fleet_only_if_it_comes_first(tmp_path, libraries, said):
    """Otherwise it would pass handles of one to the other, each of which is invalid there."""
    source = tmp_path / "together.c"
    source.write_text(TOGETHER)
    program = build(source, tmp_path, "-Wl,--no-as-needed", str(libraries[0]), library=libraries[1])
    done = subprocess.run([program], capture_output=True, text=True)
    line = "segue: error: libsegue.so.0 is linked in front of libsegue-fleet.so.0: link the latter in its place\n"
    assert (done.stdout, done.stderr) == (f"{said}\n", line if said else "")


APART = """
#include <dlfcn.h>
#include <segue.h>
#include <stdio.h>
typedef segue_status create(const char *, size_t, segue_app **);
typedef segue_status release(const void *);
int main(int count, char **paths) {
  segue_app *apps[2];
  release *releases[2];
  for (int i = 0; i < 2; i++) {
    void *library = dlopen(paths[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (!library || ((create *)dlsym(library, "segue_app_create"))("org.example.a", SEGUE_NUL_TERMINATED, &apps[i]))
      return count;
    releases[i] = (release *)dlsym(library, "segue_release");
  }
  for (int i = 0; i < 4; i++)
    printf("%d ", releases[i % 2](apps[i < 2 ? 1 - i : i % 2]));
  return 0;
}
"""


def test_a_handle_of_one_library_is_invalid_in_the_other(tmp_path):
    """A program may have both: a plugin brings its own. The first handle of each has the same place in its table."""
    source = tmp_path / "apart.c"
    source.write_text(APART)
    program = build(source, tmp_path, "-ldl", library=LIBRARY)
    done = subprocess.run([program, LIBRARY, FLEET_LIBRARY], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2 2 0 0 "), done.stderr


def test_a_process_that_forks_while_fleets_play_has_fleets_in_the_child():
    ended = subprocess.run([PROGRAM.with_name("forks")], capture_output=True, text=True, timeout=130)
    assert ended.returncode == 0, ended.stderr


def test_two_processes_hash_alike():
    one, other = (finish(process) for process in [start(0, 100, "hashes"), start(0, 100, "hashes")])
    hashes = re.findall(r"^\d+ [0-9a-f]{16}$", one, re.MULTILINE)
    assert len(hashes) == 100
    assert hashes == re.findall(r"^\d+ [0-9a-f]{16}$", other, re.MULTILINE)


def test_no_shape_breaks_a_promise():
    """From one device to 36, from one app to 72, and as many links as there are pairs."""
    first = random.randrange(1 << 48)
    each = SHAPES // 2
    print(f"shapes {first} ... {first + SHAPES - 1}", flush=True)
    for process in [start(first, each, "shapes"), start(first + each, each, "shapes")]:
        assert f"{each} seeds, 0 broken" in finish(process)


def test_no_crowd_breaks_a_promise():
    """R1.11, R2.8: one device, 60 to 400 apps that come to each hub at once, also where its backlog is short."""
    first = random.randrange(1 << 48)
    each = CROWDS // 2
    print(f"crowds {first} ... {first + CROWDS - 1}", flush=True)
    for process in [start(first, each, "crowds"), start(first + each, each, "crowds")]:
        assert f"{each} seeds, 0 broken" in finish(process)


def test_no_large_fleet_breaks_a_promise():
    """R1.11, R2.8: 16 to 64 devices, all linked with each other or in a row."""
    first = random.randrange(1 << 48)
    each = LARGE // 2
    print(f"large {first} ... {first + LARGE - 1}", flush=True)
    for process in [start(first, each, "large"), start(first + each, each, "large")]:
        assert f"{each} seeds, 0 broken" in finish(process)


@needs_valgrind
def test_no_seed_leaves_memory_behind():
    """Also of apps that died, and of hubs: what valgrind finds is printed, with where it was allocated."""
    first = random.randrange(1 << 48)
    each = WATCHED // 2
    print(f"seeds {first} ... {first + WATCHED - 1}", flush=True)
    processes = [start(first, each, under=VALGRIND), start(first + each, each, under=VALGRIND)]
    for process in processes:
        assert f"{each} seeds, 0 broken" in finish(process)
    assert [process.returncode for process in processes] == [0, 0]


def test_no_seed_breaks_a_promise():
    chosen = os.environ.get("SEGUE_SEEDS")
    seeds = int(chosen) if chosen else SEEDS
    first = random.randrange(1 << 48) if chosen else 1_000
    workers = os.cpu_count() or 1
    print(f"seeds {first} ... {first + seeds - 1}, {workers} processes", flush=True)
    before = processor_time()
    each = -(-seeds // workers)
    shares = [(first + index * each, min(each, seeds - index * each)) for index in range(workers)]
    shares = [share for share in shares if share[1] > 0]
    processes = [start(*share) for share in shares]
    reports = [finish(process) for process in processes]
    took = (processor_time() - before) / workers
    print(f"{seeds} seeds in {took:.0f} s of each processor", flush=True)
    for report, (share, process) in zip(reports, zip(shares, processes, strict=True), strict=True):
        assert process.returncode == 0, report[-2000:]
        assert f"{share[1]} seeds, 0 broken" in report, share
    if not chosen:
        assert took < WITHIN


@pytest.mark.parametrize("seed", REGRESSIONS)
def test_a_seed_that_broke_a_promise_once_does_not_any_more(seed, regressions):
    assert "1 seeds, 0 broken" in finish(regressions[seed])
