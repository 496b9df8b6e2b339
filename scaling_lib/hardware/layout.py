"""Which hardware axes each axis of a mesh gets."""

import itertools
import math
from dataclasses import dataclass

from scaling_lib.units import ScalingError


@dataclass(frozen=True)
class Piece:
    """What a mesh axis owns of one hardware axis: `size` chips, `stride` links apart.

    Attributes:
      key: the hardware axis: its number, or dcn, outer, node.
      size, stride: chips along it, and the distance of neighbours; size · stride is a block of the axis.
    """

    key: int | str
    size: int
    stride: int = 1


def lay(sizes, owned, hardware):
    """{mesh axis: pieces}, slowest first.

    Axes with given hardware axes get those. The others get whole hardware axes if that is possible (several slices'
    network to the first name that can have it, then fewest each, earlier names first); otherwise hardware axes are
    cut in order, the slowest part to the first name.

    Args:
      sizes: {mesh axis: chips}.
      owned: {mesh axis: hardware axes}, for those that say.
      hardware: {hardware axis: (length, wraps)}, slowest first.
    """
    free = {key: length for key, (length, _) in hardware.items() if not any(key in keys for keys in owned.values())}
    free = {key: length for key, length in free.items() if length > 1}
    open_ = {name: size for name, size in sizes.items() if name not in owned}
    pieces = _whole(open_, free) or _cut(open_, free)
    given = {name: tuple(Piece(key, hardware[key][0]) for key in keys) for name, keys in owned.items()}
    return {name: given[name] if name in given else pieces[name] for name in sizes}


def merged(pieces):
    """Pieces of several mesh axes together: parts of one hardware axis that are neighbours become one part.

    Raises:
      ScalingError: two parts of a hardware axis with another mesh axis between them.
    """
    together = {}
    for piece in sorted((p for p in pieces if p.size > 1), key=lambda p: (str(p.key), p.stride)):
        inner = together.get(piece.key, Piece(piece.key, 1, piece.stride))
        if inner.stride * inner.size != piece.stride and isinstance(piece.key, int):
            raise ScalingError(
                f"axes: two parts of hardware axis {piece.key} with another mesh axis between them make no torus; "
                "name the one between as well, or give each mesh axis whole hardware axes"
            )
        together[piece.key] = Piece(piece.key, inner.size * piece.size, inner.stride)
    return tuple(together.values())


def _whole(sizes, free):
    """Whole hardware axes for every name, or None."""
    names = list(sizes)
    best = None
    for keys in _partitions(names, sizes, free):
        dcn = [i for i, chosen in enumerate(keys) if "dcn" in chosen]
        rank = dcn, [len(chosen) for chosen in keys], [[list(free).index(k) for k in chosen] for chosen in keys]
        if best is None or rank < best[0]:
            best = rank, keys
    if best is None:
        return None
    return {name: tuple(Piece(k, free[k]) for k in keys) for name, keys in zip(names, best[1], strict=True)}


def _partitions(names, sizes, free):
    """Every way to give each name whole hardware axes whose product is its size, using all of them."""
    if not names:
        if not free:
            yield ()
        return
    for count in range(len(free) + 1):
        for keys in itertools.combinations(free, count):
            if math.prod(free[k] for k in keys) == sizes[names[0]]:
                rest = {k: n for k, n in free.items() if k not in keys}
                for others in _partitions(names[1:], sizes, rest):
                    yield keys, *others


def _cut(sizes, free):
    """Hardware axes cut in order: what a name takes of an axis is its slowest part that is left."""
    left = dict(free)
    pieces = {}
    for name, size in sizes.items():
        taken, need = [], size
        for key in list(left):
            if need == 1:
                break
            part = math.gcd(need, left[key])
            if part < left[key] and part < need:
                raise _uncuttable(name, size, free)
            left[key] //= part
            need //= part
            taken.append(Piece(key, part, left[key]))
            if left[key] == 1:
                del left[key]
        if need > 1:
            raise _uncuttable(name, size, free)
        pieces[name] = tuple(taken)
    return pieces


def _uncuttable(name, size, free):
    lengths = ", ".join(f"{key}: {length}" for key, length in free.items())
    return ScalingError(
        f"{name}={size} does not fit on the hardware axes ({lengths}): possible are whole axes, products of them, "
        "and parts that divide them, in order"
    )
