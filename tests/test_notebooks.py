"""The three trees: what the text becomes, and what is refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("jupytext", reason="the book's tools are not installed here")
pytest.importorskip("nbgrader", reason="the book's tools are not installed here")

from tools import notebooks
from tools.cells import TextFault
from tools.outputs import RunFault

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = """\
# Rooflines

A first paragraph.

+++

A second one, in a cell of its own.

```{code-cell} ipython3
:tags: [guess, ch99.g1]
guess = ...
check("ch99.g1", guess)
```
"""
# A stand-in for the library's check(), so that these tests say something about the tools alone.
EXERCISES = """\
# Exercises: rooflines

```{code-cell} ipython3
class Verdict:
    def __init__(self, key, answer, right):
        self.passed = answer == right
        self.says = "todo" if answer is ... else "pass" if self.passed else "fail"

    def __repr__(self):
        return f"[{self.says}]"

    def _repr_html_(self):
        return f"<b>{self.says}</b>"


def check(key, answer):
    return Verdict(key, answer(3) if callable(answer) else answer, {"ch99.q1": 240, "ch99.q2": 6}[key])
```

(ch99-q1)=
## Q1 · A number

How many?

```{code-cell} ipython3
:tags: [answer, ch99.q1]
### BEGIN SOLUTION
answer = 240
### END SOLUTION
```

```{code-cell} ipython3
:tags: [check, ch99.q1]
check("ch99.q1", answer)
```

+++ {"tags": ["solution"]}

Because 240 is what comes out.

+++

(ch99-q2)=
## Q2 · A function

Write it.

```{code-cell} ipython3
:tags: [answer, ch99.q2]
### BEGIN SOLUTION
def double(n):
    return 2 * n
### END SOLUTION
```

```{code-cell} ipython3
:tags: [check, ch99.q2]
check("ch99.q2", double)
```
"""


def spec(key, points=1, stub=""):
    return SimpleNamespace(key=key, points=points, stub=stub, is_guess=".g" in key)


SPECS = {s.key: s for s in (spec("ch99.g1", 0), spec("ch99.q1", 2), spec("ch99.q2", 3, "def double(n):\n    ..."))}


@pytest.fixture
def root(tmp_path):
    """A checkout with one chapter and its exercises."""
    for tree, text in {"chapters": CHAPTER, "exercises": EXERCISES}.items():
        (tmp_path / "text" / tree).mkdir(parents=True)
        (tmp_path / "text" / tree / "ch99_rooflines.md").write_text(text, encoding="utf-8")
    (tmp_path / "_config.yml").write_text("repository:\n  url: https://host.example/someone/book\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    return tmp_path


def build(root, specs=SPECS):
    return notebooks.build(root, specs=lambda chapter: specs if chapter == "ch99" else {})


def test_x(root):
    made = build(root)
    for k, v in made.items():
        print(k)
        print(v.decode())
