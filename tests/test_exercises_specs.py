"""Faults of an exercise itself are found before a learner meets them."""

import pytest
from exercise_specs import a_number

from scaling_lib.exercises import Exercise, Mistake, SpecFault, check, exercises, faults
from scaling_lib.exercises.engine import inputs_of


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
        ({"kind": "code", "function": "f", "cases": ({"x": 1},), "stub": "def f(x): ..."}, "must end with a line"),
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


SAME_FOR_ALL = ("ch01.q8",)  # own weights for every token: one FLOP a byte, whatever the sizes
NUMBERS = [e for e in exercises() if e.kind == "number" and e.draw]


@pytest.mark.parametrize("e", NUMBERS, ids=lambda e: e.key)
def test_who_answers_with_the_books_numbers_is_told_so(e):
    told = [check(e.key, e.expected_for(e.inputs), f"student {i}") for i in range(100)]
    if e.key in SAME_FOR_ALL:
        assert all(verdict.passed for verdict in told)
    else:
        says = "That is right for the book's numbers; yours differ: use given[...]."
        assert {(verdict.passed, verdict.hint) for verdict in told} == {(False, says)}
