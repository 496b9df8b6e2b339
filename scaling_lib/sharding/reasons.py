"""Why a product needs communication, in sentences."""

from scaling_lib.sharding.product import Product
from scaling_lib.sharding.words import named


def reasons(product, lengths=None):
    """What kind of product it is where that is not plain, and why it needs communication.

    Args:
      product: a `Product`.
      lengths: {axis: chips}; axes of one chip are not spoken of.

    Returns:
      Sentences, one a dimension or axis.

    >>> from scaling_lib.sharding.product import parse_product
    >>> for why in reasons(parse_product("A[I_X, J_Y] * B[J_Y, K_X] -> C[I, K]")): print(why)
    J is summed over and cut over Y in both: each chip can multiply its parts, which leaves partial sums over Y.
    X cuts I of A and K of B: chip x would only get block (x, x) of C, so one of them must give up X.
    """
    product = Product(*(_without_ones(array, lengths or {}) for array in product.arrays))
    kind = [_alone(array, dim) for array, dims in zip(product.arrays, product.alone, strict=False) for dim in dims]
    kind += _not_summed(product) + [_batched(product, dim) for dim in _shared(product) if dim in product.c.dims]
    return (*kind, *(_needs(product.multiplied) + _unreduced(product) or _nothing(product)))


def _without_ones(array, lengths):
    def longer(axes):
        return tuple(axis for axis in axes if lengths.get(axis) != 1)

    return array.cut_as(map(longer, array.axes), longer(array.unreduced))


def _shared(product):
    return [dim for dim in product.a.dims if dim in product.b.dims]


def _needs(product):
    """Sentences on what must be sent."""
    a = product.a
    found = [_summed(product, dim) for dim in product.contracted]
    found += [_outer(product, axis) for axis in dict.fromkeys(axis for axes in a.axes for axis in axes)]
    return list(filter(None, found))


def _unreduced(product):
    return [
        f"{array.name} is unreduced over {named(array.unreduced)}: partial sums pass through the product, or are "
        "added before it."
        for array in (product.a, product.b)
        if array.unreduced
    ]


def _nothing(product):
    if any(product.a.of(dim) != product.b.of(dim) for dim in _shared(product)):
        return []  # said of the batch dimension
    if product.multiplied.a.unreduced or product.multiplied.b.unreduced:
        return []  # said of the dimension that is summed before
    return [
        "No dimension that is summed over is cut, and no axis cuts two dimensions: chips can multiply what they hold."
    ]


def _alone(array, dim):
    cut = array.of(dim)
    left = (
        f"; cut over {named(cut)}, that leaves partial sums over {named(cut)}, unless it is gathered first"
        if cut
        else ""
    )
    return f"{dim} is in {array.name} alone and not in the result: it is summed before the product{left}."


def _not_summed(product):
    if any(dim not in product.c.dims for dim in _shared(product)):
        return []
    alike = set(product.multiplied.a.dims) == set(product.multiplied.b.dims)
    return [f"No dimension is summed over in both: an {'element-wise' if alike else 'outer'} product."]


def _summed(product, dim):
    a, b, _ = product.arrays
    here, there = a.of(dim), b.of(dim)
    if not here and not there:
        return ""
    if here == there:
        return (
            f"{dim} is summed over and cut over {named(here)} in both: each chip can multiply its parts, which leaves "
            f"partial sums over {named(here)}."
        )
    if here and there:
        return (
            f"{dim} is summed over and cut over {named(here)} in {a.name} but over {named(there)} in {b.name}: the "
            "parts do not meet until one is brought in line with the other."
        )
    cut, whole, axes = (a, b, here) if here else (b, a, there)
    only = f"{dim} is summed over and cut over {named(axes)} in {cut.name} only"
    taken = [axis for axis in axes if any(axis in others for others in whole.axes)]
    if taken:
        elsewhere = f"{named(taken)} {'cuts' if len(taken) == 1 else 'cut'} it elsewhere"
        return f"{only}, and {whole.name} cannot be cut to match while {elsewhere}."
    return f"{only}: {cut.name} is gathered, or {whole.name} gives up the rest and partial sums remain."


def _outer(product, axis):
    a, b, c = product.arrays
    mine = next(dim for dim in a.dims if axis in a.of(dim))
    other = next((dim for dim in b.dims if axis in b.of(dim)), mine)
    if mine == other:
        return ""
    if mine in product.contracted or other in product.contracted:
        return (
            f"{axis} cuts {mine} of {a.name} but {other} of {b.name}, and one of these is summed over: one of the "
            f"arrays must give up {axis}."
        )
    letter = axis.lower()
    return (
        f"{axis} cuts {mine} of {a.name} and {other} of {b.name}: chip {letter} would only get block ({letter}, "
        f"{letter}) of {c.name}, so one of them must give up {axis}."
    )


def _batched(product, dim):
    differs = product.a.of(dim) != product.b.of(dim)
    line = ", cut differently: the blocks must be brought in line" if differs else ""
    return f"{dim} stands in both operands and in the result: a batch dimension{line}."
