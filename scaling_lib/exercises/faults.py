"""Finds what is wrong with an exercise itself, for its author and for the tests of all chapters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from scaling_lib.exercises.coded import cases_of, same_behaviour
from scaling_lib.exercises.engine import check_exercise, inputs_of
from scaling_lib.exercises.runs import run_all
from scaling_lib.exercises.spec import Exercise, Mistake, named_values, of_inputs, too_near


def faults(e: Exercise, student: str | None = None) -> list[str]:
    """All faults of an exercise for one student's inputs (the book's without one); an empty list is sound.

    >>> from scaling_lib.exercises.registry import exercise
    >>> faults(exercise("ch01.q1")), faults(exercise("ch01.q1"), "alice")
    ([], [])
    """
    if e.kind == "code":
        found = [*_code_faults(e, student), *(f"page: {fault}" for fault in faults(e.page))]
    else:
        values = inputs_of(e, student)
        if set(values) != set(e.inputs):
            return [f"draw gives {sorted(values)}, inputs has {sorted(e.inputs)}"]
        found = [*(_number_faults(e, values) if e.kind == "number" else _text_faults(e, values))]
        found += _verdict_faults(e, student, e.expected_for(values), [wrong_answer(m, values) for m in e.mistakes])
    return found


def wrong_answer(mistake: Mistake, values: Mapping[str, Any]) -> Any:
    """The wrong answer of a planted mistake for these inputs (a predicate's example)."""
    return of_inputs(mistake.example if mistake.is_predicate else mistake.value, values)


def _number_faults(e: Exercise, values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in named_values(e, values):
        if not math.isfinite(value) or value == 0:
            yield f"{name} is {value}: a number question needs finite values other than 0"
    yield from too_near(e, values)


def _text_faults(e: Exercise, values: Mapping[str, Any]) -> Iterator[str]:
    if e.kind == "choice":
        wrong = [of_inputs(m.value, values) for m in e.mistakes]
        if missing := set(e.choices) - {e.expected_for(values), *wrong}:
            yield f"choices without a message of their own: {sorted(missing)}"
        if strangers := {e.expected_for(values), *wrong} - set(e.choices):
            yield f"not among the choices: {sorted(strangers)}"


def _code_faults(e: Exercise, student: str | None) -> Iterator[str]:
    cases = cases_of(e, student)
    names = list(inspect.signature(e.expected).parameters)
    if any(list(case) != names for case in cases):
        yield f"every case must name {names}, in this order"
    if list(e.page.inputs) != names:
        yield f"the page's one call must name {names}, in this order"
    ours = run_all(e.expected, cases)
    if broken := [o.says for o in ours if o.raised or o.value is None]:
        yield f"the spec itself fails: {broken[0] or 'it returns None'}"
        return
    behaviours = [(m.says, run_all(m.value, cases)) for m in e.mistakes]
    for (one, a), (other, b) in combinations(behaviours, 2):
        if same_behaviour(a, b, e.rtol):
            yield f"{one!r} and {other!r} behave the same on every case"
    yield from _verdict_faults(e, student, e.expected, [m.value for m in e.mistakes])


def _verdict_faults(e: Exercise, student: str | None, right: Any, wrong: list[Any]) -> Iterator[str]:
    """Faults that show when the answers are really checked."""
    if not check_exercise(e, right, student).passed:
        yield f"the right answer does not pass: {check_exercise(e, right, student)}"
    for mistake, answer in zip(e.mistakes, wrong, strict=True):
        verdict = check_exercise(e, answer, student)
        if verdict.passed or verdict.hint != mistake.says:
            yield f"{mistake.says!r} is planted, but the check says {verdict}"
