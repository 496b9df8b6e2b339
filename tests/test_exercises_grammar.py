"""The grammar of typed numbers, by the cases that the page's answer box has to pass too."""

import json
import math
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling_lib.exercises import parse_answer
from scaling_lib.exercises.factors import unit_factors

CASES = json.loads(files("scaling_lib.exercises").joinpath("answer_cases.json").read_text())
UNITS = sorted({case["unit"] for case in CASES})


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['text'][:20]!r} in {case['unit']!r}")
def test_a_shared_case_reads_as_it_says(case):
    reading = parse_answer(case["text"], case["unit"], case.get("expected"))
    assert reading.ask == case.get("ask")
    assert reading.error == case.get("error")
    assert reading.value == (pytest.approx(case["value"], rel=1e-12) if "value" in case else None)


def test_every_case_has_one_outcome_and_appears_once():
    assert all(len({"value", "ask", "error"} & set(case)) == 1 for case in CASES)
    seen = [(case["text"], case["unit"], case.get("expected")) for case in CASES]
    assert len(seen) == len(set(seen)) and len(seen) >= 150


@pytest.mark.parametrize("case", [case for case in CASES if "ask" in case], ids=lambda case: case["text"])
def test_what_is_offered_can_be_taken(case):
    again = parse_answer(case["ask"], case["unit"])
    assert again.value is not None


@settings(deadline=None)
@given(st.text(max_size=120) | st.from_regex(r"[0-9., '×^/eE%$+-]{1,12} ?[kMGmµ]?[sBb/]{0,3}", fullmatch=True))
def test_any_text_is_read_or_refused_and_never_raises(text):
    for unit in ("", "s", "GB/s", "tokens"):
        reading = parse_answer(text, unit)
        told = [part for part in (reading.value, reading.ask, reading.error) if part is not None]
        assert len(told) == 1
        assert reading.value is None or math.isfinite(reading.value)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("value", [1.5e-9, 240.0, 6.022e23])
def test_a_number_in_any_unit_of_its_kind_comes_back(value, unit):
    for name, factor in unit_factors(unit).items():
        assert parse_answer(f"{value / factor!r} {name}", unit).value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_names_that_differ_only_in_case_are_never_taken_for_each_other(unit):
    for name, factor in unit_factors(unit).items():
        swapped = name.swapcase()
        reading = parse_answer(f"3 {swapped}", unit)
        if reading.value is not None:
            assert reading.value == pytest.approx(3 * unit_factors(unit).get(swapped, factor))
        if swapped not in unit_factors(unit) and "m" in name.casefold():
            assert reading.value is None  # milli or mega: asked
        assert factor > 0
