# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page that names every name, and what it is made from."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from conftest import ROOT, environment

import segue
import segue._public


def test_the_reference_page_is_up_to_date() -> None:
    """docs/python-api.md is made from the docstrings."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the page is made with the Python that the project's tests run with")
    program = ROOT / "bindings" / "python" / "api"
    done = subprocess.run([sys.executable, str(program)], env=environment("/nowhere"), capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_package_has_the_names_that_it_loads_later() -> None:
    """A program that uses none of them loads nothing for them."""
    assert {*segue.__all__} - {"errors", "library_path", "library_version"} == {*segue._public.__all__}
    assert {*segue.__all__} <= {*dir(segue)}
    script = "import sys, segue; print('asyncio' in sys.modules, 'cbor2' in sys.modules, segue.App.__name__)"
    done = subprocess.run([sys.executable, "-c", script], env=environment("/nowhere"), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False False App\n", "")


def test_every_public_name_says_what_it_is() -> None:
    for name in segue.__all__:
        value = getattr(segue, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        assert value.__doc__, name
        for member, found in vars(value).items() if inspect.isclass(value) else ():
            if not member.startswith("_") and (inspect.isfunction(found) or isinstance(found, (property, classmethod))):
                assert inspect.getdoc(getattr(value, member)), f"{name}.{member}"
