"""Why a product needs communication, in sentences."""

from scaling_lib.sharding.words import named


def reasons(product):
    """Why a product needs communication, one sentence an axis or dimension.

    >>> from scaling_lib.sharding.product import parse_product
    >>> for why in reasons(parse_product("A[I_X, J_Y] * B[J_Y, K_X] -> C[I, K]")): print(why)
    J is summed over and cut over Y in both: each chip can multiply its parts, which leaves partial sums over Y.
    X cuts I of A and K of B: chip x would only get block (x, x) of C, so one of them must give up X.
    """
    a, b, c = product.arrays
    found = [_summed(product, dim) for dim in product.contracted]
    found += [_outer(product, axis) for axis in dict.fromkeys(axis for axes in a.axes for axis in axes)]
    found += [_batched(product, dim) for dim in a.dims if dim in b.dims and dim in c.dims]
    found += [
        f"{array.name} is unreduced over {named(array.unreduced)}: partial sums pass through the product, or are "
        "added before it."
        for array in (a, b)
        if array.unreduced
    ]
    return tuple(filter(None, found)) or (
        "No dimension that is summed over is cut, and no axis cuts two dimensions: chips can multiply what they hold.",
    )


def _summed(product, dim):
    a, b, _ = product.arrays
    here = a.of(dim) if dim in a.dims else ()
    there = b.of(dim) if dim in b.dims else ()
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
    return (
        f"{dim} is summed over and cut over {named(axes)} in {cut.name} only: {cut.name} is gathered, or {whole.name} "
        "gives up the rest and partial sums remain."
    )


def _outer(product, axis):
    a, b, c = product.arrays
    mine = next(dim for dim in a.dims if axis in a.of(dim))
    other = next((dim for dim in b.dims if axis in b.of(dim)), mine)
    if mine == other:
        return ""
    if mine in product.contracted or other in product.contracted:
        return f"{axis} cuts {mine} of {a.name} but {other} of {b.name}, and one of these is summed over."
    letter = axis.lower()
    return (
        f"{axis} cuts {mine} of {a.name} and {other} of {b.name}: chip {letter} would only get block ({letter}, "
        f"{letter}) of {c.name}, so one of them must give up {axis}."
    )


def _batched(product, dim):
    a, b, _ = product.arrays
    if a.of(dim) == b.of(dim):
        return ""
    return f"{dim} is a batch dimension of both and cut differently: the blocks must be brought in line."
