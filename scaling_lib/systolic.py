"""A systolic array, cell by cell and cycle by cycle: the multiplier inside a TPU's matrix unit (MXU).

Weights stay in the cells, activations move right, sums move down. The array has `rows` × `columns` cells; a product
x [M, K] times w [K, N] is cut into tiles of that size. This is the textbook array, weights double-buffered as in
Google's paper on the first TPU; later chips' pipelines are not published, and differ in detail.
"""

import math
from dataclasses import dataclass

import numpy as np

from scaling_lib.units import ScalingError, plain, positive, sealed

NONE = -1


@dataclass(frozen=True, eq=False)
class Frame:
    """What every cell holds in one cycle; arrays [rows, columns], `NONE` where there is nothing.

    Attributes:
      x_row, x_tile: the row of x whose number is in the cell, and the tile of weights it is to meet.
      weight_tile, spare_tile: the tile whose weight the cell multiplies with, and of the weight that waits beside it.
      falling_row, falling_tile: the row that the weight passing through is bound for, and its tile.
      sums: the sum that leaves the cell downwards.
    """

    x_row: np.ndarray
    x_tile: np.ndarray
    weight_tile: np.ndarray
    spare_tile: np.ndarray
    falling_row: np.ndarray
    falling_tile: np.ndarray
    sums: np.ndarray


@dataclass(frozen=True, eq=False)
class SystolicRun:
    """One product on the array.

    Attributes:
      product: x · w [M, N].
      cycles: from the first weight that enters to the last sum that leaves.
      busy: cells that multiplied an element of x with an element of w, in each cycle; padding does not count.
      rows, columns, tiles: the array, and how many tiles of weights passed through it.
      frames: a `Frame` a cycle, if asked for.
    """

    product: np.ndarray
    cycles: int
    busy: np.ndarray
    rows: int
    columns: int
    tiles: int
    frames: tuple[Frame, ...] = ()

    @property
    def utilisation(self):
        """Useful multiplications over what all cells could have done in all cycles."""
        return float(self.busy.sum() / (self.rows * self.columns * self.cycles))


def systolic_matmul(x, w, side=128, *, trace=False):
    """x [M, K] times w [K, N] on a simulated systolic array, in which a cell sees its own and its neighbours' values.

    Every cycle each cell takes the activation of the cell on its left and the sum of the cell above, multiplies,
    adds, and hands both on. Weights fall in from above, each to its row, into a spare register; with the first
    activation of a new tile a cell takes the spare one. So the next tile loads while this one is multiplied.

    Args:
      x, w: arrays [M, K] and [K, N].
      side: rows and columns of the array: a number, or (rows, columns).
      trace: keep a `Frame` for each cycle.

    Returns:
      SystolicRun.

    Raises:
      ScalingError: shapes that do not multiply, or a side that is no whole number.

    Assumes: one cycle a hop; sums of several tiles over K are added below the array, at no cost.
    Source: Jouppi and others, In-Datacenter Performance Analysis of a Tensor Processing Unit, 2017, section 2.

    >>> run = systolic_matmul(np.ones((6, 4)), np.ones((4, 8)), side=4)
    >>> run.cycles, run.tiles, run.product.sum().item()
    (22, 2, 192.0)
    """
    rows, columns = _sides(side)
    x, w = _matrices(x, w)
    tiles = _tiles(w, rows, columns)
    schedule = _Schedule(x, tiles, rows)
    cells = _Cells(rows, columns)
    m, n = len(x), w.shape[1]
    product = np.zeros((m, n + -n % columns))
    busy, frames = [], []
    for cycle in range(_cycles(m, len(tiles), rows, columns)):
        cells.step(*schedule.fed(cycle, columns))
        busy.append(cells.useful())
        if trace:
            frames.append(cells.frame())
        for column, row, tile in cells.leaving():
            product[row, tiles[tile].left + column] += cells.sums[-1, column]
    return SystolicRun(product[:, :n], len(busy), np.array(busy), rows, columns, len(tiles), tuple(frames))


