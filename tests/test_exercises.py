"""Exercises: every planted mistake gets its own message, no odd answer raises or is paid, seeds draw fair questions."""

import ast
import dataclasses
import decimal
import fractions
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import scaling_lib.exercises
from scaling_lib.exercises import (
    Draws,
    Exercise,
    Mistake,
    SpecFault,
    chapters,
    check,
    exercise,
    exercises,
    faults,
    hint,
    inputs,
    marks,
    page_spec,
    ticket,
)
from scaling_lib.exercises.coded import cases_of
from scaling_lib.exercises.diagnosis import by_ratio, ratios
from scaling_lib.exercises.engine import check_exercise, inputs_of
from scaling_lib.exercises.faults import wrong_answer
from scaling_lib.units import ScalingError, UnknownExercise

EVERY = exercises()
KEYS = [e.key for e in EVERY]


def a_number(**changes):
    """A small sound exercise to vary."""
    spec = {
        "key": "ch99.q1",
        "title": "Twice a number",
        "kind": "number",
        "unit": "s",
        "inputs": {"x": 3.0},
        "draw": lambda rng: {"x": float(rng.integers(2, 90))},
        "expected": lambda x: 2 * x,
        "mistakes": (Mistake(lambda x: 5 * x, "five"), Mistake(lambda x: 7 * x, "seven")),
        "source": "counted",
        "teaches": "here",
        "hints": ("idea", "set-up", "first line"),
    }
    return Exercise(**{**spec, **changes})


# ------------------------------------------------------------------------------ all exercises of all chapters
@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_every_planted_mistake_gets_its_own_message_and_no_other_for_any_student(e):
    students = [None, *(f"student {i}" for i in range(25 if e.kind == "code" else 250))]
    assert {fault for student in students for fault in faults(e, student)} == set()


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_draws_differ_between_students(e):
    if e.draw:
        given = cases_of if e.kind == "code" else lambda e, student: inputs(e.key, student)
        assert len({repr(given(e, f"student {i}")) for i in range(40)}) >= 10


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_the_page_gets_plain_data_that_agrees_with_the_check(e):
    spec = json.loads(json.dumps(page_spec(e.key), allow_nan=False))
    assert spec["solution"] and spec["kind"] in ("number", "choice", "sharding")
    judged = e.page or e
    assert check_exercise(judged, spec["value"]).passed
    for mistake in spec["mistakes"]:
        assert check_exercise(judged, mistake["value"]).hint == mistake["says"]


ODD = {
    "True": True,
    "numpy bool": np.True_,
    "nan": float("nan"),
    "inf": float("inf"),
    "complex": 3j,
    "huge": 10**400,
    "array": np.array([234.06, 234.06]),
    "list": [234.06],
    "dict": {"answer": 234.06},
    "empty list": [],
    "text": "banana",
    "empty units": "GB",
    "bytes": b"240",
    "class": float,
    "function": lambda *a, **k: 1j,
    "generator": (i for i in ()),
    "decimal nan": decimal.Decimal("nan"),
    "date": np.datetime64("2025-02-18"),
    "object array": np.array(None),
}


class AlwaysEqual:
    """Says that it equals everything."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __call__(self, *args, **kwargs):
        return AlwaysEqual()


class AlwaysEqualFloat(float):
    __hash__ = None

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__


class AlwaysEqualText(str):
    __hash__ = None

    def __eq__(self, other):
        return True

    def casefold(self):
        return AlwaysEqualText(self)

    def split(self):
        return [self]


class Raising:
    """Raises whatever is asked of it, its repr included."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError

    def __call__(self, *args):
        return Raising()


class RaisingExit:
    """Ends the program, whatever is asked of it."""

    def __getattribute__(self, name):
        raise GeneratorExit

    def __repr__(self):
        raise SystemExit

    def __call__(self, *args):
        raise GeneratorExit


