"""The examples in the tools' docstrings hold."""

import doctest
import importlib
from pathlib import Path

import pytest

pytest.importorskip("jupytext", reason="the book's tools are not installed here")
pytest.importorskip("nbgrader", reason="the book's tools are not installed here")

FOLDER = Path(__file__).resolve().parent.parent / "tools"
# course_config.py is a settings file: nbgrader executes it in a course folder.
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "course_config"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(f"tools.{name}"), optionflags=flags).failed == 0
