"""Permutations that turn one sharding into another, and what they cost on the links of a machine.

Where two shardings cut an array into the same blocks but put them on other chips (I_XY and I_YX, or I_X and I_Y), each
chip sends its block to the one that needs it: one collective-permute.
"""

import math
from dataclasses import dataclass

import numpy as np

from scaling_lib.collectives import CollectiveTime
from scaling_lib.hardware import Torus
from scaling_lib.units import non_negative


def changes(before, after):
    """(axes before, axes after) of each dimension that two shardings of an array cut otherwise."""
    return [pair for pair in zip(before.axes, after.axes, strict=True) if pair[0] != pair[1]]


def crossed(sizes, needs):
    """The mesh axes along which a permutation moves anything.

    >>> crossed({"X": 2, "Y": 2, "Z": 2}, sources({"X": 2, "Y": 2, "Z": 2}, [(("Z", "Y"), ("Z", "X"))]))
    ('X', 'Y')
    """
    at = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    return tuple(axis for axis, here in zip(sizes, at, strict=True) if (here != here[needs]).any())


def sources(sizes, changes):
    """For each chip, the number of the chip whose block it needs.

    Chips are numbered along the mesh, the first axis slowest. Copies along axes that no change names stay together.

    Args:
      sizes: {axis: chips}, slowest first.
      changes: for each dimension that is cut otherwise, (axes before, axes after).

    >>> sources({"X": 2, "Y": 2}, [(("X", "Y"), ("Y", "X"))]).tolist()
    [0, 2, 1, 3]
    >>> sources({"X": 2, "Y": 2}, [(("X",), ("Y",))]).tolist()
    [0, 2, 1, 3]
    """
    moved = {axis for before, after in changes for axis in before + after}
    at = dict(zip(sizes, np.indices(tuple(sizes.values())).reshape(len(sizes), -1), strict=True))
    fixed = _number([axis for axis in sizes if axis not in moved], sizes, at)

    def label(side):
        number = fixed
        for change in changes:
            number = number * math.prod(sizes[axis] for axis in change[side]) + _number(change[side], sizes, at)
        return number

    has, needs = label(0), label(1)
    result = np.arange(len(has))
    (going,) = np.nonzero(has != needs)  # a chip that has what it needs keeps it
    result[going[np.argsort(needs[going], kind="stable")]] = going[np.argsort(has[going], kind="stable")]
    return result


def _number(axes, sizes, at):
    number = np.zeros(math.prod(sizes.values()), int)
    for axis in axes:
        number = number * sizes[axis] + at[axis]
    return number


@dataclass(frozen=True)
class Machine:
    """What is needed to route messages: where each chip of a mesh lies on the machine, and the links there."""

    places: dict  # {hardware axis: coordinate of each chip}
    lengths: dict  # {hardware axis: (chips, wraps)}
    levels: tuple

    @classmethod
    def of(cls, mesh):
        """The machine under a mesh."""
        at = dict(zip(mesh.names, np.indices(mesh.shape).reshape(len(mesh.names), -1), strict=True))
        places = {key: np.zeros(mesh.n_chips, int) for key in mesh.hardware.hw_axes}
        for name, pieces in mesh.pieces.items():
            rest = at[name]
            for piece in reversed(pieces):
                places[piece.key] = places[piece.key] + rest % piece.size * piece.stride
                rest = rest // piece.size
        return cls(places, dict(mesh.hardware.hw_axes), mesh.hardware.group())


def shuffle_times(mesh, permutations):
    """What permutations load: for each {link: (seconds a byte that every chip sends, seconds of latency)}.

    Args:
      mesh: a `Mesh`.
      permutations: arrays as `sources` gives.
    """
    found = [{} for _ in permutations]
    if not found:
        return found
    machine = Machine.of(mesh)
    source = np.array(permutations)
    for level in machine.levels:
        if isinstance(level, Torus):
            (busiest, hops), rate = _torus_load(machine, source), level.link_bytes_per_s
        else:
            (busiest, hops), rate = _switched(machine, source, level), level.chip_bytes_per_s
        for stages, load, far in zip(found, busiest, hops, strict=True):
            if load:
                stages[level.name] = float(load) / rate, int(far) * level.hop_s
    return found


