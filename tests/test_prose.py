"""Checked prose: values as a notebook yields them, at their place in the text."""

import json
import math
import shutil

import pytest

pytest.importorskip("jupytext", reason="the book's tools are not installed here")
pytest.importorskip("nbgrader", reason="the book's tools are not installed here")

from tools import prose, prose_run
from tools.prose_text import checks

CHAPTER = """\
# A chapter

Before any cell: {known} <!-- = math.sqrt(144) --> of them.

```{{code-cell}} ipython3
tokens = 240
```

First it is {first} tokens <!-- = tokens -->, half of 480 <!-- = 2 * tokens -->.

```{{code-cell}} ipython3
tokens = 295
bound = "memory"
```

Then {then} tokens <!-- = tokens --> do: bound by memory <!-- = bound -->, not few <!-- = tokens > 9 -->. It's twice.

```{{code-cell}} ipython3
:tags: [raises-exception]
{raising}
```
"""
RIGHT = {"known": "12", "first": "240", "then": "about 300", "raising": "1 / 0"}


@pytest.fixture
def root(tmp_path):
    return checkout(tmp_path)


def checkout(folder):
    (folder / "text" / "chapters").mkdir(parents=True)
    (folder / "text" / "exercises").mkdir()
    (folder / "scaling_lib").mkdir()
    (folder / "_config.yml").write_text("repository:\n  url: https://host.example/someone/book\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    write(folder)
    return folder


def write(root, **changed):
    path = root / "text" / "chapters" / "ch99_x.md"
    path.write_text(CHAPTER.format(**RIGHT | changed), encoding="utf-8")
    return path


def says(root):
    found, troubles = prose.findings(root)
    return [*troubles, *(f"{f.check.where}: {f.says}" for f in found)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A checkout whose chapter was run once; tests copy it."""
    folder = checkout(tmp_path_factory.mktemp("ran"))
    assert says(folder) == []
    return folder


@pytest.fixture
def fresh(ran, tmp_path, monkeypatch):
    """A checkout with results at hand, where running again is a failure."""
    shutil.copytree(ran, tmp_path / "copy")
    monkeypatch.setattr(prose_run, "run_all", lambda root, stale: pytest.fail(f"run again: {stale}") if stale else {})
    return tmp_path / "copy"


def test_values_are_those_of_their_place_in_the_text(fresh):
    saved = json.loads((fresh / "_build" / "prose" / "chapters" / "ch99_x.json").read_text())
    assert [v["value"] for v in saved["values"]] == [12.0, 240, 480, 295, "memory", True]


def test_an_edit_to_words_needs_no_new_run(fresh):
    write(fresh, known="exactly 12")
    assert says(fresh) == []


@pytest.mark.parametrize(
    ("changed", "line", "message"),
    [
        ({"first": "241"}, 9, "prints '241 tokens', tokens gives 240 of that unit"),
        ({"then": "295.0 or 240"}, 16, "prints '240 tokens', tokens gives 295 of that unit"),
        ({"known": "13"}, 3, "prints '13', math.sqrt(144) gives 12 of that unit"),
        ({"first": "some"}, 9, "no number ends 'First it is some tokens'"),
    ],
)
def test_a_wrong_number_is_found_at_its_line(fresh, changed, line, message):
    write(fresh, **changed)
    assert says(fresh) == [f"text/chapters/ch99_x.md:{line}: {message}"]


def test_wrong_words_are_found(fresh):
    path = write(fresh)
    path.write_text(path.read_text().replace("bound by memory", "bound by arithmetic"), encoding="utf-8")
    assert says(fresh) == ["text/chapters/ch99_x.md:16: bound gives 'memory', the text says otherwise"]


def test_update_rewrites_digits_and_lists_what_to_reread(fresh, capsys):
    path = write(fresh, first="1,241", then="about 200")
    assert prose.update(fresh) == 0
    assert path.read_text(encoding="utf-8") == CHAPTER.format(**RIGHT | {"then": "about 300"}).replace(
        "about 295", "about 300"
    )
    printed = capsys.readouterr().out
    assert "ch99_x.md:9: 1,241 -> 240 in: First it is 240 tokens, half of 480." in printed
    assert "ch99_x.md:16: 200 -> 300 in: Then about 300 tokens do: bound by memory, not few." in printed
    assert "beside it: It's twice." in printed
    assert "about 300 tokens <!-- = tokens -->" in (fresh / "chapters" / "ch99_x.ipynb").read_text(encoding="utf-8")
    assert says(fresh) == []


def test_the_list_counts_results_and_leaves_premises_out(fresh, capsys):
    path = write(fresh)
    path.write_text(path.read_text() + "\nAnd 7 bytes more, of 9 <!-- given -->.\n", encoding="utf-8")
    assert prose.report(fresh) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "text/chapters/ch99_x.md:23: 7 bytes"
    assert printed[2].split() == ["6", "1", "1", "85.7%", "text/chapters/ch99_x.md"]


def test_a_changed_library_makes_results_stale(ran, root):
    shutil.copytree(ran / "_build", root / "_build")
    plans = prose_run.write_plan(root)
    name = "chapters/ch99_x.ipynb"
    assert prose_run._fresh(root, name, plans[name])
    (root / "scaling_lib" / "chips.toml").write_text("hbm = 1\n")
    assert prose_run._fresh(root, name, prose_run.write_plan(root)[name]) is None


def test_a_cell_that_is_meant_to_raise_and_does_not_is_found(root):
    write(root, raising="1 / 1")
    assert says(root) == ["text/chapters/ch99_x.md: code cell 3 is tagged raises-exception and raised nothing"]


def test_a_failing_chapter_is_named_with_its_error(root):
    path = write(root)
    path.write_text(path.read_text().replace("tokens = 295", "tokens = missing"), encoding="utf-8")
    assert says(root) == [
        "text/chapters/ch99_x.md: chapters/ch99_x.ipynb failed with NameError: name 'missing' is not defined"
    ]


def test_a_notebook_cannot_reach_the_network(root):
    path = write(root)
    reach = "import socket\n\nsocket.create_connection(('203.0.113.7', 80), timeout=1)"
    path.write_text(path.read_text().replace("tokens = 295", reach), encoding="utf-8")
    assert "failed with ConnectionError: a notebook of this book needs no network" in says(root)[0]


def test_a_plain_page_is_checked_without_a_kernel(fresh):
    (fresh / "intro.md").write_text("A half is 0.5 <!-- = math.sin(math.pi / 6) --> and 3 <!-- = 2 + 2 -->.\n")
    assert says(fresh) == ["intro.md:1: prints '3', 2 + 2 gives 4 of that unit"]


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_value_that_no_digits_can_state_is_found(value):
    check = checks("It takes 240 <!-- = x --> tokens.", "t.md")[0]
    assert "no digits can state" in prose.judged(check, prose_run.Value(value)).says
