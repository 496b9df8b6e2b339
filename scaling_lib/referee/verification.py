"""Whether a plan does what it says: its own steps run, its collectives read from what XLA compiled."""

import collections
import math
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import NamedSharding

from scaling_lib.referee import sharded
from scaling_lib.referee.choice import FAST_COMPILE, Choice, partitioner_choice
from scaling_lib.referee.devices import N_CPU_DEVICES, make_mesh
from scaling_lib.referee.hlo import Collective, collectives_in
from scaling_lib.referee.rewrites import OnTpu, Wanted, difference, legal_plan, of_any_width, on_tpu, seen, wanted
from scaling_lib.sharding import Plan
from scaling_lib.units import ScalingError

MOST_FLOPS = 2e8  # what is run on the CPU; a larger product is run smaller


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
      plan: the plan.
      ok: the numbers are right, and the collectives are exactly those predicted.
      right: the result equals the dense product, bit by bit (whole numbers in f32).
      ran: the sizes that the numbers were checked at.
      predicted: `Wanted` collectives.
      compiled: the `Collective` entries of the CPU's program.
      missing, surplus: predicted but not compiled, and the reverse.
      choice: what `jit` does by itself, a `Choice`; None if not asked for.
      tpu: what the TPU compiler makes of the plan, an `OnTpu`; None if no topology was given.
    """

    plan: Plan
    right: bool
    ran: dict
    predicted: tuple[Wanted, ...]
    compiled: tuple[Collective, ...]
    missing: tuple[Wanted, ...]
    surplus: tuple[Wanted, ...]
    choice: Choice | None = None
    tpu: OnTpu | None = None

    @property
    def ok(self):
        return self.right and not self.missing and not self.surplus and (self.tpu is None or self.tpu.ok)

    @property
    def report(self):
        """All of it in words."""
        ran = "at " + ", ".join(f"{dim}={n:,}" for dim, n in self.ran.items())
        ran = ran if self.ran == self.plan.sizes else f"(tried small, {ran})"
        lines = [
            f"{'verified' if self.ok else 'NOT verified'}: {self.plan.product}",
            f"  numbers: {'equal to the dense product' if self.right else 'WRONG'} {ran}",
        ]
        lines += [f"  predicted and compiled: {wanted}" for wanted in _common(self.predicted, self.missing)]
        lines += [] if self.predicted or self.surplus else ["  no collective, predicted and compiled"]
        lines += [f"  predicted, not compiled: {wanted}" for wanted in self.missing]
        lines += [f"  compiled, not predicted: {wanted}" for wanted in self.surplus]
        for part in (self.choice, self.tpu):
            lines += [] if part is None else [f"  {line}" for line in str(part).splitlines()]
        return "\n".join(lines)

    def __repr__(self):
        return self.report


def verify(plan, *, choice=True, topology=None):
    """Run a plan's own steps under `shard_map` and read its collectives from what XLA compiled.

    Numbers: on CPU devices, against a dense einsum, with whole numbers in f32, whose sums are exact. Collectives: kind,
    mesh axes and elements, at the plan's own sizes (XLA's CPU backend widens bf16 to f32 on the wire, so bytes are
    compared on a TPU only).

    Args:
      plan: a `Plan` on a mesh of up to 8 chips.
      choice: also see what `jit` chooses given only the shardings of operands and result.
      topology: also compile the plan for this TPU slice, such as "v5e:4x2", and compare, XLA's rewrites explained.

    Returns:
      Verification: `.ok`, `.report`, and the parts.

    Raises:
      ScalingError: not a plan, or its mesh has more chips than there are devices; with a topology, as `on_tpu`.

    Assumes: what holds of CPU devices' kinds, axes and elements holds of any; seconds are not looked at.
    Source: what XLA compiles here; nothing is taken from the plan but its steps.

    >>> import scaling_lib as sl
    >>> mesh = sl.Mesh(sl.TpuSlice("tpu-v5e", (2, 4)), X=8)
    >>> found = verify(sl.plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", {"I": 64, "J": 64, "K": 32}, mesh))
    >>> found.ok
    True
    >>> print(found.report)
    verified: A[I, J_X] * B[J_X, K] -> C[I, K]
      numbers: equal to the dense product at I=64, J=64, K=32
      predicted and compiled: all-reduce over X: 2,048 elements
      jit by itself: the same collectives
    """
    if legal_plan(plan).mesh.n_chips > N_CPU_DEVICES:
        raise ScalingError(
            f"plan: its mesh has {plan.mesh.n_chips:,} chips, and {N_CPU_DEVICES} devices stand in for chips here; "
            "plan the same product on a mesh of up to that many"
        )
    mesh = make_mesh(plan.mesh.sizes)
    small = smaller(plan)
    right, compiled = _run(small, mesh)
    if small is not plan:
        compiled = _compile(plan, mesh)
    found = tuple(collectives_in(compiled, mesh))
    predicted = of_any_width(wanted(plan))
    missing, surplus = difference(predicted, of_any_width(seen(found)))
    return Verification(
        plan, right, small.sizes, predicted, found, missing, surplus,
        partitioner_choice(plan) if choice else None, None if topology is None else on_tpu(plan, topology),
    )  # fmt: skip


def _common(predicted, missing):
    return (collections.Counter(predicted) - collections.Counter(missing)).elements()


def smaller(plan):
    """The plan itself, or its steps at sizes that a CPU runs in no time."""
    if 2 * math.prod(plan.sizes.values()) <= MOST_FLOPS:
        return plan
    unit = {}
    for dim in plan.sizes:
        arrays = [array for step in plan.steps for array in (*step.inputs, step.output) if dim in array.dims]
        unit[dim] = math.lcm(*(array.shards(plan.mesh)[array.dims.index(dim)] for array in arrays))
    return plan.at({dim: n * (3 if i % 2 else 2) for i, (dim, n) in enumerate(unit.items())})


def _run(plan, mesh):
    """Whether the program's result is the dense product, and the compiled program."""
    dense, given = sharded.operands(plan)
    *in_specs, _ = sharded.specs(plan)
    placed = [jax.device_put(x, NamedSharding(mesh, spec)) for x, spec in zip(given, in_specs, strict=True)]
    compiled = _compile(plan, mesh)
    result = np.asarray(compiled(*placed))
    result = result.sum(axis=0) if plan.product.c.unreduced else result
    return bool(np.array_equal(result, np.einsum(plan.product.einsum, *dense))), compiled


def _compile(plan, mesh):
    *in_specs, out_specs = (NamedSharding(mesh, spec) for spec in sharded.specs(plan))
    jitted = jax.jit(sharded.program(plan), in_shardings=tuple(in_specs), out_shardings=out_specs)
    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in sharded.shapes(plan)[:2]]
    with jax.set_mesh(mesh):
        return jitted.lower(*shapes).compile(compiler_options=FAST_COMPILE)
