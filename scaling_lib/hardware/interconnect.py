"""TPU slices: tori of chips with links to their neighbours, and several slices joined by the data-centre network.

Bandwidths of a link, of a chip and of a cut are of ONE direction; full-duplex links carry as much the other way.
"""

import itertools
import math
from dataclasses import dataclass, field

from scaling_lib.hardware.catalog import chip as chip_named
from scaling_lib.hardware.links import Axis, Switch, Torus
from scaling_lib.hardware.rules import SliceRules, slice_rules
from scaling_lib.hardware.shapes import legal_shape, parse_name, text, wraps_of
from scaling_lib.hardware.specs import TpuChip
from scaling_lib.units import ScalingError, UnknownLink, whole, wholes


@dataclass(frozen=True)
class TpuSlice:
    """A slice of a TPU pod: chips on a 2D or 3D torus of inter-chip links.

    An axis *wraps* where its two ends are linked: on v5e and v6e an axis of 16 only; on v4, v5p and 7x
    every axis as soon as all are multiples of 4 (whole cubes, joined by optical switches), otherwise none.

    Args:
      chip: a TPU's name, or a `TpuChip`.
      shape: chips along each axis; only shapes that exist are accepted.
      chips_per_host: chips that one host drives; the catalogue's machine unless given. Google rents slices of
        several v5e or v6e machines as virtual machines of 4 chips: `from_name` counts those.

    Attributes:
      wraps: for each axis whether it is a ring.

    Raises:
      ScalingError: no such slice exists; the message says which do.
      UnknownChip: no TPU of that name.

    >>> s = TpuSlice("tpu-v5e", (4, 8))
    >>> s.n_chips, s.n_hosts, s.wraps
    (32, 4, (False, False))
    >>> TpuSlice("tpu-v5e", (3, 5))
    Traceback (most recent call last):
    scaling_lib.units.ScalingError: 3x5 is no slice of TPU v5e: 15 chips make no slice; near are 8 (2x4) and 16 ...
    """

    chip: TpuChip
    shape: tuple[int, ...]
    chips_per_host: int = None
    wraps: tuple[bool, ...] = field(init=False)

    def __post_init__(self):
        c = chip_named(self.chip) if isinstance(self.chip, str) else self.chip
        shape = legal_shape(c, self.shape)
        per_host = c.chips_per_host if self.chips_per_host is None else self.chips_per_host
        if c.chips_per_host % whole("chips_per_host", per_host, of="chips"):
            possible = ", ".join(str(k) for k in range(1, c.chips_per_host + 1) if c.chips_per_host % k == 0)
            raise ScalingError(
                f"chips_per_host must divide a machine of {c.title}: possible are {possible}; got {per_host!r}"
            )
        self._set(chip=c, shape=shape, chips_per_host=min(per_host, math.prod(shape)), wraps=wraps_of(c, shape))

    def _set(self, **values):
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_name(cls, name, topology=None):
        """The slice that one of Google's names stands for.

        The number counts TensorCores up to v5p and on v7x, chips on v5e and v6e. Of several shapes of one size
        Google gives the most cubic; where it states no default the name is refused.

        Args:
          name: such as "v5p-4352", "v5litepod-64", "v6e-8", "v7x-128".
          topology: which of several shapes, such as "8x8x16".

        Raises:
          UnknownSlice: no such form of name.
          ScalingError: no slice has that size, or the name is ambiguous; the message says what is possible.

        >>> TpuSlice.from_name("v5p-4352")
        TPU v5p 4x8x68: 2,176 chips, 544 hosts, a ring on every axis
        >>> TpuSlice.from_name("v7x-2048", topology="8x8x16").n_devices
        2048
        """
        return cls(*parse_name(name, topology))

    @property
    def rules(self) -> SliceRules:
        """How slices of this chip are cut, with sources."""
        return slice_rules(self.chip)

    @property
    def n_chips(self):
        """Chips of the slice."""
        return math.prod(self.shape)

    @property
    def n_hosts(self):
        """Hosts, each with `chips_per_host` chips."""
        return -(-self.n_chips // self.chips_per_host)

    @property
    def n_trays(self):
        """Trays (boards) of four chips."""
        return -(-self.n_chips // 4)

    @property
    def n_cubes(self):
        """Whole cubes that optical switches join; 0 where the slice is smaller, or the pod has none."""
        cube = self.rules.cube
        return self.n_chips // cube**3 if cube and all(self.wraps) else 0

    @property
    def n_cores(self):
        """TensorCores of the slice."""
        return self.n_chips * self.chip.tensorcores

    @property
    def n_devices(self):
        """JAX devices on the machine: one a chip where its cores work as one (megacore) or are one, else one a core."""
        return self.n_chips * (1 if self.chip.megacore else self.chip.devices_per_chip)

    @property
    def host_shape(self):
        """Chips of one host along each axis."""
        shape = list(self.rules.host_shape)
        while math.prod(shape) > self.chips_per_host:  # part of a machine: halved along its longest axis
            shape[shape.index(max(shape))] //= 2
        fits = all(n % x == 0 for n, x in zip(self.shape, shape, strict=True))
        return tuple(shape if fits else reversed(shape))  # a 2D slice given the other way round

    @property
    def axes(self):
        """An `Axis` for each axis: its length, and whether it is a ring."""
        return tuple(Axis(n, wraps) for n, wraps in zip(self.shape, self.wraps, strict=True))

    @property
    def hw_axes(self):
        """{key: (length, wraps)} of the axes a mesh can be laid on, slowest first."""
        return dict(enumerate(zip(self.shape, self.wraps, strict=True)))

    @property
    def link_bytes_per_s(self):
        """Bandwidth of one inter-chip link, one direction [bytes/s]."""
        return self.chip.link_bytes_per_s("ici")

    @property
    def ports(self):
        """Links of the chip that has fewest: two on a ring, one at the end of a line, summed over axes."""
        return sum(int(axis.ways) for axis in self.axes if axis.length > 1)

    @property
    def wrap_links(self):
        """Links that close rings."""
        return sum(self.n_chips // n for n, wraps in zip(self.shape, self.wraps, strict=True) if wraps)

    @property
    def n_links(self):
        """All links between chips of the slice, each counted once."""
        return sum(self.n_chips // n * (n - 1) for n in self.shape) + self.wrap_links

    @property
    def diameter_hops(self):
        """Links between the two chips that lie farthest apart.

        >>> TpuSlice("tpu-v5e", (4, 4)).diameter_hops, TpuSlice("tpu-v5e", (16, 16)).diameter_hops
        (6, 16)
        """
        return sum(axis.hops for axis in self.axes)

    @property
    def bisection_links(self):
        """Links cut when the slice is halved across the axis where fewest are cut; 0 for one chip."""
        cuts = [self.n_chips // a.length * int(a.ways) for a in self.axes if a.length > 1]
        return min(cuts, default=0)

    @property
    def bisection_bytes_per_s(self):
        """Bandwidth between two halves, one direction [bytes/s]; twice that counted both ways."""
        return self.bisection_links * self.link_bytes_per_s

    def distance(self, a, b):
        """Links on a shortest way between two chips, given by coordinates (missing ones are 0).

        >>> TpuSlice("tpu-v5e", (4, 4)).distance((0, 0), (3, 3))
        6
        """
        steps = (abs(x - y) for x, y in zip(self._chip_at(a), self._chip_at(b), strict=True))
        return sum(min(d, axis.length - d) if axis.wraps else d for d, axis in zip(steps, self.axes, strict=True))

    def ways(self, a, b):
        """Links of one chip that lead towards another: one an axis along which they differ, two half-way round a ring.

        >>> TpuSlice("tpu-v5e", (16, 16)).ways((0, 0), (8, 3))
        3
        """
        steps = (abs(x - y) for x, y in zip(self._chip_at(a), self._chip_at(b), strict=True))
        pairs = zip(steps, self.axes, strict=True)
        return sum((2 if axis.wraps and 2 * d == axis.length else 1) for d, axis in pairs if d)

    def hops_around(self, order):
        """Links passed on the cycle through chips in this order and back to the first.

        >>> s = TpuSlice("tpu-v4", (2, 2, 1))
        >>> s.hops_around([(0, 0), (0, 1), (1, 0), (1, 1)]), s.hops_around([(0, 0), (0, 1), (1, 1), (1, 0)])
        (6, 4)
        """
        return sum(self.steps(order))

    def steps(self, order):
        """Links between each chip of an order and the next, the last and the first included."""
        return [self.distance(a, b) for a, b in zip(order, [*order[1:], order[0]], strict=True)]

    def coordinates(self):
        """All chips, the last axis fastest."""
        return list(itertools.product(*map(range, self.shape)))

    def subslice(self, shape):
        """Shape and wraparound of a block of this slice: an axis stays a ring only if it is kept whole.

        Raises:
          ScalingError: larger than the slice, or not along the bounds of hosts; the message says what is possible.

        >>> TpuSlice("tpu-v5e", (16, 16)).subslice((4, 16)).axes
        (Axis(length=4, wraps=False, stride=1), Axis(length=16, wraps=True, stride=1))
        >>> TpuSlice("tpu-7x", (4, 4, 4)).subslice((4, 1, 1))
        Traceback (most recent call last):
        scaling_lib.units.ScalingError: sub-slice 4x1x1 does not lie along host bounds 2,2,1: possible with 4 chips: ...
        """
        asked = wholes(shape)
        if asked is None or len(asked) != len(self.shape):
            raise ScalingError(f"shape must be {len(self.shape)} whole numbers of chips, got {shape!r}")
        if not all(x <= n for x, n in zip(asked, self.shape, strict=True)):
            raise ScalingError(f"sub-slice {text(asked)} is larger than the slice of {text(self.shape)}")
        if not self._along_hosts(asked):
            n, bounds = math.prod(asked), ",".join(map(str, self.host_shape))
            boxes = [s for s in itertools.product(*(range(1, x + 1) for x in self.shape)) if math.prod(s) == n]
            legal = ", ".join(text(s) for s in boxes if self._along_hosts(s)) or "none"
            raise ScalingError(
                f"sub-slice {text(asked)} does not lie along host bounds {bounds}: possible with {n} chips: {legal}"
            )
        return self.torus(Axis(x, wraps and x == n) for x, n, wraps in zip(asked, self.shape, self.wraps, strict=True))

    def torus(self, axes):
        """These axes with the slice's links."""
        return Torus(tuple(axes), self.link_bytes_per_s, self.rules.ici_hop_s)

    def group(self, axes=None):
        """The levels a collective over the whole slice uses: its torus."""
        if axes is not None:
            raise ScalingError(f"axes: a slice has no named axes, got {axes!r}; lay a Mesh on it")
        return (self.torus(self.axes),)

    def __repr__(self):
        hosts = f"{self.n_hosts:,} host{'s' if self.n_hosts > 1 else ''}"
        chips = f"{self.n_chips:,} chip{'s' if self.n_chips > 1 else ''}"
        return f"{self.chip.title} {text(self.shape)}: {chips}, {hosts}, {self._rings()}"

    def _rings(self):
        if all(self.wraps):
            return "a ring on every axis"
        rings = [str(i) for i, wraps in enumerate(self.wraps) if wraps]
        return f"a ring on axis {', '.join(rings)} only" if rings else "no wraparound"

    def _chip_at(self, where):
        given = wholes(where, least=0)
        at = None if given is None else given + (0,) * (len(self.shape) - len(given))
        if at is None or len(at) != len(self.shape) or any(x >= n for x, n in zip(at, self.shape, strict=True)):
            raise ScalingError(f"chip {where!r} is not on the slice: coordinates are whole numbers below {self.shape}")
        return at

    def _along_hosts(self, shape):
        """Whether a block is made of whole hosts, or fits into one."""
        pairs = list(zip(shape, self.host_shape, strict=True))
        return all(x % h == 0 for x, h in pairs) or all(h % x == 0 for x, h in pairs)


@dataclass(frozen=True)
class MultiSlice:
    """Equal slices joined by the data-centre network, which every chip reaches through its host.

    Args:
      slice: a `TpuSlice`.
      n: how many.

    >>> MultiSlice(TpuSlice("tpu-v5p", (8, 8, 8)), n=4).n_chips
    2048
    """

    slice: TpuSlice
    n: int

    def __post_init__(self):
        if not isinstance(self.slice, TpuSlice):
            raise ScalingError(f"slice must be a TpuSlice, got {self.slice!r}")
        object.__setattr__(self, "n", whole("n", self.n, of="slices"))
        if "dcn" not in self.chip.links:
            raise UnknownLink("dcn", self.chip.links, of=self.chip.title)

    @property
    def chip(self):
        """The chip it is made of."""
        return self.slice.chip

    @property
    def n_chips(self):
        """Chips of all slices."""
        return self.n * self.slice.n_chips

    @property
    def n_hosts(self):
        """Hosts of all slices."""
        return self.n * self.slice.n_hosts

    @property
    def n_devices(self):
        """JAX devices of all slices."""
        return self.n * self.slice.n_devices

    @property
    def dcn_bytes_per_s(self):
        """One chip's share of its host's network cards, one direction [bytes/s]."""
        return self.chip.link_bytes_per_s("dcn")

    @property
    def bisection_bytes_per_s(self):
        """Bandwidth between two halves of the slices (of an odd number, the smaller), one direction [bytes/s]."""
        return self.n // 2 * self.slice.n_chips * self.dcn_bytes_per_s

    @property
    def hw_axes(self):
        """{key: (length, wraps)}: "dcn", then the axes of a slice."""
        return {"dcn": (self.n, False)} | self.slice.hw_axes

    def dcn(self, n):
        """A group of one chip in each of n slices."""
        return Switch(n, self.dcn_bytes_per_s, self.slice.rules.dcn_hop_s, name="dcn")

    def group(self, axes=None):
        """The levels a collective over everything uses: the torus, then the network if there are several slices."""
        return self.slice.group(axes) + ((self.dcn(self.n),) if self.n > 1 else ())

    def __repr__(self):
        return f"{self.n} slice{'s' * (self.n > 1)} over DCN, each {self.slice!r}"
