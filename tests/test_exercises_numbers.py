"""Answers that are numbers: units, doubtful spellings, and what the ratio to the right one tells."""

import dataclasses
import decimal
import fractions

import numpy as np
import pytest
from exercise_specs import EVERY, a_number

from scaling_lib.exercises import Mistake, check, exercise, faults
from scaling_lib.exercises.diagnosis import by_ratio, ratios
from scaling_lib.exercises.engine import check_exercise, inputs_of
from scaling_lib.exercises.faults import wrong_answer


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
    "ratio", [2, 0.5, 4, 0.25, 8, 0.125, 1e3, 1e-3, 2**30 / 1e9, 1e9 / 2**30, 1.048576, 4 / 3, 3 / 4, 3, 1 / 3]
)
def test_a_ratio_that_tells_something_is_told(ratio):
    says = check_exercise(a_number(), 6 * ratio).hint
    assert says and [told.ratio for told in ratios({}, unit="s") if told.says == says] == [pytest.approx(ratio)]


@pytest.mark.parametrize("factor", [0.981, 0.99, 1.012, 1.019])
def test_a_near_miss_is_called_close_and_an_unknown_one_points_to_the_hints(factor):
    assert check_exercise(a_number(), 6 * factor).hint.startswith("Close")
    assert 'hint("ch99.q1")' in check_exercise(a_number(), 6 * (factor + 5)).message
    twin = a_number(key="ch99.g1", points=0, hints=())
    assert "worked example" in check_exercise(twin, 6 * (factor + 5)).message


@pytest.mark.parametrize(
    ("unit", "ratio", "says"),
    [
        ("kB", 1.024, "kB (10³ bytes) or KiB (2¹⁰ bytes)"),
        ("MB", 1.048576, "MB (10⁶ bytes) or MiB (2²⁰ bytes)"),
        ("GB", 1.073741824, "GB (10⁹ bytes) or GiB (2³⁰ bytes)"),
        ("TB/s", 1.099511627776, "TB (10¹² bytes) or TiB (2⁴⁰ bytes)"),
        ("B", 1.024, "KiB"),
        ("µs", 1.048576, "MiB"),  # a size in MiB over a rate in MB/s
    ],
)
def test_binary_and_decimal_prefixes_are_told_apart_and_not_called_rounding(unit, ratio, says):
    for way in (ratio, 1 / ratio):
        for off in (0.9985, 1, 1.0015):  # of three digits
            assert says in by_ratio(6 * way * off, 6.0, {}, unit=unit)
    if unit in ("kB", "MB", "GB", "TB/s"):  # no other prefix is spoken of
        assert sum("bytes" in told.says and "2" in told.says for told in ratios({}, unit=unit)) == 2


def test_mebibytes_where_megabytes_are_asked_for_are_named():
    assert "MiB" in check("ch03.q1", 12288).hint  # 12,885 MB


def test_two_flops_are_not_spoken_of_where_a_plain_time_or_size_is_asked_for():
    for unit, spoken in {"µs": False, "GB": False, "FLOP/byte": True, "FLOP/s": True, "tokens": True}.items():
        assert ("FLOPs" in by_ratio(12.0, 6.0, {"peak": 1e14}, "ch01", unit)) is spoken, unit


@pytest.mark.parametrize(
    ("values", "bytes_", "flops"),
    [({}, False, False), ({"j": 4}, False, False), ({"link": 45e9}, True, False), ({"peak": 1, "link": 1}, True, True)],
)
def test_a_plain_number_is_made_of_what_its_inputs_are_rates_of(values, bytes_, flops):
    says = [told.says for told in ratios(values, "ch03")]
    assert any("bits or bytes" in say for say in says) == any("GiB" in say for say in says) == bytes_
    assert any("a byte or a direction" in say for say in says) == bytes_
    assert any("FLOPs" in say for say in says) == flops
    assert by_ratio(6.0, 12.0, values, "ch03").startswith("It is half the right value: is")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (15, "One too many"),
        (13, "One too few"),
        (28, "twice the right value: is something counted twice?"),
        (7, "half the right value: is something left out?"),
        (14.04, ""),  # 3 in 1000: no rounding of a count
        (14 * 8, ""),
        (14_000, ""),
    ],
)
def test_of_a_count_neither_bytes_nor_flops_nor_rounding_are_spoken_of(answer, says):
    got = by_ratio(answer, 14, {"peak": 1e14, "link": 45e9}, "ch03", is_count=True)
    assert says in got and bool(says) == bool(got) and "FLOP" not in got and "direction" not in got


@pytest.mark.parametrize("e", [e.page or e for e in EVERY if (e.page or e).kind == "number"], ids=lambda e: e.key)
def test_three_digits_are_enough_unless_a_whole_number_is_asked_for(e):
    for student in (None, *(f"student {i}" for i in range(60))):
        right = float(e.expected_for(inputs_of(e, student)))
        if e.is_count:
            assert right == round(right)
        else:
            assert check_exercise(e, float(f"{right:.3g}"), student).passed, right


@pytest.mark.parametrize("unit", ["ms", "tokens", "FLOP/s", ""])
@pytest.mark.parametrize("power", [3, 6, 9, 12, -3, -6, -9, -12])
def test_the_right_digits_with_another_prefix_are_known(unit, power):
    says = check_exercise(a_number(unit=unit), 6.03 * 10.0**power).hint
    assert says.startswith("Right digits, other unit" if unit else "Right digits, other power of ten") and unit in says


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


def test_counts_in_the_inputs_explain_a_ratio_before_bits_and_bytes_do():
    assert "number of chips" in by_ratio(48.0, 6.0, {"chips": 8})
    assert "number of layers" in by_ratio(6.0 / 80, 6.0, {"layers": 80})


def test_training_is_not_spoken_of_before_its_chapter():
    assert "backward" in by_ratio(18.0, 6.0, {}, "ch05") and "backward" not in by_ratio(18.0, 6.0, {}, "ch01")
    assert all("pass" not in told.says for told in ratios({}, "ch03"))


def test_a_predicate_catches_what_no_value_does():
    negative = Mistake(lambda answer: answer < 0, "negative", example=-1.0)
    e = a_number(mistakes=(negative, Mistake(lambda x: 5 * x, "five")))
    assert check_exercise(e, -17).hint == "negative" and faults(e) == [] and wrong_answer(negative, {}) == -1.0
