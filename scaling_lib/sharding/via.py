"""Operands that cannot be multiplied as they were asked to be: why, and what would do."""

from scaling_lib.sharding.words import named
from scaling_lib.units import ScalingError


def check(operands, search):
    """Refuse operands that name an axis which is to stay idle."""
    for array in operands:
        idle = [axis for axis in array.used if axis not in search.names and search.mesh.sizes[axis] > 1]
        if idle:
            raise ScalingError(f"via: {array} is cut over {named(idle)}, which use_idle=False leaves idle")


def why_not(operands, search):
    """What keeps chips from multiplying two operands as they lie, and what would go with each.

    Args:
      operands: two `Sharding`s, that `search.ranked` has no plan for.
      search: a `Search`.
    """
    a, b = (_as_searched(array, search) for array in operands)
    here = {axis: dim for dim, axes in zip(a.dims, a.axes, strict=True) for axis in axes}
    there = {axis: dim for dim, axes in zip(b.dims, b.axes, strict=True) for axis in axes}
    faults = [
        f"{dim} is {_cut(a.of(dim))} in {a.name} but {_cut(b.of(dim))} in {b.name}"
        for dim in a.dims
        if dim in b.dims and a.of(dim) != b.of(dim)
    ]
    faults += [
        f"{axis} cuts {dim} of {a.name} but {there[axis]} of {b.name}"
        for axis, dim in here.items()
        if there.get(axis, dim) != dim
    ]
    faults += [
        f"{array.name} is asked to be unreduced over {named(array.unreduced)}"
        for array, other in ((a, b), (b, a))
        if array.unreduced
    ]
    fits = "; ".join(filter(None, (_partner(search, i, array) for i, array in enumerate((a, b)))))
    why = "; ".join(faults)
    possible = f"possible: {fits}" if fits else "neither of them goes with anything"
    return f"{a} and {b} cannot be multiplied as they are: {why}; {possible}"


def _as_searched(array, search):
    dims, unreduced = search.state(array)
    return search.named(array, (dims, unreduced))


def _cut(axes):
    return f"cut over {named(axes)}" if axes else "whole"


def _partner(search, i, array):
    """The cheapest that the other operand may be."""
    state = search.state(array)
    found = next((c for c in search.ranked() if c[i] == state), None)
    if found is None:
        return ""
    other = search.named(search.product.arrays[1 - i], found[1 - i])
    return f"with {array} goes {other}"