def shuffle_time(nbytes, mesh, permutation):
    """Time of a permutation in which each chip sends `nbytes`.

    Messages take shortest ways, along one hardware axis after the other, half-way round an even ring half on each
    side; the busiest link counts. Through a switch one message leaves each chip.

    Args:
      nbytes: what one chip sends [bytes].
      mesh: a `Mesh`.
      permutation: as `sources` gives.

    Returns:
      CollectiveTime.

    Raises:
      ScalingError: nbytes is negative or no number.

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> mesh = Mesh(TpuSlice("tpu-v5e", (2, 2)), X=2, Y=2)
    >>> t = shuffle_time(45e9, mesh, sources(mesh.sizes, [(("X", "Y"), ("Y", "X"))]))
    >>> t.bandwidth_s, t.latency_s
    (1.0, 2e-06)
    """
    nbytes = non_negative("nbytes", nbytes)
    (stages,) = shuffle_times(mesh, [permutation])
    return CollectiveTime(
        {name: nbytes * per_byte for name, (per_byte, _) in stages.items()} or {mesh.hardware.group()[0].name: 0.0},
        sum(latency for _, latency in stages.values()) + 0.0,
    )


def _switched(machine, source, level):
    """One message leaves a chip that sends to another group of this level."""
    key = {"nvlink": "node", "scaleout": "outer", "dcn": "dcn"}[level.name]
    crosses = machine.places[key][source] != machine.places[key]
    if level.name == "nvlink" and "outer" in machine.places:  # what leaves the node goes by the outer network
        crosses &= machine.places["outer"][source] == machine.places["outer"]
    any_ = crosses.any(axis=1).astype(int)
    return any_, any_


def _torus_load(machine, source):
    """Messages on the busiest link, and hops of the longest way, for each permutation."""
    keys = [key for key in machine.lengths if isinstance(key, int)]
    others = [key for key in machine.lengths if key not in keys]
    here = {key: machine.places[key][source] for key in (*keys, *others)}  # of the message now; starts at its source
    goal = {key: np.broadcast_to(machine.places[key], source.shape) for key in (*keys, *others)}
    for key in others:  # over the data-centre network first, straight to the same place of the other slice
        here[key] = goal[key]
    busiest, hops = np.zeros(len(source)), np.zeros(source.shape, int)
    for key in keys:
        n, wraps = machine.lengths[key]
        line = np.zeros(source.shape, int)
        for other in (*keys, *others):
            if other != key:
                line = line * machine.lengths[other][0] + here[other]
        load, steps = _line_load(here[key], goal[key], line, n, wraps and n > 2)
        busiest, hops = np.maximum(busiest, load), hops + steps
        here[key] = goal[key]
    return busiest, hops.max(axis=1)


def _line_load(start, end, line, n, wraps):
    """The same along one hardware axis: load for each permutation, steps of each message."""
    ahead, back = (end - start) % n, (start - end) % n
    if not wraps:
        forward, backward = (end > start).astype(float), (end < start).astype(float)
        steps = np.abs(end - start)
    else:
        forward = np.where(ahead < back, 1.0, np.where(ahead == back, 0.5, 0.0)) * (ahead > 0)
        backward = np.where(back < ahead, 1.0, np.where(ahead == back, 0.5, 0.0)) * (ahead > 0)
        steps = np.minimum(ahead, back)
    load = np.maximum(_passing(start, steps, forward, line, n), _passing(end, steps, backward, line, n))
    return load, steps


def _passing(first, steps, weight, line, n):
    """Most that passes one link in one direction, when messages go `steps` links up from `first`."""
    shape = len(first), int(line.max()) + 1, 2 * n + 1
    at = (np.arange(len(first))[:, None] * shape[1] + line) * shape[2] + first
    ends = np.bincount(at.ravel(), weight.ravel(), math.prod(shape))
    ends -= np.bincount((at + steps).ravel(), weight.ravel(), math.prod(shape))
    load = np.cumsum(ends.reshape(shape), axis=2)
    return (load[:, :, :n] + load[:, :, n : 2 * n]).max(axis=(1, 2))
