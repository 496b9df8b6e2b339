"""What the TPU compiler makes of a plan's collectives: the same ones, or a rewrite that has a name."""

import collections
import itertools
import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from scaling_lib.referee import sharded
from scaling_lib.referee.hlo import Collective
from scaling_lib.referee.report import TpuReport
from scaling_lib.referee.tpu_compiler import compile_for_tpu
from scaling_lib.sharding import Plan
from scaling_lib.units import ScalingError

_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "int8": "int8", "fp8": "float8_e4m3fn"}


@dataclass(frozen=True)
class Wanted:
    """A collective: kind, mesh axes in the mesh's order, elements and bytes (None: of any width)."""

    op: str
    axes: tuple[str, ...]
    elements: int
    bytes: float | None = None

    def __str__(self):
        return f"{self.op} over {', '.join(self.axes)}: {self.elements:,} elements"


@dataclass(frozen=True)
class OnTpu:
    """A plan compiled for a TPU slice.

    Attributes:
      report: the compiler's report.
      missing, surplus: `Wanted` that are predicted but not compiled, and the reverse, explained ones left out; one of
        other bytes is another.
      rewrites: what XLA made otherwise, and why that is the same, a sentence each.
    """

    report: TpuReport
    missing: tuple[Wanted, ...]
    surplus: tuple[Wanted, ...]
    rewrites: tuple[str, ...]

    @property
    def ok(self):
        return not self.missing and not self.surplus

    def __str__(self):
        where = f"{self.report.topology}{', recorded' if self.report.recorded else ''}"
        lines = [f"on {where}: {'as predicted' if self.ok else 'NOT as predicted'}"]
        lines += [f"  rewritten by XLA: {says}" for says in self.rewrites]
        lines += [f"  predicted, not compiled: {wanted}, {wanted.bytes:,.0f} bytes" for wanted in self.missing]
        lines += [f"  compiled, not predicted: {wanted}, {wanted.bytes:,.0f} bytes" for wanted in self.surplus]
        return "\n".join(lines)


def legal_plan(plan):
    """`plan` if it is one."""
    if not isinstance(plan, Plan):
        raise ScalingError(f"plan: got {type(plan).__name__}; give what plan_matmul returns")
    return plan


def jax_operands(plan):
    """(operands as jax describes them, dtype of the product; None where it is also the operands')."""
    for dtype in plan.dtypes:
        if dtype not in _DTYPES:
            raise ScalingError(f"dtype: jax programs here are of {', '.join(_DTYPES)}; the plan has {dtype}")
    *given, made = (jnp.dtype(_DTYPES[dtype]) for dtype in plan.dtypes)
    shapes = [jax.ShapeDtypeStruct(s, dtype) for s, dtype in zip(sharded.shapes(plan)[:2], given, strict=True)]
    return shapes, None if {*given} == {made} else made.name


def wanted(plan):
    """The collectives that a plan predicts.

    Args:
      plan: a `Plan`.

    Returns:
      `Wanted` entries, in the order of its steps.

    Raises:
      ScalingError: not a plan.

    >>> import scaling_lib as sl
    >>> mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
    >>> print(*wanted(sl.plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", {"I": 64, "J": 64, "K": 32}, mesh)))
    all-reduce over X: 2,048 elements
    """
    names = legal_plan(plan).mesh.names
    return tuple(
        Wanted(step.hlo, tuple(axis for axis in names if axis in step.axes), step.elements, step.bytes)
        for step in plan.collectives
    )


def of_any_width(found):
    """The same `Wanted`, whatever their bytes: XLA's CPU backend widens bf16."""
    return tuple(replace(w, bytes=None) for w in found)


def seen(compiled):
    """Compiled `Collective` entries as `Wanted`, one for each time it runs; of an unknown count it is like no other."""
    found = []
    for c in compiled:
        once = _once(c)
        found += [replace(once, op=f"{c.op} (× ?)")] if c.times is None else [once] * c.times
    return tuple(found)


