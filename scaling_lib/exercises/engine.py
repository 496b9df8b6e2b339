"""Checks an answer: right, wrong with the mistake named, or not yet given. A wrong answer never raises."""

from __future__ import annotations

import copy
import decimal
import math
import numbers
import re
from typing import Any

from scaling_lib.exercises import coded, diagnosis
from scaling_lib.exercises.draws import Draws, seed_of
from scaling_lib.exercises.given import Given
from scaling_lib.exercises.grammar import parse_answer
from scaling_lib.exercises.marking import Earlier, is_marked, whose
from scaling_lib.exercises.registry import exercise
from scaling_lib.exercises.shardings import plain_sharding, spellings, unreadable, what_is_wrong
from scaling_lib.exercises.spec import (
    Exercise,
    Verdict,
    close,
    fits_the_books_answer,
    is_mistake,
    next_whole,
    of_inputs,
    pointer,
    shown,
    too_near,
)
from scaling_lib.units import ScalingError

_NOT_READ = {
    "number": "{text!r} is not a number that I can read; write it like 240, 2.4e2, 1/2 or 3.2 ms.",
    "formula": "I can't calculate {text!r}: give the result, or leave the quotes out and Python calculates it.",
    "infinite": "the answer here is finite.",
    "unit": "the unit of {text!r} does not fit here; the answer is in {unit}.",
    "zero": "{text!r} divides by zero.",
    "large": "{text!r} is too large for a number.",
}
_BOOKS_NUMBERS = "That is right for the book's numbers; yours differ: use given[...]."


def inputs(key: str, student: str | None = None) -> Given:
    """The numbers of a question: those of the printed book, or a student's own.

    Args:
      key: the exercise.
      student: a ticket from the instructor, or any word for fresh practice, each with numbers of its own; without it
        the environment's SCALING_STUDENT, else the book's numbers. An instructor's grader has fixed the student and
        heeds neither.

    Returns:
      A fresh dict of plain numbers in SI units, which shows them with their units; changing it changes nothing else.

    Raises:
      UnknownExercise: no such key.
      ScalingError: the student is no text, or a ticket that was not copied whole.

    >>> inputs("ch01.q1", "practice 1") == inputs("ch01.q1", "practice 1") != inputs("ch01.q1")
    True
    """
    return Given(inputs_of(exercise(key), student))


def inputs_of(e: Exercise, student: str | None = None) -> dict[str, Any]:
    """`inputs` of an exercise that is in no chapter (yet)."""
    student = whose(student)
    if student and e.draw and e.kind != "code":
        return _drawn(e, Draws(f"{seed_of(student)}/{e.key}"))
    return copy.deepcopy(dict(e.inputs))


def _drawn(e: Exercise, rng: Draws) -> dict[str, Any]:
    """Inputs with which every planted mistake can be told from the others: draws that blur two are passed over.

    So are those to which the answer of the book's numbers is right or a planted mistake, if there are others.
    """
    clear = None
    for _ in range(100):
        values = dict(e.draw(rng))
        if e.kind != "number":
            return values
        if not any(too_near(e, values)):
            clear = clear or values
            if not fits_the_books_answer(e, values):
                return values
    return clear or values


def check(key: str, answer: Any, student: str | None = None) -> Verdict:
    """Judges an answer to an exercise.

    Args:
      key: the exercise, `ch01.q1`.
      answer: a number in the exercise's unit, a text such as "3.2 ms", a choice, a sharding or a function;
        `...` or None if there is none yet. It is all that is judged: no variable of the notebook is read.
      student: as in `inputs`.

    Returns:
      Verdict: status pass, fail or todo, a message, a hint that names the mistake. A wrong answer never raises.

    Raises:
      UnknownExercise: no such key; the message lists near ones.

    >>> check("ch01.q1", 256)
    [fail] ch01.q1: not yet. That is the batch itself, ...
    >>> check("ch01.g1", "a tenth").passed
    False
    """
    return check_exercise(exercise(key), answer, student)


def check_exercise(e: Exercise, answer: Any, student: str | None = None) -> Verdict:
    """`check` of an exercise that is in no chapter (yet)."""
    if issubclass(type(answer), Earlier):
        answer = ...
    if issubclass(type(answer), str):
        answer = str.__str__(answer)  # a plain str, whatever the class redefines
    if answer is ... or answer is None or (type(answer) is str and not answer.strip()):
        return Verdict(e.key, "todo", f"no answer yet: {_wanted(e)}.")
    if e.kind == "code":
        return coded.judge_code(e, answer, whose(student))
    judge = {"number": _number, "choice": _choice, "sharding": _sharding}[e.kind]
    return judge(e, answer, inputs_of(e, student))


def _wanted(e: Exercise) -> str:
    """What an answer looks like."""
    return {
        "number": f"give a {'whole ' if e.is_count else ''}number{f', in {e.unit}' if e.unit else ''}",
        "choice": f"choose one of {_offered(e)}",
        "sharding": "give the sharding as text, such as 'C[I_X, K]'",
        "code": f"give the function {e.function}",
    }[e.kind]


