"""The three trees: what the text becomes, and what is refused."""

import json
import re
import subprocess
import sys
import time
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


import scaling_lib.exercises

scaling_lib.exercises.check = check
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


def checkout(folder):
    """A checkout with one chapter and its exercises."""
    for tree, text in {"chapters": CHAPTER, "exercises": EXERCISES}.items():
        (folder / "text" / tree).mkdir(parents=True)
        (folder / "text" / tree / "ch99_rooflines.md").write_text(text, encoding="utf-8")
    (folder / "_config.yml").write_text("repository:\n  url: https://host.example/someone/book\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path):
    return checkout(tmp_path)


def build(root, specs=SPECS):
    return notebooks.build(root, specs=lambda chapter: specs if chapter == "ch99" else {})


def read(made, name):
    return json.loads(made[f"{name}/ch99_rooflines.ipynb"])


def source(cell):
    return "".join(cell["source"])


def tagged(notebook, *tags):
    return next(c for c in notebook["cells"] if set(tags) <= set(c["metadata"].get("tags", ())))


def edit(root, tree, old, new):
    path = root / "text" / tree / "ch99_rooflines.md"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The three notebooks, made once."""
    return build(checkout(tmp_path_factory.mktemp("made")))


# ------------------------------------------------------------------------------- what is made


def test_the_same_text_gives_the_same_bytes(root, made):
    assert build(root) == made


def test_cell_ids_come_from_stem_and_position(made):
    ids = [cell["id"] for cell in read(made, "chapters")["cells"]]
    assert ids == [f"ch99_rooflines-{i:03d}" for i in range(4)]


def test_an_edit_inside_a_cell_changes_that_cell_alone(root, made):
    edit(root, "chapters", "A second one", "Another one")
    before, after = read(made, "chapters")["cells"], read(build(root), "chapters")["cells"]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, False, True]


def test_every_notebook_starts_with_the_cell_that_installs_the_pinned_release(made):
    for tree in notebooks.NOTEBOOK_TREES:
        first = read(made, tree)["cells"][0]
        assert source(first).startswith(f"# {tree}/ch99_rooflines.ipynb · https://host.example/someone/book\n")
        assert '"https://host.example/someone/book/archive/refs/tags/v1.2.3.zip"' in source(first)
        assert '"--no-deps"' in source(first)
        assert first["metadata"]["tags"] == ["remove-cell"]


def test_only_check_cells_of_solutions_have_outputs(made):
    for tree in notebooks.NOTEBOOK_TREES:
        for cell in read(made, tree)["cells"]:
            stored = tree == "solutions" and "check" in cell["metadata"].get("tags", ())
            assert bool(cell.get("outputs")) == stored
    check = tagged(read(made, "solutions"), "check", "ch99.q1")
    assert check["execution_count"] == 1
    assert check["outputs"][0]["data"] == {"text/plain": ["[pass]"], "text/html": ["<b>pass</b>"]}


def test_a_check_asserts_in_the_solutions_and_only_shows_in_the_exercises(made):
    asserting = source(tagged(read(made, "solutions"), "check", "ch99.q1"))
    assert asserting.splitlines() == [
        "from scaling_lib.exercises import check",
        "",
        'v = check("ch99.q1", answer)',
        "### BEGIN HIDDEN TESTS",
        "assert v.passed, v",
        "### END HIDDEN TESTS",
        "v",
    ]
    learners = 'from scaling_lib.exercises import check\n\nv = check("ch99.q1", answer)\nv'
    assert source(tagged(read(made, "exercises"), "check", "ch99.q1")) == learners


def test_the_learner_finds_a_stub_and_no_solution(made):
    learners = read(made, "exercises")
    assert source(tagged(learners, "answer", "ch99.q1")) == "answer = ..."
    assert source(tagged(learners, "answer", "ch99.q2")) == "def double(n):\n    ..."
    assert not any("SOLUTION" in source(c) or "240 is what" in source(c) for c in learners["cells"])
    assert any("240 is what" in source(c) for c in read(made, "solutions")["cells"])


def test_code_around_a_solution_stays(root):
    inside = "def double(n):\n    ### BEGIN SOLUTION\n    return 2 * n\n    ### END SOLUTION\n"
    edit(root, "exercises", "### BEGIN SOLUTION\ndef double(n):\n    return 2 * n\n### END SOLUTION\n", inside)
    assert source(tagged(read(build(root), "exercises"), "answer", "ch99.q2")) == "def double(n):\n    ..."


def test_nbgrader_accepts_both_versions_and_finds_the_points(made):
    from nbgrader.validator import Validator  # noqa: F401  (the package is complete)

    for tree in ("exercises", "solutions"):
        metadata = [c["metadata"]["nbgrader"] for c in read(made, tree)["cells"] if "nbgrader" in c["metadata"]]
        ids = [m["grade_id"] for m in metadata]
        assert len(set(ids)) == len(ids)
        assert not any("." in i for i in ids)
        assert {m["grade_id"]: m["points"] for m in metadata if m["grade"]} == {"ch99-q1-check": 2, "ch99-q2-check": 3}
        assert [m["grade_id"] for m in metadata if m["solution"]] == ["ch99-q1-answer", "ch99-q2-answer"]


def test_a_learner_can_change_answers_only(made):
    for cell in read(made, "exercises")["cells"]:
        locked = cell["metadata"].get("editable") is False
        assert locked == ("nbgrader" in cell["metadata"] and "answer" not in cell["metadata"].get("tags", ()))


def test_an_untouched_exercise_notebook_runs_to_its_end(made, monkeypatch):
    monkeypatch.setattr("scaling_lib.exercises.check", None)  # the notebook puts its own there
    namespace = {}
    for cell in read(made, "exercises")["cells"]:
        if cell["cell_type"] == "code":
            exec(source(cell), namespace)
    assert repr(namespace["v"]) in ("[todo]", "[fail]")


def test_no_label_is_defined_in_two_pages(made):
    label = re.compile(r"^\((.+)\)=$", re.MULTILINE)
    pages = [{x for c in read(made, t)["cells"] for x in label.findall(source(c))} for t in notebooks.NOTEBOOK_TREES]
    assert pages[1] == {"ch99-q1", "ch99-q2"}
    assert not pages[1] & pages[2]
    assert any(source(c) == "# Solutions: rooflines" for c in read(made, "solutions")["cells"])


def test_a_chapter_takes_at_most_five_seconds_of_a_core(root):
    start = time.process_time()  # not of the wall's clock: the machine may be busy
    build(root)
    assert time.process_time() - start <= 5


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("tree", "old", "new", "says"),
    [
        ("chapters", "guess = ...", "import requests", r"chapters/ch99_rooflines\.md:9: requests is for the network"),
        ("chapters", "guess = ...", "from urllib import request", r"urllib\.request is for the network"),
        ("chapters", "guess = ...", "!pip install x", "!pip is for the network"),
        ("chapters", "guess = ...", 'open("https://x.example/data")', "is on the network"),
        ("chapters", "guess = ...", "def f():\n" + "    x = 1\n" * 13, "function f has 13 lines, at most 12"),
        ("chapters", "guess = ...", "guess = " + "1 + " * 18 + "1", "a line of 81 characters is cut on the page"),
        ("chapters", "guess = ...", "# NBVAL_SKIP", "pass unseen"),
        ("chapters", "[guess, ch99.g1]", "[guess, ch99.g1, nbval-skip]", "pass unseen"),
        ("chapters", "[guess, ch99.g1]", "[ch99.g1]", "calls check\\(\\) but is not tagged"),
        ("chapters", "ch99.g1", "ch99.g2", r"no spec in scaling_lib\.exercises \(guesses\) for ch99\.g2"),
        ("chapters", "guess = ...", "guess = (", r"chapters/ch99_rooflines\.md:9: .*was never closed"),
        ("chapters", 'guess = ...\ncheck("ch99.g1", guess)\n', "", r"md:9: the code cell is empty"),
        ("exercises", "ch99.q2", "ch99.q3", r"no spec in scaling_lib\.exercises for ch99\.q3"),
        ("exercises", "(ch99-q1)=\n", "", r"ch99\.q1 has answer, check; a question is a prompt below \(ch99-q1\)="),
        ("exercises", "### END SOLUTION\n", "", "needs one ### BEGIN SOLUTION and one ### END SOLUTION"),
        ("exercises", 'check("ch99.q2", double)', 'check("ch99.q1", double)', r"must read check\('ch99\.q2', …\)"),
        ("exercises", "[answer, ch99.q1]", "[answer]", "no exercise key such as 'ch01.q1'"),
    ],
)
def test_a_text_that_would_mislead_is_refused(root, tree, old, new, says):
    edit(root, tree, old, new)
    with pytest.raises(TextFault, match=says):
        build(root)


def test_a_spec_without_a_question_is_refused(root):
    with pytest.raises(TextFault, match=r"specs without a cell in the text: ch99\.q9"):
        build(root, {**SPECS, "ch99.q9": spec("ch99.q9")})


def test_a_solution_that_fails_its_own_check_is_refused(root):
    edit(root, "exercises", "answer = 240", "answer = 241")
    line = EXERCISES[: EXERCISES.index(":tags: [check, ch99.q1]")].count("\n")
    says = rf"text/exercises/ch99_rooflines\.md:{line}: the cell raised AssertionError: \[fail\]"
    with pytest.raises(RunFault, match=says):
        build(root)


def test_an_unknown_stem_names_those_there_are(root):
    with pytest.raises(TextFault, match="no text for ch98; there are ch99_rooflines"):
        notebooks.build(root, ["ch98"])


# ------------------------------------------------------------------------------ stale notebooks


def test_a_stale_notebook_is_found_at_its_first_wrong_byte(root, made):
    notebooks.write(root, made, [])
    path = root / "chapters" / "ch99_rooflines.ipynb"
    assert notebooks.difference(path, made["chapters/ch99_rooflines.ipynb"], "x") == ""
    content = path.read_bytes()
    at = content.index(b"A second one")
    path.write_bytes(content.replace(b"A second one", b"A stale one"))
    line = content[:at].count(b"\n") + 1
    says = notebooks.difference(path, content, "chapters/ch99_rooflines.ipynb")
    assert says.startswith(f"chapters/ch99_rooflines.ipynb: first difference at byte {at + 3} (line {line}): has 'tale")


def test_missing_shortened_and_orphaned_notebooks_are_found(root, made):
    notebooks.write(root, made, [])
    path = root / "exercises" / "ch99_rooflines.ipynb"
    path.write_bytes(path.read_bytes()[:-1])
    assert "first difference" in notebooks.difference(path, made["exercises/ch99_rooflines.ipynb"], "x")
    path.unlink()
    assert notebooks.difference(path, b"", "x") == "x: missing"
    (root / "chapters" / "ch98_gone.ipynb").write_text("{}")
    assert notebooks.unexpected(root, made) == ["chapters/ch98_gone.ipynb"]


def test_writing_changes_only_what_differs(root, made):
    notebooks.write(root, made, [])
    old = {name: (root / name).stat().st_mtime_ns for name in made}
    notebooks.write(root, made, [])
    assert {name: (root / name).stat().st_mtime_ns for name in made} == old


def test_the_committed_notebooks_are_what_the_text_gives():
    done = subprocess.run([sys.executable, "tools/notebooks.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
