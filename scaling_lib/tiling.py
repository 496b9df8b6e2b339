"""Reuse by tiling: what a matrix product moves between a large slow memory and a small fast one.

x [M, K] times w [K, N] is made one tile of the result at a time: tile_m × tile_n sums stay in the fast memory (VMEM,
shared memory, a cache) while the rows of x and the columns of w that they need stream past.
"""

from dataclasses import dataclass

import numpy as np

from scaling_lib.units import ScalingError, bytes_per_element, plain, positive, sealed
from scaling_lib.work import dtype_or

SUM_BYTES = 4.0  # sums are kept in f32


def tiled_matmul_bytes(m, k, n, tile_m, tile_n, *, x="bf16", w=None, out=None):
    r"""Bytes that a tiled product x [M, K] · w [K, N] moves to and from the slow memory.

    Every tile of the result needs its rows of x and its columns of w once; so x is read once for each column of
    tiles, w once for each row of tiles, and the result is written once:

    .. math:: x\,MK\lceil N/t_n\rceil + w\,KN\lceil M/t_m\rceil + o\,MN

    Args:
      m, k, n: sizes [elements]. Broadcast.
      tile_m, tile_n: sizes of a tile of the result [elements]; larger ones than the result count as the result.
      x, w, out: dtypes; w and out are as x unless given.

    Returns:
      Bytes; with one tile as large as the result they are those of `matmul_work`.

    Raises:
      ScalingError: a size is no positive number.

    Assumes: the tile and the slices streaming past fit (`tile_bytes`); nothing is reused between tiles.
    Source: counted by `walk_tiles`.

    >>> tiled_matmul_bytes(8192, 8192, 8192, 512, 512) / 1e9
    4.429185024
    """
    (m, k, n, tile_m, tile_n), reason = plain(
        positive("m", m), positive("k", k), positive("n", n), positive("tile_m", tile_m), positive("tile_n", tile_n)
    )
    x_bytes, w_bytes, out_bytes = _widths(x, w, out)
    nbytes = x_bytes * m * k * np.ceil(n / tile_n) + w_bytes * k * n * np.ceil(m / tile_m) + out_bytes * m * n
    return sealed(reason, nbytes)


def tile_intensity(tile_m, tile_n, *, x="bf16", w=None):
    r"""FLOPs per byte that a tile allows: 2 t_m t_n / (x t_m + w t_n), with bf16 t_m t_n / (t_m + t_n). Broadcasts.

    It is the limit of `tiled_matmul_bytes` for long K: how often a number is used while it is in the fast memory.

    >>> tile_intensity(512, 512), tile_intensity(128, 128)
    (256.0, 64.0)
    """
    (tile_m, tile_n), reason = plain(positive("tile_m", tile_m), positive("tile_n", tile_n))
    x_bytes, w_bytes, _ = _widths(x, w, None)
    return sealed(reason, 2 * tile_m * tile_n / (x_bytes * tile_m + w_bytes * tile_n))


def tile_bytes(tile_m, tile_n, tile_k, *, x="bf16", w=None, buffers=2):
    """Fast memory that a tile needs: f32 sums, and slices of x and w, twice so that the next ones arrive meanwhile.

    >>> tile_bytes(512, 512, 512) / 2**20
    3.0
    """
    (tile_m, tile_n, tile_k), reason = plain(
        positive("tile_m", tile_m), positive("tile_n", tile_n), positive("tile_k", tile_k)
    )
    x_bytes, w_bytes, _ = _widths(x, w, None)
    return sealed(reason, SUM_BYTES * tile_m * tile_n + buffers * tile_k * (x_bytes * tile_m + w_bytes * tile_n))


@dataclass(frozen=True, eq=False)
class TileWalk:
    """A tiled product really carried out: the product, and the elements that were moved for it.

    Attributes:
      product: x · w.
      x_elements, w_elements, out_elements: moved between the memories.
      most_elements: held in the fast memory at the same time, at most.
    """

    product: np.ndarray
    x_elements: int
    w_elements: int
    out_elements: int
    most_elements: int


def walk_tiles(x, w, tile_m, tile_n, tile_k):
    """Multiplies tile by tile, and counts every element that it copies into or out of the fast memory.

    Args:
      x, w: arrays [M, K] and [K, N].
      tile_m, tile_n, tile_k: sizes of the tiles, whole numbers.

    Returns:
      TileWalk: its counts are what `tiled_matmul_bytes` predicts.

    >>> walk = walk_tiles(np.ones((8, 8)), np.ones((8, 8)), 4, 4, 2)
    >>> walk.x_elements, walk.w_elements, walk.out_elements
    (128, 128, 64)
    """
    x, w = np.asarray(x, dtype=float), np.asarray(w, dtype=float)
    if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0]:
        raise ScalingError(f"x and w must be [M, K] and [K, N], got {list(x.shape)} and {list(w.shape)}")
    for name, tile in (("tile_m", tile_m), ("tile_n", tile_n), ("tile_k", tile_k)):
        if type(tile) is not int or tile < 1:
            raise ScalingError(f"{name} must be a whole number of elements, 1 or more, got {tile!r}")
    (m, k), n = x.shape, w.shape[1]
    product, moved, most = np.zeros((m, n)), {"x": 0, "w": 0, "out": 0}, 0
    for top in range(0, m, tile_m):
        for left in range(0, n, tile_n):
            sums = np.zeros_like(product[top : top + tile_m, left : left + tile_n])
            for deep in range(0, k, tile_k):
                x_slice = x[top : top + tile_m, deep : deep + tile_k].copy()  # a copy: it comes from the slow memory
                w_slice = w[deep : deep + tile_k, left : left + tile_n].copy()
                moved["x"] += x_slice.size
                moved["w"] += w_slice.size
                most = max(most, x_slice.size + w_slice.size + sums.size)
                sums += x_slice @ w_slice
            product[top : top + tile_m, left : left + tile_n] = sums
            moved["out"] += sums.size
    return TileWalk(product, moved["x"], moved["w"], moved["out"], most)


def _widths(x, w, out):
    return tuple(bytes_per_element(dtype) for dtype in (x, dtype_or(w, x), dtype_or(out, x)))
