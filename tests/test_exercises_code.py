"""Answers that are functions: judged by their values, whatever else they do."""

import ast
import dataclasses
import math
import sys
import warnings

import numpy as np
import pytest
from exercise_specs import EVERY, RaisingExit, a_number, right_batch

from scaling_lib.exercises import Mistake, check, faults, inputs, page_spec
from scaling_lib.exercises.engine import check_exercise


def test_a_right_function_passes_whatever_its_parameters_are_called():
    assert check("ch01.q2", right_batch).passed
    assert check("ch01.q2", lambda *a: np.float64(right_batch(*a))).passed


def test_a_function_that_gives_a_batch_may_round_up():
    assert check("ch01.q2", lambda *a: math.ceil(b) if (b := right_batch(*a)) < math.inf else b).passed
    assert not check("ch01.q2", lambda *a: right_batch(*a) + 1).passed


def test_the_first_differing_input_is_shown():
    verdict = check("ch01.q2", lambda p, w, d, f: right_batch(p, w, d, f) if d != 4096 else 17.0)
    assert "critical_batch(peak=9.89e14, bandwidth=3.35e12, d=4096, f=16384) gave 17" in verdict.message


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


CODED = [e for e in EVERY if e.kind == "code"]


def defined(e, source):
    """The function that a cell of this source leaves behind."""
    space = {}
    exec(source, space)
    return space[e.function]


@pytest.mark.parametrize("e", CODED, ids=lambda e: e.key)
def test_a_stub_is_todo_until_its_dots_are_replaced(e):
    untouched = check_exercise(e, defined(e, e.stub))
    assert untouched.status == "todo" and untouched.message == f"{e.function} returns nothing yet."
    assert check_exercise(e, defined(e, e.stub.replace("...", "-17.0"))).status == "fail"
    lost = check_exercise(e, defined(e, e.stub.replace("return ...", "answer = -17.0")))
    assert lost.status == "todo" and "does it end with `return`" in lost.message


def test_the_number_of_one_call_is_no_function():
    assert "itself" in check("ch01.q2", 249.7).message


@pytest.mark.parametrize("e", CODED, ids=lambda e: e.key)
def test_the_page_asks_for_one_call_that_really_works_and_gives_the_pages_answer(e):
    call = page_spec(e.key)["call"]
    got = eval(call, {e.function: e.expected})  # by name: every argument of the signature, and no other
    unit = {"µs": 1e6, "MB": 1e-6}.get(e.page.unit, 1)
    assert got * unit == pytest.approx(page_spec(e.key)["value"], rel=1e-6)
    stub = ast.parse(e.stub).body[0]
    assert [node.arg for node in ast.parse(call).body[0].value.keywords] == [arg.arg for arg in stub.args.args]


def test_nothing_a_learner_is_given_can_change_the_spec():
    e = a_number(
        kind="code",
        inputs={},
        function="total",
        stub="def total(xs):\n    return ...",
        cases=({"xs": [1.0, 2.0]}, {"xs": [3.0]}),
        draw=None,
        expected=lambda xs: float(sum(xs)),
        mistakes=(Mistake(lambda xs: float(max(xs)), "max"), Mistake(lambda xs: float(len(xs)), "len")),
        page=a_number(
            inputs={"xs": [1.0, 2.0]}, draw=None, expected=3.0, mistakes=(Mistake(9.0, "nine"), Mistake(7.0, "seven"))
        ),
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
