"""Sharded programs of the chapters, one entry each: what the notebooks compile, and what reports are recorded of."""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
from jax import ShapeDtypeStruct
from jax.sharding import PartitionSpec as P

from scaling_lib.referee import sharded
from scaling_lib.referee.cases import CASES, TOPOLOGIES, case_plan


def split_matmul(x, w):
    """X[B_X, D_Y] · W[D_Y, F] -> Out[B_X, F]: each device multiplies its part of D; the parts must be added over Y."""
    return x @ w


def odd_matmul(x, w):
    """X[M, K] · W[K, N] -> Out[M, N] on every device by itself: sizes that fill no tile."""
    return x @ w


def partitioned_matmul(a, b):
    """A[I, J_X] · B[J_X, K] -> C[I, K_X], how is left to the partitioner: it gets the shardings alone."""
    return a @ b


def send_to_last(x):
    """The first device's part of X goes to the last device of the axis; the others send nothing."""

    def send(part):
        last = jax.lax.axis_size("X") - 1
        return jax.lax.ppermute(part, "X", [(0, last)])

    return jax.shard_map(send, in_specs=P("X"), out_specs=P("X"))(x)


@dataclass(frozen=True)
class Program:
    """A function with the shapes, shardings and slice it is compiled for."""

    fn: Callable
    args: tuple
    in_shardings: tuple
    out_shardings: object
    mesh: dict[str, int]
    topology: str
    options: dict = field(default_factory=dict)

    def compile(self):
        from scaling_lib.referee.tpu_compiler import compile_for_tpu

        return compile_for_tpu(
            self.fn, *self.args, topology=self.topology, mesh=self.mesh, in_shardings=self.in_shardings,
            out_shardings=self.out_shardings, **self.options,
        )  # fmt: skip


def _bf16(*shape):
    return ShapeDtypeStruct(shape, "bfloat16")


PROGRAMS = {
    "ch01_split_matmul": Program(
        fn=split_matmul, args=(_bf16(1024, 8192), _bf16(8192, 4096)), in_shardings=(P("X", "Y"), P("Y")),
        out_shardings=P("X"), mesh={"X": 4, "Y": 2}, topology="v5e:4x2",
    ),
    "ch02_odd_matmul": Program(
        fn=odd_matmul, args=(_bf16(100, 200), _bf16(200, 300)), in_shardings=(P(), P()),
        out_shardings=P(), mesh={"X": 4}, topology="v5e:2x2",
    ),
    "ch02_send_to_last": Program(
        fn=send_to_last, args=(_bf16(16 * 8, 128, 8192),), in_shardings=(P("X"),),
        out_shardings=P("X"), mesh={"X": 16}, topology="v5e:4x4",
    ),
    "ch03_partitioned_matmul": Program(
        fn=partitioned_matmul, args=(_bf16(4096, 8192), _bf16(8192, 4096)), in_shardings=(P(None, "X"), P("X")),
        out_shardings=P(None, "X"), mesh={"X": 8}, topology="v5e:4x2",
    ),
}  # fmt: skip


def _case(name, topology):
    """One case of chapter 3 on one slice."""
    plan = case_plan(name)
    *in_specs, out_specs = sharded.specs(plan)
    return Program(
        fn=sharded.program(plan), args=tuple(_bf16(*shape) for shape in sharded.shapes(plan)[:2]),
        in_shardings=tuple(in_specs), out_shardings=out_specs, mesh=dict(plan.mesh.sizes), topology=topology,
    )  # fmt: skip


PROGRAMS |= {
    f"ch03_{name}_{topology.split(':')[0]}": _case(name, topology) for topology in TOPOLOGIES for name in CASES
}
