"""What is compared when stored notebooks are run again: nothing that changes by itself, and everything else."""

import copy
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

nbformat = pytest.importorskip("nbformat", reason="the book's tools are not installed here")
pytest.importorskip("nbval", reason="the book's tools are not installed here")

from IPython.core.magics.execution import _format_time  # noqa: E402  (after the skips)
from nbval.plugin import get_sanitize_patterns  # noqa: E402

from tools.outputs import CodeCell, RunFault, run_cells  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "tests" / "nbval.cfg"
DURATIONS = (
    "12 ns",
    "850 ms",
    "850ms",
    "4.88 µs",
    "4.88 μs",
    "4.88 us",
    "3 s",
    "2.5 seconds",
    "1.2e-05 s",
    "1min 4s",
    "1 min 4 s",
    "64 min",
    "1h 2min 3s",
    "2 hours",
    "1d 2h 3min 4s",
    "3 days",
    "1,200 s",
    "0:01:04",
    "1:01:04.250",
    "2 days, 0:01:04",
    "850 ms ± 12 ms",
    "1min 4s ± 850 ms",
)


def sanitised(text):
    """What nbval compares, by its own reading of our file."""
    for pattern, replacement in get_sanitize_patterns(CONFIG.read_text(encoding="utf-8")):
        text = re.sub(pattern, replacement, text)
    return text


@pytest.mark.parametrize("form", DURATIONS)
def test_a_time_equals_a_time_in_any_other_form(form):
    assert sanitised(f"Wall time: {form}") == "Wall time: DURATION"


@given(st.floats(1e-9, 1e6))
def test_every_time_that_ipython_or_datetime_prints_is_cleaned_out(seconds):
    assert sanitised(_format_time(seconds)) == "DURATION"
    assert sanitised(str(timedelta(seconds=seconds))) == "DURATION"


def test_one_pattern_covers_all_durations():
    patterns = get_sanitize_patterns(CONFIG.read_text(encoding="utf-8"))
    assert [replacement for _, replacement in patterns].count("DURATION") == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CPU times: user 1min 3s, sys: 850 ms, total: 1min 4s", "CPU times: user 90 ms, sys: 1.2 µs, total: 91 ms"),
        (
            "1.2 ms ± 3 ns per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
            "1min 2s ± 1.3 s per loop (mean ± std. dev. of 7 runs, 1 loop each)".replace("1 loop", "10 loops"),
        ),
        ("Text(0.5, 91.2, 'Longitude')", "Text(0.5, 88.725, 'Longitude')"),
        ("<Line2D at 0x7f01a2b3c4d0>", "<Line2D at 0x55d0c0ffee10>"),
        ("wrote /tmp/tmpab12/x.json", "wrote /tmp/tmpzz99/y.json"),
    ],
)
def test_what_changes_by_itself_compares_equal(one, other):
    assert sanitised(one) == sanitised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[pass] ch01.q1: right.", "[fail] ch01.q1: wrong."),
        ("240 tokens", "241 tokens"),
        ("197 TFLOP/s", "198 TFLOP/s"),
        ("820 GB/s", "902 GB/s"),
        ("shape (8, 4096)", "shape (4, 4096)"),
        ("240 steps", "241 steps"),
        ("3 shards", "4 shards"),
        ("7 hops", "8 hops"),
        ("2 dimensions", "3 dimensions"),
        ("5 minima", "6 minima"),
        ("Text(0.5, 91.2, 'Longitude')", "Text(0.5, 91.2, 'Latitude')"),
    ],
)
def test_what_states_a_result_is_still_compared(one, other):
    assert sanitised(one) != sanitised(other)


# ------------------------------------------------------------------ what nbval alone would let pass


def test_a_checked_cell_must_have_an_output_to_store():
    for source in ("x = 1", "None", "print('240')"):
        with pytest.raises(RunFault, match=r"t\.md:3: (checked cell without output|a check cell prints)"):
            run_cells([CodeCell(source, checked=True, where="t.md:3")])


