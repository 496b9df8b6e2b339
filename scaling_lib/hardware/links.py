"""What a group of chips communicates over: a torus of links, or a switch. Bandwidths are of ONE direction."""

import math
from dataclasses import dataclass

from scaling_lib.units import non_negative, positive, si, whole


@dataclass(frozen=True)
class Axis:
    """One axis of a torus as a group of chips uses it.

    Attributes:
      length: chips of the group along it.
      wraps: the last is linked to the first: a ring, else a line.
      stride: links between two neighbours of the group. Above 1 the chips between belong to other groups,
        which use the same links at the same time: each group gets 1/stride of a link.
    """

    length: int
    wraps: bool = False
    stride: int = 1

    def __post_init__(self):
        object.__setattr__(self, "length", whole("length", self.length, of="chips"))
        object.__setattr__(self, "stride", whole("stride", self.stride, of="links"))

    @property
    def ways(self):
        """Link directions into the chip that has fewest: 2 on a ring, 1 at the end of a line; shared: a fraction."""
        return (2 if self.wraps else 1) / self.stride

    @property
    def hops(self):
        """Links from a chip to the one farthest away: floor(n/2) neighbours on a ring, n - 1 on a line."""
        return (self.length // 2 if self.wraps else self.length - 1) * self.stride


@dataclass(frozen=True)
class Torus:
    """Chips joined to their neighbours along one or several axes.

    Attributes:
      axes: an `Axis`, (length, wraps) or length each.
      link_bytes_per_s: one link, one direction.
      hop_s: fixed cost of one hop.

    >>> ring = Torus([(16, True)], link_bytes_per_s=45e9, hop_s=1e-6)
    >>> ring.n, ring.hops
    (16, 8)
    """

    axes: tuple[Axis, ...]
    link_bytes_per_s: float
    hop_s: float = 0.0
    name: str = "ici"

    def __post_init__(self):
        axes = tuple(_axis(axis) for axis in self.axes)
        object.__setattr__(self, "axes", tuple(axis for axis in axes if axis.length > 1))
        positive("link_bytes_per_s", self.link_bytes_per_s)
        non_negative("hop_s", self.hop_s)

    @property
    def n(self):
        """Chips of the group."""
        return math.prod(axis.length for axis in self.axes)

    @property
    def hops(self):
        """Links from a chip to the one farthest away."""
        return sum(axis.hops for axis in self.axes)

    def group(self, axes=None):
        """The levels a collective over all of it uses: itself."""
        return (self,)

    def __str__(self):
        shape = " × ".join(f"{'ring' if a.wraps else 'line'} of {a.length}{_shared(a)}" for a in self.axes) or "1 chip"
        return f"{shape}, ICI {si(self.link_bytes_per_s, 'B/s')} per link and direction"


@dataclass(frozen=True)
class Switch:
    """Chips that reach one another through a switch that carries what all of them send.

    Attributes:
      n: chips of the group.
      chip_bytes_per_s: into or out of one chip, one direction.
      hop_s: fixed cost of one step from chip to chip.
      name: nvlink, scaleout or dcn.
      reduces: the switch can add what passes through it.
    """

    n: int
    chip_bytes_per_s: float
    hop_s: float = 0.0
    name: str = "nvlink"
    reduces: bool = False

    def __post_init__(self):
        object.__setattr__(self, "n", whole("n", self.n, of="chips"))
        positive("chip_bytes_per_s", self.chip_bytes_per_s)
        non_negative("hop_s", self.hop_s)

    def group(self, axes=None):
        """The levels a collective over all of it uses: itself."""
        return (self,)

    def __str__(self):
        chips = f"{self.n} chip{'s' * (self.n > 1)}"
        return f"{chips} on {self.name}, {si(self.chip_bytes_per_s, 'B/s')} per chip and direction"


def _axis(axis):
    if isinstance(axis, Axis):
        return axis
    length, wraps = axis if isinstance(axis, tuple) else (axis, False)
    length = whole("axes: a length", length, of="chips")
    return Axis(length, bool(wraps) and length > 2)


def _shared(axis):
    if axis.stride == 1:
        return ""
    ending = "th" if axis.stride % 100 // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(axis.stride % 10, "th")
    return f" (every {axis.stride}{ending} chip, links shared by {axis.stride} groups)"
