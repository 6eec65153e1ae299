# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interface as a compiler sees it: a stub library whose debug information is compared."""

from __future__ import annotations

from pathlib import Path

from project import INCLUDE, TABLE, run

HERE = Path(__file__).resolve().parent
FUNCTIONS = [function["name"] for function in TABLE["functions"]]
ACCEPTED = HERE / "segue.abi"
"""The description that libabigail makes of a stub library, as it was when the interface was last accepted: every
function, type and layout of the header. Any difference fails."""


def stub(folder: Path) -> Path:
    """A library that has every function of the header and does nothing: its debug information is the interface."""
    source = folder / "stub.c"
    lines = ["#include <segue.h>"]
    for function in TABLE["functions"]:
        parameters = ", ".join(f"{item['c']} {item['name']}" for item in function["parameters"]) or "void"
        returns = {"pointer": "const char *", "void": "void", "uint32": "uint32_t"}.get(function["returns"], "int32_t")
        result = "" if returns == "void" else "return 0;"
        lines.append(f"{returns} {function['name']}({parameters}) {{ {result} }}")
    source.write_text("\n".join(lines) + "\n")
    library = folder / "libsegue-fleet.so.0"
    # No folder of this run is in it, so that segue.abi changes with the interface alone.
    options = ["-g", "-shared", "-fPIC", "-w", f"-ffile-prefix-map={folder}/=", "-Wl,-soname,libsegue-fleet.so.0"]
    run("cc", *options, "-I", INCLUDE, source, "-o", library)
    return library
