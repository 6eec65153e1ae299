# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares include/segue.h, the shipped libraries and the signature table with each other. `accept` takes a change."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from interface import ACCEPTED, FUNCTIONS, HERE, stub
from project import FLEET_LIBRARY, FLEET_SIZE_LIMIT, HEADER, INCLUDE, LIBRARY, ROOT, SIZE_LIMIT, TABLE, run

FUNCTION_LIMIT = 255  # of both libraries together: before a new one, look for what it could be an option or request of
SYMBOLS = (HERE / "symbols.txt").read_text().split()
FLEET_SYMBOLS = (HERE / "symbols-fleet.txt").read_text().split()
LIBRARIES = pytest.mark.parametrize(
    ("library", "symbols"),
    [(LIBRARY, SYMBOLS), (FLEET_LIBRARY, sorted(SYMBOLS + FLEET_SYMBOLS))],
    ids=["library", "fleet"],
)
SHIPPED = pytest.mark.parametrize(
    "file", [LIBRARY, FLEET_LIBRARY, LIBRARY.with_name("segue-agent")], ids=["library", "fleet", "agent"]
)
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
LINKS = """
#include <segue.h>
#include <stdio.h>
typedef void (*function)(void);
static function const functions[] = {%s};
int main(void) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) count += functions[i] != NULL;
    printf("%%zu %%d\\n", count, segue_version() == SEGUE_VERSION);
    return 0;
}
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(("compiler", "standard", "suffix"), [("cc", "c99", "c"), ("c++", "c++17", "cpp")])
def test_the_header_compiles(tmp_path, compiler, standard, suffix):
    source = write(tmp_path, f"header.{suffix}", "#include <segue.h>\nint main(void) { return SEGUE_OK; }\n")
    run(compiler, f"-std={standard}", *WARNINGS, "-I", INCLUDE, "-fsyntax-only", source)


def test_the_interface_stays_small():
    assert len(FUNCTIONS) <= FUNCTION_LIMIT


@LIBRARIES
def test_every_declared_function_links(library, symbols, tmp_path):
    addresses = ", ".join(f"(function)({name})" for name in symbols)
    source = write(tmp_path, "links.c", LINKS % addresses)
    program = tmp_path / "links"
    run("cc", "-std=c99", "-Wall", "-Werror", "-I", INCLUDE, source, library, "-o", program)
    assert run(program, LD_LIBRARY_PATH=str(library.parent)) == f"{len(symbols)} 1\n"


@LIBRARIES
def test_a_library_exports_the_committed_symbols_and_no_others(library, symbols):
    exported = run("nm", "-D", "--defined-only", library).splitlines()
    names = sorted(line.split()[-1].partition("@")[0] for line in exported if not line.endswith(" SEGUE_0"))
    assert names == symbols
    assert all(line.endswith("SEGUE_0") for line in exported), exported


def test_the_header_marks_what_only_the_library_for_tests_has():
    marked = re.findall(r"^SEGUE_FLEET [\w ]*[ *](segue_\w+)\(", HEADER.read_text(), re.MULTILINE)
    assert sorted(marked) == FLEET_SYMBOLS
    assert all("fleet" in name for name in marked)
    assert not any("fleet" in name for name in SYMBOLS)


def test_the_table_is_what_the_header_gives():
    run(ROOT / "bindings" / "api")
    declared = re.findall(r"^(?!typedef)\w[\w ]*[ *](segue_\w+)\(", HEADER.read_text(), re.MULTILINE)
    assert declared == FUNCTIONS


def test_a_parameter_of_a_callback_that_may_be_null_says_so_in_the_table():
    """The comment of each callback stands before its typedef: "or NULL" in the words about a parameter."""
    pattern = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*typedef \w+ \(\*(segue_\w+)\)\(", re.DOTALL)
    comments = {name: comment for comment, name in pattern.findall(HEADER.read_text())}
    found = 0
    for callback in TABLE["callbacks"]:
        for parameter in callback["parameters"]:
            words = re.search(rf"\* +{parameter['name']}  +([^\n]*)", comments.get(callback["name"], ""))
            if words and "or NULL" in words[1]:
                found += 1
                assert parameter["nullable"], f"{callback['name']}: {parameter['name']}"
    assert found > 0


def test_the_compiler_agrees_with_constants_and_layouts_of_the_table(tmp_path):
    claims = []
    for item in TABLE["constants"]:
        name, value = item["name"], item["value"]
        if item["type"] == "string":
            claims.append(f"sizeof {name} == {len(value) + 1} && {name}[0] == '{value[0]}'")
        else:
            claims.append(f"{name} != {name}" if value == "nan" else f"{name} == {value}ULL")
    for layout in TABLE["structs"]:
        claims.append(f"sizeof({layout['name']}) == {layout['size']}")
        claims.append(f"_Alignof({layout['name']}) == {layout['alignment']}")
        for field in layout["fields"]:
            claims.append(f"offsetof({layout['name']}, {field['name']}) == {field['offset']}")
            claims.append(f"sizeof((({layout['name']} *)0)->{field['name']}) == {field['size']}")
    checks = "\n".join(f'    if (!({claim})) puts("{claim}");' for claim in claims)
    source = write(tmp_path, "claims.c", f"#include <segue.h>\n#include <stdio.h>\nint main(void) {{\n{checks}\n}}\n")
    program = tmp_path / "claims"
    run("cc", "-std=c11", "-w", "-I", INCLUDE, source, "-o", program)
    assert run(program) == ""


def test_the_interface_is_the_accepted_one(tmp_path):
    done = subprocess.run(
        ["abidiff", "--no-default-suppression", ACCEPTED, stub(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}\nMeant? Tests/header/accept"


# The agents of a fleet have the databases that ship (docs/decisions/a-library-for-tests.md).
@pytest.mark.parametrize(
    ("library", "named", "more"), [(LIBRARY, "library", set()), (FLEET_LIBRARY, "fleet_library", {"libsqlite3.so.0"})]
)
def test_a_library_needs_the_system_and_libuv_only(library, named, more):
    dynamic = run("readelf", "-d", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic))
    assert needed - {"libm.so.6"} == {"libuv.so.1", "libc.so.6"} | more
    assert re.findall(r"\(SONAME\).*\[(.+)\]", dynamic) == [TABLE[named]]
    assert "NODELETE" in dynamic


@SHIPPED
def test_what_ships_is_hardened(file):
    """All symbols are bound at the start, and read-only from then on; no library is searched for beside the file; what
    is called through a pointer begins with a landing pad (CET). The property of the whole file is not set, since the
    start files of Debian 12 have none."""
    dynamic, segments = run("readelf", "-d", file), run("readelf", "-lW", file)
    assert "BIND_NOW" in dynamic and "GNU_RELRO" in segments
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic
    assert run("objdump", "-d", file).count("endbr64") > 500


@SHIPPED
def test_random_bytes_come_from_the_kernel(file):
    """A generator in the process could be copied with it, and repeat itself (A5)."""
    assert "getrandom" in run("nm", "-D", "--undefined-only", file)
    assert b"RAND_" not in file.read_bytes()


@pytest.mark.parametrize(("library", "limit"), [(LIBRARY, SIZE_LIMIT), (FLEET_LIBRARY, FLEET_SIZE_LIMIT)])
def test_a_library_is_small(library, limit):
    assert library.stat().st_size <= limit
