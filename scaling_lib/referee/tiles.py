"""Padding measured on the machine at hand: square products just below, at and above a multiple of the tile."""

from dataclasses import dataclass

from scaling_lib.referee.devices import catalogue_chip, this_device
from scaling_lib.referee.measure import (
    JAX_DTYPES,
    Shown,
    Spread,
    device_name,
    matmul_tasks,
    measured_rates,
    one_duration,
)
from scaling_lib.systolic import padded_size
from scaling_lib.units import si

GPU_TILE = 128  # a usual side of the tiles that a GPU's matmul kernels hand to one SM


@dataclass(frozen=True)
class MeasuredSize:
    """One product [n, n] · [n, n]: its side after padding, the predicted rate and the measured one."""

    n: int
    padded: int
    predicted_flops_per_s: float
    flops_per_s: Spread


@dataclass(frozen=True, repr=False)
class MeasuredTiles(Shown):
    """What `measure_tiles` found on one device."""

    _head = "side", "padded", "predicted", "measured (quartiles)"

    device: str
    dtype: str
    tile: int
    sizes: tuple[MeasuredSize, ...]

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
      ScalingError: seconds is not one positive number.
    """
    seconds = one_duration(seconds)
    device = this_device() if device is None else device
    on_cpu = device.platform == "cpu"
    tile = tile_of(device)
    whole = 768 if on_cpu else 4096
    step = max(tile, 64)
    sides = (whole - step, whole - step + 1, whole - step // 2, whole, whole + 1, whole + step)
    dtype, calls = ("f32", 1) if on_cpu else ("bf16", 20)
    rates = _square_rates(device, sides, JAX_DTYPES[dtype], calls, seconds)
    best = rates[whole].median
    sizes = []
    for n, rate in rates.items():
        padded = int(padded_size(n, tile))
        sizes.append(MeasuredSize(n, padded, best * (n / padded) ** 2, rate))
    return MeasuredTiles(device_name(device), dtype, tile, tuple(sizes))


def _square_rates(device, sides, dtype, calls, seconds):
    """{side: Spread} of square products, run in turn so that a busy moment of the machine falls on all alike."""
    import jax

    with jax.default_device(device):
        tasks = [task for n in sides for task in matmul_tasks((n,), n, dtype, calls)]
        return dict(zip(sides, measured_rates(tasks, seconds), strict=True))


def tile_of(device):
    """Side of the tiles in which a device multiplies; 1 where none is known."""
    if device.platform == "cpu":
        return 1
    return getattr(catalogue_chip(device), "mxu_dim", GPU_TILE)
