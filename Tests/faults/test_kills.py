# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whoever is killed at whatever system call, the others go on (R2.8, R3.2, R3.14, R3.6). SEGUE_KILLS says how many."""

from __future__ import annotations

import collections
import itertools
import os
import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attempt import Attempt, Fault
from temporary_folders import temporary

KILLS = int(os.environ.get("SEGUE_KILLS", "100"))
SEED = int(os.environ.get("SEGUE_SEED") or random.SystemRandom().randrange(1_000_000))
AT_ONCE = 4

# After which messages who may die, and within how many calls of the library.
MOMENTS = {
    "hub": {0: 60, 2: 8, 6: 8, 8: 8, 11: 10, 12: 10, 14: 8, 15: 6, 7: 8},
    "editor": {0: 40, 2: 8, 6: 8, 11: 8, 12: 6, 14: 5, 7: 6},
    "viewer": {0: 40, 2: 8, 8: 8, 11: 6, 12: 6, 14: 6},
}


def live(attempt: Attempt) -> None:
    """Until the victim dies, or all has been done: offer, continue, end."""
    attempt.start("hub")
    if not attempt.hear_or_death("hub", "connection ready"):
        return
    if attempt.fault.what == "fork":
        attempt.tell("hub", "fork")
        if not attempt.hear_or_death("hub", "the child has freed"):
            return
    attempt.start("editor", "--limit", "10", "0")
    if not attempt.hear_or_death("editor", "connection ready"):
        return
    attempt.tell("editor", "offer one")
    attempt.start("viewer")
    if not attempt.hear_or_death("viewer", "appeared one"):
        return
    attempt.tell("hub", "offer hub's")
    if not attempt.hear_or_death("viewer", "appeared hub's"):
        return
    attempt.tell("viewer", "continue one")
    if not attempt.hear_or_death("viewer", "(continue|did_fail) .*") or not attempt.hear_or_death("editor", "ended .*"):
        return
    attempt.programs[attempt.fault.victim].end_input()
    attempt.wait(lambda: attempt.death or attempt.find(attempt.fault.victim, "ended with .*"))


def go_on(attempt: Attempt) -> None:
    """The two that are left: what was under way has ended, nothing else has changed, and they continue each other's."""
    death = attempt.death
    assert death
    victim = attempt.fault.victim
    for name in {"hub", "editor", "viewer"} - set(attempt.programs):
        attempt.start(name, *(["--limit", "10", "0"] if name == "editor" else []))
    for name in attempt.alive:
        attempt.hear(name, "connection ready")
    if victim != "viewer" and attempt.find("viewer", "will_continue .*|continuation .*"):
        over = attempt.hear("viewer", "(continue|did_fail) .*", patience=5)
        assert over.at - death.at < 2500, f"{attempt.fault}: {over}{attempt}"
    if victim == "editor" and attempt.find("viewer", "appeared one"):
        attempt.hear("viewer", "gone one", patience=3)
    check_undisturbed(attempt, death.at)

    origin, receiver = {"hub": ("editor", "viewer"), "editor": ("hub", "viewer"), "viewer": ("editor", "hub")}[victim]
    attempt.tell(origin, "offer again")
    attempt.hear(receiver, "appeared again")
    attempt.tell(receiver, "continue again")
    name = attempt.hear(receiver, "continue .* again").text.split()[1]
    attempt.hear(origin, f"ended {name} restored .*")
    for name in attempt.alive:
        check_told_once(attempt, name)


def check_undisturbed(attempt: Attempt, since: float) -> None:
    victim = attempt.fault.victim
    if victim == "hub":
        # R2.8: no flicker.
        assert len(attempt.all("viewer", "(gone|appeared) one")) <= 1, f"{attempt.fault}{attempt}"
        return
    for name in attempt.alive:
        assert not attempt.find(name, "connection searching", since), f"{attempt.fault}: {name} lost its hub{attempt}"
    other = "hub's" if victim == "editor" else "one"
    for name in attempt.alive:
        assert not attempt.find(name, f"gone {other}"), f"{attempt.fault}: {other} went{attempt}"


def check_told_once(attempt: Attempt, who: str) -> None:
    """R3.2 and R3.6"""
    for said in attempt.all(who, "will_continue .*"):
        name = said.text.split()[1]
        assert len(attempt.all(who, f"(continue|did_fail) {name} .*")) == 1, f"{attempt.fault}: {who} {name}{attempt}"
    ended = [said.text.split()[1] for said in attempt.all(who, "ended .*") if "handles" not in said.text]
    assert len(ended) == len(set(ended)), f"{attempt.fault}: {who}{attempt}"


