"""A mesh: named axes laid on the axes of a machine, and the links each name owns."""

import math
from dataclasses import dataclass

from scaling_lib.hardware.cluster import GpuCluster
from scaling_lib.hardware.interconnect import MultiSlice, TpuSlice
from scaling_lib.hardware.layout import Piece, lay, merged
from scaling_lib.hardware.links import Axis
from scaling_lib.hardware.order import ring_order
from scaling_lib.units import ScalingError, UnknownAxis, whole

MACHINES = (TpuSlice, MultiSlice, GpuCluster)


@dataclass(frozen=True)
class AxisLinks:
    """What one mesh axis, or several together, communicate over.

    Attributes:
      axes: their names.
      size: chips of one group.
      pieces: what they own of each hardware axis.
      levels: `Torus` or `Switch`, innermost first.
      order: chips of one group, by coordinates, each next to the one before where that is possible (TPU only).
      hops: links from each chip of the order to the next, the last to the first included.
    """

    axes: tuple[str, ...]
    size: int
    pieces: tuple[Piece, ...]
    levels: tuple
    order: tuple | None
    hops: tuple[int, ...] | None

    @property
    def is_ring(self):
        """Every step of the order, the last included, is one link that no other group uses."""
        return self.hops is not None and self.size > 2 and max(self.hops) == 1

    @property
    def hops_around(self):
        """Links passed on the whole cycle."""
        return None if self.hops is None else sum(self.hops)

    @property
    def max_hop(self):
        """Links of the longest step."""
        return None if self.hops is None else max(self.hops)

    def __repr__(self):
        text = f"{'·'.join(self.axes)}: {'; then '.join(map(str, self.levels))}"
        if self.hops is None or self.size == 1:
            return text
        return f"{text}; {self.hops_around} hops round the cycle, longest step {self.max_hop}"


