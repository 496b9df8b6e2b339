"""What `jit`'s partitioner chooses by itself for a product, and what that would cost by our model."""

import collections
import functools
import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from scaling_lib.referee import sharded
from scaling_lib.referee.devices import make_mesh
from scaling_lib.referee.hlo import Collective, collectives_in, module_of
from scaling_lib.referee.hlo_flops import flops_of
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_products import products_in
from scaling_lib.referee.kept_parts import kept_parts
from scaling_lib.referee.local_sums import local_sums
from scaling_lib.referee.refine import prime_mesh
from scaling_lib.referee.rewrites import jax_operands, legal_plan
from scaling_lib.referee.tpu_compiler import compile_for_tpu
from scaling_lib.sharding.costs import COLLECTIVES, in_turn_s
from scaling_lib.sharding.shuffle import shuffle_time
from scaling_lib.units import bytes_per_element, si

EQUAL = 0.02  # plans whose times differ by less are called equal
FAST_COMPILE = {"xla_backend_optimization_level": 0}  # of the machine code: collectives are the same
WRITTEN = "written as an all-reduce and a slice"

# Of what XLA compiles for CPU devices; the record counts what it compiles for TPUs apart (`tpu_kind`).
# An all-reduce of which each device keeps its own part counts as the reduce-scatter it stands for, alone or in a row.
CLASSES = {
    "same": "The same collectives.",
    "same: all-reduce, then a slice": "The same collectives, a reduce-scatter written as an all-reduce of which each "
    "device keeps its part. The TPU compiler often makes one reduce-scatter of the two, not always; the CPU's never.",
    "equal": "Other collectives that take as long.",
    "cheaper: part of an axis": "It communicates along a part of a mesh axis, which our notation cannot say.",
    "cheaper: other": "Its steps are cheaper by our model: none that the planner knows.",
    "dearer: repeats work": "Chips along an axis multiply (or sum) the same numbers: an operand is gathered over it, "
    "or lies there in copies that could be cut for free.",
    "dearer: adds everywhere": "It adds up a whole array on every chip; a reduce-scatter sends half as much.",
    "dearer: one axis at a time": "It uses one mesh axis after the other; together they have more links.",
    "dearer: gathers": "It gathers whole arrays where blocks need only change places.",
    "dearer: permutes": "It needs one more permutation, to put blocks in the order that was asked for.",
    "dearer: larger array": "It moves a larger array than need be moved.",
    "dearer: other": "It sends as many elements or fewer, but over slower or fewer links, or in more hops: it knows no "
    "machine.",
    "unpriced": "Our model has no time for it: its groups lie along no part of the mesh, or how often a loop runs is "
    "not known.",
    "unpriced: woven": "It sends piece by piece between pieces of the product (a collective matmul); our model, steps "
    "in turn, has no time for that.",
    "not asked": "Partial sums have no form outside shard_map, so jit cannot be asked.",
}


@dataclass(frozen=True)
class Choice:
    """How `jit` computes a product, given only the shardings of operands and result.

    Attributes:
      kind: a key of `CLASSES`.
      collectives: what it compiled to, an all-reduce of which each device keeps its part as a reduce-scatter.
      seconds: collectives one after the other and the local product, by our model; nan where that has no time.
      ours_s: the same of the plan.
    """

    kind: str
    collectives: tuple[Collective, ...] = ()
    seconds: float = math.nan
    ours_s: float = math.nan

    @property
    def verdict(self):
        """same, equal, cheaper, dearer, unpriced or not asked."""
        return self.kind.split(":")[0]

    def __str__(self):
        if self.kind == "same":
            return "jit by itself: the same collectives"
        if self.verdict == "same":
            return f"jit by itself: the same, its reduce-scatter {WRITTEN}"
        if self.verdict == "not asked":
            return f"jit by itself: not asked. {CLASSES[self.kind]}"
        how = "" if self.verdict == "unpriced" else f", {si(self.seconds, 's')} against {si(self.ours_s, 's')}"
        steps = "; ".join(self.steps) or "no collective"
        return f"jit by itself: {self.verdict}{how}: {steps}. {CLASSES[self.kind]}"

    @property
    def steps(self):
        """Its collectives in words."""
        return tuple(
            f"{c.op} over {', '.join(c.axes or '?')}: {c.elements:,} elements"
            + ("" if c.times == 1 else f" × {'?' if c.times is None else c.times}")
            + (f" ({WRITTEN})" if c.note == WRITTEN else "")
            for c in self.collectives
        )


def partitioner_choice(plan, topology=None):
    """Compile the plain product with the shardings of operands and result alone, and compare with the plan.

    Args:
      plan: a `Plan`.
      topology: a TPU slice to compile for, such as "v5e:4x2"; CPU devices by default.

    Returns:
      Choice.

    Raises:
      ScalingError: not a plan, or of a dtype that jax lacks.
      CannotCompile, TopologyError: a topology is given, and the compiler cannot run here or does not know it.

    Assumes: of a program only collectives, the product and sums before it take time.

    >>> import scaling_lib as sl
    >>> mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
    >>> plan = sl.plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K_X]", {"I": 4096, "J": 8192, "K": 4096}, mesh)
    >>> choice = partitioner_choice(plan)
    >>> choice.kind, [c.op for c in choice.collectives]
    ('same: all-reduce, then a slice', ['reduce-scatter'])
    """
    if any(array.unreduced for array in legal_plan(plan).product.arrays):
        return Choice("not asked")
    module = module_of(_compiled(plan) if topology is None else _on_tpu(plan, topology))
    found, ours_s = _collectives(module, plan.mesh.sizes), plan.time.in_turn_s
    if _woven(module, found):
        return Choice("unpriced: woven", found, math.nan, ours_s)
    if any(visit.times is None for visit in visits(module)):
        return Choice("unpriced", found, math.nan, ours_s)
    repeats = _repeats(plan, module)
    if _counted(found) == _planned(plan) and not repeats:
        written = any(c.note == WRITTEN for c in found)
        return Choice("same: all-reduce, then a slice" if written else "same", found, ours_s, ours_s)
    fine = prime_mesh(plan.mesh)
    seconds = _local_s(plan, module) + math.fsum(
        _price(c, fine, plan) for c in _collectives(module, fine.sizes) for _ in range(c.times)
    )
    return Choice(_kind(plan, found, seconds, ours_s, repeats), found, seconds, ours_s)


