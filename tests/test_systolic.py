"""The simulated systolic array does what its formulas say, and every number moves by one cell a cycle."""

import itertools
import re

import numpy as np
import pytest
from facts_table import assert_holds, inputs, load
from hypothesis import given, settings
from hypothesis import strategies as st

import scaling_lib as sl
from scaling_lib.systolic import NONE

FACTS = load("ch02")
calm = settings(deadline=None, max_examples=60)  # a run of many cycles takes a while
sizes, sides = st.integers(1, 14), st.integers(1, 6)


def product(m, k, n, side, seed=0, **options):
    """A run on small whole numbers, with the arrays that went in."""
    rng = np.random.default_rng(seed)
    x, w = rng.integers(-9, 10, (m, k)), rng.integers(-9, 10, (k, n))
    return sl.systolic_matmul(x, w, side, **options), x, w


@calm
@given(m=sizes, k=sizes, n=sizes, rows=sides, columns=sides)
def test_the_array_multiplies_and_takes_the_cycles_of_the_closed_form(m, k, n, rows, columns):
    run, x, w = product(m, k, n, (rows, columns))
    assert np.array_equal(run.product, x @ w)
    assert run.cycles == sl.systolic_cycles(m, k, n, (rows, columns)) == len(run.busy)
    assert run.busy.sum() == m * k * n and run.busy.max() <= rows * columns
    assert run.utilisation == pytest.approx(sl.systolic_utilisation(m, k, n, (rows, columns)))


def test_a_real_size_multiplies_too():
    run, x, w = product(40, 200, 130, 128)
    assert np.array_equal(run.product, x @ w) and run.tiles == 4


@calm
@given(m=sizes, rows=sides, columns=sides, tiles=st.integers(1, 3))
def test_every_number_comes_from_the_neighbour(m, rows, columns, tiles):
    frames = product(m, rows * tiles, columns, (rows, columns), trace=True)[0].frames
    for before, now in itertools.pairwise(frames):
        for name in ("x_row", "x_tile"):
            assert np.array_equal(getattr(now, name)[:, 1:], getattr(before, name)[:, :-1])
        stays = before.falling_row == np.arange(rows)[:, None]  # a weight falls no further than to its own row
        for name in ("falling_row", "falling_tile"):
            passed_on = np.where(stays, NONE, getattr(before, name))
            assert np.array_equal(getattr(now, name)[1:], passed_on[:-1])


@calm
@given(m=sizes, rows=sides, columns=sides, tiles=st.integers(1, 4))
def test_a_row_of_x_always_meets_the_weights_of_its_own_tile(m, rows, columns, tiles):
    for frame in product(m, rows, columns * tiles, (rows, columns), trace=True)[0].frames:
        at_work = frame.x_row != NONE
        assert np.array_equal(frame.x_tile[at_work], frame.weight_tile[at_work])


def test_sums_grow_downwards_by_one_product_a_cell():
    run, x, w = product(5, 4, 4, 4, trace=True)
    for frame in run.frames:
        for i, j in np.argwhere(frame.x_row != NONE):
            assert frame.sums[i, j] == x[frame.x_row[i, j], : i + 1] @ w[: i + 1, j]


@calm
@given(m=st.integers(4, 12), tiles=st.integers(1, 4))
def test_long_tiles_follow_each_other_without_a_gap(m, tiles):
    busy = product(m, 4, 4 * tiles, 4)[0].busy
    inside = busy[np.flatnonzero(busy)[0] + 6 : np.flatnonzero(busy)[-1] - 5]
    assert np.all(inside == 16)


def test_fewer_rows_than_the_array_has_wait_for_the_next_weights():
    assert sl.systolic_cycles(8, 128, 128 * 100) == 128 + 99 * 128 + 8 + 254
    assert sl.systolic_utilisation(8, 128, 128 * 10000) == pytest.approx(8 / 128, rel=1e-3)
    assert sl.systolic_utilisation(128, 128, 128 * 10000) == pytest.approx(1, rel=1e-3)


def test_formulas_broadcast_and_mask():
    cycles = sl.systolic_cycles(np.array([1, 8, 128]), 256, 256)
    assert cycles.tolist() == [sl.systolic_cycles(m, 256, 256) for m in (1, 8, 128)]
    assert sl.systolic_utilisation([8, -1], 128, 128).mask.tolist() == [False, True]
    assert sl.padded_size(np.array([1, 128, 129])).tolist() == [128, 128, 256]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sl.systolic_matmul(np.ones((2, 3)), np.ones((2, 3))), "[M, K] and [K, N], got [2, 3] and [2, 3]"),
        (lambda: sl.systolic_matmul(np.ones((2, 0)), np.ones((0, 3))), "got [2, 0] and [0, 3]"),
        (lambda: sl.systolic_cycles(8, 8, 8, side=0), "side must be a whole number of cells"),
        (lambda: sl.systolic_cycles(8, 8, 8, side=(4, 2.5)), "got (4, 2.5)"),
        (lambda: sl.systolic_cycles(0, 8, 8), "m is zero"),
        (lambda: sl.padded_size("100"), "size must be a number"),
    ],
)
def test_bad_input_is_told_what_is_possible(call, says):
    with pytest.raises(sl.ScalingError, match=re.escape(says)):
        call()


# ---- facts of the reference book ----


def test_an_mxu_does_128_squared_multiplications_a_cycle():
    fact = FACTS["tpus.core.mxu_rate"]
    given_ = inputs(fact)
    macs = given_["rows"] * given_["k"] * given_["n"] / given_["cycles"]
    run, *_ = product(300, 128, 128, 128)
    assert run.busy.max() == macs == 128**2
    assert_holds(fact, "flops_per_cycle", 2.0 * run.busy.max())


def test_the_small_animations_count_what_the_facts_count():
    two = product(2, 2, 2, 2)[0]
    three = product(3, 3, 2, (3, 2))[0]
    assert_holds(FACTS["tpus.appb.anim_2x2"], "outputs", two.product.size)
    assert_holds(FACTS["tpus.appb.anim_2x2"], "macs", int(two.busy.sum()))
    counted = {"outputs": three.product.size, "macs": int(three.busy.sum()), "batch": len(three.product)}
    for key, ours in counted.items():
        assert_holds(FACTS["tpus.appb.anim_2x3"], key, ours)


def test_tiles_back_to_back_have_one_bubble():
    fact = FACTS["tpus.appb.pipelining"]
    full = product(4, 4, 4 * inputs(fact)["tiles"], 4)[0].busy == 16
    starts = np.flatnonzero(full & ~np.roll(full, 1))  # the array is full in one stretch: one fill before it
    assert_holds(fact, "bubbles", len(starts))
