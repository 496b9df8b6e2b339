"""Collectives and FLOPs of a compiled program, read from its HLO: what XLA really does, on one device."""

import functools
import math
import re
from dataclasses import dataclass, field, replace

import numpy as np

from scaling_lib.referee.hlo_groups import (
    axes_of_groups,
    axes_of_pairs,
    check_shapes,
    groups_of,
    mesh_sizes,
    pairs_of,
)
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_text import HloError, bits_per_element, parse_module
from scaling_lib.units import ScalingError

COLLECTIVES = (
    "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "collective-permute", "ragged-all-to-all",
    "collective-broadcast",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Collective:
    """One collective of a compiled program.

    `elements` and `bytes` are of the array that the library's time functions take: the whole array of one group before
    scattering or after gathering (all-reduce and all-to-all: the whole array; permute: what one device sends).
    """

    op: str
    elements: int
    bytes: int
    axes: tuple[str, ...] | None  # names of the mesh's axes; None: no mesh given, or no axes fit
    times: int | None  # how often it runs; None: a loop with a count not in the text
    dtype: str = ""
    group_size: int = 1
    arrays: int = 1  # more than one where XLA merged several into one
    note: str = ""
    pairs: tuple = field(default=(), compare=False)  # (sender, receiver) of a permute

    def __repr__(self):
        axes = "?" if self.axes is None else ", ".join(self.axes) or "-"
        times = "× ?" if self.times is None else f"× {self.times}" if self.times != 1 else ""
        text = f"{self.op} over {axes}: {self.dtype}, {self.elements:,} elements, {self.bytes:,} bytes {times}".rstrip()
        return f"{text} ({self.note})" if self.note else text

    def __iter__(self):
        """The first five: ``for op, elements, bytes, axes, times in collectives_in(compiled)``."""
        return iter((self.op, self.elements, self.bytes, self.axes, self.times))


@dataclass(frozen=True)
class FlopCount:
    """FLOPs of the matrix products and convolutions that one device runs."""

    counted: int  # a lower bound where something is missing
    not_counted: tuple[str, ...] = ()  # operations and loops whose work the text does not tell

    @property
    def flops(self):
        """The count, or None where a part is not counted: never a number that is silently too small."""
        return None if self.not_counted else self.counted

    def __str__(self):
        missing = "".join(f"; not counted: {what}" for what in self.not_counted)
        return f"{self.counted:,} FLOPs a device{missing}"


def complete(read):
    """Say of text in which an instruction lacks a part that it is incomplete."""

    @functools.wraps(read)
    def reading(*args, **kwargs):
        try:
            return read(*args, **kwargs)
        except (AttributeError, IndexError, KeyError, TypeError, RecursionError) as error:
            raise HloError(f"the HLO text is incomplete: an instruction lacks a part of it ({error})") from error
        except ValueError as error:
            if isinstance(error, ScalingError):  # HloError among them
                raise
            raise HloError(f"the HLO text is incomplete: {error}") from error

    return reading


def hlo_text(compiled_or_text):
    """HLO text of a compiled jax function, a report with `.hlo`, or text itself."""
    if isinstance(compiled_or_text, str):
        return compiled_or_text
    if hasattr(compiled_or_text, "hlo"):
        return compiled_or_text.hlo
    if hasattr(compiled_or_text, "compile"):
        raise HloError("this is lowered, not compiled: collectives appear only in .compile()'s result")
    if not hasattr(compiled_or_text, "as_text"):
        raise HloError(f"compiled_or_text: got {type(compiled_or_text).__name__}; give jit(f).lower(...).compile()")
    return compiled_or_text.as_text()


@complete
def collectives_in(compiled_or_text, mesh=None):
    """Collectives that one device takes part in, in program order, loops multiplied out.

    An asynchronous pair counts once. A reduce-scatter that the TPU compiler writes as a custom fusion (an all-reduce
    and a slice inside) is listed as what it is.

    Args:
      compiled_or_text: result of ``jit(f).lower(...).compile()``, or its text, or a report of `compile_for_tpu`.
      mesh: jax mesh (or mapping of axis name to size, slowest first) that names the groups.

    Returns:
      list of `Collective`.

    Raises:
      HloError: the text is not compiled HLO, or is cut off; the groups do not fit the mesh.

    >>> for c in collectives_in('''HloModule m, num_partitions=8
    ...
    ... ENTRY %main (x: bf16[4,16]) -> bf16[8,16] {
    ...   %x = bf16[4,16]{1,0} parameter(0)
    ...   ROOT %g = bf16[8,16]{1,0} all-gather(%x), replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}
    ... }''', mesh={"X": 2, "Y": 4}): print(c)
    all-gather over X: bf16, 128 elements, 256 bytes
    """
    module = parse_module(hlo_text(compiled_or_text))
    sizes = mesh_sizes(mesh, module.n_devices)
    found = []
    for visit in visits(module):
        ins, inside = visit.instruction, visit.computation
        op = ins.opcode.removesuffix("-start")
        if op not in COLLECTIVES or _is_later_part(inside):
            continue
        collective = _collective(op, ins, inside, module, sizes)
        if visit.in_branch:
            collective = replace(collective, note=_join(collective.note, "in one branch of a conditional"))
        found.append(replace(collective, times=visit.times))
    return found


def _join(*notes):
    return "; ".join(n for n in notes if n)


def _is_later_part(computation):
    """A TPU fusion that carries on an asynchronous collective which another fusion started."""
    targets = computation.call_targets
    if "AsyncCollectiveStart" in targets:
        return False
    return "AsyncCollectiveDone" in targets or computation.name.startswith("async_collective_fusion")


def _collective(op, ins, inside, module, sizes):
    arrays = [a for name in ins.operands for a in inside[name].arrays]
    if not arrays:
        raise HloError(f"%{ins.name}: {ins.opcode} of nothing: the text is incomplete")
    note = ""
    if inside.name.startswith("all-reduce-scatter"):
        padded, arrays = arrays, [a for p in inside.parameters for a in p.arrays]
        op, note = "reduce-scatter", "XLA's all-reduce-scatter fusion"
        if sum(a.elements for a in padded) != sum(a.elements for a in arrays):
            note += f", padded to {padded[0]}"
    if op == "collective-permute":
        arrays = arrays[:1] if len(arrays) == 4 and arrays[-1].dtype == "s32" else arrays  # in-place form
        groups, group_size = pairs_of(ins, module.n_devices), 1
        axes = axes_of_pairs(groups, sizes)
        if _sends_padding(ins, inside, module):
            note = "rows that padding left on the neighbour"
    else:
        groups = groups_of(ins, module.n_devices)
        group_size = max(len(g) for g in groups)
        if ins.opcode.removesuffix("-start") in ("all-gather", "reduce-scatter"):
            check_shapes(ins, arrays, groups)
        axes = axes_of_groups(groups, sizes)
        if axes is None and sizes:
            note = _join(note, f"groups such as {groups[0]} lie along no mesh axis")
    if op == "ragged-all-to-all":
        arrays, note = arrays[:1], "ragged: at most"
    whole = group_size if op in ("all-gather", "all-to-all", "ragged-all-to-all") else 1
    elements = whole * sum(a.elements for a in arrays)
    nbytes = -(-whole * sum(a.elements * bits_per_element(a.dtype) for a in arrays) // 8)
    dtype = "/".join(dict.fromkeys(a.dtype for a in arrays))
    merged = 1 if op == "all-to-all" else len(arrays)  # its tuple form is one array in pieces
    pairs = tuple(groups) if op == "collective-permute" else ()
    return Collective(op, elements, nbytes, axes, 1, dtype, group_size, merged, note, pairs)


def _sends_padding(ins, inside, module):
    """Whether a permute sends what a padded all-reduce-scatter made: rows of the neighbour's part."""
    source = inside[ins.operands[0]]
    if source.opcode == "slice":
        source = inside[source.operands[0]]
    called = source.callee("calls") if source.opcode == "fusion" else None
    if not called or not called.startswith("all-reduce-scatter"):
        return False
    fused = module[called]
    reduced = [a for i in fused.instructions.values() if i.opcode == "all-reduce" for a in i.arrays]
    given = [a for p in fused.parameters for a in p.arrays]
    return sum(a.elements for a in reduced) > sum(a.elements for a in given)


@complete
def flops_in(compiled_or_text):
    """FLOPs of matrix products and convolutions on one device, loops multiplied out; element-wise work is left out.

    ``2 · (output elements) · (elements contracted for each)``. XLA's own ``cost_analysis()`` counts the body of a loop
    once; this does not. Of a conditional's branches all are counted: the result is then an upper bound.

    Args:
      compiled_or_text: as in `collectives_in`.

    Returns:
      FlopCount: `.flops`, or None there and the reason in `.not_counted`: a custom call or a loop that hides its work,
      a Fourier transform, a triangular solve, a ragged or scaled dot.

    >>> print(flops_in('''HloModule m
    ...
    ... ENTRY %main (x: f32[4,8], w: f32[8,2]) -> f32[4,2] {
    ...   %x = f32[4,8]{1,0} parameter(0)
    ...   %w = f32[8,2]{1,0} parameter(1)
    ...   ROOT %y = f32[4,2]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }'''))
    128 FLOPs a device
    """
    counted, missing = 0, []
    for visit in visits(parse_module(hlo_text(compiled_or_text))):
        ins = visit.instruction
        flops = flops_of(ins, visit.computation)
        if flops is None:
            missing.append(ins.opcode if ins.opcode in _NO_RULE else f"custom call {_target(ins)}")
        elif flops and visit.times is None:
            missing.append("a loop whose count the text does not give")
        else:
            counted += flops * (visit.times or 0)
    return FlopCount(counted, tuple(dict.fromkeys(missing)))


# Custom calls that move, mark, sort or wait.
_NO_FLOPS = {
    "AllocateBuffer", "AsyncCollectiveDone", "AsyncCollectiveStart", "ConcatBitcast", "LayoutConstraint",
    "MoveToDevice", "MoveToHost", "PartialReduce", "PinToDevice",
    "PrepareAsyncCallDone", "PrepareAsyncCallStart", "ResizeDynamic", "SPMDFullToShardShape",
    "SPMDShardToFullShape", "Sharding", "TopK", "X64Combine", "X64SplitHigh", "X64SplitLow",
    "annotate_device_placement",
}  # fmt: skip
_NO_RULE = {"cholesky", "fft", "ragged-dot", "scaled-dot", "triangular-solve"}  # real work, counted by no rule here
_GEMMS = ("__onednn$matmul", "__cublas$gemm", "__cublas$lt$matmul", "__cublas$lt$matmul$f8")


def flops_of(ins, inside):
    """FLOPs of one instruction; None where they are not known."""
    if ins.opcode == "dot":
        lhs = inside[ins.operands[0]].arrays[0]
        return 2 * ins.arrays[0].elements * math.prod(lhs.dims[k] for k in _numbers(ins.needs("lhs_contracting_dims")))
    if ins.opcode == "convolution":
        return _convolution_flops(ins, inside)
    if ins.opcode in _NO_RULE:
        return None
    if ins.opcode.removesuffix("-start") != "custom-call":
        return 0
    target = _target(ins)
    if target in _GEMMS:
        return _gemm_flops(ins, inside)
    return 0 if target in _NO_FLOPS else None


def _target(ins):
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
