"""Sentences about shardings."""

import math

import numpy as np

from scaling_lib.sharding.axes import axis_lengths
from scaling_lib.units import ScalingError, bytes_per_element, si


def named(axes):
    """`X`, `X and Y`, `X, Y and Z`.

    >>> named("XYZ")
    'X, Y and Z'
    """
    *others, last = axes
    return f"{', '.join(others)} and {last}" if others else last


def description(sharding, sizes, mesh, dtype):
    """What each chip holds: see `Sharding.describe`."""
    text = f"{sharding.name}: {_cuts(sharding)}."
    if mesh is not None and sizes is not None:
        text += " " + _amounts(sharding, sizes, mesh, dtype)
    elif mesh is not None:
        n = math.prod(sharding.shards(mesh))
        text += f" {n:,} blocks, each on {_chips(sharding.copies(mesh))}."
    if sharding.unreduced:
        over = named(sharding.unreduced)
        text += f" It is unreduced over {over}: each chip holds a partial sum, and those along {over} add up to it."
    return text


def _cuts(sharding):
    """`I is cut over X, then Y; J is whole`."""
    pairs = zip(sharding.dims, sharding.axes, strict=True)
    parts = [f"{dim} is cut over {', then '.join(axes)}" if axes else f"{dim} is whole" for dim, axes in pairs]
    return "; ".join(parts) or "a single number"


def _amounts(sharding, sizes, mesh, dtype):
    local = sharding.local_shape(sizes, mesh, pad=True)
    for dim in sharding.dims:
        if np.ndim(sizes[dim]):
            raise ScalingError(f"sizes: {dim} is an array; a description is of one size, a single number for each")
    n_chips, copies = math.prod(axis_lengths(mesh).values()), sharding.copies(mesh)
    nbytes = si(math.prod(local) * bytes_per_element(dtype), "B")
    every = "The one chip" if n_chips == 1 else f"Each of {n_chips:,} chips"
    text = f"{every} holds {_times(local)} of {_times(sizes[dim] for dim in sharding.dims)} elements ({nbytes})"
    if copies > 1:
        idle = [axis for axis, n in axis_lengths(mesh).items() if axis not in sharding.used and n > 1]
        text += f", and each block lies on {_chips(copies)} (along {named(idle)})"
    padding = sharding.padding(sizes, mesh)
    if padding:
        added = named([f"{dim} by {n:,}" for dim, n in padding.items()])
        text += f"; the chips do not divide it evenly, so it is padded: {added}"
    return text + "."


def _chips(n):
    return "1 chip" if n == 1 else f"{n:,} chips"


def _times(shape):
    return " × ".join(f"{int(n):,}" for n in shape) or "1"