HOSTILE = {
    "always equal": AlwaysEqual,
    "always equal float": lambda: AlwaysEqualFloat(1e-9),
    "always equal text": lambda: AlwaysEqualText("always"),
    "raising": Raising,
    "raising exit": RaisingExit,
}


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
@pytest.mark.parametrize("name", [*ODD, *HOSTILE])
def test_an_odd_answer_never_raises_and_is_never_paid(e, name):
    answer = HOSTILE[name]() if name in HOSTILE else ODD[name]  # pytest itself cannot hold some of these
    verdict = check_exercise(e, answer)
    assert verdict.status == "fail" and str(verdict) and verdict._repr_html_()


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
@pytest.mark.parametrize("answer", [..., None, "", "  "])
def test_no_answer_yet_is_todo(e, answer):
    verdict = check_exercise(e, answer)
    wanted = {"number": e.unit or "number", "choice": "b: ", "code": e.function, "sharding": "sharding"}[e.kind]
    assert verdict.status == "todo" and wanted in verdict.message


# ------------------------------------------------------------------------------------------- numbers
@pytest.mark.parametrize(
    "answer",
    [6, 6.0, np.float32(6), np.int64(6), np.array(6.0), fractions.Fraction(12, 2), decimal.Decimal(6)],
    ids=lambda answer: type(answer).__name__,
)
def test_every_kind_of_real_number_is_a_number(answer):
    assert check_exercise(a_number(), answer).passed


@pytest.mark.parametrize("answer", ["6", "6 s", "6000 ms", "0.1 min", "12/2", "6.0e6 µs", "≈ 6.01"])
def test_right_in_other_units_is_right(answer):
    assert check_exercise(a_number(), answer).passed


def test_a_doubtful_spelling_is_asked_about_and_not_counted():
    verdict = check_exercise(a_number(), "6,0")
    assert verdict.status == "todo" and "did you mean 6.0" in verdict.message and "point decimals" in verdict.hint
    assert check_exercise(a_number(), "3 Min").hint == ""


def test_a_formula_in_quotes_is_not_calculated():
    assert "can't calculate" in check_exercise(a_number(), "2*(1+2)").message


def test_a_jax_scalar_is_a_number():
    jnp = pytest.importorskip("jax.numpy")
    assert check_exercise(a_number(), jnp.float32(6)).passed
    assert check_exercise(a_number(), jnp.bfloat16(6)).passed
    assert not check_exercise(a_number(), jnp.ones(3)).passed


def test_a_wrong_unit_says_which_is_right():
    assert "the answer is in s" in check_exercise(a_number(), "6 GB").message


@pytest.mark.parametrize(
    "ratio", [2, 0.5, 4, 0.25, 8, 0.125, 1e3, 1e-3, 2**30 / 1e9, 1e9 / 2**30, 4 / 3, 3 / 4, 3, 1 / 3]
)
def test_a_ratio_that_tells_something_is_told(ratio):
    says = check_exercise(a_number(), 6 * ratio).hint
    assert says and [told.ratio for told in ratios({}, unit="s") if told.says == says] == [pytest.approx(ratio)]


@pytest.mark.parametrize("factor", [0.96, 0.98, 1.02, 1.045])
def test_a_near_miss_is_called_close_and_an_unknown_one_points_to_the_hints(factor):
    assert check_exercise(a_number(), 6 * factor).hint.startswith("Close")
    assert 'hint("ch99.q1")' in check_exercise(a_number(), 6 * (factor + 5)).message
    twin = a_number(key="ch99.g1", points=0, hints=())
    assert "worked example" in check_exercise(twin, 6 * (factor + 5)).message


def test_two_flops_are_not_spoken_of_where_a_plain_time_or_size_is_asked_for():
    for unit, spoken in {"µs": False, "GB": False, "FLOP/byte": True, "FLOP/s": True, "tokens": True, "": True}.items():
        assert ("FLOPs" in by_ratio(12.0, 6.0, {}, "ch01", unit)) is spoken, unit


@pytest.mark.parametrize("unit", ["ms", "tokens", "FLOP/s", ""])
@pytest.mark.parametrize("power", [3, 6, 9, 12, -3, -6, -9, -12])
def test_the_right_digits_with_another_prefix_are_known(unit, power):
    says = check_exercise(a_number(unit=unit), 6.03 * 10.0**power).hint
    assert says.startswith("Right digits, other unit") and unit in says


