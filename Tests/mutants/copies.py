# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One copy of the modules with all mutants in it, each behind a switch, and its build."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutant import MODULES, ROOT, Mutant, lines_of, source

COPY = ROOT / ".build" / "mutants"

SWITCH = """
import Glibc
/// The mutant that is switched on.
public let activeMutant: Int = getenv("SEGUE_MUTANT").flatMap { Int(String(cString: $0)) } ?? -1
@inline(__always) public func isMutant(_ number: Int) -> Bool { activeMutant == number }
"""


def applied(text: str, mutants: Sequence[Mutant]) -> str:
    """No line is added, so that what the compiler says can be traced to a mutant."""
    grown: list[tuple[int, int]] = []  # where, and by how much
    for mutant in sorted(mutants, key=lambda one: (-one.start, one.end)):
        end = mutant.end + sum(more for at, more in grown if at < mutant.end)
        old, switch = text[mutant.start : end], f"isMutant({mutant.number})"
        if mutant.is_statement:
            new = f"if {switch} {{ {mutant.becomes} }} else {{ {old} }}"
        elif mutant.becomes == f"!({old})":
            new = f"({switch} != ({old}))"
        else:
            new = f"({switch} ? ({mutant.becomes}) : ({old}))"
        text = text[: mutant.start] + new + text[end:]
        grown.append((mutant.start, len(new) - len(old)))
    return text


def closure(targets: dict[str, dict], wanted: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in wanted:
        for needed in [*closure(targets, (d["byName"][0] for d in targets[name]["dependencies"])), name]:
            if needed not in found:
                found.append(needed)
    return found


def manifest(suites: Iterable[str]) -> tuple[str, list[str]]:
    """A package of these test targets and what they need; and their folders."""
    dumped = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, check=True).stdout
    targets = {target["name"]: target for target in json.loads(dumped)["targets"]}
    wanted = sorted({suite for suite in suites if suite in targets})
    lines, folders = [], []
    for name in closure(targets, wanted):
        target = targets[name]
        kinds = {"test": "testTarget", "system": "systemLibrary", "executable": "executableTarget"}
        kind = kinds.get(target["type"], "target")
        folder = target.get("path") or f"{'Tests' if kind == 'testTarget' else 'Sources'}/{name}"
        folders.append(folder)
        needs = ", ".join(f'"{d["byName"][0]}"' for d in target["dependencies"])
        excluded = ", ".join(f'"{path}"' for path in target["exclude"])
        parts = [f'name: "{name}"']
        if kind != "systemLibrary":
            parts.append(f"dependencies: [{needs}]")
        parts.append(f'path: "{folder}"')
        if excluded:
            parts.append(f"exclude: [{excluded}]")
        kinds_of_settings = [setting["kind"] for setting in target["settings"]]
        linked = [kind["linkedLibrary"]["_0"] for kind in kinds_of_settings if "linkedLibrary" in kind]
        if linked:
            parts.append(f"linkerSettings: [{', '.join(f'.linkedLibrary({json.dumps(name)})' for name in linked)}]")
        lines.append(f"    .{kind}({', '.join(parts)}),")
    head = ["// swift-tools-version: 6.2", "import PackageDescription", "let package = Package("]
    return "\n".join([*head, '  name: "Mutants",', "  targets: [", *lines, "  ])", ""]), folders


def make_copy(mutants: Sequence[Mutant], suites: Iterable[str]) -> None:
    """Only what changes is written, so that a second build is short."""
    text, folders = manifest(suites)
    wanted = {Path("Package.swift"): text.encode(), Path("Sources/SegueModel/ActiveMutant.swift"): SWITCH.encode()}
    for folder in [*folders, "docs"]:  # tests compare the messages with those that a page describes
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                wanted[path.relative_to(ROOT)] = path.read_bytes()
    for file in {mutant.file for mutant in mutants}:
        text = applied(source(file), [mutant for mutant in mutants if mutant.file == file])
        if not file.startswith("SegueModel/") and "import SegueModel\n" not in text:
            text = (
                "import SegueModel; " + text
                if not text.startswith("//")
                else text.replace("\n", "\nimport SegueModel; ", 1)
            )
        wanted[Path("Sources") / file] = text.encode()
    for path, content in wanted.items():
        there = COPY / path
        if not there.is_file() or there.read_bytes() != content:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)
    for folder in (COPY / "Sources", COPY / "Tests"):
        for path in folder.rglob("*"):
            if path.is_file() and path.relative_to(COPY) not in wanted:
                path.unlink()


BUILD = (
    "swift",
    "build",
    "-c",
    "release",
    "--build-tests",
    "-Xswiftc",
    "-enable-testing",
    "-Xswiftc",
    "-suppress-warnings",
)


def complaints(module: str) -> str:
    """Returns the errors of the compiler for a module of the copy. Without its optimizer that takes seconds."""
    # Nothing goes to the null device: a compiler that fails removes its output, and root may remove that, too.
    built = COPY / "modules"
    built.mkdir(exist_ok=True)
    files = sorted(str(path) for path in (COPY / "Sources" / module).rglob("*.swift"))
    if not files:
        return ""
    command = ["swiftc", "-swift-version", "6", "-module-name", module, "-I", str(built), "-suppress-warnings", "-wmo"]
    for maps in sorted((COPY / "Sources").glob("*/module.modulemap")):
        command += ["-I", str(maps.parent)]
    command += [
        "-emit-sil",
        "-o",
        str(built / f"{module}.sil"),
        "-emit-module-path",
        str(built / f"{module}.swiftmodule"),
    ]
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode != 0 else ""


def problem(mutants: list[Mutant], suites: Sequence[str]) -> str:
    """Returns the errors of the compiler for the modules with these mutants in them. Empty: they can be made."""
    for number, mutant in enumerate(mutants):
        mutant.number = number
    make_copy(mutants, suites)
    return next((said for module in MODULES if (said := complaints(module))), "")


def build(mutants: list[Mutant], suites: Sequence[str]) -> list[Mutant]:
    """Builds the copy, without those that do not compile. Returns what is left."""
    for number, mutant in enumerate(mutants):
        mutant.number = number
    while True:
        make_copy(mutants, suites)
        said = next((said for module in MODULES if (said := complaints(module))), "")
        if not said:
            done = subprocess.run(BUILD, cwd=COPY, capture_output=True, text=True)
            if done.returncode == 0:
                return mutants
            said = done.stdout + done.stderr
        bad: set[int] = set()
        for file, line in set(re.findall(rf"{re.escape(str(COPY))}/Sources/(\S+?):(\d+):\d+: error:", said)):
            here = [mutant for mutant in mutants if mutant.file == file]
            exact = [mutant for mutant in here if int(line) in lines_of(mutant)]
            # A missing statement may be an error further down: then the nearest mutant above is the cause.
            above = [mutant for mutant in here if lines_of(mutant).start <= int(line) and not mutant.is_written][-1:]
            bad |= {mutant.number for mutant in exact or sorted(above, key=lambda one: one.start)[-1:]}
        if not bad:
            sys.exit(f"the copy does not build:\n{said[-4000:]}")
        for mutant in mutants:
            if mutant.number in bad:
                if mutant.is_written:
                    sys.exit(f"{mutant.rule} {mutant.name}: does not compile\n{said[-3000:]}")
                print(f"does not compile: {mutant.file}: {mutant.name}", flush=True)
        mutants = [mutant for mutant in mutants if mutant.number not in bad]
