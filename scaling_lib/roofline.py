r"""Rooflines: work, intensity, ridge points, and the batch from which a matrix product is bound by maths.

A task of W FLOPs that moves V bytes keeps the arithmetic busy for W/P and the memory or link for V/beta.
Its arithmetic intensity I = W/V decides which of the two is longer: maths wherever I is at least the ridge
point I* = P/beta. Shapes: x [B, D] times w [D, F] gives out [B, F].
"""

import numpy as np

from scaling_lib.estimate import TimeBounds
from scaling_lib.hardware import BOUND_OF_LINK, Chip, chip, chips
from scaling_lib.hardware.tables import UNKNOWN, markdown
from scaling_lib.units import (
    ScalingError,
    UnknownLink,
    bytes_per_element,
    legal_dtype,
    non_negative,
    plain,
    positive,
    sealed,
)
from scaling_lib.work import (  # noqa: F401  (roofline.dot_work and its siblings are public too)
    Work,
    batched_matmul_work,
    dot_work,
    dtype_or,
    elementwise_work,
    layer_norm_work,
    math_dtype,
    matmul_work,
    softmax_work,
)


def ridge_point(chip, *, dtype="bf16", link="hbm", unit="matrix"):
    """Intensity from which the maths, not the link, is the limit: I* = P / beta [FLOP/byte].

    Args:
      chip: a Chip, or its name.
      dtype: dtype of the maths.
      link: memory level or link the bytes pass; `chip.links` names those the chip has.
      unit: "matrix" (MXU, Tensor Core) or "vector" (VPU, CUDA cores).

    Returns:
      I* [FLOP/byte].

    Raises:
      UnknownChip, UnknownLink: no such chip; the chip has no such link.
      UnknownDtype, UnsupportedDtype: no such dtype; the chip has no rate for it.

    Source: chapter 1, "Every chip has its own ridge".

    >>> ridge_point("tpu-v5e"), ridge_point("tpu-v5e", link="ici_axis")
    (240.24..., 2188.8...)
    """
    chip = _as_chip(chip)
    return chip.peak_flops_per_s(dtype, unit) / chip.link_bytes_per_s(link)


