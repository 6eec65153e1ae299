# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts libsegue.so.0 and libsegue-fleet.so.0 into the wheel. They are built first where there are none: that needs
Swift.

SEGUE_LIBRARY names another libsegue.so.0 to take, with the other one beside it; the wheel is for its processor.
SEGUE_AGENT names a segue-agent that goes into the wheel, too; without it the wheel has none, and `segue agent` runs the
one of the system. SEGUE_PROJECT_URL is the project's page, for the metadata.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SONAMES = ("libsegue.so.0", "libsegue-fleet.so.0")
STARTER = "segue-continue"
"""A part of the command (segue_command.py), beside the library that it finds there. It is missing where SEGUE_LIBRARY
has none beside it; then the command does all by itself."""


MACHINES = {62: "x86_64", 183: "aarch64"}
"""The processors by their numbers in the head of an ELF file (e_machine)."""


def platform_of(library: Path) -> str:
    """Returns the platform of a tag for the processor of a library."""
    with library.open("rb") as file:
        (machine,) = struct.unpack_from("<H", file.read(20), 18)
    if machine in MACHINES:
        return f"linux_{MACHINES[machine]}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


class PageHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        page = os.environ.get("SEGUE_PROJECT_URL", "").rstrip("/")
        if page:
            metadata["urls"] = {
                "Homepage": page,
                "Documentation": f"{page}/tree/main/docs",
                "Changelog": f"{page}/blob/main/CHANGELOG.md",
                "Issues": f"{page}/issues",
            }


class LibraryHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        named = os.environ.get("SEGUE_LIBRARY")
        repository = Path(self.root).parents[1]
        folder = Path(named).parent if named else repository / "lib"
        libraries = [folder / soname for soname in SONAMES]
        if not named and not all(each.exists() for each in (*libraries, folder / STARTER)):
            if not (repository / "include" / "segue.h").exists():
                raise RuntimeError(f"no {SONAMES[0]}: build from the repository of Segue, or set SEGUE_LIBRARY to it")
            needed = [f"lib/{name}" for name in (*SONAMES, STARTER)]
            subprocess.run(["make", "-C", str(repository), *needed], check=True)
        for each in (*libraries, *filter(Path.exists, [folder / STARTER])):
            build_data["force_include"][str(each)] = f"segue/{each.name}"
        if agent := os.environ.get("SEGUE_AGENT"):
            # In the folder of the package, where `segue agent` looks for it: not among the scripts, where a program
            # does not know the place of the libraries that come with it.
            build_data["force_include"][str(Path(agent).resolve(strict=True))] = "segue/segue-agent"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(libraries[0])}"
