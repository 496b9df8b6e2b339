"""Steps of a plan, its times, and their words."""

import math
from dataclasses import dataclass

from scaling_lib.collectives import CollectiveTime
from scaling_lib.estimate import TimeBounds
from scaling_lib.sharding.costs import COLLECTIVES, in_turn_s
from scaling_lib.sharding.notation import Sharding
from scaling_lib.sharding.words import named
from scaling_lib.units import non_negative, si

HLO_NAMES = {
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_reduce": "all-reduce",
    "all_to_all": "all-to-all",
    "permute": "collective-permute",
}


LOCAL = ("multiply", "sum")
LINKS = {"node": "nvlink", "outer": "scaleout", "dcn": "dcn"}  # of hardware axes; the numbered ones are a torus's


@dataclass(frozen=True)
class Step:
    """One local product, collective, or free change.

    Attributes:
      op: multiply, sum, all_gather, reduce_scatter, all_reduce, all_to_all, permute, slice or place.
      inputs: shardings of what it takes: one, or the two operands.
      output: of what it gives.
      axes: mesh axes it communicates over (or slices by), in the order of the blocks.
      elements, bytes: of the array that a collective's time is of: the whole array of one group, for a permute what
        one chip sends; 0 where nothing is sent.
      time: a CollectiveTime; of a product the TimeBounds of its roofline, of a sum those of its memory; None if free.
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
        if self.op == "sum":
            gone = named([dim for dim in before.dims if dim not in self.output.dims])
            return f"sum {before.name} over {gone}: {before} -> {self.output}"
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
        if self.op in LOCAL:
            return f"{si(self.seconds, 's')} a chip, bound by {self.time.bound}"
        sent = "a chip sends" if self.op == "permute" else "in a group"
        return f"{si(self.bytes, 'B')} {sent}, {si(self.seconds, 's')}, bound by {self.time.bound}"


@dataclass(frozen=True)
class PlanTime(TimeBounds):
    """Times of a plan.

    Attributes:
      math_s, memory_s: of the local product, and of sums before it.
      network_s: time the busiest links carry something, those of one hardware axis counted together.
      latency_s: fixed costs of all collectives.
      in_turn_s: steps one after the other, and in a step its levels (`Step.seconds`): what plans are ranked by.
      upper_s: nothing overlaps, not even inside a step.

    Raises:
      ScalingError: a time is negative or no number.

    >>> t = PlanTime(math_s=3.0, memory_s=1.0, network_s=2.0, in_turn_s=5.0, upper_s=6.5)
    >>> t.lower_s, t.in_turn_s, t.upper_s, t.bound
    (3.0, 5.0, 6.5, 'math')
    """

    in_turn_s: float = 0.0
    upper_s: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        for field in ("in_turn_s", "upper_s"):
            object.__setattr__(self, field, non_negative(field, getattr(self, field)))

    def __str__(self):
        return f"in turn {si(self.in_turn_s, 's')}; {super().__str__()}"


def plan_time(steps, mesh):
    """The `PlanTime` of steps on a mesh."""
    local = [step.time for step in steps if step.op in LOCAL]
    sent = [step for step in steps if step.hlo]
    busy = {}
    for step in sent:
        for key in {piece.key for axis in step.axes for piece in mesh.pieces[axis]}:
            busy[key] = busy.get(key, 0.0) + step.time.stages.get(LINKS.get(key, "ici"), 0.0)
    return PlanTime(
        math_s=math.fsum(time.math_s for time in local),
        memory_s=math.fsum(time.memory_s for time in local),
        network_s=max(busy.values(), default=0.0),
        latency_s=math.fsum(step.time.latency_s for step in sent),
        in_turn_s=math.fsum(step.seconds for step in steps),
        upper_s=math.fsum(time.upper_s for time in local) + math.fsum(step.time.upper_s for step in sent),
    )
