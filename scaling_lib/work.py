"""Work: how many FLOPs an operation does and how many bytes it moves, and so its arithmetic intensity.

Shapes of a matrix product: x [B, D] times w [D, F] gives out [B, F].
"""

from dataclasses import dataclass

import numpy as np

from scaling_lib.units import ScalingError, bytes_per_element, non_negative, plain, positive, sealed


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
    return Work(sealed(reason, flops), sealed(reason, nbytes), compute or wider(x, w))


def dot_work(n, *, x="bf16", w=None, out=None):
    """Work of a dot product of two vectors [N]: N products and N - 1 sums, both vectors read, one number written.

    >>> dot_work(10**6).intensity
    0.49999...
    """
    w, out = w or x, out or x
    (n,), reason = plain(positive("n", n))
    flops = np.maximum(2 * n - 1, n)  # a fraction of an element has no sum to save
    nbytes = n * (bytes_per_element(x) + bytes_per_element(w)) + bytes_per_element(out)
    return Work(sealed(reason, flops), sealed(reason, nbytes), wider(x, w))


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


def wider(x, w):
    """The wider of two dtypes: mixed products run at its rate."""
    if x != w and bytes_per_element(x) == bytes_per_element(w):
        raise ScalingError(
            f"compute must be given where x is {x!r} and w is {w!r}: neither is wider; possible: {x}, {w}"
        )
    return max(x, w, key=bytes_per_element)
