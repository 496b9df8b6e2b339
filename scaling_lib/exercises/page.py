"""What the page's answer box needs to know about an exercise: values and texts, never a formula."""

from __future__ import annotations

from typing import Any

from scaling_lib.exercises import diagnosis
from scaling_lib.exercises.coded import written_call
from scaling_lib.exercises.factors import unit_factors
from scaling_lib.exercises.registry import exercise
from scaling_lib.exercises.shardings import notation, plain_sharding, spellings
from scaling_lib.exercises.spec import Exercise, of_inputs


def page_spec(key: str) -> dict[str, Any]:
    """An exercise as plain data (JSON), for the book's own inputs.

    Keys: key title kind unit rtol whole value mistakes ratios hints choices accepts notation points level minutes
    teaches stub function call units solution. A code question shows its page version: `kind` is then number or choice,
    `code` is True, `stub` and `function` say what the notebook asks for, and `call` is the one call whose result the
    page asks for. A predicate mistake has no value and is left out.

    >>> spec = page_spec("ch01.q1")
    >>> spec["kind"], spec["unit"], round(spec["value"], 2), len(spec["hints"])
    ('number', 'FLOP/byte', 234.06, 3)
    """
    whole = exercise(key)
    e = whole.page or whole
    values = dict(e.inputs)  # never drawn: the page shows the printed numbers
    is_number = e.kind == "number"
    expected = e.expected_for(values)
    return {
        "key": key,
        "title": whole.title,
        "kind": e.kind,
        "code": whole.kind == "code",
        "unit": e.unit,
        "rtol": e.rtol,
        "whole": e.whole,
        "value": float(expected) if is_number else _plain(e, expected),
        "mistakes": [
            {"value": float(v) if is_number else _plain(e, v), "says": m.says}
            for m in e.mistakes
            if not m.is_predicate and (v := of_inputs(m.value, values)) is not None
        ],
        "ratios": [told._asdict() for told in _ratios(e, values)] if is_number else [],
        "hints": list(whole.hints),
        "choices": list(e.choices),
        "accepts": _accepted(e, expected),
        "notation": notation(expected) if e.kind == "sharding" else {},
        "points": whole.points,
        "level": whole.level,
        "minutes": whole.minutes,
        "teaches": whole.teaches,
        "stub": whole.stub,
        "function": whole.function,
        "call": written_call(whole, values) if whole.kind == "code" else "",
        "units": unit_factors(e.unit) if is_number else {},
        "solution": e.solution_for(values),
    }


def _ratios(e: Exercise, values: dict[str, Any]) -> list[diagnosis.Told]:
    return diagnosis.ratios(values, e.chapter, e.unit, e.expected_for(values) if e.is_count else None)


def _plain(e: Exercise, text: str) -> str:
    return plain_sharding(text) if e.kind == "sharding" else text


def _accepted(e: Exercise, expected: str) -> list[str]:
    """Every text that a sharding answer may be, for the page compares texts."""
    if e.kind != "sharding":
        return []
    return list(dict.fromkeys(form for text in (expected, *e.accepts) for form in spellings(text)))
