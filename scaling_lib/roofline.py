r"""Rooflines: work, intensity, ridge points, and the batch from which a matrix product is bound by maths.

A task of W FLOPs that moves V bytes keeps the arithmetic busy for W/P and the memory or link for V/beta.
Its arithmetic intensity I = W/V decides which of the two is longer: maths wherever I is at least the ridge
point I* = P/beta. Shapes: x [B, D] times w [D, F] gives out [B, F].
"""

from dataclasses import dataclass

import numpy as np

from scaling_lib.estimate import TimeBounds
from scaling_lib.hardware import BOUND_OF_LINK, Chip, chip, chips
from scaling_lib.hardware.tables import UNKNOWN, markdown
from scaling_lib.units import ScalingError, bytes_per_element, legal_dtype, non_negative, plain, positive, sealed


@dataclass(frozen=True)
class Work:
    """What a task has to do: FLOPs, bytes through one memory level or link, and where the maths runs.

    Attributes:
      flops: floating-point (or integer) operations; a multiply-add counts two. May be an array.
      bytes: bytes read plus bytes written. May be an array.
      dtype: dtype the maths runs in.
      unit: "matrix" (MXU, Tensor Core) or "vector" (VPU, CUDA cores).

    >>> Work(flops=2e6, bytes=4e6).intensity
    0.5
    """

    flops: float
    bytes: float
    dtype: str = "bf16"
    unit: str = "matrix"

    @property
    def intensity(self):
        """Arithmetic intensity [FLOP/byte]."""
        (flops, nbytes), reason = plain(non_negative("flops", self.flops), positive("bytes", self.bytes))
        return sealed(reason, flops / nbytes)


def matmul_work(b, d, f, *, x="bf16", w=None, out=None, compute=None):
    """Work of x [B, D] times w [D, F], each array moved once: 2BDF FLOPs, xBD + wDF + oBF bytes.

    Args:
      b, d, f: sizes [elements]. Broadcast.
      x, w, out: dtypes of the activations, the weights and the result; w and out are as x unless given.
      compute: dtype the maths runs in; unless given, the wider of x and w.

    Returns:
      Work.

    Raises:
      ScalingError: a size is no positive number; x and w are equally wide but differ, and compute is not given.
      UnknownDtype: no such dtype.

    Assumes: operands are read once and the product is written once, as when one of them fits on chip.
    Source: rooflines chapter, "A matrix product gets faster as it grows".

    >>> work = matmul_work(256, 8192, 8192)
    >>> work.flops, work.bytes
    (34359738368.0, 142606336.0)
    >>> matmul_work(256, 8192, 8192, w="int8").dtype
    'bf16'
    """
    return batched_matmul_work(1, b, d, f, x=x, w=w, out=out, compute=compute)


def batched_matmul_work(g, b, d, f, *, x="bf16", w=None, out=None, compute=None):
    """Work of G independent products x [G, B, D] times w [G, D, F]: each has weights of its own.

    With one row to each (B = 1) the intensity is 2/(w + x/F + o/D), whatever G: no batch ever helps.

    Args, Returns, Raises: as `matmul_work`, and g: number of products.

    >>> batched_matmul_work(128, 1, 4096, 4096, x="int8").intensity
    1.9990...
    """
    w, out = w or x, out or x
    (g, b, d, f), reason = plain(positive("g", g), positive("b", b), positive("d", d), positive("f", f))
    x_bytes, w_bytes, out_bytes = bytes_per_element(x), bytes_per_element(w), bytes_per_element(out)
    flops = 2 * g * b * d * f
    nbytes = g * (x_bytes * b * d + w_bytes * d * f + out_bytes * b * f)
    return Work(sealed(reason, flops), sealed(reason, nbytes), compute or _wider(x, w))