def attainable_flops_per_s(chip, intensity, *, dtype="bf16", link="hbm", unit="matrix"):
    """The roof: the rate a task of intensity I can reach at best, min(P, beta I).

    Args:
      chip, dtype, link, unit: as in `ridge_point`.
      intensity: I [FLOP/byte]. Broadcasts.

    Returns:
      Rate [FLOP/s].

    Raises:
      ScalingError: intensity is no positive number; and the errors of `ridge_point`.

    Assumes: maths and transfer overlap perfectly.
    Source: chapter 1, "A dot product never gets fast".

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
      ScalingError: work is no Work, latency_s is negative; and the errors of `ridge_point`.

    Source: chapter 1, "Three clocks" and "Small work has a fixed price".

    >>> t = time_bounds(dot_work(10**6), "tpu-v5e")
    >>> t.math_s, t.memory_s, t.bound
    (1.0152...e-08, 4.878...e-06, 'memory')
    """
    if not isinstance(work, Work):
        raise ScalingError(f"work must be a Work, such as matmul_work(b, d, f), got {work!r}")
    chip = _as_chip(chip)
    (flops, nbytes, latency_s), reason = plain(
        non_negative("flops", work.flops), non_negative("bytes", work.bytes), non_negative("latency_s", latency_s)
    )
    math_s = flops / chip.peak_flops_per_s(dtype_or(compute, work.dtype), work.unit)
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
      ScalingError: as `matmul_work`; and the errors of `ridge_point`.

    Assumes: as `matmul_work`: each array is moved once.
    Source: chapter 1, "A matmul crosses over".

    >>> critical_batch("tpu-v5e", 8192, 8192)
    255.2...
    >>> critical_batch("tpu-v5e", 256, 256)
    inf
    """
    w, out = dtype_or(w, x), dtype_or(out, x)
    ridge = ridge_point(chip, dtype=math_dtype(x, w, compute), link=link)
    (d, f), reason = plain(positive("d", d), positive("f", f))
    per_row = 2 * d * f / ridge - bytes_per_element(x) * d - bytes_per_element(out) * f
    weights = bytes_per_element(w) * d * f
    return sealed(reason, np.where(per_row > 0, weights / np.where(per_row > 0, per_row, 1.0), np.inf))


def max_intensity(d, f, *, x="bf16", out=None):
    """Intensity of x [B, D] times w [D, F] as B grows without end: 2DF / (xD + oF).

    Args:
      d, f: sizes of the weights D, F [elements]. Broadcast.
      x, out: dtypes of the activations and the result; out is as x unless given.

    Returns:
      Intensity [FLOP/byte]; no batch is bound by maths where it does not exceed the ridge point.

    Raises:
      ScalingError, UnknownDtype: as `matmul_work`.

    Source: chapter 1, "A matmul crosses over".

    >>> max_intensity(8192, 8192)
    4096.0
    """
    (d, f), reason = plain(positive("d", d), positive("f", f))
    return sealed(reason, 2 * d * f / (bytes_per_element(x) * d + bytes_per_element(dtype_or(out, x)) * f))


def critical_width(chip, *, aspect=1.0, x="bf16", w=None, out=None, compute=None, link="hbm"):
    """Width D, with F = aspect × D, up to which no batch makes x [B, D] times w [D, F] bound by maths.

    Where `max_intensity` equals the ridge point: D = I* (x/aspect + o) / 2.

    Args:
      chip, x, w, out, compute, link: as in `critical_batch`.
      aspect: F / D. Broadcasts.

    Returns:
      D [elements].

    Raises:
      ScalingError: aspect is no positive number; and the errors of `critical_batch`.

    Assumes: all bytes share one bandwidth, as in HBM; a link whose two directions work at once needs less.
    Source: chapter 1, "A matmul crosses over".

    >>> critical_width("tpu-v5e")
    480.48...
    """
    ridge = ridge_point(chip, dtype=math_dtype(x, w, compute), link=link)
    (aspect,), reason = plain(positive("aspect", aspect))
    return sealed(reason, ridge * (bytes_per_element(x) / aspect + bytes_per_element(dtype_or(out, x))) / 2)


def two_chip_matmul_time(b, d, f, chip, *, x="bf16", w=None, out=None, compute=None, link=None, latency_s=0.0):
    """Time of x [B, D] times w [D, F] with D cut over two chips, which then exchange their partial sums [B, F].

    Each chip does BDF FLOPs, moves half of x and w and its partial sum through its memory, and sends oBF
    bytes over one link, in one direction; adding the partial sums (BF additions) is left out.

    Args:
      b, d, f, x, w, out, compute: as in `matmul_work`.
      chip: a Chip, or its name; both are of this kind.
      link: link between the two chips; unless given, ici on a TPU, nvlink on a GPU.
      latency_s: fixed cost [s].

    Returns:
      TimeBounds of one of the two chips: `.math_s`, `.memory_s`, `.network_s`, `.latency_s`.

    Raises:
      ScalingError: as `time_bounds`.
      UnknownLink: not a link between chips.

    Assumes: both directions of the link work at once, and nothing else uses it.
    Source: chapter 1, "Between chips".

    >>> two_chip_matmul_time(1024, 8192, 8192, "tpu-v5e").bound
    'network'
    """
    chip = _as_chip(chip)
    link = _link_between(chip, link)
    (b, d, f), reason = plain(positive("b", b), positive("d", d), positive("f", f))
    half = time_bounds(matmul_work(b, d / 2, f, x=x, w=w, out=out, compute=compute), chip)
    network_s = bytes_per_element(dtype_or(out, x)) * b * f / chip.link_bytes_per_s(link)
    return TimeBounds(
        math_s=half.math_s,
        memory_s=half.memory_s,
        network_s=sealed(reason, network_s),
        latency_s=non_negative("latency_s", latency_s),
    )


def critical_contraction(chip, *, x="bf16", w=None, out=None, compute=None, link=None):
    """Contracting size D from which the two-chip product outlasts its exchange: BDF/P = oBF/beta, so D = o I*.

    It depends on D and not on B: both the maths and the message grow with the batch.

    Args:
      chip, x, w, out, compute, link: as in `two_chip_matmul_time`.

    Returns:
      D [elements].

    Raises:
      ScalingError, UnknownDtype, UnsupportedDtype: as `critical_batch`.
      UnknownLink: not a link between chips.

    Source: chapter 1, "Between chips".

    >>> critical_contraction("tpu-v5e")
    8755.5...
    """
    chip = _as_chip(chip)
    ridge = ridge_point(chip, dtype=math_dtype(x, w, compute), link=_link_between(chip, link))
    return bytes_per_element(dtype_or(out, x)) * ridge


def ridge_rows(dtype="bf16", *, kind=None):
    """Ridge points of all chips (or of one kind, "tpu" or "gpu") for all their links: links, {chip title: points}.

    A point is None where the chip lacks the dtype or the link, or the rate is not known.

    Raises:
      ScalingError: no such kind.
      UnknownDtype: no such dtype.

    >>> links, rows = ridge_rows(kind="tpu")
    >>> links[:2], rows["TPU v5e"][1]
    (('vmem', 'hbm'), 240.24...)
    """
    legal_dtype(dtype)
    if kind not in (None, "tpu", "gpu"):
        raise ScalingError(f"kind must be one of tpu, gpu, got {kind!r}")
    found = [c for c in chips() if kind in (None, c.kind)]
    links = tuple(link for link in BOUND_OF_LINK if any(link in c.links for c in found))
    return links, {c.title: [_ridge_or_none(c, dtype, link) for link in links] for c in found}


def ridge_table(dtype="bf16", *, kind=None):
    """`ridge_rows` as a Markdown table [FLOP/byte].

    Raises:
      ScalingError, UnknownDtype: as `ridge_rows`.

    >>> print(ridge_table(kind="tpu").splitlines()[0])
    | chip | vmem | hbm | ici_axis | ici | dcn | pcie |
    """
    links, rows = ridge_rows(dtype, kind=kind)
    return markdown(["chip", *links], [[title, *map(ridge_cell, points)] for title, points in rows.items()])


def ridge_cell(point):
    """A ridge point for a table, a dash for None."""
    return UNKNOWN if point is None else f"{point:,.1f}"


def _ridge_or_none(c, dtype, link):
    return ridge_point(c, dtype=dtype, link=link) if link in c.links and dtype in c.dtypes else None


def _as_chip(name_or_chip):
    return name_or_chip if isinstance(name_or_chip, Chip) else chip(name_or_chip)


def _link_between(chip, link):
    """The link by which two chips talk: `link` if it joins chips, the usual one where it is None."""
    if link is None:
        return "ici" if chip.kind == "tpu" else "nvlink"
    between = [name for name in chip.links if BOUND_OF_LINK[name] == "network"]
    if link not in between:
        raise UnknownLink(link, between, of="two chips")
    return link
