# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of `segue stdio` and of the plugin for Neovim."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator

from measure import Figure, NotMeasured, Settings, Skipped, build, context_switches, private_bytes, settled, values_of
from programs import programs

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "segue-stdio")
PLUGIN = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "integrations", "nvim")
OPEN = {"protocol": 1, "bundleIdentifier": "com.example.bench", "name": "bench", "types": ["com.example.bench"]}
LINE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "open", "params": OPEN}).encode() + b"\n"
# Neovim measures itself: what the plugin does before the first screen, and what it does after that.
SCRIPT = """
local began = vim.loop.hrtime()
vim.cmd("source {plugin}/plugin/segue.lua")
local loaded = vim.loop.hrtime()
require("segue").start()
io.stdout:write(string.format("%.3f %.3f", (loaded - began) / 1e6, (vim.loop.hrtime() - loaded) / 1e6))
vim.cmd("qa!")
"""


@contextlib.contextmanager
def session(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], float]]:
    """A session, and the milliseconds from the start of its process to the answer to `open`."""
    began = time.perf_counter()
    with subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0) as made:
        assert made.stdin is not None and made.stdout is not None
        made.stdin.write(LINE)
        heard = b""
        while b'"id":1,' not in heard:
            came = os.read(made.stdout.fileno(), 65536)
            if not came:
                raise NotMeasured("segue-stdio has ended")
            heard += came
        try:
            yield made, (time.perf_counter() - began) * 1e3
        finally:
            made.stdin.close()


def stdio(settings: Settings) -> Iterator[Figure]:
    rounds, seconds = (5, 2.0) if settings.short else (50, 30.0)
    with session(settings.environment):  # carries the hub
        took = []
        for _ in range(rounds):
            with session(settings.environment) as (_, milliseconds):
                took.append(milliseconds)
        with session(settings.environment) as (made, _):
            before = settled(lambda: context_switches(made.pid))
            time.sleep(seconds)  # the measurement itself: nothing may happen meanwhile
            switches = context_switches(made.pid) - before
            memory = private_bytes(made.pid) / 1024
    yield Figure("stdio.start_ms", statistics.median(took), f"median of {rounds}", ("<=", 10))
    yield Figure("stdio.private_kib", memory, "idle", ("<=", 1536))
    yield Figure("stdio.wakeups_per_min", switches * 60 / seconds, f"{switches} in {seconds:.0f} s", ("<=", 0))
    yield from continued(settings)


def continued(settings: Settings) -> Iterator[Figure]:
    receiver, participant = build("stdio_continue", "-lsegue"), build("participant", "-lsegue")
    reports, tell = os.pipe()
    with programs(settings.environment) as start:
        start("hub", [participant, "com.example.bench.hub"]).wait_for("ready")
        origin = [participant, "com.example.bench.origin", "--offer", "--tell", str(tell)]
        start("origin", origin, pass_fds=(tell,)).wait_for("ready")
        command = ["/bin/sh", "-c", f'exec "$0" "$@" 4<&{reports}', receiver, PROGRAM]
        got = values_of([*command, "5" if settings.short else "100", "20"], settings, pass_fds=(reports,))
    os.close(reports)
    os.close(tell)
    peers = f"{got['stdio_us']:.0f} us, an app in C {got['direct_us']:.0f} us"
    yield Figure("stdio.continue_ratio", got["stdio_us"] / got["direct_us"], peers, ("<=", 1.5))


def nvim(settings: Settings) -> Iterator[Figure]:
    if shutil.which("nvim") is None:
        raise Skipped("Neovim is not installed")
    rounds, loading, starting = 3 if settings.short else 30, [], []
    script = SCRIPT.format(plugin=PLUGIN)
    for _ in range(rounds):
        done = subprocess.run(
            ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"set rtp^={PLUGIN}", "-c", f"lua {script}"],
            env={**settings.environment, "SEGUE_STDIO": PROGRAM},
            capture_output=True,
            text=True,
        )
        before, after = map(float, done.stdout.split())
        loading.append(before)
        starting.append(after)
    then = f"median of {rounds}; {statistics.median(starting):.1f} ms after it, most of it to start a process"
    yield Figure("nvim.start_ms", statistics.median(loading), then, ("<=", 3))