def dot_work(n, *, x="bf16", w=None, out=None):
    """Work of a dot product of two vectors [N]: N products and N - 1 sums, both vectors read, one number written.

    >>> dot_work(10**6).intensity
    0.49999...
    """
    w, out = w or x, out or x
    (n,), reason = plain(positive("n", n))
    flops = np.maximum(2 * n - 1, n)  # a fraction of an element has no sum to save
    nbytes = n * (bytes_per_element(x) + bytes_per_element(w)) + bytes_per_element(out)
    return Work(sealed(reason, flops), sealed(reason, nbytes), _wider(x, w))


def elementwise_work(n, *, inputs=1, flops_per_element=1, x="bf16", out=None):
    """Work of an element-wise operation on arrays of N elements: `inputs` arrays read, one written.

    Runs on the vector unit. One operation on one bf16 array: a quarter FLOP per byte, whatever N.

    >>> elementwise_work(10**6).intensity
    0.25
    """
    (n, inputs, per_element), reason = plain(
        positive("n", n), positive("inputs", inputs), non_negative("flops_per_element", flops_per_element)
    )
    nbytes = n * (inputs * bytes_per_element(x) + bytes_per_element(out or x))
    return Work(sealed(reason, n * per_element), sealed(reason, nbytes), x, "vector")


def softmax_work(rows, cols, *, x="bf16", out=None, reads=1):
    """Work of a softmax over each row of [R, C]: per element a maximum, a difference, an exp, a sum, a quotient.

    An exp counts as one operation. The row is read `reads` times from memory: once if it stays on chip
    (or with an online softmax kept in registers), three times if each pass streams it again.

    >>> softmax_work(1024, 4096).intensity
    1.25
    """
    (rows, cols, reads), reason = plain(positive("rows", rows), positive("cols", cols), positive("reads", reads))
    n = rows * cols
    nbytes = n * (reads * bytes_per_element(x) + bytes_per_element(out or x))
    return Work(sealed(reason, 5 * n), sealed(reason, nbytes), x, "vector")


def layer_norm_work(rows, cols, *, x="bf16", out=None):
    """Work of a layer norm over each row of [R, C], with a scale and a shift [C].

    Per element: 1 for the mean, 3 for the variance (difference, square, sum), 1 to normalise, 2 to scale
    and shift: 7 FLOPs; what is done once a row is left out. The row is read and written once.

    >>> layer_norm_work(1024, 8192).intensity
    1.748...
    """
    (rows, cols), reason = plain(positive("rows", rows), positive("cols", cols))
    n = rows * cols
    nbytes = n * (bytes_per_element(x) + bytes_per_element(out or x)) + 2 * cols * bytes_per_element(x)
    return Work(sealed(reason, 7 * n), sealed(reason, nbytes), x, "vector")


def ridge_point(chip, *, dtype="bf16", link="hbm", unit="matrix"):
    """Intensity from which the maths, not the link, is the limit: I* = P / beta [FLOP/byte].

    Args:
      chip: a Chip, or its name.
      dtype: dtype of the maths.
      link: memory level or link the bytes pass; `chip.links` names those the chip has.
      unit: "matrix" or "vector".

    Raises:
      UnknownChip, UnsupportedDtype, UnknownLink.

    Source: rooflines chapter, "The ridge point".

    >>> ridge_point("tpu-v5e"), ridge_point("tpu-v5e", link="ici_axis")
    (240.24..., 2188.8...)
    """
    chip = _as_chip(chip)
    return chip.peak_flops_per_s(dtype, unit) / chip.link_bytes_per_s(link)


def attainable_flops_per_s(chip, intensity, *, dtype="bf16", link="hbm", unit="matrix"):
    """The roof: min(P, beta I) [FLOP/s]. Broadcasts over the intensity [FLOP/byte].

    >>> attainable_flops_per_s("tpu-v5e", 0.5) / 1e12
    0.41
    """
    chip = _as_chip(chip)
    (intensity,), reason = plain(positive("intensity", intensity))
    roof = np.minimum(chip.peak_flops_per_s(dtype, unit), chip.link_bytes_per_s(link) * intensity)
    return sealed(reason, roof)


