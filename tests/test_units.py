"""Numbers, their units, and what happens to numbers that are none."""

import decimal
import fractions
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling_lib as sl
from scaling_lib.units import LARGEST, SMALLEST, Reason, non_negative, plain, positive, sealed

LEGAL = st.floats(SMALLEST, LARGEST)


def test_an_element_has_as_many_bytes_as_its_name_says_bits():
    bits = {"f32": 32, "bf16": 16, "f16": 16, "fp8": 8, "int8": 8, "int4": 4, "fp4": 4}
    assert {dtype: 8 * sl.bytes_per_element(dtype) for dtype in sl.DTYPES} == bits


@pytest.mark.parametrize("dtype", ["fp16", "BF16", "", None, 8])
def test_an_unknown_dtype_is_answered_with_all_dtypes(dtype):
    with pytest.raises(sl.UnknownDtype) as error:
        sl.bytes_per_element(dtype)
    assert repr(dtype) in str(error.value) and all(known in str(error.value) for known in sl.DTYPES)


def test_a_near_name_is_suggested():
    with pytest.raises(sl.UnknownDtype, match=r"did you mean .*bf16"):
        sl.bytes_per_element("bfloat16")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (197e12, "FLOP/s", "197 TFLOP/s"),
        (8.2e11, "B/s", "820 GB/s"),
        (4.878e-6, "s", "4.88 µs"),
        (1.01e-8, "s", "10.1 ns"),
        (0.9996, "s", "1 s"),
        (0.0009995, "B", "999 µB"),  # the float lies just below half-way
        (9995.0, "B", "10 kB"),
        (999.6, "B", "1 kB"),
        (999.4, "B", "999 B"),
        (2.307e15, "FLOP/s", "2.31 PFLOP/s"),
        (-3.3e9, "B/s", "-3.3 GB/s"),
        (1.2e24, "FLOP", "1,200,000 EFLOP"),
        (0, "s", "0 s"),
        (math.inf, "s", "inf s"),
    ],
)
def test_a_quantity_is_printed_with_its_prefix(value, unit, text):
    assert sl.si(value, unit) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (123456, 2, "120 kB"),
        (950, 1, "1 kB"),
        (940, 1, "900 B"),
        (1234567, 5, "1.2346 MB"),
        (9.96e-4, 2, "1 mB"),
        (9.96e23, 2, "1,000,000 EB"),
        (1.26e-17, 2, "0.013 fB"),
    ],
)
def test_a_quantity_keeps_as_many_digits_as_are_asked_for(value, digits, text):
    assert sl.si(value, "B", digits) == text


@given(st.floats(1e-14, 1e20), st.integers(1, 9))
def test_a_printed_quantity_is_rounded_once(value, digits):
    number, unit = sl.si(value, "B", digits).split(" ")
    exact = decimal.Decimal(number.replace(",", "")).scaleb(
        3 * "fpnµm kMGTPE".index(unit.removesuffix("B") or " ") - 15
    )
    assert exact == decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_EVEN).create_decimal_from_float(value)


@pytest.mark.parametrize("digits", [0, -1, 2.5, True, "3"])
def test_digits_are_a_whole_number_of_them(digits):
    with pytest.raises(sl.ScalingError, match="digits must be a whole number of digits, 1 or more, got"):
        sl.si(1.0, "s", digits)


@pytest.mark.parametrize("bad", ["x", "5", None, [1.0, 2.0], 1j, 10**400])
def test_only_a_number_is_printed_as_a_quantity(bad):
    with pytest.raises(sl.ScalingError, match="value must be a number, got"):
        sl.si(bad, "s")


def test_gigabytes_and_gibibytes_are_told_apart():
    assert sl.gb(2**30) == 1.073741824 and sl.gib(2**30) == 1.0
    assert sl.gb([1e9, -1]).tolist() == [1.0, None]


@pytest.mark.parametrize("bad", ["3", None, -1, True])
@pytest.mark.parametrize("unit", [sl.gb, sl.gib])
def test_only_an_amount_of_bytes_has_gigabytes(unit, bad):
    with pytest.raises(sl.ScalingError, match="nbytes"):
        unit(bad)