def _number(e: Exercise, answer: Any, values: dict[str, Any]) -> Verdict:
    expected = float(e.expected_for(values))
    if type(answer) is str:
        reading = parse_answer(answer, e.unit, expected)
        if reading.ask:
            counted = "Read as doubtful: no marks." if is_marked() else "Nothing is counted yet."
            marks_of = "A comma marks thousands, a point decimals." if re.search(r"[0-9][.,' ][0-9]", answer) else ""
            return Verdict(e.key, "todo", f"did you mean {reading.ask}? {counted}", marks_of)
        if reading.error:
            says = _NOT_READ[reading.error].format(text=answer[:60], unit=e.unit or "a plain number")
            return Verdict(e.key, "fail", says)
        value = reading.value
    else:
        value, says = plain_number(answer)
        if says:
            return Verdict(e.key, "fail", says + f" Give one number{f' in {e.unit}' if e.unit else ''}.")
    if close(value, expected, e.rtol) or (e.whole and next_whole(value, expected)):
        return Verdict(e.key, "pass", "right.")
    for mistake in e.mistakes:
        if is_mistake(mistake, value, values, e.rtol):
            return Verdict(e.key, "fail", "not yet.", mistake.says)
    if close(value, float(e.expected_for(e.inputs)), e.rtol):
        return Verdict(e.key, "fail", "not yet.", _BOOKS_NUMBERS)
    if is_marked():
        return Verdict(e.key, "fail", "not yet.")
    says = diagnosis.by_ratio(value, expected, values, e.chapter, e.unit, is_count=e.is_count)
    return Verdict(e.key, "fail", "not yet." if says else f"not yet. {pointer(e)}", says)


def plain_number(answer: Any) -> tuple[float, str]:
    """The answer as a float, or nan and what is wrong with it; nothing that the answer's own methods do can raise."""
    try:
        scalar = hasattr(answer, "dtype") and answer.shape == ()  # numpy's and JAX's scalars
        if isinstance(answer, bool) or (scalar and answer.dtype.kind == "b"):
            return math.nan, f"{answer} is not a number."
        if not ((scalar and answer.dtype.kind in "iufV") or isinstance(answer, numbers.Real | decimal.Decimal)):
            return math.nan, f"that is of type {type(answer).__name__}."
        value = float(answer.item() if scalar else answer)
    except OverflowError:
        return math.nan, "that number is too large."
    except BaseException:
        return math.nan, f"that is of type {type(answer).__name__}."
    return (value, "") if math.isfinite(value) else (math.nan, f"{value} is not a finite number.")


def _choice(e: Exercise, answer: Any, values: dict[str, Any]) -> Verdict:
    picked = picked_choice(e, answer)
    if picked is None:
        return Verdict(e.key, "fail", f"{shown(answer)} is none of the choices. They are {_offered(e)}.")
    return _text_verdict(e, picked, e.expected_for(values), values)


def _offered(e: Exercise) -> str:
    return "; ".join(f"{letter(i)}: {text}" for i, text in enumerate(e.choices))


def picked_choice(e: Exercise, answer: Any) -> str | None:
    """The choice that an answer names, by its text, its letter (`b`, `b)`, `(b)`) or both; None if it names none."""
    if type(answer) is not str:
        return None
    wanted = _plain_choice(answer)
    for i, text in enumerate(e.choices):
        named, text_alone = letter(i), re.sub(rf"^\(?{letter(i)}[).:]+ *", "", wanted)
        if _plain_choice(text) in (wanted, text_alone) or wanted.strip("().:") == named:
            return text
    return None


def _plain_choice(text: str) -> str:
    """A choice without what differs between one who copies it and one who types it: case, spaces, backticks, full stop.

    >>> _plain_choice("c: all-gather `B` over  X, multiply. ")
    'c: all-gather b over x, multiply'
    """
    return " ".join(text.replace("`", "").casefold().split()).rstrip(".")


def letter(i: int) -> str:
    """The i-th letter, for naming choices: a, b, c, …"""
    return chr(ord("a") + i)


def _sharding(e: Exercise, answer: Any, values: dict[str, Any]) -> Verdict:
    if type(answer) is not str:
        return Verdict(e.key, "fail", "write the sharding as text, for instance 'C[I_X, K]'.")
    expected = e.expected_for(values)
    wrote = plain_sharding(answer)
    if any(wrote in spellings(text) for text in (expected, *e.accepts)):
        return _text_verdict(e, expected, expected, values)
    says = unreadable(answer)
    return Verdict(e.key, "fail", f"that cannot be read: {says}") if says else _text_verdict(e, wrote, expected, values)


def _text_verdict(e: Exercise, answer: str, expected: str, values: dict[str, Any]) -> Verdict:
    if answer == expected:
        return Verdict(e.key, "pass", "right.")
    forms = spellings if e.kind == "sharding" else lambda text: [str(text)]
    says = next((m.says for m in e.mistakes if answer in forms(of_inputs(m.value, values))), "")
    if is_marked():
        return Verdict(e.key, "fail", "not yet.", says)
    says = says or (what_is_wrong(answer, expected) if e.kind == "sharding" else "")
    return Verdict(e.key, "fail", "not yet." if says else f"not yet. {pointer(e)}", says)


def hint(key: str, stage: int = 1) -> str:
    """A staged hint: 1 the idea, 2 the set-up, 3 the first line; code stands between backticks.

    >>> hint("ch01.q1", 1)
    'Intensity is FLOPs over bytes moved: ...'
    """
    hints = exercise(key).hints
    if not hints:
        raise ScalingError(f"{key} has no hints")
    if isinstance(stage, bool) or stage not in range(1, len(hints) + 1):
        raise ScalingError(f"stage is {stage!r}; {key} has hints 1 to {len(hints)}")
    return hints[stage - 1]


def marks(score: Any, points: float) -> float:
    """The marks of a check that scores in parts: within 0 and points, and 0 for what is no score at all.

    nbgrader pays full marks for -1, nan and True, and stops at more than the maximum.

    >>> [marks(score, 5) for score in (0, 3, 7, -1, float("nan"), True, "5", None)]
    [0.0, 3.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    value, says = plain_number(score)
    return 0.0 if says else float(min(max(value, 0.0), points))
