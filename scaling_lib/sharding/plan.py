"""Which collectives a sharded product needs: every plan, the cheapest first."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from scaling_lib.hardware import Mesh
from scaling_lib.sharding.amounts import Amounts
from scaling_lib.sharding.axes import mapping
from scaling_lib.sharding.product import Product, parse_operands, parse_product
from scaling_lib.sharding.reasons import reasons
from scaling_lib.sharding.search import Search
from scaling_lib.sharding.steps import PlanTime, Step, plan_time
from scaling_lib.sharding.via import check, why_not
from scaling_lib.sharding.words import named
from scaling_lib.units import LARGEST, ScalingError, bytes_per_element, si

N_ALTERNATIVES = 8
MOST = LARGEST / 100  # elements of an array, and multiplications: bytes and FLOPs are then legal numbers


@dataclass(frozen=True, eq=False)
class Plan:
    """One way to compute a sharded product.

    Attributes:
      product: what was asked for.
      sizes: {dimension: elements}, padded where `padding` says so.
      mesh: the mesh.
      dtypes: of the two operands and the result.
      compute: dtype of the maths, if it is not the wider of the operands'.
      steps: in order: reshards of the operands, the local product, reshards of the result.
      padding: {dimension: elements added so that the chips divide it}.
      alternatives: other plans, the next cheapest first.
    """

    product: Product
    sizes: dict
    mesh: Mesh
    dtypes: tuple[str, str, str]
    steps: tuple[Step, ...]
    padding: dict
    compute: str | None = None
    _others: object = field(default=None, repr=False)
    _pad: bool = False

    @cached_property
    def time(self) -> PlanTime:
        """`.lower_s`, `.in_turn_s`, `.upper_s`, `.bound`."""
        return plan_time(self.steps, self.mesh)

    def __getstate__(self):  # the search for others cannot be kept, what it finds can
        return {**self.__dict__, "alternatives": self.alternatives, "_others": None}

    @property
    def work(self):
        """Of the whole product: `.flops`, `.dtype`, and the bytes of all three arrays."""
        return Amounts(self.product, self.sizes, self.mesh, self.dtypes, self.compute).work()

    @property
    def collectives(self):
        """The steps that communicate."""
        return tuple(step for step in self.steps if step.hlo)

    @cached_property
    def alternatives(self):
        return () if self._others is None else tuple(self._others())

    def at(self, sizes):
        """The same steps for other sizes; `pad` as before. Other plans may be cheaper there: it has no `alternatives`.

        >>> from scaling_lib.hardware import Mesh, TpuSlice
        >>> mesh = Mesh(TpuSlice("tpu-v5e", (2, 4)), X=8)
        >>> p = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", {"I": 4096, "J": 8192, "K": 4096}, mesh)
        >>> [p.at({"I": i, "J": 8192, "K": 4096}).time.bound for i in (8, 4096)]
        ['memory', 'network']
        """
        arrays = [array for step in self.steps for array in (*step.inputs, step.output)]
        whole = _whole_sizes(self.product, sizes, self.mesh)
        plain, padding = _padded((*self.product.arrays, *arrays), whole, self.mesh, self._pad)
        amounts = Amounts(self.product, plain, self.mesh, self.dtypes, self.compute)
        steps = tuple(amounts.of(step) for step in self.steps)
        return replace(self, sizes=plain, steps=steps, padding=padding, _others=None)

    @property
    def memory_bytes(self):
        """Most that one chip holds at once: the arrays it still needs, and what the step makes [bytes]."""
        names = [array.name for array in self.product.arrays]
        width = dict(zip(names, map(bytes_per_element, self.dtypes), strict=True))
        held, most = dict(zip(names, self.product.arrays[:2], strict=False)), 0.0
        for step in self.steps:
            live = [*held.values(), step.output]
            most = max(most, math.fsum(width[a.name] * a.local_elements(self.sizes, self.mesh) for a in live))
            held = {} if step.op == "multiply" else held
            held[step.output.name] = step.output
        return most

    def explain(self):
        """The plan in words: why the product needs what it needs, each step with its cost, what else there is."""
        sizes = ", ".join(f"{dim}={n:,}" for dim, n in self.sizes.items())
        what = ", ".join(filter(None, (str(self.product), sizes, "/".join(dict.fromkeys(self.dtypes)))))
        lines = [f"{what} on {self.mesh!r}"]
        lines += [f"  padded: {dim} by {n:,} to {self.sizes[dim]:,}" for dim, n in self.padding.items()]
        lines += [f"  {why}" for why in reasons(self.product, self.mesh.sizes)]
        pairs = zip(self.steps, (*self.steps[1:], None), strict=True)
        lines += [f"{i}. {step}{_what_for(step, after)}" for i, (step, after) in enumerate(pairs, 1)]
        lines.append(f"{self.time}")
        return "\n".join(lines + self._next_best())

    def _next_best(self):
        if not self.alternatives:
            return []
        other = self.alternatives[0]
        ratio = other.time.in_turn_s / self.time.in_turn_s
        longer = f"{ratio:.3g} times as long" if ratio >= 1.005 else "as long"
        what = "; ".join(step.what for step in other.steps)
        return [f"next best, {longer} ({si(other.time.in_turn_s, 's')}): {what}"]

    def __str__(self):
        return f"{self.product}: " + "; ".join(step.what for step in self.steps)

    def __repr__(self):
        return f"Plan({self}; {si(self.time.in_turn_s, 's')})"


def plan_matmul(product, sizes, mesh, *, dtype="bf16", compute=None, pad=False, use_idle=True, via=None):
    """The cheapest way to compute a sharded product of two arrays, with what it costs and why.

    Every way is searched in which chips can multiply what they hold, and every sequence of steps that leads there from
    the operands' shardings and on to the result's: all-gather, reduce-scatter, all-reduce, all-to-all, permutation,
    over one axis or several at once, and slices, which are free. A dimension that one operand has alone is summed by
    each chip before the product, mostly before anything moves. Ranked by `time.in_turn_s`: the steps one after the
    other, and the levels of each (slices, then the network between them); collectives by the exact times of
    `all_gather_time` and its siblings, the local product by its roofline, a sum by the memory it reads and writes.

    Args:
      product: "A[I, J_X] * B[J_X, K] -> C[I, K]", any einsum of two operands; a `Product` will do. `{U_X}` where
        partial sums are given or wanted.
      sizes: {dimension: elements}, whole numbers.
      mesh: a `Mesh`.
      dtype: one for all, or {array name: dtype}.
      compute: dtype the maths runs in; the wider of the two operands' unless given.
      pad: fill up dimensions that the chips do not divide; otherwise that is an error.
      use_idle: axes that no array names may take part too: what they hold copies of can be sliced for free.
      via: shardings of the two operands at the moment they are multiplied, "A[I, J] * B[J, K]", without dimensions
        that were summed before: only plans that multiply so.

    Returns:
      Plan: `.steps`, `.time`, `.explain()`, `.alternatives`.

    Raises:
      NotationError: the text is not the notation; a size is missing or does not divide; a caret shows where.
      UnknownAxis: the mesh lacks an axis.
      ScalingError: any other argument cannot be used; the message says what is possible.

    Assumes: each chip holds what the sharding says; local reordering of a block is free; collectives follow one
      another; adding partial sums costs nothing beside sending them. An all-reduce is a reduce-scatter and an
      all-gather; on a line `all_reduce_time(..., algorithm="pipelined")` would be faster, and is not considered.
    Source: chapter 3, "Let a planner search"; an independent exhaustive search (tests/all_plans.py).

    >>> from scaling_lib.hardware import Mesh, TpuSlice
    >>> mesh = Mesh(TpuSlice("tpu-v5e", (2, 4)), X=8)
    >>> p = plan_matmul("A[I, J_X] * B[J_X, K] -> C[I, K]", {"I": 4096, "J": 8192, "K": 4096}, mesh)
    >>> for step in p.steps: print(step)
    multiply A[I, J_X] · B[J_X, K] -> C[I, K]{U_X}: 174 µs a chip, bound by math
    all-reduce C over X: C[I, K]{U_X} -> C[I, K]: 33.6 MB in a group, 652 µs, bound by network
    """
    if not isinstance(mesh, Mesh):
        raise ScalingError(f"mesh must be a Mesh, for its links decide what is cheapest, got {mesh!r}")
    product = product if isinstance(product, Product) else parse_product(product, mesh)
    asked = () if via is None else parse_operands(via, product.multiplied, mesh)
    plain, padding = _padded((*product.arrays, *asked), _whole_sizes(product, sizes, mesh), mesh, pad)
    dtypes = _dtypes(product, dtype)
    search = Search(Amounts(product, plain, mesh, dtypes, compute), use_idle)
    check(asked, search)
    ranked = search.ranked(asked)
    if not ranked:
        raise ScalingError(f"via: {why_not(asked, search)}")

    def plan(candidate, others=None):
        return Plan(product, plain, mesh, dtypes, search.steps(candidate), padding, compute, others, pad)

    return plan(ranked[0], lambda: map(plan, ranked[1 : 1 + N_ALTERNATIVES]))


def _what_for(step, after):
    """Why a slice is taken that the next step undoes."""
    if after is None or (step.op, after.op) != ("slice", "all_gather") or step.output.name != after.output.name:
        return ""
    more = set(after.axes) > set(step.axes)
    return f", so that the gather has the links of {named(after.axes)}" if more else ""


def _whole_sizes(product, sizes, mesh):
    """{dimension: elements} of the product's dimensions, checked."""
    mapping("sizes", sizes, "the elements of each dimension, such as {'I': 4096}")
    for dim in product.dims:
        if np.ndim(sizes.get(dim, 0)):
            raise ScalingError(f"sizes: {dim} is an array; a plan is of one product, plan each size by itself")
    mine, yours = product.alone
    apart = f"{product.a.name}'s {', '.join(mine)} and {product.b.name}'s {', '.join(yours)} do not meet"
    hints = dict.fromkeys(mine + yours, f"; {apart}") if mine and yours else {}
    have = {dim: next(array for array in product.arrays if dim in array.dims) for dim in product.dims}
    return _computable(product, {dim: array.size(dim, sizes, mesh, hints.get(dim, "")) for dim, array in have.items()})


