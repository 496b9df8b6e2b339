"""Work: how many FLOPs an operation does and how many bytes it moves, and so its arithmetic intensity.

Shapes of a matrix product: x [B, D] times w [D, F] gives out [B, F].
"""

from dataclasses import dataclass

import numpy as np

from scaling_lib.units import (
    LARGEST,
    ScalingError,
    bytes_per_element,
    legal_dtype,
    non_negative,
    plain,
    positive,
    sealed,
)

UNITS = ("matrix", "vector")


@dataclass(frozen=True)
class Work:
    """What a task has to do: FLOPs, bytes through one memory level or link, and where the maths runs.

    Attributes:
      flops: floating-point (or integer) operations; a multiply-add counts two. May be an array.
      bytes: bytes read plus bytes written. May be an array.
      dtype: dtype the maths runs in.
      unit: "matrix" (MXU, Tensor Core) or "vector" (VPU, CUDA cores).

    Raises:
      ScalingError: flops or bytes is negative or no number; no such unit.
      UnknownDtype: no such dtype.

    >>> Work(flops=2e6, bytes=4e6).intensity
    0.5
    """

    flops: float
    bytes: float
    dtype: str = "bf16"
    unit: str = "matrix"

    def __post_init__(self):
        object.__setattr__(self, "flops", non_negative("flops", self.flops))
        object.__setattr__(self, "bytes", non_negative("bytes", self.bytes))
        legal_dtype(self.dtype)
        if self.unit not in UNITS:
            raise ScalingError(f"unit must be one of {', '.join(UNITS)}, got {self.unit!r}")

    @property
    def intensity(self):
        """Arithmetic intensity [FLOP/byte].

        Raises:
          ScalingError: no bytes are moved.
        """
        (flops, nbytes), reason = plain(non_negative("flops", self.flops), positive("bytes", self.bytes))
        return sealed(reason, flops / nbytes)


def matmul_work(b, d, f, *, x="bf16", w=None, out=None, compute=None):
    """Work of x [B, D] times w [D, F], each array moved once: 2BDF FLOPs, xBD + wDF + oBF bytes.

    Args:
      b, d, f: sizes B, D, F [elements]. Broadcast.
      x, w, out: dtypes of the activations, the weights and the result; w and out are as x unless given.
      compute: dtype the maths runs in; unless given, the wider of x and w.

    Returns:
      Work: `.flops` [FLOP], `.bytes` [bytes], `.intensity` [FLOP/byte].

    Raises:
      ScalingError: a size is no positive number; x and w are equally wide but differ, and compute is not given.
      UnknownDtype: no such dtype.

    Assumes: operands are read once and the product is written once, as when one of them fits on chip.
    Source: chapter 1, "A matmul crosses over".

    >>> work = matmul_work(256, 8192, 8192)
    >>> work.flops, work.bytes
    (34359738368.0, 142606336.0)
    >>> matmul_work(256, 8192, 8192, w="int8").dtype
    'bf16'
    """
    return batched_matmul_work(1, b, d, f, x=x, w=w, out=out, compute=compute)


def batched_matmul_work(g, b, d, f, *, x="bf16", w=None, out=None, compute=None):
    """Work of G independent products x [G, B, D] times w [G, D, F]: each has weights of its own.

    G times the FLOPs and bytes of one product, so the intensity of one. With one row to each (B = 1) it is
    2 / (w + x/F + o/D), whatever G: no batch ever helps.

    Args:
      g: number of products. Broadcasts.
      b, d, f, x, w, out, compute: as in `matmul_work`.

    Returns:
      Work.

    Raises:
      ScalingError, UnknownDtype: as `matmul_work`.

    Assumes: as `matmul_work`.
    Source: chapter 1, "Operations that live on the slope".

    >>> batched_matmul_work(128, 1, 4096, 4096, x="int8").intensity
    1.9990...
    """
    w, out = dtype_or(w, x), dtype_or(out, x)
    (g, b, d, f), reason = plain(positive("g", g), positive("b", b), positive("d", d), positive("f", f))
    x_bytes, w_bytes, out_bytes = bytes_per_element(x), bytes_per_element(w), bytes_per_element(out)
    flops = 2 * g * b * d * f
    nbytes = g * (x_bytes * b * d + w_bytes * d * f + out_bytes * b * f)
    return _work(reason, flops, nbytes, math_dtype(x, w, compute), g=g, b=b, d=d, f=f)


def dot_work(n, *, x="bf16", w=None, out=None, compute=None):
    """Work of a dot product of x [N] and w [N]: N products and N - 1 sums, (x + w) N + o bytes.

    Args:
      n: length N [elements]. Broadcasts.
      x, w, out, compute: as in `matmul_work`.

    Returns:
      Work; its intensity tends to 2 / (x + w) FLOP/byte as N grows.

    Raises:
      ScalingError, UnknownDtype: as `matmul_work`.

    Source: chapter 1, "A dot product never gets fast".

    >>> dot_work(10**6).intensity
    0.49999...
    """
    w, out = dtype_or(w, x), dtype_or(out, x)
    (n,), reason = plain(positive("n", n))
    flops = np.maximum(2 * n - 1, n)  # a fraction of an element has no sum to save
    nbytes = n * (bytes_per_element(x) + bytes_per_element(w)) + bytes_per_element(out)
    return _work(reason, flops, nbytes, math_dtype(x, w, compute), n=n)


