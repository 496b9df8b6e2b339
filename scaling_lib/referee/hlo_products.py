"""Matrix products of a compiled program: how much each computes and how many elements it touches."""

from scaling_lib.referee.hlo import complete, module_of
from scaling_lib.referee.hlo_flops import flops_of
from scaling_lib.referee.hlo_loops import visits
from scaling_lib.referee.hlo_module import HloError


@complete
def products_in(compiled_or_text):
    """(FLOPs, elements of operands and result) of every matrix product that one device runs, as often as it runs it.

    Where none is left (XLA makes element-wise work of an outer or a dot product), of its largest multiplication.

    Args:
      compiled_or_text: as in `collectives_in`.

    Raises:
      HloError: the text is not compiled HLO, or is cut off; a product stands in a loop with a count not in the text.

    >>> products_in('''HloModule m
    ...
    ... ENTRY %main (x: f32[4,8], w: f32[8,2]) -> f32[4,2] {
    ...   %x = f32[4,8]{1,0} parameter(0)
    ...   %w = f32[8,2]{1,0} parameter(1)
    ...   ROOT %y = f32[4,2]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    ... }''')
    [(128, 56)]
    """
    module, found = module_of(compiled_or_text), []
    for visit in visits(module):
        ins, inside = visit.instruction, visit.computation
        if flops := flops_of(ins, inside):
            if visit.times is None:
                raise HloError(f"line {ins.line}: %{ins.name} runs in a loop whose count the text does not give")
            arrays = [inside[name].arrays[0] for name in ins.operands[:2]] + [ins.arrays[0]]
            found += [(flops, sum(array.elements for array in arrays))] * visit.times
    return found or _elementwise(module)


def _elementwise(module):
    """The largest multiplication of floats as [(FLOPs, elements)]; what is added up at once is not written."""
    best = None
    for visit in visits(module):
        ins, inside = visit.instruction, visit.computation
        if ins.opcode == "multiply" and ins.arrays[0].dtype[0] in "bf":
            read = sum(_read(inside[name], inside) for name in ins.operands)
            added = any(i.opcode == "reduce" and ins.name in i.operands for i in inside.instructions.values())
            n = ins.arrays[0].elements
            best = max(best or (0, 0), (2 * n, read + (0 if added else n)))
    return [best] if best else []


def _read(operand, inside):
    source = inside[operand.operands[0]] if operand.opcode == "broadcast" and operand.operands else operand
    return source.arrays[0].elements