def systolic_cycles(m, k, n, side=128):
    r"""Cycles of x [M, K] times w [K, N] on an array of R × C cells, from the first weight in to the last sum out.

    .. math:: R + (t - 1)\max(M, R) + M + R + C - 2, \quad t = \lceil K/R \rceil \lceil N/C \rceil

    The first tile takes R cycles to load. Later ones load under the multiplication, so tiles follow each other
    every M cycles, or every R where M is smaller. R + C - 2 cycles after its last row went in, the corner is done.

    Args:
      m, k, n: sizes. Broadcast.
      side: rows and columns R, C: a number, or (rows, columns).

    Returns:
      Cycles of `systolic_matmul`.

    >>> systolic_cycles(6, 4, 8, side=4), systolic_cycles(8, 128, 128)
    (22, 390)
    """
    rows, columns = _sides(side)
    (m, k, n), reason = plain(positive("m", m), positive("k", k), positive("n", n))
    return sealed(reason, _whole(_cycles(np.ceil(m), np.ceil(k / rows) * np.ceil(n / columns), rows, columns)))


def systolic_utilisation(m, k, n, side=128):
    """Share of the array's multiplications that the product needed: MKN / (R · C · cycles). Broadcasts.

    >>> round(systolic_utilisation(128, 128, 128), 3), round(systolic_utilisation(8192, 8192, 8192), 3)
    (0.251, 1.0)
    """
    rows, columns = _sides(side)
    (m, k, n), reason = plain(positive("m", m), positive("k", k), positive("n", n))
    return sealed(reason, m * k * n / (rows * columns) / systolic_cycles(m, k, n, side))


def padded_size(size, multiple=128):
    """`size` rounded up to whole multiples: what hardware that works in tiles stores and multiplies. Broadcasts.

    >>> padded_size(100), padded_size(129), padded_size(256, 256)
    (128, 256, 256)
    """
    (size, multiple), reason = plain(positive("size", size), positive("multiple", multiple))
    return sealed(reason, _whole(np.ceil(size / multiple) * multiple))


@dataclass(frozen=True)
class _Tile:
    """A tile of weights, padded with zeros, and its place: `top` in K, `left` in N."""

    weights: np.ndarray
    top: int
    left: int
    height: int
    width: int


def _tiles(w, rows, columns):
    """Tiles of w, those that add to the same columns of the product one after another."""
    k, n = w.shape
    padded = np.zeros((k + -k % rows, n + -n % columns))
    padded[:k, :n] = w
    return [
        _Tile(padded[top : top + rows, left : left + columns], top, left, min(rows, k - top), min(columns, n - left))
        for left in range(0, n, columns)
        for top in range(0, k, rows)
    ]


def _cycles(m, tiles, rows, columns):
    return rows + (tiles - 1) * np.maximum(m, rows) + m + rows + columns - 2


@dataclass(frozen=True)
class _Schedule:
    """What enters the array in which cycle: x from the left, one row of cells after another; w from above."""

    x: np.ndarray
    tiles: list
    rows: int

    def fed(self, cycle, columns):
        """(x value, row, tile, useful) for each row of cells, and (weight, row, tile) for each column."""
        m, pace = len(self.x), max(len(self.x), self.rows)
        left = [(0.0, NONE, NONE)] * self.rows
        for i in range(self.rows):
            tile, row = divmod(cycle - self.rows - i, pace)  # cell row i starts i cycles after the first
            if 0 <= tile < len(self.tiles) and row < m:
                at = self.tiles[tile].top + i
                value = self.x[row, at] if at < self.x.shape[1] else 0.0
                left[i] = (value, row, tile)
        above = [(0.0, NONE, NONE)] * columns
        for j in range(columns):
            since = cycle - j  # column j starts j cycles after the first
            tile = 0 if since < self.rows else 1 + (since - self.rows) // pace
            step = since if tile == 0 else (since - self.rows) % pace
            if since >= 0 and tile < len(self.tiles) and step < self.rows:
                row = self.rows - 1 - step  # the lowest row falls first
                above[j] = (self.tiles[tile].weights[row, j], row, tile)
        return left, above, self.tiles


