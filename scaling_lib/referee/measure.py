"""A roofline measured on the machine at hand: matmul peak, stream bandwidth, and matmuls of growing batch between."""

import html
import os
import time
from dataclasses import dataclass

import numpy as np

from scaling_lib.referee.devices import this_device
from scaling_lib.roofline import matmul_work
from scaling_lib.units import ScalingError, bytes_per_element, positive, si

JAX_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


@dataclass(frozen=True)
class Spread:
    """Repeated measurements of one quantity: median and quartiles."""

    median: float
    low: float
    high: float
    n: int

    def text(self, unit):
        return f"{si(self.median, unit)} ({si(self.low, unit)} to {si(self.high, unit)}, {self.n} runs)"


@dataclass(frozen=True)
class MeasuredPoint:
    """One matmul [batch, d] · [d, d]: what the measured roofline predicts for it, and how fast it ran.

    Roof and point are measured apart, so a point may lie a little above its prediction.
    """

    batch: int
    intensity: float  # FLOPs per byte
    predicted_flops_per_s: float
    flops_per_s: Spread


class Shown:
    """A result that shows itself, as text and as HTML: a `_title`, `_facts` where it has some, and a `_table`."""

    _head = ()

    def __repr__(self):
        rows = [self._head, *self._table()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  " + "  ".join(map(str.rjust, row, widths)).rstrip() for row in rows)
        return "\n".join([self._title(), *self._facts(), *lines])

    def _repr_html_(self):
        def cells(row, tag):
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

        above = "<br>".join([f"<strong>{html.escape(self._title())}</strong>", *map(html.escape, self._facts())])
        rows = "".join(cells(row, "td") for row in self._table())
        return (
            f'<div class="sl-report"><p>{above}</p>'
            f"<table><thead>{cells(self._head, 'th')}</thead><tbody>{rows}</tbody></table></div>"
        )

    def _facts(self):
        return ()


@dataclass(frozen=True, repr=False)
class MeasuredRoofline(Shown):
    """What `measure_roofline` found on one device."""

    _head = "batch", "FLOP/byte", "predicted", "measured (quartiles)"

    device: str
    dtype: str
    d: int
    peak_flops_per_s: Spread
    stream_bytes_per_s: Spread
    points: tuple[MeasuredPoint, ...]

    @property
    def ridge_point(self):
        """Intensity above which this device is bound by its matmul rate [FLOPs per byte]."""
        return self.peak_flops_per_s.median / self.stream_bytes_per_s.median

    def _title(self):
        return f"Roofline measured on {self.device}, {self.dtype} matmuls [batch, {self.d}] · [{self.d}, {self.d}]"

    def _facts(self):
        yield (
            f"peak {self.peak_flops_per_s.text('FLOP/s')}; stream {self.stream_bytes_per_s.text('B/s')}; "
            f"ridge at {self.ridge_point:.3g} FLOP/byte"
        )

    def _table(self):
        for p in self.points:
            measured = p.flops_per_s.text("FLOP/s")
            yield str(p.batch), f"{p.intensity:.3g}", si(p.predicted_flops_per_s, "FLOP/s"), measured


def measure_roofline(device=None, *, dtype=None, seconds=4.0):
    """Measure a roofline: peak of a large square matmul, bandwidth of a stream, and matmuls of growing batch.

    All are run in turn, round after round, so that a busy moment of the machine falls on all alike; medians are
    reported with their quartiles. The stream reads an array as large as the matmuls' weights once (a sum), or reads
    two and writes one in place; the faster counts. (A server's CPU may keep part of it in cache: the matmuls see that
    bandwidth too.) Peak and stream are measured on their own, so points may lie slightly above the roof: within the
    spread, or because their shape suits the machine better than the square (a tenth, on a CPU). Intensities count each
    operand and the result moved once.

    Args:
      device: jax device; `this_device()` by default.
      dtype: "f32", "bf16" or "f16" of the matmuls; f32 on a CPU, bf16 on an accelerator by default.
      seconds: about how long to measure; compilation comes on top.

    Returns:
      MeasuredRoofline: rates with spread, and one point a batch.

    Raises:
      ScalingError: an unknown dtype, or seconds not one positive number.
    """
    import jax

    seconds = one_duration(seconds)
    device = this_device() if device is None else device
    on_cpu = device.platform == "cpu"
    dtype = ("f32" if on_cpu else "bf16") if dtype is None else dtype
    if not isinstance(dtype, str) or dtype not in JAX_DTYPES:
        raise ScalingError(f"dtype: got {dtype!r}; a roofline is measured in {', '.join(JAX_DTYPES)}")
    d, square, batches = (4096, 1536, (1, 4, 16, 64, 256)) if on_cpu else (8192, 8192, (1, 8, 32, 128, 512, 2048))
    calls = 1 if on_cpu else 20  # enough to hide the time it takes to start one
    with jax.default_device(device):
        streams = _streams(int(d * d * bytes_per_element(dtype)), calls)
        large, matmuls = (matmul_tasks(b, n, JAX_DTYPES[dtype], calls) for b, n in (((square,), square), (batches, d)))
        peak, *spreads = measured_rates([*large, *streams, *matmuls], seconds)
    stream = max(spreads[: len(streams)], key=lambda s: s.median)
    rates = spreads[len(streams) :]
    points = []
    for batch, rate in zip(batches, rates, strict=True):
        intensity = matmul_work(batch, d, d, x=dtype, w=dtype, out=dtype).intensity
        predicted = min(peak.median, intensity * stream.median)
        points.append(MeasuredPoint(batch, intensity, predicted, rate))
    return MeasuredRoofline(device_name(device), dtype, d, peak, stream, tuple(points))


def one_duration(seconds):
    """`seconds` as one positive float."""
    if np.ndim(checked := positive("seconds", seconds)):
        raise ScalingError(f"seconds: got {seconds!r}; give one number")
    return checked


def device_name(device):
    """The device in words."""
    if device.platform != "cpu":
        return device.device_kind
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"the CPU ({cores} cores)"


def matmul_tasks(batches, d, dtype, calls):
    """(FLOPs, what to run) of each batch, `calls` matmuls a run."""
    import jax
    import jax.numpy as jnp

    w, matmul = jnp.ones((d, d), dtype), jax.jit(lambda x, w: x @ w)

    def one(batch):
        x = jnp.ones((batch, d), dtype)
        return calls * 2.0 * batch * d * d, lambda: [matmul(x, w) for _ in range(calls)]

    return [one(batch) for batch in batches]


def _streams(nbytes, calls):
    """(bytes, what to run) of reading once, and of a triad whose result takes the place of an operand."""
    import jax
    import jax.numpy as jnp

    n = nbytes // 4
    kept, b = [jnp.ones(n, jnp.float32)], jnp.ones(n, jnp.float32)
    total = jax.jit(jnp.sum)
    triad = jax.jit(lambda a, b: 0.5 * a + b, donate_argnums=0)

    def triads():
        for _ in range(calls):
            kept[0] = triad(kept[0], b)
        return kept

    return [(calls * 4.0 * n, lambda: [total(b) for _ in range(calls)]), (calls * 12.0 * n, triads)]


def measured_rates(tasks, seconds, least=5, most=50):
    """Spread of amount over time of each (amount, run): at least 5 rounds, more while `seconds` last."""
    import jax

    for _, run in tasks:
        jax.block_until_ready(run())  # compiles, and touches the memory
    end, rounds = time.perf_counter() + seconds, []
    while len(rounds) < least or (time.perf_counter() < end and len(rounds) < most):
        times = []
        for _, run in tasks:
            start = time.perf_counter()
            jax.block_until_ready(run())
            times.append(time.perf_counter() - start)
        rounds.append(times)
    rates = np.array([amount for amount, _ in tasks]) / np.array(rounds)
    quartiles = np.quantile(rates, (0.25, 0.5, 0.75), axis=0).T.tolist()
    return [Spread(median, low, high, len(rounds)) for low, median, high in quartiles]
