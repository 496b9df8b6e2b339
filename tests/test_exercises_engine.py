"""What `check`, `hint` and `inputs` say: to an unknown key, in stages, in text and HTML, and without side effects."""

import contextlib
import re
import subprocess
import sys

import pytest
from exercise_specs import EVERY, a_number

from scaling_lib.exercises import chapters, check, hint, inputs, page_spec
from scaling_lib.exercises.engine import check_exercise
from scaling_lib.exercises.given import UNITS
from scaling_lib.units import UnknownExercise


@pytest.mark.parametrize("key", ["ch01.q99", "ch77.q1", "", "q1", None, 3])
def test_an_unknown_key_lists_those_that_exist(key):
    for call in (lambda: check(key, 1), lambda: inputs(key), lambda: page_spec(key), lambda: hint(key)):
        with pytest.raises(UnknownExercise, match=r"ch01\.q1"):
            call()


def test_an_unknown_key_names_the_nearest_and_how_far_the_chapter_goes():
    with pytest.raises(UnknownExercise) as error:
        check("ch01.q77", 1)
    says = str(error.value)
    assert "did you mean ch01.q7" in says and says.endswith("known: ch01.q1 to q12, g1 to g11") and len(says) < 120
    with pytest.raises(UnknownExercise) as error:
        check("ch77.q1", 1)
    assert all(chapter in str(error.value) for chapter in chapters()) and len(str(error.value)) < 60 * len(chapters())


def test_hints_come_in_three_stages():
    assert len({hint("ch01.q1", stage) for stage in (1, 2, 3)}) == 3
    for stage in (0, 4, True, "1"):
        with pytest.raises(ValueError, match="1 to 3"):
            hint("ch01.q1", stage)


@pytest.mark.parametrize("e", [e for e in EVERY if e.hints], ids=lambda e: e.key)
def test_no_hint_holds_the_whole_answer(e):
    """The code of every hint is run with the question's inputs: nothing that it gives may pass."""
    asked = e.page or e
    for code in re.findall("`([^`]+)`", " ".join((*e.hints, *asked.hints))):
        space = dict(asked.inputs)
        for run in (
            lambda code, space: exec(code, {}, space),
            lambda code, space: space.update(it=eval(code, {}, space)),
        ):
            with contextlib.suppress(Exception):
                run(code, space)
        new = [value for name, value in space.items() if name not in asked.inputs]
        assert not any(check_exercise(asked, value).passed for value in new), code
        if asked.kind == "sharding":
            assert not check_exercise(asked, code).passed


@pytest.mark.parametrize("e", [e for e in EVERY if e.kind != "code" and e.inputs], ids=lambda e: e.key)
def test_what_is_given_is_shown_with_units_and_loses_no_digit(e):
    for given in (inputs(e.key), inputs(e.key, "a student")):
        shown = dict(re.findall(r"(\w+) = ([^=]*?)(?=, \w+ =|$)", repr(given)))
        assert set(shown) == set(given) and "{" not in repr(given)
        for name, value in given.items():
            number, _, unit = shown[name].partition(" ")
            factor = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}.get(unit[:1], 1) if UNITS.get(name, "") != unit else 1
            assert float(number.replace(",", "")) * factor == pytest.approx(value, rel=1e-12), shown
            assert not unit or unit.endswith(UNITS[name])
            assert unit or abs(value) < 1e6 or name == "params"  # large plain numbers are rates or sizes
        assert given._repr_html_().count("<b>") == len(given)


def test_what_is_given_is_a_dict_of_plain_numbers():
    given = inputs("ch03.q5")
    assert dict(given) == {"i": 4096, "j": 8192, "x": 16, "y": 4, "link": 45e9}
    assert repr(given) == "i = 4,096, j = 8,192, x = 16, y = 4, link = 45 GB/s"


def test_a_verdict_shows_in_text_and_html_and_escapes():
    verdict = check_exercise(a_number(), "<b>6</b>")
    assert repr(verdict).startswith("[fail] ch99.q1: ") and "<b>" not in verdict._repr_html_()
    assert repr(check_exercise(a_number(), 6)) == "[pass] ch99.q1: right."


def test_a_check_reads_no_variable_of_the_notebook():
    space = {}
    exec("from scaling_lib.exercises import check\nx = 234.06\nfirst = check('ch01.q1', x)\nx = 'd'", space)
    exec("second = check('ch01.g1', x)\nagain = check('ch01.q1', 234.06)", space)
    assert space["first"].passed and space["second"].passed and space["again"].passed


def test_exercises_load_neither_jax_nor_matplotlib_nor_ipywidgets_nor_a_chapter_before_it_is_asked_for():
    code = (
        "import sys, scaling_lib.exercises as x\n"
        "assert not {'jax', 'matplotlib', 'ipywidgets', 'scaling_lib.exercises.ch01'} & set(sys.modules)\n"
        "x.exercises(); assert not {'jax', 'matplotlib', 'ipywidgets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
