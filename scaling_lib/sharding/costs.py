"""Seconds of resharding steps on a mesh, for whole graphs at once."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scaling_lib import collectives
from scaling_lib.sharding.moves import FREE
from scaling_lib.sharding.shuffle import shuffle_times, sources
from scaling_lib.units import ScalingError

STEP_S = 1e-13  # so that of plans that take equally long the one with fewer steps is cheaper
COLLECTIVES = {
    "all_gather": collectives.all_gather_time,
    "reduce_scatter": collectives.reduce_scatter_time,
    "all_reduce": collectives.all_reduce_time,
    "all_to_all": collectives.all_to_all_time,
}


def in_turn_s(time):
    """Seconds of a gather, a reduction or an exchange that goes over its levels one after the other.

    Args:
      time: a `CollectiveTime`.

    >>> in_turn_s(collectives.CollectiveTime({"ici": 2.0, "dcn": 5.0}, 1.0))
    7.0
    """
    return max(math.fsum(time.stages.values()), time.latency_s)


class MeshCosts:
    """Bandwidth and latency of every kind of step on one mesh, worked out once each."""

    def __init__(self, mesh, names):
        self.mesh, self.names = mesh, names
        self._known = {}
        self._graphs = {}

    def of_edges(self, graph):
        """(seconds a byte, seconds of latency) of each edge, per byte of the whole array."""
        if graph not in self._graphs:
            self._learn(graph.keys)
            per_byte, latency = np.array([self._known[key] for key in graph.keys] or np.empty((0, 2))).T
            self._graphs[graph] = per_byte[graph.kinds] * graph.share, latency[graph.kinds]
        return self._graphs[graph]

    def _learn(self, keys):
        new = [key for key in keys if key not in self._known]
        permutes = [key for key in new if key[0] == "permute"]
        found = shuffle_times(self.mesh, [sources(self.mesh.sizes, self._changes(key[1])) for key in permutes])
        for key, stages in zip(permutes, found, strict=True):
            times = stages.values()
            self._known[key] = max((b for b, _ in times), default=0.0), sum(latency for _, latency in times)
        for key in new:
            if key[0] != "permute":
                self._known[key] = (0.0, 0.0) if key[0] in FREE else self._collective(*key)

    def _collective(self, op, axes):
        try:
            t = COLLECTIVES[op](1.0, self.mesh, [self.names[axis] for axis in axes])
        except ScalingError:  # no torus: two parts of a hardware axis with another mesh axis between them
            return math.inf, 0.0
        return math.fsum(t.stages.values()), t.latency_s

    def _changes(self, numbered):
        return [tuple(tuple(self.names[axis] for axis in side) for side in change) for change in numbered]


@lru_cache(maxsize=32)
def mesh_costs(mesh, names):
    """The `MeshCosts` of a mesh for these of its axes, kept for later calls."""
    return MeshCosts(mesh, names)


@dataclass(frozen=True)
class Routes:
    """Cheapest ways from one sharding of an array to all others, or from all others to it.

    Attributes:
      graph: of the array.
      seconds: for each state, of its cheapest way; inf where there is none.
      roots: seconds that a way may begin with at each state; inf where none begins.
    """

    graph: object
    seconds: np.ndarray
    roots: np.ndarray
    _cost: np.ndarray
    _from: np.ndarray
    _to: np.ndarray

    @classmethod
    def to_all(cls, graph, costs, start, nbytes, sizes):
        """Ways from `start`, a state or {state: seconds until it is had}; blocks must divide `sizes`."""
        return cls._search(graph, costs, start, nbytes, sizes, graph.source, graph.target)

    @classmethod
    def from_all(cls, graph, costs, end, nbytes, sizes):
        """Ways to `end`."""
        return cls._search(graph, costs, end, nbytes, sizes, graph.target, graph.source)

    @classmethod
    def _search(cls, graph, costs, root, nbytes, sizes, source, target):
        per_byte, latency = costs.of_edges(graph)
        fits = (np.asarray(sizes, float) % graph.counts == 0).all(axis=1)
        cost = np.where(fits[target], np.maximum(per_byte * nbytes, latency) + STEP_S, np.inf)
        roots = np.full(len(graph.states), np.inf)
        for state, known in (root if isinstance(root, dict) else {root: 0.0}).items():
            roots[graph.number[state]] = known
        seconds = roots.copy()
        order = np.argsort(target, kind="stable")
        ends, starts = np.unique(target[order], return_index=True)
        while len(ends):
            best = np.minimum.reduceat((seconds[source] + cost)[order], starts)
            shorter = best < seconds[ends]
            if not shorter.any():
                break
            seconds[ends[shorter]] = best[shorter]
        return cls(graph, seconds, roots, cost, source, target)

    def edges(self, state):
        """The steps between a root and a state, in the order of going there from the root."""
        at, found = self.graph.number[state], []
        while self.seconds[at] < self.roots[at]:
            into = np.flatnonzero(self._to == at)
            best = into[np.argmin(self.seconds[self._from[into]] + self._cost[into])]
            found.append(self.graph.edges[best])
            at = self._from[best]
        return found[::-1]
