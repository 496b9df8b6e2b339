"""Judges a code answer: the learner's function against a slow independent one, on fixed and seeded inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scaling_lib.exercises import diagnosis
from scaling_lib.exercises.draws import Draws, seed_of
from scaling_lib.exercises.marking import is_marked
from scaling_lib.exercises.runs import Outcome, run_all
from scaling_lib.exercises.spec import Exercise, Verdict, close, next_whole, pointer, shown

N_DRAWN = 12


def cases_of(e: Exercise, student: str | None = None) -> list[dict[str, Any]]:
    """The argument sets that a code question tries: the spec's own, then drawn ones."""
    rng = Draws(f"{seed_of(student or 'the book')}/{e.key}")
    drawn = [dict(e.draw(rng)) for _ in range(N_DRAWN)] if e.draw else []
    return [dict(case) for case in e.cases] + drawn


def judge_code(e: Exercise, answer: Any, student: str | None = None) -> Verdict:
    """Compares a function with the spec on every case and shows the first input that differs."""
    if not callable(answer):
        return Verdict(e.key, "fail", f"give the function {e.function} itself, without calling it.")
    cases = cases_of(e, student)
    right = [outcome.value for outcome in run_all(e.expected, cases)]  # worked out before the learner's code runs
    got = run_all(answer, cases)
    if all(not o.raised and o.value is ... for o in got):
        return Verdict(e.key, "todo", f"{e.function} returns nothing yet.")
    if all(not o.raised and o.value is None for o in got):
        return Verdict(e.key, "todo", f"{e.function} returns nothing: does it end with `return` and the result?")
    wrong = next((i for i, o in enumerate(got) if o.raised or not _passes(e, o.value, right[i])), None)
    if wrong is None:
        return Verdict(e.key, "pass", f"right on all {len(cases)} inputs tried.")
    said, says = _difference(e, cases[wrong], got[wrong], right[wrong]), planted(e, cases, got)
    if not says and not is_marked():
        says = _other_unit(e, [outcome.value for outcome in got], right)
    return Verdict(e.key, "fail", said if says or is_marked() else f"{said} {pointer(e)}", says)


def planted(e: Exercise, cases: Sequence[Mapping[str, Any]], got: Sequence[Outcome]) -> str:
    """What to say where the function behaves on every case like a planted wrong one; else empty."""
    for mistake in e.mistakes:
        if same_behaviour(run_all(mistake.value, list(cases)), got, e.rtol):
            return mistake.says
    return ""


def _other_unit(e: Exercise, got: Sequence[Any], right: Sequence[Any]) -> str:
    """What to say where the function gives every right value in one other unit; else empty."""
    pairs = [(_real(a), _real(b)) for a, b in zip(got, right, strict=False)]
    if len(got) < len(right) or any(a is None or not b or not math.isfinite(b) for a, b in pairs):
        return ""
    told = {diagnosis.other_unit(a / b, e.unit) for a, b in pairs}
    return told.pop() if len(told) == 1 else ""


def same_behaviour(ours: Sequence[Outcome], theirs: Sequence[Outcome], rtol: float) -> bool:
    """True if both gave like values, or raised the same class of error, on every case."""
    if len(ours) != len(theirs):
        return False
    return all(
        a.raised == b.raised and (bool(a.raised) or alike(b.value, a.value, rtol))
        for a, b in zip(ours, theirs, strict=True)
    )


def alike(value: Any, right: Any, rtol: float) -> bool:
    """True if a returned value is the right one: numbers within rtol, sequences entry by entry, the rest exactly.

    Never asks the value's own `==`, which the learner may have written.
    """
    if isinstance(right, bool | str) or right is None:
        return type(value) is type(right) and value == right
    if isinstance(right, list | tuple):
        value = _listed(value)
        return value is not None and len(value) == len(right) and all(map(alike, value, right, [rtol] * len(right)))
    number = _real(value)
    if number is None:
        return False
    right = float(right)
    return number == right if right == 0 or math.isinf(right) else close(number, right, rtol)


def _passes(e: Exercise, value: Any, right: Any) -> bool:
    number = _real(value) if e.whole else None
    return alike(value, right, e.rtol) or (number is not None and next_whole(number, right))


def _listed(value: Any) -> list[Any] | None:
    """A list, a tuple or an array as a list."""
    try:
        value = value.tolist() if hasattr(value, "tolist") else value
    except BaseException:
        return None
    return list(value) if type(value) in (list, tuple) else None


def _real(value: Any) -> float | None:
    """A number, numpy's included, as a plain float; infinity may be a right answer here, a bool never."""
    try:
        value = value.item() if hasattr(value, "dtype") and value.shape == () else value
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except BaseException:
        return None


def written_call(e: Exercise, case: Mapping[str, Any]) -> str:
    """One call of a code question's function, as one would write it.

    >>> from scaling_lib.exercises.registry import exercise
    >>> written_call(exercise("ch03.q7"), {"n": 12, "wraps": True})
    'busiest(n=12, wraps=True)'
    """
    return f"{e.function}({', '.join(f'{name}={shown(value)}' for name, value in case.items())})"


def _difference(e: Exercise, case: Mapping[str, Any], got: Outcome, right: Any) -> str:
    call = written_call(e, case)
    if got.raised == "limit":
        return f"{call} was stopped: {got.says}."
    if got.raised:
        return f"{call} raised {got.says}."
    return f"{call} gave {shown(got.value)}, expected {shown(right)}."