def time_bounds(work, chip, *, compute=None, link="hbm", latency_s=0.0):
    """Time of a task on a chip: W/P of maths and V/beta of transfer, overlapped (max) or not (sum).

    Args:
      work: a Work. Its arrays broadcast.
      chip: a Chip, or its name.
      compute: dtype the maths runs in, instead of `work.dtype`.
      link: the memory level or link that `work.bytes` pass.
      latency_s: fixed cost, such as a kernel launch [s].

    Returns:
      TimeBounds: `.math_s`, `.memory_s` (or `.network_s`, `.host_s`, by the link), `.latency_s`, `.lower_s`
      (max), `.upper_s` (sum), `.bound`.

    Raises:
      UnknownChip, UnsupportedDtype, UnknownLink.

    >>> t = time_bounds(dot_work(10**6), "tpu-v5e")
    >>> t.math_s, t.memory_s, t.bound
    (1.0152...e-08, 4.878...e-06, 'memory')
    """
    chip = _as_chip(chip)
    (flops, nbytes, latency_s), reason = plain(
        non_negative("flops", work.flops), non_negative("bytes", work.bytes), non_negative("latency_s", latency_s)
    )
    math_s = flops / chip.peak_flops_per_s(compute or work.dtype, work.unit)
    transfer_s = nbytes / chip.link_bytes_per_s(link)
    return TimeBounds(
        math_s=sealed(reason, math_s),
        latency_s=sealed(reason, latency_s),
        **{f"{BOUND_OF_LINK[link]}_s": sealed(reason, transfer_s)},
    )


def critical_batch(chip, d, f, *, x="bf16", w=None, out=None, compute=None, link="hbm"):
    r"""Batch B from which x [B, D] times w [D, F] is bound by maths: exact, not the limit of B << D, F.

    .. math:: \frac{2BDF}{P} = \frac{xBD + wDF + oBF}{\beta} \quad\Rightarrow\quad
              B = \frac{w\,DF}{2DF/I^* - xD - oF}, \qquad I^* = P/\beta

    With two bytes everywhere: 1/B = 1/I* - 1/D - 1/F.

    Args:
      chip: a Chip, or its name.
      d, f: sizes of the weights [elements]. Broadcast.
      x, w, out, compute: dtypes, as in `matmul_work`.
      link: where the bytes come from.

    Returns:
      B [rows; tokens]; inf where no batch helps, for the activations alone already outlast the maths.

    Raises:
      ScalingError, UnknownChip, UnsupportedDtype, UnknownLink.

    Source: rooflines chapter, "The exact crossover".

    >>> critical_batch("tpu-v5e", 8192, 8192)
    255.2...
    >>> critical_batch("tpu-v5e", 256, 256)
    inf
    """
    w, out = w or x, out or x
    ridge = ridge_point(chip, dtype=compute or _wider(x, w), link=link)
    (d, f), reason = plain(positive("d", d), positive("f", f))
    per_row = 2 * d * f / ridge - bytes_per_element(x) * d - bytes_per_element(out) * f
    weights = bytes_per_element(w) * d * f
    return sealed(reason, np.where(per_row > 0, weights / np.where(per_row > 0, per_row, 1.0), np.inf))


def max_intensity(d, f, *, x="bf16", out=None):
    """Intensity of x [B, D] times w [D, F] as B grows without end: 2DF / (xD + oF) [FLOP/byte].

    >>> max_intensity(8192, 8192)
    4096.0
    """
    (d, f), reason = plain(positive("d", d), positive("f", f))
    return sealed(reason, 2 * d * f / (bytes_per_element(x) * d + bytes_per_element(out or x) * f))