def test_a_batch_may_be_rounded_to_a_whole_number_and_its_mistakes_stay_apart():
    e = a_number(unit="tokens", inputs={"x": 41.7}, whole=True, rtol=0.004)
    assert [check_exercise(e, x).passed for x in (82, 83, 84, 85, 84.5)] == [False, True, True, False, False]
    near = dataclasses.replace(e, mistakes=(Mistake(lambda x: 2 * x + 1, "one more"), Mistake(9.0, "nine")))
    assert "too near" in " ".join(faults(near))
    assert [check_exercise(exercise("ch01.q2").page, x).passed for x in (248, 249, 250, 251)] == [
        False,
        True,
        True,
        False,
    ]


def test_a_function_that_gives_a_batch_may_round_up():
    assert check("ch01.q2", lambda *a: math.ceil(b) if (b := right_batch(*a)) < math.inf else b).passed
    assert not check("ch01.q2", lambda *a: right_batch(*a) + 1).passed


def test_counts_in_the_inputs_explain_a_ratio_before_bits_and_bytes_do():
    assert "number of chips" in by_ratio(48.0, 6.0, {"chips": 8})
    assert "number of layers" in by_ratio(6.0 / 80, 6.0, {"layers": 80})


def test_training_is_not_spoken_of_before_its_chapter():
    assert "backward" in by_ratio(18.0, 6.0, {}, "ch05") and "backward" not in by_ratio(18.0, 6.0, {}, "ch01")
    assert all("pass" not in told.says for told in ratios({}, "ch03"))


@pytest.mark.parametrize("marked", [{"NBGRADER_EXECUTION": "autograde"}, {"SCALING_MARKED": "1"}])
def test_a_marked_check_names_planted_mistakes_but_never_the_ratio(monkeypatch, marked):
    started_with(monkeypatch, **marked)
    assert all(check_exercise(a_number(), x).message == "not yet." for x in (12, 6.2, 6000, 17.3))
    assert all(check_exercise(a_number(), x).hint == "" for x in (12, 6.2, 6000, 17.3))
    assert check_exercise(a_number(), 15).hint == "five"


def test_a_predicate_catches_what_no_value_does():
    negative = Mistake(lambda answer: answer < 0, "negative", example=-1.0)
    e = a_number(mistakes=(negative, Mistake(lambda x: 5 * x, "five")))
    assert check_exercise(e, -17).hint == "negative" and faults(e) == [] and wrong_answer(negative, {}) == -1.0


# ---------------------------------------------------------------------------------- choice and sharding
def test_a_choice_takes_its_text_or_its_letter():
    assert check("ch01.g1", "less than a hundredth").passed
    assert check("ch01.g1", " Less than  a hundredth").passed
    assert check("ch01.g1", "d").passed
    assert all(check("ch01.g1", text).passed for text in ("D", "d)", "(d)", "d.", "d: less than a hundredth"))
    assert check("ch01.g1", "b").hint == check("ch01.g1", "half").hint != ""
    assert "a: most of it" in check("ch01.g1", "all of it").message


def test_a_sharding_is_read_by_meaning():
    e = a_number(
        kind="sharding",
        unit="",
        inputs={},
        draw=None,
        expected="C[I_XY, K]",
        accepts=("C[I_X, K_{}]",),
        mistakes=(Mistake("C[I, K_X]", "columns"), Mistake("C[I, K] {U_X}", "unreduced")),
    )
    assert faults(e) == []
    assert all(check_exercise(e, text).passed for text in ("C[I_XY,K]", "C[ I_{X,Y}, K ]"))
    assert check_exercise(e, "C[I,K_{X}]").hint == "columns"
    assert check_exercise(e, 3).status == "fail"


def test_equivalent_shardings_are_right_and_unreadable_ones_told_where():
    e = a_number(
        kind="sharding",
        unit="",
        inputs={},
        draw=None,
        expected="A[I, J_XY] * B[J_XY, K] -> C[I, K]{U_XY}",
        mistakes=(Mistake("A[I, J_XY] * B[J_XY, K] -> C[I, K]", "sums"), Mistake("C[I, K]{U_XY}", "operands")),
    )
    same = ("A[I,J_{XY}]*B[J_{XY},K]->C[I,K]{U_{YX}}", "A[I, J_{X,Y}] · B[J_XY, K] → C[I, K] {U_YX}")
    assert faults(e) == [] and all(check_exercise(e, text).passed for text in same)
    assert (
        check_exercise(e, "A[I, J_YX] * B[J_XY, K] -> C[I, K]{U_XY}").message == "not yet."
    )  # another order of blocks
    assert check_exercise(e, "A[I, J_{XY}] @ B[J_XY, K] -> C[I, K]").hint == "sums"
    twice = check_exercise(e, "C[I_X, K_X]")
    assert (
        twice.status == "fail"
        and "axis X shards both I and K of C" in twice.message
        and "character 10" in twice.message
    )
    assert "here should be" in check_exercise(e, "split it over X").message


