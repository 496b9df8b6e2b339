"""Sharded arrays in writing: `A[I_XY, J]`, their local shapes, bytes and blocks.

A subscript names the mesh axes that cut a dimension, the slowest first, as in JAX: chip (x, y) holds block x·|Y| + y
of I_XY. An axis that an array does not name holds copies of it. `{U_X}`: unreduced, every chip along X holds a
partial sum.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from scaling_lib.sharding.axes import axis_lengths, forgotten, mapping, place, subscript
from scaling_lib.sharding.grammar import NotationError, checked_names, one_line, read_array, unknown_axis
from scaling_lib.sharding.words import description
from scaling_lib.units import Reason, ScalingError, broadcastable, bytes_per_element, plain, positive, sealed


@dataclass(frozen=True)
class Sharding:
    """How an array is cut over a mesh. Two are equal if they mean the same, however they were written.

    Attributes:
      name: of the array.
      dims: names of its dimensions.
      axes: for each dimension the mesh axes that cut it, slowest first.
      unreduced: mesh axes along which partial sums remain to be added; kept sorted.

    Raises:
      ScalingError: something is no name, an axis or a dimension stands twice, or axes are not given for each dimension.

    >>> s = parse_sharding("A[I_{X,Y}, J]")
    >>> print(s, s.axes, s == parse_sharding("A[ I_XY,J ]"))
    A[I_XY, J] (('X', 'Y'), ()) True
    """

    name: str
    dims: tuple[str, ...]
    axes: tuple[tuple[str, ...], ...]
    unreduced: tuple[str, ...] = ()
    _written: tuple = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        checked_names("name", [self.name], "array")
        dims = checked_names("dims", self.dims, "dimension")
        axes = None if isinstance(self.axes, str) or not np.iterable(self.axes) else tuple(self.axes)
        if axes is None or len(axes) != len(dims):
            have = f"{self.name} has dimensions {', '.join(dims) or 'none'}"
            raise ScalingError(f"axes: {have}, got {self.axes!r}; give a tuple of mesh axes for each: (('X',), ())")
        axes = tuple(checked_names(f"axes of {dim}", part, "mesh axis") for dim, part in zip(dims, axes, strict=True))
        unreduced = tuple(sorted(checked_names("unreduced", self.unreduced, "mesh axis")))
        self.__dict__.update(dims=dims, axes=axes, unreduced=unreduced)  # frozen
        if len(set(dims)) < len(dims) or len(set(self.used)) < len(self.used):
            read_array(str(self))  # refuses it, with a caret

    @property
    def used(self):
        """Mesh axes that it names, unreduced ones included."""
        return tuple(axis for axes in self.axes for axis in axes) + self.unreduced

    def of(self, dim):
        """The axes that cut a dimension.

        >>> parse_sharding("A[I, J_XY]").of("J")
        ('X', 'Y')
        """
        if dim not in self.dims:
            raise ScalingError(f"dim: {self} has no dimension {dim!r}; it has {', '.join(self.dims) or 'none'}")
        return self.axes[self.dims.index(dim)]

    def shards(self, mesh):
        """Blocks along each dimension.

        Args:
          mesh: a `Mesh`, or {axis: chips}.

        Raises:
          UnknownAxis: the mesh lacks an axis that is named; a caret shows which.

        >>> parse_sharding("A[I_XY, J]").shards({"X": 4, "Y": 2})
        (8, 1)
        """
        sizes = self._sizes_of(mesh)
        return tuple(math.prod(sizes[axis] for axis in axes) for axes in self.axes)

    def copies(self, mesh):
        """Chips that hold the same block (or, where it is unreduced, the same part of its sum).

        >>> parse_sharding("A[I_XY, J]").copies({"X": 2, "Y": 8, "Z": 2})
        2
        """
        sizes = self._sizes_of(mesh)
        return math.prod(n for axis, n in sizes.items() if axis not in self.used)

    def local_shape(self, sizes, mesh, *, pad=False):
        """What one chip holds [elements along each dimension].

        Args:
          sizes: {dimension: elements}; entries may be arrays, and then so is the result.
          mesh: a `Mesh`, or {axis: chips}.
          pad: round up where the chips do not divide a dimension, as if it were padded; otherwise that is an error.

        Raises:
          NotationError: a size is missing or no whole number, or does not divide; a caret shows which.
          UnknownAxis: the mesh lacks an axis.
          ScalingError: sizes or mesh is no mapping.

        >>> parse_sharding("A[I_X, J_Y]").local_shape({"I": 8, "J": 2048}, {"X": 4, "Y": 2})
        (2, 1024)
        >>> parse_sharding("A[I_X, J]").local_shape({"I": 10, "J": 3}, {"X": 4})
        Traceback (most recent call last):
        scaling_lib.sharding.grammar.NotationError: 10 elements of I do not divide by 4 chips (X): possible are 8 ...
          A[I_X, J]
            ^
        """
        shards = zip(self.dims, self.shards(mesh), strict=True)
        return tuple(self._cut(dim, n, self.size(dim, sizes, mesh), pad) for dim, n in shards)

    def local_elements(self, sizes, mesh, *, pad=False):
        """Elements that one chip holds; arguments as `local_shape`. Arrays of sizes must broadcast."""
        shape = self.local_shape(sizes, mesh, pad=pad)
        broadcastable(**{f"sizes[{dim!r}]": n for dim, n in zip(self.dims, shape, strict=True)})
        shape, reason = plain(*shape)
        return sealed(reason, math.prod(shape))

    def local_bytes(self, sizes, mesh, dtype="bf16", *, pad=False):
        """Bytes that one chip holds; arguments as `local_shape`.

        >>> s = parse_sharding("A[I_XY, J]")
        >>> s.local_bytes({"I": 128, "J": 2048}, {"X": 2, "Y": 8, "Z": 2}, "int8")
        16384.0
        """
        return bytes_per_element(dtype) * self.local_elements(sizes, mesh, pad=pad)

    def total_bytes(self, sizes, mesh, dtype="bf16", *, pad=False):
        """Bytes on all chips together, copies and partial sums included; arguments as `local_shape`.

        >>> parse_sharding("A[I_XY, J]").total_bytes({"I": 128, "J": 2048}, {"X": 2, "Y": 8, "Z": 2}, "int8")
        524288.0
        """
        return self.local_bytes(sizes, mesh, dtype, pad=pad) * math.prod(self._sizes_of(mesh).values())

    def padding(self, sizes, mesh):
        """{dimension: elements that must be added so that the chips divide it}, those that divide left out.

        Of arrays a dimension is kept if any entry needs padding, or is masked.

        >>> parse_sharding("A[I_X, J_Y]").padding({"I": 10, "J": 6}, {"X": 4, "Y": 2})
        {'I': 2}
        """
        full = zip(self.dims, self.shards(mesh), self.local_shape(sizes, mesh, pad=True), strict=True)
        missing = {dim: n * block - self.size(dim, sizes) for dim, n, block in full}
        return {dim: n for dim, n in missing.items() if np.any(plain(n)[0][0])}  # a masked entry counts as 1

    def block(self, chip, mesh):
        """Which block of each dimension a chip holds.

        Args:
          chip: its place along each axis, {"X": 1, "Y": 0}; axes that cut nothing may be left out.

        Raises:
          ScalingError: a place is missing, or there is none such on the mesh.

        >>> [parse_sharding(s).block({"X": 1, "Y": 0}, {"X": 2, "Y": 2})[0] for s in ("A[I_XY, J]", "A[I_YX, J]")]
        [2, 1]
        """
        sizes = self._sizes_of(mesh)
        block = [0] * len(self.dims)
        for i, axes in enumerate(self.axes):
            for axis in axes:
                block[i] = block[i] * sizes[axis] + place(axis, chip, sizes[axis])
        return tuple(block)

    def partition_spec(self):
        """Entries of JAX's PartitionSpec, one a dimension: None, a name, or a tuple of names.

        Partial sums are not part of it: see `unreduced`. With jax, `PartitionSpec(*s.partition_spec())`.

        >>> parse_sharding("A[I_XY, J, K_Z]").partition_spec()
        (('X', 'Y'), None, 'Z')
        """
        return tuple(None if not axes else axes[0] if len(axes) == 1 else axes for axes in self.axes)

    def describe(self, sizes=None, mesh=None, dtype="bf16"):
        """One sentence on what each chip holds; sizes are single numbers.

        >>> print(parse_sharding("A[I_XY, J]").describe({"I": 128, "J": 2048}, {"X": 2, "Y": 8, "Z": 2}, "int8"))
        A: I is cut over X, then Y; J is whole. Each of 32 chips holds 8 × 2,048 of 128 × 2,048 elements (16.4 kB), and
        each block lies on 2 chips (along Z).
        """
        return description(self, sizes, mesh, dtype)

    def same_as(self, other, mesh=None):
        """Whether two shardings put the same elements on every chip; axes of one chip do not matter.

        >>> parse_sharding("A[I_XY]").same_as(parse_sharding("A[I_YX]"), {"X": 1, "Y": 4})
        True
        """
        if not isinstance(other, Sharding):
            raise ScalingError(f"other must be a Sharding, such as parse_sharding gives, got {other!r}")
        return self._bare(mesh) == other._bare(mesh)

    def cut_as(self, axes, unreduced=None):
        """The same array cut over other axes; partial sums stay unless `unreduced` says otherwise.

        >>> print(parse_sharding("A[I_X, J]{U_Y}").cut_as(((), ("X",))))
        A[I, J_X]{U_Y}
        """
        return Sharding(self.name, self.dims, axes, self.unreduced if unreduced is None else unreduced)

    def summed(self, dims):
        """The array with one dimension or several summed on every chip: what cut them leaves partial sums.

        Args:
          dims: a name, or a tuple of names.

        Raises:
          ScalingError: the array has no such dimension.

        >>> print(parse_sharding("A[I, J_X, L_Y]").summed("L"))
        A[I, J_X]{U_Y}
        """
        gone = (dims,) if isinstance(dims, str) else checked_names("dims", dims, "dimension")
        over = tuple(axis for dim in dict.fromkeys(gone) for axis in self.of(dim))
        kept = tuple(dim for dim in self.dims if dim not in gone)
        return Sharding(self.name, kept, tuple(map(self.of, kept)), self.unreduced + over)

    def __str__(self):
        dims = ", ".join(dim + subscript(axes) for dim, axes in zip(self.dims, self.axes, strict=True))
        return f"{self.name}[{dims}]" + (f"{{U{subscript(self.unreduced)}}}" if self.unreduced else "")

    def _fault(self, says, kind, name):
        """The error that points at one of its dimensions or axes."""
        text, places = self._places()
        return NotationError(says, text, places[kind, name])

    def _places(self):
        return self._written or parse_sharding(str(self))._written

    def _sizes_of(self, mesh):
        sizes = axis_lengths(mesh)
        for axis in self.used:
            if axis not in sizes:
                text, places = self._places()
                raise unknown_axis(axis, sizes, text, places["axis", axis])
        return sizes

    def _bare(self, mesh):
        sizes = {} if mesh is None else self._sizes_of(mesh)

        def bare(axes):
            return tuple(axis for axis in axes if sizes.get(axis) != 1)

        return self.dims, tuple(map(bare, self.axes)), bare(self.unreduced)

    def size(self, dim, sizes, mesh=None, hint=""):
        """The elements of one dimension, checked.

        Args:
          dim, sizes: its name, and {dimension: elements}, arrays or single numbers.
          mesh, hint: where the size is missing, axes to guess from what is meant (`I_X` by `IX`), or else what to say.

        Returns:
          An int; of an array floats, illegal entries masked.

        Raises:
          NotationError, ScalingError: as `local_shape`.

        >>> parse_sharding("A[I_X, J]").size("J", {"I": 8, "J": 3.0})
        3
        """
        mapping("sizes", sizes, "the elements of each dimension, such as {'I': 4096, 'J': 8192}")
        if dim not in sizes:
            meant = "" if mesh is None else forgotten(dim, sizes, mesh)
            hint = f"; is {meant} meant?" if meant else hint
            given = ", ".join(sizes) or "none"
            raise self._fault(f"sizes: the size of {dim} is missing; given are {given}{hint}", "dim", dim)
        size = sizes[dim]
        checked = positive(f"sizes[{dim!r}]", size)
        if not np.ndim(checked):
            if checked != int(checked) or size > 2**53:  # beyond it floats leave whole numbers out
                says = f"sizes: {dim} must be a whole number of elements up to 2^53, got {size!r}"
                raise self._fault(says, "dim", dim)
            return int(checked)
        return checked

    def _cut(self, dim, n, size, pad):
        if np.ndim(size):
            return _cut_entries(size, n, pad)
        if size % n and not pad:
            below, above = size - size % n, size + -size % n
            possible = f"{below:,} and {above:,}" if below else f"{above:,}"
            chips = f"{n} chips ({' · '.join(self.of(dim))})"
            says = (
                f"{size:,} elements of {dim} do not divide by {chips}: possible are {possible}, or pad=True to fill up"
            )
            raise self._fault(says, "dim", dim)
        return -(-size // n)


def _cut_entries(size, n, pad):
    """`_cut` of an array: entries that are not whole, or do not divide, are masked."""
    (values,), reason = plain(size)
    given = np.zeros(values.shape, np.int8) if reason is None else reason
    faults = [given != Reason.OK, values != np.floor(values), (values % n != 0) & (not pad)]
    codes = np.select(faults, [given, Reason.NOT_WHOLE, Reason.NOT_DIVISIBLE], Reason.OK).astype(np.int8)
    return sealed(codes if codes.any() else None, np.ceil(values / n))


def parse_sharding(text, mesh=None):
    """A sharding in writing: `A[I_XY, J]`, `I_{X,Y}` for axes with longer names, `{U_X}` for partial sums over X.

    Args:
      text: the array, its dimensions, and as subscripts the mesh axes that cut each, slowest first (JAX's order).
      mesh: if given, a `Mesh` or {axis: chips} that must have the axes.

    Returns:
      Sharding: `.local_shape(sizes, mesh)`, `.local_bytes(...)`, `.partition_spec()`, `.describe()`.

    Raises:
      NotationError: the text is not the notation, or names an axis or a dimension twice; a caret shows where.
      UnknownAxis: the mesh lacks an axis.

    >>> parse_sharding("A[I_XY, J]").local_shape({"I": 128, "J": 2048}, {"X": 2, "Y": 8, "Z": 2})
    (8, 2048)
    >>> parse_sharding("A[I_X, J_X]")
    Traceback (most recent call last):
    scaling_lib.sharding.grammar.NotationError: axis X shards both I and J of A: a mesh axis can cut ...
      A[I_X, J_X]
               ^
    """
    sharding = sharding_of(read_array(text), text)
    if mesh is not None:
        sharding._sizes_of(mesh)
    return sharding


def sharding_of(written, text):
    """What the grammar read, as a `Sharding` that knows its text."""
    places = {("array", written.name.name): written.name.at}
    places |= {("dim", dim.name): dim.at for dim, _ in written.dims}
    every = (*(axes for _, axes in written.dims), written.unreduced)
    places |= {("axis", axis.name): axis.at for axes in every for axis in axes}
    return Sharding(
        written.name.name,
        tuple(dim.name for dim, _ in written.dims),
        tuple(tuple(axis.name for axis in axes) for _, axes in written.dims),
        tuple(axis.name for axis in written.unreduced),
        (one_line(text), places),
    )
