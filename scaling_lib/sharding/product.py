"""Sharded products in writing: `A[I, J_X] * B[J_X, K] -> C[I, K]`."""

from dataclasses import dataclass
from string import ascii_letters

from scaling_lib.sharding.grammar import NotationError, one_line, read_operands, read_product
from scaling_lib.sharding.notation import Sharding, sharding_of
from scaling_lib.units import ScalingError


@dataclass(frozen=True)
class Product:
    """Two sharded operands and their sharded product.

    Attributes:
      a, b, c: their shardings; a dimension of a and b that c lacks is summed over (contracted).

    Raises:
      NotationError: a dimension of the product that no operand has, or an array name that stands twice.
      ScalingError: one of them is no `Sharding`.

    >>> p = parse_product("A[I, J_X] * B[J_X, K] -> C[I, K]")
    >>> p.dims, p.contracted, p.einsum
    (('I', 'J', 'K'), ('J',), 'ab,bc->ac')
    """

    a: Sharding
    b: Sharding
    c: Sharding

    def __post_init__(self):
        for field, array in zip("abc", self.arrays, strict=True):
            if not isinstance(array, Sharding):
                raise ScalingError(f"{field} must be a Sharding, such as parse_sharding gives, got {array!r}")
        for dim in self.c.dims:
            if dim not in self.dims:
                possible = f"possible are {', '.join(self.dims) or 'none'}"
                raise self.c._fault(f"no operand has dimension {dim}: {possible}", "dim", dim)
        names = [array.name for array in self.arrays]
        for i, array in enumerate(self.arrays):
            if array.name in names[:i]:
                raise array._fault(f"two arrays are named {array.name}", "array", array.name)

    @property
    def arrays(self):
        """All three."""
        return self.a, self.b, self.c

    @property
    def dims(self):
        """Names of all dimensions, in the order of a, then b."""
        return tuple(dict.fromkeys(self.a.dims + self.b.dims))

    @property
    def contracted(self):
        """Dimensions that are summed over."""
        return tuple(dim for dim in self.dims if dim not in self.c.dims)

    @property
    def alone(self):
        """Of each operand the dimensions that neither the other nor the product has: summed before all else."""
        a, b, c = (set(array.dims) for array in self.arrays)
        return tuple(dim for dim in self.a.dims if dim not in b | c), tuple(d for d in self.b.dims if d not in a | c)

    @property
    def multiplied(self):
        """The product that is left when those are summed.

        >>> print(parse_product("A[I, J, L_Y] * B[J, K] -> C[I, K]").multiplied)
        A[I, J]{U_Y} * B[J, K] -> C[I, K]
        """
        a, b = (array.summed(dims) for array, dims in zip(self.arrays[:2], self.alone, strict=True))
        return Product(a, b, self.c)

    @property
    def einsum(self):
        """Subscripts for numpy's and jax's einsum.

        Raises:
          ScalingError: there are more dimensions than letters.
        """
        if len(self.dims) > len(ascii_letters):
            raise ScalingError(f"dims: einsum has {len(ascii_letters)} letters, got {len(self.dims)} dimensions")
        letter = dict(zip(self.dims, ascii_letters, strict=False))
        a, b, c = ("".join(letter[dim] for dim in array.dims) for array in self.arrays)
        return f"{a},{b}->{c}"

    def __str__(self):
        return f"{self.a} * {self.b} -> {self.c}"


def parse_product(text, mesh=None):
    """Two operands and their product in writing: `A[I, J_X] * B[J_X, K] -> C[I, K]`.

    Args:
      text: as `parse_sharding`, joined by `*` (or `·`, `@`) and `->`.
      mesh: as `parse_sharding`.

    Returns:
      Product: `.a`, `.b`, `.c`, `.dims`, `.contracted`, `.einsum`.

    Raises:
      NotationError, UnknownAxis: as `parse_sharding`; and a dimension of the product that no operand has, or an array
        name that stands twice.

    >>> print(parse_product("A[I, J_X]·B[J_X, K] → C[I, K]{U_X}"))
    A[I, J_X] * B[J_X, K] -> C[I, K]{U_X}
    """
    product = Product(*(sharding_of(array, text) for array in read_product(text)))
    if mesh is not None:
        for array in product.arrays:
            array.shards(mesh)
    return product


def parse_operands(text, product, mesh):
    """Other shardings of a product's two operands, `A[I, J] * B[J, K]`; what follows an arrow is not looked at.

    Returns:
      (Sharding, Sharding).

    Raises:
      NotationError: not the same arrays; and as `parse_sharding`.
    """
    written = read_operands(text)
    for array, known in zip(written, product.arrays, strict=False):
        if (array.name.name, tuple(dim.name for dim, _ in array.dims)) != (known.name, known.dims):
            raise NotationError(f"here should be {known.name}[{', '.join(known.dims)}]", one_line(text), array.name.at)
    operands = tuple(sharding_of(array, text) for array in written)
    for array in operands:
        array.shards(mesh)
    return operands