# ------------------------------------------------------------------------------------------- code
def right_batch(p, w, d, f):
    share = w / p - 1 / d - 1 / f
    return 1 / share if share > 0 else float("inf")


def test_a_right_function_passes_whatever_its_parameters_are_called():
    assert check("ch01.q2", right_batch).passed
    assert check("ch01.q2", lambda *a: np.float64(right_batch(*a))).passed


def test_the_first_differing_input_is_shown():
    verdict = check("ch01.q2", lambda p, w, d, f: right_batch(p, w, d, f) if d != 4096 else 17.0)
    assert "critical_batch(peak=9.89e+14, bandwidth=3.35e+12, d=4096, f=16384) gave 17" in verdict.message


def endless(p, w, d, f):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


def chatty(p, w, d, f):
    while True:
        print("more", file=sys.stderr)


def leaving(p, w, d, f):
    sys.exit(0)


def failing(p, w, d, f):
    raise ZeroDivisionError("a message of its own")


def deep(p, w, d, f):
    return deep(p, w, d, f)


def noisy(p, w, d, f):
    print("debugging")
    warnings.warn("look", stacklevel=1)
    np.log(-np.ones(1))
    return right_batch(p, w, d, f)


# JAX's own garbage-collection hook may be what meets the recursion limit.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (endless, "does not end"),
        (chatty, "prints more than"),
        (leaving, "SystemExit"),
        (failing, "a message of its own"),
        (deep, "RecursionError"),
        (lambda: 1, "TypeError"),
    ],
)
def test_code_that_runs_wild_fails_with_a_message(monkeypatch, function, says):
    monkeypatch.setattr("scaling_lib.exercises.runs.TIME_LIMIT_S", 0.3)
    verdict = check("ch01.q2", function)
    assert verdict.status == "fail" and says in verdict.message


def test_code_that_prints_and_warns_is_judged_by_its_values_and_writes_nothing(capfd):
    assert check("ch01.q2", noisy).passed
    assert capfd.readouterr() == ("", "")


def test_an_untouched_stub_is_todo():
    space = {}
    exec(exercise("ch01.q2").stub, space)
    assert check("ch01.q2", space["critical_batch"]).status == "todo"
    assert "itself" in check("ch01.q2", 249.7).message


def test_nothing_a_learner_is_given_can_change_the_spec():
    e = a_number(
        kind="code",
        inputs={},
        function="total",
        stub="def total(xs): ...",
        cases=({"xs": [1.0, 2.0]}, {"xs": [3.0]}),
        draw=None,
        expected=lambda xs: float(sum(xs)),
        mistakes=(Mistake(lambda xs: float(max(xs)), "max"), Mistake(lambda xs: float(len(xs)), "len")),
        page=a_number(),
    )
    assert faults(e) == []
    assert not check_exercise(e, lambda xs: xs.clear() or 0.0).passed
    assert e.cases[0]["xs"] == [1.0, 2.0]
    with pytest.raises(TypeError):
        e.cases[0]["xs"] = []
    with pytest.raises(dataclasses.FrozenInstanceError):
        e.points = 100
    given = inputs("ch01.q1")
    given["b"] = 0
    assert inputs("ch01.q1")["b"] == 256


def returned_by_a_generator(p, w, d, f):
    raise GeneratorExit


def interrupted(p, w, d, f):
    raise KeyboardInterrupt


class _Wordless(BaseException):
    def __str__(self):
        raise SystemExit


def wordless(p, w, d, f):
    raise _Wordless


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (returned_by_a_generator, "raised GeneratorExit"),
        (interrupted, "it was interrupted"),
        (wordless, "(no message)"),
        (lambda *args: RaisingExit(), "an object of type RaisingExit"),
    ],
)
def test_not_even_what_is_no_exception_escapes(function, says):
    verdict = check("ch01.q2", function)
    assert verdict.status == "fail" and says in verdict.message


