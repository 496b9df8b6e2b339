"""Padding measured on the machine at hand: square products just below, at and above a multiple of the tile."""

import html
from dataclasses import dataclass

from scaling_lib.referee.devices import catalogue_chip, this_device
from scaling_lib.referee.measure import _DTYPES, Spread, _device_name, _matmuls, _rates
from scaling_lib.systolic import padded_size
from scaling_lib.units import positive, si

GPU_TILE = 128  # a usual side of the tiles that a GPU's matmul kernels hand to one SM


@dataclass(frozen=True)
class MeasuredSize:
    """One product [n, n] · [n, n]: its side after padding, the predicted rate and the measured one."""

    n: int
    padded: int
    predicted_flops_per_s: float
    flops_per_s: Spread


@dataclass(frozen=True, repr=False)
class MeasuredTiles:
    """What `measure_tiles` found on one device."""

    device: str
    dtype: str
    tile: int
    sizes: tuple[MeasuredSize, ...]

    def __repr__(self):
        head = "side", "padded", "predicted", "measured (quartiles)"
        rows = "\n".join("  {:>5} {:>6} {:>14}  {}".format(*row) for row in (head, *self._table()))
        return f"{self._title()}\n{rows}"

    def _repr_html_(self):
        head = "<tr><th>side</th><th>padded</th><th>predicted</th><th>measured (quartiles)</th></tr>"
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._table())
        title = html.escape(self._title())
        return (
            f'<div class="sl-report"><p><strong>{title}</strong></p>'
            f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
        )

    def _title(self):
        tile = f"tiles of {self.tile}" if self.tile > 1 else "no tile known: padding predicts no loss"
        return f"Square {self.dtype} products on {self.device}, {tile}"

    def _table(self):
        for size in self.sizes:
            predicted = si(size.predicted_flops_per_s, "FLOP/s")
            yield str(size.n), str(size.padded), predicted, size.flops_per_s.text("FLOP/s")


def measure_tiles(device=None, *, seconds=2.0):
    """Time square products with sides around a multiple of the tile, and predict them from the fastest of them.

    The side of a tile is the catalogue's for a TPU (its MXU), `GPU_TILE` for a GPU, 1 for a CPU. A product of side n
    is predicted to run at the rate of a whole multiple times (n / padded n)².

    Args:
      device: jax device; `this_device()` by default.
      seconds: about how long to measure; compilation comes on top.

    Returns:
      MeasuredTiles.

    Raises:
      ScalingError: seconds is not positive.
    """
    seconds = positive("seconds", seconds)
    device = this_device() if device is None else device
    on_cpu = device.platform == "cpu"
    tile = tile_of(device)
    whole = 768 if on_cpu else 4096
    step = max(tile, 64)
    sides = (whole - step, whole - step + 1, whole - step // 2, whole, whole + 1, whole + step)
    dtype, calls = ("f32", 1) if on_cpu else ("bf16", 20)
    rates = _square_rates(device, sides, _DTYPES[dtype], calls, seconds)
    best = rates[whole].median
    sizes = []
    for n, rate in rates.items():
        padded = int(padded_size(n, tile))
        sizes.append(MeasuredSize(n, padded, best * (n / padded) ** 2, rate))
    return MeasuredTiles(_device_name(device), dtype, tile, tuple(sizes))


def _square_rates(device, sides, dtype, calls, seconds):
    """{side: Spread} of square products, run in turn so that a busy moment of the machine falls on all alike."""
    import jax

    with jax.default_device(device):
        tasks = [task for n in sides for task in _matmuls((n,), n, dtype, calls)]
        return dict(zip(sides, _rates(tasks, seconds), strict=True))


def tile_of(device):
    """Side of the tiles in which a device multiplies; 1 where none is known."""
    if device.platform == "cpu":
        return 1
    return getattr(catalogue_chip(device), "mxu_dim", GPU_TILE)