def failovers(attempt: Attempt) -> list[float]:
    """Milliseconds until those that had the hub had another."""
    assert attempt.death
    times = []
    for name in attempt.alive:
        if lost := attempt.find(name, "connection searching", attempt.death.at):
            found = attempt.hear(name, "connection ready", lost.at)
            times.append(found.at - attempt.death.at)
    return times


def attempt(built: Path, fault: Fault, fates: Fates) -> None:
    """One life, and what comes after the victim's death; nothing if it lived through it all."""
    with temporary("segue-kill-") as folder:
        attempt = Attempt(built, folder, fault)
        try:
            live(attempt)
            if not attempt.death:
                return
            go_on(attempt)
            fates.add(attempt, failovers(attempt))
            if fault.what == "stop":
                # It follows the others, and is one of them again; or continues to end.
                attempt.programs["hub"].signal(signal.SIGCONT)
                attempt.hear("hub", "connection ready|ended with 0 handles", attempt.death.at)
            for name in attempt.alive:
                attempt.end(name)
        finally:
            attempt.close()


class Fates:
    """The results of all attempts."""

    def __init__(self) -> None:
        self.phases: collections.Counter[tuple[str, str]] = collections.Counter()
        self.times: list[float] = []
        self._lock = threading.Lock()

    def add(self, attempt: Attempt, times: list[float]) -> None:
        with self._lock:
            self.phases[attempt.fault.victim, attempt.phase] += 1
            self.times += times

    @property
    def total(self) -> int:
        return self.phases.total()

    def __str__(self) -> str:
        lines = [f"seed {SEED}: {self.total} died, by who it was and what it was about"]
        for phase in dict.fromkeys(phase for _, phase in sorted(self.phases)):
            row = ", ".join(f"{who} {self.phases[who, phase]}" for who in MOMENTS if self.phases[who, phase])
            lines.append(f"  {phase:<12}{sum(self.phases[who, phase] for who in MOMENTS):5}  {row}")
        if self.times:
            times = sorted(self.times)
            median = times[len(times) // 2]
            lines.append(f"  another hub after {median:.0f} ms (median), {times[-1]:.0f} ms (longest of {len(times)})")
        return "\n".join(lines)


def perform(built: Path, what: str, victims: list[str], count: int) -> Fates:
    """Attempts until so many have died, at moments drawn from the seed, the rarest first."""
    chance = random.Random(f"{SEED} {what}")
    fates = Fates()
    moments = [(victim, kind) for victim in victims for kind in MOMENTS[victim]]
    chance.shuffle(moments)
    plan = itertools.cycle(moments)
    for _ in range(6):
        faults = []
        for victim, kind in itertools.islice(plan, count - fates.total):
            faults.append(Fault(victim, what, kind, chance.randrange(MOMENTS[victim][kind]) + 1))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda fault: attempt(built, fault, fates), faults))
        if fates.total >= count:
            break
    return fates


def check_times(fates: Fates) -> None:
    """R2.8: within a second, but for a machine that has other things to do now and then."""
    late = [time for time in fates.times if time > 1000]
    assert len(late) <= 1 + len(fates.times) // 50 and max(fates.times) < 2000, late


def report(fates: Fates, capsys) -> None:
    with capsys.disabled():
        print(f"\n{fates}", flush=True)


def test_whoever_is_killed_the_others_go_on(built, capsys):
    fates = perform(built, "kill", list(MOMENTS), KILLS)
    report(fates, capsys)
    assert fates.total >= KILLS
    check_times(fates)
    if KILLS >= 1000:
        phases = collections.Counter[str]()
        for (_, phase), count in fates.phases.items():
            phases[phase] += count
        assert min(phases.values()) >= 20 and len(phases) == 8, phases


def test_a_hub_with_a_forked_child_is_killed(built, capsys):
    """The child keeps nothing of the hub alive."""
    fates = perform(built, "fork", ["hub"], max(10, KILLS // 10))
    report(fates, capsys)
    check_times(fates)
    assert fates.total >= max(10, KILLS // 10)


def test_a_hub_is_stopped(built, capsys):
    """At any call; those who have something to say find another, and it follows them when it wakes."""
    fates = perform(built, "stop", ["hub"], max(10, KILLS // 10))
    report(fates, capsys)
    assert fates.total >= max(10, KILLS // 10)
