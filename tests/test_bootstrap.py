"""The first cell of every notebook, tried as Colab would run it: with the release, but without a network."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tools.address import version
from tools.bootstrap import bootstrap

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = {d.name.lower() for d in importlib.metadata.distributions()}


def test_the_first_cell_does_nothing_where_the_library_is_installed(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("it ran an installer"))
    exec(bootstrap("chapters/x.ipynb", "https://host.example/someone/book", "1.2.3"), {})


@pytest.mark.skipif(not {"setuptools", "pip"} <= INSTALLED, reason="no setuptools and pip to build a wheel with")
def test_the_first_cell_installs_the_release_and_leaves_jax_and_numpy_alone(tmp_path):
    """Tried for real in a fresh environment with older versions than the lock's, from a wheel of this checkout."""
    python = fresh_environment(tmp_path / "colab", {"numpy": "2.1.3", "jax": "0.7.2"})
    wheel = build_wheel(tmp_path)
    cell = bootstrap("chapters/x.ipynb", "https://host.example/someone/book", "1.2.3")
    cell = re.sub(r'release = ".*"', lambda _: f"release = {str(wheel)!r}", cell)
    tell = "\nfrom importlib.metadata import version\nprint([version(n) for n in ('scaling-lib', 'numpy', 'jax')])"
    clean = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([python, "-c", cell + tell], capture_output=True, text=True, cwd=tmp_path, env=clean)
    assert done.stdout.strip() == str([version(ROOT), "2.1.3", "0.7.2"]), done.stderr


def fresh_environment(folder, packages):
    """A virtual environment that believes it has these packages."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True
    )
    for name, release in packages.items():
        info = Path(found.stdout.decode().strip()) / f"{name}-{release}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n")
    return python


def build_wheel(folder):
    """A wheel of this checkout, built offline from a copy."""
    copy = folder / "source"
    shutil.copytree(ROOT / "scaling_lib", copy / "scaling_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", folder / "wheels", copy], check=True)
    return next((folder / "wheels").glob("scaling_lib-*.whl"))
