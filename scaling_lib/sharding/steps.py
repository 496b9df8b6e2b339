"""Steps of a plan, its times, and their words."""

import math
from dataclasses import dataclass

from scaling_lib.collectives import CollectiveTime
from scaling_lib.estimate import TimeBounds
from scaling_lib.sharding.costs import COLLECTIVES, in_turn_s
from scaling_lib.sharding.notation import Sharding
from scaling_lib.sharding.words import named
from scaling_lib.units import si

HLO_NAMES = {
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_reduce": "all-reduce",
    "all_to_all": "all-to-all",
    "permute": "collective-permute",
}


@dataclass(frozen=True)
class Step:
    """One local product, collective, or free change.

    Attributes:
      op: multiply, all_gather, reduce_scatter, all_reduce, all_to_all, permute, slice or place.
      inputs: shardings of what it takes: one, or the two operands.
      output: of what it gives.
      axes: mesh axes it communicates over (or slices by), in the order of the blocks.
      elements, bytes: of the array that a collective's time is of: the whole array of one group, for a permute what
        one chip sends; 0 where nothing is sent.
      time: a CollectiveTime; of a product the TimeBounds of its roofline; None if it is free.
    """

    op: str
    inputs: tuple[Sharding, ...]
    output: Sharding
    axes: tuple[str, ...] = ()
    elements: int = 0
    bytes: float = 0.0
    time: CollectiveTime | TimeBounds | None = None

    @property
    def hlo(self):
        """The collective's name in HLO; empty where there is none."""
        return HLO_NAMES.get(self.op, "")

    @property
    def seconds(self):
        """How long it takes in turn: a collective's levels one after the other, a permute's at once; 0 where free."""
        if self.time is None:
            return 0.0
        return in_turn_s(self.time) if self.op in COLLECTIVES else self.time.lower_s

    def __str__(self):
        return f"{self.what}: {self.amount}"

    @property
    def what(self):
        """What is done, without figures."""
        if self.op == "multiply":
            a, b = self.inputs
            return f"multiply {a} · {b} -> {self.output}"
        (before,) = self.inputs
        over = named(self.axes)
        verb = {"slice": "slice", "place": "place", "permute": "permute"}.get(self.op, self.hlo)
        preposition = {"slice": "by", "place": "into zeros along"}.get(self.op, "over")
        return f"{verb} {before.name} {preposition} {over}: {before} -> {self.output}"

    @property
    def amount(self):
        """What it costs, in words."""
        if self.op == "place":
            return "free: zeros on the other chips"
        if self.op == "slice":
            return "free: each chip keeps its part of what it holds"
        if self.op == "multiply":
            return f"{si(self.seconds, 's')} a chip, bound by {self.time.bound}"
        sent = "a chip sends" if self.op == "permute" else "in a group"
        return f"{si(self.bytes, 'B')} {sent}, {si(self.seconds, 's')}, bound by {self.time.bound}"


@dataclass(frozen=True)
class PlanTime(TimeBounds):
    """Times of a plan.

    Attributes:
      math_s, memory_s: of the local product.
      network_s: time the busiest mesh axis carries something; `latency_s`: fixed costs of all collectives.
      in_turn_s: steps one after the other, and in a step its levels (`Step.seconds`): what plans are ranked by.
      apart_s: nothing overlaps, not even inside a step.

    >>> t = PlanTime(math_s=3.0, memory_s=1.0, network_s=2.0, in_turn_s=5.0, apart_s=6.5)
    >>> t.lower_s, t.in_turn_s, t.upper_s, t.bound
    (3.0, 5.0, 6.5, 'math')
    """

    in_turn_s: float = 0.0
    apart_s: float = 0.0

    @property
    def upper_s(self):
        """Nothing overlaps: the sum of everything [s]."""
        return self.apart_s

    def __str__(self):
        return f"in turn {si(self.in_turn_s, 's')}; {super().__str__()}"


def plan_time(steps):
    """The `PlanTime` of steps."""
    product = next(step.time for step in steps if step.op == "multiply")
    sent = [step for step in steps if step.hlo]
    busy = {}
    for step in sent:
        for axis in step.axes:
            busy[axis] = busy.get(axis, 0.0) + step.time.bandwidth_s
    return PlanTime(
        math_s=product.math_s,
        memory_s=product.memory_s,
        network_s=max(busy.values(), default=0.0),
        latency_s=math.fsum(step.time.latency_s for step in sent),
        in_turn_s=math.fsum(step.seconds for step in steps),
        apart_s=product.upper_s + math.fsum(step.time.upper_s for step in sent),
    )


def reasons(product):
    """Why a product needs communication, one sentence an axis or dimension.

    >>> from scaling_lib.sharding.product import parse_product
    >>> for why in reasons(parse_product("A[I_X, J_Y] * B[J_Y, K_X] -> C[I, K]")): print(why)
    J is summed over and cut over Y in both: each chip can multiply its parts, which leaves partial sums over Y.
    X cuts I of A and K of B: chip x would only get block (x, x) of C, so one of them must give up X.
    """
    a, b, c = product.arrays
    found = [_summed(product, dim) for dim in product.contracted]
    found += [_outer(product, axis) for axis in dict.fromkeys(axis for axes in a.axes for axis in axes)]
    found += [_batched(product, dim) for dim in a.dims if dim in b.dims and dim in c.dims]
    found += [
        f"{array.name} is unreduced over {named(array.unreduced)}: partial sums pass through the product, or are "
        "added before it."
        for array in (a, b)
        if array.unreduced
    ]
    return tuple(filter(None, found)) or (
        "No dimension that is summed over is cut, and no axis cuts two dimensions: chips can multiply what they hold.",
    )


def _summed(product, dim):
    a, b, _ = product.arrays
    here = a.of(dim) if dim in a.dims else ()
    there = b.of(dim) if dim in b.dims else ()
    if not here and not there:
        return ""
    if here == there:
        return (
            f"{dim} is summed over and cut over {named(here)} in both: each chip can multiply its parts, which leaves "
            f"partial sums over {named(here)}."
        )
    if here and there:
        return (
            f"{dim} is summed over and cut over {named(here)} in {a.name} but over {named(there)} in {b.name}: the "
            "parts do not meet until one is brought in line with the other."
        )
    cut, whole, axes = (a, b, here) if here else (b, a, there)
    return (
        f"{dim} is summed over and cut over {named(axes)} in {cut.name} only: {cut.name} is gathered, or {whole.name} "
        "gives up the rest and partial sums remain."
    )


def _outer(product, axis):
    a, b, c = product.arrays
    mine = next(dim for dim in a.dims if axis in a.of(dim))
    other = next((dim for dim in b.dims if axis in b.of(dim)), mine)
    if mine == other:
        return ""
    if mine in product.contracted or other in product.contracted:
        return f"{axis} cuts {mine} of {a.name} but {other} of {b.name}, and one of these is summed over."
    letter = axis.lower()
    return (
        f"{axis} cuts {mine} of {a.name} and {other} of {b.name}: chip {letter} would only get block ({letter}, "
        f"{letter}) of {c.name}, so one of them must give up {axis}."
    )


def _batched(product, dim):
    a, b, _ = product.arrays
    if a.of(dim) == b.of(dim):
        return ""
    return f"{dim} is a batch dimension of both and cut differently: the blocks must be brought in line."