def critical_width(chip, *, aspect=1.0, x="bf16", w=None, out=None, compute=None, link="hbm"):
    """Width D, with F = aspect × D, up to which no batch makes the product bound by maths: I* (x/aspect + o) / 2.

    >>> critical_width("tpu-v5e")
    480.48...
    """
    ridge = ridge_point(chip, dtype=compute or _wider(x, w or x), link=link)
    (aspect,), reason = plain(positive("aspect", aspect))
    return sealed(reason, ridge * (bytes_per_element(x) / aspect + bytes_per_element(out or x)) / 2)


def two_chip_matmul_time(b, d, f, chip, *, x="bf16", w=None, out=None, compute=None, link=None, latency_s=0.0):
    """Time of x [B, D] times w [D, F] with D cut over two chips, which then exchange their partial sums [B, F].

    Each chip does BDF FLOPs, moves half of x and w and its partial sum through its memory, and sends oBF
    bytes over one link, in one direction; adding the partial sums (BF additions) is left out.

    Args:
      b, d, f, chip, x, w, out, compute: as in `matmul_work` and `time_bounds`.
      link: link between the two chips; unless given, ici on a TPU, nvlink on a GPU.
      latency_s: fixed cost [s].

    Returns:
      TimeBounds of each chip: math, memory, network.

    >>> two_chip_matmul_time(1024, 8192, 8192, "tpu-v5e").bound
    'network'
    """
    chip = _as_chip(chip)
    link = link or _neighbour_link(chip)
    (b, d, f), reason = plain(positive("b", b), positive("d", d), positive("f", f))
    half = time_bounds(matmul_work(b, d / 2, f, x=x, w=w, out=out, compute=compute), chip)
    network_s = bytes_per_element(out or x) * b * f / chip.link_bytes_per_s(link)
    parts = {"math_s": half.math_s, "memory_s": half.memory_s, "latency_s": non_negative("latency_s", latency_s)}
    parts[f"{BOUND_OF_LINK[link]}_s"] = network_s
    return TimeBounds(**{name: sealed(reason, part) for name, part in parts.items()})


def critical_contraction(chip, *, x="bf16", w=None, out=None, compute=None, link=None):
    """Contracting size D from which the two-chip product outlasts its exchange: BDF/P = oBF/beta, so D = o I*.

    It depends on D and not on B: both the maths and the message grow with the batch.

    >>> critical_contraction("tpu-v5e")
    8755.5...
    """
    chip = _as_chip(chip)
    ridge = ridge_point(chip, dtype=compute or _wider(x, w or x), link=link or _neighbour_link(chip))
    return bytes_per_element(out or x) * ridge


def ridge_table(dtype="bf16", *, kind=None):
    """Ridge points [FLOP/byte] of all chips (or of one kind, "tpu" or "gpu") for all their links, as Markdown.

    >>> print(ridge_table(kind="tpu").splitlines()[0])
    | chip | vmem | hbm | ici_axis | ici | dcn | pcie |
    """
    found = [c for c in chips() if kind in (None, c.kind)]
    links = [link for link in BOUND_OF_LINK if any(link in c.links for c in found)]
    rows = [[c.title, *(_ridge_cell(c, legal_dtype(dtype), link) for link in links)] for c in found]
    return markdown(["chip", *links], rows)


def _ridge_cell(c, dtype, link):
    known = link in c.links and dtype in c.dtypes
    return f"{ridge_point(c, dtype=dtype, link=link):,.1f}" if known else UNKNOWN


def _as_chip(name_or_chip):
    return name_or_chip if isinstance(name_or_chip, Chip) else chip(name_or_chip)


def _neighbour_link(chip):
    return "ici" if chip.kind == "tpu" else "nvlink"


def _wider(x, w):
    """The wider of two dtypes: mixed products run at its rate."""
    if x != w and bytes_per_element(x) == bytes_per_element(w):
        raise ScalingError(
            f"compute must be given where x is {x!r} and w is {w!r}: neither is wider; possible: {x}, {w}"
        )
    return max(x, w, key=bytes_per_element)