class _Cells:
    """The registers of all cells."""

    def __init__(self, rows, columns):
        shape = rows, columns
        self.x, self.weight, self.spare, self.falling, self.sums = (np.zeros(shape) for _ in range(5))
        names = ("x_row", "x_tile", "weight_tile", "spare_tile", "falling_row", "falling_tile")
        self.tags = {name: np.full(shape, NONE) for name in names}
        self.tiles = ()

    def step(self, left, above, tiles):
        """One cycle: everything moves by one cell, then every cell multiplies and adds."""
        self.tiles, tags = tiles, self.tags
        value, row, tile = (np.array(given) for given in zip(*left, strict=True))
        self.x, tags["x_row"], tags["x_tile"] = (
            _moved_right(old, new) for old, new in ((self.x, value), (tags["x_row"], row), (tags["x_tile"], tile))
        )
        value, row, tile = (np.array(given) for given in zip(*above, strict=True))
        home = np.arange(len(self.x))[:, None]
        stays = tags["falling_row"] == home
        tags["falling_row"], tags["falling_tile"] = (
            np.where(stays, NONE, tags[name]) for name in ("falling_row", "falling_tile")
        )
        self.falling, tags["falling_row"], tags["falling_tile"] = (
            _moved_down(old, new)
            for old, new in ((self.falling, value), (tags["falling_row"], row), (tags["falling_tile"], tile))
        )
        first = tags["x_row"] == 0  # the first row of x brings the order to take the spare weight
        self.weight = np.where(first, self.spare, self.weight)
        tags["weight_tile"] = np.where(first, tags["spare_tile"], tags["weight_tile"])
        at_home = tags["falling_row"] == home
        self.spare = np.where(at_home, self.falling, self.spare)
        tags["spare_tile"] = np.where(at_home, tags["falling_tile"], tags["spare_tile"])
        self.sums = _moved_down(self.sums, np.zeros(self.x.shape[1])) + self.x * self.weight

    def useful(self):
        """Cells that multiplied an element of x with an element of w, padding left out."""
        tile = self.tags["x_tile"]
        rows, columns = self.x.shape
        heights = np.array([0, *(t.height for t in self.tiles)])[tile + 1]
        widths = np.array([0, *(t.width for t in self.tiles)])[tile + 1]
        return int(((np.arange(rows)[:, None] < heights) & (np.arange(columns) < widths)).sum())

    def leaving(self):
        """(column, row of x, tile) of every finished sum at the lower edge."""
        rows, tiles = self.tags["x_row"][-1], self.tags["x_tile"][-1]
        return [(j, int(rows[j]), int(tiles[j])) for j in range(len(rows)) if rows[j] != NONE]

    def frame(self):
        return Frame(**{name: values.copy() for name, values in self.tags.items()}, sums=self.sums.copy())


def _moved_right(old, entering):
    return np.column_stack([entering, old[:, :-1]])


def _moved_down(old, entering):
    return np.vstack([entering, old[:-1]])


def _matrices(x, w):
    x, w = np.asarray(x, dtype=float), np.asarray(w, dtype=float)
    if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0] or 0 in (*x.shape, *w.shape):
        raise ScalingError(f"x and w must be [M, K] and [K, N], got {list(x.shape)} and {list(w.shape)}")
    return x, w


def _sides(side):
    rows, columns = side if isinstance(side, tuple) and len(side) == 2 else (side, side)
    if any(type(n) is not int or n < 1 for n in (rows, columns)):
        raise ScalingError(f"side must be a whole number of cells, or (rows, columns), got {side!r}")
    return rows, columns


def _whole(number):
    """A whole number as an int, where it is a scalar."""
    return int(number) if np.ndim(number) == 0 and math.isfinite(number) else number
