"""Numbers, their units, and what happens to numbers that are none."""

import decimal
import fractions
import math
import operator

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


def test_a_part_of_a_masked_array_keeps_its_reasons():
    x = positive("b", [[1, 0], [-1, 2]])
    assert x[1].reason.tolist() == [Reason.NEGATIVE, Reason.OK]
    assert (2 * x).reason.tolist() == x.reason.tolist()
    assert x.T.reason.tolist() == np.transpose(x).reason.tolist() == x.reason.T.tolist()
    assert x.reshape(4).reason.tolist() == [Reason.OK, Reason.ZERO, Reason.NEGATIVE, Reason.OK]
    assert x.take([0, 2, 1, 3]).reason.tolist() == [Reason.OK, Reason.MASKED, Reason.MASKED, Reason.OK]  # lost


def test_joined_arrays_keep_their_masks_and_reasons():
    a, b = positive("b", [1, 0]), positive("b", [math.nan, 4])
    for joined in (np.concatenate([a, b]), np.hstack((a, b)), np.concatenate((a, np.array([2.0]), b))[[0, 1, 3, 4]]):
        assert isinstance(joined, sl.Masked) and joined.mask.tolist() == [False, True, True, False]
        assert joined.reason.tolist() == [Reason.OK, Reason.ZERO, Reason.NOT_A_NUMBER, Reason.OK]
    assert np.concatenate([positive("b", [[1, 0]]), positive("b", [[2, 3]])], axis=1).tolist() == [[1, None, 2, 3]]
    narrow = np.concatenate([a, b], dtype=np.float32)
    assert narrow.dtype == np.float32 and narrow.reason.dtype == np.int8
    into = np.concatenate([a, b], out=np.zeros(4))
    assert into.tolist() == [1, None, None, 4]


GIVEN = [1.0, -1.0, 3.0]
MADE = {  # what the formula makes of an entry that is not there must never show, whether or not numpy keeps the mask
    "where": (lambda v: np.where(v > 0, v, v), [1, None, 3]),
    "where not": (lambda v: np.where([True, False, False], 9.0, v), [9, None, 3]),
    "where chosen": (lambda v: np.where([True, True, False], 9.0, v), [9, 9, 3]),
    "where masked": (lambda v: np.where(v > 2, 1.0, 2.0), [2, None, 1]),
    "places": (lambda v: np.where(v)[0], [0, 2]),
    "select": (lambda v: np.select([v > 2, v < 2], [v, 2 * v], 7.0), [2, None, 3]),
    "broadcast_to": (lambda v: np.broadcast_to(v, (2, 3)), [[1, None, 3]] * 2),
    "meshgrid": (lambda v: np.meshgrid(v, [1.0, 2.0])[0], [[1, None, 3]] * 2),
    "outer": (lambda v: np.outer(v, [1.0, 2.0]), [[1, 2], [math.nan] * 2, [3, 6]]),
    "einsum": (lambda v: np.einsum("i,j->ij", v, [2.0]), [[2], [math.nan], [6]]),
    "sum in einsum": (lambda v: np.einsum("i->", v), math.nan),
    "dot": (lambda v: np.dot(v, [1.0, 1.0, 1.0]), math.nan),
    "data": (lambda v: v.data, [1, math.nan, 3]),
    "sort": (np.sort, [1, 3, None]),
    "max": (np.max, 3),
    "minimum": (lambda v: np.minimum(v, 2.0), [1, None, 2]),
    "double": (lambda v: np.asarray(2 * v), [2, math.nan, 6]),
    "inverse": (lambda v: np.asarray(6 / v), [6, math.nan, 2]),
    "difference": (lambda v: np.asarray(np.ones(3) - v), [0, math.nan, -2]),
    "root": (lambda v: np.asarray(np.sqrt(v)), [1, math.nan, math.sqrt(3)]),
    "power of two": (lambda v: np.asarray(2**v), [2, math.nan, 8]),
    "zero below": (lambda v: np.asarray(v / 0), [math.nan] * 3),
    "halved in place": (lambda v: np.asarray(operator.itruediv(v, 2)), [0.5, math.nan, 1.5]),
    "zero below in place": (lambda v: np.asarray(operator.itruediv(v, 0)), [math.nan] * 3),
    "squared in place": (lambda v: np.asarray(operator.ipow(v, 2)), [1, math.nan, 9]),
    "sum of two": (lambda v: np.asarray(v + v[::-1]), [4, math.nan, 4]),
    "sum with one": (lambda v: np.asarray(v + positive("b", [1.0, 1.0, -1.0])), [2, math.nan, math.nan]),
}


