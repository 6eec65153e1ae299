# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants: those that were written by hand, and those that a script makes of the sources."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "Tests" / "mutants" / "written.toml"
EQUIVALENT = ROOT / "Tests" / "mutants" / "equivalent.toml"
# Each after those that it imports.
MODULES = (
    "SegueModel",
    "SegueSystem",
    "SegueWire",
    "SegueEngine",
    "SegueApp",
    "SegueManifests",
    "SegueCrypto",
    "SegueAgentCore",
    "SegueStore",
    "SegueOpenSSL",
)
# A script draws from these; the mutants of the others are written.
DRAWN = ("SegueModel", "SegueWire", "SegueEngine")


@dataclass
class Mutant:
    """A replacement of one span of a file's text."""

    name: str
    file: str
    start: int
    end: int
    becomes: str
    is_statement: bool
    rule: str = ""
    # Whether random runs alone have to notice it.
    by_seeds: bool = False
    number: int = -1
    # passed, failed, trapped or hung: of the suite that was asked last, and its tests that failed.
    verdict: str = ""
    suite: str = ""
    noticed_by: str = ""

    @property
    def is_caught(self) -> bool:
        return self.verdict not in ("", "passed")

    @property
    def is_written(self) -> bool:
        return bool(self.rule)


def source(file: str) -> str:
    return (ROOT / "Sources" / file).read_text()


# ---- Written by hand


def written() -> tuple[list[Mutant], list[str]]:
    """The mutants of written.toml, and what is wrong with those that do not apply."""
    mutants, problems, texts = [], [], {}
    for entry in tomllib.loads(WRITTEN.read_text())["mutant"]:
        file, at = entry["file"], entry["at"]
        text = texts.setdefault(file, source(file) if (ROOT / "Sources" / file).is_file() else "")
        before, opened, rest = at.partition("⟦")
        old, closed, after = rest.partition("⟧")
        plain = before + old + after
        if not opened or not closed or text.count(plain) != 1:
            problems.append(f"{entry['rule']} {entry['name']}: stands {text.count(plain)} times in {file}")
            continue
        start = text.index(plain) + len(before)
        mutants.append(
            Mutant(
                entry["name"],
                file,
                start,
                start + len(old),
                entry["becomes"],
                entry.get("statement", False),
                entry["rule"],
                entry.get("seeds", False),
            )
        )
    names = [mutant.name for mutant in mutants]
    problems += [f"{name}: is there twice" for name in sorted(set(names)) if names.count(name) > 1]
    return mutants, problems


# ---- Drawn from the sources

CONDITION = re.compile(r"\b(if|guard|while) (?=\S)")
# One whole statement on one line: an assignment, or a call.
STATEMENT = re.compile(
    r"^ *(?:case [^:]*: |default: )?"
    r"(?P<statement>(?:try )?[a-zA-Z_][\w.?!\[\]()$, +]*(?: [-+&|]?=(?!=) .+|\(.*\)))$"
)
# Statements that are there for speed, for people who read a log, or to stop what is wrong already, and declarations.
IDLE = re.compile(
    r"^(private|public|static|fileprivate|nonisolated|typealias|return|throw|let|var|for|if|guard|while|switch|func|import|case|init)\b"
    r"|^(@|super|self = |self\.init|self\.\w+ = \w+$)|reserveCapacity|\blog\(|precondition|\bassert\("
)


def code_of(text: str) -> str:
    """The text with comments and strings blanked, at the same places."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])  # noqa: E731
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text)


def clauses(code: str, start: int) -> Iterable[tuple[int, int]]:
    """The parts of a condition list that begins at `start`, up to its `{` or `else`."""
    depth, begin = 0, start
    for place in range(start, min(len(code), start + 400)):
        letter = code[place]
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif depth == 0 and (letter in ",{" or code.startswith("else", place)):
            # A closure inside a condition has its braces in parentheses, by the formatter's rule.
            yield begin, place
            if letter != ",":
                return
            begin = place + 1


def is_statement(code: str) -> bool:
    """An assignment, or one call whose arguments go to the end; not what is only part of an expression."""
    depth = 0
    for place, letter in enumerate(code):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and re.match(r" (&&|\|\||\?|\+|-|==|!=|<=?|>=?) ", code[place:]) and " = " not in code[:place]:
            return False
    return True


def drawable(taken: Sequence[Mutant]) -> list[Mutant]:
    """All mutants that a script can make of the modules, but for lines with one that was written."""
    reasons = tomllib.loads(EQUIVALENT.read_text()).get("equivalent", [])
    found: list[Mutant] = []
    for module in DRAWN:
        for path in sorted((ROOT / "Sources" / module).rglob("*.swift")):
            file = str(path.relative_to(ROOT / "Sources"))
            # Invariants are what notices.
            if path.name.endswith("Invariants.swift"):
                continue
            text = path.read_text()
            code = code_of(text)
            for match in CONDITION.finditer(code):
                for start, end in clauses(code, match.end()):
                    part = text[start:end]
                    start += len(part) - len(part.lstrip())
                    part = part.strip()
                    if part and "\n" not in part and not re.match(r"(let|var|case|#)\b", part) and "{" not in part:
                        found.append(Mutant(f"not: {part}", file, start, start + len(part), f"!({part})", False))
            place, before = 0, ""
            for line, blanked in zip(text.splitlines(), code.splitlines(), strict=True):
                match = STATEMENT.match(blanked.rstrip())
                # The middle of a longer statement is none.
                if before.endswith((",", "(", "[", "=", "&&", "||", "?", ":", "in")) and "case" not in before:
                    match = None
                before = blanked.rstrip() or before
                is_whole = "{" not in blanked and all(blanked.count(a) == blanked.count(b) for a, b in ("()", "[]"))
                if match and is_whole and is_statement(match["statement"]) and not IDLE.search(match["statement"]):
                    statement = line[match.start("statement") : match.end("statement")]
                    start = place + match.start("statement")
                    found.append(Mutant(f"without: {statement}", file, start, start + len(statement), "", True))
                place += len(line) + 1
    lines = {(mutant.file, line) for mutant in taken for line in lines_of(mutant)}

    def is_idle(mutant: Mutant) -> bool:
        return any(mutant.file.endswith(entry["file"]) and mutant.name == entry["mutant"] for entry in reasons)

    return [one for one in found if not is_idle(one) and not any((one.file, line) in lines for line in lines_of(one))]


def lines_of(mutant: Mutant) -> range:
    text = source(mutant.file)
    return range(text.count("\n", 0, mutant.start) + 1, text.count("\n", 0, mutant.end) + 2)


def draw(seed: int, count: int, taken: Sequence[Mutant]) -> list[Mutant]:
    chance = random.Random(seed)
    all_of_them = drawable(taken)
    chosen: list[Mutant] = []
    for mutant in chance.sample(all_of_them, len(all_of_them)):
        # Two in one place cannot be told apart.
        if len(chosen) < count and not any(
            other.file == mutant.file and set(lines_of(other)) & set(lines_of(mutant)) for other in chosen
        ):
            chosen.append(mutant)
    return chosen
