"""Mesh axes: how long they are, and how they are written."""

from collections.abc import Mapping

from scaling_lib.hardware import Mesh
from scaling_lib.units import ScalingError, whole, wholes


def mapping(name, given, such_as):
    """`given`, if it maps names to something; else an error that shows what would do."""
    if not isinstance(given, Mapping):
        raise ScalingError(f"{name}: got {given!r}; give {such_as}")
    for key in given:
        if not isinstance(key, str):
            raise ScalingError(f"{name}: got {key!r} as a name in {given!r}; give {such_as}")
    return given


def axis_lengths(mesh):
    """{axis: chips} of a `Mesh`, or of such a mapping itself."""
    if isinstance(mesh, Mesh):
        return mesh.sizes
    given = mapping("mesh", mesh, "a Mesh, or axis sizes such as {'X': 4, 'Y': 2}")
    return {axis: whole(f"mesh: axis {axis}", n, of="chips") for axis, n in given.items()}


def place(axis, chip, n):
    """Where a chip stands along an axis of `n` chips, checked."""
    mapping("chip", chip, "its place along each axis, such as {'X': 1, 'Y': 0}")
    possible = f"possible are 0 to {n - 1}"
    if axis not in chip:
        raise ScalingError(f"chip: its place along {axis} is missing: {possible}")
    at = wholes([chip[axis]], least=0)
    if at is None or at[0] >= n:
        raise ScalingError(f"chip: {axis} is {chip[axis]!r}: {possible}")
    return at[0]


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