# ------------------------------------------------------------------------------------------- seeds
def test_a_students_numbers_are_the_same_at_home_and_in_the_grader(monkeypatch):
    own = ticket("a secret", "alice")
    assert inputs("ch01.q1", own) == inputs("ch01.q1", own) != inputs("ch01.q1", ticket("a secret", "bob"))
    assert inputs("ch01.q1", own) != inputs("ch01.q1", ticket("another", "alice"))
    monkeypatch.setenv("SCALING_STUDENT", own)
    assert inputs("ch01.q1") == inputs("ch01.q1", own)
    right = exercise("ch01.q1").expected_for(inputs("ch01.q1"))
    assert check("ch01.q1", right).passed and not check("ch01.q1", 234.06).passed


@pytest.mark.parametrize("student", [7, 1.5, ["again"]])
def test_a_student_who_is_no_text_is_refused_in_words(student):
    for call in (lambda: inputs("ch01.q1", student), lambda: check("ch01.q1", 1, student)):
        with pytest.raises(ScalingError, match=r'student is .*any word of your own such as "again"'):
            call()


def started_with(monkeypatch, **environment):
    """As if the process had begun with these variables."""
    start = dict.fromkeys(("NBGRADER_EXECUTION", "SCALING_MARKED"), "") | environment
    monkeypatch.setattr("scaling_lib.exercises.marking._AT_START", start)


@pytest.mark.parametrize("fixed", [ticket("a secret", "alice"), "the book"])
def test_while_marking_nothing_in_the_notebook_says_whose_numbers_count(monkeypatch, fixed):
    own, friends = (None if fixed == "the book" else fixed), ticket("a secret", "bob")
    drawn, cases = inputs("ch01.q1", own), cases_of(exercise("ch01.q2"), own)
    right, copied = (exercise("ch01.q1").expected_for(inputs("ch01.q1", who)) for who in (own, friends))
    started_with(monkeypatch, NBGRADER_EXECUTION="autograde", SCALING_MARKED=fixed)
    monkeypatch.setenv("SCALING_STUDENT", friends)
    monkeypatch.setenv("SCALING_MARKED", friends)
    for student in (None, friends, "again"):
        assert inputs("ch01.q1", student) == drawn
        assert check("ch01.q1", right, student).passed and not check("ch01.q1", copied, student).passed
    asked = []
    check("ch01.q2", lambda *args: asked.append(args))
    assert asked == [tuple(case.values()) for case in cases]


def test_the_graders_kernel_refuses_assignments_to_the_checks():
    code = (
        "import scaling_lib.exercises as x\n"
        "from scaling_lib.exercises import engine, marking, registry\n"
        "marking.load_ipython_extension(None)\n"
        "for place in (x, engine, registry, marking, x.Verdict, x.Exercise, x.Mistake):\n"
        "    for name in ('check', 'passed', '_AT_START', '__repr__'):\n"
        "        try: setattr(place, name, True)\n"
        "        except AttributeError as error: assert 'cannot be changed' in str(error)\n"
        "        else: raise SystemExit(f'{place}.{name}')\n"
        "assert x.check('ch01.q1', 234.06).passed and not x.check('ch01.q1', 1).passed\n"
        "assert x.check('ch01.q2', lambda *a: 1.0).status == 'fail' and x.page_spec('ch01.q1')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_draws_are_fixed_for_ever():
    rng = Draws("a seed")
    drawn = [rng.integers(0, 1000), rng.choice("abcdef"), round(rng.uniform(2, 3), 6)]
    assert drawn == [489, "f", 2.231599]


# ------------------------------------------------------------------------------------------- faults of a spec
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"key": "q1"}, "key"),
        ({"kind": "essay"}, "possible are number"),
        ({"mistakes": (Mistake(1, "one"),)}, "at least two"),
        ({"mistakes": (Mistake(1, "same"), Mistake(2, "same"))}, "say the same"),
        ({"hints": ("one",)}, "three are needed"),
        ({"unit": "3 ells"}, "unknown"),
        ({"points": 0}, "guess"),
        ({"level": 4}, "possible are 1"),
        ({"rtol": 0}, "rtol"),
        ({"minutes": 0}, "minutes"),
        ({"source": ""}, "source"),
        ({"choices": ("a",)}, "choices belong"),
        ({"kind": "code"}, "function, stub and cases"),
        ({"mistakes": (Mistake(lambda answer: answer < 0, "no example"), Mistake(2, "two"))}, "example"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(changes, says):
    with pytest.raises(SpecFault, match=says):
        a_number(**changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mistakes": (Mistake(6.0, "equals the answer"), Mistake(9.0, "nine"))}, "too near"),
        ({"mistakes": (Mistake(9.0, "nine"), Mistake(9.05, "nearly nine"))}, "too near"),
        ({"mistakes": (Mistake(float("nan"), "nan"), Mistake(9.0, "nine"))}, "finite"),
        ({"expected": 0.0}, "other than 0"),
        ({"mistakes": (Mistake(lambda answer: answer > 0, "+", example=1.0), Mistake(9.0, "9"))}, "is planted, but"),
        ({"draw": lambda rng: {"y": 1}, "expected": 6.0, "mistakes": (Mistake(1, "1"), Mistake(2, "2"))}, "draw gives"),
        ({"kind": "choice", "unit": "", "choices": ("6", "7", "8"), "expected": "6", "inputs": {}, "draw": None,
          "mistakes": (Mistake("7", "seven"), Mistake("9", "nine"))}, "without a message"),
    ],
)  # fmt: skip
def test_a_spec_whose_answers_collide_is_found(changes, says):
    assert says in " ".join(faults(a_number(**changes), "student" if changes.get("draw") else None))


