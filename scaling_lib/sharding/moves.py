"""Every way to reshard an array in one step: a graph whose nodes are shardings and whose edges are collectives.

Dimensions and mesh axes are numbers here: the graph of an array depends on how many dimensions it has and on the mesh's
shape only, and is kept. Its edges carry which part of the array they move; seconds are added elsewhere.
"""

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

FREE = ("slice", "place")


@dataclass(frozen=True)
class Edge:
    """One step: which collective, over which axes (in the order of the blocks), and the node it leads to."""

    op: str
    axes: tuple
    source: int
    target: int


@dataclass(frozen=True, eq=False)
class Graph:
    """All shardings of an array and the steps between them.

    Attributes:
      states: (axes of each dimension, unreduced axes), by number.
      number: the reverse.
      counts: blocks along each dimension of each state, [states, dimensions].
      edges: all steps.
      source, target, kinds, share: the same as arrays: ends of each edge, number of its kind, and the part of the
        whole array that the collective's `nbytes` is.
      keys: kinds: (op, axes), or ("permute", axes before and after of the dimensions that change).
    """

    states: tuple
    number: dict
    counts: np.ndarray
    edges: tuple
    source: np.ndarray
    target: np.ndarray
    kinds: np.ndarray
    share: np.ndarray
    keys: tuple


@lru_cache(maxsize=128)
def graph(sizes, n_dims, partial=frozenset(), placed=frozenset()):
    """The graph of an array of `n_dims` dimensions.

    Args:
      sizes: chips along each mesh axis.
      n_dims: dimensions.
      partial: axes over which the array may be unreduced.
      placed: those of them over which it may be made so (a target that is unreduced needs that).

    >>> g = graph((4,), 1)
    >>> g.states, [(e.op, e.source, e.target) for e in g.edges]
    (((((),), ()), (((0,),), ())), [('slice', 0, 1), ('all_gather', 1, 0)])
    """
    states = tuple(_states(len(sizes), n_dims, partial))
    number = {state: i for i, state in enumerate(states)}
    counts = np.array([[math.prod(sizes[a] for a in axes) for axes in dims] for dims, _ in states], float)
    counts = counts.reshape(len(states), n_dims)
    edges = [
        Edge(op, axes, number[state], number[after])
        for state in states
        for op, axes, after in _moves(state, len(sizes), placed)
    ]
    edges += _permutes(states, counts)
    keys = {}
    kinds = [keys.setdefault(_key(edge, states), len(keys)) for edge in edges]
    source = np.array([edge.source for edge in edges], int)
    target = np.array([edge.target for edge in edges], int)
    local = 1 / counts.prod(axis=1)
    share = np.array([_share(edge, local, sizes) for edge in edges], float)
    return Graph(states, number, counts, tuple(edges), source, target, np.array(kinds, int), share, tuple(keys))


def _states(n_axes, n_dims, partial):
    """Every way to give each axis to a dimension (in every order), to U, or to nothing."""
    empty = ((),) * n_dims
    found = [(empty, ())]
    for axis in range(n_axes):
        grown = []
        for dims, unreduced in found:
            grown.append((dims, unreduced))
            if axis in partial:
                grown.append((dims, (*unreduced, axis)))
            grown += [(after, unreduced) for after in _inserted(dims, axis)]
        found = grown
    return found


def _inserted(dims, axis):
    for d, axes in enumerate(dims):
        for at in reversed(range(len(axes) + 1)):  # of equally good orders that of the mesh comes first
            yield _with(dims, d, (*axes[:at], axis, *axes[at:]))


def _with(dims, d, axes):
    return (*dims[:d], axes, *dims[d + 1 :])


def _moves(state, n_axes, placed):
    """(op, axes, state after) of every step but permutations."""
    dims, unreduced = state
    used = {axis for axes in dims for axis in axes} | set(unreduced)
    for axis in range(n_axes):
        if axis not in used:
            for d, axes in enumerate(dims):
                yield "slice", (axis,), (_with(dims, d, (*axes, axis)), unreduced)
            if axis in placed:
                yield "place", (axis,), (dims, tuple(sorted((*unreduced, axis))))
    yield from _gathers(dims, unreduced, placed)
    yield from _exchanges(dims, unreduced)
    for k in range(1, len(unreduced) + 1):
        for added in itertools.combinations(unreduced, k):
            rest = tuple(axis for axis in unreduced if axis not in added)
            yield "all_reduce", added, (dims, rest)
            for after in _scattered(dims, added):
                yield "reduce_scatter", added, (after, rest)


