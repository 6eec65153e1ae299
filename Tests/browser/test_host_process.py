# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process of segue-browser-host: its confinement, what it costs, and its entries for browsers."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from desk import PATIENCE, SOURCES
from identity import IDENTITY
from messaging import HOST, Host
from project import ROOT, build
from test_host import URL


def test_the_host_gives_up_what_it_does_not_need(host):
    """(R12.4) No new privileges, and system calls are filtered."""
    browser = host()
    status = Path(f"/proc/{browser.process.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status


def tried(folder: Path, tmp_path: Path, *words: str) -> dict[str, str]:
    """The results of confined.c. Its runtime folder is beside a file, in a folder that is no temporary one by name."""
    confinement = SOURCES / "host" / "confinement.c"
    program = build(ROOT / "Tests/browser/confined.c", tmp_path, confinement, f"-I{ROOT / 'Sources/CLinux'}")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere:
        other = Path(elsewhere, "file")
        other.write_text("x")
        environment = {**os.environ, "SEGUE_RUNTIME_DIR": str(folder / "run")}
        command = [program, other, folder / "beside", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return dict(line.split() for line in done.stdout.splitlines())


def test_a_confined_process_reaches_neither_network_nor_files_nor_programs(folder, tmp_path):
    """(R12.4) Without confinement, the same program does all of it. The runtime folder is made if it is not there."""
    if ctypes.CDLL(None).syscall(444, None, 0, 1) < 3:  # landlock_create_ruleset: the version
        pytest.skip("Landlock of this kernel is too old to refuse all of it")
    assert tried(folder, tmp_path) == {
        "local": "done", "inside": "done", "inside-again": "done", "system": "done", "network": "EAFNOSUPPORT",
        "network6": "EAFNOSUPPORT", "raw": "EAFNOSUPPORT", "reading": "EACCES", "writing": "EACCES",
        "emptying": "EACCES", "beside": "EACCES", "signal": "EPERM", "memory": "EPERM", "program": "EPERM",
    }  # fmt: skip
    control = tried(folder, tmp_path, "free")
    for word in ("network", "reading", "writing", "emptying", "beside", "signal", "memory", "program"):
        assert control[word] == "done", word


def test_a_host_ends_when_its_runtime_folder_is_deleted(folder):
    """(R12.4) It may not use the one that takes its place; its successor may."""
    run = folder / "run"
    browser = Host(run)
    while run.exists():  # the hub may be making a file there
        shutil.rmtree(run, ignore_errors=True)
    browser.offer(1, URL, "One")
    assert browser.receive() == {"t": "refused", "reason": "the runtime folder was deleted"}
    assert browser.status() == 1
    browser.kill()
    successor = Host(run)
    assert successor.end() == 0


def switches(browser: Host) -> int:
    """The number of times that its threads have waited."""
    tasks = Path(f"/proc/{browser.process.pid}/task").iterdir()
    lines = [line for task in tasks for line in (task / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


def test_an_idle_host_does_nothing(agent, host, peer):
    """An offered page costs no wake-ups."""
    browser = host()
    browser.offer(1, URL, "Idle")
    peer.offer("Idle")
    before = -1
    deadline = time.monotonic() + PATIENCE
    while before != (before := switches(browser)):  # what has begun ends
        assert time.monotonic() < deadline
        time.sleep(1)
    time.sleep(3)  # the idleness itself
    assert switches(browser) == before


def test_the_host_says_nothing_on_standard_error_and_keeps_no_file_open(host, peer):
    browser = host()
    browser.offer(1, URL, "One")
    peer.offer("One")
    files = [os.readlink(entry) for entry in Path(f"/proc/{browser.process.pid}/fd").iterdir()]
    assert not [name for name in files if name.startswith("/") and "segue-run-" not in name and "/dev/" not in name]
    browser.process.stdin.close()
    assert browser.process.stderr.read() == b""


def test_the_manifests_name_this_program_and_our_extension(tmp_path):
    """(R12.4) A path may hold spaces."""
    program = tmp_path / 'a "folder"' / "segue-browser-host"
    program.parent.mkdir()
    program.write_bytes(HOST.read_bytes())
    program.chmod(0o755)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(HOST.parent)}
    for browser, key, value in (
        ("firefox", "allowed_extensions", IDENTITY["FIREFOX_ID"]),
        ("chromium", "allowed_origins", f"chrome-extension://{IDENTITY['CHROMIUM_ID']}/"),
    ):
        text = subprocess.run([program, "--manifest", browser], capture_output=True, check=True, env=environment).stdout
        entry = json.loads(text)
        assert (entry["name"], entry["path"], entry["type"]) == (IDENTITY["HOST_NAME"], str(program), "stdio")
        assert entry[key] == [value]
    assert subprocess.run([program, "--manifest", "lynx"], capture_output=True, env=environment).returncode == 2


def test_the_agent_knows_the_host_of_each_browser():
    """R12.3: the agent finds the host by the browser that the user has chosen."""
    hosts = re.findall(r'\{"\w+", "([\w.-]+)",', (ROOT / "browser" / "host" / "browsers.c").read_text())
    table = (ROOT / "Sources" / "SegueModel" / "Web" / "Browser.swift").read_text()
    assert hosts and hosts == re.findall(r'^    \("([\w.-]+)", \[', table, re.MULTILINE)
