# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shells that take part in a locale whose charset is not UTF-8."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from shells import SHELLS
from test_terminal import Start, info_of, receiver


@pytest.mark.parametrize("name", SHELLS)
def test_a_folder_adds_no_value_where_a_backslash_ends_a_character(
    start: Start, shell, tmp_path: Path, name: str
) -> None:
    """In GBK its last byte and a backslash are one character. So the quotes behind that had to stay escaped."""
    words = ["localedef", "-c", "-i", "zh_CN", "-f", "GBK", str(tmp_path / "zh_CN.GBK")]
    if subprocess.run(words, capture_output=True).returncode > 1:
        pytest.skip("no sources of locales: the Debian package locales is not installed")
    place = tmp_path / 'x\u00e9\u4e01\\","host":"evil'
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    terminal, host = shell(name, LOCPATH=str(tmp_path), LC_ALL="zh_CN.GBK"), receiver(start)
    terminal.type(f"cd {tmp_path}/link; cd (pwd -P)" if name == "fish" else f"cd -P {tmp_path}/link")
    info = info_of(host, place.name)
    assert info["url"] == place.as_uri() and "host" not in info