@pytest.mark.parametrize("x", [8, 8.0, np.int32(8), np.float32(8), fractions.Fraction(8), np.array(8)])
def test_a_legal_scalar_becomes_a_python_float(x):
    assert type(positive("batch", x)) is float and positive("batch", x) == 8.0


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (0, "is zero, got 0"),
        (-3, "is negative, got -3"),
        (math.nan, "is not a number, got nan"),
        (math.inf, "is infinite, got inf"),
        (10**400, "is too large, got more digits than a float holds"),
        (1e31, "is too large"),
        (1e-31, "is too small"),
        ("8", "must be a number, got '8' (str)"),
        (True, "must be a number, got True (bool)"),
        (np.True_, "must be a number"),
        (np.timedelta64(3, "s"), "must be a number"),
        (None, "must be a number, got None (NoneType)"),
        (1j, "must be a number, got 1j (complex)"),
        ({}, "must be a number, got {} (dict)"),
        ([1, "a"], "must be a number, got [1, 'a']"),
        ([True, False], "must be a number"),
        ([[1], [1, 2]], "must be a number"),
    ],
)
def test_an_illegal_argument_is_named_shown_and_answered_with_what_is_possible(x, says):
    with pytest.raises(sl.ScalingError) as error:
        positive("batch", x)
    message = str(error.value)
    assert message.startswith("batch ") and says in message and "possible are positive numbers" in message


@pytest.mark.parametrize(("sign", "says"), [(1, "is too large"), (-1, "is negative")])
def test_a_number_too_long_to_print_is_refused_as_any_other(sign, says):
    with pytest.raises(sl.ScalingError, match=f"batch {says}, got more digits than a float holds"):
        positive("batch", sign * 10**5000)
    with pytest.raises(sl.ScalingError, match="batch must be a number, got more digits than can be printed"):
        positive("batch", [sign * 10**5000])


def test_zero_is_legal_only_where_a_quantity_may_vanish():
    assert non_negative("latency_s", 0) == 0.0
    with pytest.raises(sl.ScalingError, match="latency_s is negative"):
        non_negative("latency_s", -1e-9)


def test_illegal_entries_of_an_array_are_masked_with_their_reason():
    given = [8, 0, -1, math.nan, math.inf, 1e31, 1e-31]
    x = positive("batch", given)
    assert isinstance(x, sl.Masked) and x.mask.tolist() == [False] + [True] * 6
    assert [Reason(code).name for code in x.reason] == [
        "OK",
        "ZERO",
        "NEGATIVE",
        "NOT_A_NUMBER",
        "INFINITE",
        "TOO_LARGE",
        "TOO_SMALL",
    ]


def test_a_legal_array_stays_an_ordinary_array():
    x = positive("batch", [[1, 2], [3, 4]])
    assert type(x) is np.ndarray and x.dtype == np.float64
    assert positive("batch", np.array([])).shape == (0,)


def test_a_masked_array_of_numpy_keeps_its_mask():
    x = positive("batch", np.ma.array([1.0, 2.0, -3.0], mask=[True, False, False]))
    assert [Reason(code).name for code in x.reason] == ["MASKED", "OK", "NEGATIVE"]


@pytest.mark.parametrize(
    "x", [np.ma.masked, np.ma.array(3.0, mask=True), positive("b", [8, 0])[1], np.ma.array([1, 2], mask=True)[0]]
)
def test_a_masked_number_alone_is_refused(x):
    for call in (positive, non_negative):
        with pytest.raises(sl.ScalingError, match="batch is masked, got a masked number: possible are"):
            call("batch", x)
    with pytest.raises(sl.ScalingError, match="nbytes is masked"):
        sl.all_gather_time(x, sl.GpuCluster("h100", 8))


def test_a_masked_number_alone_is_refused_with_its_reason():
    with pytest.raises(sl.ScalingError, match="batch is negative, got a masked number"):
        positive("batch", sealed(np.array(Reason.NEGATIVE), 1.0))
    assert positive("batch", np.ma.array(3.0)) == 3.0


def test_what_is_masked_keeps_its_reason_when_it_is_checked_again():
    again = positive("x", positive("b", [0, -1, math.inf, 1]))
    assert again.reason.tolist() == [Reason.ZERO, Reason.NEGATIVE, Reason.INFINITE, Reason.OK]


def test_reasons_of_several_arguments_meet():
    (a, b), reason = plain(positive("a", [[1, 0]]), positive("b", [[1], [math.inf]]))
    total = sealed(reason, a + b)
    assert total.shape == (2, 2) and total[0, 0] == 2.0
    assert total.reason.tolist() == [[Reason.OK, Reason.ZERO], [Reason.INFINITE, Reason.ZERO]]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True) | LEGAL, min_size=1))
def test_nothing_illegal_is_ever_let_through(values):
    x = positive("b", values)
    seen = np.ma.compressed(x)
    assert np.all(np.isfinite(seen)) and np.all(seen > 0)
    assert len(seen) == sum(SMALLEST <= v <= LARGEST for v in values)
