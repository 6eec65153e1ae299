# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries and agent for aarch64 that were built on another machine, run by qemu: they do what this machine's do."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest
from handoff import HANDOFF
from machine import LIBRARIES, Machine, compiled
from project import ROOT

WORKLOADS = ROOT / "Tests" / "fleet" / "workloads.c"
SEEDS = int(os.environ.get("SEGUE_SEEDS", "1000"))
PATIENCE = 3600  # seconds for all of them
LARGEST = 1.1  # times the size of this machine's library
PYTHON_TESTS = ROOT / "bindings" / "python"
# Tests that enter namespaces by programs that qemu cannot run there, or look at the threads of another process.
NOT_EMULATED = "not without_proc and not takes_nothing_leaves_room"
# Modules of the Python package's tests, the main parts of the interface. SEGUE_AARCH64_MODULES names others.
MAIN = "activity attachment callbacks closing containers continuing documents forks offers responders stream"
MODULES = os.environ.get("SEGUE_AARCH64_MODULES", MAIN).split()
PROGRAMS = ("-p", "no:cacheprovider", "-p", "no:segue", "-rf")

# The agent is up once it has said so: a pipe that is read to that line.
AGENT = """
export SEGUE_RUNTIME_DIR=$(mktemp -d) XDG_STATE_HOME=$(mktemp -d)
mkfifo $SEGUE_RUNTIME_DIR/said
"$1" 2>$SEGUE_RUNTIME_DIR/said &
exec 3<$SEGUE_RUNTIME_DIR/said
while read -r line <&3; do echo "$line"; case $line in *"this process is the hub"*) break;; esac; done
python3 -c "$2" || exit
kill $!
wait $!
"""


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def built(compiler: str, source: Path, folder: Path, library: Path) -> Path:
    folder.mkdir()
    program = folder / source.stem
    flags = ("-std=gnu11", "-O1", f"-I{ROOT / 'include'}", "-pthread")
    subprocess.run([compiler, *flags, source, "-o", program, library, f"-Wl,-rpath,{library.parent}"], check=True)
    return program


@pytest.mark.parametrize("name", ["libsegue.so.0", "libsegue-fleet.so.0", "segue-agent"])
def test_what_is_built_is_of_aarch64_and_needs_what_this_machines_needs(name):
    def needed(path: Path) -> set[str]:
        said = subprocess.run(["readelf", "--wide", "-d", path], capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"NEEDED.*\[(.*)\]", said)) - {"ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2"}

    head = subprocess.run(["readelf", "-h", LIBRARIES / name], capture_output=True, text=True, check=True).stdout
    assert re.search(r"Machine: +AArch64", head)
    # In glibc of aarch64 the mathematical functions that are used may be the compiler's own.
    assert needed(LIBRARIES / name) | {"libm.so.6"} == needed(ROOT / "lib" / name) | {"libm.so.6"}


@pytest.mark.parametrize(
    ("name", "lists"),
    [("libsegue.so.0", ["symbols.txt"]), ("libsegue-fleet.so.0", ["symbols.txt", "symbols-fleet.txt"])],
)
def test_each_library_exports_what_the_header_declares(name, lists):
    said = subprocess.run(
        ["readelf", "--wide", "--dyn-syms", LIBRARIES / name], capture_output=True, text=True, check=True
    )
    exported = set(re.findall(r"(segue_\w+)@@SEGUE_0", said.stdout))
    assert exported == {each for file in lists for each in (ROOT / "Tests/header" / file).read_text().split()}


def test_the_library_is_hardly_larger():
    sizes = [(folder / "libsegue.so.0").stat().st_size for folder in (LIBRARIES, ROOT / "lib")]
    print(f"aarch64 lib.size_bytes {sizes[0]}, {sizes[0] / sizes[1]:.3f} times this machine's")
    assert sizes[0] <= LARGEST * sizes[1]


def test_the_same_seeds_give_the_same_traces(machine, tmp_path):
    """R11.1: byte for byte, on every machine. The hash is that of the whole trace."""
    fleet = "libsegue-fleet.so.0"
    theirs = compiled(WORKLOADS, ROOT / ".build" / "aarch64", library=fleet)
    ours = built("cc", WORKLOADS, tmp_path / "ours", ROOT / "lib" / fleet)
    here = played([subprocess.Popen(words, text=True, stdout=subprocess.PIPE) for words in shares(ours)])
    there = played([machine.begin('exec "$@"', *words, library=fleet) for words in shares(theirs)])
    assert len(here) == SEEDS
    assert there == here


def shares(program: Path) -> list[list[str | Path]]:
    """The seeds in as many parts as there are processors."""
    count = min(os.cpu_count() or 1, SEEDS)
    bounds = [1 + SEEDS * part // count for part in range(count + 1)]
    return [[program, str(first), str(end - first), "hashes"] for first, end in itertools.pairwise(bounds)]


def played(processes: list[subprocess.Popen[str]]) -> list[str]:
    """Returns a line with the hash of each seed; all processes have to succeed."""
    lines = []
    try:
        for process in processes:
            said, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, said[-2000:]
            lines += re.findall(r"^\d+ [0-9a-f]{16}$", said, re.MULTILINE)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return lines


@pytest.mark.parametrize("module", MODULES)
def test_the_python_package_works(machine, module):
    """The tests of the binding, which calls the C interface by its table; those of apps, without those of a fleet."""
    script = 'cd "$1" && shift && exec python3 -m pytest "$@"'
    options = (*PROGRAMS, "-m", "not fleet", "-k", NOT_EMULATED, f"tests/test_{module}.py")
    said = machine.run(script, PYTHON_TESTS, *options, patience=1800)
    assert re.search(r"\b\d+ passed", said), said[-2000:]


def test_good_and_bad_calls_at_random(machine, tmp_path):
    """Each function of the table, with good, bad and stale arguments, from eight threads and inside callbacks."""
    table = tmp_path / "table.c"
    table.write_bytes(subprocess.run([ROOT / "Tests/abuse/table"], capture_output=True, check=True).stdout)
    sources = [str(each) for each in sorted((ROOT / "Tests/abuse").glob("*.c")) if each.name != "abuse.c"]
    options = (f"-I{ROOT / 'Tests/abuse'}", "-Wno-missing-field-initializers", str(table), *sources)
    program = compiled(ROOT / "Tests/abuse/abuse.c", ROOT / ".build/aarch64", *options, library="libsegue.so.0")
    machine.run('SEGUE_RUNTIME_DIR=$(mktemp -d) exec "$@"', program, "5000", "7", patience=1200)


def test_the_agent_carries_the_hub_and_takes_a_continuation(machine):
    said = machine.run(AGENT, LIBRARIES / "segue-agent", HANDOFF, patience=300)
    assert "this process is the hub" in said and re.search(r"^12 .* aarch64$", said, re.MULTILINE)
