"""Masked arrays: nothing made up shows, and a reason goes with its entry or is lost, but never goes to another."""

import math
import operator
import warnings

import numpy as np
import pytest

import scaling_lib as sl
from scaling_lib.units import Reason, plain, positive, sealed


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


def test_an_answer_cannot_be_set_and_a_copy_can_but_has_no_reasons():
    x = positive("b", [[4.0, 0.0], [math.nan, 9.0]])
    for part in (x, x[0], x.T, x.reshape(4), 2 * x, np.sqrt(x), x.astype(np.float32), x > 1):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    mine = x.copy()
    mine[0], mine.T[1, 0] = np.ma.masked, 5.0
    assert mine.tolist() == [[None, 5], [None, 9]]
    assert mine.reason.tolist() == [[Reason.MASKED, Reason.OK], [Reason.MASKED, Reason.OK]]
    x[1] = np.ma.masked  # a mask can grow
    assert x.reason.tolist() == [[Reason.OK, Reason.ZERO], [Reason.NOT_A_NUMBER, Reason.MASKED]]


def test_an_operator_in_place_makes_a_new_array():
    x = positive("b", [4.0, 0.0])
    same, ok = x, x > 2
    x += 1
    x %= 3
    ok &= x < 9
    assert x.tolist() == [2, None] and x.reason.tolist() == ok.reason.tolist() == [Reason.OK, Reason.ZERO]
    assert same.tolist() == [4, None] and ok.tolist() == [True, None]


def test_a_copy_goes_on_as_an_array_of_numpys_own():
    x = positive("b", [4.0, 0.0, 9.0])
    mine = x.copy()
    mine += 1
    mine[2] = 7
    np.copyto(mine[:1], 3.0)
    assert mine.tolist() == [3, None, 7] and np.add(mine, 1, out=mine) is mine and mine.tolist() == [4, None, 8]
    np.add(x, 1, out=mine)
    mine[1] = 2
    assert mine.tolist() == [5, 2, 10] and mine.reason.tolist() == [Reason.OK] * 3
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(x, 3.0)


def test_a_new_shape_takes_the_reasons_along():
    x = positive("b", [-1.0, 0.0, 2.0, math.nan])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of numpy 2.5
        x.shape = (2, 2)
    again = positive("b", x)
    assert again.reason.tolist() == [[Reason.NEGATIVE, Reason.ZERO], [Reason.OK, Reason.NOT_A_NUMBER]]


@pytest.mark.parametrize("order", "CFAK")
@pytest.mark.parametrize("turn", [lambda v: v, lambda v: v.T, lambda v: v.T + 0, lambda v: v[:, ::-1]])
def test_reasons_lie_as_the_entries_do_in_any_order_of_memory(order, turn):
    coded = {1.0: Reason.OK, -2.0: Reason.NEGATIVE, 0.0: Reason.ZERO, math.inf: Reason.INFINITE}
    given = [[-2.0, 1.0, 0.0], [math.inf, -2.0, 1.0]]
    x = turn(positive("b", given))
    numbers = turn(np.array(given))
    ways = [lambda v: v.ravel(order), lambda v: v.reshape(-1, order=order)]
    for flat in ways if order != "K" else ways[:1]:  # numpy has no reshape of order K
        if order in "CF":
            assert flat(x).reason.tolist() == [coded[v] for v in flat(numbers).tolist()]
        else:  # numpy.ma has an order of its own; reasons must be where the mask is
            assert Reason.MASKED not in flat(x).reason
            assert sorted(flat(x).reason) == sorted(coded[v] for v in flat(numbers).tolist())


REDUCED = ["sum", "prod", "max", "min", "mean", "std", "var"]


@pytest.mark.parametrize("name", REDUCED)
def test_a_row_without_a_legal_entry_has_no_number(name):
    x = positive("b", [[3.0, 3.0], [-2.0, -1.0]])
    made = getattr(np, name)(x, axis=1)
    assert np.isfinite(made[0]) and made.mask.tolist() == [False, True] and math.isnan(np.asarray(made)[1])


def test_a_running_sum_and_a_product_show_nothing_made_up():
    x = positive("b", [[3.0, -1.0], [-2.0, -1.0]])
    np.testing.assert_equal(np.asarray(x.cumsum(1)), [[3, math.nan], [math.nan, math.nan]])
    np.testing.assert_equal(np.asarray(x.dot(np.ones(2)))[1], math.nan)
    np.testing.assert_equal(np.asarray(x * 1j), [[3j, math.nan], [math.nan, math.nan]])


def test_choosing_by_name_and_by_a_condition_with_reasons():
    x = positive("b", [3.0, -1.0, 0.0])
    for chosen in (np.where(x > 1, x, 0.0), np.select(condlist=[x > 1], choicelist=[x], default=0.0)):
        assert chosen.reason.tolist() == [Reason.OK, Reason.NEGATIVE, Reason.ZERO]
    assert x.astype(np.float32).reason.tolist() == x.reason.tolist()


@pytest.mark.parametrize("call", [np.unique, np.sort, np.cumsum, np.ma.median, np.diff, np.flatnonzero])
def test_numpy_works_on_it_as_on_a_masked_array_of_its_own(call):
    x, own = positive("b", [3.0, -1.0, 5.0, 4.0]), np.ma.array([3.0, math.nan, 5.0, 4.0], mask=[0, 1, 0, 0])
    np.testing.assert_equal(np.ma.filled(call(x), -7), np.ma.filled(call(own), -7))
    assert x.reason.tolist() == [Reason.OK, Reason.NEGATIVE, Reason.OK, Reason.OK]


def test_several_results_at_once_stay_masked():
    x = positive("b", [3.0, -1.0])
    assert all(isinstance(part, sl.Masked) for part in (*np.split(x, 2), *np.atleast_1d(x, x), np.hstack([x, x])))


def test_what_is_no_reason_is_not_taken_for_one():
    x = positive("b", [1.0, -2.0])
    differs = x == UnicodeDecodeError("utf8", b"x", 0, 1, "bad")
    assert differs.reason.dtype == np.int8 and differs.reason.tolist() == [Reason.OK, Reason.NEGATIVE]
    assert positive("b", [1.0, 2.0, -1.0]).view([("a", "f8")])["a"].tolist() == [1, 2, None]


def test_it_shows_each_entry():
    assert repr(np.insert(positive("b", [3.0, -1.0]), 0, 1.0)).startswith("Masked([1.0, 3.0, ")
    assert repr(sealed(np.array([Reason.OK, Reason.ZERO]), np.array(["a b", "c"]))) == "Masked(['a b', --])"


def test_reasons_of_both_operands_meet():
    a, b = positive("b", [4.0, 0.0, 2.0]), positive("b", [math.nan, -1.0, 2.0])
    for both in (a + b, np.maximum(a, b), a > b):
        assert both.reason.tolist() == [Reason.NOT_A_NUMBER, Reason.ZERO, Reason.OK]
    a += b
    assert a.reason.tolist() == [Reason.NOT_A_NUMBER, Reason.ZERO, Reason.OK]
