"""The search for plans: every way to multiply, and the cheapest steps to get there and on to the result."""

import math
from dataclasses import dataclass, replace

import numpy as np

from scaling_lib.roofline import time_bounds
from scaling_lib.sharding import moves
from scaling_lib.sharding.costs import Routes, mesh_costs
from scaling_lib.sharding.notation import Sharding
from scaling_lib.sharding.steps import Step


@dataclass(frozen=True)
class Summed:
    """An operand until the dimensions that it has alone are summed.

    Attributes:
      given: as it lies at first.
      routes: its ways before the sum; None where nothing is summed.
      seconds: {state that it is left in: of its cheapest way}.
      before: {state that it is left in: state that is summed}.
    """

    given: Sharding
    routes: Routes | None
    seconds: dict
    before: dict


class Search:
    """All plans of one product on one mesh. Axes are numbers here, those of one chip left out."""

    def __init__(self, amounts, use_idle):
        self.given, self.mesh = amounts.product, amounts.mesh
        product = self.product = self.given.multiplied
        self.amounts, mesh = replace(amounts, product=product), self.mesh
        self.sizes = amounts.sizes
        used = {axis for array in product.arrays for axis in array.used}
        self.names = tuple(n for n, size in mesh.sizes.items() if size > 1 and (use_idle or n in used))
        self.lengths = tuple(mesh.sizes[name] for name in self.names)
        self.costs = mesh_costs(mesh, self.names)
        a, b, c = product.arrays
        self.summed = tuple(map(self._summed, self.given.arrays[:2], (a, b)))
        starts = [summed.seconds for summed in self.summed]
        ua, ub = (frozenset(axis for _, unreduced in start for axis in unreduced) for start in starts)
        end = self.state(c)
        self.routes = (
            self._routes(a, ua, frozenset(), Routes.to_all, starts[0]),
            self._routes(b, ub, frozenset(), Routes.to_all, starts[1]),
            self._routes(c, frozenset(range(len(self.names))), frozenset(end[1]), Routes.from_all, end),
        )
        number = {dim: i for i, dim in enumerate(product.dims)}
        dims = (tuple(number[dim] for dim in array.dims) for array in product.arrays)
        self.candidates = moves.local_products(len(self.names), *dims, ua, ub)

    def state(self, array):
        """A sharding as the graph has it."""
        at = {name: i for i, name in enumerate(self.names)}
        dims = tuple(tuple(at[axis] for axis in axes if axis in at) for axes in array.axes)
        return dims, tuple(sorted(at[axis] for axis in array.unreduced if axis in at))

    def _summed(self, given, array):
        """The ways of an operand until the dimensions that it has alone are summed."""
        first = self.state(given)
        if given.dims == array.dims:
            return Summed(given, None, {first: 0.0}, {})
        routes = self._routes(given, frozenset(first[1]), frozenset(), Routes.to_all, first)
        kept = [i for i, dim in enumerate(given.dims) if dim in array.dims]
        parts = np.array([self.sizes[dim] for dim in given.dims]) / routes.graph.counts
        elements = parts.prod(axis=1) + parts[:, kept].prod(axis=1)
        seconds, best, before = routes.seconds + self.amounts.sum_s(array, elements), {}, {}
        for (dims, unreduced), taken in zip(routes.graph.states, seconds, strict=True):
            over = {axis for i, axes in enumerate(dims) if i not in kept for axis in axes}.union(unreduced)
            after = tuple(dims[i] for i in kept), tuple(sorted(over))
            if taken < best.get(after, math.inf):
                best[after], before[after] = taken, (dims, unreduced)
        return Summed(given, routes, best, before)

    def _routes(self, array, partial, placed, search, root):
        graph = moves.graph(self.lengths, len(array.dims), partial, placed)
        shape = [self.sizes[dim] for dim in array.dims]
        return search(graph, self.costs, root, self.amounts.whole_bytes(array), shape)

    def ranked(self, via=()):
        """Candidates with a finite time, the cheapest first; `via`: only with these two operands."""
        numbers = [[route.graph.number[c[i]] for c in self.candidates] for i, route in enumerate(self.routes)]
        seconds = sum(route.seconds[n] for route, n in zip(self.routes, numbers, strict=True)) + self._local_s(numbers)
        order = [i for i in np.argsort(seconds, kind="stable") if np.isfinite(seconds[i])]
        if via:
            wanted = tuple(map(self.state, via))
            order = [i for i in order if self.candidates[i][:2] == wanted]
        return [self.candidates[i] for i in order]

    def _local_s(self, numbers):
        """Seconds of every candidate's local product, at best."""
        chip, whole = self.mesh.chip, self.amounts.work()
        split = np.array([self._split(candidate) for candidate in self.candidates])
        local = [1 / r.graph.counts.prod(axis=1)[n] for r, n in zip(self.routes, numbers, strict=True)]
        nbytes = sum(b * part for b, part in zip(self.amounts.bytes, local, strict=True))
        return np.maximum(time_bounds(whole, chip).math_s / split, nbytes / chip.link_bytes_per_s("hbm"))

    def _split(self, candidate):
        """Into how many parts a candidate splits the FLOPs."""
        return math.prod(self.lengths[axis] for axis in {x for dims, _ in candidate[:2] for axes in dims for x in axes})

    def steps(self, candidate):
        """The steps of a plan that multiplies so."""
        steps = []
        for i, array in enumerate(self.product.arrays[:2]):
            edges = self.routes[i].edges(candidate[i])
            first = self.routes[i].graph.states[edges[0].source] if edges else candidate[i]
            steps += [*self._until_summed(self.summed[i], array, first), *self._reshards(self.routes[i], array, edges)]
        a, b, c = (self.named(array, state) for array, state in zip(self.product.arrays, candidate, strict=True))
        steps.append(self.amounts.of(Step("multiply", (a, b), c)))
        return tuple(steps + self._reshards(self.routes[2], self.product.c, self.routes[2].edges(candidate[2])[::-1]))

    def _until_summed(self, summed, array, state):
        """The steps of an operand until what it has alone is summed, so that it is left in a state."""
        if summed.routes is None:
            return []
        before = summed.before[state]
        sum_ = Step("sum", (self.named(summed.given, before),), self.named(array, state))
        return [*self._reshards(summed.routes, summed.given, summed.routes.edges(before)), self.amounts.of(sum_)]

    def _reshards(self, routes, array, edges):
        states, steps = routes.graph.states, []
        for edge in edges:
            before, after = (self.named(array, states[n]) for n in (edge.source, edge.target))
            step = Step(edge.op, (before,), after, tuple(self.names[axis] for axis in edge.axes))
            if edge.op == "slice" and steps and steps[-1].op == "slice":
                last = steps.pop()
                step = replace(step, inputs=last.inputs, axes=last.axes + step.axes)
            steps.append(step)
        return [self.amounts.of(step) for step in steps]

    def named(self, array, state):
        """The array cut as in a state."""
        dims, unreduced = state
        axes = tuple(tuple(self.names[x] for x in axes) for axes in dims)
        return Sharding(array.name, array.dims, axes, tuple(self.names[x] for x in unreduced))