def test_a_cell_that_is_meant_to_raise_must_raise():
    assert run_cells([CodeCell("1 / 0", raises=True)]) == [None]
    with pytest.raises(RunFault, match="raised nothing"):
        run_cells([CodeCell("1 / 1", raises=True)])


def test_anything_on_stderr_in_a_check_cell_is_refused():
    with pytest.raises(RunFault, match="must only show its verdict"):
        run_cells([CodeCell("import sys; sys.stderr.write('!'); 1", checked=True)])


def committed():
    return sorted((ROOT / "solutions").glob("*.ipynb"))


def check_cells(notebook):
    return [c for c in notebook.cells if {"check", "nbval-check-output"} & set(c.metadata.get("tags", ()))]


@pytest.mark.parametrize("path", committed(), ids=lambda p: p.stem)
def test_every_check_cell_of_the_solutions_has_a_stored_output(path):
    notebook = nbformat.read(path, as_version=4)
    cells = check_cells(notebook)
    assert cells
    for cell in cells:
        assert cell.execution_count == 1
        assert set(cell.outputs[0].data) == {"text/plain", "text/html"}
        assert cell.outputs[0].data["text/plain"].startswith("[pass]")
    others = [c for c in notebook.cells if c.cell_type == "code" and c not in cells]
    assert not any(c.outputs or c.execution_count for c in others)


@pytest.mark.parametrize("path", committed(), ids=lambda p: p.stem)
def test_no_cell_is_hidden_from_nbval(path):
    tags = {tag for cell in nbformat.read(path, as_version=4).cells for tag in cell.metadata.get("tags", ())}
    assert not tags & {"nbval-skip", "nbval-ignore-output", "skip-execution"}


# ------------------------------------------------------------------------------ nbval itself


def nbval(folder):
    """Names of the notebooks that fail, run as `make test` runs the solutions."""
    options = ["-o", "addopts=", "-p", "no:cacheprovider", "-q", "--color=no"]
    strict = ["--nbval", "--nbval-sanitize-with", CONFIG, "--nbval-current-env"]
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", *options, *strict, folder]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert re.search(r"\d+ passed", done.stdout), done.stdout + done.stderr
    return set(re.findall(r"^FAILED (?:\S*/)?(\w+)\.ipynb", done.stdout, re.MULTILINE))


def planted(notebook):
    """Copies up to the first check, with one thing wrong each: name -> notebook."""
    made = {}
    first = next(i for i, c in enumerate(notebook.cells) if "check" in c.metadata.get("tags", ()))
    notebook.cells = notebook.cells[: first + 1]

    def copy_with(name, change):
        made[name] = copy.deepcopy(notebook)
        answer = next(c for c in made[name].cells if "answer" in c.metadata.get("tags", ()))
        change(answer, next(c for c in made[name].cells if "check" in c.metadata.get("tags", ())))

    copy_with("wrong_answer", lambda answer, check: answer.update(source="answer = -1"))
    copy_with("untouched", lambda answer, check: answer.update(source="answer = ..."))
    copy_with("crash", lambda answer, check: answer.update(source="answer = 1 / 0"))
    copy_with("stale_text", lambda answer, check: check.outputs[0].data.update({"text/plain": "[pass] other words"}))
    copy_with("stale_html", lambda answer, check: check.outputs[0].data.update({"text/html": "<b>other</b>"}))
    copy_with("no_html", lambda answer, check: check.outputs[0].data.pop("text/html"))
    copy_with("count_lost", lambda answer, check: check.update(execution_count=None))
    copy_with("output_lost", lambda answer, check: check.update(outputs=[]))
    return made


@pytest.mark.skipif(not committed(), reason="no solutions yet")
def test_nbval_passes_the_solutions_and_fails_every_planted_copy(tmp_path):
    source = committed()[0]
    wrong = planted(nbformat.read(source, as_version=4))
    for name, notebook in wrong.items():
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    (tmp_path / "good.ipynb").write_bytes(source.read_bytes())
    assert nbval(tmp_path) == set(wrong)