def elementwise_work(n, *, inputs=1, flops_per_element=1, x="bf16", out=None):
    """Work of an element-wise operation: `inputs` arrays [N] read, one array [N] written, (x·inputs + o) N bytes.

    Args:
      n: elements N of each array. Broadcasts.
      inputs: arrays read.
      flops_per_element: operations on each element [FLOP].
      x, out: dtypes read and written; out is as x unless given.

    Returns:
      Work of the vector unit; its intensity does not depend on N.

    Raises:
      ScalingError: n or inputs is no positive number, flops_per_element is negative.
      UnknownDtype: no such dtype.

    Source: chapter 1, "Operations that live on the slope".

    >>> elementwise_work(10**6).intensity
    0.25
    """
    (n, inputs, per_element), reason = plain(
        positive("n", n), positive("inputs", inputs), non_negative("flops_per_element", flops_per_element)
    )
    nbytes = n * (inputs * bytes_per_element(x) + bytes_per_element(dtype_or(out, x)))
    sizes = {"n": n, "inputs": inputs, "flops_per_element": per_element}
    return _work(reason, n * per_element, nbytes, x, "vector", **sizes)


def softmax_work(rows, cols, *, x="bf16", out=None, reads=1):
    """Work of a softmax over each row of x [R, C]: 5RC FLOPs, (x·reads + o) RC bytes.

    Per element: a maximum, a difference, an exp, a sum, a quotient; an exp counts as one.

    Args:
      rows, cols: sizes R, C [elements]. Broadcast.
      x, out: dtypes read and written; out is as x unless given.
      reads: how often a row is read from memory: once if it stays on chip, three times if each of the three
        passes (maximum, sum, quotient) streams it again.

    Returns:
      Work of the vector unit.

    Raises:
      ScalingError: a size or reads is no positive number.
      UnknownDtype: no such dtype.

    Source: chapter 1, "Operations that live on the slope".

    >>> softmax_work(1024, 4096).intensity
    1.25
    """
    (rows, cols, reads), reason = plain(positive("rows", rows), positive("cols", cols), positive("reads", reads))
    n = rows * cols
    nbytes = n * (reads * bytes_per_element(x) + bytes_per_element(dtype_or(out, x)))
    return _work(reason, 5 * n, nbytes, x, "vector", rows=rows, cols=cols, reads=reads)


def layer_norm_work(rows, cols, *, x="bf16", out=None):
    """Work of a layer norm over each row of x [R, C], scale and shift [C]: 7RC FLOPs, (x + o) RC + 2xC bytes.

    Per element: 1 for the mean, 3 for the variance (difference, square, sum), 1 to normalise, 2 to scale
    and shift. What is done once a row is left out.

    Args:
      rows, cols: sizes R, C [elements]. Broadcast.
      x, out: dtypes read and written; out is as x unless given.

    Returns:
      Work of the vector unit.

    Raises:
      ScalingError: a size is no positive number.
      UnknownDtype: no such dtype.

    Assumes: a row stays on chip, and is read and written once.
    Source: chapter 1, "Operations that live on the slope".

    >>> layer_norm_work(1024, 8192).intensity
    1.748...
    """
    (rows, cols), reason = plain(positive("rows", rows), positive("cols", cols))
    n = rows * cols
    x_bytes = bytes_per_element(x)
    nbytes = n * (x_bytes + bytes_per_element(dtype_or(out, x))) + 2 * cols * x_bytes
    return _work(reason, 7 * n, nbytes, x, "vector", rows=rows, cols=cols)


def math_dtype(x, w=None, compute=None):
    """Dtype a product of x and w runs in: `compute` if given, else the wider of the two.

    Raises:
      ScalingError: x and w are equally wide but differ, and compute is not given.
      UnknownDtype: no such dtype.

    >>> math_dtype("int8", "bf16"), math_dtype("bf16", "int8", compute="int8")
    ('bf16', 'int8')
    """
    if compute is not None:
        return legal_dtype(compute)
    w = dtype_or(w, x)
    if x != w and bytes_per_element(x) == bytes_per_element(w):
        raise ScalingError(
            f"compute must be given where x is {x!r} and w is {w!r}: neither is wider; possible: {x}, {w}"
        )
    return max(x, w, key=bytes_per_element)


def dtype_or(dtype, otherwise):
    """`dtype`, or `otherwise` where it is None."""
    return otherwise if dtype is None else dtype


def _work(reason, flops, nbytes, dtype, unit="matrix", **sizes):
    """A Work; a product of legal sizes may still be too large: of scalars that is said, in arrays it is masked."""
    if not (np.ndim(flops) or np.ndim(nbytes)) and max(flops, nbytes) > LARGEST:
        given = ", ".join(f"{name} = {size:g}" for name, size in sizes.items())
        raise ScalingError(
            f"{', '.join(sizes)} are too large together: {given} make {flops:g} FLOPs and {nbytes:g} bytes, "
            f"possible is up to {LARGEST:g} of each"
        )
    return Work(sealed(reason, flops), sealed(reason, nbytes), dtype, unit)
