"""A roofline measured on the machine at hand: matmul peak, stream bandwidth, and matmuls of growing batch between."""

import html
import os
import time
from dataclasses import dataclass

import numpy as np

from scaling_lib.referee.devices import this_device
from scaling_lib.roofline import matmul_work
from scaling_lib.units import ScalingError, positive, si

_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


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
    """One matmul [batch, d] · [d, d]: what the measured roofline predicts for it, and how fast it ran."""

    batch: int
    intensity: float  # FLOPs per byte
    predicted_flops_per_s: float
    flops_per_s: Spread


@dataclass(frozen=True, repr=False)
class MeasuredRoofline:
    """What `measure_roofline` found on one device."""

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

    def __repr__(self):
        head = "batch", "FLOP/byte", "predicted", "measured (quartiles)"
        rows = "\n".join("  {:>6} {:>10} {:>14}  {}".format(*row) for row in (head, *self._table()))
        return f"{self._title()}\n{self._facts()}\n{rows}"

    def _repr_html_(self):
        head = "<tr><th>batch</th><th>FLOP/byte</th><th>predicted</th><th>measured (quartiles)</th></tr>"
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._table())
        title, facts = html.escape(self._title()), html.escape(self._facts())
        return (
            f'<div class="sl-report"><p><strong>{title}</strong><br>{facts}</p>'
            f"<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
        )

    def _title(self):
        return f"Roofline measured on {self.device}, {self.dtype} matmuls [batch, {self.d}] · [{self.d}, {self.d}]"

    def _facts(self):
        return (
            f"peak {self.peak_flops_per_s.text('FLOP/s')}; stream {self.stream_bytes_per_s.text('B/s')}; "
            f"ridge at {self.ridge_point:.3g} FLOP/byte"
        )

    def _table(self):
        for p in self.points:
            measured = p.flops_per_s.text("FLOP/s")
            yield str(p.batch), f"{p.intensity:.3g}", si(p.predicted_flops_per_s, "FLOP/s"), measured


def measure_roofline(device=None, *, dtype=None, seconds=4.0):
    """Measure a roofline: peak of a large matmul, bandwidth of a stream, and matmuls of growing batch between.

    Each is run several times; medians are reported with their quartiles. The stream reads an array far larger than any
    cache once (a sum), or reads two and writes one in place; the faster of both counts. The peak is the fastest matmul
    seen. Intensities count each operand and the result moved once.

    Args:
      device: jax device; `this_device()` by default.
      dtype: "f32", "bf16" or "f16" of the matmuls; f32 on a CPU, bf16 on an accelerator by default.
      seconds: about how long to measure; compilation comes on top.

    Returns:
      MeasuredRoofline: rates with spread, and one point a batch.

    Raises:
      ScalingError: an unknown dtype, or seconds not positive.
    """
    seconds = positive("seconds", seconds)
    device = this_device() if device is None else device
    on_cpu = device.platform == "cpu"
    dtype = dtype or ("f32" if on_cpu else "bf16")
    if dtype not in _DTYPES:
        raise ScalingError(f"dtype: got {dtype!r}; a roofline is measured in {', '.join(_DTYPES)}")
    d, batches = (4096, (1, 4, 16, 64, 256, 512)) if on_cpu else (8192, (1, 8, 32, 128, 512, 2048, 8192))
    share, calls = seconds / (len(batches) + 2), 1 if on_cpu else 20
    stream = max(_stream_rates(device, share, calls), key=lambda s: s.median)
    rates = [_matmul_rate(device, dtype, batch, d, share, calls) for batch in batches]
    peak = max(rates, key=lambda s: s.median)
    points = []
    for batch, rate in zip(batches, rates, strict=True):
        intensity = matmul_work(batch, d, d, x=dtype, w=dtype, out=dtype).intensity
        predicted = min(peak.median, intensity * stream.median)
        points.append(MeasuredPoint(batch, intensity, predicted, rate))
    return MeasuredRoofline(_device_name(device), dtype, d, peak, stream, tuple(points))


def _device_name(device):
    if device.platform != "cpu":
        return device.device_kind
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"the CPU ({cores} cores)"


def _matmul_rate(device, dtype, batch, d, share, calls):
    import jax
    import jax.numpy as jnp

    with jax.default_device(device):
        x, w = jnp.ones((batch, d), _DTYPES[dtype]), jnp.ones((d, d), _DTYPES[dtype])
        matmul = jax.jit(lambda x, w: x @ w)
        return _rate(2.0 * batch * d * d, lambda: [matmul(x, w) for _ in range(calls)], calls, share)


def _stream_rates(device, share, calls):
    """Bytes per second of reading once, and of a triad whose result takes the place of an operand."""
    import jax
    import jax.numpy as jnp

    n = 2**25  # 128 MiB of f32
    with jax.default_device(device):
        a, b = jnp.ones(n, jnp.float32), jnp.ones(n, jnp.float32)
        total = jax.jit(jnp.sum)
        yield _rate(4.0 * n, lambda: [total(b) for _ in range(calls)], calls, share / 2)
        triad = jax.jit(lambda a, b: 0.5 * a + b, donate_argnums=0)
        kept = [a]

        def run():
            for _ in range(calls):
                kept[0] = triad(kept[0], b)
            return kept

        yield _rate(12.0 * n, run, calls, share / 2)


def _rate(amount, run, calls, share, least=5, most=50):
    """Rate of `calls` calls that each do `amount`: at least 5 runs, more while they fit into `share` seconds."""
    import jax

    times, end = [], None
    jax.block_until_ready(run())  # compiles, and touches the memory
    while len(times) < least or (time.perf_counter() < end and len(times) < most):
        start = time.perf_counter()
        end = end or start + share
        jax.block_until_ready(run())
        times.append(time.perf_counter() - start)
    low, median, high = np.quantile(amount * calls / np.array(times), (0.25, 0.5, 0.75)).tolist()
    return Spread(median, low, high, len(times))