def _gathers(dims, unreduced, placed):
    """All-gathers take away the last axes of dimensions: what is gathered must be neighbouring blocks."""
    for kept in itertools.product(*(range(len(axes) + 1) for axes in dims)):
        axes = tuple(axis for axes, k in zip(dims, kept, strict=True) for axis in axes[k:])
        if not axes:
            continue
        after = tuple(axes[:k] for axes, k in zip(dims, kept, strict=True))
        yield "all_gather", axes, (after, unreduced)
        if len(axes) == 1 and axes[0] in placed:
            yield "place", axes, (after, tuple(sorted(unreduced + axes)))


def _exchanges(dims, unreduced):
    """All-to-alls move the last axes of some dimensions to the end of others, in any order."""
    for kept in itertools.product(*(range(len(axes) + 1) for axes in dims)):
        left = tuple(axes[:k] for axes, k in zip(dims, kept, strict=True))
        open_ = [d for d, axes in enumerate(dims) if left[d] == axes]
        moved = tuple(axis for axes, k in zip(dims, kept, strict=True) for axis in axes[k:])
        if moved and open_:
            for after in _scattered(left, moved, open_):
                yield "all_to_all", moved, (after, unreduced)


def _scattered(dims, added, open_=None):
    """Every way to put these axes behind those that dimensions (all, or the `open_` ones) have."""
    ways = {dims}
    for axis in added:
        ways = {
            _with(w, d, (*axes[:at], axis, *axes[at:]))
            for w in ways
            for d, axes in enumerate(w)
            if open_ is None or d in open_
            for at in range(len(dims[d]), len(axes) + 1)
        }
    return sorted(ways)


def _permutes(states, counts):
    """Pairs of states with the same blocks on other chips."""
    alike = defaultdict(list)
    for i, (_, unreduced) in enumerate(states):
        alike[(tuple(counts[i]), unreduced)].append(i)
    for group in alike.values():
        for i, j in itertools.permutations(group, 2):
            axes = tuple(sorted({a for change in _changes(states[i], states[j]) for side in change for a in side}))
            yield Edge("permute", axes, i, j)


def _changes(before, after):
    """The dimensions that are cut otherwise, as (axes before, axes after), sorted."""
    pairs = zip(before[0], after[0], strict=True)
    return tuple(sorted((old, new) for old, new in pairs if old != new))


def _key(edge, states):
    """What the cost of an edge depends on, beside its share."""
    if edge.op == "permute":
        return edge.op, _changes(states[edge.source], states[edge.target])
    return edge.op, () if edge.op in FREE else tuple(sorted(edge.axes))


def _share(edge, local, sizes):
    """Part of the whole array that the collective's `nbytes` is: that of one group, or what one chip sends."""
    if edge.op in FREE:
        return 0.0
    if edge.op == "all_gather":
        return local[edge.target]
    if edge.op == "all_to_all":
        return local[edge.source] * math.prod(sizes[axis] for axis in edge.axes)
    return local[edge.source]


@lru_cache(maxsize=128)
def local_products(n_axes, a, b, c, partial_a, partial_b):
    """Every way to shard two operands so that chips can multiply what they hold.

    An axis may cut one dimension (in each operand that has it), or partial sums of one operand, or nothing.

    Args:
      a, b, c: numbers of the dimensions of the operands and of the product.
      partial_a, partial_b: axes over which an operand may be unreduced.

    Returns:
      [(state of a, of b, of c)]: cutting a dimension that c lacks leaves c unreduced.

    >>> len(local_products(1, (0, 1), (1, 2), (0, 2), frozenset(), frozenset()))
    4
    """
    n_dims = max((*a, *b), default=-1) + 1
    found = [(((),) * n_dims, (), ())]
    for axis in range(n_axes):
        grown = []
        for dims, ua, ub in found:
            grown += [(dims, ua, ub)] + [(after, ua, ub) for after in _inserted(dims, axis)]
            grown += [(dims, (*ua, axis), ub)] if axis in partial_a else []
            grown += [(dims, ua, (*ub, axis))] if axis in partial_b else []
        found = grown
    return [
        (
            (tuple(dims[d] for d in a), ua),
            (tuple(dims[d] for d in b), ub),
            (tuple(dims[d] for d in c), _summed(dims, c, ua + ub)),
        )
        for dims, ua, ub in found
    ]


def _summed(dims, c, partial):
    return tuple(sorted(partial + tuple(axis for d, axes in enumerate(dims) if d not in c for axis in axes)))