@pytest.mark.parametrize("name", MADE)
def test_nothing_made_up_shows_where_numpy_drops_the_mask(name):
    call, expected = MADE[name]
    (x,), reason = plain(positive("b", GIVEN))
    made = call(sealed(reason, x)).tolist()
    np.testing.assert_equal(made, expected)


def test_words_under_a_mask_are_empty():
    bound = sl.estimate.binding(math=[2.0, -1.0], memory=[1.0, 1.0])
    assert bound.tolist() == ["math", None] and np.asarray(bound.data).tolist() == ["math", ""]


def test_what_numpy_moves_keeps_its_reasons():
    x = positive("b", [8, 0, math.nan])
    ok, zero, nan = Reason.OK, Reason.ZERO, Reason.NOT_A_NUMBER
    assert np.where([True, False, False], 1.0, x).reason.tolist() == [ok, zero, nan]
    assert (
        np.broadcast_to(x, (2, 3)).reason.tolist() == np.meshgrid(x, [1, 2])[0].reason.tolist() == [[ok, zero, nan]] * 2
    )
    assert np.select([x > 9], [1.0], x).reason.tolist() == [ok, zero, nan]


ORDERS = {  # what a function does to the places 0 to 3
    "roll": (lambda v: np.roll(v, 1), [3, 0, 1, 2]),
    "flip": (np.flip, [3, 2, 1, 0]),
    "sort": (np.sort, [0, 3, 1, 2]),
    "repeat": (lambda v: np.repeat(v, 2), [0, 0, 1, 1, 2, 2, 3, 3]),
    "turn": (lambda v: v.reshape(2, 2).T.ravel(), [0, 2, 1, 3]),
    "swap": (lambda v: v.reshape(2, 2).swapaxes(0, 1).flatten(), [0, 2, 1, 3]),
    "take": (lambda v: np.take(v, [0, 2, 1, 3]), [0, 2, 1, 3]),
    "compress": (lambda v: np.compress([False, True, True, True], v), [1, 2, 3]),
    "diagonal": (lambda v: np.diagonal(v.reshape(2, 2)), [0, 3]),
    "copy": (lambda v: v.copy(), [0, 1, 2, 3]),
    "root": (np.sqrt, [0, 1, 2, 3]),
    "twice": (lambda v: 2 ** (2 * v), [0, 1, 2, 3]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_reason_goes_with_its_entry_or_is_lost_but_never_goes_to_another(name):
    call, places = ORDERS[name]
    x = positive("b", [4.0, 0.0, math.nan, 9.0])
    moved = call(x)
    expected = x.reason[places]
    assert np.ma.getmaskarray(moved).tolist() == (expected != Reason.OK).tolist()
    got = moved.reason
    assert got.tolist() == expected.tolist() or set(got[expected != Reason.OK]) == {Reason.MASKED}


def test_an_entry_that_is_set_brings_its_reason():
    x = positive("b", [4.0, 0.0, math.nan, 9.0])
    x[0], x[1], x[3] = np.ma.masked, 5.0, x[2:3][0]
    assert x.reason.tolist() == [Reason.MASKED, Reason.OK, Reason.NOT_A_NUMBER, Reason.MASKED]
    x[:2] = positive("b", [-1.0, 2.0])
    assert x.reason.tolist() == [Reason.NEGATIVE, Reason.OK, Reason.NOT_A_NUMBER, Reason.MASKED]


def test_reasons_of_both_operands_meet():
    a, b = positive("b", [4.0, 0.0, 2.0]), positive("b", [math.nan, -1.0, 2.0])
    for both in (a + b, np.maximum(a, b), a > b):
        assert both.reason.tolist() == [Reason.NOT_A_NUMBER, Reason.ZERO, Reason.OK]
    a += b
    assert a.reason.tolist() == [Reason.NOT_A_NUMBER, Reason.ZERO, Reason.OK]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True) | LEGAL, min_size=1))
def test_nothing_illegal_is_ever_let_through(values):
    x = positive("b", values)
    seen = np.ma.compressed(x)
    assert np.all(np.isfinite(seen)) and np.all(seen > 0)
    assert len(seen) == sum(SMALLEST <= v <= LARGEST for v in values)
