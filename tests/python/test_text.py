"""Docstrings, documentation and types: what they say runs, and mypy --strict agrees."""

import doctest
import importlib
import importlib.util
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest
from conftest import run_docstrings

import submarine
from submarine import _core

PACKAGE = pathlib.Path(submarine.__file__).parent
DOCS = pathlib.Path(__file__).parents[2] / "docs"


def modules():
    for info in pkgutil.walk_packages([str(PACKAGE)], "submarine."):
        if not info.name.endswith(("_core", "install", "torch")):
            yield info.name


@pytest.mark.parametrize("name", ["submarine", *modules()])
def test_docstrings(name):
    examples = run_docstrings(importlib.import_module(name))
    assert examples >= {"submarine._solve": 7, "submarine._models": 18, "submarine._refine": 12}.get(name, 0)


def test_public_things_have_docstrings():
    for name in submarine.__all__:
        if name != "__version__":
            assert getattr(submarine, name).__doc__, name


@pytest.mark.parametrize("name", ["python.md", "pydensecrf.md"])
def test_documentation(name, tmp_path, monkeypatch):
    page = DOCS / name
    if not page.exists():
        pytest.skip(f"{page} is not there")
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS).failed == 0


def test_every_function_of_the_c_interface_is_documented():
    page = DOCS / "c_api.md"
    if not page.exists():
        pytest.skip(f"{page} is not there")
    described = set(re.findall(r"^\| `(\w+)` \|", page.read_text(), flags=re.MULTILINE))
    assert described == set(_core._about()["functions"])


def test_mypy(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed, and types are not checked")
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE.parts:
        environment["MYPYPATH"] = str(PACKAGE.parent)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "-p", "submarine"], capture_output=True,
        text=True, check=False, cwd=tmp_path, env=environment,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_import_is_quick():
    """In CPU time beyond numpy's own import, which other work on the machine does not lengthen much."""
    code = "import time, numpy; t = time.process_time(); import submarine; print(time.process_time() - t)"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    seconds = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                             env=environment).stdout)
        for _ in range(4)
    )
    assert seconds < 0.2, f"it takes {seconds:.2f} s"