def _collectives(module, sizes):
    """Collectives that run, an all-reduce of which each device keeps its part as what it is; no padding."""
    parts = iter(kept_parts(module))
    found = [
        replace(c, op="reduce-scatter", note=WRITTEN) if c.op == "all-reduce" and next(parts) else c
        for c in collectives_in(module, sizes)
    ]
    return tuple(c for c in found if c.times != 0 and "padding" not in c.note)


def _compiled(plan):
    mesh = make_mesh(plan.mesh.sizes)
    a, b, c = (NamedSharding(mesh, spec) for spec in sharded.specs(plan))
    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in sharded.shapes(plan)[:2]]
    jitted = jax.jit(functools.partial(jnp.einsum, plan.product.einsum), in_shardings=(a, b), out_shardings=c)
    return jitted.lower(*shapes).compile(compiler_options=FAST_COMPILE).as_text()


def _on_tpu(plan, topology):
    *in_specs, out_specs = sharded.specs(plan)
    shapes, dtype = jax_operands(plan)
    return compile_for_tpu(
        functools.partial(jnp.einsum, plan.product.einsum, preferred_element_type=dtype), *shapes, topology=topology,
        mesh=dict(plan.mesh.sizes), in_shardings=tuple(in_specs), out_shardings=out_specs,
    ).hlo  # fmt: skip


def _planned(plan):
    return collections.Counter((step.hlo, frozenset(step.axes), step.elements) for step in plan.collectives)


def _counted(found):
    return collections.Counter(
        (c.op, None if c.axes is None else frozenset(c.axes), c.elements) for c in found for _ in range(c.times)
    )


def _price(c, mesh, plan):
    """Seconds of one compiled collective on the mesh."""
    nbytes = c.elements * max(map(bytes_per_element, plan.dtypes))
    if c.op == "collective-permute":
        needs = np.arange(mesh.n_chips)
        for source, target in c.pairs:
            needs[target] = source
        return shuffle_time(nbytes, mesh, needs).lower_s
    op = c.op.replace("-", "_")
    if c.axes is None or op not in COLLECTIVES:
        return math.nan
    return in_turn_s(COLLECTIVES[op](nbytes, mesh, c.axes)) if c.axes else 0.0


def _local_s(plan, module):
    """Seconds of the product that was compiled, by its roofline, and of sums before it; nan where none is found."""
    found, chip = products_in(module), plan.mesh.chip
    if not found:
        return math.nan
    byte_s = max(map(bytes_per_element, plan.dtypes)) / chip.hbm_bytes_per_s
    rate = chip.peak_flops_per_s(plan.work.dtype)
    sums = local_sums(module) if any(plan.product.alone) else []
    return math.fsum(max(flops / rate, byte_s * elements) for flops, elements in found) + byte_s * sum(map(sum, sums))


def _woven(module, found):
    """Whether permutes run in a loop with pieces of the product."""
    loops = {v.times for v in visits(module) if flops_of(v.instruction, v.computation)} - {1}
    return any(c.op == "collective-permute" and c.times in loops for c in found)


def _repeats(plan, module):
    """Whether a device multiplies more, or sums more before, than in the plan."""
    product = next(step for step in plan.steps if step.op == "multiply")
    flops = product.time.math_s * plan.mesh.chip.peak_flops_per_s(plan.work.dtype)
    summed = sum(step.inputs[0].local_elements(plan.sizes, plan.mesh) for step in plan.steps if step.op == "sum")
    read = sum(n for n, _ in local_sums(module)) if summed else 0
    return sum(n for n, _ in products_in(module)) > 1.01 * flops or read > 1.01 * summed


def _kind(plan, found, seconds, ours_s, repeats):
    """The class of a choice that is not the plan itself."""
    if math.isnan(seconds):
        return "unpriced"
    if abs(seconds - ours_s) <= EQUAL * ours_s:
        return "equal"
    if seconds < ours_s:
        return "cheaper: part of an axis" if any(c.axes is None for c in found) else "cheaper: other"
    return f"dearer: {'repeats work' if repeats else _why_dearer(plan, found)}"


def _why_dearer(plan, found):
    ops, ours = collections.Counter(c.op for c in found), collections.Counter(s.hlo for s in plan.collectives)
    if ops["all-reduce"] > ours["all-reduce"] and ours["reduce-scatter"] > ops["reduce-scatter"]:
        return "adds everywhere"
    at_once = [max((len(step.axes or ()) for step in steps), default=0) for steps in (found, plan.collectives)]
    if set(ops) == set(ours) and at_once[0] < at_once[1]:
        return "one axis at a time"
    if ops["all-gather"] > ours["all-gather"]:
        return "gathers"
    if ops["collective-permute"] > ours["collective-permute"]:
        return "permutes"
    sent = sum(c.elements * c.times for c in found), sum(step.elements for step in plan.collectives)
    return "larger array" if sent[0] > sent[1] else "other"