def _once(c):
    return Wanted(c.op, c.axes or ("?",), c.elements, c.bytes)


def difference(predicted, compiled):
    """(predicted but not compiled, compiled but not predicted), one entry for each."""
    want, got = collections.Counter(predicted), collections.Counter(compiled)
    return tuple((want - got).elements()), tuple((got - want).elements())


def on_tpu(plan, topology):
    """Compile a plan's own steps for a TPU slice, or find the recorded report, and compare its collectives.

    Each is compared in kind, mesh axes, elements and bytes. The product is made in the dtype of the result, so that
    partial sums are sent as wide as the plan counts them.

    Args:
      plan: a `Plan`, its arrays of dtypes that jax has.
      topology: as of `compile_for_tpu`; the mesh must have as many places as the slice has devices.

    Returns:
      OnTpu.

    Raises:
      TopologyError, CannotCompile, ScalingError: as `compile_for_tpu`; not a plan; a dtype that jax lacks.

    >>> from scaling_lib.referee.cases import case_plan
    >>> print(on_tpu(case_plan("both_axes"), "v5e:4x2"))  # doctest: +ELLIPSIS
    on v5e:4x2...: as predicted
    """
    *in_specs, out_specs = sharded.specs(legal_plan(plan))
    shapes, dtype = jax_operands(plan)
    report = compile_for_tpu(
        sharded.program(plan, dtype), *shapes, topology=topology, mesh=dict(plan.mesh.sizes),
        in_shardings=tuple(in_specs), out_shardings=out_specs,
    )  # fmt: skip
    missing, surplus = difference(wanted(plan), seen(report.collectives))
    cut = {axis for step in plan.steps if step.op in ("slice", "reduce_scatter") for axis in step.axes}
    missing, surplus, rewrites = explained(list(missing), list(surplus), report.collectives, plan.mesh.sizes, cut)
    return OnTpu(report, tuple(missing), tuple(surplus), tuple(rewrites))


def explained(missing, surplus, compiled: tuple[Collective, ...], sizes, cut=()):
    """Take out what a known rewrite turns into something else: (what is left of both, a sentence for each rewrite).

    Args:
      missing, surplus: as `difference` gives, as lists.
      compiled: all compiled collectives, for their notes.
      sizes: {axis: devices}.
      cut: axes by which the plan slices or scatters something.

    >>> scatter, reduce = (Wanted(op, ("X",), 64, 128) for op in ("reduce-scatter", "all-reduce"))
    >>> explained([scatter], [reduce], (), {"X": 4})[2]
    ['reduce-scatter over X: 64 elements became an all-reduce of which each device keeps its part']
    """
    says = []
    for rewrite in (_padding, _words, _merged, _one_by_one, _as_all_reduce, _ring):
        says += rewrite(missing, surplus, compiled, sizes)
    says += _sliced_first(missing, surplus, {axis: sizes[axis] for axis in cut})
    return missing, surplus, says


def _take(found, wanted):
    """Remove one entry if it is there."""
    if wanted in found:
        found.remove(wanted)
        return True
    return False


def _padding(missing, surplus, compiled, sizes):
    """A scatter of rows that do not fill tiles is padded, and rows are passed on to the neighbour."""
    for c in compiled:
        if c.op == "collective-permute" and "padding" in c.note and _take(surplus, _once(c)):
            yield f"a permute of {c.elements:,} elements passes on the rows that padding to whole tiles left next door"


def _together(parts):
    return sum(w.elements for w in parts), sum(w.bytes for w in parts)


def _words(missing, surplus, compiled, sizes):
    """Integers of a byte are added up four to a word, in whole tiles of 8 × 128; listed are the integers."""
    for c in compiled:
        if "in words" in c.note:
            yield f"{c.op} over {', '.join(c.axes or '?')}: the {c.elements:,} elements of {c.dtype} are {c.note}"


