"""FLOPs of one HLO instruction: matrix products, convolutions and the library calls that stand for them."""

import math
import re

import numpy as np

# Custom calls that move, mark, sort or wait.
_NO_FLOPS = {
    "AllocateBuffer", "AsyncCollectiveDone", "AsyncCollectiveStart", "ConcatBitcast", "LayoutConstraint",
    "MoveToDevice", "MoveToHost", "PartialReduce", "PinToDevice",
    "PrepareAsyncCallDone", "PrepareAsyncCallStart", "ResizeDynamic", "SPMDFullToShardShape",
    "SPMDShardToFullShape", "Sharding", "TopK", "X64Combine", "X64SplitHigh", "X64SplitLow",
    "ZeroCrop",
    "annotate_device_placement",
}  # fmt: skip
NO_RULE = {"cholesky", "fft", "ragged-dot", "scaled-dot", "triangular-solve"}  # real work, counted by no rule here
_GEMMS = ("__onednn$matmul", "__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8")


def flops_of(ins, inside):
    """FLOPs of one instruction; None where they are not known."""
    if ins.opcode == "dot":
        lhs = inside[ins.operands[0]].arrays[0]
        return 2 * ins.arrays[0].elements * math.prod(lhs.dims[k] for k in _numbers(ins.needs("lhs_contracting_dims")))
    if ins.opcode == "convolution":
        return _convolution_flops(ins, inside)
    if ins.opcode in NO_RULE:
        return None
    if ins.opcode.removesuffix("-start") != "custom-call":
        return 0
    called = target(ins)
    if called in _GEMMS:
        return _gemm_flops(ins, inside)
    return 0 if called in _NO_FLOPS else None


def target(ins):
    return ins.needs("custom_call_target").strip('"')


def _numbers(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def _gemm_flops(ins, inside):
    """A library call's matrix product: the contracted sizes are in its configuration, or follow from the shapes."""
    lhs, rhs = (inside[name].arrays[0] for name in ins.operands[:2])
    out = ins.arrays[0]
    config = re.search(r'"lhs_contracting_dimensions\\?":\[([^\]]*)\]', ins.attrs)
    if config:
        return 2 * out.elements * math.prod(lhs.dims[k] for k in _numbers(config[1]))
    batch = math.prod(out.dims[:-2])  # [B, M, K] · [B, K, N] -> [B, M, N]: |lhs| |rhs| / |out| = B K²
    k = math.isqrt(lhs.elements * rhs.elements // (out.elements * batch))
    return 2 * out.elements * k if k * k * batch * out.elements == lhs.elements * rhs.elements else None


def _convolution_flops(ins, inside):
    """Multiply-adds that meet real input, not padding or the holes of dilation (a TPU's batched dot has many)."""
    lhs, rhs = (inside[name].arrays[0] for name in ins.operands[:2])
    out = ins.arrays[0]
    of_lhs, of_rhs, of_out = re.fullmatch(r"(\w+)_(\w+)->(\w+)", ins.attr("dim_labels")).groups()
    spatial = sorted(set(of_lhs) - set("bf"))
    window = _window(ins.attr("window"), len(spatial))
    met = 1
    for k, label in enumerate(spatial):
        n_in, n_out = lhs.dims[of_lhs.index(label)], out.dims[of_out.index(label)]
        met *= _positions(n_in, n_out, **window[k])
    groups = int(ins.attr("batch_group_count") or 1)
    features = rhs.dims[of_rhs.index("i")] * rhs.dims[of_rhs.index("o")]
    return 2 * met * features * lhs.dims[of_lhs.index("b")] // groups


def _window(text, n):
    """One dict a spatial dimension: size, stride, low padding, dilation of input and kernel."""
    given = dict(re.findall(r"(\w+)=(\S+)", (text or "").strip("{}")))

    def values(key, default):
        return given[key].split("x") if key in given else [default] * n

    fields = zip(
        values("size", "1"), values("stride", "1"), values("pad", "0_0"), values("lhs_dilate", "1"),
        values("rhs_dilate", "1"), strict=True,
    )  # fmt: skip
    return [
        {"size": int(s), "stride": int(t), "low": int(p.split("_")[0]), "lhs_dilate": int(a), "rhs_dilate": int(b)}
        for s, t, p, a, b in fields
    ]


def _positions(n_in, n_out, size, stride, low, lhs_dilate, rhs_dilate):
    """Pairs of output position and kernel position that fall on a real input element."""
    at = np.arange(n_out)[:, None] * stride - low + np.arange(size)[None, :] * rhs_dilate
    return int(np.sum((at >= 0) & (at % lhs_dilate == 0) & (at // lhs_dilate < n_in)))