# ------------------------------------------------------------------------------------------- the rest
@pytest.mark.parametrize("chapter", chapters())
def test_questions_have_formulas_of_their_own(chapter):
    package = Path(scaling_lib.exercises.__file__).parent
    paths = [package / f"{chapter}.py", *(package / chapter).glob("*.py")]
    nodes = [node for path in paths if path.exists() for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    allowed = ("math", "itertools", "functools", "collections")
    ours = ("scaling_lib.units", "scaling_lib.exercises")
    imported = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    imported += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert imported and [name for name in imported if not name.startswith((*allowed, *ours))] == []


@pytest.mark.parametrize("key", ["ch01.q99", "ch77.q1", "", "q1", None, 3])
def test_an_unknown_key_lists_those_that_exist(key):
    for call in (lambda: check(key, 1), lambda: inputs(key), lambda: page_spec(key), lambda: hint(key)):
        with pytest.raises(UnknownExercise, match=r"ch01\.q1"):
            call()


def test_hints_come_in_three_stages():
    assert len({hint("ch01.q1", stage) for stage in (1, 2, 3)}) == 3
    for stage in (0, 4, True, "1"):
        with pytest.raises(ValueError, match="1 to 3"):
            hint("ch01.q1", stage)


@pytest.mark.parametrize(
    ("score", "paid"),
    [(0, 0), (0.0, 0), (3, 3), (7, 5), (-1, 0), (float("nan"), 0), (float("inf"), 0), (True, 0), (None, 0), ("5", 0)],
)
def test_a_score_that_is_none_is_not_paid(score, paid):
    assert marks(score, 5) == paid


@pytest.mark.parametrize("e", EVERY, ids=KEYS)
def test_what_an_exercise_teaches_is_a_place_in_the_text(e):
    (text,) = (Path(__file__).parents[1] / "text" / "chapters").glob(f"{e.chapter}_*.md")
    assert f"({e.teaches})=" in text.read_text(encoding="utf-8")


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


def test_drawn_inputs_that_would_blur_two_mistakes_are_passed_over():
    blurred = Exercise(
        key="ch01.q99",
        title="Either",
        kind="number",
        unit="",
        inputs={"a": 1.0, "b": 5.0},
        draw=lambda rng: {"a": 1.0, "b": float(rng.integers(1, 3))},
        expected=lambda a: a,
        rtol=0.01,
        source="a itself",
        mistakes=(Mistake(lambda a: 2 * a, "twice"), Mistake(lambda b: 4 * b - 2, "the other")),
        hints=("one", "two", "three"),
        solution="a",
        teaches="ch01-ridges",
        level=1,
        minutes=1,
    )
    assert {inputs_of(blurred, f"student {i}")["b"] for i in range(50)} == {2.0}