def _merged(missing, surplus, compiled, sizes):
    """XLA's combiner merges collectives over the same axes, maybe made all-reduces first, into one of several."""
    for c in compiled:
        alike = ("all-gather", "reduce-scatter", "all-reduce") if c.op == "all-reduce" else (c.op,)
        parts = [w for w in missing if w.op in alike and w.axes == c.axes]
        if c.arrays > 1 and len(parts) == c.arrays and _together(parts) == (c.elements, c.bytes):
            if not _take(surplus, _once(c)):
                continue
            for part in parts:
                missing.remove(part)
            ops = {w.op for w in parts}
            what = f"{len(parts)} times {c.op}" if ops == {c.op} else " and ".join(w.op for w in parts)
            into = "one" if ops == {c.op} else f"one {c.op}"
            yield f"{what} over {', '.join(c.axes)} merged into {into} of {c.elements:,} elements"


def _one_by_one(missing, surplus, compiled, sizes):
    """A collective over several axes done over one after the other, or several over single axes done at once."""
    for w in [w for w in missing if w.op == "all-reduce"]:
        parts = [s for s in surplus if s == replace(w, axes=s.axes) and set(s.axes) < set(w.axes)]
        if sorted(axis for s in parts for axis in s.axes) == sorted(w.axes):
            missing.remove(w)
            for part in parts:
                surplus.remove(part)
            yield f"{w} became one over each axis in turn"


def _as_all_reduce(missing, surplus, compiled, sizes):
    """All-reduce and keep a part; or add up blocks that stand among zeros."""
    for w in list(missing):
        if w.op in ("reduce-scatter", "all-gather") and _take(surplus, replace(w, op="all-reduce")):
            missing.remove(w)
            how = {
                "reduce-scatter": "of which each device keeps its part",
                "all-gather": "of blocks that stand among zeros (a dynamic-update-slice), which sends twice as much",
            }
            yield f"{w} became an all-reduce {how[w.op]}"


def _sliced_first(missing, surplus, cut):
    """What the plan cuts later over other axes is cut first: parts are added up that are as much smaller."""
    for w in list(missing):
        others = [n for axis, n in cut.items() if axis not in w.axes]
        ratios = {math.prod(some) for k in range(1, len(others) + 1) for some in itertools.combinations(others, k)}
        smaller = [
            s for s in surplus
            if (s.op, s.axes) == ("all-reduce", w.axes)
            and any((n * s.elements, n * s.bytes) == (w.elements, w.bytes) for n in ratios)
        ]  # fmt: skip
        if w.op in ("all-gather", "all-reduce", "reduce-scatter") and smaller:
            missing.remove(w)
            surplus.remove(smaller[0])
            yield f"{w} became an all-reduce of {smaller[0].elements:,} elements: what is sliced later is sliced first"


def _ring(missing, surplus, compiled, sizes):
    """A gather or a scatter done as permutes round a ring, between pieces of the product: a collective matmul.

    XLA makes them where `jit` partitions a product (`programs.partitioned_matmul`), not of the collectives that a
    plan's own steps name: no recorded plan is rewritten so, and only a made-up program in the tests gets here.
    """
    for w in [w for w in missing if w.op in ("all-gather", "reduce-scatter")]:
        n = math.prod(sizes[axis] for axis in w.axes)
        hops = [s for s in surplus if s.op == "collective-permute" and s.axes == w.axes]
        sent = sum(s.elements for s in hops)
        if any(s.bytes * w.elements != w.bytes * s.elements for s in hops):
            continue  # of another width
        if hops and (n - 1) * w.elements <= n * sent <= n * w.elements:
            missing.remove(w)
            for hop in hops:
                surplus.remove(hop)
            yield f"{w} became {len(hops)} permutes round the ring, between pieces of the product (a collective matmul)"