def _computable(product, sizes):
    """The sizes, if the whole arrays and the product of all that is multiplied are no absurd numbers."""
    for dims in (*(array.dims for array in product.arrays), product.multiplied.dims):
        if math.prod(sizes[dim] for dim in dims) > MOST:
            listed = ", ".join(f"{dim}={sizes[dim]:,}" for dim in dims)
            raise ScalingError(f"sizes: got {listed}, together more than {MOST:g}; possible are products up to that")
    return sizes


def _padded(arrays, sizes, mesh, pad):
    """Sizes that all arrays' chips divide, and what was added; an error if that must not be."""
    full = {}
    for dim, size in sizes.items():
        cuts = [array.shards(mesh)[array.dims.index(dim)] for array in arrays if dim in array.dims]
        full[dim] = size + -size % math.lcm(*cuts)
    if not pad:
        for array in arrays:
            array.local_shape(sizes, mesh)
        return sizes, {}
    return full, {dim: full[dim] - sizes[dim] for dim in sizes if full[dim] > sizes[dim]}


def _dtypes(product, dtype):
    names = [array.name for array in product.arrays]
    given = dtype if isinstance(dtype, Mapping) else dict.fromkeys(names, dtype)
    for name in names:
        if name not in given:
            raise ScalingError(
                f"dtype: none is given for {name}; give one dtype, or one for each of {', '.join(names)}"
            )
        bytes_per_element(given[name])
    return tuple(given[name] for name in names)
