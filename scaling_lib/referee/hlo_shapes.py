"""Shapes and element types of collectives: text in which a result does not follow from its operands is refused."""

from scaling_lib.referee.hlo_module import Array, HloError


def check_shapes(ins, operands, groups):
    """Refuse a collective whose result is not what its operands make in such groups.

    Args:
      ins: the instruction.
      operands: its operands' arrays.
      groups: tuples of device numbers.
    """
    op, sizes = ins.opcode.removesuffix("-start"), {len(g) for g in groups}
    given = tuple(operands)
    if op in ("all-gather", "reduce-scatter"):
        fits = len(sizes) == 1 and _scaled(ins, given, max(sizes), op == "all-gather")
    elif op == "all-to-all":
        fits = len(sizes) == 1 and _in_pieces(ins, given, max(sizes)) and _gives(ins, given, given)
    else:
        fits = _gives(ins, given, given[1:2] if op == "ragged-all-to-all" else given)
    if not fits:
        raise HloError(
            f"line {ins.line}: %{ins.name}: {ins.opcode} of {_named(given)} to {_named(ins.arrays)} "
            f"does not fit groups such as {groups[0]}"
        )


def check_copies(ins, sent, received):
    """Refuse a permute or a send whose result is not what it receives: what it sends, or the array it writes in."""
    one = ins.opcode == "send"  # (array, context, token)
    if ins.arrays[: len(sent)] != tuple(sent) if one else not _gives(ins, tuple(sent), tuple(received)):
        raise HloError(
            f"line {ins.line}: %{ins.name}: {ins.opcode} of {_named(sent)} to {_named(ins.arrays)}: "
            "what is received is not what is sent"
        )


def _named(arrays):
    return ", ".join(map(str, arrays))


def _gives(ins, given, expected):
    """Whether these are the results; a start's tuple has the operands in front and its state behind."""
    first, last = len(given), len(given) + len(expected)
    if ins.opcode.endswith("-start") and len(ins.arrays) >= last and ins.arrays[:first] == given:
        return ins.arrays[first:last] == expected
    return ins.arrays == expected


def _scaled(ins, given, n, gathers):
    """Whether results are n times (or an n-th of) the operands along the instruction's dimension."""
    k = int(ins.needs("dimensions").strip("{}"))
    if not gathers and any(a.dims[k] % n for a in given):
        return False
    sizes = [n * a.dims[k] if gathers else a.dims[k] // n for a in given]
    made = (Array(a.dtype, (*a.dims[:k], size, *a.dims[k + 1 :])) for a, size in zip(given, sizes, strict=True))
    return _gives(ins, given, tuple(made))


def _in_pieces(ins, given, n):
    """Whether an all-to-all in groups of n has n equal pieces: of one array along a dimension, or as a tuple."""
    if ins.attr("dimensions") is None:
        return len(given) == n and len(set(given)) == 1
    return len(given) == 1 and given[0].dims[int(ins.needs("dimensions").strip("{}"))] % n == 0
