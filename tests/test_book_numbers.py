"""The book states no number that the code does not yield."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jupytext", reason="the book's tools are not installed here")
pytest.importorskip("nbgrader", reason="the book's tools are not installed here")

from tools import prose
from tools.prose_text import unchecked

ROOT = Path(__file__).resolve().parent.parent
PAGES = [name for name in prose.all_checks(ROOT) if prose.is_book(name)]
LEAST_SHARE = 0.95


def test_every_checked_number_of_the_book_is_right():
    done = subprocess.run([sys.executable, "tools/prose.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", PAGES)
def test_results_are_checked(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    checked = sum(bool(check.expr) for check in prose.all_checks(ROOT)[name])
    bare = unchecked(text, name)
    listed = ", ".join(f"line {line}: {number}" for line, number in bare)
    assert prose.share(checked, len(bare)) >= LEAST_SHARE, listed
