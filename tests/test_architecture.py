"""Who may import whom, what an import costs, and how long a file may be."""

import ast
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import scaling_lib as sl

pytest.importorskip("importlinter", reason="import-linter is not installed here")

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scaling_lib"
FILES = sorted(PACKAGE.rglob("*.py"))
LINTER = Path(sys.executable).with_name("lint-imports")


def lint(folder):
    command = [str(LINTER), "--config", str(ROOT / ".importlinter"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)})


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, to plant something in."""
    shutil.copytree(PACKAGE, tmp_path / "scaling_lib", ignore=shutil.ignore_patterns("__pycache__", "static", "*.json"))
    return tmp_path


def test_the_floors_hold():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("units.py", "import scaling_lib.roofline"),
        ("hardware/specs.py", "from scaling_lib.roofline import ridge_point"),
        ("roofline.py", "import jax"),
        ("exercises/__init__.py", "import scaling_lib.referee"),
        ("roofline.py", "import matplotlib.pyplot"),
        ("cli.py", "import ipywidgets"),
    ],
)
def test_a_planted_import_across_the_floors_is_found(copy, file, line):
    path = copy / "scaling_lib" / file
    path.write_text(path.read_text("utf-8") + f"\n{line}\n", "utf-8")
    done = lint(copy)
    assert done.returncode == 1 and "BROKEN" in done.stdout


def test_a_room_that_is_on_no_floor_is_found(copy):
    (copy / "scaling_lib" / "attic.py").write_text("", "utf-8")
    done = lint(copy)
    assert done.returncode != 0 and "attic" in done.stdout + done.stderr


def test_importing_the_library_loads_nothing_heavy():
    heavy = ["jax", "jaxlib", "matplotlib", "ipywidgets", "anywidget", "IPython", "numpy.ma"]
    code = f"import sys, scaling_lib; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_is_short_enough_to_read(path):
    assert len(path.read_text("utf-8").splitlines()) <= 350


def test_no_module_is_named_like_a_public_function():
    # Else `scaling_lib.hardware.chips` would be now the module, now the function.
    functions = {name for name in sl.__all__ if inspect.isfunction(getattr(sl, name))} | {"check", "verify"}
    assert not functions & {path.stem for path in FILES}


def test_every_public_name_is_listed_and_documented():
    assert len(set(sl.__all__)) == len(sl.__all__) and all(hasattr(sl, name) for name in sl.__all__)
    for name in sl.__all__:
        thing = getattr(sl, name)
        if callable(thing):
            assert thing.__doc__, name
        if inspect.isfunction(thing) and name != "prices":
            assert ">>>" in thing.__doc__, name
    assert sl.Masked.__name__ == "Masked"
    with pytest.raises(AttributeError, match="no attribute 'ridge'"):
        _ = sl.ridge


def test_functions_are_small():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 40, f"{path.name}:{node.name} has {lines} lines"
