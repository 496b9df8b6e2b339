"""A plan as a JAX program: each of its steps as one operation under `shard_map`."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

from scaling_lib.sharding.shuffle import changes, sources


def recipe(plan):
    """The plan's steps as plain tuples: (op, number of the array, axes before, axes after, axes, pairs).

    Of a sum `axes` are the numbers of the dimensions.
    """
    number = {array.name: i for i, array in enumerate(plan.product.arrays)}
    return tuple(_entry(step, number[step.output.name], plan) for step in plan.steps)


def _entry(step, i, plan):
    if step.op == "multiply":
        return "multiply", i, (), (), (), ()
    (before,) = step.inputs
    if step.op == "sum":
        return "sum", i, (), (), tuple(k for k, dim in enumerate(before.dims) if dim not in step.output.dims), ()
    axes, pairs = step.axes, ()
    if step.op == "permute":
        needs = sources(plan.mesh.sizes, changes(before, step.output))
        axes, pairs = plan.mesh.names, tuple((int(source), target) for target, source in enumerate(needs))
    return step.op, i, before.axes, step.output.axes, axes, pairs


def program(plan, dtype=None):
    """The plan as a function of the two operands, to be compiled with a mesh of the plan's axes set around it.

    An operand that is unreduced has one more dimension in front, its partial sums; so has the result. The product is
    of `dtype`, and so are the partial sums that are sent; by default of what the operands make by themselves.
    """
    return functools.partial(
        sharded_product, recipe=recipe(plan), einsum=plan.product.multiplied.einsum,
        entries=tuple(_entries(array) for array in plan.product.arrays),
        partial=tuple(bool(array.unreduced) for array in plan.product.arrays), dtype=dtype,
    )  # fmt: skip


def sharded_product(a, b, *, recipe, einsum, entries, partial, dtype):
    """A recipe under `shard_map`. Its arguments are plain, so that a recorded report of the program can be found."""
    local = functools.partial(run_steps, recipe=recipe, einsum=einsum, partial=partial, dtype=dtype)
    *in_specs, out_specs = (P(*entry) for entry in entries)
    return jax.shard_map(local, in_specs=tuple(in_specs), out_specs=out_specs, check_vma=False)(a, b)


def specs(plan):
    """PartitionSpecs of the operands and the result, partial sums in front."""
    return tuple(spec(array) for array in plan.product.arrays)


def spec(array):
    """PartitionSpec of one sharding.

    >>> from scaling_lib.sharding import parse_sharding
    >>> spec(parse_sharding("A[I_XY, J]")) == P(("X", "Y"), None)
    True
    """
    return P(*_entries(array))


def _entries(array):
    front = (array.unreduced,) if array.unreduced else ()
    return (*front, *array.partition_spec())


def shapes(plan):
    """Shapes of the operands and the result, partial sums in front."""
    sums = [math.prod(plan.mesh.sizes[axis] for axis in array.unreduced) for array in plan.product.arrays]
    whole = [tuple(plan.sizes[dim] for dim in array.dims) for array in plan.product.arrays]
    return [
        ((n, *shape) if array.unreduced else shape)
        for n, shape, array in zip(sums, whole, plan.product.arrays, strict=True)
    ]


def run_steps(a, b, *, recipe, einsum, partial, dtype):
    """What each device does."""
    held = [x[0] if front else x for x, front in zip((a, b), partial, strict=False)] + [None]
    for op, i, before, after, axes, pairs in recipe:
        if op == "multiply":
            held[i] = jnp.einsum(einsum, held[0], held[1], preferred_element_type=dtype)
        else:
            held[i] = _resharded(op, held[i], before, after, axes, pairs)
    return held[2][None] if partial[2] else held[2]


def _resharded(op, x, before, after, axes, pairs):
    match op:
        case "sum":
            return x.sum(axis=axes, dtype=x.dtype)
        case "slice":
            return _slice(x, _added(before, after))
        case "place":
            return _place(x, _added(after, before), axes)
        case "all_gather":
            return _all_gather(x, _added(after, before), axes)
        case "reduce_scatter":
            return _reduce_scatter(x, _added(before, after))
        case "all_reduce":
            return lax.psum(x, axes)
        case "all_to_all":
            return _all_to_all(x, _added(after, before), _added(before, after))
        case "permute":
            return lax.ppermute(x, axes, pairs)


def _added(before, after):
    """(dimension, axes) for each dimension that has more axes after than before."""
    pairs = enumerate(zip(before, after, strict=True))
    return [(d, new[len(old) :]) for d, (old, new) in pairs if len(new) > len(old)]


def _slice(x, added):
    for d, new in added:
        n = x.shape[d] // lax.axis_size(new)
        x = lax.dynamic_slice_in_dim(x, lax.axis_index(new) * n, n, d)
    return x


def _place(x, placed, axes):
    if not placed:  # every chip has it: one keeps it
        return jnp.where(lax.axis_index(axes) == 0, x, jnp.zeros_like(x))
    ((d, removed),) = placed
    shape = list(x.shape)
    shape[d] *= lax.axis_size(removed)
    return lax.dynamic_update_slice_in_dim(jnp.zeros(shape, x.dtype), x, lax.axis_index(removed) * x.shape[d], d)


def _all_gather(x, removed, axes):
    if len(removed) == 1:
        ((d, gone),) = removed
        return lax.all_gather(x, gone, axis=d, tiled=True)
    return _from_front(lax.all_gather(x, axes, axis=0), removed, axes)


def _reduce_scatter(x, added):
    if len(added) == 1:
        ((d, new),) = added
        return lax.psum_scatter(x, new, scatter_dimension=d, tiled=True)
    axes = tuple(axis for _, new in added for axis in new)
    return lax.psum_scatter(_to_front(x, added, axes), axes, scatter_dimension=0)


def _all_to_all(x, removed, added):
    axes = tuple(axis for _, gone in removed for axis in gone)
    if len(removed) == len(added) == 1 and added[0][1] == axes:
        return lax.all_to_all(x, axes, split_axis=added[0][0], concat_axis=removed[0][0], tiled=True)
    return _from_front(lax.all_to_all(_to_front(x, added, axes), axes, 0, 0, tiled=True), removed, axes)


def _to_front(x, added, axes):
    """Split dimensions by the axes they are to get: [blocks in the order of `axes`, rest of each dimension]."""
    shape, front, rest = [], {}, []
    for d, n in enumerate(x.shape):
        new = dict(added).get(d, ())
        front |= {axis: len(shape) + i for i, axis in enumerate(new)}
        shape += [*map(lax.axis_size, new), n // lax.axis_size(new)]
        rest.append(len(shape) - 1)
    x = x.reshape(shape).transpose([*(front[axis] for axis in axes), *rest])
    return x.reshape(-1, *x.shape[len(axes) :])


def _from_front(x, removed, axes):
    """The reverse: blocks in front join the dimensions that lose their axes, those of one dimension in its order."""
    x = x.reshape(*map(lax.axis_size, axes), *x.shape[1:])
    order, shape = [], []
    for d, n in enumerate(x.shape[len(axes) :]):
        gone = dict(removed).get(d, ())
        order += [*(axes.index(axis) for axis in gone), len(axes) + d]
        shape.append(n * lax.axis_size(gone))
    return x.transpose(order).reshape(shape)


def operands(plan, seed=0):
    """Random whole numbers for the operands (sums of them are exact in f32), dense, and as the program takes them."""
    rng = np.random.default_rng(seed)
    given = [rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes(plan)[:2]]
    arrays = plan.product.arrays[:2]
    return [x.sum(axis=0) if array.unreduced else x for x, array in zip(given, arrays, strict=True)], given
