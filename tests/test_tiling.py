"""Bytes of a tiled product: the formula, and a walk that counts every copy."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scaling_lib as sl

sizes = st.integers(1, 20)


@given(m=sizes, k=sizes, n=sizes, tile_m=sizes, tile_n=sizes, tile_k=sizes)
def test_the_formula_counts_what_a_walk_moves(m, k, n, tile_m, tile_n, tile_k):
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 10, (m, k)), rng.integers(-9, 10, (k, n))
    walk = sl.walk_tiles(x, w, tile_m, tile_n, tile_k)
    assert np.array_equal(walk.product, x @ w)
    moved = 2 * walk.x_elements + 1 * walk.w_elements + 4 * walk.out_elements
    assert moved == sl.tiled_matmul_bytes(m, k, n, tile_m, tile_n, w="int8", out="f32")
    assert walk.most_elements <= tile_m * tile_n + tile_k * (tile_m + tile_n)


@given(m=sizes, k=sizes, n=sizes)
def test_one_tile_moves_each_array_once_and_tiles_of_one_reread_everything(m, k, n):
    assert sl.tiled_matmul_bytes(m, k, n, m, n) == sl.matmul_work(m, k, n).bytes
    assert sl.tiled_matmul_bytes(m, k, n, 1, 1) == 2 * (2 * m * k * n + m * n)


@given(tile_m=st.integers(1, 512), tile_n=st.integers(1, 512))
def test_intensity_of_a_tile_is_the_limit_of_a_long_contraction(tile_m, tile_n):
    nbytes = sl.tiled_matmul_bytes(tile_m, 1e12, tile_n, tile_m, tile_n)
    assert 2 * tile_m * 1e12 * tile_n / nbytes == pytest.approx(sl.tile_intensity(tile_m, tile_n), rel=1e-6)
    assert sl.tile_intensity(tile_m, tile_n) == pytest.approx(tile_m * tile_n / (tile_m + tile_n))


def test_what_a_tile_holds():
    assert sl.tile_bytes(256, 128, 64, w="int8") == 4 * 256 * 128 + 2 * 64 * (2 * 256 + 128)
    assert sl.tile_bytes(256, 128, 64, buffers=1) == 4 * 256 * 128 + 64 * 2 * (256 + 128)


def test_sweeps_broadcast_and_mask():
    tiles = np.array([64, 128, 256])
    swept = sl.tiled_matmul_bytes(1000, 1000, 1000, tiles, tiles[:, None])
    assert swept.shape == (3, 3) and swept[0, 2] == sl.tiled_matmul_bytes(1000, 1000, 1000, 256, 64)
    assert sl.tile_intensity([8, 0], 8).mask.tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sl.walk_tiles(np.ones((2, 3)), np.ones((2, 3)), 1, 1, 1), "x and w must be [M, K] and [K, N]"),
        (lambda: sl.walk_tiles(np.ones((2, 2)), np.ones((2, 2)), 1, 1.5, 1), "tile_n must be a whole number"),
        (lambda: sl.tiled_matmul_bytes(8, 8, 8, 0, 8), "tile_m is zero"),
        (lambda: sl.tile_intensity(8, 8, x="bf17"), "'bf17' is unknown"),
    ],
)
def test_bad_input_is_told_what_is_possible(call, says):
    with pytest.raises(sl.ScalingError, match=re.escape(says)):
        call()
