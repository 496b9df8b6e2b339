"""The search for plans: every way to multiply, and the cheapest steps to get there and on to the result."""

import math
from dataclasses import replace

import numpy as np

from scaling_lib.roofline import time_bounds
from scaling_lib.sharding import moves
from scaling_lib.sharding.costs import Routes, mesh_costs
from scaling_lib.sharding.notation import Sharding
from scaling_lib.sharding.steps import Step


class Search:
    """All plans of one product on one mesh. Axes are numbers here, those of one chip left out."""

    def __init__(self, amounts, use_idle):
        self.amounts = amounts
        product, mesh = self.product, self.mesh = amounts.product, amounts.mesh
        self.sizes = amounts.sizes
        used = {axis for array in product.arrays for axis in array.used}
        self.names = tuple(n for n, size in mesh.sizes.items() if size > 1 and (use_idle or n in used))
        self.lengths = tuple(mesh.sizes[name] for name in self.names)
        self.costs = mesh_costs(mesh, self.names)
        a, b, c = product.arrays
        ua, ub, uc = (frozenset(self.state(array)[1]) for array in product.arrays)
        self.routes = (
            self._routes(a, ua, frozenset(), Routes.to_all),
            self._routes(b, ub, frozenset(), Routes.to_all),
            self._routes(c, frozenset(range(len(self.names))), uc, Routes.from_all),
        )
        number = {dim: i for i, dim in enumerate(product.dims)}
        dims = (tuple(number[dim] for dim in array.dims) for array in product.arrays)
        self.candidates = moves.local_products(len(self.names), *dims, ua, ub)

    def state(self, array):
        """A sharding as the graph has it."""
        at = {name: i for i, name in enumerate(self.names)}
        dims = tuple(tuple(at[axis] for axis in axes if axis in at) for axes in array.axes)
        return dims, tuple(sorted(at[axis] for axis in array.unreduced if axis in at))

    def _routes(self, array, partial, placed, search):
        graph = moves.graph(self.lengths, len(array.dims), partial, placed)
        shape = [self.sizes[dim] for dim in array.dims]
        nbytes = self.amounts.bytes[self.product.arrays.index(array)]
        return search(graph, self.costs, self.state(array), nbytes, shape)

    def ranked(self, via=None):
        """Candidates with a finite time, the cheapest first."""
        numbers = [[route.graph.number[c[i]] for c in self.candidates] for i, route in enumerate(self.routes)]
        seconds = sum(route.seconds[n] for route, n in zip(self.routes, numbers, strict=True)) + self._local_s(numbers)
        order = [i for i in np.argsort(seconds, kind="stable") if np.isfinite(seconds[i])]
        if via is not None:
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
            steps += self._reshards(i, array, self.routes[i].edges(candidate[i]))
        a, b, c = (self._named(array, state) for array, state in zip(self.product.arrays, candidate, strict=True))
        steps.append(self.amounts.of(Step("multiply", (a, b), c)))
        return tuple(steps + self._reshards(2, self.product.c, self.routes[2].edges(candidate[2])[::-1]))

    def _reshards(self, i, array, edges):
        states, steps = self.routes[i].graph.states, []
        for edge in edges:
            before, after = (self._named(array, states[n]) for n in (edge.source, edge.target))
            step = Step(edge.op, (before,), after, tuple(self.names[axis] for axis in edge.axes))
            if edge.op == "slice" and steps and steps[-1].op == "slice":
                last = steps.pop()
                step = replace(step, inputs=last.inputs, axes=last.axes + step.axes)
            steps.append(step)
        return [self.amounts.of(step) for step in steps]

    def _named(self, array, state):
        dims, unreduced = state
        return Sharding(
            array.name, array.dims, tuple(tuple(self.names[x] for x in axes) for axes in dims),
            tuple(sorted(self.names[x] for x in unreduced)),
        )  # fmt: skip
