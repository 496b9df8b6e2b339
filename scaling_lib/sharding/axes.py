"""Mesh axes: how long they are, and how they are written."""

from collections.abc import Mapping

import numpy as np

from scaling_lib.hardware import Mesh
from scaling_lib.units import ScalingError


def axis_lengths(mesh):
    """{axis: chips} of a `Mesh`, or of such a mapping itself."""
    if isinstance(mesh, Mesh):
        return mesh.sizes
    if not isinstance(mesh, Mapping):
        raise ScalingError(f"mesh: got {mesh!r}; give a Mesh, or axis sizes such as {{'X': 4, 'Y': 2}}")
    for axis, n in mesh.items():
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ScalingError(f"mesh: axis {axis} must be a whole number of chips, got {n!r}")
    return {axis: int(n) for axis, n in mesh.items()}


def place(axis, chip, n):
    """Where a chip stands along an axis of `n` chips, checked."""
    if not isinstance(chip, Mapping):
        raise ScalingError(f"chip: got {chip!r}; give its place along each axis, such as {{'X': 1, 'Y': 0}}")
    possible = f"possible are 0 to {n - 1}"
    if axis not in chip:
        raise ScalingError(f"chip: its place along {axis} is missing: {possible}")
    at = chip[axis]
    if isinstance(at, bool) or not isinstance(at, int | np.integer) or not 0 <= at < n:
        raise ScalingError(f"chip: {axis} is {at!r}: {possible}")
    return int(at)


def subscript(axes):
    """`_XY` for names of one letter, `_{data,model}` for longer ones, nothing for no axes."""
    if not axes:
        return ""
    return "_" + ("".join(axes) if all(len(axis) == 1 for axis in axes) else "{" + ",".join(axes) + "}")


def forgotten(dim, sizes, mesh):
    """How a dimension was meant whose name ends in a mesh axis: `I_X` for `IX`; empty if it does not look so.

    >>> forgotten("IXY", {"I": 8}, {"X": 4, "Y": 2})
    'I_XY'
    """
    known = sorted(axis_lengths(mesh), key=len, reverse=True)
    stem, axes = dim, []
    while stem not in sizes:
        axis = next((axis for axis in known if stem.endswith(axis) and stem != axis), None)
        if axis is None:
            return ""
        stem, axes = stem.removesuffix(axis), [axis, *axes]
    return stem + subscript(axes)