class Mesh:
    """Named axes on the chips of a machine; the first name is the slowest, as in JAX.

    The slowest links of several slices, dcn, go to the first name that can own them whole; X="dcn" says which.
    Each axis is laid on whole hardware axes where possible. An axis that takes part of a hardware axis is told
    the truth: neighbouring chips of a ring are a line, and every k-th chip shares its links with k - 1 groups.

    Args:
      hardware: `TpuSlice`, `MultiSlice` or `GpuCluster`.
      **axes: name = number of chips; or the hardware axes it owns: X=(0,), X=(0, 2), and on clusters
        X="node" or "outer", on several slices X="dcn". On a cluster an axis called node or outer is that level.

    Raises:
      ScalingError: the sizes do not multiply to the chips there are, or do not fit on the hardware axes.

    >>> m = Mesh(TpuSlice("tpu-v5e", (4, 8)), X=4, Y=8)
    >>> m.sizes, m.links("Y")
    ({'X': 4, 'Y': 8}, Y: line of 8, ICI 45 GB/s per link and direction; 14 hops round the cycle, longest step 7)
    >>> Mesh(TpuSlice("tpu-v4", (2, 2, 1)), X=4).links("X").order
    ((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0))
    >>> Mesh(GpuCluster("h100", n_gpus=1024), node=8, outer=128).links("node")
    node: 8 chips on nvlink, 450 GB/s per chip and direction
    """

    def __init__(self, hardware, **axes):
        if not isinstance(hardware, MACHINES):
            raise ScalingError(f"hardware must be a {', '.join(m.__name__ for m in MACHINES)}, got {hardware!r}")
        if not axes:
            raise ScalingError("axes: a mesh needs at least one, such as X=4")
        self.hardware = hardware
        keys = hardware.hw_axes
        owned = {name: keys_ for name, given in axes.items() if (keys_ := _owned(name, given, keys))}
        self.sizes = {n: math.prod(keys[k][0] for k in owned[n]) if n in owned else int(axes[n]) for n in axes}
        self._check(axes, owned)
        self.pieces = lay(self.sizes, owned, keys)

    @property
    def names(self):
        """Names of the axes, slowest first."""
        return tuple(self.sizes)

    @property
    def shape(self):
        """Chips along each axis."""
        return tuple(self.sizes.values())

    @property
    def n_chips(self):
        """Chips of the machine."""
        return math.prod(self.shape)

    @property
    def chip(self):
        """The chip the machine is made of."""
        return self.hardware.chip

    def parse(self, axes):
        """Names in "X", "XY", "X,Y", "node" or ("X", "Y") as a tuple.

        Raises:
          UnknownAxis: the mesh has no such axis (names those it has).
          ScalingError: an axis twice.
        """
        if isinstance(axes, str):
            letters = axes and axes not in self.sizes and all(letter in self.sizes for letter in axes)
            names = tuple(axes) if letters else tuple(part.strip() for part in axes.split(","))
        else:
            names = tuple(axes) if isinstance(axes, tuple | list) else (axes,)
        if not names:
            raise ScalingError(f"axes: name at least one of {', '.join(self.names)}, got {axes!r}")
        for name in names:
            if not isinstance(name, str) or name not in self.sizes:
                raise UnknownAxis(name, self.names, of="this mesh")
        if len(set(names)) < len(names):
            raise ScalingError(f"axes: each may be named once, got {axes!r}")
        return names

    def size(self, axes):
        """Chips of one group over these axes.

        >>> Mesh(TpuSlice("tpu-v5e", (4, 8)), X=4, Y=8).size("XY")
        32
        """
        return math.prod(self.sizes[name] for name in self.parse(axes))

    def group(self, axes=None):
        """The levels, innermost first, that a collective over these axes (None: all) runs on."""
        names = self.names if axes is None else self.parse(axes)
        return self._levels(merged(piece for name in names for piece in self.pieces[name]))

    def links(self, axes):
        """The links these axes own, and the order of one group's chips on them."""
        names = self.parse(axes)
        pieces = merged(piece for name in names for piece in self.pieces[name])
        order, hops = self._order(pieces)
        return AxisLinks(names, self.size(names), pieces, self._levels(pieces), order, hops)

    def _levels(self, pieces):
        hardware = self.hardware
        if isinstance(hardware, GpuCluster):
            size = {piece.key: piece.size for piece in pieces}
            return hardware.levels(size.get("node", 1), size.get("outer", 1))
        block = hardware if isinstance(hardware, TpuSlice) else hardware.slice
        dcn = [hardware.dcn(piece.size) for piece in pieces if piece.key == "dcn"]
        axes = [_axis(piece, *block.hw_axes[piece.key]) for piece in pieces if piece.key != "dcn"]
        return (block.torus(axes), *dcn) if axes or not dcn else tuple(dcn)

    def _order(self, pieces):
        """Coordinates of one group on the torus, in ring order where one exists, and the links between them."""
        block = self.hardware
        if not isinstance(block, TpuSlice):
            return None, None
        wraps = [_axis(piece, *block.hw_axes[piece.key]).wraps for piece in pieces]
        order = []
        for local in ring_order([piece.size for piece in pieces], wraps):
            chip = [0] * len(block.shape)
            for piece, x in zip(pieces, local, strict=True):
                chip[piece.key] = x * piece.stride
            order.append(tuple(chip))
        return tuple(order), tuple(block.steps(order))

    def _check(self, axes, owned):
        taken = [key for keys in owned.values() for key in keys]
        if len(set(taken)) < len(taken):
            raise ScalingError(f"axes: a hardware axis belongs to two names in {axes!r}")
        n, chips = self.n_chips, self.hardware.n_chips
        if n == chips:
            return
        product = " · ".join(f"{name}={size}" for name, size in self.sizes.items())
        if n > chips:
            advice = f"larger than the machine of {chips:,} chips"
        elif chips % n == 0:
            advice = (
                f"but the machine has {chips:,}: add an axis of {chips // n}, or give one of these as many times more"
            )
        else:
            advice = f"but the machine has {chips:,}: the sizes must multiply to it"
        raise ScalingError(f"mesh {product} is {n:,} chips, {advice} ({self.hardware!r})")

    def __eq__(self, other):
        return isinstance(other, Mesh) and (self.hardware, self.pieces) == (other.hardware, other.pieces)

    def __hash__(self):
        return hash((self.hardware, tuple(self.pieces.items())))

    def __repr__(self):
        axes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"Mesh({axes}) on {self.hardware!r}"


def _owned(name, given, keys):
    """Hardware axes that an axis says it owns, or None for a size; a level's own name means it, if the size agrees."""
    if not isinstance(given, str | tuple | list):
        size = whole(name, given, of=f"chips, such as {name}=4 (hardware axes: {name}=(0,))")
        return (name,) if name in keys and size == keys[name][0] else None
    if isinstance(given, str) and given.strip().isdecimal():
        raise ScalingError(f"{name} must be a whole number of chips, such as {name}=4, got {given!r} (text)")
    owned = (given,) if isinstance(given, str) else tuple(given)
    if not owned:
        raise ScalingError(f"{name}: name at least one of the hardware axes {', '.join(map(str, keys))}, got {given!r}")
    for key in owned:
        if isinstance(key, bool) or not isinstance(key, int | str) or key not in keys:
            raise UnknownAxis(key, map(str, keys), of=f"{name}: hardware")
    return owned


def levels_of(mesh, axes):
    """The levels, innermost first, of a mesh's axes, or of a whole machine."""
    if not hasattr(mesh, "group"):
        raise ScalingError(f"mesh must be a Mesh, {', '.join(m.__name__ for m in MACHINES)}, got {mesh!r}")
    return mesh.group(axes)


def _axis(piece, length, wraps):
    """The part of a hardware axis as the group sees it: it wraps only if the group goes all the way round."""
    all_round = piece.size * piece.stride == length and length > 2
    return Axis(piece.size, wraps and all_round, piece.stride)
